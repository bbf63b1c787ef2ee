//! Values on their way out of a machine.
//!
//! They are read with the inputs at hand, which settle what Lua cannot say: whether an empty table is a list, in which
//! order an object has its fields, and what an integer was before it became a double.

use std::collections::{BTreeMap, BTreeSet};

use mlua::{Table, Value as LuaValue};
use object::{Map, Value, field::FieldPath, parse::DEPTH_LIMIT};

use crate::counting;
use crate::script::{
    arguments::Argument,
    empties::{Empties, Empty},
    error::{ScriptError, ScriptProblem},
};

/// What a function returned, to be read as what it should be.
pub(crate) struct Returned<'a> {
    pub(super) function: &'static str,
    pub(super) values: Vec<LuaValue>,
    pub(super) arguments: &'a [Argument<'a>],
}

/// Whether an empty table in an answer can be settled by what the function was given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emptiness {
    /// It is what the inputs have there.
    AsGiven,
    /// It is left out.
    Dropped,
}

/// The largest double below which every integer is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a document out of the machine; empty tables below its root are left out.
pub(super) fn take(function: &'static str, value: LuaValue) -> Result<Value, ScriptProblem> {
    let reader = Reader::new(function, &[], Emptiness::Dropped);
    let LuaValue::Table(table) = value else {
        return Err(reader.unexpected("a table", &value));
    };
    reader.root(&table, Empty::Object)
}

impl Returned<'_> {
    /// The first value as a number of replicas. A fraction is cut off, as the reference does.
    pub(crate) fn replicas(&self) -> Result<i32, ScriptError> {
        let number = match self.value(0) {
            LuaValue::Integer(number) => *number as f64,
            LuaValue::Number(number) => *number,
            other => return Err(self.unexpected("a number", other)),
        };
        if number.is_nan() || number <= -1.0 || number >= f64::from(i32::MAX) + 1.0 {
            let problem = ScriptProblem::Part {
                function: self.function,
                place: FieldPath::default(),
                problem: counting::beyond(number),
            };
            return Err(ScriptError::of(problem, None));
        }
        Ok(number as i32)
    }

    /// The first value as true or false.
    pub(crate) fn truth(&self) -> Result<bool, ScriptError> {
        match self.value(0) {
            LuaValue::Boolean(truth) => Ok(*truth),
            other => Err(self.unexpected("true or false", other)),
        }
    }

    /// The value at `position` as an object.
    pub(crate) fn object(&self, position: usize, empty: Emptiness) -> Result<Value, ScriptError> {
        match self.optional(position, Empty::Object, empty)? {
            Some(value @ Value::Object(_)) => Ok(value),
            Some(_) => Err(self.unexpected_text("an object", "a list")),
            None => Err(self.unexpected("a table", self.value(position))),
        }
    }

    /// The value at `position` as an object, or nothing.
    pub(crate) fn optional_object(&self, position: usize) -> Result<Option<Value>, ScriptError> {
        match self.optional(position, Empty::Object, Emptiness::Dropped)? {
            Some(Value::Array(_)) => Err(self.unexpected_text("an object", "a list")),
            other => Ok(other),
        }
    }

    /// The first value as a list, or nothing.
    pub(crate) fn optional_list(&self) -> Result<Option<Value>, ScriptError> {
        match self.optional(0, Empty::List, Emptiness::Dropped)? {
            Some(Value::Object(_)) => Err(self.unexpected_text("a list", "an object")),
            other => Ok(other),
        }
    }

    /// The first value as a list.
    pub(crate) fn list(&self) -> Result<Value, ScriptError> {
        match self.optional_list()? {
            Some(list) => Ok(list),
            None => Err(self.unexpected("a table", self.value(0))),
        }
    }

    /// The error that a part of the answer is no part of such an answer.
    pub(crate) fn part(&self, place: FieldPath, problem: String) -> ScriptError {
        let function = self.function;
        ScriptError::of(
            ScriptProblem::Part {
                function,
                place,
                problem,
            },
            None,
        )
    }

    fn optional(
        &self,
        position: usize,
        root: Empty,
        empty: Emptiness,
    ) -> Result<Option<Value>, ScriptError> {
        match self.value(position) {
            LuaValue::Nil => Ok(None),
            LuaValue::Table(table) => {
                let reader = Reader::new(self.function, self.arguments, empty);
                let value = reader.root(table, root);
                value
                    .map(Some)
                    .map_err(|problem| ScriptError::of(problem, None))
            }
            other => Err(self.unexpected("a table", other)),
        }
    }

    fn value(&self, position: usize) -> &LuaValue {
        self.values.get(position).unwrap_or(&LuaValue::Nil)
    }

    fn unexpected(&self, expected: &'static str, found: &LuaValue) -> ScriptError {
        self.unexpected_text(expected, &name_of(found))
    }

    fn unexpected_text(&self, expected: &'static str, found: &str) -> ScriptError {
        ScriptError::of(
            ScriptProblem::Answer {
                function: self.function,
                expected,
                found: found.to_owned(),
            },
            None,
        )
    }
}

/// Reads one document out of the machine.
struct Reader<'a> {
    function: &'static str,
    arguments: &'a [Argument<'a>],
    emptiness: Emptiness,
}

/// What a reader has met so far.
#[derive(Default)]
struct Met<'a> {
    /// The tables, by address: each may be in the document once, so that documents cannot grow without end.
    tables: BTreeSet<usize>,
    /// The empty places of the inputs, once they are needed.
    empties: Option<Empties<'a>>,
}

/// Where in the document a value stands.
#[derive(Clone, Copy)]
struct Place<'p> {
    up: Option<&'p Place<'p>>,
    step: Step<'p>,
    depth: usize,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Field(&'p str),
    Index(usize),
}

impl<'a> Reader<'a> {
    fn new(function: &'static str, arguments: &'a [Argument<'a>], emptiness: Emptiness) -> Self {
        Self {
            function,
            arguments,
            emptiness,
        }
    }

    fn root(&self, table: &Table, empty: Empty) -> Result<Value, ScriptProblem> {
        let place = Place {
            up: None,
            step: Step::Root,
            depth: 0,
        };
        let guide = match self.arguments.first() {
            Some(Argument::Object(object)) => Some(object.fields()),
            _ => None,
        };
        let mut met = Met::default();
        met.tables.insert(table.to_pointer() as usize);
        match self.entries(table, place)? {
            Entries::None => Ok(empty.value()),
            Entries::Fields(fields) => self.object(fields, place, guide, &mut met),
            Entries::Elements(elements) => self.list(elements, place, None, &mut met),
        }
    }

    /// A value below the root; `None` if nothing is to be there.
    fn value(
        &self,
        value: LuaValue,
        place: Place<'_>,
        guide: Option<&Value>,
        met: &mut Met<'a>,
    ) -> Result<Option<Value>, ScriptProblem> {
        let table = match value {
            LuaValue::Nil => return Ok(None),
            LuaValue::Boolean(truth) => return Ok(Some(Value::Bool(truth))),
            LuaValue::Integer(number) => return self.number(number as f64, place).map(Some),
            LuaValue::Number(number) => return self.number(number, place).map(Some),
            LuaValue::String(text) => return Ok(Some(Value::String(text.to_string_lossy()))),
            LuaValue::Table(table) => table,
            other => {
                let problem = format!("{} is no value of an object", name_of(&other));
                return Err(self.wrong(place, problem));
            }
        };
        if place.depth > DEPTH_LIMIT {
            return Err(self.wrong(place, format!("nested deeper than {DEPTH_LIMIT} levels")));
        }
        if !met.tables.insert(table.to_pointer() as usize) {
            let problem = "the same table is elsewhere in the value already; copy it".to_owned();
            return Err(self.wrong(place, problem));
        }
        match self.entries(&table, place)? {
            Entries::None => Ok(self.settle(place, met)),
            Entries::Fields(fields) => {
                let guide = guide.and_then(Value::as_object);
                self.object(fields, place, guide, met).map(Some)
            }
            Entries::Elements(elements) => {
                let guide = guide.and_then(Value::as_array);
                self.list(elements, place, guide, met).map(Some)
            }
        }
    }

    /// The fields as an object: in the order of the guide those it has, the others by name after them.
    fn object(
        &self,
        fields: BTreeMap<String, LuaValue>,
        place: Place<'_>,
        guide: Option<&Map>,
        met: &mut Met<'a>,
    ) -> Result<Value, ScriptProblem> {
        let mut fields = fields;
        let mut object = Map::with_capacity(fields.len());
        for (name, known) in guide.into_iter().flatten() {
            if let Some(value) = fields.remove(name)
                && let Some(value) = self.value(value, place.field(name), Some(known), met)?
            {
                object.insert(name.clone(), value);
            }
        }
        for (name, value) in fields {
            if let Some(value) = self.value(value, place.field(&name), None, met)? {
                object.insert(name, value);
            }
        }
        Ok(Value::Object(object))
    }

    fn list(
        &self,
        elements: Vec<LuaValue>,
        place: Place<'_>,
        guide: Option<&Vec<Value>>,
        met: &mut Met<'a>,
    ) -> Result<Value, ScriptProblem> {
        let mut list = Vec::with_capacity(elements.len());
        for (position, element) in elements.into_iter().enumerate() {
            let guide = guide.and_then(|guide| guide.get(position));
            list.extend(self.value(element, place.index(position), guide, met)?);
        }
        Ok(Value::Array(list))
    }

    /// What is in a table.
    fn entries(&self, table: &Table, place: Place<'_>) -> Result<Entries, ScriptProblem> {
        let mut entries = Entries::None;
        let mut problem = None;
        let mut numbered: Vec<(i64, LuaValue)> = Vec::new();
        let read = table.for_each(|key: LuaValue, value: LuaValue| {
            match (&mut entries, key) {
                (Entries::None, LuaValue::String(name)) => {
                    let field = (name.to_string_lossy(), value);
                    entries = Entries::Fields(BTreeMap::from([field]));
                }
                (Entries::Fields(fields), LuaValue::String(name)) => {
                    fields.insert(name.to_string_lossy(), value);
                }
                (Entries::None | Entries::Elements(_), LuaValue::Integer(index)) => {
                    entries = Entries::Elements(Vec::new());
                    numbered.push((index, value));
                }
                (Entries::None, other) => {
                    let name = name_of(&other);
                    problem = Some(format!("a key is {name}, which no object or list has"));
                    return Err(mlua::Error::StackError);
                }
                (Entries::Fields(_) | Entries::Elements(_), _) => {
                    problem = Some("has keys of an object and of a list".to_owned());
                    return Err(mlua::Error::StackError);
                }
            }
            Ok(())
        });
        if let Some(problem) = problem {
            return Err(self.wrong(place, problem));
        }
        read.map_err(|error| self.wrong(place, error.to_string()))?;
        let Entries::Elements(_) = entries else {
            return Ok(entries);
        };
        numbered.sort_by_key(|(index, _)| *index);
        let is_whole = (1..)
            .zip(&numbered)
            .all(|(wanted, (index, _))| wanted == *index);
        if !is_whole {
            return Err(self.wrong(place, "is a list with holes".to_owned()));
        }
        let elements = numbered.into_iter().map(|(_, value)| value);
        Ok(Entries::Elements(elements.collect()))
    }

    fn number(&self, number: f64, place: Place<'_>) -> Result<Value, ScriptProblem> {
        if !number.is_finite() {
            return Err(self.wrong(place, format!("{number} is no number of a document")));
        }
        if number.abs() >= EXACT
            && let Some(integer) = self.integer_given(number)
        {
            return Ok(integer);
        }
        let is_integer =
            number.fract() == 0.0 && number >= i64::MIN as f64 && number < i64::MAX as f64;
        if is_integer {
            return Ok(Value::from(number as i64));
        }
        Ok(Value::from(number))
    }

    /// The integer of the inputs that became this double, if there is exactly one.
    fn integer_given(&self, number: f64) -> Option<Value> {
        let mut found = None;
        for argument in self.arguments {
            let is_single = match argument {
                Argument::Object(object) => object
                    .fields()
                    .values()
                    .all(|value| find_integer(value, number, &mut found)),
                Argument::Items(items) => items
                    .iter()
                    .filter_map(|item| item.status.as_ref())
                    .all(|value| find_integer(value, number, &mut found)),
                Argument::Number(_) => true,
            };
            if !is_single {
                return None;
            }
        }
        found
    }

    /// What an empty table stands for at its place.
    fn settle(&self, place: Place<'_>, met: &mut Met<'a>) -> Option<Value> {
        if self.emptiness == Emptiness::Dropped {
            return None;
        }
        let arguments = self.arguments;
        let empties = met.empties.get_or_insert_with(|| {
            Empties::of(arguments.iter().filter_map(|argument| match argument {
                Argument::Object(object) => Some(object.fields()),
                Argument::Number(_) | Argument::Items(_) => None,
            }))
        });
        let mut names = Vec::with_capacity(place.depth);
        place.collect_names(&mut names);
        empties.at(&names).map(Empty::value)
    }

    fn wrong(&self, place: Place<'_>, problem: String) -> ScriptProblem {
        ScriptProblem::Part {
            function: self.function,
            place: place.path(),
            problem,
        }
    }

    fn unexpected(&self, expected: &'static str, found: &LuaValue) -> ScriptProblem {
        ScriptProblem::Answer {
            function: self.function,
            expected,
            found: name_of(found),
        }
    }
}

enum Entries {
    None,
    Fields(BTreeMap<String, LuaValue>),
    Elements(Vec<LuaValue>),
}

impl<'p> Place<'p> {
    fn field(&'p self, name: &'p str) -> Self {
        Self {
            up: Some(self),
            step: Step::Field(name),
            depth: self.depth + 1,
        }
    }

    fn index(&'p self, position: usize) -> Self {
        Self {
            up: Some(self),
            step: Step::Index(position),
            depth: self.depth + 1,
        }
    }

    fn path(&self) -> FieldPath {
        let above = self.up.map(Place::path).unwrap_or_default();
        match self.step {
            Step::Root => above,
            Step::Field(name) => above.child(name),
            Step::Index(position) => above.index(position),
        }
    }

    /// The names on the way here; positions in lists do not count.
    fn collect_names(&self, names: &mut Vec<&'p str>) {
        if let Some(up) = self.up {
            up.collect_names(names);
        }
        if let Step::Field(name) = self.step {
            names.push(name);
        }
    }
}

/// Looks for integers that have this double; `false` if there are two different ones.
fn find_integer(value: &Value, number: f64, found: &mut Option<Value>) -> bool {
    match value {
        Value::Number(candidate) => {
            let is_meant = !candidate.is_f64() && candidate.as_f64() == Some(number);
            if !is_meant {
                return true;
            }
            if found.is_none() {
                *found = Some(value.clone());
            }
            found.as_ref() == Some(value)
        }
        Value::Array(elements) => elements
            .iter()
            .all(|element| find_integer(element, number, found)),
        Value::Object(fields) => fields
            .values()
            .all(|field| find_integer(field, number, found)),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// What a value is called in Lua.
fn name_of(value: &LuaValue) -> String {
    match value {
        LuaValue::Integer(_) | LuaValue::Number(_) => "number".to_owned(),
        other => other.type_name().to_owned(),
    }
}

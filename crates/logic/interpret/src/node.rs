//! Reading a raw value field by field, with the path at hand for the moment something does not fit.
//!
//! A [`Node`] knows its parent, so a path costs nothing until an error needs it. Absent and `null` are the same, as for
//! every reader of the API; a value of another type is an error that names its place.

use api::work::v1alpha2::AggregatedStatusItem;
use object::{
    Map, Object, Value, field::FieldPath, parse::ShapeError, quantity::Quantity, time::Time,
};

use crate::{counting, error::RuleError};

/// A place in a value, whether or not anything is there.
#[derive(Clone, Copy)]
pub(crate) struct Node<'v, 'p> {
    content: Content<'v>,
    up: Option<&'p Node<'v, 'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Content<'v> {
    Nothing,
    /// The fields of a whole object, which are not held as a value.
    Fields(&'v Map),
    Value(&'v Value),
}

#[derive(Clone, Copy)]
enum Step<'p> {
    /// The object itself, or a value whose place in it is unknown.
    Root(&'p str),
    /// The status that a cluster reported.
    Cluster(&'p str),
    Fields(&'p [&'p str]),
    Key(&'p str),
    Index(usize),
}

impl<'v> Node<'v, 'v> {
    /// The object itself.
    pub(crate) fn of(object: &'v Object) -> Self {
        Self {
            content: Content::Fields(object.fields()),
            up: None,
            step: Step::Root(""),
        }
    }

    /// A value that stands at `path`.
    pub(crate) fn value(value: &'v Value, path: &'v str) -> Self {
        Self {
            content: Content::of(Some(value)),
            up: None,
            step: Step::Root(path),
        }
    }

    /// The status that a member reported; nothing is there if it has not.
    pub(crate) fn reported(item: &'v AggregatedStatusItem) -> Self {
        Self {
            content: Content::of(item.status.as_ref()),
            up: None,
            step: Step::Cluster(&item.cluster_name),
        }
    }
}

impl<'v> Node<'v, '_> {
    /// What is below, at these field names. Nothing on the way means nothing there.
    pub(crate) fn at<'s>(&'s self, names: &'s [&'s str]) -> Result<Node<'v, 's>, RuleError> {
        let mut content = self.content;
        for (depth, name) in names.iter().enumerate() {
            let fields = match content {
                Content::Nothing => break,
                Content::Fields(fields) | Content::Value(Value::Object(fields)) => fields,
                Content::Value(other) => {
                    let place = Node {
                        content,
                        up: Some(self),
                        step: Step::Fields(names.get(..depth).unwrap_or_default()),
                    };
                    return Err(place.expected("an object", other));
                }
            };
            content = Content::of(fields.get(*name));
        }
        Ok(Node {
            content,
            up: Some(self),
            step: Step::Fields(names),
        })
    }

    /// What the map here holds under a key.
    pub(crate) fn key<'s>(&'s self, key: &'s str, value: &'v Value) -> Node<'v, 's> {
        Node {
            content: Content::of(Some(value)),
            up: Some(self),
            step: Step::Key(key),
        }
    }

    /// Whether nothing is here.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.content, Content::Nothing)
    }

    /// The fields of the object here.
    pub(crate) fn fields(&self) -> Result<Option<&'v Map>, RuleError> {
        match self.content {
            Content::Nothing => Ok(None),
            Content::Fields(fields) | Content::Value(Value::Object(fields)) => Ok(Some(fields)),
            Content::Value(other) => Err(self.expected("an object", other)),
        }
    }

    /// The text here.
    pub(crate) fn text(&self) -> Result<Option<&'v str>, RuleError> {
        match self.content {
            Content::Nothing => Ok(None),
            Content::Value(Value::String(text)) => Ok(Some(text)),
            _ => Err(self.mistyped("a string")),
        }
    }

    /// The text here; empty if there is none.
    pub(crate) fn text_or_empty(&self) -> Result<&'v str, RuleError> {
        Ok(self.text()?.unwrap_or_default())
    }

    /// The truth here.
    pub(crate) fn boolean(&self) -> Result<Option<bool>, RuleError> {
        match self.content {
            Content::Nothing => Ok(None),
            Content::Value(Value::Bool(truth)) => Ok(Some(*truth)),
            _ => Err(self.mistyped("a boolean")),
        }
    }

    /// The integer here.
    pub(crate) fn integer(&self) -> Result<Option<i64>, RuleError> {
        match self.content {
            Content::Nothing => Ok(None),
            Content::Value(value) => match value.as_i64() {
                Some(number) => Ok(Some(number)),
                None => Err(self.mistyped("an integer")),
            },
            Content::Fields(_) => Err(self.mistyped("an integer")),
        }
    }

    /// The integers of those fields here that `position` gives a place to, absent ones left out.
    ///
    /// A status has a handful of fields, so one pass over them is several times as fast as looking each up.
    pub(crate) fn integers(
        &self,
        position: impl Fn(&str) -> Option<usize>,
        mut found: impl FnMut(usize, i64),
    ) -> Result<(), RuleError> {
        for (name, value) in self.fields()?.into_iter().flatten() {
            let Some(position) = position(name) else {
                continue;
            };
            match value.as_i64() {
                Some(number) => found(position, number),
                None => {
                    self.at(&[name])?.integer()?;
                }
            }
        }
        Ok(())
    }

    /// The number of things here: not negative, and within 32 bits as everywhere in the API.
    pub(crate) fn count(&self) -> Result<Option<i32>, RuleError> {
        let Some(number) = self.integer()? else {
            return Ok(None);
        };
        match i32::try_from(number) {
            Ok(count) if count >= 0 => Ok(Some(count)),
            _ => Err(self.wrong(counting::beyond(number))),
        }
    }

    /// The elements of the list here; none if there is no list.
    pub(crate) fn list<'s>(
        &'s self,
    ) -> Result<impl Iterator<Item = Node<'v, 's>> + use<'v, 's>, RuleError> {
        let elements: &'v [Value] = match self.content {
            Content::Nothing => &[],
            Content::Value(Value::Array(elements)) => elements,
            _ => return Err(self.mistyped("a list")),
        };
        Ok(elements.iter().enumerate().map(|(position, value)| Node {
            content: Content::of(Some(value)),
            up: Some(self),
            step: Step::Index(position),
        }))
    }

    /// The moment here, and as it was written.
    pub(crate) fn time(&self) -> Result<Option<(Time, &'v str)>, RuleError> {
        let Some(text) = self.text()? else {
            return Ok(None);
        };
        match text.parse() {
            Ok(time) => Ok(Some((time, text))),
            Err(problem) => Err(self.wrong(format!("{problem}"))),
        }
    }

    /// The amount here.
    pub(crate) fn quantity(&self) -> Result<Option<Quantity>, RuleError> {
        let parsed = match self.content {
            Content::Nothing => return Ok(None),
            Content::Value(Value::String(text)) => text.parse::<Quantity>(),
            Content::Value(Value::Number(number)) => number.to_string().parse(),
            _ => return Err(self.mistyped("a quantity")),
        };
        parsed
            .map(Some)
            .map_err(|problem| self.wrong(problem.to_string()))
    }

    /// What is here, read as a type.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&'v Value) -> Result<T, ShapeError>,
    ) -> Result<Option<T>, RuleError> {
        let value = match self.content {
            Content::Nothing => return Ok(None),
            Content::Fields(_) => return Err(self.mistyped("a value inside an object")),
            Content::Value(value) => value,
        };
        read(value).map(Some).map_err(|error| RuleError::Value {
            path: nested(&self.path(), &error.path),
            problem: error.problem,
        })
    }

    /// The value here as it is.
    pub(crate) fn raw(&self) -> Option<&'v Value> {
        match self.content {
            Content::Value(value) => Some(value),
            Content::Nothing | Content::Fields(_) => None,
        }
    }

    /// Where this is.
    pub(crate) fn path(&self) -> FieldPath {
        let above = self.up.map(Node::path).unwrap_or_default();
        match self.step {
            Step::Root(path) => FieldPath::from(path),
            Step::Cluster(name) => FieldPath::new("aggregatedStatus").key(name).child("status"),
            Step::Fields(names) => names.iter().fold(above, |path, name| path.child(name)),
            Step::Key(key) => above.key(key),
            Step::Index(position) => above.index(position),
        }
    }

    /// The error that what is here cannot be used.
    pub(crate) fn wrong(&self, problem: impl Into<String>) -> RuleError {
        RuleError::Value {
            path: self.path(),
            problem: problem.into(),
        }
    }

    fn mistyped(&self, expected: &'static str) -> RuleError {
        match self.content {
            Content::Value(value) => self.expected(expected, value),
            Content::Nothing | Content::Fields(_) => RuleError::Shape {
                path: self.path(),
                expected,
                found: "an object",
            },
        }
    }

    fn expected(&self, expected: &'static str, found: &Value) -> RuleError {
        RuleError::Shape {
            path: self.path(),
            expected,
            found: type_name(found),
        }
    }
}

impl<'v> Content<'v> {
    fn of(value: Option<&'v Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Nothing,
            Some(value) => Self::Value(value),
        }
    }
}

fn nested(parent: &FieldPath, below: &FieldPath) -> FieldPath {
    match below.as_str() {
        "" => parent.clone(),
        index if index.starts_with('[') => FieldPath::from(format!("{parent}{index}").as_str()),
        name => parent.child(name),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fails<T>(result: Result<T, RuleError>) -> String {
        match result {
            Ok(_) => "no error".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn errors_name_the_place() {
        let object = Object::from_value(json!({
            "spec": {"list": [{"a": 1}, {"a": "x"}], "text": "t", "map": {"k/v": "12q"}, "half": 0.5, "far": 3_000_000_000_u64},
        }))
        .unwrap();
        let root = Node::of(&object);
        let spec = root.at(&["spec"]).unwrap();
        let list = spec.at(&["list"]).unwrap();
        let second = list.list().unwrap().nth(1).unwrap();
        assert_eq!(
            fails(second.at(&["a"]).unwrap().integer()),
            "spec.list[1].a: expected an integer, found a string"
        );
        assert_eq!(
            fails(root.at(&["spec", "text", "deeper", "still"])),
            "spec.text: expected an object, found a string"
        );
        let map = spec.at(&["map"]).unwrap();
        let (key, value) = map.fields().unwrap().unwrap().iter().next().unwrap();
        let quantity = fails(map.key(key, value).quantity());
        assert!(quantity.starts_with("spec.map[k/v]: "), "{quantity}");
        assert_eq!(
            fails(spec.at(&["half"]).unwrap().integer()),
            "spec.half: expected an integer, found a fraction"
        );
        assert_eq!(
            fails(spec.at(&["far"]).unwrap().count()),
            "spec.far: 3000000000 is not between 0 and 2147483647"
        );
    }

    #[test]
    fn nothing_on_the_way_is_nothing_there() {
        let object = Object::from_value(json!({"spec": {"none": null}})).unwrap();
        let root = Node::of(&object);
        assert!(root.at(&["status", "a", "b"]).unwrap().is_absent());
        assert!(root.at(&["spec", "none", "b"]).unwrap().is_absent());
        assert_eq!(root.at(&["spec", "none"]).unwrap().text().unwrap(), None);
        assert_eq!(
            root.at(&["spec", "none"]).unwrap().list().unwrap().count(),
            0
        );
    }

    #[test]
    fn a_member_is_named_by_its_cluster() {
        let item = AggregatedStatusItem {
            cluster_name: "m1".to_owned(),
            status: Some(json!({"replicas": true})),
            ..AggregatedStatusItem::default()
        };
        let replicas = Node::reported(&item);
        assert_eq!(
            fails(replicas.at(&["replicas"]).unwrap().integer()),
            "aggregatedStatus[m1].status.replicas: expected an integer, found a boolean"
        );
    }
}

//! Programs run: a walk over the checked tree, every step paid for from a budget.
//!
//! Invariant: what is done between two payments is bounded by the sizes of values that were paid for when they were
//! made, or that came in from outside.

mod loops;
mod meter;

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ast::{Entry, Expr, Item, Kind, Literal, Operator, Select};
use crate::functions::{Outcome, arithmetic};
use crate::value::{Key, List, Map, Text, Value};

pub use meter::Fault;
pub(crate) use meter::Meter;

/// A variable's value: there from the start, or computed when it is first asked for.
pub(crate) enum Slot<'a, 's> {
    Given(Value<'a>),
    /// The variables of a policy, each a program of its own.
    Computed(&'s [Computed<'a>]),
    Absent,
}

/// A named program whose value is computed at most once.
pub(crate) struct Computed<'a> {
    pub name: Arc<str>,
    pub body: &'a Expr,
    pub value: OnceCell<Result<Value<'a>, Fault>>,
    /// Set while it is computed; a variable cannot need itself, but a hostile one may try.
    pub running: Cell<bool>,
}

/// A run of a program.
pub(crate) struct Run<'a, 's> {
    pub slots: &'s [Slot<'a, 's>],
    pub names: &'a [Arc<str>],
    pub meter: Meter,
    locals: Vec<Value<'a>>,
}

impl<'a, 's> Run<'a, 's> {
    pub(crate) fn new(slots: &'s [Slot<'a, 's>], names: &'a [Arc<str>], limit: u64) -> Self {
        Self {
            slots,
            names,
            meter: Meter::new(limit),
            locals: Vec::new(),
        }
    }

    pub(crate) fn eval(&mut self, expr: &'a Expr) -> Outcome<'a> {
        match &expr.kind {
            Kind::Literal(literal) => Ok(literal_value(literal)),
            Kind::Variable(place) => self.variable(*place),
            Kind::Local(place) => {
                self.meter.pay(1)?;
                let value = self.locals.get(*place);
                value.cloned().ok_or_else(|| Fault::new("no such variable"))
            }
            Kind::TypeName(name) => Ok(Value::Type(Arc::clone(name))),
            Kind::Select(select) => self.select(select),
            Kind::Index {
                operand,
                index,
                optional,
            } => self.index(operand, index, *optional),
            Kind::Apply {
                functions,
                args,
                pattern,
            } => {
                let values = self.values(args)?;
                self.meter.pay(1)?;
                if let (Some(pattern), Some(Value::String(text))) = (pattern, values.first()) {
                    self.meter.pay_for_bytes(text.len())?;
                    return Ok(Value::Bool(pattern.is_match(text)));
                }
                let mut outcome = Err(Fault::no_overload());
                for function in functions {
                    outcome = (function.body)(&mut self.meter, &values);
                    if outcome.as_ref().err() != Some(&Fault::no_overload()) {
                        break;
                    }
                }
                outcome
            }
            Kind::Not(operand) => match self.eval(operand)? {
                Value::Bool(value) => Ok(Value::Bool(!value)),
                _ => Err(Fault::no_overload()),
            },
            Kind::Negate(operand) => {
                let value = self.eval(operand)?;
                self.meter.pay(1)?;
                arithmetic::negate(&value)
            }
            Kind::Binary {
                operator,
                left,
                right,
            } => self.binary(*operator, left, right),
            Kind::All(parts) => self.junction(parts, false),
            Kind::Any(parts) => self.junction(parts, true),
            Kind::Choose(parts) => {
                let [condition, then, otherwise] = &**parts;
                match self.eval(condition)? {
                    Value::Bool(true) => self.eval(then),
                    Value::Bool(false) => self.eval(otherwise),
                    _ => Err(Fault::no_overload()),
                }
            }
            Kind::List(items) => self.list(items),
            Kind::Map(entries) => self.map(entries),
            Kind::Loop(inner) => self.repeat(inner),
            Kind::Name(name) | Kind::Call { name, .. } => {
                Err(Fault::new(format!("no such attribute: {name}")))
            }
        }
    }

    fn values(&mut self, exprs: &'a [Expr]) -> Result<Vec<Value<'a>>, Fault> {
        exprs.iter().map(|expr| self.eval(expr)).collect()
    }

    fn variable(&mut self, place: usize) -> Outcome<'a> {
        self.meter.pay(1)?;
        match self.slots.get(place) {
            Some(Slot::Given(value)) => Ok(value.clone()),
            // Only its fields can be asked for; see `select`.
            Some(Slot::Computed(_)) => Err(Fault::no_overload()),
            Some(Slot::Absent) | None => {
                let name = self.names.get(place).map_or("", |name| name);
                Err(Fault::new(format!("no such attribute(s): {name}")))
            }
        }
    }

    fn computed(&mut self, variables: &'s [Computed<'a>], name: &str) -> Outcome<'a> {
        let variable = variables
            .iter()
            .find(|variable| &*variable.name == name)
            .ok_or_else(|| Fault::no_key(name))?;
        if let Some(value) = variable.value.get() {
            return value.clone();
        }
        if variable.running.replace(true) {
            return Err(Fault::new(format!("variable {name} needs itself")));
        }
        // The names of loops around the place it is asked from are not its own.
        let outer = std::mem::take(&mut self.locals);
        let value = self.eval(variable.body);
        self.locals = outer;
        variable.running.set(false);
        let value = value.map_err(|fault| Fault {
            text: format!("composited variable {name:?} fails to evaluate: {fault}"),
            ..fault
        });
        variable.value.get_or_init(|| value).clone()
    }

    fn select(&mut self, select: &'a Select) -> Outcome<'a> {
        if let Kind::Variable(place) = &select.operand.kind
            && let Some(Slot::Computed(variables)) = self.slots.get(*place)
        {
            self.meter.pay(1)?;
            let variables: &'s [Computed<'a>] = variables;
            if select.test {
                let known = variables.iter().any(|known| known.name == select.field);
                return Ok(Value::Bool(known));
            }
            return self.computed(variables, &select.field);
        }
        let operand = self.eval(&select.operand)?;
        self.meter.pay(1)?;
        let (operand, optional) = match operand {
            Value::Optional(None) if select.test => return Ok(Value::Bool(false)),
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(value)) => ((*value).clone(), true),
            other => (other, select.optional),
        };
        let Value::Map(map) = operand else {
            return Err(Fault::no_overload());
        };
        let found = map.field(&select.field);
        if select.test {
            return Ok(Value::Bool(found.is_some()));
        }
        match found {
            Some(value) if optional => Ok(value.some()),
            Some(value) => Ok(value),
            None if optional => Ok(Value::Optional(None)),
            None => Err(Fault::no_key(&select.field)),
        }
    }

    fn index(&mut self, operand: &'a Expr, index: &'a Expr, optional: bool) -> Outcome<'a> {
        let operand = self.eval(operand)?;
        let index = self.eval(index)?;
        self.meter.pay(1)?;
        let (operand, optional) = match operand {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(value)) => ((*value).clone(), true),
            other => (other, optional),
        };
        match arithmetic::element(&operand, &index) {
            Ok(value) if optional => Ok(value.some()),
            Err(fault) if optional && !fault.exhausted && fault != Fault::no_overload() => {
                Ok(Value::Optional(None))
            }
            other => other,
        }
    }

    fn binary(&mut self, operator: Operator, left: &'a Expr, right: &'a Expr) -> Outcome<'a> {
        let left = self.eval(left)?;
        let right = self.eval(right)?;
        self.meter.pay(1)?;
        arithmetic::binary(&mut self.meter, operator, &left, &right)
    }

    /// `&&` and `||`: one part that decides is enough, whatever became of the others.
    fn junction(&mut self, parts: &'a [Expr], decisive: bool) -> Outcome<'a> {
        let mut fault = None;
        for part in parts {
            match self.eval(part) {
                Ok(Value::Bool(value)) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => fault = fault.or_else(|| Some(Fault::no_overload())),
                Err(found) if found.exhausted => return Err(found),
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        match fault {
            Some(fault) => Err(fault),
            None => Ok(Value::Bool(!decisive)),
        }
    }

    fn list(&mut self, items: &'a [Item]) -> Outcome<'a> {
        self.meter.pay(10)?;
        let mut made = Vec::with_capacity(items.len());
        for item in items {
            let value = self.eval(&item.value)?;
            match (item.optional, value) {
                (false, value) => made.push(value),
                (true, Value::Optional(value)) => made.extend(value.map(|value| (*value).clone())),
                (true, _) => return Err(Fault::no_overload()),
            }
        }
        Ok(made.into())
    }

    fn map(&mut self, entries: &'a [Entry]) -> Outcome<'a> {
        self.meter.pay(30)?;
        let mut made = BTreeMap::new();
        for entry in entries {
            let key = self.eval(&entry.key)?;
            let value = self.eval(&entry.value)?;
            let value = match (entry.optional, value) {
                (false, value) => value,
                (true, Value::Optional(Some(value))) => (*value).clone(),
                (true, Value::Optional(None)) => continue,
                (true, _) => return Err(Fault::no_overload()),
            };
            insert(&mut made, &key, value)?;
        }
        Ok(Value::Map(Map::Made(Arc::new(made))))
    }

    /// Binds names, evaluates, and takes the names back.
    fn with(&mut self, first: Value<'a>, second: Option<Value<'a>>, expr: &'a Expr) -> Outcome<'a> {
        let before = self.locals.len();
        self.locals.push(first);
        self.locals.extend(second);
        let value = self.eval(expr);
        self.locals.truncate(before);
        value
    }
}

fn insert<'a>(
    made: &mut BTreeMap<Key<'a>, Value<'a>>,
    key: &Value<'a>,
    value: Value<'a>,
) -> Result<(), Fault> {
    let found = key
        .as_key()
        .ok_or_else(|| Fault::new("unsupported key type"))?;
    if made.insert(found, value).is_some() {
        let shown = crate::functions::convert::text_of(key).unwrap_or_default();
        return Err(Fault::new(format!(
            "insert failed: key {shown} already exists"
        )));
    }
    Ok(())
}

fn literal_value(literal: &Literal) -> Value<'_> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(number) => Value::Int(*number),
        Literal::Uint(number) => Value::Uint(*number),
        Literal::Double(number) => Value::Double(*number),
        Literal::String(text) => Value::String(Text::Borrowed(text)),
        Literal::Bytes(bytes) => Value::Bytes(Arc::clone(bytes)),
    }
}

/// A list of an object's elements, or a made one.
impl<'a> From<List<'a>> for Value<'a> {
    fn from(list: List<'a>) -> Self {
        Value::List(list)
    }
}

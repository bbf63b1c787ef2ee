//! Rules in schemas (`x-kubernetes-validations`): compiled with the definition, checked on every write.
//!
//! A rule sees the value at its place as `self` and, on updates, the one before as `oldSelf`. What a write did not
//! change is not held against it: a rule that was added later does not lock old objects.

mod budget;
mod compile;
mod defaults;
mod extents;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use object::Value;
use object::field::{FieldError, FieldErrorKind, FieldPath};
use schema::rules::Expression;
use schema::{ListKind, MapKind, Schema};

use crate::program::{CALL_LIMIT, Inputs, Program};

pub use budget::Expressions;

/// What all rules may cost together for one object: roughly a second. Upstream: the same.
pub const OBJECT_LIMIT: u64 = 10_000_000;

/// The longest message an expression may give.
const MESSAGE_LIMIT: usize = 5 * 1024;

/// The rules of a schema.
#[derive(Debug, Default)]
pub struct Rules {
    root: Option<Place>,
}

/// The rules at a place in a schema and below it.
#[derive(Debug, Default)]
struct Place {
    /// What messages show instead of the value.
    type_name: &'static str,
    rules: Vec<Rule>,
    fields: BTreeMap<Arc<str>, Place>,
    values: Option<Box<Place>>,
    items: Option<Box<Place>>,
    /// The keys by which elements of an old and a new list are known to be the same.
    keys: Option<Box<[Arc<str>]>>,
    /// Whether fields of an old and a new object are held against each other.
    correlates: bool,
}

#[derive(Debug)]
struct Rule {
    text: Expression,
    program: Program,
    message: Option<Program>,
    is_transition: bool,
    is_optional: bool,
}

/// A value, the one it replaces, and whether something around it is as it was.
#[derive(Clone, Copy)]
struct Pair<'v> {
    new: &'v Value,
    old: Option<&'v Value>,
    /// Whether the nearest value around that has an old one is the same as that.
    within_unchanged: bool,
}

impl Rules {
    /// Compiles all rules of a schema that stands at `path`.
    ///
    /// # Errors
    /// Everything wrong with them.
    pub fn compile(schema: &Schema, path: &FieldPath) -> Result<Self, Vec<FieldError>> {
        compile::rules(schema, path).map(|root| Self { root })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Everything that does not hold for an object, which replaces `old`.
    #[must_use]
    pub fn check(&self, old: Option<&Value>, new: &Value) -> Vec<FieldError> {
        let Some(root) = &self.root else {
            return Vec::new();
        };
        let mut checking = Checking::new();
        let pair = Pair {
            new,
            old,
            within_unchanged: false,
        };
        checking.place(root, pair, &FieldPath::root());
        checking.errors
    }
}

struct Checking {
    errors: Vec<FieldError>,
    left: u64,
    /// Whether there is nothing left to spend.
    over: bool,
    /// Whether what did not change is let pass.
    ratchets: bool,
}

impl Checking {
    fn new() -> Self {
        Self {
            errors: Vec::new(),
            left: OBJECT_LIMIT,
            over: false,
            ratchets: true,
        }
    }

    fn place(&mut self, place: &Place, pair: Pair<'_>, path: &FieldPath) {
        // Rules about null belong to what surrounds it.
        if pair.new.is_null() || self.over {
            return;
        }
        for rule in &place.rules {
            self.rule(place, rule, pair, path);
            if self.over {
                return;
            }
        }
        match pair.new {
            Value::Object(fields) => self.fields(place, fields, pair, path),
            Value::Array(items) => self.items(place, items, pair, path),
            _ => {}
        }
    }

    fn fields(&mut self, place: &Place, fields: &object::Map, pair: Pair<'_>, path: &FieldPath) {
        if place.fields.is_empty() && place.values.is_none() {
            return;
        }
        let old = pair
            .old
            .filter(|_| place.correlates)
            .and_then(Value::as_object);
        let unchanged = is_unchanged(pair);
        for (name, new) in fields {
            let (inner, path) = match (place.fields.get(name.as_str()), &place.values) {
                (Some(inner), _) => (inner, path.child(name)),
                (None, Some(values)) => (&**values, path.key(name)),
                (None, None) => continue,
            };
            let pair = Pair {
                new,
                old: old
                    .and_then(|old| old.get(name))
                    .filter(|old| !old.is_null()),
                within_unchanged: unchanged,
            };
            self.place(inner, pair, &path);
        }
    }

    fn items(&mut self, place: &Place, items: &[Value], pair: Pair<'_>, path: &FieldPath) {
        let Some(inner) = place.items.as_deref() else {
            return;
        };
        let unchanged = is_unchanged(pair);
        let known: BTreeMap<String, &Value> = match (&place.keys, pair.old) {
            (Some(keys), Some(Value::Array(old))) => old
                .iter()
                .map(|item| (identity(item, keys), item))
                .collect(),
            _ => BTreeMap::new(),
        };
        for (position, new) in items.iter().enumerate() {
            let old = match &place.keys {
                Some(keys) if !known.is_empty() => known.get(&identity(new, keys)).copied(),
                _ => None,
            };
            let pair = Pair {
                new,
                old,
                within_unchanged: unchanged,
            };
            self.place(inner, pair, &path.index(position));
        }
    }

    fn rule(&mut self, place: &Place, rule: &Rule, pair: Pair<'_>, path: &FieldPath) {
        if rule.is_transition && pair.old.is_none() && !rule.is_optional {
            return;
        }
        let inputs = Inputs::new().json("self", pair.new);
        let inputs = match (rule.is_optional, pair.old) {
            (true, old) => inputs.optional("oldSelf", old),
            (false, Some(old)) => inputs.json("oldSelf", old),
            (false, None) => inputs,
        };
        let shown = rule.shown();
        let invalid = |detail: String| FieldError::invalid(path.clone(), place.type_name, detail);
        let (outcome, cost) = rule.program.run(&inputs, CALL_LIMIT, |outcome| {
            (outcome.value.map(|value| value.as_bool()), outcome.cost)
        });
        if let Err(fault) = &outcome
            && fault.is_exhausted()
        {
            self.over = true;
            self.errors.push(invalid(format!(
                "'{fault}': no further validation rules will be run due to call cost exceeds limit for rule: {shown}"
            )));
            return;
        }
        let Some(left) = self.left.checked_sub(cost) else {
            self.over = true;
            self.errors.push(invalid(
                "validation failed due to running out of cost budget, no further validation rules will be run".to_owned(),
            ));
            return;
        };
        self.left = left;
        match outcome {
            Ok(Some(true)) => {}
            Ok(_) if self.ratchets && !rule.is_transition && is_unchanged(pair) => {}
            Ok(_) => {
                let detail = self.message(rule, &inputs);
                let path = match &rule.text.field_path {
                    Some(below) => FieldPath::from(joined(path, below).as_str()),
                    None => path.clone(),
                };
                self.errors
                    .push(error_of(rule, path, place.type_name, detail));
            }
            Err(fault) if fault.to_string().starts_with("no such overload") => {
                self.errors.push(invalid(format!(
                    "'{fault}': call arguments did not match a supported operator, function or macro signature for rule: {shown}"
                )));
            }
            Err(fault) => self
                .errors
                .push(invalid(format!("{fault} evaluating rule: {shown}"))),
        }
    }

    /// What the author of the rule wants said; what the expression for it gives, if that is of use.
    fn message<'a>(&mut self, rule: &'a Rule, inputs: &'a Inputs<'a>) -> String {
        let fixed = || match &rule.text.message {
            Some(message) => message.trim().to_owned(),
            None => format!("failed rule: {}", rule.shown()),
        };
        let Some(program) = &rule.message else {
            return fixed();
        };
        let (text, cost) = program.run(inputs, CALL_LIMIT.min(self.left), |outcome| {
            let text = outcome
                .value
                .ok()
                .and_then(|value| value.as_str().map(str::to_owned));
            (text, outcome.cost)
        });
        self.left = self.left.saturating_sub(cost);
        let text = text.unwrap_or_default();
        let text = text.trim();
        if text.is_empty() || text.len() > MESSAGE_LIMIT || text.contains('\n') {
            return fixed();
        }
        text.to_owned()
    }
}

impl Rule {
    /// How messages call it.
    fn shown(&self) -> &str {
        let message = self.text.message.as_deref().filter(|text| !text.is_empty());
        message.unwrap_or(&self.text.rule).trim()
    }
}

fn is_unchanged(pair: Pair<'_>) -> bool {
    match pair.old {
        Some(old) => old == pair.new,
        None => pair.within_unchanged,
    }
}

/// What tells an element from the others.
fn identity(item: &Value, keys: &[Arc<str>]) -> String {
    let values: Vec<&Value> = keys
        .iter()
        .map(|key| item.get(&**key).unwrap_or(&Value::Null))
        .collect();
    serde_json::to_string(&values).unwrap_or_default()
}

fn joined(path: &FieldPath, below: &str) -> String {
    let below = below.trim();
    match path.as_str() {
        "" => below.trim_start_matches('.').to_owned(),
        path if below.starts_with('[') => format!("{path}{below}"),
        path => format!("{path}.{}", below.trim_start_matches('.')),
    }
}

fn error_of(rule: &Rule, path: FieldPath, type_name: &str, detail: String) -> FieldError {
    match rule.text.reason.as_deref() {
        Some("FieldValueForbidden") => FieldError::forbidden(path, detail),
        Some("FieldValueRequired") => FieldError::required(path, detail),
        Some("FieldValueDuplicate") => FieldError::duplicate(path, type_name),
        _ => FieldError::invalid(path, type_name, detail),
    }
}

/// Errors after which rules are not looked at: they may take types and lengths for granted.
#[must_use]
pub fn is_blocking(error: &FieldError) -> bool {
    matches!(
        error.kind,
        FieldErrorKind::NotSupported
            | FieldErrorKind::Required
            | FieldErrorKind::TooLong
            | FieldErrorKind::TooMany
            | FieldErrorKind::TypeInvalid
    )
}

/// What is said instead of the rules when they are not looked at.
#[must_use]
pub fn unchecked() -> FieldError {
    FieldError::invalid(
        FieldPath::from("<nil>"),
        Value::Null,
        "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    )
}

/// How lists and objects of a node are held against their old selves.
fn correlation(list: &ListKind, map: MapKind) -> (Option<Box<[Arc<str>]>>, bool) {
    let keys = match list {
        ListKind::Map(keys) => Some(keys.clone()),
        _ => None,
    };
    (keys, map != MapKind::Atomic)
}

#[cfg(test)]
mod tests;

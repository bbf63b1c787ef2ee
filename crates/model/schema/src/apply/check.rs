//! What in an object keeps its fields from having owners: types that do not fit, keys that are missing or repeated.

use std::collections::BTreeSet;

use object::{Map, Value};

use super::{
    path::PathElement,
    typed::{Elements, Form, Ty},
};
use crate::{canonical, trail::MAX_DEPTH};

/// How many problems of one object are told.
const MOST_PROBLEMS: usize = 256;

/// Something in an object that its schema does not admit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeProblem {
    /// Where: `.spec.ports[name="http"]`.
    pub path: String,
    /// What is wrong.
    pub problem: String,
}

impl std::fmt::Display for TypeProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.problem)
        } else {
            write!(f, "{}: {}", self.path, self.problem)
        }
    }
}

/// Everything about an object that its schema does not admit as far as ownership is concerned.
pub(super) fn check(ty: Ty<'_>, value: &Value, allow_duplicates: bool) -> Vec<TypeProblem> {
    if allow_duplicates && fits(ty, value, 0) {
        return Vec::new();
    }
    let mut checker = Checker {
        allow_duplicates,
        problems: Vec::new(),
    };
    checker.value(
        ty,
        value,
        &Way {
            parent: None,
            step: Step::Start,
            depth: 0,
        },
    );
    checker.problems
}

/// Whether [`check`] finds nothing, repeated elements allowed: the same walk without words for what is wrong.
pub(super) fn fits(ty: Ty<'_>, value: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    match (ty.form(Some(value)), value) {
        (Form::Scalar, value) => ty.scalar_problem(Some(value), "").is_none(),
        (_, Value::Null) => true,
        (Form::List, Value::Array(items)) => {
            let is_atomic = matches!(ty.elements(), Elements::Atomic);
            let item_ty = ty.item();
            items
                .iter()
                .all(|item| (is_atomic || ty.has_element(item)) && fits(item_ty, item, depth + 1))
        }
        (Form::Map, Value::Object(fields)) => fields
            .iter()
            .all(|(name, field)| ty.field(name).is_some_and(|ty| fits(ty, field, depth + 1))),
        _ => false,
    }
}

/// Whether an object fits without a field of its metadata.
pub(super) fn fits_without_metadata_field(ty: Ty<'_>, object: &Map, skipped: &str) -> bool {
    object.iter().all(|(name, value)| {
        let Some(ty) = ty.field(name) else {
            return false;
        };
        match value {
            Value::Object(metadata) if name == "metadata" => metadata
                .iter()
                .filter(|(name, _)| *name != skipped)
                .all(|(name, value)| ty.field(name).is_some_and(|ty| fits(ty, value, 2))),
            value => fits(ty, value, 1),
        }
    })
}

/// The way to a value, linked through the stack; written only for a problem.
struct Way<'a> {
    parent: Option<&'a Way<'a>>,
    step: Step<'a>,
    depth: usize,
}

enum Step<'a> {
    Start,
    Field(&'a str),
    Element(&'a PathElement),
    Index(usize),
}

impl<'a> Way<'a> {
    fn then(&'a self, step: Step<'a>) -> Self {
        Self {
            parent: Some(self),
            step,
            depth: self.depth + 1,
        }
    }

    fn path(&self) -> String {
        let start = self.parent.map(Way::path).unwrap_or_default();
        match &self.step {
            Step::Start => start,
            Step::Field(name) => format!("{start}.{name}"),
            Step::Element(element) => format!("{start}{element}"),
            Step::Index(index) => format!("{start}[{index}]"),
        }
    }
}

struct Checker {
    allow_duplicates: bool,
    problems: Vec<TypeProblem>,
}

impl Checker {
    fn report(&mut self, way: &Way<'_>, problem: String) {
        // Whoever is told of so many will look for what they have in common.
        if self.problems.len() >= MOST_PROBLEMS {
            return;
        }
        self.problems.push(TypeProblem {
            path: way.path(),
            problem,
        });
    }

    fn value(&mut self, ty: Ty<'_>, value: &Value, way: &Way<'_>) {
        if way.depth > MAX_DEPTH {
            return self.report(way, "nested too deeply".to_owned());
        }
        match (ty.form(Some(value)), value) {
            (Form::Scalar, value) => {
                if let Some(problem) = ty.scalar_problem(Some(value), "") {
                    self.report(way, problem);
                }
            }
            (_, Value::Null) => {}
            (Form::List, Value::Array(items)) => self.items(ty, items, way),
            (Form::Map, Value::Object(fields)) => {
                for (name, field) in fields {
                    let way = way.then(Step::Field(name));
                    match ty.field(name) {
                        Some(ty) => self.value(ty, field, &way),
                        None => self.report(&way, "field not declared in schema".to_owned()),
                    }
                }
            }
            (Form::List, other) => {
                self.report(way, format!("expected list, got &{{{}}}", go_text(other)))
            }
            (Form::Map, other) => {
                self.report(way, format!("expected map, got &{{{}}}", go_text(other)))
            }
        }
    }

    fn items(&mut self, ty: Ty<'_>, items: &[Value], way: &Way<'_>) {
        if matches!(ty.elements(), Elements::Atomic) {
            for (index, item) in items.iter().enumerate() {
                self.value(ty.item(), item, &way.then(Step::Index(index)));
            }
            return;
        }
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let element = match ty.element(item) {
                Ok(element) => element,
                // Without a key nothing can be said about the rest of the list.
                Err(problem) => return self.report(way, format!("element {index}: {problem}")),
            };
            if !self.allow_duplicates && seen.contains(&element) {
                self.report(way, format!("duplicate entries for key {element}"));
            }
            self.value(ty.item(), item, &way.then(Step::Element(&element)));
            seen.insert(element);
        }
    }
}

/// A value as Go prints it.
pub(super) fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(go_text).collect::<Vec<_>>().join(" ")
        ),
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(b.0));
            let fields: Vec<String> = sorted
                .into_iter()
                .map(|(name, value)| format!("{name}:{}", go_text(value)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
        plain => canonical::text(plain),
    }
}

/// A value as Go's source would have it.
pub(super) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Array(items) => {
            format!(
                "[]interface {{}}{{{}}}",
                items.iter().map(go_syntax).collect::<Vec<_>>().join(", ")
            )
        }
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(b.0));
            let fields: Vec<String> = sorted
                .into_iter()
                .map(|(name, value)| format!("{name:?}:{}", go_syntax(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        plain => canonical::text(plain),
    }
}

pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

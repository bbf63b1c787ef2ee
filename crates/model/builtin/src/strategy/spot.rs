//! A value and where it is, for rules that report what is wrong with it.

use object::{
    Map, Value,
    field::{FieldError, FieldPath},
};

/// A place in an object. The path is only written out when there is an error to report.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) value: &'a Value,
    above: Option<&'a Spot<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

/// What was found wrong so far.
pub(super) type Errors = Vec<FieldError>;

const NOTHING: &Value = &Value::Null;

impl<'a> Spot<'a> {
    /// A whole object.
    pub(super) fn root(value: &'a Value) -> Self {
        Self {
            value,
            above: None,
            step: Step::Index(0),
        }
    }

    /// What this is a part of.
    pub(super) fn above(&self) -> Option<&'a Spot<'a>> {
        self.above
    }

    /// The field `name`, which may be absent.
    pub(super) fn field(&'a self, name: &'a str) -> Self {
        let value = self.value.get(name).unwrap_or(NOTHING);
        Self {
            value,
            above: Some(self),
            step: Step::Field(name),
        }
    }

    /// The entry `key` of a map, which may be absent.
    pub(super) fn key(&'a self, key: &'a str) -> Self {
        let value = self.value.get(key).unwrap_or(NOTHING);
        Self {
            value,
            above: Some(self),
            step: Step::Key(key),
        }
    }

    /// The elements, if this is a list.
    pub(super) fn elements(&'a self) -> impl Iterator<Item = Spot<'a>> {
        let items = self.value.as_array().map_or(&[][..], Vec::as_slice);
        items.iter().enumerate().map(|(index, value)| Self {
            value,
            above: Some(self),
            step: Step::Index(index),
        })
    }

    /// The entries, if this is a map.
    pub(super) fn entries(&'a self) -> impl Iterator<Item = (&'a str, Spot<'a>)> {
        let fields = self.map().into_iter().flatten();
        fields.map(|(key, value)| {
            (
                key.as_str(),
                Self {
                    value,
                    above: Some(self),
                    step: Step::Key(key),
                },
            )
        })
    }

    /// The fields, if this is an object.
    pub(super) fn map(&self) -> Option<&'a Map> {
        self.value.as_object()
    }

    /// Whether there is a value other than `null`.
    pub(super) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether there is neither a value nor an element nor a character.
    pub(super) fn is_empty(&self) -> bool {
        match self.value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// The text; empty where there is none.
    pub(super) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or("")
    }

    /// The number; `None` where there is none.
    pub(super) fn number(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// Whether it is `true`.
    pub(super) fn is_true(&self) -> bool {
        *self.value == Value::Bool(true)
    }

    /// How many elements or entries there are.
    pub(super) fn len(&self) -> usize {
        match self.value {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        }
    }

    /// The path, as errors show it.
    pub(super) fn path(&self) -> FieldPath {
        let Some(above) = self.above else {
            return FieldPath::root();
        };
        match self.step {
            Step::Field(name) => above.path().child(name),
            Step::Index(index) => above.path().index(index),
            Step::Key(key) => above.path().key(key),
        }
    }

    /// The value breaks a rule.
    pub(super) fn invalid(&self, detail: impl Into<String>) -> FieldError {
        FieldError::invalid(self.path(), self.value.clone(), detail)
    }

    /// The value is missing.
    pub(super) fn required(&self, detail: impl Into<String>) -> FieldError {
        FieldError::required(self.path(), detail)
    }

    /// The value may not be there, or not be changed.
    pub(super) fn forbidden(&self, detail: impl Into<String>) -> FieldError {
        FieldError::forbidden(self.path(), detail)
    }

    /// The value is none of those allowed.
    pub(super) fn not_supported(&self, supported: &[&str]) -> FieldError {
        FieldError::not_supported(self.path(), self.value.clone(), supported)
    }

    /// The value occurs twice.
    pub(super) fn duplicate(&self) -> FieldError {
        FieldError::duplicate(self.path(), self.value.clone())
    }

    /// What the value names does not exist.
    pub(super) fn not_found(&self) -> FieldError {
        FieldError::not_found(self.path(), self.text())
    }

    /// Reports each problem found with the value.
    pub(super) fn complain(&self, problems: Vec<String>, errors: &mut Errors) {
        errors.extend(problems.into_iter().map(|problem| self.invalid(problem)));
    }
}

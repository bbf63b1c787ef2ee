//! Rules about a value beyond its type: bounds, enumerations, patterns, combinations, CEL expressions.

use std::sync::Arc;

use object::Value;

use crate::pattern::Pattern;

/// The value validations of a node. Everything absent by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// The named format: `int32`, `date-time`, `byte`, …
    pub format: Option<Arc<str>>,
    /// A regular expression that must match somewhere in a string.
    pub pattern: Option<Pattern>,
    /// The only values allowed; empty for no restriction.
    pub enumeration: Box<[Value]>,
    /// The largest number.
    pub maximum: Option<f64>,
    /// Whether `maximum` itself is too large.
    pub exclusive_maximum: bool,
    /// The smallest number.
    pub minimum: Option<f64>,
    /// Whether `minimum` itself is too small.
    pub exclusive_minimum: bool,
    /// The number must be a multiple of this.
    pub multiple_of: Option<f64>,
    /// The most characters of a string.
    pub max_length: Option<i64>,
    /// The fewest characters of a string.
    pub min_length: Option<i64>,
    /// The most elements of a list.
    pub max_items: Option<i64>,
    /// The fewest elements of a list.
    pub min_items: Option<i64>,
    /// Whether list elements must differ.
    pub unique_items: bool,
    /// The most fields of an object.
    pub max_properties: Option<i64>,
    /// The fewest fields of an object.
    pub min_properties: Option<i64>,
    /// Fields that must be present.
    pub required: Box<[Arc<str>]>,
    /// All of these must hold.
    pub all_of: Box<[Branch]>,
    /// One of these must hold, or more.
    pub any_of: Box<[Branch]>,
    /// Exactly one of these must hold.
    pub one_of: Box<[Branch]>,
    /// This must not hold.
    pub not: Option<Box<Branch>>,
    /// Expressions that must hold; kept as text for the engine that evaluates them.
    pub expressions: Box<[Expression]>,
}

/// Rules below a combination (`allOf`, `anyOf`, `oneOf`, `not`). It says nothing about types: whatever it mentions is
/// described by the node that carries it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branch {
    /// Rules for the value itself.
    pub rules: Rules,
    /// The type required here; only the two halves of an int-or-string have one.
    pub ty: Option<crate::node::Type>,
    /// Rules for fields, sorted by name.
    pub properties: Box<[(Arc<str>, Branch)]>,
    /// Rules for list elements.
    pub items: Option<Box<Branch>>,
}

/// One entry of `x-kubernetes-validations`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expression {
    /// The CEL expression.
    pub rule: Arc<str>,
    /// What is shown when it does not hold.
    pub message: Option<Arc<str>>,
    /// A CEL expression that computes the message.
    pub message_expression: Option<Arc<str>>,
    /// The reason of the field error (`FieldValueInvalid`, …).
    pub reason: Option<Arc<str>>,
    /// The field the error is reported at, relative to the node.
    pub field_path: Option<Arc<str>>,
    /// Whether `oldSelf` is optional, so that the rule also runs on creation.
    pub optional_old_self: Option<bool>,
}

impl Rules {
    /// Rules that name required fields only.
    #[must_use]
    pub fn require<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            required: names.into_iter().map(Arc::from).collect(),
            ..Self::default()
        }
    }

    /// Rules that name a format only.
    #[must_use]
    pub fn format(name: &str) -> Self {
        Self {
            format: Some(Arc::from(name)),
            ..Self::default()
        }
    }

    /// Rules that list the allowed values only.
    #[must_use]
    pub fn one_value_of<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> Self {
        Self {
            enumeration: values.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

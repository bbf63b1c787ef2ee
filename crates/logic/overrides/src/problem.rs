//! What can go wrong with an override, and where.

use std::fmt;

use object::{
    Value,
    parse::ParseError,
    patch::{ApplyError, ParsePointerError, Pointer},
};

use crate::{
    overrider::image::ParseImageError,
    policy::{PolicyId, RulePlace},
};

/// A rule cannot be applied to an object; the object is not to be sent to the cluster.
#[derive(Debug, thiserror::Error)]
#[error("cannot apply {policy}: spec.{rule}.{overrider}{}{}", Index(.position), At(.path))]
pub struct OverrideError {
    /// The policy.
    pub policy: PolicyId,
    /// The rule of the policy.
    pub rule: RulePlace,
    /// Which of the rule's overriders.
    pub overrider: Overrider,
    /// The entry of the overrider; `None` where all entries act as one.
    pub position: Option<usize>,
    /// The place in the object, as a JSON pointer; empty where the problem is elsewhere.
    pub path: String,
    /// Why.
    pub source: Problem,
}

/// The sorts of overrider, in the order of application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Overrider {
    /// Parts of image references.
    Image,
    /// Commands of containers.
    Command,
    /// Arguments of containers.
    Args,
    /// Labels of the object.
    Labels,
    /// Annotations of the object.
    Annotations,
    /// Documents inside text fields.
    Field,
    /// Any field.
    Plaintext,
}

/// Why an overrider cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A path of the policy is not a JSON pointer.
    #[error(transparent)]
    Pointer(#[from] ParsePointerError),
    /// Nothing stands at the place.
    #[error("nothing is there")]
    Missing,
    /// The place holds something else.
    #[error("expected {expected}, found {found}")]
    Type {
        /// What should be there.
        expected: &'static str,
        /// What is.
        found: &'static str,
    },
    /// The text there is not an image reference.
    #[error(transparent)]
    Image(#[from] ParseImageError),
    /// A field overrider says nothing.
    #[error("neither json nor yaml says what to change")]
    NoChange,
    /// The text there is not JSON.
    #[error("the text is not JSON")]
    Json(#[source] Box<ParseError>),
    /// The text there is not one YAML document.
    #[error("the text is not a YAML document: {0}")]
    Yaml(String),
    /// Something in the text would not be the same afterwards.
    #[error("{place:?} in the text would not stay what it is: {why}")]
    Unkept {
        /// The place in the text, as a JSON pointer.
        place: String,
        /// What would become of it.
        why: String,
    },
    /// A change does not fit.
    #[error(transparent)]
    Patch(#[from] Box<ApplyError>),
    /// The object would no longer say what it is.
    #[error("the result has no kind")]
    KindLost,
    /// The object would become another one.
    #[error("the {what} would change from {from:?} to {to:?}, and the object would be another one")]
    Identity {
        /// What would change.
        what: &'static str,
        /// As it is in the template.
        from: String,
        /// As the rule would make it.
        to: String,
    },
    /// The object would let others do something, or let somebody do something else.
    #[error("the rights that the object gives would change, and no override gives rights")]
    Rights,
}

/// What an overrider complains about: the place, and why.
pub(crate) struct Fault {
    pub(crate) path: String,
    pub(crate) problem: Problem,
}

impl Problem {
    /// What stands at the place of the text cannot be carried through.
    pub(crate) fn unkept(place: &[String], why: impl Into<String>) -> Self {
        Self::Unkept {
            place: place.iter().collect::<Pointer>().to_string(),
            why: why.into(),
        }
    }
}

impl Overrider {
    /// The field of the rule.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Image => "imageOverrider",
            Self::Command => "commandOverrider",
            Self::Args => "argsOverrider",
            Self::Labels => "labelsOverrider",
            Self::Annotations => "annotationsOverrider",
            Self::Field => "fieldOverrider",
            Self::Plaintext => "plaintext",
        }
    }
}

impl fmt::Display for Overrider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field())
    }
}

impl Fault {
    /// At a place of the object.
    pub(crate) fn at(path: &Pointer, problem: impl Into<Problem>) -> Self {
        Self {
            path: path.to_string(),
            problem: problem.into(),
        }
    }

    /// The place holds something of another type.
    pub(crate) fn unexpected(path: &Pointer, expected: &'static str, found: &Value) -> Self {
        Self::at(
            path,
            Problem::Type {
                expected,
                found: type_name(found),
            },
        )
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// `[3]`, or nothing.
struct Index<'a>(&'a Option<usize>);

impl fmt::Display for Index<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(position) => write!(f, "[{position}]"),
            None => Ok(()),
        }
    }
}

/// ` at /spec/replicas`, or nothing.
struct At<'a>(&'a str);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            path => write!(f, " at {path}"),
        }
    }
}

//! Where in an object something is wrong, and what.
//!
//! Validation collects [`FieldError`]s; their texts have the shape Kubernetes' clients know
//! (`spec.replicas: Invalid value: -1: must be greater than or equal to 0`).

use std::fmt;

use serde_json::Value;

/// A path to a field, printed as Kubernetes does: `spec.containers[0].env[KEY]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath(String);

impl FieldPath {
    /// The object itself.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// The path of a top-level field.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The field `name` of the object at this path.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() {
            return Self::new(name);
        }
        Self(format!("{}.{name}", self.0))
    }

    /// The element at `position` of the list at this path.
    #[must_use]
    pub fn index(&self, position: usize) -> Self {
        Self(format!("{}[{position}]", self.0))
    }

    /// The value under `key` of the map at this path.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The path as text; empty for the object itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "<root>" } else { &self.0 })
    }
}

impl From<&str> for FieldPath {
    fn from(path: &str) -> Self {
        Self(path.to_owned())
    }
}

/// The kinds of field error, with the reason strings clients see in `Status` causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldErrorKind {
    /// Something the field refers to does not exist.
    NotFound,
    /// The field must be set and is not.
    Required,
    /// A value that must be unique occurs twice.
    Duplicate,
    /// The value does not follow the field's rules.
    Invalid,
    /// The value is not one of those allowed.
    NotSupported,
    /// The field may not be set here.
    Forbidden,
    /// The value is longer than allowed.
    TooLong,
    /// There are more elements than allowed.
    TooMany,
    /// There are fewer elements than required.
    TooFew,
    /// The value has the wrong type.
    TypeInvalid,
    /// Something failed that is not the author's fault.
    Internal,
}

impl FieldErrorKind {
    /// The machine-readable reason, as in `Status.details.causes[].reason`.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    fn headline(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }
}

/// One thing wrong with one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What sort of error it is.
    pub kind: FieldErrorKind,
    /// Where it is.
    pub path: FieldPath,
    /// The offending value; `None` where the text shows none (required, forbidden, too long).
    pub value: Option<Box<Value>>,
    /// What to do about it, or why it is wrong; may be empty.
    pub detail: String,
}

impl FieldError {
    /// The field must be set.
    #[must_use]
    pub fn required(path: FieldPath, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Required,
            path,
            value: None,
            detail: detail.into(),
        }
    }

    /// The value breaks a rule of the field.
    #[must_use]
    pub fn invalid(path: FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Invalid,
            path,
            value: Some(Box::new(value.into())),
            detail: detail.into(),
        }
    }

    /// The value has the wrong JSON type.
    #[must_use]
    pub fn type_invalid(
        path: FieldPath,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind: FieldErrorKind::TypeInvalid,
            path,
            value: Some(Box::new(value.into())),
            detail: detail.into(),
        }
    }

    /// The value occurs twice where it may occur once.
    #[must_use]
    pub fn duplicate(path: FieldPath, value: impl Into<Value>) -> Self {
        Self {
            kind: FieldErrorKind::Duplicate,
            path,
            value: Some(Box::new(value.into())),
            detail: String::new(),
        }
    }

    /// What the field names does not exist.
    #[must_use]
    pub fn not_found(path: FieldPath, value: impl Into<Value>) -> Self {
        Self {
            kind: FieldErrorKind::NotFound,
            path,
            value: Some(Box::new(value.into())),
            detail: String::new(),
        }
    }

    /// The field may not be set, or not to this.
    #[must_use]
    pub fn forbidden(path: FieldPath, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Forbidden,
            path,
            value: None,
            detail: detail.into(),
        }
    }

    /// The value is none of `supported`.
    #[must_use]
    pub fn not_supported(path: FieldPath, value: impl Into<Value>, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported
            .iter()
            .map(|choice| format!("{choice:?}"))
            .collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        Self {
            kind: FieldErrorKind::NotSupported,
            path,
            value: Some(Box::new(value.into())),
            detail,
        }
    }

    /// The text is longer than `limit` bytes.
    #[must_use]
    pub fn too_long(path: FieldPath, limit: usize) -> Self {
        let unit = if limit == 1 { "byte" } else { "bytes" };
        Self {
            kind: FieldErrorKind::TooLong,
            path,
            value: None,
            detail: format!("may not be more than {limit} {unit}"),
        }
    }

    /// The error without its path: what goes into `causes[].message`.
    #[must_use]
    pub fn body(&self) -> String {
        let mut text = self.kind.headline().to_owned();
        if let Some(value) = &self.value {
            text.push_str(": ");
            text.push_str(&shown(value));
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

impl std::error::Error for FieldError {}

/// Joins errors the way a reader of `kubectl` output expects: one bare, several in brackets.
#[must_use]
pub fn join(errors: &[FieldError]) -> String {
    match errors {
        [] => String::new(),
        [only] => only.to_string(),
        many => format!(
            "[{}]",
            many.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

/// Strings are quoted, anything else is shown as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_print_as_in_kubernetes() {
        let path = FieldPath::new("spec")
            .child("containers")
            .index(2)
            .child("env")
            .key("A/b");
        assert_eq!(path.to_string(), "spec.containers[2].env[A/b]");
        assert_eq!(FieldPath::root().to_string(), "<root>");
        assert_eq!(FieldPath::root().child("kind").to_string(), "kind");
    }

    #[test]
    fn errors_print_as_in_kubernetes() {
        let path = || FieldPath::from("spec.x");
        for (error, text) in [
            (FieldError::required(path(), ""), "spec.x: Required value"),
            (
                FieldError::required(path(), "name it"),
                "spec.x: Required value: name it",
            ),
            (
                FieldError::invalid(path(), -1, "must be positive"),
                "spec.x: Invalid value: -1: must be positive",
            ),
            (
                FieldError::invalid(path(), "a\"b", "no"),
                "spec.x: Invalid value: \"a\\\"b\": no",
            ),
            (
                FieldError::duplicate(path(), "a"),
                "spec.x: Duplicate value: \"a\"",
            ),
            (
                FieldError::not_found(path(), "a"),
                "spec.x: Not found: \"a\"",
            ),
            (
                FieldError::forbidden(path(), "not here"),
                "spec.x: Forbidden: not here",
            ),
            (
                FieldError::not_supported(path(), "c", &["a", "b"]),
                "spec.x: Unsupported value: \"c\": supported values: \"a\", \"b\"",
            ),
            (
                FieldError::too_long(path(), 63),
                "spec.x: Too long: may not be more than 63 bytes",
            ),
        ] {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn several_errors_stand_in_brackets() {
        let one = FieldError::required(FieldPath::new("a"), "");
        let two = FieldError::required(FieldPath::new("b"), "");
        assert_eq!(join(std::slice::from_ref(&one)), "a: Required value");
        assert_eq!(join(&[one, two]), "[a: Required value, b: Required value]");
    }
}

//! JSON Patch documents (RFC 6902), read from what a client sent.

use serde::Serialize;

use super::pointer::{ParsePointerError, Pointer};
use crate::{Map, Value, excerpt::Excerpt};

/// The most operations a patch may have; the limit of Kubernetes' API server.
pub const MAX_OPERATIONS: usize = 10_000;

/// Operations to be done in order, all or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct JsonPatch(pub Vec<Operation>);

/// One step of a [`JsonPatch`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Operation {
    /// Sets a field, whether or not it is there, or inserts into a list; `-` stands for the end of a list.
    Add {
        /// Where.
        path: Pointer,
        /// What.
        value: Value,
    },
    /// Takes away a field or a list element, which must be there.
    Remove {
        /// Which.
        path: Pointer,
    },
    /// Sets a field or a list element.
    Replace {
        /// Which.
        path: Pointer,
        /// To what.
        value: Value,
    },
    /// Takes a value away from one place and adds it at another.
    Move {
        /// Where it is.
        from: Pointer,
        /// Where it shall be.
        path: Pointer,
    },
    /// Adds a value that is at one place at another one too.
    Copy {
        /// Where it is.
        from: Pointer,
        /// Where it shall be too.
        path: Pointer,
    },
    /// Fails the patch unless the value is there; `null` is also found where there is no such field.
    Test {
        /// Where.
        path: Pointer,
        /// What should be there.
        value: Value,
    },
}

/// Why a document is not a JSON patch. Operations count from zero.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// The document is not a list.
    #[error("a JSON patch must be a list of operations")]
    NotAList,
    /// There are too many operations.
    #[error("a JSON patch may have {MAX_OPERATIONS} operations at most, not {count}")]
    TooMany {
        /// How many there are.
        count: usize,
    },
    /// An element of the list is not an object.
    #[error("operation {index}: must be an object")]
    NotAnObject {
        /// Which operation.
        index: usize,
    },
    /// `op` names no operation.
    #[error("operation {index}: unknown op {op}: must be add, remove, replace, move, copy or test")]
    UnknownOp {
        /// Which operation.
        index: usize,
        /// What is there instead, cut if it is long.
        op: Excerpt,
    },
    /// A field is missing.
    #[error("operation {index} ({op} at {path}): missing field '{field}'")]
    MissingField {
        /// Which operation.
        index: usize,
        /// Its `op`.
        op: &'static str,
        /// Its `path`, or nothing if that is what is missing; cut if it is long.
        path: Excerpt,
        /// The field.
        field: &'static str,
    },
    /// `path` or `from` is not text.
    #[error("operation {index} ({op}): field '{field}' must be a string")]
    NotText {
        /// Which operation.
        index: usize,
        /// Its `op`.
        op: &'static str,
        /// The field.
        field: &'static str,
    },
    /// `path` or `from` is not a JSON pointer.
    #[error("operation {index} ({op}): field '{field}' is not a JSON pointer: {problem}")]
    BadPointer {
        /// Which operation.
        index: usize,
        /// Its `op`.
        op: &'static str,
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        problem: ParsePointerError,
    },
}

impl JsonPatch {
    /// Reads a patch. Fields an operation does not have are ignored, as the standard asks.
    pub fn decode(document: &Value) -> Result<Self, DecodeError> {
        let Value::Array(operations) = document else {
            return Err(DecodeError::NotAList);
        };
        if operations.len() > MAX_OPERATIONS {
            return Err(DecodeError::TooMany {
                count: operations.len(),
            });
        }
        operations
            .iter()
            .enumerate()
            .map(|(index, operation)| decode_operation(index, operation))
            .collect()
    }
}

impl FromIterator<Operation> for JsonPatch {
    fn from_iter<I: IntoIterator<Item = Operation>>(operations: I) -> Self {
        Self(operations.into_iter().collect())
    }
}

impl Operation {
    /// The name of the operation, as in its field `op`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Remove { .. } => "remove",
            Self::Replace { .. } => "replace",
            Self::Move { .. } => "move",
            Self::Copy { .. } => "copy",
            Self::Test { .. } => "test",
        }
    }

    /// The place the operation is about.
    #[must_use]
    pub fn path(&self) -> &Pointer {
        match self {
            Self::Add { path, .. }
            | Self::Remove { path }
            | Self::Replace { path, .. }
            | Self::Move { path, .. }
            | Self::Copy { path, .. }
            | Self::Test { path, .. } => path,
        }
    }
}

fn decode_operation(index: usize, operation: &Value) -> Result<Operation, DecodeError> {
    let Value::Object(fields) = operation else {
        return Err(DecodeError::NotAnObject { index });
    };
    let source = |op| Source { index, op, fields };
    match fields.get("op").and_then(Value::as_str) {
        Some("add") => {
            let source = source("add");
            Ok(Operation::Add {
                path: source.pointer("path")?,
                value: source.value()?,
            })
        }
        Some("remove") => Ok(Operation::Remove {
            path: source("remove").pointer("path")?,
        }),
        Some("replace") => {
            let source = source("replace");
            Ok(Operation::Replace {
                path: source.pointer("path")?,
                value: source.value()?,
            })
        }
        Some("move") => {
            let source = source("move");
            Ok(Operation::Move {
                from: source.pointer("from")?,
                path: source.pointer("path")?,
            })
        }
        Some("copy") => {
            let source = source("copy");
            Ok(Operation::Copy {
                from: source.pointer("from")?,
                path: source.pointer("path")?,
            })
        }
        // Upstream: a test without a value tests for null.
        Some("test") => Ok(Operation::Test {
            path: source("test").pointer("path")?,
            value: fields.get("value").cloned().unwrap_or_default(),
        }),
        _ => Err(DecodeError::UnknownOp {
            index,
            op: unknown_op(fields.get("op")),
        }),
    }
}

fn unknown_op(op: Option<&Value>) -> Excerpt {
    match op {
        Some(Value::String(name)) => name.as_str().into(),
        Some(other) => other.to_string().as_str().into(),
        None => "".into(),
    }
}

/// The fields of an operation whose `op` is known.
struct Source<'a> {
    index: usize,
    op: &'static str,
    fields: &'a Map,
}

impl Source<'_> {
    fn pointer(&self, field: &'static str) -> Result<Pointer, DecodeError> {
        let &Self { index, op, .. } = self;
        match self.fields.get(field) {
            None => Err(self.missing(field)),
            Some(Value::String(text)) => text.parse().map_err(|problem| DecodeError::BadPointer {
                index,
                op,
                field,
                problem,
            }),
            Some(_) => Err(DecodeError::NotText { index, op, field }),
        }
    }

    fn value(&self) -> Result<Value, DecodeError> {
        self.fields
            .get("value")
            .cloned()
            .ok_or_else(|| self.missing("value"))
    }

    fn missing(&self, field: &'static str) -> DecodeError {
        let path = self
            .fields
            .get("path")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .into();
        DecodeError::MissingField {
            index: self.index,
            op: self.op,
            path,
            field,
        }
    }
}

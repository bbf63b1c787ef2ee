//! Carrying out a JSON patch.

use std::io;

use super::{
    json_patch::{JsonPatch, Operation},
    pointer::{Pointer, existing_index},
};
use crate::{Value, parse::DEPTH_LIMIT};

/// The most bytes of JSON that the `copy` operations of one patch may add; the limit of Kubernetes' API server.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// What `replace` does about a field that is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replace {
    /// Fails the patch, as RFC 6902 and Karmada's overrides have it.
    #[default]
    Existing,
    /// Adds the field, as Kubernetes' API server does for its clients. List elements must exist all the same.
    ExistingOrMissing,
}

/// A patch does not fit the document. Operations count from zero.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operation {index} ({operation} {path}): {problem}")]
pub struct ApplyError {
    /// Which operation.
    pub index: usize,
    /// Its name.
    pub operation: &'static str,
    /// The place it is about.
    pub path: Pointer,
    /// Why it cannot be done.
    pub problem: Problem,
}

/// Why an operation cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A field on the way, or at the place itself, does not exist.
    #[error("nothing exists at {at}")]
    Missing {
        /// The first place that is missing.
        at: Pointer,
    },
    /// Something on the way has no parts.
    #[error("{at} is neither an object nor a list")]
    NoContainer {
        /// Where.
        at: Pointer,
    },
    /// A list has no element of this position.
    #[error("'{token}' is not a position in the list {at} of {length} elements")]
    BadIndex {
        /// The list.
        at: Pointer,
        /// The position asked for.
        token: String,
        /// How many elements there are.
        length: usize,
    },
    /// The tested value is another one.
    #[error("test failed: the value is a different one")]
    Differs,
    /// The whole document would be taken away.
    #[error("the whole document cannot be removed")]
    RemovesRoot,
    /// A value would be moved into itself.
    #[error("{from} cannot be moved into itself")]
    IntoItself {
        /// The value.
        from: Pointer,
    },
    /// The document would become too deep to be read again.
    #[error("the document would be nested deeper than {DEPTH_LIMIT} levels")]
    TooDeep,
    /// The patch copies too much.
    #[error("the patch copies more than {MAX_COPIED_BYTES} bytes")]
    CopiesTooMuch,
}

impl JsonPatch {
    /// The document with all operations done, or the first reason why not.
    pub fn apply(&self, document: &Value, replace: Replace) -> Result<Value, ApplyError> {
        let mut state = State {
            document: document.clone(),
            replace,
            copied: 0,
        };
        for (index, operation) in self.0.iter().enumerate() {
            state.perform(operation).map_err(|problem| ApplyError {
                index,
                operation: operation.name(),
                path: operation.path().clone(),
                problem,
            })?;
        }
        Ok(state.document)
    }
}

struct State {
    document: Value,
    replace: Replace,
    /// Bytes copied so far.
    copied: usize,
}

impl State {
    fn perform(&mut self, operation: &Operation) -> Result<(), Problem> {
        match operation {
            Operation::Add { path, value } => self.add(path, value.clone()),
            Operation::Remove { path } => self.remove(path).map(drop),
            Operation::Replace { path, value } => self.replace(path, value),
            Operation::Move { from, path } => self.relocate(from, path),
            Operation::Copy { from, path } => self.copy(from, path),
            Operation::Test { path, value } => self.test(path, value),
        }
    }

    fn add(&mut self, path: &Pointer, value: Value) -> Result<(), Problem> {
        check_depth(path, &value)?;
        let Some((parents, last)) = path.split_last() else {
            self.document = value;
            return Ok(());
        };
        match descend(&mut self.document, parents)? {
            Value::Object(fields) => {
                fields.insert(last.to_owned(), value);
            }
            Value::Array(items) => {
                let position = insertion_index(last, items.len())
                    .ok_or_else(|| bad_index(parents, last, items))?;
                items.insert(position, value);
            }
            _ => {
                return Err(Problem::NoContainer {
                    at: parents.iter().collect(),
                });
            }
        }
        Ok(())
    }

    fn remove(&mut self, path: &Pointer) -> Result<Value, Problem> {
        let Some((parents, last)) = path.split_last() else {
            return Err(Problem::RemovesRoot);
        };
        match descend(&mut self.document, parents)? {
            Value::Object(fields) => fields
                .shift_remove(last)
                .ok_or_else(|| Problem::Missing { at: path.clone() }),
            Value::Array(items) => {
                let position = existing_index(last, items.len())
                    .ok_or_else(|| bad_index(parents, last, items))?;
                Ok(items.remove(position))
            }
            _ => Err(Problem::NoContainer {
                at: parents.iter().collect(),
            }),
        }
    }

    fn replace(&mut self, path: &Pointer, value: &Value) -> Result<(), Problem> {
        check_depth(path, value)?;
        let Some((parents, last)) = path.split_last() else {
            self.document = value.clone();
            return Ok(());
        };
        let may_be_missing = self.replace == Replace::ExistingOrMissing;
        let parent = descend(&mut self.document, parents)?;
        match parent {
            Value::Object(fields) if may_be_missing => {
                fields.insert(last.to_owned(), value.clone());
            }
            _ => *step(parent, parents, last)? = value.clone(),
        }
        Ok(())
    }

    fn relocate(&mut self, from: &Pointer, path: &Pointer) -> Result<(), Problem> {
        if from == path {
            return descend(&mut self.document, from.tokens()).map(drop);
        }
        if from.contains(path) {
            return Err(Problem::IntoItself { from: from.clone() });
        }
        let value = self.remove(from)?;
        self.add(path, value)
    }

    fn copy(&mut self, from: &Pointer, path: &Pointer) -> Result<(), Problem> {
        let source = descend(&mut self.document, from.tokens())?;
        let allowance = MAX_COPIED_BYTES - self.copied;
        let size = size_up_to(source, allowance).ok_or(Problem::CopiesTooMuch)?;
        let value = source.clone();
        self.copied += size;
        self.add(path, value)
    }

    fn test(&mut self, path: &Pointer, expected: &Value) -> Result<(), Problem> {
        let found = match descend(&mut self.document, path.tokens()) {
            Ok(value) => Some(&*value),
            // Upstream: a missing field counts as null, but only where its object is there.
            Err(Problem::Missing { at }) if at == *path => None,
            Err(problem) => return Err(problem),
        };
        if found.unwrap_or(&Value::Null) == expected {
            Ok(())
        } else {
            Err(Problem::Differs)
        }
    }
}

/// What stands at the end of the path.
fn descend<'a>(document: &'a mut Value, path: &[String]) -> Result<&'a mut Value, Problem> {
    let mut value = document;
    for (depth, token) in path.iter().enumerate() {
        let (parents, _) = path.split_at(depth);
        value = step(value, parents, token)?;
    }
    Ok(value)
}

/// The part `token` of a value that stands at `at`.
fn step<'a>(value: &'a mut Value, at: &[String], token: &str) -> Result<&'a mut Value, Problem> {
    let place = || -> Pointer { at.iter().collect() };
    match value {
        Value::Object(fields) => fields.get_mut(token).ok_or_else(|| Problem::Missing {
            at: place().child(token),
        }),
        Value::Array(items) => {
            let length = items.len();
            existing_index(token, length)
                .and_then(|position| items.get_mut(position))
                .ok_or_else(|| Problem::BadIndex {
                    at: place(),
                    token: token.to_owned(),
                    length,
                })
        }
        _ => Err(Problem::NoContainer { at: place() }),
    }
}

fn bad_index(at: &[String], token: &str, items: &[Value]) -> Problem {
    Problem::BadIndex {
        at: at.iter().collect(),
        token: token.to_owned(),
        length: items.len(),
    }
}

/// The position before which to insert. Counting from the end, -1 is the end itself.
fn insertion_index(token: &str, length: usize) -> Option<usize> {
    if token == "-" {
        return Some(length);
    }
    existing_index(token, length.checked_add(1)?)
}

fn check_depth(path: &Pointer, value: &Value) -> Result<(), Problem> {
    if path.tokens().len().saturating_add(depth(value)) > DEPTH_LIMIT {
        Err(Problem::TooDeep)
    } else {
        Ok(())
    }
}

/// How many objects and lists are around the innermost part.
fn depth(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The bytes of a value printed as JSON, unless there are more than `limit`.
fn size_up_to(value: &Value, limit: usize) -> Option<usize> {
    struct Counter {
        count: usize,
        limit: usize,
    }
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.count = self.count.saturating_add(bytes.len());
            if self.count > self.limit {
                Err(io::ErrorKind::FileTooLarge.into())
            } else {
                Ok(bytes.len())
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter { count: 0, limit };
    serde_json::to_writer(&mut counter, value).ok()?;
    Some(counter.count)
}

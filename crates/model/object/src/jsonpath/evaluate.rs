//! Evaluating a template against a value.

use super::{
    MissingKeys,
    compare::{compare, type_name},
    node::{Block, Filter, Node, Slice},
};
use crate::Value;

/// The most values one evaluation may touch.
pub const MAX_STEPS: usize = 2_000_000;

/// The most bytes one evaluation may print, but for the value that passes the mark.
pub const MAX_OUTPUT: usize = 16 * 1024 * 1024;

/// Why a template has no answer for a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    /// No value has the field.
    #[error("{field} is not found")]
    NotFound {
        /// The field's name.
        field: String,
    },
    /// A position is asked of something that is not a list.
    #[error("{found} is not a list")]
    NotAList {
        /// What it is instead.
        found: &'static str,
    },
    /// Something that is not a list is filtered.
    #[error("{found} is not a list and cannot be filtered")]
    NotFilterable {
        /// What it is instead.
        found: &'static str,
    },
    /// A list has no element of this position.
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds {
        /// The position asked for.
        index: i64,
        /// How many elements there are.
        length: usize,
    },
    /// A slice ends before it starts.
    #[error("starting index {start} is greater than ending index {end}")]
    Backwards {
        /// The first position.
        start: i64,
        /// The position after the last.
        end: i64,
    },
    /// A side of a comparison has several values.
    #[error("can only compare one element at a time")]
    SeveralOperands,
    /// The sides of a comparison are of different types.
    #[error("incompatible types for comparison: {left} and {right}")]
    Incompatible {
        /// What the left side is.
        left: &'static str,
        /// What the right side is.
        right: &'static str,
    },
    /// Values of this type have no order, or cannot be compared at all.
    #[error("invalid type for comparison: {found}")]
    Incomparable {
        /// The type.
        found: &'static str,
    },
    /// The template asks for more work than is granted.
    #[error("the template takes more than {MAX_STEPS} steps")]
    TooManySteps,
    /// The template prints more than is granted.
    #[error("the template prints more than {MAX_OUTPUT} bytes")]
    TooMuchOutput,
}

/// Takes what a text or a block of the template stands for.
type Emit<'a, 'e> = dyn FnMut(Vec<&'a Value>) -> Result<(), EvaluateError> + 'e;

pub(super) struct Evaluator {
    missing: MissingKeys,
    steps_left: usize,
}

impl Evaluator {
    pub(super) fn new(missing: MissingKeys) -> Self {
        Self {
            missing,
            steps_left: MAX_STEPS,
        }
    }

    pub(super) fn run<'a>(
        &mut self,
        blocks: &'a [Block],
        current: &'a Value,
        emit: &mut Emit<'a, '_>,
    ) -> Result<(), EvaluateError> {
        for block in blocks {
            self.spend(1)?;
            match block {
                Block::Text(text) => emit(vec![text])?,
                Block::Path(path) => emit(self.walk(path, vec![current])?)?,
                Block::Range { over, body, closed } => {
                    for value in self.walk(over, vec![current])? {
                        self.spend(1)?;
                        self.run(body, value, emit)?;
                    }
                    // Upstream: a loop that is never closed goes on once more after its last round, with the value
                    // around it. Templates without their last `{end}` print the same because of it.
                    if !closed {
                        self.run(body, current, emit)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn walk<'a>(
        &mut self,
        path: &'a [Node],
        mut values: Vec<&'a Value>,
    ) -> Result<Vec<&'a Value>, EvaluateError> {
        for node in path {
            values = self.step(node, values)?;
            self.spend(values.len().max(1))?;
        }
        Ok(values)
    }

    fn step<'a>(
        &mut self,
        node: &'a Node,
        values: Vec<&'a Value>,
    ) -> Result<Vec<&'a Value>, EvaluateError> {
        match node {
            Node::Field(name) => self.field(name, &values),
            Node::Wildcard => self.expand(values, |value| Ok(parts(value))),
            Node::Recursive => self.descend(values),
            Node::Index(index) => self.expand(values, |value| match list(value)? {
                None => Ok(Vec::new()),
                Some(items) => Ok(vec![element(items, *index)?]),
            }),
            Node::Slice(slice) => self.expand(values, |value| match list(value)? {
                None => Ok(Vec::new()),
                Some(items) => cut(items, slice),
            }),
            Node::Union(lists) => {
                let mut union = Vec::new();
                for path in lists {
                    union.extend(self.walk(path, values.clone())?);
                }
                Ok(union)
            }
            Node::Filter(filter) => self.filter(filter, values),
            // Upstream: text replaces whatever was selected, other literals replace each value.
            Node::Literal(literal @ Value::String(_)) => Ok(vec![literal]),
            Node::Literal(literal) => Ok(vec![literal; values.len()]),
        }
    }

    /// What each value leads to, counted as it grows: values may repeat, so their number bounds nothing.
    ///
    /// Upstream: a slice stops at the first list that it takes nothing from and forgets the lists behind it.
    fn expand<'a>(
        &mut self,
        values: Vec<&'a Value>,
        pick: impl Fn(&'a Value) -> Result<Vec<&'a Value>, EvaluateError>,
    ) -> Result<Vec<&'a Value>, EvaluateError> {
        let mut expanded = Vec::new();
        for value in values {
            let picked = pick(value)?;
            self.spend(picked.len())?;
            expanded.extend(picked);
        }
        Ok(expanded)
    }

    fn field<'a>(&self, name: &str, values: &[&'a Value]) -> Result<Vec<&'a Value>, EvaluateError> {
        let found: Vec<&Value> = values
            .iter()
            .filter_map(|value| value.as_object()?.get(name))
            .collect();
        if found.is_empty() && !values.is_empty() && self.missing == MissingKeys::Refuse {
            return Err(EvaluateError::NotFound {
                field: name.to_owned(),
            });
        }
        Ok(found)
    }

    /// The values and all inside them, outer before inner.
    ///
    /// Upstream: numbers, booleans and all that is empty are left out; a field of any of them has no match anyway.
    fn descend<'a>(&mut self, values: Vec<&'a Value>) -> Result<Vec<&'a Value>, EvaluateError> {
        let mut found = Vec::new();
        let mut waiting: Vec<&Value> = values;
        waiting.reverse();
        while let Some(value) = waiting.pop() {
            self.spend(1)?;
            let start = waiting.len();
            waiting.extend(parts(value));
            let is_text = value.as_str().is_some_and(|text| !text.is_empty());
            if waiting.len() > start || is_text {
                found.push(value);
            }
            if let Some(inner) = waiting.get_mut(start..) {
                inner.reverse();
            }
        }
        Ok(found)
    }

    fn filter<'a>(
        &mut self,
        filter: &'a Filter,
        values: Vec<&'a Value>,
    ) -> Result<Vec<&'a Value>, EvaluateError> {
        let mut passed = Vec::new();
        for value in values {
            let Value::Array(items) = value else {
                return Err(EvaluateError::NotFilterable {
                    found: type_name(value),
                });
            };
            for item in items {
                self.spend(1)?;
                if self.passes(filter, item)? {
                    passed.push(item);
                }
            }
        }
        Ok(passed)
    }

    fn passes<'a>(&mut self, filter: &'a Filter, item: &'a Value) -> Result<bool, EvaluateError> {
        let left = self.walk(&filter.left, vec![item]);
        let Some((comparison, right)) = &filter.comparison else {
            return match left {
                Err(EvaluateError::TooManySteps) => Err(EvaluateError::TooManySteps),
                // Upstream: takes a position outside of a list for something that exists.
                Err(_) => Ok(false),
                Ok(found) => Ok(!found.is_empty()),
            };
        };
        let Some(left) = operand(left?)? else {
            return Ok(false);
        };
        let Some(right) = operand(self.walk(right, vec![item])?)? else {
            return Ok(false);
        };
        compare(left, *comparison, right)
    }

    fn spend(&mut self, steps: usize) -> Result<(), EvaluateError> {
        self.steps_left = self
            .steps_left
            .checked_sub(steps)
            .ok_or(EvaluateError::TooManySteps)?;
        Ok(())
    }
}

/// The fields of an object or the elements of a list.
fn parts(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

/// The elements of a list; `null` counts as a list that is not there.
fn list(value: &Value) -> Result<Option<&[Value]>, EvaluateError> {
    match value {
        Value::Null => Ok(None),
        Value::Array(items) => Ok(Some(items)),
        other => Err(EvaluateError::NotAList {
            found: type_name(other),
        }),
    }
}

fn element(items: &[Value], index: i64) -> Result<&Value, EvaluateError> {
    let length = items.len();
    let position = from_end(index, length);
    usize::try_from(position)
        .ok()
        .and_then(|position| items.get(position))
        .ok_or(EvaluateError::OutOfBounds {
            index: position,
            length,
        })
}

fn cut<'a>(items: &'a [Value], slice: &Slice) -> Result<Vec<&'a Value>, EvaluateError> {
    let length = items.len();
    let start = from_end(slice.start.unwrap_or(0), length);
    let end = from_end(slice.end.unwrap_or_else(|| signed(length)), length);
    if start == end {
        return Ok(Vec::new());
    }
    if !(0..signed(length)).contains(&start) {
        return Err(EvaluateError::OutOfBounds {
            index: start,
            length,
        });
    }
    if !(0..=signed(length)).contains(&end) {
        return Err(EvaluateError::OutOfBounds {
            index: end.saturating_sub(1),
            length,
        });
    }
    let (Ok(first), Ok(past)) = (usize::try_from(start), usize::try_from(end)) else {
        return Err(EvaluateError::OutOfBounds {
            index: start,
            length,
        });
    };
    let range = items
        .get(first..past)
        .ok_or(EvaluateError::Backwards { start, end })?;
    let step = slice
        .step
        .and_then(|step| usize::try_from(step).ok())
        .unwrap_or(1)
        .max(1);
    Ok(range.iter().step_by(step).collect())
}

fn from_end(index: i64, length: usize) -> i64 {
    if index < 0 {
        index.saturating_add(signed(length))
    } else {
        index
    }
}

fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// The one value of a side of a comparison; `None` if there is none, so that the comparison fails.
fn operand(values: Vec<&Value>) -> Result<Option<&Value>, EvaluateError> {
    match values.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        _ => Err(EvaluateError::SeveralOperands),
    }
}

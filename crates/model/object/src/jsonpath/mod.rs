//! JSONPath in Kubernetes' dialect: what `kubectl -o jsonpath` prints and printer columns show.
//!
//! A template is text with blocks in braces: `{.metadata.name}{"\n"}`. A block is a path, or a literal, or opens or
//! closes a loop: `{range .items[*]}…{end}`. The steps of a path:
//!
//! | step | selects |
//! |---|---|
//! | `.name`, `['name']` | a field; a backslash takes the meaning from the next character, as in `.a\.b` |
//! | `.*`, `[*]` | all fields, or elements |
//! | `[0]`, `[-1]`, `[1:3]`, `[::2]` | elements by position, counted from the end if negative |
//! | `['a','b']`, `[0,2]` | the results of all parts, one part after the other |
//! | `..` | the value and all that is inside it |
//! | `[?(@.a=="b")]`, `[?(@.a)]` | the elements that pass a comparison, or that have something there |
//!
//! `@` and `$` both stand for the value at hand and may be left out. In an index, a bracket and a filter alike, a
//! position outside a list is an error; a field that is missing is one only under [`MissingKeys::Refuse`].
//!
//! A template is parsed once, by [`JsonPath::template`] or, without braces, by [`JsonPath::column`], and evaluated as
//! often as needed: [`JsonPath::find`] gives the values, [`JsonPath::render`] the text.
//!
//! Invariants: what prints parses back to an equal template; evaluating takes at most [`MAX_STEPS`] steps and gives at
//! most [`MAX_OUTPUT`] bytes, whatever the template.

mod brackets;
mod compare;
mod evaluate;
mod literal;
mod node;
mod parse;
mod print;
#[cfg(test)]
mod tests;

use std::fmt;

use self::{evaluate::Evaluator, node::Block};
pub use self::{
    evaluate::{EvaluateError, MAX_OUTPUT, MAX_STEPS},
    parse::{JsonPathProblem, ParseJsonPathError},
};
use crate::Value;

/// A parsed template.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    blocks: Vec<Block>,
}

/// What a field that no value has means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKeys {
    /// An error.
    #[default]
    Refuse,
    /// No result, as `kubectl` and printer columns have it.
    Skip,
}

impl JsonPath {
    /// Reads a template of text and blocks in braces.
    pub fn template(text: &str) -> Result<Self, ParseJsonPathError> {
        Ok(Self {
            blocks: parse::template(text)?,
        })
    }

    /// Reads a single path without braces, as in the `jsonPath` of a printer column.
    pub fn column(path: &str) -> Result<Self, ParseJsonPathError> {
        Ok(Self {
            blocks: vec![Block::Path(parse::column(path)?)],
        })
    }

    /// The values each text and each block of the template stands for, in the order they would be printed.
    pub fn find<'a>(
        &'a self,
        data: &'a Value,
        missing: MissingKeys,
    ) -> Result<Vec<Vec<&'a Value>>, EvaluateError> {
        let mut results = Vec::new();
        Evaluator::new(missing).run(&self.blocks, data, &mut |values| {
            results.push(values);
            Ok(())
        })?;
        Ok(results)
    }

    /// The text of the template with values in place of its blocks: strings as they are, objects and lists as JSON,
    /// several values of one block with a space in between.
    pub fn render(&self, data: &Value, missing: MissingKeys) -> Result<String, EvaluateError> {
        let mut text = String::new();
        Evaluator::new(missing).run(&self.blocks, data, &mut |values| {
            for (position, value) in values.into_iter().enumerate() {
                if position > 0 {
                    text.push(' ');
                }
                print::push_value(&mut text, value);
                if text.len() > MAX_OUTPUT {
                    return Err(EvaluateError::TooMuchOutput);
                }
            }
            Ok(())
        })?;
        Ok(text)
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        node::write_blocks(f, &self.blocks)
    }
}

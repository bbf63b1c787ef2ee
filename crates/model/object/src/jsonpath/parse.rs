//! Reading templates.

use super::{
    literal::{parse_number, unquote},
    node::{Block, Node, ends_name, ends_operand, starts_name},
};
use crate::Value;

/// How deep loops, filters and quoted keys may stand inside of each other.
const MAX_NESTING: usize = 16;

/// A text is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at position {position}")]
pub struct ParseJsonPathError {
    /// Where the problem was seen, in bytes from the start.
    pub position: usize,
    /// What it is.
    pub problem: JsonPathProblem,
}

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonPathProblem {
    /// A brace is never closed.
    #[error("unclosed action")]
    UnclosedAction,
    /// A bracket is never closed.
    #[error("unterminated array")]
    UnterminatedArray,
    /// A filter is never closed.
    #[error("unterminated filter")]
    UnterminatedFilter,
    /// A string is never closed.
    #[error("unterminated quoted string")]
    UnterminatedString,
    /// A string has an escape that does not exist.
    #[error("invalid escape in quoted string")]
    BadEscape,
    /// A character means nothing where it stands.
    #[error("unrecognized character in action: {character:?}")]
    UnrecognizedCharacter {
        /// The character.
        character: char,
    },
    /// A word is no keyword.
    #[error("unrecognized identifier {word:?}; fields start with a dot")]
    UnrecognizedIdentifier {
        /// The word.
        word: String,
    },
    /// A number cannot be read.
    #[error("cannot parse number")]
    BadNumber,
    /// What is in brackets is neither a position, nor a slice, nor a key in single quotes.
    #[error("invalid array index")]
    BadIndex,
    /// A slice does not go forward.
    #[error("step must be > 0")]
    BadStep,
    /// Two dots twice, one after the other.
    #[error("invalid multiple recursive descent")]
    RepeatedDescent,
    /// A filter compares with an operator that does not exist.
    #[error("unrecognized filter operator")]
    BadOperator,
    /// A filter has nothing to compare.
    #[error("missing operand in filter")]
    MissingOperand,
    /// `range` and `end` stand first in their braces, and `end` alone.
    #[error("misplaced 'range' or 'end'")]
    MisplacedKeyword,
    /// There is no loop to end.
    #[error("not in range, nothing to end")]
    NothingToEnd,
    /// Loops, filters or quoted keys are inside of each other too often.
    #[error("nested more than {MAX_NESTING} times")]
    TooDeep,
}

pub(super) fn template(text: &str) -> Result<Vec<Block>, ParseJsonPathError> {
    let mut parser = Parser {
        text,
        at: 0,
        offset: 0,
        nesting: 0,
    };
    // The loops that are open, each with what it goes over and what was before it.
    let mut open: Vec<(Vec<Node>, Vec<Block>)> = Vec::new();
    let mut blocks = Vec::new();
    while let Some(next) = parser.peek() {
        if next != '{' {
            let rest = parser.rest();
            let end = rest.find('{').unwrap_or(rest.len());
            blocks.push(Block::Text(rest[..end].into()));
            parser.at += end;
            continue;
        }
        let start = parser.at;
        parser.at += 1;
        match parser.action()? {
            Action::Path(path) => blocks.push(Block::Path(path)),
            Action::Range(_) if open.len() == MAX_NESTING => {
                return Err(parser.fail(start, JsonPathProblem::TooDeep));
            }
            Action::Range(over) => open.push((over, std::mem::take(&mut blocks))),
            Action::End => {
                let (over, before) = open
                    .pop()
                    .ok_or_else(|| parser.fail(start, JsonPathProblem::NothingToEnd))?;
                let body = std::mem::replace(&mut blocks, before);
                blocks.push(Block::Range {
                    over,
                    body,
                    closed: true,
                });
            }
        }
    }
    while let Some((over, before)) = open.pop() {
        let body = std::mem::replace(&mut blocks, before);
        blocks.push(Block::Range {
            over,
            body,
            closed: false,
        });
    }
    Ok(blocks)
}

pub(super) fn column(path: &str) -> Result<Vec<Node>, ParseJsonPathError> {
    let mut parser = Parser {
        text: path,
        at: 0,
        offset: 0,
        nesting: 0,
    };
    let nodes = parser.path(Place::Key)?;
    parser.end_of_path()?;
    Ok(nodes)
}

enum Action {
    Path(Vec<Node>),
    Range(Vec<Node>),
    End,
}

/// Where a path stands, and so what ends it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    /// In braces.
    Action,
    /// On a side of a comparison.
    Operand,
    /// By itself, in quotes or as a whole.
    Key,
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    /// The next character.
    pub(super) at: usize,
    /// What is to be added to positions of `text` to get positions of the template.
    pub(super) offset: usize,
    pub(super) nesting: usize,
}

impl<'a> Parser<'a> {
    fn action(&mut self) -> Result<Action, ParseJsonPathError> {
        self.skip_blanks();
        let start = self.at;
        let action = match self.word(Place::Action) {
            "range" => Action::Range(self.path(Place::Action)?),
            "end" => {
                self.skip_blanks();
                if self
                    .peek()
                    .is_some_and(|character| character != '}' && !is_line_end(character))
                {
                    return Err(self.fail(self.at, JsonPathProblem::MisplacedKeyword));
                }
                Action::End
            }
            _ => {
                self.at = start;
                Action::Path(self.path(Place::Action)?)
            }
        };
        match self.peek() {
            Some('}') => self.at += 1,
            _ => return Err(self.fail(self.at, JsonPathProblem::UnclosedAction)),
        }
        Ok(action)
    }

    /// A path up to what ends it, which is left to the caller.
    pub(super) fn path(&mut self, place: Place) -> Result<Vec<Node>, ParseJsonPathError> {
        let mut path = Vec::new();
        while let Some(next) = self.peek() {
            let start = self.at;
            match next {
                '}' if place == Place::Action => break,
                _ if is_line_end(next) => break,
                _ if place == Place::Operand && ends_operand(next) => break,
                ' ' | '@' | '$' => self.at += 1,
                '[' if self.rest().starts_with("[?(") => path.push(self.filter()?),
                '[' => self.brackets(&mut path)?,
                '"' | '\'' => path.push(Node::Literal(self.string(next)?.into())),
                '.' if self.rest().starts_with("..") => {
                    if path.last() == Some(&Node::Recursive) {
                        return Err(self.fail(start, JsonPathProblem::RepeatedDescent));
                    }
                    self.at += 2;
                    path.push(Node::Recursive);
                    if self.peek().is_some_and(starts_name) {
                        path.push(self.field(place));
                    }
                }
                '.' => {
                    self.at += 1;
                    path.push(self.field(place));
                }
                '+' | '-' | '0'..='9' => path.push(Node::Literal(self.number()?)),
                _ if starts_name(next) => match self.word(place) {
                    "true" => path.push(Node::Literal(true.into())),
                    "false" => path.push(Node::Literal(false.into())),
                    "range" | "end" => {
                        return Err(self.fail(start, JsonPathProblem::MisplacedKeyword));
                    }
                    word => {
                        let word = word.chars().take(64).collect();
                        return Err(
                            self.fail(start, JsonPathProblem::UnrecognizedIdentifier { word })
                        );
                    }
                },
                character => {
                    return Err(
                        self.fail(start, JsonPathProblem::UnrecognizedCharacter { character })
                    );
                }
            }
        }
        Ok(path)
    }

    pub(super) fn end_of_path(&self) -> Result<(), ParseJsonPathError> {
        if self.peek().is_some() {
            Err(self.fail(self.at, JsonPathProblem::UnclosedAction))
        } else {
            Ok(())
        }
    }

    /// A name up to what ends it, escapes undone.
    fn field(&mut self, place: Place) -> Node {
        let mut name = String::new();
        let mut is_escaped = false;
        while let Some(next) = self.peek() {
            if ends_name(next) || place == Place::Operand && ends_operand(next) {
                break;
            }
            self.at += next.len_utf8();
            if next != '\\' {
                name.push(next);
                continue;
            }
            is_escaped = true;
            if let Some(escaped) = self.peek() {
                self.at += escaped.len_utf8();
                name.push(escaped);
            }
        }
        if name == "*" && !is_escaped {
            Node::Wildcard
        } else {
            Node::Field(name)
        }
    }

    fn word(&mut self, place: Place) -> &'a str {
        let rest = self.rest();
        let end = rest
            .find(|character| {
                ends_name(character) || place == Place::Operand && ends_operand(character)
            })
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn number(&mut self) -> Result<Value, ParseJsonPathError> {
        let rest = self.rest();
        let unsigned = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        let tail = unsigned
            .trim_start_matches(|character: char| character == '.' || character.is_ascii_digit());
        let text = &rest[..rest.len() - tail.len()];
        let value =
            parse_number(text).ok_or_else(|| self.fail(self.at, JsonPathProblem::BadNumber))?;
        self.at += text.len();
        Ok(value)
    }

    fn string(&mut self, quote: char) -> Result<String, ParseJsonPathError> {
        let start = self.at;
        let inner = self
            .quoted(quote)
            .ok_or_else(|| self.fail(start, JsonPathProblem::UnterminatedString))?;
        unquote(inner, quote).ok_or_else(|| self.fail(start, JsonPathProblem::BadEscape))
    }

    /// What is between this quote and the next that is not escaped, on one line.
    pub(super) fn quoted(&mut self, quote: char) -> Option<&'a str> {
        let inner = self.rest().strip_prefix(quote)?;
        let mut escaped = false;
        for (position, character) in inner.char_indices() {
            match character {
                '\n' => return None,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if character == quote => {
                    self.at += position + 2 * quote.len_utf8();
                    return Some(&inner[..position]);
                }
                _ => {}
            }
        }
        None
    }

    pub(super) fn enter(&mut self) -> Result<(), ParseJsonPathError> {
        if self.nesting == MAX_NESTING {
            return Err(self.fail(self.at, JsonPathProblem::TooDeep));
        }
        self.nesting += 1;
        Ok(())
    }

    pub(super) fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(' ').len();
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn fail(&self, at: usize, problem: JsonPathProblem) -> ParseJsonPathError {
        ParseJsonPathError {
            position: self.offset + at,
            problem,
        }
    }
}

pub(super) fn is_line_end(character: char) -> bool {
    matches!(character, '\r' | '\n')
}

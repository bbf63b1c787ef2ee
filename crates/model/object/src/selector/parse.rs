//! The query-string form of a label selector.
//!
//! ```text
//! selector    = [ requirement { "," requirement } ]
//! requirement = key | "!" key | key ( "=" | "==" | "!=" | "<" | ">" ) [ value ] | key ( "in" | "notin" ) "(" values ")"
//! values      = [ value ] { "," [ value ] }
//! ```
//!
//! Blanks (space, tab, line ends) may stand between tokens. Nothing is quoted or escaped. `in` and `notin` are words
//! like any other where a key or a value is due. A missing value is the empty value, so `()` holds one empty value.

use std::str::FromStr;

use super::label::{Operator, Requirement, Selector, check_value};
use crate::names::check_qualified_name;

/// Longer tokens are cut when an error shows them.
const SHOWN_LENGTH: usize = 80;

/// Why a text is not a label selector. Positions count bytes from zero.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSelectorError {
    /// Something else stands between two requirements than a comma.
    #[error("found '{found}' at position {position}, expected: {expected}")]
    Between {
        /// The token that is there; empty at the end of the text.
        found: String,
        /// Where it starts.
        position: usize,
        /// What could stand there.
        expected: &'static str,
    },
    /// A requirement does not have one of the known shapes.
    #[error(
        "unable to parse requirement: found '{found}' at position {position}, expected: {expected}"
    )]
    Shape {
        /// The token that is there; empty at the end of the text.
        found: String,
        /// Where it starts.
        position: usize,
        /// What could stand there.
        expected: &'static str,
    },
    /// The key of a requirement is no label key.
    #[error("unable to parse requirement: invalid key '{key}' at position {position}: {problem}")]
    Key {
        /// The key as written.
        key: String,
        /// Where it starts.
        position: usize,
        /// Which rule it breaks.
        problem: String,
    },
    /// A value of a requirement is no label value, or no integer where one is due.
    #[error(
        "unable to parse requirement: invalid value '{value}' at position {position}: {problem}"
    )]
    Value {
        /// The value as written.
        value: String,
        /// Where it starts.
        position: usize,
        /// Which rule it breaks.
        problem: String,
    },
}

impl FromStr for Selector {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parser = Parser::new(text);
        let mut requirements = Vec::new();
        loop {
            match parser.next {
                Token::Word(_) | Token::Not => requirements.push(parser.requirement()?),
                Token::End if requirements.is_empty() => return Ok(Self::everything()),
                _ if requirements.is_empty() => {
                    return Err(parser.between("'!', a key, or the end"));
                }
                _ => return Err(parser.between("a key after ','")),
            }
            match parser.next {
                Token::End => return Ok(Self::all_of(requirements)),
                Token::Comma => parser.advance(),
                _ => return Err(parser.between("',' or the end")),
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A key, a value, or the operators `in` and `notin`.
    Word(&'a str),
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
    Open,
    Close,
    Comma,
    End,
}

struct Parser<'a> {
    text: &'a str,
    next: Token<'a>,
    /// Where `next` starts.
    start: usize,
    /// Where `next` ends.
    end: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut parser = Self {
            text,
            next: Token::End,
            start: 0,
            end: 0,
        };
        parser.advance();
        parser
    }

    fn requirement(&mut self) -> Result<Requirement, ParseSelectorError> {
        let negated = self.next == Token::Not;
        if negated {
            self.advance();
        }
        let Token::Word(key) = self.next else {
            return Err(self.shape("a key"));
        };
        self.check_key(key)?;
        self.advance();
        if negated {
            return Ok(Requirement::trusted(
                key.to_owned(),
                Operator::DoesNotExist,
                Vec::new(),
            ));
        }
        let operator = match self.next {
            Token::End | Token::Comma => {
                return Ok(Requirement::trusted(
                    key.to_owned(),
                    Operator::Exists,
                    Vec::new(),
                ));
            }
            Token::Word("in") => Operator::In,
            Token::Word("notin") => Operator::NotIn,
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::NotEquals => Operator::NotEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            _ => return Err(self.shape("in, notin, =, ==, !=, >, <, ',' or the end")),
        };
        self.advance();
        let values = match operator {
            Operator::In | Operator::NotIn => self.set(operator)?,
            _ => vec![self.value(operator)?],
        };
        Ok(Requirement::trusted(key.to_owned(), operator, values))
    }

    fn value(&mut self, operator: Operator) -> Result<String, ParseSelectorError> {
        match self.next {
            Token::Word(value) => {
                self.check_value(operator, value)?;
                self.advance();
                Ok(value.to_owned())
            }
            Token::End | Token::Comma => {
                self.check_value(operator, "")?;
                Ok(String::new())
            }
            _ => Err(self.shape("a value")),
        }
    }

    fn set(&mut self, operator: Operator) -> Result<Vec<String>, ParseSelectorError> {
        if self.next != Token::Open {
            return Err(self.shape("'('"));
        }
        self.advance();
        let mut values = Vec::new();
        loop {
            match self.next {
                Token::Word(value) => {
                    self.check_value(operator, value)?;
                    values.push(value.to_owned());
                    self.advance();
                }
                Token::Comma | Token::Close => values.push(String::new()),
                _ => return Err(self.shape("',', ')' or a value")),
            }
            let closed = self.next == Token::Close;
            if !closed && self.next != Token::Comma {
                return Err(self.shape("',' or ')'"));
            }
            self.advance();
            if closed {
                return Ok(values);
            }
        }
    }

    fn check_key(&self, key: &str) -> Result<(), ParseSelectorError> {
        let problems = check_qualified_name(key);
        if problems.is_empty() {
            return Ok(());
        }
        Err(ParseSelectorError::Key {
            key: shown(key),
            position: self.start,
            problem: problems.join("; "),
        })
    }

    fn check_value(&self, operator: Operator, value: &str) -> Result<(), ParseSelectorError> {
        let problems = check_value(operator, value);
        if problems.is_empty() {
            return Ok(());
        }
        Err(ParseSelectorError::Value {
            value: shown(value),
            position: self.start,
            problem: problems.join("; "),
        })
    }

    fn advance(&mut self) {
        let after_blanks = self.text[self.end..].trim_start_matches([' ', '\t', '\r', '\n']);
        self.start = self.text.len() - after_blanks.len();
        let bytes = after_blanks.as_bytes();
        let (token, length) = match (bytes.first(), bytes.get(1)) {
            (None, _) => (Token::End, 0),
            (Some(b'='), Some(b'=')) => (Token::DoubleEquals, 2),
            (Some(b'='), _) => (Token::Equals, 1),
            (Some(b'!'), Some(b'=')) => (Token::NotEquals, 2),
            (Some(b'!'), _) => (Token::Not, 1),
            (Some(b'>'), _) => (Token::Greater, 1),
            (Some(b'<'), _) => (Token::Less, 1),
            (Some(b'('), _) => (Token::Open, 1),
            (Some(b')'), _) => (Token::Close, 1),
            (Some(b','), _) => (Token::Comma, 1),
            (Some(_), _) => {
                let length = after_blanks.find(ends_word).unwrap_or(after_blanks.len());
                (Token::Word(&after_blanks[..length]), length)
            }
        };
        self.next = token;
        self.end = self.start + length;
    }

    fn between(&self, expected: &'static str) -> ParseSelectorError {
        ParseSelectorError::Between {
            found: self.found(),
            position: self.start,
            expected,
        }
    }

    fn shape(&self, expected: &'static str) -> ParseSelectorError {
        ParseSelectorError::Shape {
            found: self.found(),
            position: self.start,
            expected,
        }
    }

    fn found(&self) -> String {
        shown(&self.text[self.start..self.end])
    }
}

fn ends_word(character: char) -> bool {
    matches!(
        character,
        '=' | '!' | '(' | ')' | ',' | '>' | '<' | ' ' | '\t' | '\r' | '\n'
    )
}

/// A token as an error shows it: what a client sent can be long, what it reads back should not be.
pub(super) fn shown(token: &str) -> String {
    match token.char_indices().nth(SHOWN_LENGTH) {
        Some((cut, _)) => format!("{}…", &token[..cut]),
        None => token.to_owned(),
    }
}

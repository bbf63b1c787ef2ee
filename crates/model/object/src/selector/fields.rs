//! Field selectors: `metadata.name=x,status.phase!=Running`.
//!
//! A term is a field, `=`, `==` or `!=`, and a value. In the value `\`, `,` and `=` are escaped by a backslash; the
//! field has no escapes, so the first operator ends it. Which fields there are depends on the kind, so whoever serves
//! the kind asks [`FieldSelector::require_known`] or rewrites the terms with [`FieldSelector::transform`].

use std::{borrow::Cow, fmt, str::FromStr};

use super::parse::shown;

/// How a term relates a field to its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldOperator {
    /// The field has the value.
    Equals,
    /// The field has another value.
    NotEquals,
}

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRequirement {
    /// The field's path, such as `metadata.name`.
    pub field: String,
    /// What is asked of it.
    pub operator: FieldOperator,
    /// What it is compared with.
    pub value: String,
}

/// A field selector ready for matching; without requirements it matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector {
    // Invariant: in the order of the terms as printed.
    requirements: Vec<FieldRequirement>,
}

/// Why a text is not a field selector. Positions count bytes from zero.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseFieldSelectorError {
    /// A term has no operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}' at position {position}")]
    NoOperator {
        /// The whole text, cut if it is long.
        selector: String,
        /// The term, cut if it is long.
        term: String,
        /// Where the term starts.
        position: usize,
    },
    /// A backslash stands before something that needs none, or at the end.
    #[error("invalid field selector: invalid escape sequence: {sequence} at position {position}")]
    Escape {
        /// The backslash and what follows it.
        sequence: String,
        /// Where the backslash is.
        position: usize,
    },
    /// A value holds a bare `=`.
    #[error(
        "invalid field selector: unescaped character in value: {character} at position {position}"
    )]
    Unescaped {
        /// The character.
        character: char,
        /// Where it is.
        position: usize,
    },
}

/// A selector names a field that objects of this kind cannot be selected by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field:?} is not a known field selector: only {}", quoted(.known))]
pub struct UnknownField {
    /// The field asked for.
    pub field: String,
    /// The fields there are.
    pub known: Vec<String>,
}

impl FieldSelector {
    /// The selector that matches every object.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// The selector that asks for all of `requirements`.
    #[must_use]
    pub fn all_of(requirements: impl IntoIterator<Item = FieldRequirement>) -> Self {
        let mut requirements: Vec<FieldRequirement> = requirements.into_iter().collect();
        // Upstream: sorts the terms as written, where `a==b` and `a=b` differ, so that what it prints may print
        // differently once parsed again. Ordering what is printed agrees with it in all other cases.
        requirements.sort_by_cached_key(ToString::to_string);
        Self { requirements }
    }

    /// What must hold.
    #[must_use]
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// Whether every object matches, because nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object matches whose field has the value `lookup(field)`; a missing field counts as empty.
    #[must_use]
    pub fn matches<'a>(&self, lookup: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| {
            let equal = lookup(&requirement.field).unwrap_or_default() == requirement.value;
            equal == (requirement.operator == FieldOperator::Equals)
        })
    }

    /// The value that `field` must have for a match, if the selector says so; for index lookups.
    #[must_use]
    pub fn exact_value(&self, field: &str) -> Option<&str> {
        self.requirements
            .iter()
            .find(|requirement| {
                requirement.operator == FieldOperator::Equals && requirement.field == field
            })
            .map(|requirement| requirement.value.as_str())
    }

    /// An error if the selector names a field that is not one of `known`.
    pub fn require_known(&self, known: &[&str]) -> Result<(), UnknownField> {
        match self
            .requirements
            .iter()
            .find(|requirement| !known.contains(&requirement.field.as_str()))
        {
            None => Ok(()),
            Some(requirement) => Err(UnknownField {
                field: requirement.field.clone(),
                known: known.iter().map(|&field| field.to_owned()).collect(),
            }),
        }
    }

    /// The selector with every field and value replaced by what `rewrite` makes of them; terms it answers with `None`
    /// are dropped.
    pub fn transform<E>(
        &self,
        mut rewrite: impl FnMut(&str, &str) -> Result<Option<(String, String)>, E>,
    ) -> Result<Self, E> {
        let mut requirements = Vec::with_capacity(self.requirements.len());
        for requirement in &self.requirements {
            if let Some((field, value)) = rewrite(&requirement.field, &requirement.value)? {
                requirements.push(FieldRequirement {
                    field,
                    operator: requirement.operator,
                    value,
                });
            }
        }
        Ok(Self::all_of(requirements))
    }
}

impl FromStr for FieldSelector {
    type Err = ParseFieldSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut requirements = Vec::new();
        for (position, term) in terms(text) {
            let Some((field, operator, value)) = split(term) else {
                return Err(ParseFieldSelectorError::NoOperator {
                    selector: shown(text),
                    term: shown(term),
                    position,
                });
            };
            let value_position = position + term.len() - value.len();
            let value = unescape(value, value_position)?.into_owned();
            requirements.push(FieldRequirement {
                field: field.to_owned(),
                operator,
                value,
            });
        }
        Ok(Self::all_of(requirements))
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, requirement) in self.requirements.iter().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FieldRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match self.operator {
            FieldOperator::Equals => "=",
            FieldOperator::NotEquals => "!=",
        };
        write!(f, "{}{operator}", self.field)?;
        for character in self.value.chars() {
            if matches!(character, '\\' | ',' | '=') {
                f.write_str("\\")?;
            }
            write!(f, "{character}")?;
        }
        Ok(())
    }
}

/// The non-empty terms between unescaped commas, each with its position.
fn terms(text: &str) -> Vec<(usize, &str)> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push((start, &text[start..position]));
                start = position + 1;
            }
            _ => {}
        }
    }
    terms.push((start, &text[start..]));
    terms.retain(|(_, term)| !term.is_empty());
    terms
}

/// The field, the operator and the escaped value of a term.
fn split(term: &str) -> Option<(&str, FieldOperator, &str)> {
    let (before, after) = term.split_once('=')?;
    if let Some(field) = before.strip_suffix('!') {
        return Some((field, FieldOperator::NotEquals, after));
    }
    Some((
        before,
        FieldOperator::Equals,
        after.strip_prefix('=').unwrap_or(after),
    ))
}

fn unescape(value: &str, position: usize) -> Result<Cow<'_, str>, ParseFieldSelectorError> {
    if !value.contains(['\\', ',', '=']) {
        return Ok(Cow::Borrowed(value));
    }
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.char_indices();
    while let Some((offset, character)) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some((_, escaped @ ('\\' | ',' | '='))) => plain.push(escaped),
                other => {
                    let sequence = "\\"
                        .chars()
                        .chain(other.map(|(_, character)| character))
                        .collect();
                    return Err(ParseFieldSelectorError::Escape {
                        sequence,
                        position: position + offset,
                    });
                }
            },
            ',' | '=' => {
                return Err(ParseFieldSelectorError::Unescaped {
                    character,
                    position: position + offset,
                });
            }
            _ => plain.push(character),
        }
    }
    Ok(Cow::Owned(plain))
}

fn quoted(names: &[String]) -> String {
    names
        .iter()
        .map(|name| format!("{name:?}"))
        .collect::<Vec<_>>()
        .join(", ")
}

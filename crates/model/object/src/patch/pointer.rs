//! JSON Pointer (RFC 6901): a place in a document, such as `/spec/containers/0/image`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Value, excerpt::Excerpt};

/// A path of field names and list positions from the root of a document; empty for the root itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer {
    tokens: Vec<String>,
}

/// A text is not a JSON pointer, which is empty or starts with a slash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("path {path} does not start with '/'")]
pub struct ParsePointerError {
    /// The text, cut if it is long.
    pub path: Excerpt,
}

impl Pointer {
    /// The whole document.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// The names and positions on the way, without escapes.
    #[must_use]
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Whether this is the whole document.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The place `token` inside this one.
    #[must_use]
    pub fn child(&self, token: impl Into<String>) -> Self {
        let mut tokens = self.tokens.clone();
        tokens.push(token.into());
        Self { tokens }
    }

    /// Whether `other` is this place or inside it.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.tokens.starts_with(&self.tokens)
    }

    /// What stands at this place of a document.
    #[must_use]
    pub fn resolve<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        self.tokens
            .iter()
            .try_fold(document, |value, token| match value {
                Value::Object(fields) => fields.get(token),
                Value::Array(items) => items.get(existing_index(token, items.len())?),
                _ => None,
            })
    }

    /// The container and the last step; `None` for the root, which has neither.
    pub(super) fn split_last(&self) -> Option<(&[String], &str)> {
        self.tokens
            .split_last()
            .map(|(last, parents)| (parents, last.as_str()))
    }
}

impl FromStr for Pointer {
    type Err = ParsePointerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Ok(Self::root());
        }
        match text.strip_prefix('/') {
            Some(path) => Ok(Self {
                tokens: path.split('/').map(unescape).collect(),
            }),
            None => Err(ParsePointerError { path: text.into() }),
        }
    }
}

impl<S: Into<String>> FromIterator<S> for Pointer {
    fn from_iter<I: IntoIterator<Item = S>>(tokens: I) -> Self {
        Self {
            tokens: tokens.into_iter().map(Into::into).collect(),
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for token in &self.tokens {
            f.write_str("/")?;
            for character in token.chars() {
                match character {
                    '~' => f.write_str("~0")?,
                    '/' => f.write_str("~1")?,
                    other => write!(f, "{other}")?,
                }
            }
        }
        Ok(())
    }
}

impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

/// The position `token` means in a list of `length` elements, if there is one.
///
/// Upstream: counts from the end if negative, and reads a sign and leading zeros, which the standard does not have.
pub(super) fn existing_index(token: &str, length: usize) -> Option<usize> {
    let index: i64 = token.parse().ok()?;
    let length = i64::try_from(length).ok()?;
    let index = if index < 0 {
        index.checked_add(length)?
    } else {
        index
    };
    (0..length)
        .contains(&index)
        .then(|| usize::try_from(index).ok())?
}

/// Upstream: a `~` before anything but `0` and `1` stands for itself.
fn unescape(token: &str) -> String {
    if !token.contains('~') {
        return token.to_owned();
    }
    let mut plain = String::with_capacity(token.len());
    let mut characters = token.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = match (character, characters.peek()) {
            ('~', Some('0')) => '~',
            ('~', Some('1')) => '/',
            (other, _) => {
                plain.push(other);
                continue;
            }
        };
        characters.next();
        plain.push(escaped);
    }
    plain
}

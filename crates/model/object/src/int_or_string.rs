//! A field that takes a number or a text: a port or its name, a count or a percentage.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::excerpt::Excerpt;

/// A number of 32 bits or a text, kept as it was given.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IntOrString {
    /// A plain number.
    Int(i32),
    /// A text; whether it is a name or a percentage is up to the field.
    String(String),
}

/// Which way a share of a total is rounded to a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// Towards more.
    Up,
    /// Towards less.
    Down,
}

/// Why a value is not a share of a total.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// A text without a percent sign at its end.
    #[error("{text} is neither a number nor a percentage such as \"25%\"")]
    NotPercent {
        /// What was given.
        text: Excerpt,
    },
    /// A percent sign behind something that is not a whole number.
    #[error("{text} is not a whole number of percent")]
    Malformed {
        /// What was given.
        text: Excerpt,
    },
    /// The share does not fit 64 bits.
    #[error("{text} of {total} is too large")]
    TooLarge {
        /// What was given.
        text: Excerpt,
        /// What it was to be a share of.
        total: i64,
    },
}

impl IntOrString {
    /// A number if the text is one of 32 bits, otherwise the text: how a command line means it.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        text.parse()
            .map_or_else(|_| Self::String(text.to_owned()), Self::Int)
    }

    /// How many of `total` are meant: a number stands for itself, a percentage for that share, rounded as told.
    ///
    /// # Errors
    ///
    /// A text must be a whole number followed by `%`.
    pub fn share_of(&self, total: i64, rounding: Rounding) -> Result<i64, ShareError> {
        let text = match self {
            Self::Int(number) => return Ok(i64::from(*number)),
            Self::String(text) => text,
        };
        let Some(number) = text.strip_suffix('%') else {
            return Err(ShareError::NotPercent {
                text: text.as_str().into(),
            });
        };
        let Ok(percent) = number.parse::<i64>() else {
            return Err(ShareError::Malformed {
                text: text.as_str().into(),
            });
        };
        let hundredths = i128::from(percent) * i128::from(total);
        let share = match rounding {
            Rounding::Down => hundredths.div_euclid(100),
            Rounding::Up => -(-hundredths).div_euclid(100),
        };
        i64::try_from(share).map_err(|_| ShareError::TooLarge {
            text: text.as_str().into(),
            total,
        })
    }
}

impl From<i32> for IntOrString {
    fn from(number: i32) -> Self {
        Self::Int(number)
    }
}

impl From<String> for IntOrString {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<&str> for IntOrString {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => fmt::Display::fmt(number, f),
            Self::String(text) => fmt::Display::fmt(text, f),
        }
    }
}

impl Serialize for IntOrString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(number) => serializer.serialize_i32(*number),
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntOrStringVisitor)
    }
}

struct IntOrStringVisitor;

impl de::Visitor<'_> for IntOrStringVisitor {
    type Value = IntOrString;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of 32 bits or a string")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<IntOrString, E> {
        i32::try_from(number)
            .map(IntOrString::Int)
            .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<IntOrString, E> {
        i32::try_from(number)
            .map(IntOrString::Int)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<IntOrString, E> {
        Ok(IntOrString::String(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<IntOrString, E> {
        Ok(IntOrString::String(text))
    }

    // Upstream: an explicit null is the number zero.
    fn visit_unit<E: de::Error>(self) -> Result<IntOrString, E> {
        Ok(IntOrString::Int(0))
    }
}

impl JsonSchema for IntOrString {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "IntOrString".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
            "x-kubernetes-int-or-string": true,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_are_rounded_as_told() {
        let check = |value: IntOrString, total: i64, up: i64, down: i64| {
            assert_eq!(
                value.share_of(total, Rounding::Up),
                Ok(up),
                "{value} of {total}"
            );
            assert_eq!(
                value.share_of(total, Rounding::Down),
                Ok(down),
                "{value} of {total}"
            );
        };
        check(5.into(), 100, 5, 5);
        check((-5).into(), 100, -5, -5);
        check(500.into(), 100, 500, 500);
        check("0%".into(), 100, 0, 0);
        check("25%".into(), 10, 3, 2);
        check("25%".into(), 8, 2, 2);
        check("1%".into(), 1, 1, 0);
        check("100%".into(), 7, 7, 7);
        check("99%".into(), 101, 100, 99);
        check("150%".into(), 3, 5, 4);
        check("+25%".into(), 10, 3, 2);
        check("-25%".into(), 10, -2, -3);
        check("25%".into(), -10, -2, -3);
        check("25%".into(), 0, 0, 0);
        check("025%".into(), 10, 3, 2);
        check("50%".into(), i64::MAX, i64::MAX / 2 + 1, i64::MAX / 2);
        check("100%".into(), i64::MIN, i64::MIN, i64::MIN);
    }

    #[test]
    fn bad_shares_say_what_is_wrong() {
        let check = |text: &str, complaint: &str| {
            let problem = IntOrString::from(text).share_of(i64::MAX, Rounding::Up);
            assert_eq!(problem.unwrap_err().to_string(), complaint);
        };
        for text in ["", "5", "half", "50% ", "%50"] {
            check(
                text,
                &format!("\"{text}\" is neither a number nor a percentage such as \"25%\""),
            );
        }
        for text in [
            "%",
            "-%",
            "2.5%",
            " 5%",
            "5%%",
            "1e2%",
            "0x5%",
            "9223372036854775808%",
            "٥%",
        ] {
            check(
                text,
                &format!("\"{text}\" is not a whole number of percent"),
            );
        }
        check("101%", "\"101%\" of 9223372036854775807 is too large");
        check(
            "-9223372036854775808%",
            "\"-9223372036854775808%\" of 9223372036854775807 is too large",
        );
    }

    #[test]
    fn documents_keep_numbers_and_texts_apart() {
        let check = |document: serde_json::Value, value: IntOrString, text: &str| {
            let parsed: IntOrString = serde_json::from_value(document.clone()).unwrap();
            assert_eq!(parsed, value);
            assert_eq!(parsed.to_string(), text);
            assert_eq!(serde_json::to_value(&parsed).unwrap(), document);
        };
        check(json!(80), 80.into(), "80");
        check(json!(-1), (-1).into(), "-1");
        check(json!(i32::MAX), i32::MAX.into(), "2147483647");
        check(json!(i32::MIN), i32::MIN.into(), "-2147483648");
        check(json!("80"), "80".into(), "80");
        check(json!("http"), "http".into(), "http");
        check(json!(""), "".into(), "");
        assert_eq!(
            serde_json::from_value::<IntOrString>(json!(null)).unwrap(),
            0.into()
        );
        for wrong in [
            json!(2_147_483_648_i64),
            json!(u64::MAX),
            json!(1.5),
            json!(true),
            json!([]),
            json!({}),
        ] {
            let problem = serde_json::from_value::<IntOrString>(wrong)
                .unwrap_err()
                .to_string();
            assert!(
                problem.contains("a whole number of 32 bits or a string"),
                "{problem}"
            );
        }
    }

    #[test]
    fn command_line_texts_become_numbers_where_they_can() {
        assert_eq!(IntOrString::from_text("80"), 80.into());
        assert_eq!(IntOrString::from_text("-1"), (-1).into());
        assert_eq!(IntOrString::from_text("2147483648"), "2147483648".into());
        assert_eq!(IntOrString::from_text("80%"), "80%".into());
    }

    #[test]
    fn the_schema_is_that_of_a_crd() {
        let schema = schemars::schema_for!(IntOrString);
        assert_eq!(schema.get("x-kubernetes-int-or-string"), Some(&json!(true)));
        assert_eq!(
            schema.get("anyOf"),
            Some(&json!([{"type": "integer"}, {"type": "string"}]))
        );
    }
}

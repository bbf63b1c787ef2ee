//! Spans of time as the API writes them: `1h15m30.5s`.
//!
//! The grammar is Go's: an optional sign, then one or more numbers with a unit, added up. Units are `ns`, `us` (or
//! `µs`), `ms`, `s`, `m` and `h`; a lone `0` needs none. Fractions finer than a nanosecond are cut off.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::excerpt::Excerpt;

/// A signed span of up to 292 years, in whole nanoseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Duration {
    nanos: i64,
}

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseDurationError {
    /// There is no text, or nothing but a sign.
    #[error("a duration must not be empty")]
    Empty,
    /// A number was expected and something else is there.
    #[error("duration {text} lacks a number before {rest}")]
    NoNumber {
        /// What was given.
        text: Excerpt,
        /// The part that should have started with a number.
        rest: Excerpt,
    },
    /// A number has no unit.
    #[error("duration {text} lacks a unit after a number; there are ns us ms s m h")]
    NoUnit {
        /// What was given.
        text: Excerpt,
    },
    /// A number has a unit nobody knows.
    #[error("duration {text} has the unknown unit {unit}; there are ns us ms s m h")]
    UnknownUnit {
        /// What was given.
        text: Excerpt,
        /// The part between two numbers.
        unit: Excerpt,
    },
    /// The sum is more than 64 bits of nanoseconds.
    #[error("duration {text} is longer than 292 years")]
    TooLong {
        /// What was given.
        text: Excerpt,
    },
}

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000 * MICROSECOND;
const SECOND: u64 = 1_000 * MILLISECOND;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self { nanos: 0 };

    /// The longest span into the past.
    pub const MIN: Self = Self { nanos: i64::MIN };

    /// The longest span.
    pub const MAX: Self = Self { nanos: i64::MAX };

    /// So many nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self { nanos }
    }

    /// So many seconds, held within [`Duration::MIN`] and [`Duration::MAX`].
    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Self {
        Self {
            nanos: seconds.saturating_mul(SECOND as i64),
        }
    }

    /// The whole span in nanoseconds.
    #[must_use]
    pub const fn nanos(self) -> i64 {
        self.nanos
    }

    /// Whole seconds; a fraction is cut off.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.nanos / SECOND as i64
    }

    /// Whether the span points into the past.
    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// The span for waiting: a negative one is no wait at all.
    #[must_use]
    pub fn to_wait(self) -> std::time::Duration {
        std::time::Duration::from_nanos(u64::try_from(self.nanos).unwrap_or(0))
    }
}

impl TryFrom<std::time::Duration> for Duration {
    type Error = std::num::TryFromIntError;

    fn try_from(duration: std::time::Duration) -> Result<Self, Self::Error> {
        i64::try_from(duration.as_nanos()).map(Self::from_nanos)
    }
}

impl FromStr for Duration {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if unsigned == "0" {
            return Ok(Self::ZERO);
        }
        if unsigned.is_empty() {
            return Err(ParseDurationError::Empty);
        }
        let too_long = || ParseDurationError::TooLong { text: text.into() };
        let mut total = 0_u64;
        let mut rest = unsigned;
        while !rest.is_empty() {
            let (part, after) = scan_part(rest, text)?;
            let part = part.ok_or_else(too_long)?;
            total = total.checked_add(part).ok_or_else(too_long)?;
            rest = after;
        }
        let nanos = if is_negative {
            0_i64.checked_sub_unsigned(total)
        } else {
            i64::try_from(total).ok()
        };
        nanos.map(Self::from_nanos).ok_or_else(too_long)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Text::empty();
        text.write_span(self.nanos.unsigned_abs());
        if self.nanos < 0 {
            text.push_front("-");
        }
        f.pad(text.as_str())
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Duration({self})")
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(DurationVisitor)
    }
}

struct DurationVisitor;

impl de::Visitor<'_> for DurationVisitor {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"1h30m\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
        text.parse().map_err(E::custom)
    }
}

impl JsonSchema for Duration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// The number and unit that `rest` starts with, in nanoseconds (`None` if too many), and what follows.
fn scan_part<'a>(rest: &'a str, text: &str) -> Result<(Option<u64>, &'a str), ParseDurationError> {
    let (integer, after) = split_digits(rest);
    let (fraction, after) = match after.strip_prefix('.') {
        Some(after) => split_digits(after),
        None => ("", after),
    };
    if integer.is_empty() && fraction.is_empty() {
        return Err(ParseDurationError::NoNumber {
            text: text.into(),
            rest: rest.into(),
        });
    }
    let end = after
        .find(|c: char| c == '.' || c.is_ascii_digit())
        .unwrap_or(after.len());
    let (unit, after) = after.split_at(end);
    let unit = match unit {
        "ns" => 1,
        // The micro sign and the Greek letter look alike and are both in use.
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        "" => return Err(ParseDurationError::NoUnit { text: text.into() }),
        _ => {
            return Err(ParseDurationError::UnknownUnit {
                text: text.into(),
                unit: unit.into(),
            });
        }
    };
    Ok((in_nanos(integer, fraction, unit), after))
}

fn in_nanos(integer: &str, fraction: &str, unit: u64) -> Option<u64> {
    let whole = integer.bytes().try_fold(0_u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })?;
    // 18 decimals of an hour are far below a nanosecond; with them the product fits easily.
    let (part, scale) = fraction
        .bytes()
        .take(18)
        .fold((0_u128, 1_u128), |(number, scale), digit| {
            (number * 10 + u128::from(digit - b'0'), scale * 10)
        });
    let part = u64::try_from(part * u128::from(unit) / scale).ok()?;
    whole.checked_mul(unit)?.checked_add(part)
}

fn split_digits(text: &str) -> (&str, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(digits)
}

/// A text in the making, filled from its end, where the smallest unit stands.
struct Text {
    bytes: [u8; Self::ROOM],
    start: usize,
}

impl Text {
    /// `-2562047h47m16.854775808s` is the longest.
    const ROOM: usize = 25;

    fn empty() -> Self {
        Self {
            bytes: [0; Self::ROOM],
            start: Self::ROOM,
        }
    }

    fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[self.start..]).expect("invariant: only whole texts are written")
    }

    fn push_front(&mut self, text: &str) {
        let start = self.start - text.len();
        self.bytes[start..self.start].copy_from_slice(text.as_bytes());
        self.start = start;
    }

    fn push_digit(&mut self, digit: u64) {
        self.start -= 1;
        self.bytes[self.start] = b'0' + digit as u8;
    }

    fn push_number(&mut self, number: u64) {
        let mut rest = number;
        loop {
            self.push_digit(rest % 10);
            rest /= 10;
            if rest == 0 {
                return;
            }
        }
    }

    /// Below a second the largest unit that gives a whole part stands alone; above, hours, minutes and seconds do,
    /// from the first that is not zero.
    fn write_span(&mut self, nanos: u64) {
        match nanos {
            0 => self.push_front("0s"),
            1..MICROSECOND => self.write_decimal(nanos, 0, "ns"),
            MICROSECOND..MILLISECOND => self.write_decimal(nanos, 3, "µs"),
            MILLISECOND..SECOND => self.write_decimal(nanos, 6, "ms"),
            _ => {
                self.write_decimal(nanos % MINUTE, 9, "s");
                if nanos < MINUTE {
                    return;
                }
                self.push_front("m");
                self.push_number(nanos / MINUTE % 60);
                if nanos < HOUR {
                    return;
                }
                self.push_front("h");
                self.push_number(nanos / HOUR);
            }
        }
    }

    /// `number` with its last `decimals` digits behind the point, zeros at the end left out.
    fn write_decimal(&mut self, number: u64, decimals: u32, unit: &str) {
        self.push_front(unit);
        let mut rest = number;
        let mut has_fraction = false;
        for _ in 0..decimals {
            let digit = rest % 10;
            rest /= 10;
            if has_fraction || digit != 0 {
                has_fraction = true;
                self.push_digit(digit);
            }
        }
        if has_fraction {
            self.push_front(".");
        }
        self.push_number(rest);
    }
}

#[cfg(test)]
mod tests;

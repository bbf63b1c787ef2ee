//! Points in time as the API writes them: RFC 3339, in UTC, with a fixed number of decimals.
//!
//! [`Time`] counts seconds (creation, deletion, transitions), [`MicroTime`] microseconds (leases, events). Both hold
//! exactly what their text says, so two that print alike are equal. An absent time is `Option`'s business.
//!
//! Upstream: offsets and any number of decimals are read, `T` and `Z` must be capitals, a 61st second does not exist.
//! `MicroTime` is read more generously than upstream, which insists on six decimals.

use std::{borrow::Cow, fmt, str::FromStr};

use jiff::{SignedDuration, Timestamp, civil::DateTime};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{duration::Duration, excerpt::Excerpt};

/// A second between the years 0000 and 9999, the range RFC 3339 can express.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time {
    /// Since 1970; negative before.
    seconds: i64,
}

/// A microsecond between the years 0000 and 9999.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MicroTime {
    /// Since 1970; negative before.
    micros: i64,
}

/// Why a text is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseTimeError {
    /// The text does not have the shape of a time.
    #[error("time {text} is not written like 2006-01-02T15:04:05Z or 2006-01-02T15:04:05+07:00")]
    Shape {
        /// What was given.
        text: Excerpt,
    },
    /// The shape is right, but there is no such day, hour, minute, second or offset.
    #[error("time {text} does not exist in the calendar")]
    Calendar {
        /// What was given.
        text: Excerpt,
    },
    /// The offset moves the time out of the years 0000 to 9999.
    #[error("time {text} is not within the years 0000 to 9999 in UTC")]
    Range {
        /// What was given.
        text: Excerpt,
    },
}

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// 0000-01-01T00:00:00Z: 719,528 days before 1970.
const FIRST_SECOND: i64 = -719_528 * 86_400;

/// 9999-12-31T23:59:59Z: the last second of the 2,932,896th day after 1970-01-01.
const LAST_SECOND: i64 = 2_932_897 * 86_400 - 1;

const MICROS_PER_SECOND: i64 = 1_000_000;

impl Time {
    /// The earliest time.
    pub const MIN: Self = Self {
        seconds: FIRST_SECOND,
    };

    /// The latest time.
    pub const MAX: Self = Self {
        seconds: LAST_SECOND,
    };

    /// So many seconds after the start of 1970, held within [`Time::MIN`] and [`Time::MAX`].
    #[must_use]
    pub fn from_unix_seconds(seconds: i64) -> Self {
        Self {
            seconds: seconds.clamp(FIRST_SECOND, LAST_SECOND),
        }
    }

    /// Seconds since the start of 1970.
    #[must_use]
    pub fn unix_seconds(self) -> i64 {
        self.seconds
    }

    /// The time so many seconds later, or earlier if negative, held within [`Time::MIN`] and [`Time::MAX`].
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self::from_unix_seconds(self.seconds.saturating_add(seconds))
    }

    /// Seconds from `earlier` to this time; negative if it is in fact later.
    #[must_use]
    pub fn seconds_since(self, earlier: Self) -> i64 {
        // Both are within ten thousand years of 1970, so this cannot overflow.
        self.seconds - earlier.seconds
    }

    /// The time from `earlier` to this one; more than 292 years count as 292.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_seconds(self.seconds_since(earlier))
    }
}

impl MicroTime {
    /// The earliest time.
    pub const MIN: Self = Self {
        micros: FIRST_SECOND * MICROS_PER_SECOND,
    };

    /// The latest time.
    pub const MAX: Self = Self {
        micros: LAST_SECOND * MICROS_PER_SECOND + (MICROS_PER_SECOND - 1),
    };

    /// So many microseconds after the start of 1970, held within [`MicroTime::MIN`] and [`MicroTime::MAX`].
    #[must_use]
    pub fn from_unix_micros(micros: i64) -> Self {
        Self {
            micros: micros.clamp(Self::MIN.micros, Self::MAX.micros),
        }
    }

    /// Microseconds since the start of 1970.
    #[must_use]
    pub fn unix_micros(self) -> i64 {
        self.micros
    }

    /// The time so much later, or earlier if negative, held within [`MicroTime::MIN`] and [`MicroTime::MAX`].
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let micros = duration.nanos().div_euclid(1_000);
        Self::from_unix_micros(self.micros.saturating_add(micros))
    }

    /// The time from `earlier` to this one; more than 292 years count as 292.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        // Both are within 10^18 of zero, so the difference cannot overflow; in nanoseconds it can.
        Duration::from_nanos((self.micros - earlier.micros).saturating_mul(1_000))
    }

    /// The second this time lies in.
    #[must_use]
    pub fn to_time(self) -> Time {
        Time {
            seconds: self.micros.div_euclid(MICROS_PER_SECOND),
        }
    }
}

impl From<Time> for MicroTime {
    fn from(time: Time) -> Self {
        Self {
            micros: time.seconds * MICROS_PER_SECOND,
        }
    }
}

/// Drops the fraction of a second.
impl From<Timestamp> for Time {
    fn from(timestamp: Timestamp) -> Self {
        MicroTime::from(timestamp).to_time()
    }
}

/// Drops what is finer than a microsecond.
impl From<Timestamp> for MicroTime {
    fn from(timestamp: Timestamp) -> Self {
        // Towards the past on both sides of 1970, as cutting digits off the text would.
        let micros = timestamp.as_nanosecond().div_euclid(1_000);
        let limit = if micros < 0 { i64::MIN } else { i64::MAX };
        Self::from_unix_micros(i64::try_from(micros).unwrap_or(limit))
    }
}

/// `jiff` ends 26 hours before the year 9999 does; times after that become its last.
impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        Self::from_second(time.seconds).unwrap_or(Self::MAX)
    }
}

/// `jiff` ends 26 hours before the year 9999 does; times after that become its last.
impl From<MicroTime> for Timestamp {
    fn from(time: MicroTime) -> Self {
        Self::from_microsecond(time.micros).unwrap_or(Self::MAX)
    }
}

impl FromStr for Time {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        MicroTime::from_str(text).map(MicroTime::to_time)
    }
}

impl FromStr for MicroTime {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(written) = Written::scan(text.as_bytes()) else {
            return Err(ParseTimeError::Shape { text: text.into() });
        };
        let Some(seconds) = written.seconds_in_utc() else {
            return Err(ParseTimeError::Calendar { text: text.into() });
        };
        if !(FIRST_SECOND..=LAST_SECOND).contains(&seconds) {
            return Err(ParseTimeError::Range { text: text.into() });
        }
        Ok(Self {
            micros: seconds * MICROS_PER_SECOND + written.micros,
        })
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(text_of(self.seconds, None, &mut [0; LONGEST]))
    }
}

impl fmt::Display for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.micros.rem_euclid(MICROS_PER_SECOND);
        let seconds = self.to_time().seconds;
        f.pad(text_of(seconds, Some(micros), &mut [0; LONGEST]))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Time({self})")
    }
}

impl fmt::Debug for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MicroTime({self})")
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text_of(self.seconds, None, &mut [0; LONGEST]))
    }
}

impl Serialize for MicroTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        MicroTime::deserialize(deserializer).map(MicroTime::to_time)
    }
}

impl<'de> Deserialize<'de> for MicroTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TimeVisitor)
    }
}

struct TimeVisitor;

impl de::Visitor<'_> for TimeVisitor {
    type Value = MicroTime;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time such as \"2006-01-02T15:04:05Z\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<MicroTime, E> {
        text.parse().map_err(E::custom)
    }
}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

impl JsonSchema for MicroTime {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "MicroTime".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// A time as its text gives it, not yet checked against the calendar.
struct Written {
    year: i16,
    month: i8,
    day: i8,
    hour: i8,
    minute: i8,
    second: i8,
    micros: i64,
    /// Hours and minutes east of Greenwich, both negative to the west.
    offset: (i64, i64),
}

impl Written {
    fn scan(text: &[u8]) -> Option<Self> {
        let (date, rest) = text.split_first_chunk::<11>()?;
        let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T'] = *date else {
            return None;
        };
        let (clock, rest) = rest.split_first_chunk::<8>()?;
        let [h0, h1, b':', n0, n1, b':', s0, s1] = *clock else {
            return None;
        };
        let (micros, rest) = scan_fraction(rest)?;
        Some(Self {
            year: i16::from(two_digits(y0, y1)?) * 100 + i16::from(two_digits(y2, y3)?),
            month: two_digits(m0, m1)?,
            day: two_digits(d0, d1)?,
            hour: two_digits(h0, h1)?,
            minute: two_digits(n0, n1)?,
            second: two_digits(s0, s1)?,
            micros,
            offset: scan_offset(rest)?,
        })
    }

    fn seconds_in_utc(&self) -> Option<i64> {
        let (hours, minutes) = self.offset;
        if hours.abs() > 23 || minutes.abs() > 59 {
            return None;
        }
        let local = DateTime::new(
            self.year,
            self.month,
            self.day,
            self.hour,
            self.minute,
            self.second,
            0,
        )
        .ok()?;
        Some(local.duration_since(EPOCH).as_secs() - hours * 3600 - minutes * 60)
    }
}

fn two_digits(tens: u8, ones: u8) -> Option<i8> {
    if !tens.is_ascii_digit() || !ones.is_ascii_digit() {
        return None;
    }
    i8::try_from((tens - b'0') * 10 + (ones - b'0')).ok()
}

/// The microseconds behind the point, if there is one, and the text after them.
fn scan_fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let [b'.' | b',', fraction @ ..] = text else {
        return Some((0, text));
    };
    let length = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = fraction.split_at(length);
    if digits.is_empty() {
        return None;
    }
    let padded = digits.iter().copied().chain(std::iter::repeat(b'0'));
    let micros = padded
        .take(6)
        .fold(0, |micros, digit| micros * 10 + i64::from(digit - b'0'));
    Some((micros, rest))
}

fn scan_offset(text: &[u8]) -> Option<(i64, i64)> {
    match *text {
        [b'Z'] => Some((0, 0)),
        [sign @ (b'+' | b'-'), h0, h1, b':', m0, m1] => {
            let direction = if sign == b'-' { -1 } else { 1 };
            let hours = direction * i64::from(two_digits(h0, h1)?);
            let minutes = direction * i64::from(two_digits(m0, m1)?);
            Some((hours, minutes))
        }
        _ => None,
    }
}

/// `2006-01-02T15:04:05.000000Z`
const LONGEST: usize = 27;

/// Writes a time into `buffer`; `seconds` are within the years 0000 to 9999, `micros` below a million.
fn text_of(seconds: i64, micros: Option<i64>, buffer: &mut [u8; LONGEST]) -> &str {
    let civil = EPOCH
        .checked_add(SignedDuration::from_secs(seconds))
        .expect("invariant: held within the years 0000 to 9999");
    *buffer = *b"0000-00-00T00:00:00.000000Z";
    let fields = [
        (0..4, i64::from(civil.year())),
        (5..7, i64::from(civil.month())),
        (8..10, i64::from(civil.day())),
        (11..13, i64::from(civil.hour())),
        (14..16, i64::from(civil.minute())),
        (17..19, i64::from(civil.second())),
        (20..26, micros.unwrap_or(0)),
    ];
    for (place, number) in fields {
        let mut rest = number;
        for digit in buffer[place].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
    let length = if micros.is_some() {
        LONGEST
    } else {
        buffer[19] = b'Z';
        20
    };
    str::from_utf8(&buffer[..length]).expect("invariant: only ASCII is written")
}

#[cfg(test)]
mod tests;

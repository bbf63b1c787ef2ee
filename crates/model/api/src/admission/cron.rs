//! Cron expressions, in the dialect that schedules are written in.
//!
//! ```text
//! expression = shorthand | [second] minute hour day month weekday [year]     5 to 7 fields, split at white space
//! shorthand  = @yearly @annually @monthly @weekly @daily @hourly @always
//!            | @5minutes @10minutes @15minutes @30minutes @everysecond
//! field      = item {"," item}          item = * | ? | value | value-value | (* | value | value-value)/step
//!              day also takes  L  nW        weekday also takes  nL  n#k  (the last, and the k-th, such day)
//! ```
//!
//! Six fields begin with seconds, unless the last one holds a year (four digits). Weekdays are 0 to 7 with Sunday at
//! both ends; months and weekdays may be given by the first three letters of their English names. Case is ignored.

use std::ops::RangeInclusive;

/// The texts that stand for whole expressions.
const SHORTHANDS: &[&str] = &[
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@hourly",
    "@always",
    "@5minutes",
    "@10minutes",
    "@15minutes",
    "@30minutes",
    "@everysecond",
];

const MONTHS: &[&str] = &[
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Why a text is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It has too few fields, or too many.
    #[error("expected 5 to 7 fields separated by spaces, found {found}")]
    FieldCount {
        /// How many there are.
        found: usize,
    },
    /// A part of a field is not written as it must be, or is out of range.
    #[error("{field}: {item:?} {problem}")]
    Item {
        /// Which field.
        field: &'static str,
        /// The part.
        item: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// Checks that a text is a schedule.
pub fn check_schedule(text: &str) -> Result<(), ScheduleError> {
    let upper = text.to_ascii_uppercase();
    let parts: Vec<&str> = upper.split_whitespace().collect();
    if let [only] = parts.as_slice()
        && SHORTHANDS
            .iter()
            .any(|shorthand| shorthand.eq_ignore_ascii_case(only))
    {
        return Ok(());
    }
    let has_year = parts.len() == 6 && parts.last().is_some_and(|last| has_four_digits(last));
    let fields = match parts.len() {
        5 => FIELDS.get(1..6),
        6 if has_year => FIELDS.get(1..7),
        6 => FIELDS.get(0..6),
        7 => FIELDS.get(0..7),
        found => return Err(ScheduleError::FieldCount { found }),
    };
    for (field, part) in fields.into_iter().flatten().zip(&parts) {
        for item in part.split(',') {
            field.check(item).map_err(|problem| ScheduleError::Item {
                field: field.name,
                item: item.to_owned(),
                problem,
            })?;
        }
    }
    Ok(())
}

/// One field and what its items may be.
struct Field {
    name: &'static str,
    range: RangeInclusive<u32>,
    /// Names of values, from the least value on.
    names: &'static [&'static str],
    /// Checks items that only this field takes; `None` leaves an item to the general rules.
    special: fn(&Field, &str) -> Option<Result<(), &'static str>>,
}

const FIELDS: &[Field] = &[
    Field {
        name: "second",
        range: 0..=59,
        names: &[],
        special: nothing,
    },
    Field {
        name: "minute",
        range: 0..=59,
        names: &[],
        special: nothing,
    },
    Field {
        name: "hour",
        range: 0..=23,
        names: &[],
        special: nothing,
    },
    Field {
        name: "day",
        range: 1..=31,
        names: &[],
        special: special_day,
    },
    Field {
        name: "month",
        range: 1..=12,
        names: MONTHS,
        special: nothing,
    },
    Field {
        name: "weekday",
        range: 0..=7,
        names: WEEKDAYS,
        special: special_weekday,
    },
    Field {
        name: "year",
        range: 1..=9999,
        names: &[],
        special: nothing,
    },
];

const NOT_A_NUMBER: &str = "is not a number";
const OUT_OF_RANGE: &str = "is out of range";
const BACKWARDS: &str = "ends before it begins";
const BAD_STEP: &str = "has a step that is not above 0";

impl Field {
    fn check(&self, item: &str) -> Result<(), &'static str> {
        if let Some(result) = (self.special)(self, item) {
            return result;
        }
        if item == "?" {
            return Ok(());
        }
        let (span, step) = match item.split_once('/') {
            Some((span, step)) => (span, Some(step)),
            None => (item, None),
        };
        if step.is_some_and(|step| number(step).is_none_or(|step| step == 0)) {
            return Err(BAD_STEP);
        }
        match span.split_once('-') {
            _ if span == "*" => Ok(()),
            // Upstream: steps may begin at 0 in every field.
            None if step.is_some() && span == "0" => Ok(()),
            None => self.value(span).map(drop),
            Some((first, last)) => {
                let (mut first, last) = (self.value(first)?, self.value(last)?);
                // A week that begins with Sunday as 7.
                if first == 7 && self.names == WEEKDAYS && step.is_none() {
                    first = 0;
                }
                if last < first { Err(BACKWARDS) } else { Ok(()) }
            }
        }
    }

    fn value(&self, text: &str) -> Result<u32, &'static str> {
        let by_name = self.names.iter().position(|name| *name == text);
        let by_name = by_name.and_then(|position| u32::try_from(position).ok());
        let value = by_name
            .map(|position| self.range.start() + position)
            .or_else(|| number(text));
        match value {
            None => Err(NOT_A_NUMBER),
            Some(value) if !self.range.contains(&value) => Err(OUT_OF_RANGE),
            Some(value) => Ok(value),
        }
    }
}

fn nothing(_: &Field, _: &str) -> Option<Result<(), &'static str>> {
    None
}

/// `L` is the last day of the month, `15W` the weekday nearest to the 15th.
fn special_day(field: &Field, item: &str) -> Option<Result<(), &'static str>> {
    if item == "L" {
        return Some(Ok(()));
    }
    let day = item.strip_suffix('W')?;
    Some(field.value(day).map(drop))
}

/// `5L` is the last Friday of the month, `5#2` the second.
fn special_weekday(field: &Field, item: &str) -> Option<Result<(), &'static str>> {
    if let Some((day, nth)) = item.split_once('#') {
        let is_nth = number(nth).is_some_and(|nth| (1..=5).contains(&nth));
        return Some(
            field
                .value(day)
                .and(if is_nth { Ok(()) } else { Err(OUT_OF_RANGE) }),
        );
    }
    let day = item.strip_suffix('L')?;
    Some(field.value(day).map(drop))
}

fn number(text: &str) -> Option<u32> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| text.parse().ok()).flatten()
}

fn has_four_digits(text: &str) -> bool {
    text.as_bytes()
        .windows(4)
        .any(|window| window.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_of_the_dialect_are_accepted() {
        for text in [
            "* * * * *",
            "0 8 * * 1-5",
            "*/5 * * * *",
            "0,30 9-17/2 1,15 JAN-mar,12 MON,wed,FRI",
            "  0\t8 * * ?  ",
            "0 0 L * *",
            "0 0 15W * *",
            "0 0 * * 5L",
            "0 0 * * 5#2",
            "0 0 * * 7",
            "0 0 * * 7-3",
            "0/10 0 0/3 * *",
            "10/5 * * * *",
            "0 0 8 * * *",
            "0 8 * * * 2026",
            "0 0 8 * * * 2026-2030",
            "@daily",
            "@Daily",
            "@everysecond",
            "00 08 * * *",
        ] {
            assert_eq!(check_schedule(text), Ok(()), "{text:?}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_part_that_is_wrong() {
        for (text, expected) in [
            ("", "expected 5 to 7 fields separated by spaces, found 0"),
            (
                "* * * *",
                "expected 5 to 7 fields separated by spaces, found 4",
            ),
            (
                "* * * * * * * *",
                "expected 5 to 7 fields separated by spaces, found 8",
            ),
            (
                "@reboot",
                "expected 5 to 7 fields separated by spaces, found 1",
            ),
            ("60 * * * *", "minute: \"60\" is out of range"),
            ("0 24 * * *", "hour: \"24\" is out of range"),
            ("0 0 0 * *", "day: \"0\" is out of range"),
            ("0 0 * 13 *", "month: \"13\" is out of range"),
            ("0 0 * * 8", "weekday: \"8\" is out of range"),
            ("5,99 * * * *", "minute: \"99\" is out of range"),
            ("x * * * *", "minute: \"X\" is not a number"),
            ("MON * * * *", "minute: \"MON\" is not a number"),
            ("0 0 * MON *", "month: \"MON\" is not a number"),
            ("-1 * * * *", "minute: \"-1\" is not a number"),
            ("+1 * * * *", "minute: \"+1\" is not a number"),
            ("30-10 * * * *", "minute: \"30-10\" ends before it begins"),
            (
                "*/0 * * * *",
                "minute: \"*/0\" has a step that is not above 0",
            ),
            (
                "*/x * * * *",
                "minute: \"*/X\" has a step that is not above 0",
            ),
            (
                "*/5/2 * * * *",
                "minute: \"*/5/2\" has a step that is not above 0",
            ),
            ("1,,2 * * * *", "minute: \"\" is not a number"),
            ("L * * * *", "minute: \"L\" is not a number"),
            ("0 0 32W * *", "day: \"32W\" is out of range"),
            ("0 0 W * *", "day: \"W\" is not a number"),
            ("0 0 * * L", "weekday: \"L\" is not a number"),
            ("0 0 * * 5#6", "weekday: \"5#6\" is out of range"),
            ("0 0 8 * * * 0", "year: \"0\" is out of range"),
            (
                "99999999999999999999 * * * *",
                "minute: \"99999999999999999999\" is not a number",
            ),
        ] {
            let error = check_schedule(text).map_err(|error| error.to_string());
            assert_eq!(error, Err(expected.to_owned()), "{text:?}");
        }
    }
}

//! Times a schedule means: five fields, in a time zone; or every so often.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use object::time::Time;

/// When something is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// At certain times of the day, on certain days, by the clocks of a time zone.
    Calendar {
        /// Which times.
        times: Times,
        /// Whose clocks show them.
        zone: TimeZone,
    },
    /// So many seconds after the last time.
    Every(i64),
}

/// Which minutes of which hours of which days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether both days and weekdays are restricted: then either will do.
    either_day: bool,
}

const MINUTE: i64 = 60;
const DAY: i64 = 86_400;
/// The search ends here: a schedule without a time in eight years, a leap day among them, has none.
const HORIZON: i64 = 8 * 366;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Why a schedule means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It is not written as schedules are.
    #[error("unparseable schedule: {0}")]
    Text(String),
    /// There is no such time zone, or it is the machine's own.
    #[error("unknown time zone: {0}")]
    Zone(String),
}

impl Schedule {
    /// Reads a schedule in a time zone; UTC if none is named.
    pub fn parse(text: &str, zone: Option<&str>) -> Result<Self, ScheduleError> {
        let unreadable = || ScheduleError::Text(text.to_owned());
        if let Some(span) = text.trim().strip_prefix("@every ") {
            let span: object::duration::Duration = span.trim().parse().map_err(|_| unreadable())?;
            let seconds = i64::try_from(span.to_wait().as_secs()).map_err(|_| unreadable())?;
            return Ok(Self::Every(seconds.max(1)));
        }
        let times = Times::parse(text).ok_or_else(unreadable)?;
        let zone = match zone {
            None => TimeZone::UTC,
            // Upstream: the machine's own zone is no zone to rely on.
            Some(name) if name.is_empty() || name.eq_ignore_ascii_case("local") => {
                return Err(ScheduleError::Zone(name.to_owned()));
            }
            Some(name) => TimeZone::get(name).map_err(|_| ScheduleError::Zone(name.to_owned()))?,
        };
        Ok(Self::Calendar { times, zone })
    }

    /// The first time after another; `None` if there is none in the next eight years.
    #[must_use]
    pub fn after(&self, time: Time) -> Option<Time> {
        match self {
            Self::Every(seconds) => Some(time.plus_seconds(*seconds)),
            Self::Calendar { times, zone } => times.after(time, zone),
        }
    }
}

impl Times {
    fn parse(text: &str) -> Option<Self> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return None;
        };
        let is_open = |field: &str| field.starts_with('*') || field == "?";
        let mut of_week = bits(weekdays, 0, 7, &WEEKDAYS)?;
        // Sunday may be written as seven.
        of_week = (of_week | (of_week >> 7)) & 0x7f;
        Some(Self {
            minutes: bits(minutes, 0, 59, &[])?,
            hours: bits(hours, 0, 23, &[])?,
            days: bits(days, 1, 31, &[])?,
            months: bits(months, 1, 12, &MONTHS)?,
            weekdays: of_week,
            either_day: !is_open(days) && !is_open(weekdays),
        })
    }

    /// The first time after another that the clocks of a zone show. Those that a change of the clocks leaves out are
    /// left out; those that they show twice count once.
    fn after(&self, time: Time, zone: &TimeZone) -> Option<Time> {
        let local = local(time, zone)?;
        let start = local.div_euclid(MINUTE) * MINUTE;
        let first_day = start.div_euclid(DAY);
        for day in first_day..first_day.saturating_add(HORIZON) {
            if !self.takes_day(day) {
                continue;
            }
            let from = if day == first_day {
                start.rem_euclid(DAY) / MINUTE
            } else {
                0
            };
            for minute in from..(DAY / MINUTE) {
                if !has(self.hours, minute / 60) || !has(self.minutes, minute % 60) {
                    continue;
                }
                let found = instant(day * DAY + minute * MINUTE, zone);
                if let Some(found) = found.filter(|found| *found > time) {
                    return Some(found);
                }
            }
        }
        None
    }

    fn takes_day(&self, day: i64) -> bool {
        let (month, of_month) = month_and_day(day);
        // The first day of 1970 was a Thursday.
        let weekday = (day + 4).rem_euclid(7);
        if !has(self.months, month) {
            return false;
        }
        let (by_date, by_weekday) = (has(self.days, of_month), has(self.weekdays, weekday));
        if self.either_day {
            by_date || by_weekday
        } else {
            by_date && by_weekday
        }
    }
}

/// What the clocks of a zone show, in seconds since 1970 as if it were UTC.
fn local(time: Time, zone: &TimeZone) -> Option<i64> {
    let instant = Timestamp::from_second(time.unix_seconds()).ok()?;
    let offset = i64::from(zone.to_offset(instant).seconds());
    time.unix_seconds().checked_add(offset)
}

/// When the clocks of a zone first show something; `None` if they never do.
fn instant(local: i64, zone: &TimeZone) -> Option<Time> {
    let shown: DateTime = TimeZone::UTC.to_datetime(Timestamp::from_second(local).ok()?);
    let ambiguous = zone.to_ambiguous_timestamp(shown);
    if matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. }) {
        return None;
    }
    let instant = ambiguous.earlier().ok()?;
    Some(Time::from_unix_seconds(instant.as_second()))
}

fn has(set: u64, number: i64) -> bool {
    u32::try_from(number).is_ok_and(|number| number < 64 && set & (1 << number) != 0)
}

/// One field: lists of numbers, names, ranges and steps.
fn bits(field: &str, least: u32, most: u32, names: &[&str]) -> Option<u64> {
    let number = |text: &str| -> Option<u32> {
        let named = names
            .iter()
            .position(|name| text.eq_ignore_ascii_case(name));
        if let Some(place) = named {
            return u32::try_from(place).ok().map(|place| place + least);
        }
        text.parse()
            .ok()
            .filter(|number| (least..=most).contains(number))
    };
    let mut set = 0;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse::<u32>().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (first, last) = match range {
            "*" | "?" => (least, most),
            range => match range.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None if part.contains('/') => (number(range)?, most),
                None => (number(range)?, number(range)?),
            },
        };
        if first > last {
            return None;
        }
        for number in (first..=last).step_by(usize::try_from(step).ok()?) {
            set |= 1_u64 << number;
        }
    }
    Some(set)
}

/// The month and the day of the month of a day counted from 1970, by the proleptic Gregorian calendar.
fn month_and_day(day: i64) -> (i64, i64) {
    // Counted from the first of March of the year 0, in eras of 400 years, so that leap days come last.
    let shifted = day + 719_468;
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (month, of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> String {
        next_in(schedule, None, after)
    }

    fn next_in(schedule: &str, zone: Option<&str>, after: &str) -> String {
        let after: Time = after.parse().unwrap();
        match Schedule::parse(schedule, zone) {
            Ok(schedule) => schedule
                .after(after)
                .map_or_else(|| "never".to_owned(), |time| time.to_string()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn clocks_are_those_of_the_zone() {
        let berlin = Some("Europe/Berlin");
        for (schedule, zone, after, expected) in [
            (
                "0 9 * * *",
                berlin,
                "2026-01-01T00:00:00Z",
                "2026-01-01T08:00:00Z",
            ),
            (
                "0 9 * * *",
                berlin,
                "2026-07-01T00:00:00Z",
                "2026-07-01T07:00:00Z",
            ),
            (
                "0 0 * * *",
                Some("America/New_York"),
                "2026-01-01T04:59:00Z",
                "2026-01-01T05:00:00Z",
            ),
            // On 29 March 2026 the clocks go from 2 to 3: half past two is left out.
            (
                "30 2 * * *",
                berlin,
                "2026-03-28T02:00:00Z",
                "2026-03-30T00:30:00Z",
            ),
            // On 25 October 2026 half past two comes twice and counts once.
            (
                "30 2 * * *",
                berlin,
                "2026-10-24T12:00:00Z",
                "2026-10-25T00:30:00Z",
            ),
            (
                "30 2 * * *",
                berlin,
                "2026-10-25T00:30:00Z",
                "2026-10-26T01:30:00Z",
            ),
            (
                "@every 90s",
                None,
                "2026-01-01T00:00:00Z",
                "2026-01-01T00:01:30Z",
            ),
            (
                "0 9 * * *",
                Some("Mars/Olympus"),
                "2026-01-01T00:00:00Z",
                "unknown time zone: Mars/Olympus",
            ),
            (
                "0 9 * * *",
                Some("Local"),
                "2026-01-01T00:00:00Z",
                "unknown time zone: Local",
            ),
        ] {
            assert_eq!(
                next_in(schedule, zone, after),
                expected,
                "{schedule} {zone:?} after {after}"
            );
        }
    }

    #[test]
    fn schedules_mean_the_times_people_expect() {
        for (schedule, after, expected) in [
            (
                "*/5 * * * *",
                "2026-01-01T00:00:00Z",
                "2026-01-01T00:05:00Z",
            ),
            (
                "*/5 * * * *",
                "2026-01-01T00:04:59Z",
                "2026-01-01T00:05:00Z",
            ),
            ("@hourly", "2026-01-01T10:30:00Z", "2026-01-01T11:00:00Z"),
            ("30 2 * * *", "2026-02-28T03:00:00Z", "2026-03-01T02:30:00Z"),
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            (
                "0 9 * * mon-fri",
                "2026-01-02T09:00:00Z",
                "2026-01-05T09:00:00Z",
            ),
            ("0 0 13 * 5", "2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z"),
            ("0 0 * * 7", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
            ("0 0 30 2 *", "2026-01-01T00:00:00Z", "never"),
            (
                "1 2 3",
                "2026-01-01T00:00:00Z",
                "unparseable schedule: 1 2 3",
            ),
            (
                "61 * * * *",
                "2026-01-01T00:00:00Z",
                "unparseable schedule: 61 * * * *",
            ),
            (
                "5-1 * * * *",
                "2026-01-01T00:00:00Z",
                "unparseable schedule: 5-1 * * * *",
            ),
            (
                "*/0 * * * *",
                "2026-01-01T00:00:00Z",
                "unparseable schedule: */0 * * * *",
            ),
        ] {
            assert_eq!(next(schedule, after), expected, "{schedule} after {after}");
        }
    }
}

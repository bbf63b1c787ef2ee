//! Times a schedule means: five fields, in UTC.

use object::time::Time;

/// Which minutes of which hours of which days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
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

impl Schedule {
    /// Reads a schedule; `None` if it means nothing.
    pub(crate) fn parse(text: &str) -> Option<Self> {
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

    /// The first time after another.
    pub(crate) fn after(&self, time: Time) -> Option<Time> {
        let start = time.unix_seconds().div_euclid(MINUTE) * MINUTE + MINUTE;
        let first_day = start.div_euclid(DAY);
        for day in first_day..first_day + HORIZON {
            if !self.takes_day(day) {
                continue;
            }
            let from = if day == first_day {
                start.rem_euclid(DAY) / MINUTE
            } else {
                0
            };
            for minute in from..(DAY / MINUTE) {
                if has(self.hours, minute / 60) && has(self.minutes, minute % 60) {
                    return Some(Time::from_unix_seconds(day * DAY + minute * MINUTE));
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
        let after: Time = after.parse().unwrap();
        Schedule::parse(schedule)
            .and_then(|schedule| schedule.after(after))
            .map_or_else(|| "never".to_owned(), |time| time.to_string())
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
            ("1 2 3", "2026-01-01T00:00:00Z", "never"),
            ("61 * * * *", "2026-01-01T00:00:00Z", "never"),
            ("5-1 * * * *", "2026-01-01T00:00:00Z", "never"),
            ("*/0 * * * *", "2026-01-01T00:00:00Z", "never"),
        ] {
            assert_eq!(next(schedule, after), expected, "{schedule} after {after}");
        }
    }
}

//! Parts of points in time and spans.

use jiff::Zoned;
use jiff::tz::{Offset, TimeZone};

use super::{Outcome, Row};
use crate::evaluate::{Fault, Meter};
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    (
        &[
            "timestamp.getFullYear() int",
            "timestamp.getFullYear(string) int",
        ],
        year,
    ),
    (
        &["timestamp.getMonth() int", "timestamp.getMonth(string) int"],
        month,
    ),
    (
        &["timestamp.getDate() int", "timestamp.getDate(string) int"],
        date,
    ),
    (
        &[
            "timestamp.getDayOfMonth() int",
            "timestamp.getDayOfMonth(string) int",
        ],
        day_of_month,
    ),
    (
        &[
            "timestamp.getDayOfWeek() int",
            "timestamp.getDayOfWeek(string) int",
        ],
        day_of_week,
    ),
    (
        &[
            "timestamp.getDayOfYear() int",
            "timestamp.getDayOfYear(string) int",
        ],
        day_of_year,
    ),
    (
        &[
            "timestamp.getHours() int",
            "timestamp.getHours(string) int",
            "duration.getHours() int",
        ],
        hours,
    ),
    (
        &[
            "timestamp.getMinutes() int",
            "timestamp.getMinutes(string) int",
            "duration.getMinutes() int",
        ],
        minutes,
    ),
    (
        &[
            "timestamp.getSeconds() int",
            "timestamp.getSeconds(string) int",
            "duration.getSeconds() int",
        ],
        seconds,
    ),
    (
        &[
            "timestamp.getMilliseconds() int",
            "timestamp.getMilliseconds(string) int",
            "duration.getMilliseconds() int",
        ],
        milliseconds,
    ),
];

const SECOND: i64 = 1_000_000_000;

fn zone(name: &str) -> Option<TimeZone> {
    if name == "UTC" || name.is_empty() {
        return Some(TimeZone::UTC);
    }
    // `-08:00`, `+5:30`: hours and minutes from Greenwich.
    if let Some((hours, minutes)) = name.split_once(':') {
        let sign = if hours.starts_with('-') { -1 } else { 1 };
        let hours: i32 = hours.trim_start_matches(['+', '-']).parse().ok()?;
        let minutes: i32 = minutes.parse().ok()?;
        let seconds = hours
            .checked_mul(60)?
            .checked_add(minutes)?
            .checked_mul(60)?;
        let offset = Offset::from_seconds(sign * seconds).ok()?;
        return Some(offset.to_time_zone());
    }
    jiff::tz::db().get(name).ok()
}

/// The time where the arguments want it seen.
fn moment(args: &[Value<'_>]) -> Result<Zoned, Fault> {
    match args {
        [Value::Timestamp(time)] => Ok(time.to_zoned(TimeZone::UTC)),
        [Value::Timestamp(time), Value::String(name)] => zone(name)
            .map(|zone| time.to_zoned(zone))
            .ok_or_else(|| Fault::new(format!("unknown time zone {}", &**name))),
        _ => Err(Fault::no_overload()),
    }
}

fn year<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(moment(args)?.year().into()))
}

fn month<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(i64::from(moment(args)?.month()) - 1))
}

fn date<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(moment(args)?.day().into()))
}

fn day_of_month<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(i64::from(moment(args)?.day()) - 1))
}

fn day_of_week<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let weekday = moment(args)?.weekday().to_sunday_zero_offset();
    Ok(Value::Int(weekday.into()))
}

fn day_of_year<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(i64::from(moment(args)?.day_of_year()) - 1))
}

fn hours<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    if let [Value::Duration(span)] = args {
        return Ok(Value::Int(span / (3600 * SECOND)));
    }
    Ok(Value::Int(moment(args)?.hour().into()))
}

fn minutes<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    if let [Value::Duration(span)] = args {
        return Ok(Value::Int(span / (60 * SECOND)));
    }
    Ok(Value::Int(moment(args)?.minute().into()))
}

fn seconds<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    if let [Value::Duration(span)] = args {
        return Ok(Value::Int(span / SECOND));
    }
    Ok(Value::Int(moment(args)?.second().into()))
}

fn milliseconds<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    if let [Value::Duration(span)] = args {
        return Ok(Value::Int(span / 1_000_000));
    }
    Ok(Value::Int(moment(args)?.millisecond().into()))
}

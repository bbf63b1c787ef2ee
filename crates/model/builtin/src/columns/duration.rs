//! Durations with two or three significant figures, for people.

use object::time::Time;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// How durations from a threshold on are shown.
struct Step {
    from: i64,
    unit: (i64, char),
    /// The smaller unit shown beside it.
    smaller: Option<(i64, char)>,
}

const STEPS: [Step; 9] = {
    const fn step(from: i64, unit: (i64, char), smaller: Option<(i64, char)>) -> Step {
        Step {
            from,
            unit,
            smaller,
        }
    }
    [
        step(8 * YEAR, (YEAR, 'y'), None),
        step(2 * YEAR, (YEAR, 'y'), Some((DAY, 'd'))),
        step(8 * DAY, (DAY, 'd'), None),
        step(2 * DAY, (DAY, 'd'), Some((HOUR, 'h'))),
        step(8 * HOUR, (HOUR, 'h'), None),
        step(3 * HOUR, (HOUR, 'h'), Some((MINUTE, 'm'))),
        step(10 * MINUTE, (MINUTE, 'm'), None),
        step(2 * MINUTE, (MINUTE, 'm'), Some((1, 's'))),
        step(0, (1, 's'), None),
    ]
};

/// A duration as `kubectl` prints ages: `37s`, `4m10s`, `12m`, `5h3m`, `2d4h`, `90d`, `2y150d`, `9y`.
///
/// The smaller unit is dropped where it no longer matters and where it is zero. Clocks that differ by a second do not
/// make a negative age; more than that is `<invalid>`.
#[must_use]
pub fn human_duration(seconds: i64) -> String {
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let Some(Step {
        unit: (unit, name),
        smaller,
        ..
    }) = STEPS.iter().find(|step| seconds >= step.from)
    else {
        return "0s".to_owned();
    };
    let whole = seconds / unit;
    match smaller {
        Some((small, small_name)) if seconds % unit >= *small => {
            format!("{whole}{name}{}{small_name}", seconds % unit / small)
        }
        _ => format!("{whole}{name}"),
    }
}

/// The time since the moment `text`, or `<unknown>` where that is none.
pub(super) fn age(text: &str, now: Time) -> String {
    text.parse::<Time>().map_or_else(
        |_| "<unknown>".to_owned(),
        |then| human_duration(now.seconds_since(then)),
    )
}

//! How fast an autoscaler may go: windows in which its wishes must hold, and how much may change in a period.

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::read;

/// Wishes for less must hold for so many seconds unless something else is said; wishes for more need not.
const DOWN_WINDOW: i64 = 300;

/// What an autoscaler wished and did of late.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Past {
    /// Wishes, before anything held them back.
    wishes: Vec<(Time, i64)>,
    /// Replicas added and taken.
    changes: Vec<(Time, i64)>,
}

/// What becomes of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paced {
    pub(crate) replicas: i64,
    /// Why it is not what was wished, if it is not: a reason of `AbleToScale`.
    pub(crate) held: Option<(&'static str, &'static str)>,
    /// Whether the pace cut it: a reason of `ScalingLimited`.
    pub(crate) limited: Option<(&'static str, &'static str)>,
}

impl Past {
    /// What was noted, as far back as anybody may ask.
    pub(crate) fn read(noted: Option<&Value>) -> Self {
        let list = |name: &str| {
            let items = noted.map_or(&[][..], |noted| read::items(noted, name));
            let pair = |item: &Value| {
                let time = item.get(0)?.as_i64()?;
                Some((Time::from_unix_seconds(time), item.get(1)?.as_i64()?))
            };
            items.iter().filter_map(pair).collect()
        };
        Self {
            wishes: list("wishes"),
            changes: list("changes"),
        }
    }

    /// What the next plan needs to know.
    pub(crate) fn note(&self) -> Value {
        let list = |pairs: &[(Time, i64)]| -> Value {
            let pairs = pairs.iter();
            pairs
                .map(|(time, number)| json!([time.unix_seconds(), number]))
                .collect()
        };
        json!({"wishes": list(&self.wishes), "changes": list(&self.changes)})
    }

    /// Adds a wish. The first one is preceded by what there is, so that a new autoscaler does not take at once.
    pub(crate) fn wish(&mut self, present: i64, wish: i64, now: Time) {
        if self.wishes.is_empty() {
            self.wishes.push((now, present));
        }
        self.wishes.push((now, wish));
        let since =
            |seconds: i64| move |(time, _): &(Time, i64)| now.seconds_since(*time) <= seconds;
        /// The longest window and the longest period there may be.
        const LONGEST: i64 = 3600;
        self.wishes.retain(since(LONGEST));
        self.changes.retain(since(LONGEST));
    }

    /// Adds a change that was made.
    pub(crate) fn change(&mut self, by: i64, now: Time) {
        if by != 0 {
            self.changes.push((now, by));
        }
    }

    fn within(pairs: &[(Time, i64)], seconds: i64, now: Time) -> impl Iterator<Item = i64> {
        pairs
            .iter()
            .filter(move |(time, _)| now.seconds_since(*time) < seconds.max(1))
            .map(|(_, number)| *number)
    }
}

/// Paces the latest wish.
pub(crate) fn pace(scaler: &Object, past: &Past, present: i64, now: Time) -> Paced {
    let wish = past.wishes.last().map_or(present, |(_, wish)| *wish);
    let steady = steady(scaler, past, present, wish, now);
    let held = match steady.cmp(&wish) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some((
            "ScaleDownStabilized",
            "recent recommendations were higher than current one, applying the highest recent recommendation",
        )),
        std::cmp::Ordering::Less => Some((
            "ScaleUpStabilized",
            "recent recommendations were lower than current one, applying the lowest recent recommendation",
        )),
    };
    let (replicas, limited) = if steady > present {
        let most = bound(scaler, past, present, now, Way::Up);
        let limit = (
            "ScaleUpLimit",
            "the desired replica count is increasing faster than the maximum scale rate",
        );
        (steady.min(most), (steady > most).then_some(limit))
    } else {
        let least = bound(scaler, past, present, now, Way::Down);
        let limit = (
            "ScaleDownLimit",
            "the desired replica count is decreasing faster than the maximum scale rate",
        );
        (steady.max(least), (steady < least).then_some(limit))
    };
    Paced {
        replicas,
        held,
        limited,
    }
}

/// The wish that has held for as long as it must: of all wishes of a window the lowest for more, the highest for less.
fn steady(scaler: &Object, past: &Past, present: i64, wish: i64, now: Time) -> i64 {
    let window = |way: &str, usual: i64| {
        let path = ["spec", "behavior", way, "stabilizationWindowSeconds"];
        scaler.integer_at(&path).unwrap_or(usual)
    };
    let up = Past::within(&past.wishes, window("scaleUp", 0), now).fold(wish, i64::min);
    let down =
        Past::within(&past.wishes, window("scaleDown", DOWN_WINDOW), now).fold(wish, i64::max);
    // A window of none takes the wish as it is, whatever was wished in the same second.
    let up = if window("scaleUp", 0) == 0 { wish } else { up };
    let down = if window("scaleDown", DOWN_WINDOW) == 0 {
        wish
    } else {
        down
    };
    present.max(up).min(down)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// How far the replicas may go one way now.
fn bound(scaler: &Object, past: &Past, present: i64, now: Time, way: Way) -> i64 {
    let (field, usual) = match way {
        Way::Up => (
            "scaleUp",
            json!([
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ]),
        ),
        Way::Down => (
            "scaleDown",
            json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]),
        ),
    };
    let choice = scaler
        .text_at(&["spec", "behavior", field, "selectPolicy"])
        .unwrap_or("Max");
    if choice == "Disabled" {
        return present;
    }
    let given = read::list(scaler, &["spec", "behavior", field, "policies"]);
    let policies = match given {
        [] => read::items(&json!({ "policies": usual }), "policies").to_vec(),
        given => given.to_vec(),
    };
    let reach = policies.iter().map(|policy| {
        let number = |name: &str| policy.get(name).and_then(Value::as_i64).unwrap_or(0);
        let of_late = Past::within(&past.changes, number("periodSeconds"), now)
            .filter(|change| (*change > 0) == (way == Way::Up))
            .fold(0, i64::saturating_add);
        // What there was when the period began.
        let start = present.saturating_sub(of_late);
        let value = number("value");
        match (read::text(policy, "type"), way) {
            ("Pods", Way::Up) => start.saturating_add(value),
            ("Pods", Way::Down) => start.saturating_sub(value),
            (_, Way::Up) => share(start, value.saturating_add(100)),
            (_, Way::Down) => start.saturating_mul(100_i64.saturating_sub(value).max(0)) / 100,
        }
    });
    let farthest = match (way, choice) {
        (Way::Up, "Min") | (Way::Down, "Max") => reach.min(),
        _ => reach.max(),
    };
    let farthest = farthest.unwrap_or(present);
    match way {
        Way::Up => farthest.max(present),
        Way::Down => farthest.min(present),
    }
}

/// A share in hundredths, rounded up.
fn share(of: i64, percent: i64) -> i64 {
    of.saturating_mul(percent).saturating_add(99) / 100
}

//! What fields say, as it is written on a page. A field that is not there says nothing, which is no mistake: objects come
//! from all kinds of servers.

use object::time::Time;
use object::{Map, Object, Value};

use crate::age;

static NOTHING: Value = Value::Null;
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAY: i64 = 86_400;

/// A field of an object.
pub(super) fn field<'o>(object: &'o Object, name: &str) -> &'o Value {
    object.fields().get(name).unwrap_or(&NOTHING)
}

/// A text; empty if it is none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A number; zero if it is none.
pub(super) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// The items of a list.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The texts of a list.
pub(super) fn texts(value: &Value) -> Vec<&str> {
    items(value).iter().filter_map(Value::as_str).collect()
}

/// The entries of a map, by name.
pub(super) fn entries(value: &Value) -> Vec<(&str, &Value)> {
    let map: Option<&Map> = value.as_object();
    let mut entries: Vec<(&str, &Value)> = map
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value))
        .collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

/// A text, a number or a truth as it stands; nothing for nothing.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The same with a word for nothing. An empty text is something: somebody has said that there is none.
pub(super) fn plain_or(value: &Value, nothing: &str) -> String {
    match value {
        Value::Null => nothing.to_owned(),
        said => plain(said),
    }
}

/// A text, or a word for none.
pub(super) fn or(text: impl Into<String>, nothing: &str) -> String {
    let text = text.into();
    match text.is_empty() {
        true => nothing.to_owned(),
        false => text,
    }
}

/// Whether something holds, as a word with a capital.
pub(super) fn truth(value: &Value) -> &'static str {
    match value.as_bool() {
        Some(true) => "True",
        _ => "False",
    }
}

/// A point in time in full, in UTC; nothing if it is none.
pub(super) fn moment(value: &Value) -> String {
    let Ok(time) = whole_seconds(text(value)).parse::<Time>() else {
        return String::new();
    };
    let written = time.to_string();
    let part = |from: usize, to: usize| written.get(from..to).unwrap_or_default();
    let name = |names: &[&'static str], at: i64| {
        let at = usize::try_from(at).ok();
        at.and_then(|at| names.get(at)).copied().unwrap_or("???")
    };
    // The first day of 1970 was a Thursday.
    let day = name(&DAYS, time.unix_seconds().div_euclid(DAY).rem_euclid(7));
    let month = name(&MONTHS, part(5, 7).parse::<i64>().unwrap_or_default() - 1);
    format!(
        "{day}, {} {month} {} {} +0000",
        part(8, 10),
        part(0, 4),
        part(11, 19)
    )
}

/// How long ago something was.
pub(super) fn since(value: &Value, now: Time) -> String {
    age::of(&whole_seconds(text(value)), now)
}

/// Parts of seconds are written by some and not by others.
fn whole_seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_full() {
        for (time, expected) in [
            ("1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 +0000"),
            ("2026-11-18T19:34:29Z", "Wed, 18 Nov 2026 19:34:29 +0000"),
            ("1969-12-31T23:59:59Z", "Wed, 31 Dec 1969 23:59:59 +0000"),
            (
                "2024-02-29T01:02:03.456789Z",
                "Thu, 29 Feb 2024 01:02:03 +0000",
            ),
            ("yesterday", ""),
        ] {
            assert_eq!(moment(&Value::from(time)), expected);
        }
        assert_eq!(moment(&Value::Null), "");
    }
}

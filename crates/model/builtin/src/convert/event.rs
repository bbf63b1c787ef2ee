//! The two forms of an event. They have the same content under different names.

use object::{Map, Value};

/// The fields by their names in the core group and in `events.k8s.io`; the others are called alike.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// An event of `events.k8s.io/v1` as one of the core group.
#[must_use]
pub fn event_to_core(event: &Value) -> Value {
    renamed(event, "v1", |name| {
        NAMES
            .iter()
            .find(|(_, newer)| *newer == name)
            .map(|(core, _)| *core)
    })
}

/// An event of the core group as one of `events.k8s.io/v1`.
#[must_use]
pub fn event_to_events(event: &Value) -> Value {
    renamed(event, "events.k8s.io/v1", |name| {
        NAMES
            .iter()
            .find(|(core, _)| *core == name)
            .map(|(_, newer)| *newer)
    })
}

fn renamed(
    event: &Value,
    api_version: &str,
    new_name: impl Fn(&str) -> Option<&'static str>,
) -> Value {
    let Value::Object(fields) = event else {
        return event.clone();
    };
    let fields: Map = fields
        .iter()
        .map(|(name, value)| match name.as_str() {
            "apiVersion" => (name.clone(), Value::from(api_version)),
            other => (new_name(other).unwrap_or(other).to_owned(), value.clone()),
        })
        .collect();
    Value::Object(fields)
}

//! The cells of an event, which has two shapes: the core group's and that of `events.k8s.io`.

use object::{Value, time::Time};

use super::{Cell, duration, or};
use crate::path;

/// Last Seen, Type, Reason, Object, Subobject, Source, Message, First Seen, Count, Name.
pub(super) fn event(event: &Value, now: Time) -> Vec<Cell> {
    // The newer shape has `regarding`, and keeps the older fields under other names.
    let newer = path::text(event, "apiVersion").starts_with("events.k8s.io/");
    let [object, message, controller, source, count, first, last] = if newer {
        [
            "regarding",
            "note",
            "reportingController",
            "deprecatedSource",
            "deprecatedCount",
            "deprecatedFirstTimestamp",
            "deprecatedLastTimestamp",
        ]
    } else {
        [
            "involvedObject",
            "message",
            "reportingComponent",
            "source",
            "count",
            "firstTimestamp",
            "lastTimestamp",
        ]
    };
    let since = |path: &str| {
        let text = path::text(event, path);
        (!text.is_empty()).then(|| duration::age(text, now))
    };
    let first_seen = since(first)
        .or_else(|| since("eventTime"))
        .unwrap_or_else(|| "<unknown>".to_owned());
    let (last_seen, times) = if path::is_set(event, "series") {
        let last = since("series.lastObservedTime").unwrap_or_else(|| "<unknown>".to_owned());
        (last, path::number(event, "series.count"))
    } else {
        (
            since(last).unwrap_or_else(|| first_seen.clone()),
            path::number(event, count).max(1),
        )
    };
    let subject = path::at(event, object).unwrap_or(&Value::Null);
    let kind = path::text(subject, "kind").to_lowercase();
    let target = match path::text(subject, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let origin = path::at(event, source).unwrap_or(&Value::Null);
    let component = or(
        path::text(origin, "component"),
        path::text(event, controller),
    );
    let reporter = match or(
        path::text(origin, "host"),
        path::text(event, "reportingInstance"),
    ) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    };
    vec![
        last_seen.into(),
        path::text(event, "type").into(),
        path::text(event, "reason").into(),
        target.into(),
        path::text(subject, "fieldPath").into(),
        reporter.into(),
        path::text(event, message).trim().into(),
        first_seen.into(),
        times.into(),
        path::text(event, "metadata.name").into(),
    ]
}

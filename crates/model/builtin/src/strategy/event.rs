//! Rules about events. The older form is let in as it always was; the newer one is held to what it promises.

use object::{
    Value,
    field::{FieldError, FieldPath},
    names,
};

use super::{
    spot::{Errors, Spot},
    words::IMMUTABLE,
};
use crate::convert::event_to_core;

/// Most characters of the fields that programs read, and of the message.
const WORD_LENGTH: usize = 128;
const MESSAGE_LENGTH: usize = 1024;

/// What an event says once and for all; only its series goes on.
const FIXED: [&str; 11] = [
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
];

/// A new event, in the form of `group`.
pub(super) fn create(group: &str, event: &Value, errors: &mut Errors) {
    if group.is_empty() {
        return agrees(&Spot::root(event), "reportingComponent", errors);
    }
    // Upstream: errors name the fields as the older form does.
    let core = event_to_core(event);
    let event = Spot::root(&core);
    agrees(&event, "reportingController", errors);
    series(&event.field("series"), errors);
    let time = event.field("eventTime");
    if time.is_empty() {
        errors.push(time.required(""));
    }
    let sort = event.field("type");
    if !matches!(sort.text(), "Normal" | "Warning") {
        let detail = format!("has invalid value: {}", sort.text());
        errors.push(FieldError::invalid(sort.path(), "", detail));
    }
    let is_counted = event
        .field("count")
        .number()
        .is_some_and(|count| count != 0);
    for (field, is_there) in [
        ("firstTimestamp", event.field("firstTimestamp").is_set()),
        ("lastTimestamp", event.field("lastTimestamp").is_set()),
        ("count", is_counted),
        ("source", !event.field("source").is_empty()),
    ] {
        if is_there {
            let path = FieldPath::new(field);
            errors.push(FieldError::invalid(path, "", "needs to be unset"));
        }
    }
}

/// An event that goes on, in the form of `group`.
pub(super) fn update(group: &str, old: &Value, new: &Value, errors: &mut Errors) {
    if group.is_empty() {
        let (old, new) = (Spot::root(old), Spot::root(new));
        return still_agrees(&old, &new, "reportingComponent", errors);
    }
    let (old, new) = (event_to_core(old), event_to_core(new));
    let (old, new) = (Spot::root(&old), Spot::root(&new));
    still_agrees(&old, &new, "reportingController", errors);
    if old.field("series").value != new.field("series").value {
        series(&new.field("series"), errors);
    }
    let reporter = [
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ];
    let names = FIXED.into_iter().map(|field| (field, field));
    for (field, told) in names.chain(reporter) {
        let after = new.field(field);
        if old.field(field).value != after.value {
            let path = FieldPath::new(told);
            errors.push(FieldError::invalid(path, after.value.clone(), IMMUTABLE));
        }
    }
}

/// An event lies where its object does, and one that says when it happened also says who saw it.
fn agrees(event: &Spot<'_>, controller: &str, errors: &mut Errors) {
    let (metadata, about) = (event.field("metadata"), event.field("involvedObject"));
    let (here, there) = (metadata.field("namespace"), about.field("namespace"));
    let is_new = !event.field("eventTime").is_empty();
    let is_elsewhere = match (there.text(), here.text()) {
        ("", "default") => false,
        ("", "") => is_new,
        ("", here) => !(is_new && here == "kube-system"),
        (there, here) => !is_new && there != here,
    };
    if is_elsewhere {
        let detail = "does not match event.namespace";
        errors.push(FieldError::invalid(there.path(), there.text(), detail));
    }
    if !is_new {
        return;
    }
    let reporter = event.field("reportingComponent");
    let path = FieldPath::new(controller);
    if reporter.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
    }
    let problems = names::check_qualified_name(reporter.text()).into_iter();
    errors.extend(
        problems.map(|problem| FieldError::invalid(path.clone(), reporter.text(), problem)),
    );
    for field in ["reportingInstance", "action", "reason"] {
        let word = event.field(field);
        if word.is_empty() {
            errors.push(word.required(""));
        }
        at_most(&word, WORD_LENGTH, errors);
    }
    at_most(&event.field("message"), MESSAGE_LENGTH, errors);
}

/// The same, but for what was let in before.
fn still_agrees(old: &Spot<'_>, new: &Spot<'_>, controller: &str, errors: &mut Errors) {
    let (mut before, mut found) = (Vec::new(), Vec::new());
    agrees(new, controller, &mut found);
    agrees(old, controller, &mut before);
    errors.extend(
        found
            .into_iter()
            .filter(|problem| !before.contains(problem)),
    );
}

fn at_most(text: &Spot<'_>, limit: usize, errors: &mut Errors) {
    if text.text().len() > limit {
        let detail = format!("can have at most {limit} characters");
        errors.push(FieldError::invalid(text.path(), "", detail));
    }
}

/// An event that repeats did so, and at some time.
fn series(series: &Spot<'_>, errors: &mut Errors) {
    if !series.is_set() {
        return;
    }
    if series.field("count").number().unwrap_or(0) < 2 {
        let path = series.field("count").path();
        errors.push(FieldError::invalid(path, "", "should be at least 2"));
    }
    let last = series.field("lastObservedTime");
    if last.is_empty() {
        errors.push(last.required(""));
    }
}

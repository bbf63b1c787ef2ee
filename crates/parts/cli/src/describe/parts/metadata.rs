//! Who an object is: its names, its labels, what is noted on it, and who made it.

use object::{Object, Value};

use crate::describe::Facts;
use crate::describe::sheet::Sheet;
use crate::describe::values::{entries, field, moment, text};

/// What a client wrote down for itself says everything twice.
pub(in crate::describe) const LAST_APPLIED: &str =
    "kubectl.kubernetes.io/last-applied-configuration";
/// A note that is longer than this gets lines of its own, which are cut.
const LONGEST: usize = 140;

/// The name, the namespace if there is one, and the member it is in.
pub(in crate::describe) fn names(sheet: &mut Sheet, facts: &Facts<'_>) {
    sheet.field(0, "Name", facts.object.name());
    place(sheet, facts);
}

/// The namespace, and the member.
pub(in crate::describe) fn place(sheet: &mut Sheet, facts: &Facts<'_>) {
    sheet.field_if(0, "Namespace", facts.object.namespace());
    sheet.field_if(0, "Cluster", facts.cluster.unwrap_or_default());
}

/// The labels of an object, and what is noted on it.
pub(in crate::describe) fn marks(sheet: &mut Sheet, object: &Object) {
    labels(sheet, 0, "Labels", &field(object, "metadata")["labels"]);
    annotations(sheet, object);
}

/// What is noted on an object.
pub(in crate::describe) fn annotations(sheet: &mut Sheet, object: &Object) {
    let notes = &field(object, "metadata")["annotations"];
    written(sheet, 0, "Annotations", notes);
}

/// Labels below each other.
pub(in crate::describe) fn labels(sheet: &mut Sheet, indent: usize, title: &str, labels: &Value) {
    sheet.list(indent, title, &pairs(labels));
}

/// Labels as they are written on a command line.
pub(in crate::describe) fn pairs(labels: &Value) -> Vec<String> {
    let pairs = entries(labels).into_iter();
    pairs
        .map(|(key, value)| format!("{key}={}", text(value)))
        .collect()
}

/// Notes below each other; long ones begin on a line of their own.
pub(in crate::describe) fn written(sheet: &mut Sheet, indent: usize, title: &str, notes: &Value) {
    let mut lines = Vec::new();
    for (key, value) in entries(notes) {
        if key == LAST_APPLIED {
            continue;
        }
        let value = text(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        if key.len() + value.len() + 2 <= LONGEST && !value.contains('\n') {
            lines.push(format!("{key}: {value}"));
            continue;
        }
        lines.push(format!("{key}:"));
        let parts = value.split('\n').map(|line| cut(line, LONGEST - 2));
        lines.extend(parts.map(|line| format!("  {line}")));
    }
    sheet.list(indent, title, &lines);
}

fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// When it was made.
pub(in crate::describe) fn created(sheet: &mut Sheet, object: &Object) {
    let created = &field(object, "metadata")["creationTimestamp"];
    sheet.field(0, "CreationTimestamp", moment(created));
}

/// Who looks after it, if somebody does.
pub(in crate::describe) fn controller(sheet: &mut Sheet, object: &Object) {
    let owner = object
        .owner_references()
        .find(|owner| owner.controller == Some(true));
    if let Some(owner) = owner {
        sheet.field(0, "Controlled By", format!("{}/{}", owner.kind, owner.name));
    }
}

/// Whether an object is looked after by another.
pub(in crate::describe) fn is_controlled_by(object: &Object, owner: &Object) -> bool {
    let mut owners = object.owner_references();
    owners.any(|one| one.controller == Some(true) && one.uid == owner.uid())
}

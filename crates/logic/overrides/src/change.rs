//! What an override changed: the difference between two documents, place by place.

use object::{
    Map, Value,
    patch::{JsonPatch, Operation, Pointer},
};

/// One place that differs. Positions in lists are those at the time of the change, when the changes are made in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Where.
    pub path: Pointer,
    /// What was there; `None` if nothing was.
    pub before: Option<Value>,
    /// What is there now; `None` if it was taken away.
    pub after: Option<Value>,
}

/// The changes that make `after` of `before`, in the order of the fields.
#[must_use]
pub fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare(&Pointer::root(), before, after, &mut found);
    found
}

/// The changes as a JSON patch.
#[must_use]
pub fn to_patch(changes: &[Change]) -> JsonPatch {
    changes
        .iter()
        .filter_map(|change| {
            let path = change.path.clone();
            match (&change.before, &change.after) {
                (None, None) => None,
                (Some(_), None) => Some(Operation::Remove { path }),
                (None, Some(value)) => Some(Operation::Add {
                    path,
                    value: value.clone(),
                }),
                (Some(_), Some(value)) => Some(Operation::Replace {
                    path,
                    value: value.clone(),
                }),
            }
        })
        .collect()
}

fn compare(path: &Pointer, before: &Value, after: &Value, found: &mut Vec<Change>) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(before), Value::Object(after)) => {
            compare_fields(path, before, after, found);
        }
        (Value::Array(before), Value::Array(after)) => compare_lists(path, before, after, found),
        _ => found.push(Change {
            path: path.clone(),
            before: Some(before.clone()),
            after: Some(after.clone()),
        }),
    }
}

fn compare_fields(path: &Pointer, before: &Map, after: &Map, found: &mut Vec<Change>) {
    for (key, was) in before {
        match after.get(key) {
            Some(now) => compare(&path.child(key), was, now, found),
            None => found.push(Change {
                path: path.child(key),
                before: Some(was.clone()),
                after: None,
            }),
        }
    }
    for (key, now) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
        found.push(Change {
            path: path.child(key),
            before: None,
            after: Some(now.clone()),
        });
    }
}

/// What is equal at both ends stays out of it, so that an insertion shows as one.
fn compare_lists(path: &Pointer, before: &[Value], after: &[Value], found: &mut Vec<Change>) {
    let start = common(before.iter(), after.iter());
    let (before, after) = (
        before.get(start..).unwrap_or_default(),
        after.get(start..).unwrap_or_default(),
    );
    let end = common(before.iter().rev(), after.iter().rev());
    let before = before.get(..before.len() - end).unwrap_or_default();
    let after = after.get(..after.len() - end).unwrap_or_default();
    let at = |offset: usize| path.child((start + offset).to_string());
    for (offset, (was, now)) in before.iter().zip(after).enumerate() {
        compare(&at(offset), was, now, found);
    }
    let paired = before.len().min(after.len());
    for was in before.iter().skip(paired) {
        found.push(Change {
            path: at(paired),
            before: Some(was.clone()),
            after: None,
        });
    }
    for (offset, now) in after.iter().enumerate().skip(paired) {
        found.push(Change {
            path: at(offset),
            before: None,
            after: Some(now.clone()),
        });
    }
}

fn common<'v>(
    before: impl Iterator<Item = &'v Value>,
    after: impl Iterator<Item = &'v Value>,
) -> usize {
    before
        .zip(after)
        .take_while(|(was, now)| was == now)
        .count()
}

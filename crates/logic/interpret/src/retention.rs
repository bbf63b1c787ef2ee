//! What a member owns of an object's metadata, whatever its kind.
//!
//! Controllers in the member put labels, annotations, finalizers and owners on the object there. Writing the manifest
//! over it must not take them away. What came from here and has since been removed here must go: the member's object
//! carries a record of the keys that were written from here.

use api::well_known::annotations;
use object::{Map, Object, Value};

/// Metadata that is the member's alone, taken over as it is there, absent if it is absent.
const MEMBERS_OWN: [&str; 3] = ["resourceVersion", "finalizers", "ownerReferences"];

/// The desired object with the metadata that lives in the member.
///
/// Labels and annotations in both have the desired value; those in the member alone stay, unless they are in its
/// record of what was written from here.
#[must_use]
pub fn retain_metadata(mut desired: Object, observed: &Object) -> Object {
    for name in MEMBERS_OWN {
        let path = ["metadata", name];
        match observed.at(&path) {
            Some(value) => put(&mut desired, &path, value.clone()),
            None => {
                desired.remove(&path);
            }
        }
    }
    for (name, record) in [
        ("labels", annotations::MANAGED_LABELS),
        ("annotations", annotations::MANAGED_ANNOTATIONS),
    ] {
        let record = observed.annotation(record).unwrap_or_default();
        retain_keys(&mut desired, observed, &["metadata", name], record);
    }
    desired
}

fn retain_keys(desired: &mut Object, observed: &Object, path: &[&str], record: &str) {
    let Some(Value::Object(there)) = observed.at(path) else {
        return;
    };
    let here = desired.at(path).and_then(Value::as_object);
    let is_kept = |key: &String| {
        here.is_none_or(|here| !here.contains_key(key))
            && record.split(',').all(|managed| managed != key)
    };
    let kept: Vec<_> = there
        .iter()
        .filter(|(key, _)| is_kept(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if kept.is_empty() {
        return;
    }
    let mut merged = here.cloned().unwrap_or_default();
    merged.extend(kept);
    put(desired, path, Value::Object(merged));
}

/// Writes below `metadata`, which is made an object if it is none: a manifest that was stored has one.
fn put(object: &mut Object, path: &[&str], value: Value) {
    if object.set(path, value.clone()).is_err() {
        object
            .fields_mut()
            .insert("metadata".to_owned(), Value::Object(Map::new()));
        let _ = object.set(path, value);
    }
}

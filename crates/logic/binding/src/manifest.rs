//! The object inside a work, as the member gets it.

use api::well_known::{
    annotations::{MANAGED_ANNOTATIONS, MANAGED_LABELS},
    labels::permanent_id,
};
use object::{Object, Value, object::SetError};

use crate::prune::{JobLifetime, prune};

/// A manifest ready for its member: pruned, with the permanent id of its work once that has one, and with the record of
/// the labels and annotations that are managed from here. The member's copy loses whatever leaves the record.
///
/// The record is made last, because it covers itself and the id.
pub fn finish(manifest: Object, work_id: Option<&str>) -> Result<Object, SetError> {
    let mut manifest = prune(manifest, JobLifetime::Dropped);
    // Both records are annotations, so both are in the record of annotations, whichever is written first.
    for record in [MANAGED_ANNOTATIONS, MANAGED_LABELS] {
        if manifest.annotation(record).is_none() {
            manifest.set(&["metadata", "annotations", record], "")?;
        }
    }
    let annotations = keys(&manifest, "annotations");
    manifest.set(
        &["metadata", "annotations", MANAGED_ANNOTATIONS],
        annotations,
    )?;
    if let Some(id) = work_id {
        manifest.set(&["metadata", "labels", permanent_id::WORK], id)?;
    }
    let labels = keys(&manifest, "labels");
    manifest.set(&["metadata", "annotations", MANAGED_LABELS], labels)?;
    Ok(manifest)
}

/// The keys of the labels or annotations, sorted and joined by commas.
fn keys(object: &Object, field: &str) -> String {
    let map = object.at(&["metadata", field]).and_then(Value::as_object);
    let mut keys: Vec<&str> = map
        .into_iter()
        .flat_map(|map| map.keys().map(String::as_str))
        .collect();
    keys.sort_unstable();
    keys.join(",")
}

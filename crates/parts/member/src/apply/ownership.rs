//! Who owns the fields of a member's object, and how they become ours.
//!
//! Works are applied by server-side apply: fields that leave a manifest leave the member, and what others apply stays
//! theirs. That rests on `metadata.managedFields` naming us as the applier. An object that came into being another way (it
//! was created, or written by somebody before it was adopted) or that somebody wrote to by hand names others; unless their
//! fields become ours first, a field they wrote would stay for good.

use object::{Map, Object, Value};

/// The field manager under which works are written to members.
pub const MANAGER: &str = "karavel";

/// The list of owners with us as the applier of what was written in other ways, or `None` if there is nothing to take.
///
/// What we created ourselves becomes ours to apply as it is. Of what others wrote by plain updates, everything becomes ours
/// but metadata and status, so that applying brings the object to what replacing would have made of it: a field that
/// somebody added by hand goes. Those who apply on the server's side say which fields are theirs, and keep them.
pub(crate) fn taken_over(object: &Object, api_version: &str) -> Option<Value> {
    let mut fields = Map::new();
    let mut time = None;
    let mut rest = Vec::new();
    let mut is_news = false;
    for entry in entries(object) {
        let is_ours = is_ours(entry);
        let is_plain = text(entry, "operation") == "Update"
            && text(entry, "subresource").is_empty()
            && text(entry, "apiVersion") == api_version;
        let owned = entry.get("fieldsV1").and_then(Value::as_object);
        let (true, Some(owned)) = (is_ours || is_plain, owned) else {
            rest.push(Value::Object(entry.clone()));
            continue;
        };
        let mut left = Map::new();
        for (name, below) in owned {
            if is_ours || !matches!(name.as_str(), "f:metadata" | "f:status") {
                is_news |= text(entry, "operation") != "Apply";
                join(&mut fields, name, below);
            } else {
                left.insert(name.clone(), below.clone());
            }
        }
        if left.len() < owned.len() {
            time = time.max(entry.get("time").and_then(Value::as_str));
        }
        if !left.is_empty() {
            let mut entry = entry.clone();
            entry.insert("fieldsV1".to_owned(), Value::Object(left));
            rest.push(Value::Object(entry));
        }
    }
    if !is_news {
        return None;
    }
    let mut ours = serde_json::json!({
        "manager": MANAGER, "operation": "Apply", "apiVersion": api_version,
        "fieldsType": "FieldsV1", "fieldsV1": fields,
    });
    if let (Some(time), Some(ours)) = (time, ours.as_object_mut()) {
        ours.insert("time".to_owned(), Value::from(time));
    }
    rest.insert(0, ours);
    Some(Value::Array(rest))
}

fn entries(object: &Object) -> impl Iterator<Item = &Map> + Clone {
    object
        .at(&["metadata", "managedFields"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
}

fn is_ours(entry: &Map) -> bool {
    text(entry, "manager") == MANAGER && text(entry, "subresource").is_empty()
}

fn text<'a>(entry: &'a Map, field: &str) -> &'a str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Adds one set of fields to another. Sets are objects all the way down.
fn join(fields: &mut Map, name: &str, below: &Value) {
    let known = fields
        .entry(name.to_owned())
        .or_insert_with(|| Value::Object(Map::new()));
    let (Value::Object(known), Value::Object(below)) = (known, below) else {
        return;
    };
    for (name, below) in below {
        join(known, name, below);
    }
}

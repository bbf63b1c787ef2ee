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

/// Whether everything that was written to the object by us, or by others with plain updates, is what is declared now: then
/// nothing is left of an older declaration, and nobody has added anything by hand.
///
/// Upstream: after a restart every object is compared whole, and what differs is replaced.
pub(crate) fn is_ours_alone(object: &Object, declared: &Object) -> bool {
    let mut is_written = false;
    for entry in entries(object) {
        let is_ours = is_ours(entry);
        let is_plain =
            text(entry, "operation") == "Update" && text(entry, "subresource").is_empty();
        let Some(owned) = entry.get("fieldsV1").and_then(Value::as_object) else {
            continue;
        };
        if !is_ours && !is_plain {
            continue;
        }
        is_written |= is_ours;
        for (name, below) in owned {
            // Labels and the like of others are theirs, and so is the status.
            if !is_ours && matches!(name.as_str(), "f:metadata" | "f:status") {
                continue;
            }
            let field = name.strip_prefix("f:").unwrap_or(name);
            let is_declared = declared
                .fields()
                .get(field)
                .is_some_and(|value| declares(value, below));
            if !is_ours || !is_declared {
                return false;
            }
        }
    }
    is_written
}

/// Who wrote a field of the object last, or something below it, as far as it says. We do only if nobody else did.
pub(crate) fn author_of<'o>(object: &'o Object, path: &[String]) -> Option<&'o str> {
    let owners = authors(object).filter(|entry| {
        let mut fields = entry.get("fieldsV1");
        for name in path {
            fields = fields.and_then(|fields| fields.get(format!("f:{name}")));
        }
        fields.is_some()
    });
    last(owners)
}

/// Who wrote to the object last, but for its status and us, as far as it says.
pub(crate) fn last_author(object: &Object) -> Option<&str> {
    last(authors(object).filter(|entry| text(entry, "manager") != MANAGER))
}

/// A field that somebody put there, outside the metadata and the status, which is not among those that are declared.
pub(crate) fn added(object: &Object, declared: &Object) -> Option<Vec<String>> {
    authors(object)
        .filter(|entry| text(entry, "manager") != MANAGER && text(entry, "operation") == "Update")
        .find_map(|entry| {
            let owned = entry.get("fieldsV1").and_then(Value::as_object)?;
            let own = owned.iter();
            let own = own.filter(|(name, _)| !matches!(name.as_str(), "f:metadata" | "f:status"));
            undeclared(own, declared.fields())
        })
}

fn undeclared<'f>(
    mut owned: impl Iterator<Item = (&'f String, &'f Value)>,
    declared: &Map,
) -> Option<Vec<String>> {
    owned.find_map(|(name, below)| {
        let name = name.strip_prefix("f:")?;
        let mut path = match declared.get(name) {
            None => Vec::new(),
            Some(Value::Object(declared)) => undeclared(below.as_object()?.iter(), declared)?,
            Some(_) => return None,
        };
        path.insert(0, name.to_owned());
        Some(path)
    })
}

/// What is known of those who wrote to the object, but for its status.
fn authors(object: &Object) -> impl Iterator<Item = &Map> + Clone {
    entries(object).filter(|entry| text(entry, "subresource") != "status")
}

fn last<'o>(entries: impl Iterator<Item = &'o Map>) -> Option<&'o str> {
    let last = entries.max_by_key(|entry| {
        let is_other = text(entry, "manager") != MANAGER;
        (is_other, text(entry, "time"))
    })?;
    Some(text(last, "manager")).filter(|manager| !manager.is_empty())
}

/// Whether a value has all of a set of fields.
fn declares(value: &Value, fields: &Value) -> bool {
    let Some(fields) = fields.as_object() else {
        return false;
    };
    fields.iter().all(|(name, below)| {
        let Some((sort, rest)) = name.split_once(':') else {
            return name == ".";
        };
        let inner = match sort {
            "f" => value.get(rest),
            "k" => item_with(value, rest),
            "v" => {
                let item: Result<Value, _> = serde_json::from_str(rest);
                return item
                    .is_ok_and(|item| value.as_array().is_some_and(|items| items.contains(&item)));
            }
            _ => None,
        };
        inner.is_some_and(|inner| declares(inner, below))
    })
}

/// The item of a list that has these keys.
fn item_with<'v>(list: &'v Value, keys: &str) -> Option<&'v Value> {
    let keys: Map = serde_json::from_str(keys).ok()?;
    list.as_array()?
        .iter()
        .find(|item| keys.iter().all(|(key, value)| item.get(key) == Some(value)))
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

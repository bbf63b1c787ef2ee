//! What the server itself decides about an object as it comes, changes and goes: names, uids, times, generations,
//! finalizers. Pure: time and chance come in from outside.

use std::collections::BTreeSet;

use object::field::{FieldError, FieldPath};
use object::time::Time;
use object::{Map, Value, names};

use crate::resource::Resource;
use crate::status::Status;

/// The time and the chance a write needs.
#[derive(Clone, Debug)]
pub struct Stamp {
    /// When the write happens.
    pub now: Time,
    /// A fresh uid.
    pub uid: String,
    /// What completes a `generateName`.
    pub suffix: String,
}

/// What becomes of an object on deletion.
#[derive(Clone, Debug, PartialEq)]
pub enum Farewell {
    /// Nothing holds it.
    Gone,
    /// It stays, marked, until its finalizers are done.
    Marked(Value),
    /// It was marked before and still waits; nothing changes.
    Waiting,
}

/// Who goes with a deleted object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// What it owns goes after it.
    #[default]
    Background,
    /// What it owns goes first.
    Foreground,
    /// What it owns stays.
    Orphan,
}

/// Holds an object until what it owns has been let go of.
pub const ORPHAN: &str = "orphan";
/// Holds an object until what it owns is gone.
pub const FOREGROUND: &str = "foregroundDeletion";
/// Longest `generateName` that leaves room for the suffix in a DNS label.
const GENERATED_PREFIX: usize = 58;

/// Fields only the server writes: a client's values never count on update.
const SERVER_OWNED: [&str; 6] = [
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
];

/// Sets the metadata of a new object.
pub fn begin(resource: &Resource, object: &mut Value, stamp: &Stamp) -> Result<(), Status> {
    let metadata = metadata_mut(object);
    if metadata
        .get("resourceVersion")
        .and_then(Value::as_str)
        .is_some_and(|version| !version.is_empty())
    {
        return Err(Status::bad_request(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    for name in SERVER_OWNED {
        metadata.shift_remove(name);
    }
    metadata.shift_remove("resourceVersion");
    let name = metadata
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let prefix = metadata
        .get("generateName")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if name.is_empty() && !prefix.is_empty() {
        let kept: String = prefix.chars().take(GENERATED_PREFIX).collect();
        let generated = format!("{kept}{}", stamp.suffix);
        metadata.insert("name".to_owned(), Value::from(generated));
    }
    metadata.insert("uid".to_owned(), Value::from(stamp.uid.as_str()));
    metadata.insert(
        "creationTimestamp".to_owned(),
        Value::from(stamp.now.to_string()),
    );
    if let Some(generation) = resource.rules.first_generation() {
        metadata.insert("generation".to_owned(), Value::from(generation));
    }
    Ok(())
}

/// Carries over what a writer may not change, and counts the generation on if the wanted state differs. Whoever writes
/// the status, and notes beside it, wants nothing else than before.
pub fn go_on(resource: &Resource, old: &Value, new: &mut Value, part: &str) {
    let before = metadata(old);
    let after = metadata_mut(new);
    for name in SERVER_OWNED {
        match before.and_then(|before| before.get(name)) {
            Some(value) => drop(after.insert(name.to_owned(), value.clone())),
            None => drop(after.shift_remove(name)),
        }
    }
    if part != "status" && resource.rules.is_new_generation(old, new) {
        count_on(resource, metadata_mut(new));
    }
}

fn count_on(resource: &Resource, metadata: &mut Map) {
    if resource.rules.first_generation().is_none() {
        return;
    }
    let generation = metadata
        .get("generation")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    metadata.insert(
        "generation".to_owned(),
        Value::from(generation.saturating_add(1)),
    );
}

/// Whether a marked object has nothing left to wait for.
#[must_use]
pub fn may_go(resource: &Resource, object: &Value) -> bool {
    let Some(metadata) = metadata(object) else {
        return false;
    };
    let marked = metadata
        .get("deletionTimestamp")
        .is_some_and(|time| !time.is_null());
    marked
        && finalizers(metadata).is_empty()
        && grace_left(metadata) == 0
        && !resource.rules.holds(object)
}

/// What deleting an object does to it. `grace` is how many seconds the client gives it, if it says.
#[must_use]
pub fn end(
    resource: &Resource,
    object: &Value,
    propagation: Option<Propagation>,
    grace: Option<i64>,
    now: Time,
) -> Farewell {
    let mut marked = object.clone();
    let metadata = metadata_mut(&mut marked);
    let mut held = finalizers(metadata);
    match propagation {
        None => {}
        Some(Propagation::Background) => held.retain(|name| name != ORPHAN && name != FOREGROUND),
        Some(Propagation::Foreground) => {
            held.retain(|name| name != ORPHAN);
            push_once(&mut held, FOREGROUND);
        }
        Some(Propagation::Orphan) => {
            held.retain(|name| name != FOREGROUND);
            push_once(&mut held, ORPHAN);
        }
    }
    let marked_for = metadata
        .get("deletionTimestamp")
        .and_then(Value::as_str)
        .and_then(|time| time.parse::<Time>().ok());
    let waits = grace_left(metadata);
    let given = resource.rules.grace(object, grace).unwrap_or(0);
    let left = match (marked_for, grace) {
        (None, _) => given,
        // Upstream: a wait that has begun is only ever shortened, and only by who says so.
        (Some(_), Some(_)) => given.min(waits),
        (Some(_), None) => waits,
    };
    if held.is_empty() && left == 0 && !resource.rules.holds(object) {
        return Farewell::Gone;
    }
    let changed = held != finalizers(metadata);
    if marked_for.is_some() && !changed && left == waits {
        return Farewell::Waiting;
    }
    if changed {
        metadata.insert(
            "finalizers".to_owned(),
            held.into_iter().map(Value::from).collect(),
        );
    }
    let goes_at = match marked_for {
        Some(time) => time.plus_seconds(left.saturating_sub(waits)),
        None => now.plus_seconds(left),
    };
    metadata.insert(
        "deletionTimestamp".to_owned(),
        Value::from(goes_at.to_string()),
    );
    metadata.insert("deletionGracePeriodSeconds".to_owned(), Value::from(left));
    if marked_for.is_none() {
        count_on(resource, metadata);
        resource.rules.begin_ending(&mut marked);
    }
    Farewell::Marked(marked)
}

/// How many seconds an object that was asked to go was given.
fn grace_left(metadata: &Map) -> i64 {
    metadata
        .get("deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
        .unwrap_or(0)
}

/// Everything wrong with the metadata of an object; `old` is what it replaces.
#[must_use]
pub fn validate(resource: &Resource, old: Option<&Value>, new: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("metadata");
    let Some(metadata) = metadata(new) else {
        return vec![FieldError::required(path, "")];
    };
    let mut errors = Vec::new();
    let name = metadata
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if name.is_empty() {
        errors.push(FieldError::required(
            path.child("name"),
            "name or generateName is required",
        ));
    } else if old.is_none() {
        let problems = resource.rules.check_name(name);
        errors.extend(
            problems
                .into_iter()
                .map(|problem| FieldError::invalid(path.child("name"), name, problem)),
        );
    }
    errors.extend(check_labels(metadata, &path.child("labels")));
    errors.extend(check_annotations(metadata, &path.child("annotations")));
    errors.extend(check_finalizers(old, metadata, &path.child("finalizers")));
    errors.extend(check_owners(metadata, &path.child("ownerReferences")));
    errors
}

fn check_labels(metadata: &Map, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in entries(metadata, "labels") {
        errors.extend(
            names::check_qualified_name(key)
                .into_iter()
                .map(|why| FieldError::invalid(path.clone(), key.as_str(), why)),
        );
        match value.as_str() {
            Some(text) => {
                let problems = names::check_label_value(text);
                errors.extend(
                    problems
                        .into_iter()
                        .map(|why| FieldError::invalid(path.clone(), text, why)),
                );
            }
            None => errors.push(FieldError::type_invalid(
                path.key(key),
                value.clone(),
                "must be a string",
            )),
        }
    }
    errors
}

/// As much as all annotations of an object may weigh, keys included.
const ANNOTATION_BYTES: usize = 256 * 1024;

fn check_annotations(metadata: &Map, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut weight = 0_usize;
    for (key, value) in entries(metadata, "annotations") {
        // Upstream: annotation keys may have upper case in their prefix.
        let problems = names::check_qualified_name(&key.to_lowercase());
        errors.extend(
            problems
                .into_iter()
                .map(|why| FieldError::invalid(path.clone(), key.as_str(), why)),
        );
        match value.as_str() {
            Some(text) => weight = weight.saturating_add(key.len()).saturating_add(text.len()),
            None => errors.push(FieldError::type_invalid(
                path.key(key),
                value.clone(),
                "must be a string",
            )),
        }
    }
    if weight > ANNOTATION_BYTES {
        errors.push(FieldError::too_long(path.clone(), ANNOTATION_BYTES));
    }
    errors
}

fn check_finalizers(old: Option<&Value>, new: &Map, path: &FieldPath) -> Vec<FieldError> {
    let held = finalizers(new);
    let mut errors: Vec<FieldError> = held
        .iter()
        .flat_map(|name| {
            names::check_qualified_name(name)
                .into_iter()
                .map(move |why| (name, why))
        })
        .map(|(name, why)| FieldError::invalid(path.clone(), name.as_str(), why))
        .collect();
    let both = held.iter().any(|name| name == ORPHAN) && held.iter().any(|name| name == FOREGROUND);
    if both {
        let why = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        errors.push(FieldError::invalid(path.clone(), held.clone(), why));
    }
    let Some(before) = old.and_then(metadata) else {
        return errors;
    };
    if before
        .get("deletionTimestamp")
        .is_some_and(|time| !time.is_null())
    {
        let known: BTreeSet<String> = finalizers(before).into_iter().collect();
        let added: Vec<&String> = held.iter().filter(|name| !known.contains(*name)).collect();
        if !added.is_empty() {
            let added: Vec<String> = added.iter().map(|name| format!("{name:?}")).collect();
            errors.push(FieldError::forbidden(
                path.clone(),
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    added.join(", ")
                ),
            ));
        }
    }
    errors
}

/// How many controllers too many are told: each time shows all owners.
const CONTROLLERS_TOLD: usize = 16;

fn check_owners(metadata: &Map, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let owners = metadata.get("ownerReferences").and_then(Value::as_array);
    let mut controller: Option<String> = None;
    let mut told = 0;
    for owner in owners.into_iter().flatten() {
        let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
        // Upstream: which of them is not said.
        for name in ["apiVersion", "kind", "name", "uid"] {
            if text(name).is_empty() {
                let why = match name {
                    "apiVersion" => "version must not be empty",
                    _ => "must not be empty",
                };
                errors.push(FieldError::invalid(path.child(name), "", why));
            }
        }
        if (text("apiVersion"), text("kind")) == ("v1", "Event") {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(path.clone(), owner.clone(), why));
        }
        if owner.get("controller").and_then(Value::as_bool) != Some(true) {
            continue;
        }
        let shown = format!("{}/{}", text("kind"), text("name"));
        match &controller {
            None => controller = Some(shown),
            Some(_) if told == CONTROLLERS_TOLD => {}
            Some(first) => {
                told += 1;
                let all = owners.cloned().unwrap_or_default();
                let why = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {shown}"
                );
                errors.push(FieldError::invalid(path.clone(), all, why));
            }
        }
    }
    errors
}

/// What whoever adds finalizers of a custom kind should know: short names may be anybody's.
#[must_use]
pub fn odd_finalizers(old: Option<&Value>, new: &Value) -> Vec<String> {
    let held = |object: &Value| metadata(object).map(finalizers).unwrap_or_default();
    let known: BTreeSet<String> = old.map(held).unwrap_or_default().into_iter().collect();
    held(new)
        .into_iter()
        .filter(|name| !name.contains('/') && !known.contains(name))
        .filter(|name| !matches!(name.as_str(), ORPHAN | FOREGROUND | "kubernetes"))
        .map(|name| {
            format!(
                "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts \
                 with other finalizer writers"
            )
        })
        .collect()
}

/// What an update says of the end of an object that only a deletion decides.
#[must_use]
pub fn check_end(old: &Value, new: &Value) -> Vec<FieldError> {
    let of = |object: &Value, name: &str| {
        let value = metadata(object).and_then(|metadata| metadata.get(name));
        value.filter(|value| !value.is_null()).cloned()
    };
    let path = FieldPath::new("metadata");
    ["deletionTimestamp", "deletionGracePeriodSeconds"]
        .into_iter()
        .filter(|name| of(old, name).is_none())
        .filter_map(|name| Some((name, of(new, name)?)))
        .map(|(name, value)| FieldError::invalid(path.child(name), value, "field is immutable"))
        .collect()
}

fn entries<'m>(metadata: &'m Map, field: &str) -> impl Iterator<Item = (&'m String, &'m Value)> {
    metadata
        .get(field)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

fn finalizers(metadata: &Map) -> Vec<String> {
    let list = metadata.get("finalizers").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn push_once(held: &mut Vec<String>, name: &str) {
    if !held.iter().any(|known| known == name) {
        held.push(name.to_owned());
    }
}

fn metadata(object: &Value) -> Option<&Map> {
    object.get("metadata").and_then(Value::as_object)
}

fn metadata_mut(object: &mut Value) -> &mut Map {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let fields = object
        .as_object_mut()
        .expect("invariant: it was just made one");
    let metadata = fields
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata
        .as_object_mut()
        .expect("invariant: it was just made one")
}

//! What is to be written to a member for one manifest.

use std::borrow::Cow;

use api::well_known::annotations::{
    CONFLICT_OVERWRITE, CONFLICT_RESOLUTION, MANAGED_ANNOTATIONS, MANAGED_LABELS,
};
use intent::{Action, Part};
use interpret::Interpreter;
use object::{Map, Object, ObjectKey, ResourceType, Value};

use crate::apply::namespace::is_returning;
use crate::apply::ownership::{MANAGER, is_ours_alone, taken_over};
use crate::apply::record::{Version, Written, fingerprint};
use crate::apply::release::is_managed;

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    /// The cluster's name, for messages.
    pub(crate) cluster: &'a str,
    pub(crate) resource: &'a ResourceType,
    /// What the member is to have.
    pub(crate) manifest: &'a Object,
    /// What it has, if anything, with those entries of `managedFields` that are about the object itself.
    pub(crate) observed: Option<&'a Object>,
    /// What was written last, if that is known.
    pub(crate) written: Option<&'a Written>,
    pub(crate) way: Way,
    /// Another work that brings the object, to which this one gives way.
    pub(crate) rival: Option<&'a ObjectKey>,
    pub(crate) interpreter: &'a Interpreter,
    /// What the member keeps of its object, where only a webhook can say so and was asked.
    pub(crate) retained: Option<&'a Object>,
}

/// In which way an object that is there is brought to what its manifest says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By server-side apply: everybody keeps what is theirs.
    Apply,
    /// As a whole: for what a member takes and cannot apply, see [`cannot_be_applied`].
    Replace,
}

/// What is to be done for one manifest.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// Nothing: the member has it.
    Keep,
    /// It is not there: make it.
    Make(Box<Action>),
    /// Bring it to what the manifest says, by these actions in this order; the last one returns the new state.
    Bring(Vec<Action>),
}

/// Why a manifest must not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// Somebody else's object has the name.
    #[error(
        "resource(kind={kind}, {place}) already exists in the cluster {cluster} and the work.karmada.io/conflict-resolution strategy value is empty, Karmada will not manage this resource"
    )]
    Foreign {
        kind: String,
        place: String,
        cluster: String,
    },
    /// Another work brings the object.
    #[error(
        "resource(kind={kind}, {place}) in the cluster {cluster} is brought by the work {by}: delete one of the two works, or take it out of one"
    )]
    Brought {
        kind: String,
        place: String,
        cluster: String,
        by: ObjectKey,
    },
    /// The object is on its way out; it is made again once it is gone.
    #[error("resource(kind={kind}, {place}) is being deleted in the cluster {cluster}")]
    Ending {
        kind: String,
        place: String,
        cluster: String,
    },
    #[error("cannot tell what the cluster keeps of {kind} {place}")]
    Retain {
        kind: String,
        place: String,
        source: Box<interpret::InterpretError>,
    },
}

impl Refusal {
    /// Nobody could say what the member keeps.
    pub(crate) fn retain(manifest: &Object, source: interpret::InterpretError) -> Self {
        Self::Retain {
            kind: manifest.kind().to_owned(),
            place: place(manifest),
            source: Box::new(source),
        }
    }

    /// Whether a webhook has to be asked.
    pub(crate) fn wants_webhook(&self) -> bool {
        matches!(self, Self::Retain { source, .. } if matches!(**source, interpret::InterpretError::Webhook { .. }))
    }
}

/// Decides for one manifest.
pub(crate) fn plan(inputs: &Inputs<'_>) -> Result<Step, Refusal> {
    let Some(observed) = inputs.observed else {
        return Ok(Step::Make(Box::new(Action::Create {
            resource: inputs.resource.clone(),
            object: inputs.manifest.clone(),
        })));
    };
    check(inputs, observed)?;
    let manifest = inputs.manifest;
    let is_known = inputs
        .written
        .is_some_and(|written| written.manifest == fingerprint(manifest));
    let is_untouched = inputs
        .written
        .is_some_and(|written| written.version == Version::of(observed));
    if is_known && is_untouched && has_labels(observed, manifest) {
        return Ok(Step::Keep);
    }
    let retained = match inputs.retained {
        Some(retained) => retained.clone(),
        None => inputs
            .interpreter
            .retain_all(manifest, observed)
            .map_err(|source| Refusal::retain(manifest, source))?,
    };
    let has_additions = || taken_over(observed, &inputs.resource.kind.api_version()).is_some();
    // Somebody changed the object, but nothing of what is ours to say.
    if is_known && contains(observed, &retained) && !has_additions() {
        return Ok(Step::Keep);
    }
    // After a restart nothing is known of what was written; the object itself says that it was this.
    if inputs.written.is_none()
        && contains(observed, &retained)
        && is_ours_alone(observed, &retained)
    {
        return Ok(Step::Keep);
    }
    Ok(Step::Bring(match inputs.way {
        Way::Apply => bring(inputs, observed, retained),
        Way::Replace => vec![replace(inputs, observed, retained)],
    }))
}

/// Whether a member refuses to apply what it would store: two items of a list that are the same by the list's key, such as
/// variables of one name or equal ports, are taken where the object is made or replaced.
pub(crate) fn cannot_be_applied(refusal: &str) -> bool {
    refusal.contains(": duplicate entries for key ")
}

fn check(inputs: &Inputs<'_>, observed: &Object) -> Result<(), Refusal> {
    let manifest = inputs.manifest;
    let (kind, cluster) = (manifest.kind().to_owned(), inputs.cluster.to_owned());
    let may_overwrite = manifest.annotation(CONFLICT_RESOLUTION) == Some(CONFLICT_OVERWRITE);
    let is_ours = is_managed(manifest, observed) || is_returning(manifest, observed);
    if !is_ours && !may_overwrite {
        return Err(Refusal::Foreign {
            kind,
            place: place(manifest),
            cluster,
        });
    }
    if let Some(by) = inputs.rival {
        return Err(Refusal::Brought {
            kind,
            place: place(manifest),
            cluster,
            by: by.clone(),
        });
    }
    if observed.is_terminating() {
        return Err(Refusal::Ending {
            kind,
            place: place(manifest),
            cluster,
        });
    }
    Ok(())
}

/// The actions that bring a member's object to what is retained of the manifest.
fn bring(inputs: &Inputs<'_>, observed: &Object, retained: Object) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut object = declaration(inputs.manifest, retained);
    let uid = observed.uid();
    if !uid.is_empty() {
        put(&mut object, &["metadata", "uid"], uid);
    }
    match take_over(inputs, observed) {
        Some(patch) => {
            actions.push(Action::patch(
                inputs.resource.clone(),
                observed,
                patch,
                Part::Object,
            ));
        }
        // What is retained was read from this state: a newer one may hold something else.
        None => put(
            &mut object,
            &["metadata", "resourceVersion"],
            observed.resource_version(),
        ),
    }
    actions.push(Action::Apply {
        resource: inputs.resource.clone(),
        object,
        manager: Cow::Borrowed(MANAGER),
        force: true,
        part: Part::Object,
    });
    actions
}

/// The action that makes a member's object what is retained of the manifest, and nothing else but what the member owns of
/// any object's metadata.
///
/// Upstream: every object is written so.
fn replace(inputs: &Inputs<'_>, observed: &Object, mut retained: Object) -> Action {
    put(&mut retained, &["metadata", "uid"], observed.uid());
    // Whoever says what is kept may leave it out, and somebody else's change would be overwritten.
    put(
        &mut retained,
        &["metadata", "resourceVersion"],
        observed.resource_version(),
    );
    // Where the status is no part of its own it would go.
    match observed.at(&["status"]) {
        Some(status) => {
            let status = status.clone();
            retained.fields_mut().insert("status".to_owned(), status);
        }
        None => drop(retained.remove(&["status"])),
    }
    Action::Replace {
        resource: inputs.resource.clone(),
        object: retained,
        part: Part::Object,
    }
}

/// What is applied: of metadata only what the manifest says, so that labels, finalizers and owners that others put there
/// stay theirs.
fn declaration(manifest: &Object, mut retained: Object) -> Object {
    let metadata = manifest.at(&["metadata"]).cloned().unwrap_or_default();
    retained
        .fields_mut()
        .insert("metadata".to_owned(), metadata);
    for name in [
        "resourceVersion",
        "uid",
        "managedFields",
        "creationTimestamp",
        "generation",
    ] {
        retained.remove(&["metadata", name]);
    }
    retained.remove(&["status"]);
    retained
}

/// The patch that makes an object ours to apply, if it is not: its owners, without labels and annotations that were
/// written from here once and are no longer in the manifest.
fn take_over(inputs: &Inputs<'_>, observed: &Object) -> Option<Value> {
    let owners = taken_over(observed, &inputs.resource.kind.api_version())?;
    let mut metadata = Map::new();
    metadata.insert("managedFields".to_owned(), owners);
    for (field, record) in [
        ("labels", MANAGED_LABELS),
        ("annotations", MANAGED_ANNOTATIONS),
    ] {
        let record = observed.annotation(record).unwrap_or_default();
        let stale: Map = record
            .split(',')
            .filter(|key| observed.at(&["metadata", field, key]).is_some())
            .filter(|key| inputs.manifest.at(&["metadata", field, key]).is_none())
            .map(|key| (key.to_owned(), Value::Null))
            .collect();
        if !stale.is_empty() {
            metadata.insert(field.to_owned(), Value::Object(stale));
        }
    }
    Some(serde_json::json!({ "metadata": metadata }))
}

/// Whether an object has every label of another.
fn has_labels(object: &Object, other: &Object) -> bool {
    let labels = object.labels();
    other
        .labels()
        .iter()
        .all(|(key, value)| labels.get(key) == Some(value))
}

/// Whether an object says everything that another says. What the server spells differently counts as different, which
/// costs one write that changes nothing.
fn contains(object: &Object, other: &Object) -> bool {
    other.fields().iter().all(|(name, value)| {
        object
            .fields()
            .get(name)
            .is_some_and(|there| contains_value(there, value))
    })
}

fn contains_value(there: &Value, value: &Value) -> bool {
    match (there, value) {
        (Value::Object(there), Value::Object(fields)) => fields.iter().all(|(name, value)| {
            there
                .get(name)
                .is_some_and(|there| contains_value(there, value))
        }),
        (Value::Array(there), Value::Array(items)) => {
            there.len() == items.len()
                && there
                    .iter()
                    .zip(items)
                    .all(|(there, item)| contains_value(there, item))
        }
        _ => there == value,
    }
}

/// `namespace/name`, as the reference's messages have it, with the slash for cluster-wide objects too.
fn place(manifest: &Object) -> String {
    format!("{}/{}", manifest.namespace(), manifest.name())
}

/// Writes below `metadata`; a manifest without that is refused by the member.
fn put(object: &mut Object, path: &[&str], value: &str) {
    let _ = object.set(path, value);
}

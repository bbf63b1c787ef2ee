//! What becomes of an object whose owners go, and of one that goes with what it owns.

use std::collections::BTreeSet;
use std::sync::Arc;

use intent::{Action, EventKind, ObjectRef, Part, Plan, Propagation};
use object::{Object, OwnerReference, ResourceType, Value};
use serde_json::json;

/// Set on an object whose dependents are to stay.
pub(crate) const ORPHAN: &str = "orphan";
/// Set on an object that waits for its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) resource: &'a ResourceType,
    pub(crate) object: &'a Object,
    /// Its owners, in the order of its references. Not looked at while it is ending.
    pub(crate) owners: &'a [Owner],
    /// What it owns; `None` if not all of that is known.
    pub(crate) dependents: Option<&'a [(Arc<ResourceType>, Arc<Object>)]>,
    /// The uids of all it waits for that wait themselves; see [`blockers`].
    pub(crate) blockers: &'a BTreeSet<String>,
}

/// An owner as a reference names it.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) reference: OwnerReference,
    pub(crate) state: OwnerState,
}

/// What is known of an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnerState {
    /// It is there.
    Solid,
    /// It is there, and goes with all it owns before it.
    Waiting,
    /// The server says that it is not there.
    Absent,
    /// It is not there, and went a moment ago so that what it owned stays: this object was not in view then.
    Left,
    /// It is there, but in another namespace, where it cannot own this object: as good as absent.
    Elsewhere,
    /// It cannot be said, for this reason: nothing is done.
    Unknown(&'static str),
    /// It could not be an owner of this object in any case.
    Misplaced,
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let object = inputs.object;
    let has = |name: &str| object.finalizers().any(|finalizer| finalizer == name);
    match object.is_terminating() {
        true if has(ORPHAN) => orphan(inputs),
        true if has(FOREGROUND) => wait_for_dependents(inputs),
        true => Plan::default(), // Somebody else holds it, and whoever made it go knows about its dependents.
        false => follow_owners(inputs),
    }
}

/// Whether the plan for an object lets it go and all that it owns stay.
pub(crate) fn leaves_all(inputs: &Inputs<'_>) -> bool {
    let object = inputs.object;
    object.is_terminating()
        && object.finalizers().any(|name| name == ORPHAN)
        && inputs.dependents.is_some()
}

/// Lets the dependents stay, then lets the object go.
fn orphan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let Some(dependents) = inputs.dependents else {
        plan.problem(
            inputs.object.key().to_string(),
            "not all of its dependents are known",
        );
        return plan;
    };
    let uid = inputs.object.uid();
    for (resource, dependent) in dependents {
        plan.push(without_owners(resource, dependent, |owner| {
            owner.uid == uid
        }));
    }
    plan.push(without_finalizer(inputs, ORPHAN));
    plan
}

/// Lets the object go once nothing is left that it must wait for. The dependents see to themselves: each of them is looked
/// at when its owner begins to wait.
fn wait_for_dependents(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let Some(dependents) = inputs.dependents else {
        plan.problem(
            inputs.object.key().to_string(),
            "not all of its dependents are known",
        );
        return plan;
    };
    let uid = inputs.object.uid();
    if !dependents
        .iter()
        .any(|(_, dependent)| blocks(dependent, uid))
    {
        plan.push(without_finalizer(inputs, FOREGROUND));
        return plan;
    }
    // In a ring everybody would wait for ever: this one no longer keeps those waiting that it waits for.
    let in_ring = |owner: &OwnerReference| inputs.blockers.contains(&owner.uid);
    let is_stuck =
        |owner: OwnerReference| owner.block_owner_deletion == Some(true) && in_ring(&owner);
    if inputs.object.owner_references().any(is_stuck) {
        plan.push(unblocking(inputs, in_ring));
    }
    plan
}

/// The uids of those that keep an object waiting and wait themselves, also through others.
pub(crate) fn blockers(
    uid: &str,
    dependents_of: impl Fn(&str) -> Vec<Arc<Object>>,
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut unseen = vec![uid.to_owned()];
    while let Some(uid) = unseen.pop() {
        for dependent in dependents_of(&uid) {
            if waits(&dependent)
                && blocks(&dependent, &uid)
                && found.insert(dependent.uid().to_owned())
            {
                unseen.push(dependent.uid().to_owned());
            }
        }
    }
    found
}

/// Whether the object is ending and waits for its dependents.
pub(crate) fn waits(object: &Object) -> bool {
    object.is_terminating() && object.finalizers().any(|name| name == FOREGROUND)
}

fn blocks(dependent: &Object, uid: &str) -> bool {
    let mut references = dependent.owner_references();
    references.any(|owner| owner.uid == uid && owner.block_owner_deletion == Some(true))
}

/// Stays with any owner that is there; goes when there is none.
fn follow_owners(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let (object, owners) = (inputs.object, inputs.owners);
    for owner in owners {
        match &owner.state {
            OwnerState::Unknown(why) => {
                plan.problem(
                    format!("{} {}", owner.reference.kind, owner.reference.name),
                    *why,
                );
            }
            OwnerState::Misplaced | OwnerState::Elsewhere => {
                plan.push(misplaced(object, &owner.reference));
            }
            OwnerState::Solid | OwnerState::Waiting | OwnerState::Absent | OwnerState::Left => {}
        }
    }
    let count = |state: OwnerState| owners.iter().filter(|owner| owner.state == state).count();
    let waiting = count(OwnerState::Waiting);
    let absent = count(OwnerState::Absent) + count(OwnerState::Elsewhere);
    let is_undecided = owners
        .iter()
        .any(|owner| matches!(owner.state, OwnerState::Unknown(_) | OwnerState::Misplaced));
    if !is_undecided && count(OwnerState::Left) > 0 {
        let left = |reference: &OwnerReference| {
            owners.iter().any(|owner| {
                owner.reference.uid == reference.uid && owner.state == OwnerState::Left
            })
        };
        plan.push(without_owners(inputs.resource, object, left));
        return plan;
    }
    if owners.is_empty() || is_undecided || waiting + absent == 0 {
        return plan;
    }
    if count(OwnerState::Solid) > 0 {
        // It has somebody to stay with: only the bonds to those who go are cut.
        let gone = |reference: &OwnerReference| {
            owners.iter().any(|owner| {
                owner.reference.uid == reference.uid && owner.state != OwnerState::Solid
            })
        };
        plan.push(without_owners(inputs.resource, object, gone));
        return plan;
    }
    if waiting == 0 {
        plan.push(delete(inputs, by_finalizers(object), "its owners are gone"));
        return plan;
    }
    let Some(dependents) = inputs.dependents else {
        plan.problem(
            object.key().to_string(),
            "not all of its dependents are known",
        );
        return plan;
    };
    if dependents.is_empty() {
        plan.push(delete(
            inputs,
            by_finalizers(object),
            "its owner goes, and what it owns before it",
        ));
        return plan;
    }
    plan.push(delete(
        inputs,
        Propagation::Foreground,
        "its owner goes, and what it owns before it",
    ));
    plan
}

/// As the finalizers that somebody has put there already say.
fn by_finalizers(object: &Object) -> Propagation {
    let has = |name: &str| object.finalizers().any(|finalizer| finalizer == name);
    if has(ORPHAN) {
        return Propagation::Orphan;
    }
    if has(FOREGROUND) {
        return Propagation::Foreground;
    }
    Propagation::Background
}

fn delete(inputs: &Inputs<'_>, propagation: Propagation, cause: &str) -> Action {
    let object = inputs.object;
    let owners: Vec<String> = inputs
        .owners
        .iter()
        .map(|owner| format!("{} {}", owner.reference.kind, owner.reference.name))
        .collect();
    Action::Delete {
        resource: inputs.resource.clone(),
        key: object.key(),
        uid: object.uid().to_owned(),
        // In this very state: an owner may just have been added.
        revision: Some(object.resource_version().to_owned()),
        propagation: Some(propagation),
        cause: format!("{cause}: {}", owners.join(", ")),
    }
}

fn without_owners(
    resource: &ResourceType,
    object: &Object,
    goes: impl Fn(&OwnerReference) -> bool,
) -> Action {
    edit_owners(resource, object, |reference, shape| {
        (!goes(shape)).then(|| reference.clone())
    })
}

/// Asks some owners not to wait for this object any more.
fn unblocking(inputs: &Inputs<'_>, some: impl Fn(&OwnerReference) -> bool) -> Action {
    edit_owners(inputs.resource, inputs.object, |reference, shape| {
        let mut reference = reference.clone();
        if let Some(fields) = reference.as_object_mut().filter(|_| some(shape)) {
            fields.insert("blockOwnerDeletion".to_owned(), false.into());
        }
        Some(reference)
    })
}

/// References that cannot be read stay as they are.
fn edit_owners(
    resource: &ResourceType,
    object: &Object,
    edit: impl Fn(&Value, &OwnerReference) -> Option<Value>,
) -> Action {
    let references = object.at(&["metadata", "ownerReferences"]);
    let references = references.and_then(Value::as_array).into_iter().flatten();
    let kept: Vec<Value> = references
        .filter_map(
            |reference| match object::parse::shape::<OwnerReference, _>(reference) {
                Ok(shape) => edit(reference, &shape),
                Err(_) => Some(reference.clone()),
            },
        )
        .collect();
    let patch = json!({"metadata": {"ownerReferences": kept}});
    Action::patch(resource.clone(), object, patch, Part::Object)
}

fn without_finalizer(inputs: &Inputs<'_>, name: &str) -> Action {
    let kept: Vec<&str> = inputs
        .object
        .finalizers()
        .filter(|finalizer| *finalizer != name)
        .collect();
    let patch = json!({"metadata": {"finalizers": kept}});
    Action::patch(inputs.resource.clone(), inputs.object, patch, Part::Object)
}

/// Upstream: the event's reason and text.
fn misplaced(object: &Object, owner: &OwnerReference) -> Action {
    let namespace = object.namespace();
    let message = format!(
        "ownerRef [{}/{}, namespace: {namespace}, name: {}, uid: {}] does not exist in namespace {namespace:?}",
        owner.api_version, owner.kind, owner.name, owner.uid
    );
    let about = ObjectRef::of(object);
    Action::report(
        about,
        EventKind::Warning,
        "OwnerRefInvalidNamespace",
        message,
    )
}

//! Objects go with their owners.
//!
//! Reads:  the identity of every object of every kind; owners that are not seen are asked for at the server.
//! Writes: deletes objects whose owners are all gone; takes owners that are gone, and the finalizers `orphan` and
//!         `foregroundDeletion`, out of objects.
//! Keeps:  no object outlives its last owner; a dependent of an owner that was deleted with `Orphan` stays.

mod absent;
mod left;
mod plan;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use client::{Cache, CallError, Change};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{GroupVersionKind, Object, ObjectKey, OwnerReference, ResourceType};
use runtime::{Queue, Spawner};

use self::absent::Absent;
use self::left::Left;
use self::plan::{
    FOREGROUND, Inputs, ORPHAN, Owner, OwnerState, blockers, leaves_all, plan, waits,
};
use crate::inventory::{Followed, Inventory};

/// How many objects are looked at at once. Upstream: 20.
const WORKERS: usize = 20;
/// How long to wait for what cannot be decided yet: a kind that is not known, a view that is not whole.
const UNDECIDED: Duration = Duration::from_secs(10);

/// One object of any kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Item {
    resource: Arc<ResourceType>,
    key: ObjectKey,
}

struct Collector {
    inventory: Inventory,
    absent: Arc<Absent>,
    left: Left,
}

pub(crate) fn start(inventory: &Inventory, cx: &Cx, spawner: &Spawner) {
    let absent = Arc::new(Absent::default());
    let collector = Collector {
        inventory: inventory.clone(),
        absent: Arc::clone(&absent),
        left: Left::default(),
    };
    let controller = Controller::new("garbage-collector", collector).workers(WORKERS);
    let queue = controller.queue();
    let known = inventory.clone();
    inventory.run(
        Arc::new(move |resource, change| wake(&known, &absent, &queue, resource, change)),
        spawner,
    );
    controller.run(spawner, cx.clone());
}

/// Whom a change concerns: the object itself, those it owns when it goes, and those who may wait for it.
fn wake(
    inventory: &Inventory,
    absent: &Absent,
    queue: &Queue<Item>,
    resource: &Arc<ResourceType>,
    change: &Change,
) {
    let object = change.object();
    let is_gone = change.after.is_none();
    if is_gone {
        absent.add(object.uid());
    } else if is_concerned(object) {
        queue.add(Item {
            resource: Arc::clone(resource),
            key: object.key(),
        });
    }
    if is_gone || waits(object) {
        for (resource, dependent) in inventory.known_dependents(object.uid()) {
            queue.add(Item {
                resource,
                key: dependent.key(),
            });
        }
    }
    let references = |object: &Object| object.at(&["metadata", "ownerReferences"]).cloned();
    let before = change.before.as_ref();
    let was_owned = before.is_some_and(|before| {
        is_gone || references(before) != change.after.as_ref().and_then(|after| references(after))
    });
    if was_owned {
        for owner in before
            .into_iter()
            .flat_map(|before| before.owner_references())
        {
            if let Some(item) = waiting_owner(inventory, object, &owner) {
                queue.add(item);
            }
        }
    }
}

/// Whether there can be anything to do about the object itself.
fn is_concerned(object: &Object) -> bool {
    match object.is_terminating() {
        true => object
            .finalizers()
            .any(|name| name == ORPHAN || name == FOREGROUND),
        false => object.owner_references().next().is_some(),
    }
}

fn waiting_owner(inventory: &Inventory, object: &Object, owner: &OwnerReference) -> Option<Item> {
    let kind = GroupVersionKind::from_api_version(&owner.api_version, &owner.kind).ok()?;
    let followed = inventory.find(&kind.group_kind())?;
    let key = owner_key(&followed.resource, object, owner);
    let found = followed.cache.as_ref()?.get(&key)?;
    let is_waiting = found.uid() == owner.uid && waits(&found);
    is_waiting.then(|| Item {
        resource: Arc::clone(&followed.resource),
        key,
    })
}

fn owner_key(resource: &ResourceType, object: &Object, owner: &OwnerReference) -> ObjectKey {
    match resource.namespaced {
        true => ObjectKey::namespaced(object.namespace(), owner.name.as_str()),
        false => ObjectKey::cluster(owner.name.as_str()),
    }
}

impl Reconcile for Collector {
    type Key = Item;

    async fn reconcile(&self, item: &Item, cx: &Cx) -> Result<Wake, ReconcileError> {
        let followed = self.inventory.find(&item.resource.kind.group_kind());
        let cache = followed
            .as_ref()
            .and_then(|followed| followed.cache.as_ref());
        let Some(object) = cache.and_then(|cache| cache.get(&item.key)) else {
            return Ok(Wake::OnChange);
        };
        if !is_concerned(&object) {
            return Ok(Wake::OnChange);
        }
        let mut owners = Vec::new();
        if !object.is_terminating() {
            for reference in object.owner_references() {
                let state = self.look_at(&object, &reference, cx).await?;
                owners.push(Owner { reference, state });
            }
        }
        let dependents = self.inventory.dependents(object.uid());
        let blockers = match waits(&object) {
            true => blockers(object.uid(), |uid| {
                let known = self.inventory.known_dependents(uid);
                known.into_iter().map(|(_, dependent)| dependent).collect()
            }),
            false => BTreeSet::new(),
        };
        let inputs = Inputs {
            blockers: &blockers,
            resource: &item.resource,
            object: &object,
            owners: &owners,
            dependents: dependents.as_deref(),
        };
        let plan = plan(&inputs);
        // Noted before it is gone: what it owns may be looked at the next moment.
        let leaves_all = leaves_all(&inputs);
        if leaves_all {
            self.left.add(object.uid());
        }
        let carried = cx.carry_out(&plan).await;
        if leaves_all && carried.is_err() {
            self.left.remove(object.uid());
        }
        carried?;
        if plan.problems.is_empty() {
            return Ok(plan.wake);
        }
        Ok(Wake::After(UNDECIDED))
    }
}

impl Collector {
    /// What is known of an owner: from what is followed if it is there, else from the server itself.
    async fn look_at(
        &self,
        object: &Object,
        owner: &OwnerReference,
        cx: &Cx,
    ) -> Result<OwnerState, CallError> {
        let kind = GroupVersionKind::from_api_version(&owner.api_version, &owner.kind);
        let Ok(kind) = kind else {
            return Ok(OwnerState::Unknown("its apiVersion makes no sense"));
        };
        let Some(followed) = self.inventory.find(&kind.group_kind()) else {
            // A definition that goes takes its objects along, and may be gone before those they owned are looked at.
            return Ok(match self.absent.contains(&owner.uid) {
                true => self.gone(&owner.uid),
                false => OwnerState::Unknown("its kind is not known"),
            });
        };
        if followed.resource.namespaced && object.namespace().is_empty() {
            return Ok(OwnerState::Misplaced);
        }
        let key = owner_key(&followed.resource, object, owner);
        let seen = followed.cache.as_ref().and_then(|cache| cache.get(&key));
        if let Some(seen) = seen.filter(|seen| seen.uid() == owner.uid) {
            return Ok(state_of(&seen));
        }
        if self.absent.contains(&owner.uid) {
            return Ok(self.gone(&owner.uid));
        }
        match cx.client.get_metadata(&followed.resource, &key).await {
            Ok(found) if found.uid() == owner.uid => Ok(state_of(&found)),
            // Somebody else has the name now.
            Ok(_) => Ok(self.absence(&followed, owner)),
            Err(error) if error.is_absence_of(&key.name) => Ok(self.absence(&followed, owner)),
            Err(error) if error.is_not_found() => {
                Ok(OwnerState::Unknown("its kind is not served at the moment"))
            }
            Err(error) => Err(error),
        }
    }

    /// What it means that an owner is not where it should be: it may be in another namespace.
    fn absence(&self, followed: &Followed, owner: &OwnerReference) -> OwnerState {
        let is_there = |cache: &Cache| cache.has_uid(&owner.uid);
        if followed.resource.namespaced && followed.cache.as_ref().is_some_and(is_there) {
            return OwnerState::Elsewhere;
        }
        self.gone(&owner.uid)
    }

    /// How an owner went.
    fn gone(&self, uid: &str) -> OwnerState {
        match self.left.contains(uid) {
            true => OwnerState::Left,
            false => OwnerState::Absent,
        }
    }
}

/// Whom the owner does not wait for goes with it all the same: only how long the owner stays is up to that.
fn state_of(owner: &Object) -> OwnerState {
    match waits(owner) {
        true => OwnerState::Waiting,
        false => OwnerState::Solid,
    }
}

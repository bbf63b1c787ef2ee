//! Definitions take the objects of their kind along.
//!
//! Reads:  definitions; for one that is ending, every object of its kind, from the server itself.
//! Writes: deletes those objects; the condition `Terminating`; the finalizer `customresourcecleanup.apiextensions.k8s.io`.
//! Keeps:  every definition has that finalizer, and goes only when no object of its kind is left.

mod plan;
#[cfg(test)]
mod tests;

use std::time::Duration;

use client::{Cache, Caches, CallError, ListOptions, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{Object, ObjectKey, ResourceType};
use runtime::Spawner;

use self::plan::{Inputs, defined, plan};
use crate::resources;

/// How soon a definition is looked at again whose objects are going.
const AGAIN: Duration = Duration::from_secs(1);

struct Cleaner {
    definitions: Cache,
}

pub(crate) fn start(caches: &Caches, cx: &Cx, spawner: &Spawner) {
    let definitions = caches.follow(&resources::definitions(), Scope::all());
    let cleaner = Cleaner {
        definitions: definitions.clone(),
    };
    Controller::new("definition-cleaner", cleaner)
        .workers(2)
        .watch(&definitions, |change| {
            change.after.as_ref().map(|after| after.name().to_owned())
        })
        .run(spawner, cx.clone());
}

impl Reconcile for Cleaner {
    type Key = String;

    async fn reconcile(&self, name: &String, cx: &Cx) -> Result<Wake, ReconcileError> {
        let found = self.definitions.get(&ObjectKey::cluster(name.as_str()));
        let Some(definition) = found else {
            return Ok(Wake::OnChange);
        };
        let resource = defined(&definition);
        let objects = match &resource {
            Some(resource) if definition.is_terminating() => list(cx, resource).await?,
            _ => Vec::new(),
        };
        let plan = plan(&Inputs {
            definition: &definition,
            resource: resource.as_ref(),
            objects: &objects,
            now: cx.now(),
        });
        cx.carry_out(&plan).await?;
        Ok(match objects.is_empty() {
            true => plan.wake,
            false => Wake::After(AGAIN),
        })
    }
}

async fn list(cx: &Cx, resource: &ResourceType) -> Result<Vec<Object>, CallError> {
    let options = ListOptions {
        metadata_only: true,
        ..ListOptions::default()
    };
    match cx.client.list_all(resource, "", &options).await {
        Ok(list) => Ok(list.items),
        // It is not served, so there is nothing to reach; what is stored cannot be seen by anybody.
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

//! Definitions take the objects of their kind along.
//!
//! Reads:  definitions; for one that is ending, every object of its kind, from the server itself; which kinds that has
//!         without any definition.
//! Writes: deletes those objects; the condition `Terminating`; the finalizer `customresourcecleanup.apiextensions.k8s.io`.
//! Keeps:  every definition has that finalizer, and goes only when no object of its kind is left; objects that are there
//!         without the definition stay.

mod plan;
#[cfg(test)]
mod tests;

use std::time::Duration;

use client::{Cache, Caches, CallError, ListOptions, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{Object, ObjectKey, ResourceType};
use runtime::Spawner;

use self::plan::{Content, Inputs, content, plan};
use crate::{BuiltIn, resources};

/// How soon a definition is looked at again whose objects are going.
const AGAIN: Duration = Duration::from_secs(1);

struct Cleaner {
    definitions: Cache,
    built_in: &'static BuiltIn,
}

pub(crate) fn start(built_in: &'static BuiltIn, caches: &Caches, cx: &Cx, spawner: &Spawner) {
    let definitions = caches.follow(&resources::definitions(), Scope::all());
    let cleaner = Cleaner {
        definitions: definitions.clone(),
        built_in,
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
        let content = content(&definition, self.built_in);
        let objects = match &content {
            Content::Own(resource) if definition.is_terminating() => list(cx, resource).await?,
            _ => Vec::new(),
        };
        let plan = plan(&Inputs {
            definition: &definition,
            content: &content,
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
    // Not found is no answer either: a server that has just started serves the kind a moment later, and one that no longer
    // does will say so in the definition.
    let list = cx.client.list_all(resource, "", &options).await?;
    Ok(list.items)
}

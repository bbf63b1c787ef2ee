//! Namespaces take their content along.
//!
//! Reads:  namespaces; for one that is ending, discovery and every object in it, from the server itself.
//! Writes: deletes what is in an ending namespace; its status; its finalizer `kubernetes`, last.
//! Keeps:  a namespace goes only when nothing is left in it, in no kind that is served.

mod plan;
#[cfg(test)]
mod tests;

use std::time::Duration;

use client::{Cache, Caches, CallError, Change, Client, Discovered, ListOptions, Scope};
use control::{CarryOutError, Controller, Cx, Reconcile, ReconcileError, Wake};
use futures_util::{StreamExt as _, stream};
use object::time::Time;
use object::{Object, ObjectKey, ResourceType};
use runtime::Spawner;
use telemetry::chain;

use self::plan::{Content, Progress, in_turn, plan_content, plan_progress};
use crate::resources;

/// How many namespaces are looked at at once. Upstream: 10.
const WORKERS: usize = 10;
/// How many kinds of one namespace are listed at once.
const LISTS: usize = 8;
/// How soon a namespace is looked at again that still has something in it.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a namespace is left alone that begins to go, so that whoever is just about to write into it or to it finds it.
/// Upstream: five seconds.
const GRACE: i64 = 3;
/// The same when nothing can be done but wait for others.
const LATER: Duration = Duration::from_secs(5);

struct Cleaner {
    namespaces: Cache,
    /// How the names of those begin that are taken apart at once.
    own: &'static str,
}

pub(crate) fn start(own: &'static str, caches: &Caches, cx: &Cx, spawner: &Spawner) {
    let namespaces = caches.follow(&resources::namespaces(), Scope::all());
    let cleaner = Cleaner {
        namespaces: namespaces.clone(),
        own,
    };
    Controller::new("namespace", cleaner)
        .workers(WORKERS)
        .watch(&namespaces, of_namespace)
        .run(spawner, cx.clone());
}

impl Reconcile for Cleaner {
    type Key = String;

    async fn reconcile(&self, name: &String, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(namespace) = self.namespaces.get(&ObjectKey::cluster(name.as_str())) else {
            return Ok(Wake::OnChange);
        };
        let Some(begin) = grace_end(&namespace) else {
            return Ok(Wake::OnChange);
        };
        let is_own = !self.own.is_empty() && name.starts_with(self.own);
        if !is_own && cx.now() < begin {
            return Ok(Wake::At(begin));
        }
        let discovery = cx.client.discover().await?;
        let undiscovered: Vec<String> = discovery
            .failed
            .iter()
            .map(|failed| format!("{}: {}", failed.group_version, failed.message))
            .collect();
        let kinds: Vec<ResourceType> = discovery
            .preferred()
            .filter(|found| is_content(found))
            .map(|found| found.resource.clone())
            .collect();
        let (content, mut failures) = list(cx, kinds, name).await;
        let mut is_refused = false;
        let mut touched = Vec::new();
        let mut is_held = false;
        for turn in in_turn(content) {
            for content in turn.iter().filter(|_| !is_held) {
                // One kind that cannot be deleted must not hold the others up.
                if let Err(error) = delete(cx, &namespace, content).await {
                    is_refused |= error.source.is_forbidden();
                    failures.push(chain(&error).to_string());
                }
            }
            let kinds: Vec<ResourceType> =
                turn.into_iter().map(|content| content.resource).collect();
            is_held |= !list(cx, kinds.clone(), name).await.0.is_empty();
            touched.extend(kinds);
        }
        let (remaining, more) = list(cx, touched, name).await;
        failures.extend(more);
        let plan = plan_progress(&Progress {
            namespace: &namespace,
            remaining: &remaining,
            undiscovered: &undiscovered,
            failures: &failures,
            now: cx.now(),
        });
        let is_idle = plan.is_empty();
        cx.carry_out(&plan).await?;
        // What is left goes when others have done their part; nobody tells us.
        let is_for_others = is_idle || is_refused;
        Ok(Wake::After(if is_for_others { LATER } else { AGAIN }))
    }
}

/// Deletes what there is of one kind; the first object that could not be deleted is told. One that is protected holds no
/// other up; whatever else is in the way is in the way of all.
async fn delete(cx: &Cx, namespace: &Object, content: &Content) -> Result<(), CarryOutError> {
    let mut refused = Ok(());
    for plan in plan_content(namespace, content) {
        match cx.carry_out(&plan).await {
            Err(error) if !error.source.is_forbidden() => return Err(error),
            done => refused = refused.and(done),
        }
    }
    refused
}

/// When a namespace that goes may be taken apart; `None` if it does not go.
fn grace_end(namespace: &Object) -> Option<Time> {
    let since = namespace.text_at(&["metadata", "deletionTimestamp"])?;
    Some(
        since
            .parse()
            .ok()
            .map_or(Time::MIN, |since: Time| since.plus_seconds(GRACE)),
    )
}

/// A namespace that begins to go, or that somebody holds no longer. Whatever else changes on one that goes is no reason to
/// look before its time: who protects something in it may just be about to change their mind.
fn of_namespace(change: &Change) -> Option<String> {
    let after = change.after.as_deref()?;
    if !after.is_terminating() {
        return None;
    }
    let holders = |namespace: &Object| {
        let finalizers: Vec<String> = namespace.finalizers().map(str::to_owned).collect();
        (
            namespace.is_terminating(),
            finalizers,
            namespace.at(&["spec", "finalizers"]).cloned(),
        )
    };
    let is_news = change.before.as_deref().map(holders) != Some(holders(after));
    is_news.then(|| after.name().to_owned())
}

fn is_content(found: &Discovered) -> bool {
    found.resource.namespaced && found.can("list") && found.can("delete")
}

/// The kinds that have objects in the namespace, and in words those that could not be listed.
async fn list(cx: &Cx, kinds: Vec<ResourceType>, namespace: &str) -> (Vec<Content>, Vec<String>) {
    let listing = kinds
        .into_iter()
        .map(|resource| list_kind(cx.client.clone(), resource, namespace.to_owned()));
    let listed: Vec<(ResourceType, Result<Vec<Object>, CallError>)> =
        stream::iter(listing).buffered(LISTS).collect().await;
    let (mut content, mut failures) = (Vec::new(), Vec::new());
    for (resource, objects) in listed {
        match objects {
            Ok(objects) if objects.is_empty() => {}
            Ok(objects) => content.push(Content { resource, objects }),
            // A kind that went since it was discovered has nothing left.
            Err(error) if error.is_not_found() => {}
            Err(error) => failures.push(chain(&error).to_string()),
        }
    }
    (content, failures)
}

async fn list_kind(
    client: Client,
    resource: ResourceType,
    namespace: String,
) -> (ResourceType, Result<Vec<Object>, CallError>) {
    let options = ListOptions {
        metadata_only: true,
        ..ListOptions::default()
    };
    let listed = client.list_all(&resource, &namespace, &options).await;
    (resource, listed.map(|list| list.items))
}

//! Objects as files say them, and on request the policies that send them to clusters.

use client::{CallError, Client};
use intent::Part;
use object::{Object, ResourceType};

use super::handover::{finish_rehearsal, hand_over};
use super::policies::{Strictness, policy_for};
use super::{DryRun, Writing, discover};
use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::nearest::cluster_hint;
use crate::reach::call_failure;
use crate::reading::{self, Answer, Scope, Sink};

/// How objects are applied.
#[derive(Clone, Debug, Default)]
pub struct ApplyOptions {
    /// What all writes share.
    pub writing: Writing,
    /// Fields that others own are left to them, and it is an error to say otherwise.
    pub respect_owners: bool,
    /// Where the objects are to go.
    pub propagation: Propagation,
}

/// Where applied objects are to go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// Where policies send them that are there already.
    #[default]
    Elsewhere,
    /// To every cluster, by a policy for each object.
    AllClusters,
    /// To these clusters, by a policy for each object.
    Clusters(Vec<String>),
}

/// Applies objects, one after the other; one that is refused does not keep the others back.
pub async fn apply(
    control: &Client,
    manifests: &[Manifest],
    options: &ApplyOptions,
    print: Sink<'_>,
) -> Result<Answer, Failure> {
    let discovery = discover(control).await?;
    check_clusters(control, &options.propagation).await?;
    let namespace = options.writing.namespace(control);
    let mut failures = Vec::new();
    for manifest in manifests {
        let applied = async {
            let (resource, object) = manifest.locate(&discovery, &namespace)?;
            print(&one(control, &resource, &object, options).await?)?;
            let clusters = match &options.propagation {
                Propagation::Elsewhere => return Ok(()),
                Propagation::AllClusters => &[][..],
                Propagation::Clusters(names) => names,
            };
            let (kind, policy) = policy_for(&resource, &object, None, clusters, Strictness::Usual);
            print(&one(control, &kind, &policy, options).await?)
        };
        if let Err(failure) = applied.await {
            failures.push((manifest.place.clone(), failure));
        }
    }
    Ok(Answer {
        failure: reading::blame_places(failures),
        ..Answer::default()
    })
}

/// Unknown clusters are named before anything is written.
async fn check_clusters(control: &Client, propagation: &Propagation) -> Result<(), Failure> {
    let Propagation::Clusters(names) = propagation else {
        return Ok(());
    };
    let all = reading::places(control, Scope::Members, &[]).await?;
    let known = all.iter().map(|place| place.name.as_str());
    let is_unknown = |name: &&str| !all.iter().any(|place| place.name == *name);
    let names = names.iter().map(String::as_str);
    let unknown: Vec<&str> = names.filter(is_unknown).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = unknown
        .iter()
        .map(|name| format!("cluster {name} does not exist"))
        .collect();
    Err(Failure::refused(
        lines.join("\nerror: "),
        cluster_hint(&unknown, known),
    ))
}

async fn one(
    control: &Client,
    resource: &ResourceType,
    object: &Object,
    options: &ApplyOptions,
) -> Result<String, Failure> {
    let failed = |error: CallError| call_failure(&error);
    let before = match control.get(resource, &object.key()).await {
        Ok(found) => Some(found),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(failed(error)),
    };
    let writing = &options.writing;
    if writing.dry_run == DryRun::Client {
        let word = if before.is_none() {
            "created"
        } else {
            "configured"
        };
        return writing.say(resource, object, word);
    }
    let force = !options.respect_owners;
    let how = writing.options();
    if let Some(before) = before.as_ref().filter(|_| !how.dry_run) {
        hand_over(control, resource, before, &how)
            .await
            .map_err(failed)?;
    }
    let mut applied = control
        .apply(resource, object, force, &Part::Object, &how)
        .await
        .map_err(failed)?;
    if how.dry_run && before.is_some() {
        applied = finish_rehearsal(control, resource, applied, &how)
            .await
            .map_err(failed)?;
    }
    let word = match &before {
        None => "created",
        Some(before) if is_same(before, &applied) => "unchanged",
        Some(_) => "configured",
    };
    writing.say(resource, &applied, word)
}

/// Whether nothing was changed but the records of who wrote what.
fn is_same(before: &Object, after: &Object) -> bool {
    if before.resource_version() == after.resource_version() {
        return true;
    }
    let bare = |object: &Object| {
        let mut object = object.clone();
        object.remove(&["metadata", "managedFields"]);
        object.remove(&["metadata", "resourceVersion"]);
        object
    };
    bare(before) == bare(after)
}

//! Objects as files say them, and on request the policies that send them to clusters.

use std::time::Duration;

use client::{CallError, Client, Discovery, ListOptions};
use intent::Part;
use object::{GroupVersionKind, Object, ObjectKey, ResourceType};
use telemetry::chain;
use tokio::time::Instant;

use super::handover::{finish_rehearsal, hand_over};
use super::last_applied::{NOTE, renew};
use super::mentions::note_slips;
use super::policies::{Strictness, policy_for};
use super::{DryRun, Writing, discover, name_of, part};
use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::nearest::cluster_hint;
use crate::reach::call_failure;
use crate::reading::{self, Answer, Sink};
use crate::schema::write_failure;
use crate::simulate::kinds_of;

/// How long a kind that was just defined may take to be served.
const COMING: Duration = Duration::from_secs(10);
/// Between two looks for it.
const LOOK: Duration = Duration::from_millis(100);
/// How often a state that somebody else changes meanwhile is looked at anew.
const ATTEMPTS: usize = 5;

/// How objects are applied.
#[derive(Clone, Debug, Default)]
pub struct ApplyOptions {
    /// What all writes share.
    pub writing: Writing,
    /// Fields that others own are left to them, and it is an error to say otherwise.
    pub respect_owners: bool,
    /// Where the objects are to go.
    pub propagation: Propagation,
    /// The part of the objects, such as status; the objects themselves if absent.
    pub subresource: Option<String>,
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
    // Nothing is applied of files that cannot be applied as a whole.
    if let Some(manifest) = Manifest::first_nameless(manifests) {
        return Err(nameless(manifest));
    }
    let mut discovery = discover(control).await?;
    check_clusters(control, &options.propagation).await?;
    let home = options.writing.home(control);
    let writing = &options.writing;
    let (mut failures, mut notes, mut documents) = (Vec::new(), Vec::new(), Vec::new());
    // Kinds whose definitions were applied, and that nobody has waited for yet.
    let mut coming: Vec<GroupVersionKind> = Vec::new();
    for manifest in manifests {
        let kind = manifest.object.group_version_kind();
        if coming.contains(&kind) {
            discovery = wait_for(control, &kind, discovery).await?;
            coming.retain(|other| *other != kind);
        }
        let applied = async {
            let (resource, object) = manifest.locate(&discovery, &home)?;
            let done = one(control, &resource, &object, options).await?;
            if options.writing.dry_run == DryRun::No {
                coming.extend(kinds_of(&object));
            }
            notes.extend(done.warning);
            match writing.document() {
                Some(_) => documents.push(reading::mark(done.object, None, writing.managed_fields)),
                None => print(&writing.say(&resource, &done.object, done.word)?)?,
            }
            let clusters = match &options.propagation {
                Propagation::Elsewhere => return Ok(()),
                Propagation::AllClusters => &[][..],
                Propagation::Clusters(names) => names,
            };
            let (kind, policy) = policy_for(&resource, &object, None, clusters, Strictness::Usual);
            let done = one(control, &kind, &policy, options).await?;
            notes.extend(done.warning);
            match writing.document() {
                Some(_) => documents.push(reading::mark(done.object, None, writing.managed_fields)),
                None => print(&writing.say(&kind, &done.object, done.word)?)?,
            }
            Ok(())
        };
        if let Err(failure) = applied.await {
            failures.push((manifest.place.clone(), failure));
        }
    }
    if let Some(output) = writing.document() {
        print(&reading::show_objects(documents, output)?)?;
    }
    notes.extend(note_slips(control, manifests).await);
    Ok(Answer {
        failure: reading::blame_places(failures),
        notes,
        ..Answer::default()
    })
}

/// What came of one object.
struct Done {
    /// As it is afterwards.
    object: Object,
    /// What was done to it.
    word: &'static str,
    /// What was left undone although it is applied.
    warning: Option<String>,
}

impl Done {
    fn new(object: Object, word: &'static str) -> Self {
        Self {
            object,
            word,
            warning: None,
        }
    }
}

/// What is served once that has a kind which a definition before it brings; as it is if that does not come about.
async fn wait_for(
    control: &Client,
    kind: &GroupVersionKind,
    mut discovery: Discovery,
) -> Result<Discovery, Failure> {
    let begun = Instant::now();
    while discovery.find(kind).is_none() && begun.elapsed() < COMING {
        tokio::time::sleep(LOOK).await;
        discovery = discover(control).await?;
    }
    Ok(discovery)
}

/// Unknown clusters are named before anything is written.
async fn check_clusters(control: &Client, propagation: &Propagation) -> Result<(), Failure> {
    let Propagation::Clusters(names) = propagation else {
        return Ok(());
    };
    let kind = ResourceType::cluster("cluster.karmada.io", "v1alpha1", "Cluster", "clusters");
    let mut unknown: Vec<&str> = Vec::new();
    for name in names {
        match control
            .get_metadata(&kind, &ObjectKey::cluster(name.as_str()))
            .await
        {
            // Whoever may not look at clusters may still write policies about them.
            Ok(_) => {}
            Err(error) if error.is_forbidden() => {}
            Err(error) if error.is_not_found() => unknown.push(name),
            Err(error) => return Err(call_failure(&error)),
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = unknown
        .iter()
        .map(|name| format!("cluster {name} does not exist"))
        .collect();
    let options = ListOptions {
        metadata_only: true,
        ..ListOptions::default()
    };
    let listed = control.list_all(&kind, "", &options).await;
    let known = listed.map(|list| list.items).unwrap_or_default();
    Err(Failure::refused(
        lines.join("\nerror: "),
        cluster_hint(&unknown, known.iter().map(Object::name)),
    ))
}

async fn one(
    control: &Client,
    resource: &ResourceType,
    object: &Object,
    options: &ApplyOptions,
) -> Result<Done, Failure> {
    let before = match control.get(resource, &object.key()).await {
        Ok(found) => Some(found),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(call_failure(&error)),
    };
    let writing = &options.writing;
    if writing.dry_run == DryRun::Client {
        let word = if before.is_none() {
            "created"
        } else {
            "configured"
        };
        return Ok(Done::new(object.clone(), word));
    }
    let how = writing.options();
    let part = part(options.subresource.as_deref());
    if part != Part::Object {
        return apply_part(control, resource, object, &part, options).await;
    }
    let Some(before) = before else {
        let force = !options.respect_owners;
        let applied = control
            .apply(resource, object, force, &Part::Object, &how)
            .await;
        return match applied {
            Ok(applied) => Ok(Done::new(applied, "created")),
            Err(error) => Err(write_failure(control, resource, &error).await),
        };
    };
    let (before, mut applied) = match over(control, resource, object, before, options).await {
        Ok(applied) => applied,
        Err(error) => return Err(write_failure(control, resource, &error).await),
    };
    let renewed = match how.dry_run {
        true => Ok(None),
        false => renew(control, resource, object, &applied, &how).await,
    };
    let warning = renewed
        .as_ref()
        .err()
        .map(|error| not_renewed(&name_of(resource, object.name()), error));
    if let Ok(Some(renewed)) = renewed {
        applied = renewed;
    }
    let word = match is_same(&before, &applied) {
        true => "unchanged",
        false => "configured",
    };
    Ok(Done {
        warning,
        ..Done::new(applied, word)
    })
}

/// Applies a part of an object: who else writes it is no concern of records about the whole.
async fn apply_part(
    control: &Client,
    resource: &ResourceType,
    object: &Object,
    part: &Part,
    options: &ApplyOptions,
) -> Result<Done, Failure> {
    let (how, force) = (options.writing.options(), !options.respect_owners);
    let before = control.get_part(resource, &object.key(), part).await;
    let before = before.map_err(|error| call_failure(&error))?;
    match control.apply(resource, object, force, part, &how).await {
        Ok(applied) => {
            let word = match is_same(&before, &applied) {
                true => "unchanged",
                false => "configured",
            };
            Ok(Done::new(applied, word))
        }
        Err(error) => Err(write_failure(control, resource, &error).await),
    }
}

/// What is said of an object that is applied, and whose note is that of an earlier time. Upstream: the same is a warning.
fn not_renewed(name: &str, error: &CallError) -> String {
    let cause = chain(error);
    format!(
        "warning: {name} is applied, but {NOTE} is not up to date; the next apply tries again: {cause}"
    )
}

/// Why what has no name cannot be applied.
fn nameless(manifest: &Manifest) -> Failure {
    match manifest.object.text_at(&["metadata", "generateName"]) {
        None | Some("") => manifest.nameless(),
        Some(_) => Failure::refused(
            format!("{}: cannot use generate name with apply", manifest.place),
            "`karavel create -f FILE` makes objects with names that the server chooses",
        ),
    }
}

/// Applies an object over the one that is there; gives what it was right before, and what it became.
///
/// Controllers write to objects too. So that what they change is not taken for what is applied here, it is applied to the
/// very state that was read; if others never leave off, to whatever state there is.
async fn over(
    control: &Client,
    resource: &ResourceType,
    object: &Object,
    mut before: Object,
    options: &ApplyOptions,
) -> Result<(Object, Object), CallError> {
    let (how, force) = (options.writing.options(), !options.respect_owners);
    let is_pinned = object.resource_version().is_empty();
    for attempt in 1..=ATTEMPTS {
        if !how.dry_run && hand_over(control, resource, &before, &how).await? {
            before = control.get(resource, &object.key()).await?;
        }
        let mut pinned = object.clone();
        if is_pinned && attempt < ATTEMPTS {
            // Text at this path is always fine where the server's own object has it.
            let revision = before.resource_version().to_owned();
            let _ = pinned.set(&["metadata", "resourceVersion"], revision);
        }
        let applied = control
            .apply(resource, &pinned, force, &Part::Object, &how)
            .await;
        match applied {
            Err(error) if is_pinned && attempt < ATTEMPTS && error.is_conflict() => {
                let now = control.get(resource, &object.key()).await?;
                // Nobody wrote meanwhile: the conflict is about who owns a field.
                if now.resource_version() == before.resource_version() {
                    return Err(error);
                }
                before = now;
            }
            Err(error) => return Err(error),
            Ok(applied) if how.dry_run => {
                let finished = finish_rehearsal(control, resource, applied, &how).await?;
                return Ok((before, finished));
            }
            Ok(applied) => return Ok((before, applied)),
        }
    }
    let applied = control
        .apply(resource, object, force, &Part::Object, &how)
        .await?;
    Ok((before, applied))
}

/// Whether nothing was changed but the records of who wrote what. By the content: what is only tried keeps its revision.
fn is_same(before: &Object, after: &Object) -> bool {
    let bare = |object: &Object| {
        let mut object = object.clone();
        object.remove(&["metadata", "managedFields"]);
        object.remove(&["metadata", "resourceVersion"]);
        object
    };
    bare(before) == bare(after)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_only_tried_is_told_from_what_stays_as_it_is() {
        let map = |data: &str, revision: &str, manager: &str| {
            let object = Object::from_value(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": data},
                "metadata": {"name": "m", "resourceVersion": revision,
                             "managedFields": [{"manager": manager}]},
            }));
            object.unwrap()
        };
        let before = map("b", "7", "kubectl");
        for (after, expected) in [
            (map("b", "7", "kubectl"), true),
            (map("b", "8", "karavel"), true),
            (map("c", "8", "karavel"), false),
            // A dry run: another content, no other revision.
            (map("c", "7", "karavel"), false),
        ] {
            assert_eq!(is_same(&before, &after), expected, "{after:?}");
        }
    }
}

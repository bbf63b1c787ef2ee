//! Changing part of an object.

use client::{Client, PatchKind};
use intent::Part;
use object::Value;

use super::{DryRun, Writing, discover};
use crate::failure::Failure;
use crate::reach::call_failure;
use crate::reading;

/// What is changed.
#[derive(Clone, Debug)]
pub struct PatchQuery {
    /// `TYPE NAME`, or `TYPE/NAME`.
    pub words: Vec<String>,
    /// The change, in JSON or YAML.
    pub patch: String,
    /// What the change is written in.
    pub kind: PatchKind,
    /// The part of the object, such as status; the object itself if absent.
    pub subresource: Option<String>,
    /// What all writes share.
    pub writing: Writing,
}

/// Changes part of an object, and says what came of it.
pub async fn patch(control: &Client, query: &PatchQuery) -> Result<String, Failure> {
    let (word, name) = reading::read_one(&query.words)?;
    let patch: Value = serde_saphyr::from_str(&query.patch).map_err(|error| {
        Failure::refused(
            format!("the patch is neither JSON nor YAML: {error}"),
            "write for example: -p '{\"spec\":{\"replicas\":3}}'",
        )
    })?;
    let discovery = discover(control).await?;
    let resource = &reading::resolve(&discovery, &word)?.resource;
    let namespace = query.writing.namespace(control);
    let key = reading::key(resource, &namespace, &name);
    let before = control
        .get(resource, &key)
        .await
        .map_err(|error| call_failure(&error))?;
    if query.writing.dry_run == DryRun::Client {
        return query.writing.say(resource, &before, "patched");
    }
    let part = match &query.subresource {
        None => Part::Object,
        Some(name) => Part::Named(name.clone().into()),
    };
    let options = query.writing.dry_run.options();
    let after = control
        .patch(resource, &key, query.kind, &patch, &part, &options)
        .await
        .map_err(|error| call_failure(&error))?;
    let is_same = before.resource_version() == after.resource_version()
        && query.writing.dry_run == DryRun::No;
    query.writing.say(
        resource,
        &after,
        if is_same {
            "patched (no change)"
        } else {
            "patched"
        },
    )
}

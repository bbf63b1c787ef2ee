//! Names that may be typed next.

use client::{Client, ListOptions};

use crate::failure::Failure;
use crate::reach::call_failure;
use crate::reading;

/// The names of all objects of a kind in the namespace that is meant; the kinds there are if `kind` is empty.
pub async fn proposals(control: &Client, kind: &str) -> Result<Vec<String>, Failure> {
    let discovery = control
        .discover()
        .await
        .map_err(|error| call_failure(&error))?;
    if kind.is_empty() {
        let kinds = discovery.resources.iter().filter(|found| found.can("list"));
        return Ok(kinds.map(|found| found.resource.plural.clone()).collect());
    }
    let resource = &reading::resolve(&discovery, kind)?.resource;
    let connected = control.raw();
    let namespace = match resource.namespaced {
        true => connected.default_namespace(),
        false => "",
    };
    let options = ListOptions {
        metadata_only: true,
        ..ListOptions::default()
    };
    let listed = control.list_all(resource, namespace, &options).await;
    let items = listed.map_err(|error| call_failure(&error))?.items;
    Ok(items
        .iter()
        .map(|object| object.name().to_owned())
        .collect())
}

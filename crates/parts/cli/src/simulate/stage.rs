//! Trying objects on: the server says what it would make of them, and keeps nothing.
//!
//! A server takes no object into a namespace that is not there, not even for a rehearsal. An application that comes with a
//! namespace of its own is therefore tried on in another one, in which nothing of the name is, and taken for what it would
//! be in its own.

use std::collections::BTreeSet;

use client::{CallError, Client, Discovery, ListOptions, WriteOptions};
use intent::Part;
use object::{Object, ObjectKey, ResourceType, Value};

use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::reach::call_failure;
use crate::writing::{MANAGER, finish_rehearsal};

/// Where objects are tried on.
pub(super) struct Stage {
    control: Client,
    /// The namespace of objects that name none.
    namespace: String,
    /// Namespaces that the supposed objects bring along.
    coming: BTreeSet<String>,
    /// Namespaces there are, the usual one first.
    present: Vec<String>,
}

impl Stage {
    /// Looks which namespaces there are and would be.
    pub(super) async fn read(
        control: &Client,
        namespace: &str,
        manifests: &[Manifest],
    ) -> Result<Self, Failure> {
        let is_namespace =
            |object: &&Object| object.kind() == "Namespace" && object.api_version() == "v1";
        let objects = manifests.iter().map(|manifest| &manifest.object);
        let mut coming: BTreeSet<String> = objects
            .filter(is_namespace)
            .map(|object| object.name().to_owned())
            .collect();
        let mut present = Vec::new();
        if !coming.is_empty() {
            let kind = ResourceType::cluster("", "v1", "Namespace", "namespaces");
            let listed = control.list_all(&kind, "", &ListOptions::default()).await;
            let listed = listed.map_err(|error| call_failure(&error))?.items;
            let lasting = listed.iter().filter(|object| !object.is_terminating());
            present = lasting.map(|object| object.name().to_owned()).collect();
            present.sort_by_key(|name| (name != "default", name.clone()));
            coming.retain(|name| !present.contains(name));
        }
        Ok(Self {
            control: control.clone(),
            namespace: namespace.to_owned(),
            coming,
            present,
        })
    }

    /// What the server would make of an object.
    pub(super) async fn try_on(
        &self,
        manifest: &Manifest,
        discovery: &Discovery,
    ) -> Result<(ResourceType, Object), Failure> {
        let (resource, object) = manifest.locate(discovery, &self.namespace)?;
        let failed = |error: CallError| call_failure(&error);
        let mut tried = match self.coming.contains(object.namespace()) {
            true => self.try_elsewhere(&resource, &object).await?,
            false => self.rehearse(&resource, &object).await.map_err(failed)?,
        };
        // What is not there yet has no revision, whatever the server says it would have.
        if self.is_there(&resource, &object.key()).await? {
            tried = finish_rehearsal(&self.control, &resource, tried, &rehearsing())
                .await
                .map_err(failed)?;
        } else {
            tried.remove(&["metadata", "resourceVersion"]);
        }
        tried.remove(&["metadata", "managedFields"]);
        Ok((resource, tried))
    }

    /// The same for an object whose namespace does not exist yet.
    async fn try_elsewhere(
        &self,
        resource: &ResourceType,
        object: &Object,
    ) -> Result<Object, Failure> {
        for stand_in in &self.present {
            let key = ObjectKey::namespaced(stand_in, object.name());
            if self.is_there(resource, &key).await? {
                continue;
            }
            let mut moved = object.clone();
            move_to(&mut moved, stand_in)?;
            let tried = self.rehearse(resource, &moved).await;
            let mut tried = tried.map_err(|error| call_failure(&error))?;
            move_to(&mut tried, object.namespace())?;
            return Ok(at_home(tried, stand_in));
        }
        Err(Failure::refused(
            format!(
                "it cannot be tried on before the namespace {} exists",
                object.namespace()
            ),
            "create the namespace first",
        ))
    }

    async fn rehearse(
        &self,
        resource: &ResourceType,
        object: &Object,
    ) -> Result<Object, CallError> {
        let options = rehearsing();
        self.control
            .apply(resource, object, true, &Part::Object, &options)
            .await
    }

    async fn is_there(&self, resource: &ResourceType, key: &ObjectKey) -> Result<bool, Failure> {
        match self.control.get_metadata(resource, key).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(call_failure(&error)),
        }
    }
}

/// As `apply` would: the server takes away only what the same one has applied before.
fn rehearsing() -> WriteOptions {
    WriteOptions {
        dry_run: true,
        ..WriteOptions::by(MANAGER)
    }
}

fn move_to(object: &mut Object, namespace: &str) -> Result<(), Failure> {
    let moved = object.set(&["metadata", "namespace"], namespace);
    moved.map_err(|error| Failure::refused(error.to_string(), "correct the metadata"))
}

/// Policies select in their own namespace, which the server writes into their selectors: the stand-in's name goes again.
fn at_home(object: Object, stand_in: &str) -> Object {
    let home = object.namespace().to_owned();
    let mut value = object.clone().into_value();
    let selectors = value
        .get_mut("spec")
        .and_then(|spec| spec.get_mut("resourceSelectors"))
        .and_then(Value::as_array_mut);
    for selector in selectors.into_iter().flatten() {
        if selector["namespace"] == stand_in {
            selector["namespace"] = Value::from(home.as_str());
        }
    }
    Object::from_value(value).unwrap_or(object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn policies_tried_on_elsewhere_select_at_home() {
        for (selectors, expected) in [
            (
                json!([{"kind": "A", "namespace": "default"}]),
                json!([{"kind": "A", "namespace": "shop"}]),
            ),
            (json!([{"kind": "A"}]), json!([{"kind": "A"}])),
            (
                json!([{"kind": "A", "namespace": "x"}]),
                json!([{"kind": "A", "namespace": "x"}]),
            ),
            (json!("none"), json!("none")),
        ] {
            let policy = |selectors: &Value| {
                let value = json!({"metadata": {"name": "p", "namespace": "shop"}, "spec": {"resourceSelectors": selectors}});
                Object::from_value(value).unwrap()
            };
            let found = at_home(policy(&selectors), "default");
            assert_eq!(found, policy(&expected));
        }
        let bare = json!({"metadata": {"name": "c", "namespace": "shop"}, "data": {"a": "b"}});
        let bare = Object::from_value(bare).unwrap();
        assert_eq!(at_home(bare.clone(), "default"), bare);
    }
}

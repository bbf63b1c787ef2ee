//! One API, as a test uses it: the control plane's or a member's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use client::{CallError, Client, DeleteOptions, ListOptions, PatchKind, WriteOptions};
use intent::Part;
use object::{Object, ObjectKey, ResourceType, Value};
use telemetry::chain;

/// The field manager of what tests write.
const MANAGER: &str = "test";

/// An API and somebody who uses it.
///
/// Everything that cannot be done ends the test, unless its name begins with `try_`.
#[derive(Clone)]
pub struct Api {
    /// Whose API it is, for messages.
    name: String,
    client: Client,
    /// Where kinds are, by the names and versions they were asked for.
    places: Arc<Mutex<HashMap<(String, String), ResourceType>>>,
}

impl Api {
    /// The API that a client speaks to.
    #[must_use]
    pub fn new(name: impl Into<String>, client: Client) -> Self {
        Self {
            name: name.into(),
            client,
            places: Arc::default(),
        }
    }

    /// The client underneath.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Applies every document of a YAML text, as `kubectl apply --server-side --force-conflicts` does.
    pub async fn apply(&self, yaml: &str) {
        if let Err(error) = self.try_apply(yaml).await {
            panic!("cannot apply to {}: {}\n{yaml}", self.name, chain(&error));
        }
    }

    /// The same; ends at the first document that is refused.
    pub async fn try_apply(&self, yaml: &str) -> Result<(), CallError> {
        for object in documents(yaml) {
            let resource = self
                .resource(object.kind(), Some(object.api_version()))
                .await;
            let object = in_default_namespace(object, &resource);
            let options = WriteOptions::by(MANAGER);
            self.client
                .apply(&resource, &object, true, &Part::Object, &options)
                .await?;
        }
        Ok(())
    }

    /// Creates every document of a YAML text; ends at the first that is refused.
    pub async fn try_create(&self, yaml: &str) -> Result<(), CallError> {
        for object in documents(yaml) {
            let resource = self
                .resource(object.kind(), Some(object.api_version()))
                .await;
            let object = in_default_namespace(object, &resource);
            let options = WriteOptions::by(MANAGER);
            self.client.create(&resource, &object, &options).await?;
        }
        Ok(())
    }

    /// An object, if it is there.
    pub async fn get(&self, kind: &str, name: &str) -> Option<Object> {
        let resource = self.resource(kind, None).await;
        match self.client.get(&resource, &key(name)).await {
            Ok(object) => Some(object),
            Err(error) if error.is_not_found() => None,
            Err(error) => self.fail("get", kind, name, &error),
        }
    }

    /// A field of an object by its path, such as `spec.replicas`; `null` if either is not there. A number is a place in a
    /// list, `type=Ready` the element of a list that has that field.
    pub async fn field(&self, kind: &str, name: &str, path: &str) -> Value {
        let object = self.get(kind, name).await;
        object.map_or(Value::Null, |object| field(&object, path))
    }

    /// Status and reason of a condition, such as `True ClusterReady`; empty if it is not there.
    pub async fn condition(&self, kind: &str, name: &str, condition: &str) -> String {
        let path = format!("status.conditions.type={condition}");
        let found = self.field(kind, name, &path).await;
        let text = |field: &str| found.get(field).and_then(Value::as_str).unwrap_or_default();
        format!("{} {}", text("status"), text("reason"))
            .trim()
            .to_owned()
    }

    /// All objects of a kind in a namespace; in all of them if it is empty.
    pub async fn list(&self, kind: &str, namespace: &str) -> Vec<Object> {
        let resource = self.resource(kind, None).await;
        let listed = self
            .client
            .list_all(&resource, namespace, &ListOptions::default())
            .await;
        match listed {
            Ok(list) => list.items,
            Err(error) => self.fail("list", kind, namespace, &error),
        }
    }

    /// The keys of all objects of a kind in a namespace, in order; of all namespaces if it is empty.
    pub async fn names(&self, kind: &str, namespace: &str) -> Vec<String> {
        let listed = self.list(kind, namespace).await;
        let mut names: Vec<String> = listed
            .iter()
            .map(|object| object.key().to_string())
            .collect();
        names.sort_unstable();
        names
    }

    /// Merges a patch into an object.
    pub async fn patch(&self, kind: &str, name: &str, patch: Value) -> Object {
        match self.try_patch(kind, name, patch).await {
            Ok(object) => object,
            Err(error) => self.fail("patch", kind, name, &error),
        }
    }

    /// The same.
    pub async fn try_patch(
        &self,
        kind: &str,
        name: &str,
        patch: Value,
    ) -> Result<Object, CallError> {
        self.patch_part(kind, name, patch, &Part::Object).await
    }

    /// Merges a patch into an object's status.
    pub async fn patch_status(&self, kind: &str, name: &str, patch: Value) -> Object {
        match self.patch_part(kind, name, patch, &Part::Status).await {
            Ok(object) => object,
            Err(error) => self.fail("patch the status of", kind, name, &error),
        }
    }

    /// Deletes an object; it may still be ending when this returns.
    pub async fn delete(&self, kind: &str, name: &str) {
        if let Err(error) = self.try_delete(kind, name).await {
            self.fail("delete", kind, name, &error)
        }
    }

    /// The same.
    pub async fn try_delete(&self, kind: &str, name: &str) -> Result<(), CallError> {
        let resource = self.resource(kind, None).await;
        let options = DeleteOptions::default();
        let deleted = self.client.delete(&resource, &key(name), &options).await;
        deleted.map(drop)
    }

    /// Where objects of a kind are, by any name that `kubectl` takes.
    pub async fn resource(&self, kind: &str, api_version: Option<&str>) -> ResourceType {
        let asked = (kind.to_owned(), api_version.unwrap_or_default().to_owned());
        if let Some(known) = self.places().get(&asked) {
            return known.clone();
        }
        let discovery = match self.client.discover().await {
            Ok(discovery) => discovery,
            Err(error) => panic!("cannot read what {} serves: {}", self.name, chain(&error)),
        };
        let (name, group) = kind.split_once('.').unwrap_or((kind, ""));
        let lower = name.to_ascii_lowercase();
        let found = discovery.resources.iter().find(|found| {
            let resource = &found.resource;
            let is_named = resource.kind.kind == name
                || resource.plural == lower
                || found.singular == lower
                || found.short_names.contains(&lower);
            is_named
                && (group.is_empty() || resource.kind.group == group)
                && api_version.is_none_or(|wanted| resource.kind.api_version() == wanted)
        });
        let Some(found) = found else {
            panic!(
                "{} does not serve {kind} {}",
                self.name,
                api_version.unwrap_or_default()
            );
        };
        self.places().insert(asked, found.resource.clone());
        found.resource.clone()
    }

    fn places(&self) -> MutexGuard<'_, HashMap<(String, String), ResourceType>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn patch_part(
        &self,
        kind: &str,
        name: &str,
        patch: Value,
        part: &Part,
    ) -> Result<Object, CallError> {
        let resource = self.resource(kind, None).await;
        let options = WriteOptions::by(MANAGER);
        self.client
            .patch(
                &resource,
                &key(name),
                PatchKind::Merge,
                &patch,
                part,
                &options,
            )
            .await
    }

    pub(crate) fn fail(&self, doing: &str, kind: &str, name: &str, error: &CallError) -> ! {
        panic!(
            "cannot {doing} {kind} {name} in {}: {}",
            self.name,
            chain(error)
        )
    }
}

/// A field by its path.
pub(crate) fn field(object: &Object, path: &str) -> Value {
    let mut steps = path.split('.');
    let first = steps.next().and_then(|step| object.fields().get(step));
    let found = steps.try_fold(first, |found, step| {
        let next = match (found, step.split_once('=')) {
            (Some(Value::Array(items)), Some((name, wanted))) => items
                .iter()
                .find(|item| item.get(name).and_then(Value::as_str) == Some(wanted)),
            (Some(Value::Array(items)), None) => {
                step.parse().ok().and_then(|at: usize| items.get(at))
            }
            (Some(value), _) => value.get(step),
            (None, _) => None,
        };
        next.map(Some)
    });
    found.flatten().cloned().unwrap_or_default()
}

pub(crate) fn key(name: &str) -> ObjectKey {
    match name.split_once('/') {
        Some((namespace, name)) => ObjectKey::namespaced(namespace, name),
        None => ObjectKey::cluster(name),
    }
}

/// As `kubectl` does for who names no namespace.
fn in_default_namespace(mut object: Object, resource: &ResourceType) -> Object {
    if resource.namespaced && object.namespace().is_empty() {
        object
            .set(&["metadata", "namespace"], "default")
            .expect("a manifest has metadata");
    }
    object
}

/// The documents of a YAML text that may be indented as a whole.
fn documents(yaml: &str) -> Vec<Object> {
    let text = dedent(yaml);
    let values: Vec<Value> = match serde_saphyr::from_multiple(&text) {
        Ok(values) => values,
        Err(error) => panic!("this is not YAML: {error}\n{text}"),
    };
    values
        .into_iter()
        .filter(|value| !value.is_null())
        .map(|value| match Object::from_value(value) {
            Ok(object) => object,
            Err(error) => panic!("this is no object: {error}\n{text}"),
        })
        .collect()
}

fn dedent(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let full = text.lines().filter(|line| !line.trim().is_empty());
    let margin = full.map(indent).min().unwrap_or_default();
    let mut lines = Vec::new();
    for line in text.lines() {
        lines.push(line.get(margin..).unwrap_or_default());
    }
    lines.join("\n")
}

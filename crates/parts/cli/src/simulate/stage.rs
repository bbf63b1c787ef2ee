//! Trying objects on: the server says what it would make of them, and keeps nothing.
//!
//! A server takes no object into a namespace that is not there, not even for a rehearsal. An application that comes with a
//! namespace of its own is therefore tried on in another one, in which nothing of the name is, and taken for what it would
//! be in its own. Objects of a kind that comes along are taken as they are written.

use std::collections::BTreeSet;

use client::{CallError, Client, Discovery, ListOptions, WriteOptions};
use intent::Part;
use object::{GroupVersionKind, Object, ObjectKey, ResourceType, Value};

use super::Templates;
use super::kinds::{self, Announced};
use crate::failure::Failure;
use crate::manifests::{Home, Manifest};
use crate::picture::{Forms, Picture, converted, is_namespace, namespaces};
use crate::reach::call_failure;
use crate::schema::write_failure;
use crate::writing::{MANAGER, finish_rehearsal};

/// What to do about objects that need what comes after them.
const FIRST: &str =
    "it comes later in what was given: put it first, as objects are applied one after the other";

/// Where objects are tried on.
pub(super) struct Stage {
    control: Client,
    /// The namespace that is meant.
    home: Home,
    /// Who applies, in the fields' records.
    manager: String,
    /// Namespaces that supposed objects bring along: those tried on so far, as each is applied after the other.
    coming: BTreeSet<String>,
    /// Those that come later.
    spaces_to_come: BTreeSet<String>,
    /// Namespaces there are, the usual one first.
    present: Vec<String>,
    /// Kinds that supposed objects bring along, and nobody serves yet; those tried on so far too.
    pub(super) announced: Vec<Announced>,
    /// Those that come later.
    kinds_to_come: Vec<Announced>,
    /// Those of them of which objects are supposed.
    used: BTreeSet<String>,
}

/// An object as the server would make it.
#[derive(Clone, Debug)]
pub(super) struct Supposed {
    /// As it would be.
    pub(super) object: Forms,
    /// As it is, if it is there.
    pub(super) was: Option<Object>,
    /// As somebody has written it.
    written: Object,
}

impl Stage {
    /// Looks which namespaces there are and would be.
    pub(super) async fn read(
        control: &Client,
        home: Home,
        manager: Option<&str>,
        manifests: &[Manifest],
        discovery: &Discovery,
    ) -> Result<Self, Failure> {
        let objects = || manifests.iter().map(|manifest| &manifest.object);
        let mut kinds_to_come = kinds::announced(manifests);
        kinds_to_come.retain(|known| discovery.find(&known.resource.kind).is_none());
        let mut spaces_to_come: BTreeSet<String> = objects()
            .filter(|object| is_namespace(object))
            .map(|object| object.name().to_owned())
            .collect();
        let mut present = Vec::new();
        if !spaces_to_come.is_empty() {
            let options = ListOptions::default();
            let listed = control.list_all(&namespaces(), "", &options).await;
            let listed = listed.map_err(|error| call_failure(&error))?.items;
            let lasting = listed.iter().filter(|object| !object.is_terminating());
            present = lasting.map(|object| object.name().to_owned()).collect();
            present.sort_by_key(|name| (name != "default", name.clone()));
            spaces_to_come.retain(|name| !present.contains(name));
        }
        Ok(Self {
            control: control.clone(),
            home,
            manager: manager.unwrap_or(MANAGER).to_owned(),
            coming: BTreeSet::new(),
            spaces_to_come,
            present,
            announced: Vec::new(),
            kinds_to_come,
            used: BTreeSet::new(),
        })
    }

    /// The kinds that would be served beside those that are.
    pub(super) fn coming_kinds(&self) -> impl Iterator<Item = GroupVersionKind> {
        let coming = self.announced.iter();
        coming.map(|known| known.resource.kind.clone())
    }

    /// What to say of objects that nobody could try on.
    pub(super) fn unchecked(&self) -> Option<String> {
        let kinds: Vec<&str> = self.used.iter().map(String::as_str).collect();
        (!kinds.is_empty()).then(|| {
            let kinds = kinds.join(", ");
            format!("objects of a kind that comes with them ({kinds}) are taken as they are written: no server has checked them")
        })
    }

    /// What the server would make of an object, after those that were tried on before it.
    pub(super) async fn try_on(
        &mut self,
        manifest: &Manifest,
        discovery: &Discovery,
    ) -> Result<Supposed, Failure> {
        let kind = manifest.object.group_version_kind();
        if let Some(resource) = kinds::find(&self.announced, &kind) {
            let object = manifest.settle(resource, &self.home)?;
            self.used.insert(kind.kind);
            return Ok(Supposed {
                object: Forms::new(object.clone()),
                was: None,
                written: object,
            });
        }
        let located = manifest.locate(discovery, &self.home);
        let (resource, object) = match kinds::find(&self.kinds_to_come, &kind) {
            Some(_) => located.map_err(|failure| failure.advised(FIRST))?,
            None => located?,
        };
        let (tried, was) = self.try_located(&resource, &object).await?;
        self.take_along(&tried);
        Ok(Supposed {
            object: Forms::new(tried),
            was,
            written: object,
        })
    }

    /// Lets an object be known in every version in which somebody may mean it. What is not built in is taken to say there what
    /// it says in the version that it is written in, if the server takes it so.
    pub(super) async fn complete(
        &self,
        supposed: &mut Supposed,
        after: &Picture,
        templates: &Templates,
    ) {
        let object = supposed.object.main();
        if !supposed.is_written() {
            let known = templates.former(object);
            supposed.object.merge(known);
            return;
        }
        for kind in after.kinds_named(object, templates.binding_of(object)) {
            if let Some(form) = converted(supposed.object.main(), &kind) {
                supposed.object.add(form);
            } else if let Some(form) = self.try_as(supposed, &kind, &templates.discovery).await {
                supposed.object.assume(form);
            }
        }
    }

    /// What the server would make of an object if it were written in another version; nobody makes anything of one that only
    /// comes along.
    async fn try_as(
        &self,
        supposed: &Supposed,
        kind: &GroupVersionKind,
        discovery: &Discovery,
    ) -> Option<Object> {
        let mut written = supposed.written.clone();
        let name = supposed.object.main().name();
        written.set(&["apiVersion"], kind.api_version()).ok()?;
        written.set(&["metadata", "name"], name).ok()?;
        if kinds::find(&self.announced, kind).is_some() {
            return Some(written);
        }
        let resource = &discovery.find(kind)?.resource;
        let (tried, _) = self.try_located(resource, &written).await.ok()?;
        Some(tried)
    }

    /// From now on there is what an object brings along.
    fn take_along(&mut self, object: &Object) {
        if is_namespace(object) && self.spaces_to_come.remove(object.name()) {
            self.coming.insert(object.name().to_owned());
        }
        let brought = kinds::kinds_of(object);
        let kinds = self.kinds_to_come.iter();
        let kinds = kinds.filter(|known| brought.contains(&known.resource.kind));
        self.announced.extend(kinds.cloned());
        let is_still_to_come = |known: &Announced| !brought.contains(&known.resource.kind);
        self.kinds_to_come.retain(is_still_to_come);
    }

    /// An object as it would be, and as it is if it is there.
    async fn try_located(
        &self,
        resource: &ResourceType,
        object: &Object,
    ) -> Result<(Object, Option<Object>), Failure> {
        let failed = |error: CallError| call_failure(&error);
        let mut tried = match self.coming.contains(object.namespace()) {
            true => self.try_elsewhere(resource, object).await?,
            false => match self.rehearse(resource, object).await {
                Ok(tried) => tried,
                Err(error) => {
                    let is_late = self.spaces_to_come.contains(object.namespace());
                    let failure = write_failure(&self.control, resource, &error).await;
                    return Err(match is_late && error.is_not_found() {
                        true => failure.advised(FIRST),
                        false => failure,
                    });
                }
            },
        };
        let was = match object.name() {
            // Whatever name the server makes, nothing has it yet.
            "" => None,
            _ => self.find(resource, &object.key()).await?,
        };
        // What is not there yet has no revision and no uid, whatever the server says it would have: it says something else
        // every time.
        if was.is_some() {
            tried = finish_rehearsal(&self.control, resource, tried, &self.options())
                .await
                .map_err(failed)?;
        } else {
            tried.remove(&["metadata", "resourceVersion"]);
            tried.remove(&["metadata", "uid"]);
        }
        tried.remove(&["metadata", "managedFields"]);
        Ok((tried, was))
    }

    /// The same for an object whose namespace does not exist yet.
    async fn try_elsewhere(
        &self,
        resource: &ResourceType,
        object: &Object,
    ) -> Result<Object, Failure> {
        for stand_in in &self.present {
            let key = ObjectKey::namespaced(stand_in, object.name());
            let is_named = !object.name().is_empty();
            if is_named && self.find(resource, &key).await?.is_some() {
                continue;
            }
            let mut moved = object.clone();
            move_to(&mut moved, stand_in)?;
            let mut tried = match self.rehearse(resource, &moved).await {
                Ok(tried) => tried,
                Err(error) => return Err(write_failure(&self.control, resource, &error).await),
            };
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

    /// Applies the object, or creates it if the server is to make its name; nothing is kept.
    async fn rehearse(
        &self,
        resource: &ResourceType,
        object: &Object,
    ) -> Result<Object, CallError> {
        let options = self.options();
        if object.name().is_empty() {
            return self.control.create(resource, object, &options).await;
        }
        self.control
            .apply(resource, object, true, &Part::Object, &options)
            .await
    }

    async fn find(
        &self,
        resource: &ResourceType,
        key: &ObjectKey,
    ) -> Result<Option<Object>, Failure> {
        match self.control.get(resource, key).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(call_failure(&error)),
        }
    }

    /// As `apply` would: the server takes away only what the same one has applied before.
    fn options(&self) -> WriteOptions {
        WriteOptions {
            dry_run: true,
            ..WriteOptions::by(self.manager.clone())
        }
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

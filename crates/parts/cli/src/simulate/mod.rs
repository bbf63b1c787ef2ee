//! What would happen, without doing it.
//!
//! The control plane is read twice over: as it is, and as it would be. For every template that either picture concerns,
//! the rules say where it would go and what each cluster would get; the difference to the works there are now is the
//! answer.

mod along;
mod change;
mod decide;
mod groups;
mod stage;
mod text;

use std::collections::BTreeMap;

use api::registry;
use api::well_known::feature_gates::Gate;
use client::{Client, ListOptions};
use object::time::Time;
use object::{GroupVersionKind, Object, ObjectKey, ResourceType};

pub(crate) use change::Line;

use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::nearest::cluster_hint;
use crate::picture::{Picture, Presumption};
use crate::reach::call_failure;
use crate::reading::Answer;
use stage::Stage;

/// What is supposed.
#[derive(Clone, Debug, Default)]
pub struct Supposition {
    /// These objects are applied.
    pub manifests: Vec<Manifest>,
    /// These clusters are lost.
    pub lost: Vec<String>,
    /// The namespace of objects that name none; what the kubeconfig names if absent.
    pub namespace: Option<String>,
    /// Answer programs.
    pub json: bool,
    /// What does not change too.
    pub all: bool,
    /// What the control plane is presumed to run with, in place of what it says itself.
    pub presumed: Presumption,
}

/// Says what would happen.
pub async fn simulate(
    control: &Client,
    supposed: &Supposition,
    now: Time,
) -> Result<Answer, Failure> {
    if supposed.manifests.is_empty() && supposed.lost.is_empty() {
        return Err(Failure::refused(
            "nothing is supposed",
            "name a file with -f, or a cluster with --lose",
        ));
    }
    let before = Picture::read(control, &supposed.presumed).await?;
    for lost in &supposed.lost {
        if !before.clusters.contains_key(lost) {
            return Err(Failure::refused(
                format!("clusters don't exist: {lost}"),
                cluster_hint(&[lost], before.clusters.keys().map(String::as_str)),
            ));
        }
    }
    let namespace = match &supposed.namespace {
        Some(namespace) => namespace.clone(),
        None => control.raw().default_namespace().to_owned(),
    };
    let mut after = before.clone();
    after
        .clusters
        .retain(|name, _| !supposed.lost.contains(name));
    let mut templates = Templates::read(control).await?;
    let mut refused = Vec::new();
    let stage = Stage::read(control, &namespace, &supposed.manifests).await?;
    for manifest in &supposed.manifests {
        match stage.try_on(manifest, &templates.discovery).await {
            Ok((_, object)) => {
                if !after.take(&object) {
                    templates.put(object);
                }
            }
            Err(failure) => refused.push((manifest.place.clone(), failure)),
        }
    }
    templates.add_selected(control, &after).await?;
    templates.add_references(control, &after).await?;
    let outcome = decide::decide(&before, &after, &templates, &supposed.lost, now);
    let text = match supposed.json {
        true => crate::reading::write_document(&text::to_value(&outcome), false)?,
        false => text::write(&outcome, supposed.all, refused.len()),
    };
    Ok(Answer {
        text,
        notes: before.unreadable,
        failure: crate::reading::blame_places(refused),
    })
}

/// The templates there are and would be, their bindings and works.
pub(crate) struct Templates {
    discovery: client::Discovery,
    /// By kind and name; with what was there before, if it is another.
    found: BTreeMap<(String, ObjectKey), Template>,
    /// By namespace and name of the binding.
    pub(crate) bindings: BTreeMap<ObjectKey, Object>,
    /// By the name of the binding they are of.
    pub(crate) works: Vec<Object>,
}

/// A template that is or would be.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    /// As it would be.
    pub(crate) object: Object,
    /// Whether it is there already.
    pub(crate) is_there: bool,
    /// Whether it is one of those that are supposed.
    pub(crate) is_supposed: bool,
}

impl Templates {
    /// All templates that have a binding.
    async fn read(control: &Client) -> Result<Self, Failure> {
        let list = async |kind: &registry::Resource| {
            let options = ListOptions::default();
            let listed = control
                .list_all(&ResourceType::from(kind), "", &options)
                .await;
            Ok::<_, Failure>(listed.map_err(|error| call_failure(&error))?.items)
        };
        let discovery = control
            .discover()
            .await
            .map_err(|error| call_failure(&error))?;
        let mut all = Self {
            discovery,
            found: BTreeMap::new(),
            bindings: BTreeMap::new(),
            works: list(&registry::WORK).await?,
        };
        let mut bindings = list(&registry::RESOURCE_BINDING).await?;
        bindings.extend(list(&registry::CLUSTER_RESOURCE_BINDING).await?);
        for binding in bindings {
            let text = |field: &str| {
                binding
                    .text_at(&["spec", "resource", field])
                    .unwrap_or_default()
            };
            let kind = GroupVersionKind::from_api_version(text("apiVersion"), text("kind"));
            let Ok(kind) = kind else { continue };
            let key = ObjectKey::namespaced(text("namespace"), text("name"));
            let resource = all
                .discovery
                .find(&kind)
                .map(|found| found.resource.clone());
            if let Some(resource) = resource {
                match control.get(&resource, &key).await {
                    Ok(object) => all.keep(object, true),
                    Err(error) if error.is_not_found() => {}
                    Err(error) => return Err(call_failure(&error)),
                }
            }
            all.bindings.insert(binding.key(), binding);
        }
        Ok(all)
    }

    fn keep(&mut self, object: Object, is_there: bool) {
        let key = (object.kind().to_owned(), object.key());
        let known = self.found.get(&key).is_some_and(|known| known.is_there);
        let template = Template {
            object,
            is_there: is_there || known,
            is_supposed: false,
        };
        self.found.insert(key, template);
    }

    /// A template as it would be.
    fn put(&mut self, object: Object) {
        let is_there = !object.resource_version().is_empty();
        let key = (object.kind().to_owned(), object.key());
        self.keep(object, is_there);
        if let Some(template) = self.found.get_mut(&key) {
            template.is_supposed = true;
        }
    }

    /// Templates without a binding that a policy would claim.
    async fn add_selected(&mut self, control: &Client, after: &Picture) -> Result<(), Failure> {
        let mut kinds: BTreeMap<(String, String), ()> = BTreeMap::new();
        for policy in after.policies.policies() {
            for selector in &policy.spec.resource_selectors {
                kinds.insert((selector.api_version.clone(), selector.kind.clone()), ());
            }
        }
        for (api_version, kind) in kinds.into_keys() {
            let Ok(kind) = GroupVersionKind::from_api_version(&api_version, &kind) else {
                continue;
            };
            let Some(found) = self.discovery.find(&kind) else {
                continue;
            };
            let resource = found.resource.clone();
            let options = ListOptions::default();
            let listed = control.list_all(&resource, "", &options).await;
            for object in listed.map_err(|error| call_failure(&error))?.items {
                let key = (object.kind().to_owned(), object.key());
                if !self.found.contains_key(&key) {
                    self.keep(object, true);
                }
            }
        }
        Ok(())
    }

    /// What claimed templates refer to, if their policies let it come along.
    async fn add_references(&mut self, control: &Client, after: &Picture) -> Result<(), Failure> {
        if !after.settings.gates.is_enabled(Gate::PropagateDeps) {
            return Ok(());
        }
        let mut wanted = Vec::new();
        for template in self.found.values() {
            let object = &template.object;
            let binding = self.bindings.get(&binding::terms::key(object));
            let claimed = after.claim(object, binding);
            let comes_along = |found: &policy::Match<'_>| found.policy.spec.propagate_deps;
            if claimed.claim.chosen.as_ref().is_some_and(comes_along) {
                wanted.extend(along::references(after, object));
            }
        }
        for reference in wanted {
            let key = ObjectKey::namespaced(&reference.namespace, &reference.name);
            if self
                .found
                .contains_key(&(reference.kind.clone(), key.clone()))
            {
                continue;
            }
            let kind = GroupVersionKind::from_api_version(&reference.api_version, &reference.kind);
            let Some(found) = kind.ok().and_then(|kind| self.discovery.find(&kind)) else {
                continue;
            };
            let resource = found.resource.clone();
            match control.get(&resource, &key).await {
                Ok(object) => self.keep(object, true),
                // Whoever refers to what is not there waits for it.
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(call_failure(&error)),
            }
        }
        Ok(())
    }

    /// All of them, by kind and name.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Template> {
        self.found.values()
    }
}

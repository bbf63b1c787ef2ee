//! The templates there are and would be.

use std::collections::{BTreeMap, BTreeSet};

use api::config::DependentObjectReference;
use api::registry;
use api::well_known::feature_gates::Gate;
use binding::{dependencies, terms};
use client::{Client, Discovered, Discovery, ListOptions};
use object::{GroupVersionKind, Object, ObjectKey, ResourceType};

use super::along;
use super::claims::Claims;
use super::fate::Fate;
use super::stage::Supposed;
use crate::failure::Failure;
use crate::picture::{Forms, Picture, namespaces};
use crate::reach::call_failure;

/// So many templates of a kind are read one by one.
const FEW: usize = 16;

/// The templates there are and would be, their bindings and works.
pub(crate) struct Templates {
    pub(super) discovery: Discovery,
    /// By kind and name; with what was there before, if it is another.
    found: BTreeMap<(String, ObjectKey), Template>,
    /// By namespace and name of the binding.
    pub(crate) bindings: BTreeMap<ObjectKey, Object>,
    /// By name, which those of one template share in all clusters.
    pub(crate) works: BTreeMap<String, Vec<Object>>,
    /// What puts taints on clusters, as far as this user may see it.
    pub(super) taint_policies: Vec<Object>,
}

/// What templates refer to by labels, of one resource in one namespace.
struct Labelled {
    resource: ResourceType,
    references: Vec<DependentObjectReference>,
}

/// A template that is or would be.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    /// As it would be.
    pub(crate) object: Forms,
    /// Whether it is there already.
    pub(crate) is_there: bool,
    /// Whether it is one of those that are supposed.
    pub(crate) is_supposed: bool,
    /// As it is, if that is known to be otherwise.
    pub(crate) was: Option<Box<Forms>>,
}

impl Template {
    /// What it is called, whatever version it is in.
    pub(super) fn id(&self) -> (String, ObjectKey) {
        let main = self.object.main();
        (main.kind().to_owned(), main.key())
    }

    /// As it is, if it is there.
    pub(super) fn former(&self) -> Option<&Forms> {
        match &self.was {
            Some(was) => Some(was),
            None => self.is_there.then_some(&self.object),
        }
    }

    /// What is known before anything is decided.
    pub(super) fn fate(&self) -> Fate {
        let object = self.object.main();
        let mut fate = Fate {
            kind: object.kind().to_owned(),
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            is_new: !self.is_there,
            is_edited: self.was.is_some(),
            is_supposed: self.is_supposed,
            ..Fate::default()
        };
        let generated = object.text_at(&["metadata", "generateName"]);
        if let Some(prefix) = generated.filter(|_| self.is_supposed && !self.is_there) {
            let remark = format!("its name is an example: the server makes one from {prefix:?}");
            fate.remarks.push(remark);
        }
        fate
    }
}

impl Templates {
    /// All templates that have a binding.
    pub(super) async fn read(control: &Client, discovery: Discovery) -> Result<Self, Failure> {
        let list = async |kind: &registry::Resource| {
            let options = ListOptions::default();
            let listed = control
                .list_all(&ResourceType::from(kind), "", &options)
                .await;
            Ok::<_, Failure>(listed.map_err(|error| call_failure(&error))?.items)
        };
        let mut all = Self {
            discovery,
            found: BTreeMap::new(),
            bindings: BTreeMap::new(),
            works: BTreeMap::new(),
            taint_policies: list(&registry::CLUSTER_TAINT_POLICY)
                .await
                .unwrap_or_default(),
        };
        for work in list(&registry::WORK).await? {
            all.works
                .entry(work.name().to_owned())
                .or_default()
                .push(work);
        }
        let mut bindings = list(&registry::RESOURCE_BINDING).await?;
        bindings.extend(list(&registry::CLUSTER_RESOURCE_BINDING).await?);
        let mut wanted: BTreeMap<GroupVersionKind, BTreeSet<ObjectKey>> = BTreeMap::new();
        for binding in bindings {
            let text = |field: &str| {
                binding
                    .text_at(&["spec", "resource", field])
                    .unwrap_or_default()
            };
            let kind = GroupVersionKind::from_api_version(text("apiVersion"), text("kind"));
            let Ok(kind) = kind else { continue };
            let key = ObjectKey::namespaced(text("namespace"), text("name"));
            wanted.entry(kind).or_default().insert(key);
            all.bindings.insert(binding.key(), binding);
        }
        for (kind, keys) in wanted {
            let resource = all.find(&kind);
            if let Some(resource) = resource.map(|found| found.resource.clone()) {
                all.read_kind(control, &resource, &keys).await?;
            }
        }
        Ok(all)
    }

    /// Templates of a kind, by name: one by one if they are few, else all that there are of the kind at once.
    async fn read_kind(
        &mut self,
        control: &Client,
        resource: &ResourceType,
        keys: &BTreeSet<ObjectKey>,
    ) -> Result<(), Failure> {
        if keys.len() > FEW {
            let listed = control
                .list_all(resource, "", &ListOptions::default())
                .await;
            match listed {
                Ok(listed) => {
                    let found = listed.items.into_iter();
                    found
                        .filter(|object| keys.contains(&object.key()))
                        .for_each(|object| self.keep(object));
                    return Ok(());
                }
                // Whoever may not list them may still read those that are named.
                Err(error) if error.is_forbidden() => {}
                Err(error) => return Err(call_failure(&error)),
            }
        }
        for key in keys {
            match control.get(resource, key).await {
                Ok(object) => self.keep(object),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(call_failure(&error)),
            }
        }
        Ok(())
    }

    /// Where objects of a kind are: in its version, or in the one that the server likes best if it is not served in that.
    fn find(&self, kind: &GroupVersionKind) -> Option<&Discovered> {
        let found = self.discovery.find(kind);
        found.or_else(|| self.discovery.find_kind(&kind.group_kind()))
    }

    /// A template as it is. One that is known already in another version is then known in both.
    fn keep(&mut self, object: Object) {
        let key = (object.kind().to_owned(), object.key());
        match self.found.get_mut(&key) {
            Some(known) if known.is_there && !known.is_supposed => known.object.add(object),
            Some(_) => {}
            None => {
                let template = Template {
                    object: Forms::new(object),
                    is_there: true,
                    is_supposed: false,
                    was: None,
                };
                self.found.insert(key, template);
            }
        }
    }

    /// A template as it would be, with what it is now if it is there.
    pub(super) fn put(&mut self, supposed: &Supposed) {
        let object = supposed.object.clone();
        let was = supposed.was.clone().filter(|_| supposed.is_written());
        let was = was.map(|was| {
            let mut was = Forms::new(was);
            was.merge(self.former(object.main()));
            Box::new(was)
        });
        let template = Template {
            object,
            is_there: supposed.was.is_some(),
            is_supposed: true,
            was,
        };
        self.found.insert(template.id(), template);
    }

    /// Templates without a binding that a policy would claim.
    pub(super) async fn add_selected(
        &mut self,
        control: &Client,
        after: &Picture,
    ) -> Result<(), Failure> {
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
            let Some(found) = self.find(&kind) else {
                continue;
            };
            let resource = found.resource.clone();
            let options = ListOptions::default();
            let listed = control.list_all(&resource, "", &options).await;
            for object in listed.map_err(|error| call_failure(&error))?.items {
                self.keep(object);
            }
        }
        Ok(())
    }

    /// What claimed templates refer to, if their policies let it come along; gives a doubt for what cannot be read.
    pub(super) async fn add_references(
        &mut self,
        control: &Client,
        after: &Picture,
        claims: &Claims,
    ) -> Result<BTreeSet<String>, Failure> {
        let mut doubts = BTreeSet::new();
        if !after.settings.gates.is_enabled(Gate::PropagateDeps) {
            return Ok(doubts);
        }
        let mut wanted = Vec::new();
        for template in self.found.values() {
            let Some(settled) = claims.of(template) else {
                continue;
            };
            let policy = settled.policy.as_ref();
            if policy.is_some_and(|policy| policy.spec.propagate_deps) {
                wanted.extend(along::references(after, settled.form(template)));
            }
        }
        // What is meant by labels, by the resource and the namespace in which it is.
        let mut labelled: BTreeMap<(GroupVersionKind, String), Labelled> = BTreeMap::new();
        for reference in wanted {
            let kind = GroupVersionKind::from_api_version(&reference.api_version, &reference.kind);
            let Some(found) = kind.ok().and_then(|kind| self.find(&kind)) else {
                continue;
            };
            let resource = found.resource.clone();
            if reference.name.is_empty() {
                let place = (resource.kind.clone(), reference.namespace.clone());
                let known = labelled.entry(place).or_insert_with(|| Labelled {
                    resource,
                    references: Vec::new(),
                });
                known.references.push(reference);
                continue;
            }
            let key = ObjectKey::namespaced(&reference.namespace, &reference.name);
            let known = (reference.kind.clone(), key.clone());
            if self.found.contains_key(&known) {
                continue;
            }
            match control.get(&resource, &key).await {
                Ok(object) => self.keep(object),
                // Whoever refers to what is not there waits for it.
                Err(error) if error.is_not_found() => {}
                Err(error) if error.is_forbidden() => {
                    let kind = &reference.kind;
                    let doubt = format!("{kind} {key} may come along; this user may not read it");
                    doubts.insert(doubt);
                }
                Err(error) => return Err(call_failure(&error)),
            }
        }
        for ((_, namespace), meant) in labelled {
            doubts.extend(self.add_labelled(control, &namespace, &meant).await?);
        }
        Ok(doubts)
    }

    /// What references by labels mean in a namespace; gives a doubt if that cannot be listed.
    async fn add_labelled(
        &mut self,
        control: &Client,
        namespace: &str,
        meant: &Labelled,
    ) -> Result<Option<String>, Failure> {
        let Labelled {
            resource,
            references,
        } = meant;
        let options = ListOptions::default();
        let listed = match control.list_all(resource, namespace, &options).await {
            Ok(listed) => listed.items,
            Err(error) if error.is_forbidden() => {
                let plural = &resource.plural;
                return Ok(Some(format!(
                    "{plural} in {namespace} may come along by their labels; this user may not list them"
                )));
            }
            Err(error) => return Err(call_failure(&error)),
        };
        let is_meant = |object: &Object| {
            let mut references = references.iter();
            references.any(|one| dependencies::means(one, namespace, &resource.kind, object))
        };
        for object in listed {
            if is_meant(&object) {
                self.keep(object);
            }
        }
        Ok(None)
    }

    /// All namespaces, which go to clusters by themselves; gives a doubt if they cannot be listed.
    pub(super) async fn add_namespaces(
        &mut self,
        control: &Client,
    ) -> Result<Option<String>, Failure> {
        let options = ListOptions::default();
        match control.list_all(&namespaces(), "", &options).await {
            Ok(listed) => {
                for object in listed.items {
                    self.keep(object);
                }
                Ok(None)
            }
            Err(error) if error.is_forbidden() => Ok(Some(
                "namespaces go to clusters too; this user may not list them".to_owned(),
            )),
            Err(error) => Err(call_failure(&error)),
        }
    }

    /// A template as it is, if it is there.
    pub(super) fn former(&self, template: &Object) -> Option<&Forms> {
        let key = (template.kind().to_owned(), template.key());
        self.found.get(&key)?.former()
    }

    /// The binding of a template, if there is one.
    pub(super) fn binding_of(&self, template: &Object) -> Option<&Object> {
        self.bindings.get(&terms::key(template))
    }

    /// All of them, by kind and name.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Template> {
        self.found.values()
    }
}

/// What the server writes on its own account whenever anything is written.
const SERVERS: [&str; 5] = [
    "resourceVersion",
    "generation",
    "managedFields",
    "creationTimestamp",
    "uid",
];

/// Whether somebody would find the object changed.
pub(super) fn is_edited(was: &Object, object: &Object) -> bool {
    let bare = |object: &Object| {
        let mut object = object.clone();
        for field in SERVERS {
            object.remove(&["metadata", field]);
        }
        object.remove(&["status"]);
        object
    };
    bare(was) != bare(object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_server_writes_by_itself_is_no_edit() {
        let object = |value: object::Value| Object::from_value(value).unwrap();
        let was = object(json!({
            "metadata": {"name": "a", "resourceVersion": "1", "generation": 1, "managedFields": []}, "data": {"a": "b"}, "status": {},
        }));
        for (other, expected) in [
            (
                json!({"metadata": {"name": "a", "resourceVersion": "2"}, "data": {"a": "b"}}),
                false,
            ),
            (
                json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"a": "b"}}),
                true,
            ),
            (json!({"metadata": {"name": "a"}, "data": {"a": "c"}}), true),
        ] {
            assert_eq!(is_edited(&was, &object(other.clone())), expected, "{other}");
        }
    }
}

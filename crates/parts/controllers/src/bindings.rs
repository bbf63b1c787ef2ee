//! All bindings of both kinds, and the works made from them, found by what they are about.

use std::{collections::BTreeSet, sync::Arc};

use api::{
    names,
    well_known::annotations::{
        CLUSTER_RESOURCE_BINDING_NAME, RESOURCE_BINDING_NAME, RESOURCE_BINDING_NAMESPACE,
    },
    work::{
        v1alpha1::Work,
        v1alpha2::{ClusterResourceBinding, ResourceBinding},
    },
};
use client::{Cache, Caches, CompleteView, Scope};
use object::{GroupKind, Object, ObjectKey, Value};
use policy::Holder;

use crate::{
    dependencies::{keys::may_refer, reference},
    kinds,
    templates::TemplateKey,
};

const BY_TEMPLATE: &str = "template";
const BY_CLUSTER: &str = "cluster";
/// Those that may note references, all under one text.
const REFERRING: &str = "referring";
/// Those that are to go, all under one text.
const ENDING: &str = "ending";
const BY_POLICY: &str = "policy";
const BY_DEPENDENCY: &str = "dependency";
const BY_REFERRER: &str = "referrer";
const BY_BINDING: &str = "binding";

/// All bindings and works; clones are the same.
#[derive(Clone, Debug)]
pub struct Bindings {
    /// The ResourceBindings.
    pub namespaced: Cache,
    /// The ClusterResourceBindings.
    pub cluster: Cache,
    /// The works.
    pub works: Cache,
}

impl Bindings {
    /// Follows them.
    #[must_use]
    pub fn follow(caches: &Caches) -> Self {
        let bindings = Self {
            namespaced: caches.follow(&kinds::of::<ResourceBinding>(), Scope::all()),
            cluster: caches.follow(&kinds::of::<ClusterResourceBinding>(), Scope::all()),
            works: caches.follow(&kinds::of::<Work>(), Scope::all()),
        };
        for cache in [&bindings.namespaced, &bindings.cluster] {
            cache.index_by(BY_TEMPLATE, |binding| {
                template_of(binding).map(entry).into_iter().collect()
            });
            cache.index_by(BY_CLUSTER, clusters_of);
            cache.index_by(ENDING, |binding| {
                let is_ending = binding.is_terminating();
                is_ending.then(|| ENDING.to_owned()).into_iter().collect()
            });
            cache.index_by(BY_POLICY, |binding| {
                let holder = Holder::of(binding);
                holder
                    .map(|holder| holder.permanent_id)
                    .into_iter()
                    .collect()
            });
        }
        bindings
            .namespaced
            .index_by(BY_DEPENDENCY, reference::entries);
        bindings.namespaced.index_by(REFERRING, |binding| {
            let refers = may_refer(binding);
            refers.then(|| REFERRING.to_owned()).into_iter().collect()
        });
        bindings.namespaced.index_by(BY_REFERRER, referrers_of);
        bindings.works.index_by(BY_BINDING, |work| {
            let binding = binding_of(work);
            binding.map(|key| key.to_string()).into_iter().collect()
        });
        bindings
    }

    /// One binding; without a namespace it is a ClusterResourceBinding.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.cache(&key.namespace).get(key)
    }

    /// Whether the binding is there, is to stay, and has the cluster among those it goes to or leaves.
    ///
    /// It is asked of every work there is after a restart, so no binding is opened for it.
    #[must_use]
    pub fn wants(&self, key: &ObjectKey, cluster: &str) -> bool {
        let cache = self.cache(&key.namespace);
        cache.is_indexed(BY_CLUSTER, cluster, key) && !cache.is_indexed(ENDING, ENDING, key)
    }

    /// Whether it is known that the binding is not there.
    #[must_use]
    pub fn is_gone(&self, key: &ObjectKey) -> bool {
        self.cache(&key.namespace)
            .complete()
            .is_some_and(|view| view.get(key).is_none())
    }

    /// The bindings of a template.
    #[must_use]
    pub fn of_template(&self, template: &TemplateKey) -> Vec<Arc<Object>> {
        self.both(BY_TEMPLATE, &entry(template.clone()))
    }

    /// The keys of the bindings of a template.
    #[must_use]
    pub fn keys_of_template(&self, template: &TemplateKey) -> Vec<ObjectKey> {
        self.keys_of_both(BY_TEMPLATE, &entry(template.clone()))
    }

    /// The keys of the bindings of a template that may have to note references, or to have their notes taken away.
    #[must_use]
    pub fn may_refer(&self, template: &TemplateKey) -> Vec<ObjectKey> {
        let mut keys = self.keys_of_template(template);
        keys.retain(|key| self.namespaced.is_indexed(REFERRING, REFERRING, key));
        keys
    }

    /// The keys of the bindings that have the cluster among those they go to or leave.
    #[must_use]
    pub fn on_cluster(&self, cluster: &str) -> Vec<ObjectKey> {
        self.keys_of_both(BY_CLUSTER, cluster)
    }

    /// The bindings that carry the claim of a policy with this permanent id.
    #[must_use]
    pub fn held_by(&self, permanent_id: &str) -> Vec<Arc<Object>> {
        self.both(BY_POLICY, permanent_id)
    }

    /// The bindings that note a reference under this entry.
    #[must_use]
    pub fn referring(&self, entry: &str) -> Vec<Arc<Object>> {
        self.namespaced.indexed(BY_DEPENDENCY, entry)
    }

    /// The bindings that carry a snapshot of this one.
    #[must_use]
    pub fn attached_to(&self, referrer: &ObjectKey) -> Vec<Arc<Object>> {
        self.namespaced.indexed(BY_REFERRER, &referrer.to_string())
    }

    /// The works of a binding, and all works if none is missing.
    #[must_use]
    pub fn works_of(&self, binding: &ObjectKey) -> (Vec<Arc<Object>>, Option<CompleteView>) {
        let view = self.works.complete();
        (self.works.indexed(BY_BINDING, &binding.to_string()), view)
    }

    /// All bindings of both kinds.
    pub fn all(&self) -> impl Iterator<Item = Arc<Object>> + use<> {
        self.namespaced.walk().chain(self.cluster.walk())
    }

    /// Whether all bindings are in view.
    #[must_use]
    pub fn are_all_in_view(&self) -> bool {
        self.namespaced.complete().is_some() && self.cluster.complete().is_some()
    }

    fn cache(&self, namespace: &str) -> &Cache {
        if namespace.is_empty() {
            &self.cluster
        } else {
            &self.namespaced
        }
    }

    fn keys_of_both(&self, index: &str, entry: &str) -> Vec<ObjectKey> {
        let mut found = self.namespaced.indexed_keys(index, entry);
        found.extend(self.cluster.indexed_keys(index, entry));
        found
    }

    fn both(&self, index: &str, entry: &str) -> Vec<Arc<Object>> {
        let mut found = self.namespaced.indexed(index, entry);
        found.extend(self.cluster.indexed(index, entry));
        found
    }
}

/// The template of a binding; `None` if it names none, or one of another namespace.
///
/// A ResourceBinding is for objects of its own namespace alone: whoever may write one there would otherwise have any
/// object sent to any member, with the rights of the control plane.
#[must_use]
pub fn template_of(binding: &Object) -> Option<TemplateKey> {
    let named = named_by(binding)?;
    is_at_home(binding, &named.key.namespace).then_some(named)
}

/// Why a binding cannot be for what it names; `None` if it can.
#[must_use]
pub fn misplacement(
    binding: &Object,
    is_cluster_wide: impl Fn(&GroupKind) -> bool,
) -> Option<String> {
    let named = named_by(binding)?;
    let own = binding.namespace();
    if !is_at_home(binding, &named.key.namespace) {
        return Some(format!(
            "spec.resource.namespace is {:?}: a ResourceBinding in namespace {own} is for objects of that namespace alone",
            named.key.namespace
        ));
    }
    (!own.is_empty() && is_cluster_wide(&named.kind)).then(|| {
        format!(
            "spec.resource.kind {} has no namespace: a ResourceBinding in namespace {own} is for objects of that namespace alone",
            named.kind
        )
    })
}

/// What a binding names, whether it may be for it or not.
pub(crate) fn named_by(binding: &Object) -> Option<TemplateKey> {
    let text = |field: &str| binding.text_at(&["spec", "resource", field]);
    let api_version = text("apiVersion")?;
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    Some(TemplateKey {
        kind: GroupKind::new(group, text("kind")?),
        key: ObjectKey::namespaced(text("namespace").unwrap_or_default(), text("name")?),
    })
}

/// The version in which a binding names its template.
#[must_use]
pub fn version_of(binding: &Object) -> &str {
    let api_version = binding.text_at(&["spec", "resource", "apiVersion"]);
    let api_version = api_version.unwrap_or_default();
    api_version
        .rsplit_once('/')
        .map_or(api_version, |(_, version)| version)
}

/// Whether a binding may be for objects of a namespace. Those that are cluster-wide themselves may be for any.
fn is_at_home(binding: &Object, namespace: &str) -> bool {
    let own = binding.namespace();
    own.is_empty() || own == namespace
}

/// The binding that a work was made for; `None` for works of others.
#[must_use]
pub fn binding_of(work: &Object) -> Option<ObjectKey> {
    if let Some(name) = work.annotation(CLUSTER_RESOURCE_BINDING_NAME) {
        return Some(ObjectKey::namespaced("", name));
    }
    let namespace = work.annotation(RESOURCE_BINDING_NAMESPACE)?;
    Some(ObjectKey::namespaced(
        namespace,
        work.annotation(RESOURCE_BINDING_NAME)?,
    ))
}

/// The clusters that a binding goes to, is needed on, or leaves.
#[must_use]
pub fn clusters_of(binding: &Object) -> Vec<String> {
    let list = |path: &[&str]| {
        binding
            .at(path)
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default()
    };
    let text = |item: &Value, field: &str| -> Option<String> {
        item.get(field).and_then(Value::as_str).map(str::to_owned)
    };
    let chosen = list(&["spec", "clusters"]).iter();
    let required = list(&["spec", "requiredBy"]).iter().flat_map(|snapshot| {
        snapshot
            .get("clusters")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    });
    let left = list(&["spec", "gracefulEvictionTasks"]).iter();
    let names: BTreeSet<String> = chosen
        .chain(required)
        .filter_map(|target| text(target, "name"))
        .chain(left.filter_map(|task| text(task, "fromCluster")))
        .collect();
    names.into_iter().collect()
}

/// The cluster a work is for.
#[must_use]
pub fn cluster_of(work: &Object) -> Option<&str> {
    names::cluster_of_execution_space(work.namespace())
}

/// The bindings whose snapshots a binding carries.
fn referrers_of(binding: &Object) -> Vec<String> {
    let snapshots = binding
        .at(&["spec", "requiredBy"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    snapshots
        .filter_map(|snapshot| {
            let text = |field: &str| snapshot.get(field).and_then(Value::as_str);
            let namespace = text("namespace").unwrap_or_default();
            Some(ObjectKey::namespaced(namespace, text("name")?).to_string())
        })
        .collect()
}

fn entry(template: TemplateKey) -> String {
    format!("{} {}", template.kind, template.key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::one;

    #[test]
    fn a_binding_in_a_namespace_is_for_objects_of_that_namespace_alone() {
        for (own, kind, named, expected) in [
            ("test", "Secret", "namespace: test, ", Ok("test/x")),
            (
                "test",
                "Secret",
                "namespace: kube-system, ",
                Err("spec.resource.namespace is \"kube-system\""),
            ),
            ("test", "Secret", "", Err("spec.resource.namespace is \"\"")),
            (
                "test",
                "Namespace",
                "",
                Err("spec.resource.namespace is \"\""),
            ),
            (
                "test",
                "Namespace",
                "namespace: test, ",
                Err("spec.resource.kind Namespace has no namespace"),
            ),
            ("", "Namespace", "", Ok("x")),
        ] {
            let binding = one(&format!(
                "{{metadata: {{name: b, namespace: '{own}'}}, spec: {{resource: {{apiVersion: v1, kind: {kind}, {named}name: x}}}}}}"
            ));
            let problem = misplacement(&binding, |kind| kind.kind == "Namespace");
            let case = format!("{own} {kind} {named}");
            match expected {
                Ok(key) => {
                    assert_eq!(problem, None, "{case}");
                    let found = template_of(&binding).map(|found| found.key.to_string());
                    assert_eq!(found.as_deref(), Some(key), "{case}");
                }
                Err(text) => {
                    let problem = problem.unwrap_or_default();
                    assert!(problem.starts_with(text), "{case}: {problem}");
                    // No object of a kind without namespaces is found in one.
                    let found = template_of(&binding).map(|found| found.key.namespace);
                    assert!(found.is_none_or(|namespace| namespace == own), "{case}");
                }
            }
        }
    }
}

//! Bindings that want to be with others of their group, or apart from them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use object::{Object, ObjectKey, Value};
use schedule::{
    Target,
    plugin::{Peer, Peers},
};

use crate::bound::Bound;

/// The name of the index that [`keys`] makes.
pub(crate) const INDEX: &str = "workload groups";

/// What the index finds a binding by: its groups, which are per namespace.
#[must_use]
pub(crate) fn keys(binding: &Object) -> Vec<String> {
    let group = |field: &str| {
        let group = binding.text_at(&["spec", "workloadAffinityGroups", field])?;
        (!group.is_empty()).then(|| key(field, binding.namespace(), group))
    };
    [AFFINITY, ANTI_AFFINITY]
        .into_iter()
        .filter_map(group)
        .collect()
}

const AFFINITY: &str = "affinityGroup";
const ANTI_AFFINITY: &str = "antiAffinityGroup";

fn key(field: &str, namespace: &str, group: &str) -> String {
    format!("{field}/{namespace}/{group}")
}

/// Where a binding goes, as one of a group.
#[must_use]
pub(crate) fn peer(binding: &Object) -> Peer {
    let clusters = binding.at(&["spec", "clusters"]).and_then(Value::as_array);
    let name = |target: &Value| Some(target.get("name")?.as_str()?.into());
    Peer {
        name: binding.name().into(),
        version: version(binding),
        clusters: clusters.into_iter().flatten().filter_map(name).collect(),
    }
}

/// Revisions of one server are numbers that grow; what is no number is older than everything.
fn version(binding: &Object) -> u64 {
    binding.resource_version().parse().unwrap_or(0)
}

/// Where members of groups are ahead of the cache: where decisions in flight mean to put them, and where results of our own
/// put them that it does not show yet.
///
/// Invariant: everything is looked at and changed under one lock, the cache among it, so that of two members decided at once
/// the second sees the first.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    meant: HashMap<ObjectKey, Peer>,
    written: HashMap<ObjectKey, Peer>,
}

/// A place that a decision means to give; given up when this is dropped. By then it was [written](Ahead::put), or never will
/// be.
#[derive(Debug)]
pub(crate) struct Meant<'a>(Option<(&'a Ahead, ObjectKey)>);

impl Ahead {
    /// The other members of the binding's groups, found through `find`.
    #[must_use]
    pub(crate) fn peers(&self, bound: &Bound, find: impl Fn(&str) -> Vec<Arc<Object>>) -> Peers {
        self.lock().peers(bound, find)
    }

    /// Means to put a binding there, as decided with these peers. `None` if one of them has gone elsewhere meanwhile: then
    /// the decision is worth nothing.
    #[must_use]
    pub(crate) fn mean(
        &self,
        bound: &Bound,
        seen: &Peers,
        targets: &[Target],
        find: impl Fn(&str) -> Vec<Arc<Object>>,
    ) -> Option<Meant<'_>> {
        if bound.spec.workload_affinity_groups.is_none() {
            return Some(Meant(None));
        }
        let mut inner = self.lock();
        if !is_unmoved(seen, &inner.peers(bound, find)) {
            return None;
        }
        let metadata = &bound.metadata;
        let key = ObjectKey::namespaced(metadata.namespace.as_str(), metadata.name.as_str());
        let peer = Peer {
            name: metadata.name.as_str().into(),
            version: u64::MAX,
            clusters: targets
                .iter()
                .map(|target| Arc::clone(&target.cluster))
                .collect(),
        };
        inner.meant.insert(key.clone(), peer);
        Some(Meant(Some((self, key))))
    }

    /// Remembers a binding as the server answered our write.
    pub(crate) fn put(&self, binding: &Object) {
        self.lock().written.insert(binding.key(), peer(binding));
    }

    /// Forgets it once the cache shows it, or something newer.
    pub(crate) fn seen(&self, key: &ObjectKey, binding: Option<&Object>) {
        let mut inner = self.lock();
        let Some(written) = inner.written.get(key) else {
            return;
        };
        if binding.is_none_or(|binding| version(binding) >= written.version) {
            inner.written.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Each change is one insertion or removal.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn peers(&self, bound: &Bound, find: impl Fn(&str) -> Vec<Arc<Object>>) -> Peers {
        let Some(groups) = &bound.spec.workload_affinity_groups else {
            return Peers::default();
        };
        let namespace = bound.metadata.namespace.as_str();
        let members = |field: &str, group: &str| -> Vec<Peer> {
            if group.is_empty() || namespace.is_empty() {
                return Vec::new();
            }
            find(&key(field, namespace, group))
                .iter()
                .filter(|member| member.name() != bound.metadata.name)
                .map(|member| Peer::newer(peer(member), self.get(&member.key())))
                .collect()
        };
        Peers {
            affinity: members(AFFINITY, &groups.affinity_group),
            anti_affinity: members(ANTI_AFFINITY, &groups.anti_affinity_group),
        }
    }

    fn get(&self, key: &ObjectKey) -> Option<Peer> {
        let found = self.meant.get(key).or_else(|| self.written.get(key));
        found.cloned()
    }
}

impl Drop for Meant<'_> {
    fn drop(&mut self) {
        if let Some((ahead, key)) = &self.0 {
            ahead.lock().meant.remove(key);
        }
    }
}

/// Whether everybody is where he was; in which version does not matter.
fn is_unmoved(before: &Peers, now: &Peers) -> bool {
    let is_there =
        |one: &Peer, other: &Peer| (&one.name, &one.clusters) == (&other.name, &other.clusters);
    let are_there = |before: &[Peer], now: &[Peer]| {
        before.len() == now.len()
            && before
                .iter()
                .zip(now)
                .all(|(one, other)| is_there(one, other))
    };
    are_there(&before.affinity, &now.affinity)
        && are_there(&before.anti_affinity, &now.anti_affinity)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn binding(name: &str, version: &str, group: &str, clusters: &[&str]) -> Object {
        let clusters: Vec<Value> = clusters.iter().map(|name| json!({"name": name})).collect();
        Object::from_value(json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": name, "namespace": "shop", "resourceVersion": version},
            "spec": {"workloadAffinityGroups": {"antiAffinityGroup": group}, "clusters": clusters},
        }))
        .unwrap()
    }

    const NAMES: [&str; 3] = ["a", "b", "c"];

    /// A cache that shows these, and who asks.
    fn shown(bindings: Vec<Object>) -> (Bound, impl Fn(&str) -> Vec<Arc<Object>>) {
        let all: Vec<Arc<Object>> = bindings.into_iter().map(Arc::new).collect();
        let first = Bound::read(&all[0]).unwrap();
        let find = move |key: &str| -> Vec<Arc<Object>> {
            let found = all
                .iter()
                .filter(|object| keys(object).iter().any(|known| known == key));
            found.cloned().collect()
        };
        (first, find)
    }

    fn apart_from(peers: &Peers) -> Vec<String> {
        let line = |peer: &Peer| format!("{} {}", peer.name, peer.clusters.join("+"));
        peers.anti_affinity.iter().map(line).collect()
    }

    #[test]
    fn members_see_each_other_before_the_cache_shows_it() {
        let ahead = Ahead::default();
        let old = binding("b", "2", "app=web", &["m1"]);
        let (a, find) = shown(vec![
            binding("a", "1", "app=web", &[]),
            old.clone(),
            binding("c", "3", "app=db", &["m2"]),
        ]);
        let seen = || apart_from(&ahead.peers(&a, &find));
        assert_eq!(seen(), ["b m1"]);
        let moved = binding("b", "9", "app=web", &["m1", "m3"]);
        ahead.put(&moved);
        assert_eq!(seen(), ["b m1+m3"]);
        ahead.seen(&moved.key(), Some(&old));
        assert_eq!(seen(), ["b m1+m3"]);
        ahead.seen(&moved.key(), Some(&moved));
        assert_eq!(seen(), ["b m1"]);
    }

    #[test]
    fn of_members_decided_at_once_the_second_decides_again() {
        let ahead = Ahead::default();
        let all = || {
            NAMES
                .map(|name| binding(name, "1", "app=web", &[]))
                .to_vec()
        };
        let (a, find) = shown(all());
        let mut others = all();
        others.rotate_left(1);
        let (b, _) = shown(others);
        let to = |name: &str| {
            [Target {
                cluster: name.into(),
                replicas: 1,
            }]
        };
        let (of_a, of_b) = (ahead.peers(&a, &find), ahead.peers(&b, &find));
        let meant = ahead.mean(&a, &of_a, &to("m1"), &find).unwrap();
        assert!(ahead.mean(&b, &of_b, &to("m1"), &find).is_none());
        let again = ahead.peers(&b, &find);
        assert_eq!(apart_from(&again), ["a m1", "c "]);
        // The second goes elsewhere, and the first is not disturbed by it.
        let other = ahead.mean(&b, &again, &to("m2"), &find).unwrap();
        // What was written stays known; what was not is free again.
        ahead.put(&binding("a", "5", "app=web", &["m1"]));
        drop((meant, other));
        assert_eq!(apart_from(&ahead.peers(&b, &find)), ["a m1", "c "]);
        assert_eq!(apart_from(&ahead.peers(&a, &find)), ["b ", "c "]);
    }
}

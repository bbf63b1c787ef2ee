//! Bindings that want to be with others of their group, or apart from them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use object::{Object, ObjectKey, Value};
use schedule::plugin::{Peer, Peers};

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

/// The other members of the binding's groups, found through `find`.
#[must_use]
pub(crate) fn peers(
    bound: &Bound,
    just_written: &JustWritten,
    find: impl Fn(&str) -> Vec<Arc<Object>>,
) -> Peers {
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
            .map(|member| Peer::newer(peer(member), just_written.get(&member.key())))
            .collect()
    };
    Peers {
        affinity: members(AFFINITY, &groups.affinity_group),
        anti_affinity: members(ANTI_AFFINITY, &groups.anti_affinity_group),
    }
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

/// Results of our own that the cache does not show yet.
#[derive(Debug, Default)]
pub(crate) struct JustWritten {
    by_key: Mutex<HashMap<ObjectKey, Peer>>,
}

impl JustWritten {
    /// Remembers a binding as the server answered our write.
    pub(crate) fn put(&self, binding: &Object) {
        self.lock().insert(binding.key(), peer(binding));
    }

    /// Forgets it once the cache shows it, or something newer.
    pub(crate) fn seen(&self, key: &ObjectKey, binding: Option<&Object>) {
        let mut by_key = self.lock();
        let Some(written) = by_key.get(key) else {
            return;
        };
        if binding.is_none_or(|binding| version(binding) >= written.version) {
            by_key.remove(key);
        }
    }

    fn get(&self, key: &ObjectKey) -> Option<Peer> {
        self.lock().get(key).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ObjectKey, Peer>> {
        // Each change is one insertion or removal.
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

    #[test]
    fn members_see_each_other_before_the_cache_shows_it() {
        let just_written = JustWritten::default();
        let all: Vec<Arc<Object>> = [
            binding("a", "1", "app=web", &[]),
            binding("b", "2", "app=web", &["m1"]),
            binding("c", "3", "app=db", &["m2"]),
        ]
        .map(Arc::new)
        .into();
        let find = |key: &str| -> Vec<Arc<Object>> {
            let found = all
                .iter()
                .filter(|object| keys(object).iter().any(|known| known == key));
            found.cloned().collect()
        };
        let a = Bound::read(&all[0]).unwrap();
        let show = |peers: Peers| -> Vec<String> {
            let line = |peer: &Peer| format!("{} {}", peer.name, peer.clusters.join("+"));
            peers.anti_affinity.iter().map(line).collect()
        };
        assert_eq!(show(peers(&a, &just_written, find)), ["b m1"]);
        let moved = binding("b", "9", "app=web", &["m1", "m3"]);
        just_written.put(&moved);
        assert_eq!(show(peers(&a, &just_written, find)), ["b m1+m3"]);
        just_written.seen(&moved.key(), Some(&all[1]));
        assert_eq!(show(peers(&a, &just_written, find)), ["b m1+m3"]);
        just_written.seen(&moved.key(), Some(&moved));
        assert_eq!(show(peers(&a, &just_written, find)), ["b m1"]);
    }
}

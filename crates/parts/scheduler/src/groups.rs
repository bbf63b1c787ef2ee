//! Bindings that want to be with others of their group, or apart from them.

use std::{
    collections::{BTreeSet, HashMap},
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

/// Whether a binding is of any group.
#[must_use]
pub(crate) fn is_grouped(binding: &Object) -> bool {
    binding.at(&["spec", "workloadAffinityGroups"]).is_some()
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
        clusters: sorted(clusters.into_iter().flatten().filter_map(name)),
        is_meant: false,
    }
}

/// Whether a change of a binding may suit others of its groups: it went elsewhere, or to another group.
#[must_use]
pub(crate) fn may_matter_to_peers(before: Option<&Object>, after: Option<&Object>) -> bool {
    let place = |binding: Option<&Object>| {
        let binding = binding?;
        let clusters = peer(binding).clusters;
        (!clusters.is_empty()).then(|| (clusters, keys(binding)))
    };
    place(before) != place(after)
}

/// The list of targets is a set, and is compared.
fn sorted(clusters: impl Iterator<Item = Arc<str>>) -> Vec<Arc<str>> {
    let mut clusters: Vec<Arc<str>> = clusters.collect();
    clusters.sort_unstable();
    clusters
}

/// Revisions of one server are numbers that grow; what is no number is older than everything.
fn version(binding: &Object) -> u64 {
    binding.resource_version().parse().unwrap_or(0)
}

/// Where members of groups are ahead of the cache: where decisions in flight mean to put them, and where results of our own
/// put them that it does not show yet.
///
/// Invariant: a place is meant under the lock under which it was seen to be free, so that of two members decided at once the
/// second sees the first.
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
        if bound.spec.workload_affinity_groups.is_none() {
            return Peers::default();
        }
        // Nobody waits while members are opened. What is forgotten after this, the cache shows when it is asked next.
        let ahead = self.lock().in_namespace(&bound.metadata.namespace);
        ahead.peers(bound, find)
    }

    /// Means to put a binding there, as decided with these peers. `None` if one of them is to be reckoned with elsewhere
    /// since: then the decision is worth nothing.
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
        if !knows_all_of(seen, &inner.peers(bound, find)) {
            return None;
        }
        let metadata = &bound.metadata;
        let key = ObjectKey::namespaced(metadata.namespace.as_str(), metadata.name.as_str());
        let peer = Peer {
            name: metadata.name.as_str().into(),
            version: 0,
            clusters: sorted(targets.iter().map(|target| Arc::clone(&target.cluster))),
            is_meant: true,
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
                .flat_map(|member| self.places(member))
                .collect()
        };
        Peers {
            affinity: members(AFFINITY, &groups.affinity_group),
            anti_affinity: members(ANTI_AFFINITY, &groups.anti_affinity_group),
        }
    }

    /// Where a member is, and where it means to be if that is elsewhere: its write may be refused yet.
    fn places(&self, member: &Object) -> impl Iterator<Item = Peer> {
        let key = member.key();
        let there = Peer::newer(peer(member), self.written.get(&key).cloned());
        let meant = self.meant.get(&key);
        let meant = meant.filter(|meant| meant.clusters != there.clusters);
        [Some(there), meant.cloned()].into_iter().flatten()
    }

    /// What is known of the members in a namespace.
    fn in_namespace(&self, namespace: &str) -> Self {
        let within = |all: &HashMap<ObjectKey, Peer>| {
            let all = all.iter().filter(|(key, _)| key.namespace == namespace);
            all.map(|(key, peer)| (key.clone(), peer.clone())).collect()
        };
        Self {
            meant: within(&self.meant),
            written: within(&self.written),
        }
    }
}

impl Drop for Meant<'_> {
    fn drop(&mut self) {
        if let Some((ahead, key)) = &self.0 {
            ahead.lock().meant.remove(key);
        }
    }
}

/// Whether every place that is to be reckoned with was known before. One that was given up meanwhile, or was only meant and
/// is written now, makes no decision wrong that reckoned with it.
fn knows_all_of(before: &Peers, now: &Peers) -> bool {
    fn places(peers: &[Peer]) -> BTreeSet<(&str, &[Arc<str>])> {
        let placed = peers.iter().filter(|peer| !peer.clusters.is_empty());
        placed.map(|peer| (&*peer.name, &*peer.clusters)).collect()
    }
    places(&now.affinity).is_subset(&places(&before.affinity))
        && places(&now.anti_affinity).is_subset(&places(&before.anti_affinity))
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
        let line = |peer: &Peer| {
            let word = if peer.is_meant { "means" } else { "has" };
            format!("{} {word} {}", peer.name, peer.clusters.join("+"))
        };
        peers.anti_affinity.iter().map(line).collect()
    }

    fn to(name: &str) -> [Target; 1] {
        [Target {
            cluster: name.into(),
            replicas: 1,
        }]
    }

    #[test]
    fn who_goes_elsewhere_may_matter_to_the_others() {
        let at = |version, group, clusters: &[&str]| Some(binding("a", version, group, clusters));
        let m1 = at("1", "app=web", &["m1"]);
        for (after, matters) in [
            (at("2", "app=web", &["m1"]), false),
            (at("2", "app=web", &["m1", "m2"]), true),
            (at("2", "app=web", &[]), true),
            (at("2", "app=db", &["m1"]), true),
            (None, true),
        ] {
            let seen = may_matter_to_peers(m1.as_ref(), after.as_ref());
            assert_eq!(seen, matters, "{after:?}");
        }
        let (waits, edited) = (at("1", "app=web", &[]), at("2", "app=web", &[]));
        assert!(!may_matter_to_peers(None, waits.as_ref()));
        assert!(!may_matter_to_peers(waits.as_ref(), edited.as_ref()));
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
        assert_eq!(seen(), ["b has m1"]);
        let moved = binding("b", "9", "app=web", &["m3", "m1"]);
        ahead.put(&moved);
        assert_eq!(seen(), ["b has m1+m3"]);
        ahead.seen(&moved.key(), Some(&old));
        assert_eq!(seen(), ["b has m1+m3"]);
        ahead.seen(&moved.key(), Some(&moved));
        assert_eq!(seen(), ["b has m1"]);
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
        let (of_a, of_b) = (ahead.peers(&a, &find), ahead.peers(&b, &find));
        let meant = ahead.mean(&a, &of_a, &to("m1"), &find).unwrap();
        assert!(ahead.mean(&b, &of_b, &to("m1"), &find).is_none());
        let again = ahead.peers(&b, &find);
        assert_eq!(apart_from(&again), ["a has ", "a means m1", "c has "]);
        // The second goes elsewhere, and the first is not disturbed by it; nor the second when the first is written.
        ahead.put(&binding("a", "5", "app=web", &["m1"]));
        let other = ahead.mean(&b, &again, &to("m2"), &find).unwrap();
        // What was written stays known; what was not is free again.
        drop((meant, other));
        assert_eq!(apart_from(&ahead.peers(&b, &find)), ["a has m1", "c has "]);
        assert_eq!(apart_from(&ahead.peers(&a, &find)), ["b has ", "c has "]);
    }

    #[test]
    fn a_place_is_not_free_before_whoever_leaves_it_is_written_elsewhere() {
        let ahead = Ahead::default();
        let all = vec![
            binding("a", "1", "app=web", &["m1"]),
            binding("b", "1", "app=web", &[]),
        ];
        let (a, find) = shown(all.clone());
        let (b, _) = shown(all.into_iter().rev().collect());
        let seen = || apart_from(&ahead.peers(&b, &find));
        let leave = |target: &str| {
            let peers = ahead.peers(&a, &find);
            ahead.mean(&a, &peers, &to(target), &find).unwrap()
        };
        let meant = leave("m2");
        assert_eq!(seen(), ["a has m1", "a means m2"]);
        // Its write is refused.
        drop(meant);
        assert_eq!(seen(), ["a has m1"]);
        let meant = leave("m2");
        ahead.put(&binding("a", "2", "app=web", &["m2"]));
        assert_eq!(seen(), ["a has m2"]);
        drop(meant);
        assert_eq!(seen(), ["a has m2"]);
        // Whoever stays is not on the move.
        let _meant = leave("m2");
        assert_eq!(seen(), ["a has m2"]);
    }

    #[test]
    fn nobody_waits_for_those_who_look_at_members() {
        let ahead = Ahead::default();
        let (a, find) = shown(vec![binding("a", "1", "app=web", &[])]);
        let (_, others) = shown(vec![binding("b", "1", "app=web", &["m1"])]);
        let peers = ahead.peers(&a, |group| {
            // A lock that was held here would be waited for in vain.
            ahead.put(&binding("b", "9", "app=web", &["m2"]));
            others(group)
        });
        assert_eq!(apart_from(&peers), ["b has m1"]);
        // What was written meanwhile is noticed.
        let find = |group: &str| [find(group), others(group)].concat();
        assert!(ahead.mean(&a, &peers, &to("m2"), find).is_none());
    }
}

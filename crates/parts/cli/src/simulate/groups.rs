//! Bindings that want to be with others of their group, or apart from them: where the others would be.

use std::collections::BTreeMap;

use api::work::v1alpha2::WorkloadAffinityGroups;
use object::{Object, ObjectKey};
use schedule::plugin::{Peer, Peers};

use crate::picture::Placed;

/// Where bindings of groups go: as they are, and as they would be once it was decided.
#[derive(Debug, Default)]
pub(super) struct Groups {
    members: BTreeMap<ObjectKey, (WorkloadAffinityGroups, Peer)>,
}

impl Groups {
    /// As the bindings are.
    pub(super) fn of<'b>(bindings: impl Iterator<Item = &'b Object>) -> Self {
        let mut groups = Self::default();
        for placed in bindings.filter_map(|binding| Placed::read(binding).ok()) {
            groups.put(&placed);
        }
        groups
    }

    /// From now on a binding is where it would be.
    pub(super) fn put(&mut self, placed: &Placed) {
        let Some(groups) = &placed.spec.workload_affinity_groups else {
            return;
        };
        let names = placed.spec.clusters.iter();
        let peer = Peer {
            name: placed.metadata.name.as_str().into(),
            clusters: names.map(|target| target.name.as_str().into()).collect(),
            ..Peer::default()
        };
        let key = ObjectKey::namespaced(&placed.metadata.namespace, &placed.metadata.name);
        self.members.insert(key, (groups.clone(), peer));
    }

    /// The others of a binding's groups, which are per namespace.
    pub(super) fn peers_of(&self, placed: &Placed) -> Peers {
        let Some(own) = &placed.spec.workload_affinity_groups else {
            return Peers::default();
        };
        let others = |group: &str, of: fn(&WorkloadAffinityGroups) -> &String| -> Vec<Peer> {
            let others = self.members.iter().filter(|(key, (groups, _))| {
                key.namespace == placed.metadata.namespace
                    && key.name != placed.metadata.name
                    && !group.is_empty()
                    && of(groups) == group
            });
            others.map(|(_, (_, peer))| peer.clone()).collect()
        };
        Peers {
            affinity: others(&own.affinity_group, |groups| &groups.affinity_group),
            anti_affinity: others(&own.anti_affinity_group, |groups| {
                &groups.anti_affinity_group
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn binding(namespace: &str, name: &str, group: &str, cluster: &str) -> Object {
        Object::from_value(json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "namespace": namespace},
                "workloadAffinityGroups": {"antiAffinityGroup": group}, "clusters": [{"name": cluster, "replicas": 1}],
            },
        }))
        .unwrap()
    }

    #[test]
    fn peers_are_the_others_of_the_group_where_they_would_be() {
        let all = [
            binding("shop", "a", "g", "east"),
            binding("shop", "b", "g", "west"),
            binding("shop", "c", "other", "north"),
            binding("bank", "d", "g", "south"),
        ];
        let mut groups = Groups::of(all.iter());
        let shown = |groups: &Groups| -> Vec<String> {
            let placed = Placed::read(&all[0]).unwrap();
            let peers = groups.peers_of(&placed);
            assert!(peers.affinity.is_empty());
            let shown = |peer: &Peer| format!("{} {:?}", peer.name, peer.clusters);
            peers.anti_affinity.iter().map(shown).collect()
        };
        assert_eq!(shown(&groups), ["b [\"west\"]"]);
        groups.put(&Placed::read(&binding("shop", "b", "g", "east")).unwrap());
        assert_eq!(shown(&groups), ["b [\"east\"]"]);
    }
}

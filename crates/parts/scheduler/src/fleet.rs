//! The clusters, prepared for decisions and kept up to date one by one.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use api::cluster::Cluster;
use object::{Object, parse::ShapeError};
use schedule::{
    cluster::{ApiSet, ClusterFacts, Pool, Snapshot},
    intake::{ClusterChange, cluster_changed},
};

/// All clusters there are.
///
/// Decisions take a snapshot, which is made again only when a cluster changed in a way that decisions can see: the
/// reports that clusters send every few seconds mostly say what the last one said.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pool: Pool,
    facts: BTreeMap<String, Arc<ClusterFacts>>,
    /// `None` when a cluster changed since it was made.
    snapshot: Option<Snapshot>,
}

/// What a change of a cluster means for bindings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effect {
    /// Bindings that any of these matches are to be decided again.
    pub concerned: Vec<Arc<ClusterFacts>>,
    /// Bindings that wait for room, and could use this cluster, may find some now.
    pub roomier: Option<Arc<ClusterFacts>>,
    /// Bindings that could use this cluster may fit now: it serves other kinds.
    pub serves_more: Option<ServesMore>,
    /// Bindings that have this cluster as a target are to be decided again, wherever they may go: it goes, or is gone.
    pub leaving: Option<String>,
}

/// A cluster that serves other kinds than before.
#[derive(Clone, Debug)]
pub(crate) struct ServesMore {
    pub cluster: Arc<ClusterFacts>,
    /// What it served.
    before: Arc<ApiSet>,
}

impl ServesMore {
    /// Whether a kind is among those it did not serve before.
    pub(crate) fn is_new(&self, api_version: &str, kind: &str) -> bool {
        self.cluster.apis.has(api_version, kind) && !self.before.has(api_version, kind)
    }
}

impl Fleet {
    /// The clusters at this moment.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let state = &mut *self.lock();
        let facts = &state.facts;
        let snapshot = state
            .snapshot
            .get_or_insert_with(|| Snapshot::new(facts.values().cloned()));
        snapshot.clone()
    }

    /// Takes a change of a cluster in; `before` and `after` as the watch delivers them.
    ///
    /// A cluster that cannot be read stays as it was last known: a decision from half a cluster could take workloads away.
    pub(crate) fn apply(
        &self,
        before: Option<&Object>,
        after: Option<&Object>,
    ) -> Result<Effect, ShapeError> {
        let Some(after) = after else {
            if let Some(before) = before {
                let state = &mut *self.lock();
                state.facts.remove(before.name());
                state.snapshot = None;
            }
            return Ok(Effect {
                leaving: before.map(|before| before.name().to_owned()),
                ..Effect::default()
            });
        };
        let cluster: Cluster = after.read()?;
        let change = match before.map(Object::metadata) {
            Some(Ok(before)) => cluster_changed(&before, &cluster.metadata),
            Some(Err(_)) => ClusterChange::Matching,
            // A new cluster concerns nobody until it becomes ready, which changes its taints.
            None => ClusterChange::Irrelevant,
        };
        let state = &mut *self.lock();
        let new = Arc::new(ClusterFacts::of(&cluster, &mut state.pool));
        let old = state.facts.get(after.name()).cloned();
        if old.as_ref() != Some(&new) {
            state
                .facts
                .insert(after.name().to_owned(), Arc::clone(&new));
            state.snapshot = None;
        }
        let is_roomier = !new.is_deleting && old.as_ref().is_none_or(|old| has_grown(old, &new));
        let changed = old.as_ref().filter(|old| old.apis != new.apis);
        let serves_more = changed.filter(|_| !new.is_deleting).map(|old| ServesMore {
            cluster: Arc::clone(&new),
            before: Arc::clone(&old.apis),
        });
        let mut effect = Effect {
            roomier: is_roomier.then(|| Arc::clone(&new)),
            serves_more,
            ..Effect::default()
        };
        match change {
            ClusterChange::Deleting => {
                effect.leaving = Some(after.name().to_owned());
                effect.concerned.push(new);
            }
            ClusterChange::Matching => effect.concerned.extend(old.into_iter().chain([new])),
            ClusterChange::Irrelevant => {}
        }
        Ok(effect)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // Each change is one insertion; a panic elsewhere leaves the clusters whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether something may fit into the cluster that did not before.
fn has_grown(old: &ClusterFacts, new: &ClusterFacts) -> bool {
    let grown = |name: &estimate::Resource, amount: i64| {
        let had = old
            .capacity
            .free
            .as_ref()
            .and_then(|free| free.amount(name));
        had.is_none_or(|had| amount > had)
    };
    let free = new.capacity.free.iter();
    let mut free = free.flat_map(|free| free.iter());
    // Taints, kinds and labels may have stood in the way as well.
    free.any(|(name, amount)| grown(name, amount))
        || old.capacity.grades != new.capacity.grades
        || old.taints != new.taints
        || old.apis != new.apis
        || old.labels != new.labels
        || (&old.provider, &old.region, &old.zones) != (&new.provider, &new.region, &new.zones)
}

#[cfg(test)]
mod tests {
    use object::Value;
    use serde_json::json;

    use super::*;

    fn cluster(changes: Value) -> Object {
        let base = json!({
            "metadata": {"name": "m1", "generation": 1, "labels": {"env": "prod"}},
            "status": {"resourceSummary": {"allocatable": {"cpu": "4", "pods": "110"}}},
        });
        Object::from_value(object::patch::merge(&base, &changes)).unwrap()
    }

    #[test]
    fn kinds_that_a_cluster_begins_to_serve_are_news_for_those_that_fitted_nowhere() {
        let serving = |kinds: &[&str]| {
            let kinds: Vec<Value> = kinds
                .iter()
                .map(|kind| json!({"kind": kind, "name": kind}))
                .collect();
            cluster(
                json!({"status": {"apiEnablements": [{"groupVersion": "shop/v1", "resources": kinds}]}}),
            )
        };
        let fleet = Fleet::default();
        let (few, more) = (serving(&["Shelf"]), serving(&["Shelf", "Cart"]));
        let first = fleet.apply(None, Some(&few)).unwrap();
        assert!(
            first.serves_more.is_none(),
            "a new cluster concerns nobody yet"
        );
        let same = fleet.apply(Some(&few), Some(&few)).unwrap();
        assert!(same.serves_more.is_none());
        let changed = fleet.apply(Some(&few), Some(&more)).unwrap();
        assert!(changed.serves_more.is_some());
    }

    /// What a change means: how many versions concern bindings, and whether there may be more room.
    fn effect(before: Value, after: Value) -> (usize, bool) {
        let fleet = Fleet::default();
        let (before, after) = (cluster(before), cluster(after));
        fleet.apply(None, Some(&before)).unwrap();
        let effect = fleet.apply(Some(&before), Some(&after)).unwrap();
        (effect.concerned.len(), effect.roomier.is_some())
    }

    #[test]
    fn changes_concern_those_they_can_matter_to() {
        let cpu = |cpu: &str| json!({"status": {"resourceSummary": {"allocatable": {"cpu": cpu}}}});
        let cases = [
            ("nothing", json!({}), json!({}), (0, false)),
            (
                "a heartbeat",
                json!({}),
                json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
                (0, false),
            ),
            (
                "labels",
                json!({}),
                json!({"metadata": {"labels": {"env": "test"}}}),
                (2, true),
            ),
            (
                "spec",
                json!({}),
                json!({"metadata": {"generation": 2}}),
                (2, false),
            ),
            (
                "a taint goes",
                json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}),
                json!({"metadata": {"generation": 2}}),
                (2, true),
            ),
            ("more room", json!({}), cpu("5"), (0, true)),
            ("less room", json!({}), cpu("3"), (0, false)),
            (
                "deletion",
                json!({}),
                json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
                (1, false),
            ),
        ];
        for (claim, before, after, expected) in cases {
            assert_eq!(effect(before, after), expected, "{claim}");
        }
    }

    #[test]
    fn a_snapshot_is_kept_until_a_decision_could_see_a_difference() {
        let fleet = Fleet::default();
        let one = cluster(json!({}));
        assert!(fleet.apply(None, Some(&one)).unwrap().roomier.is_some());
        let first = fleet.snapshot();
        let heartbeat = cluster(json!({"metadata": {"resourceVersion": "9"}}));
        fleet.apply(Some(&one), Some(&heartbeat)).unwrap();
        assert!(fleet.lock().snapshot.is_some());
        let gone = fleet.apply(Some(&heartbeat), None).unwrap();
        assert_eq!(gone.leaving.as_deref(), Some("m1"));
        assert_eq!((first.len(), fleet.snapshot().len()), (1, 0));
    }

    #[test]
    fn a_cluster_that_cannot_be_read_stays_as_it_was() {
        let fleet = Fleet::default();
        let good = cluster(json!({}));
        let bad = cluster(json!({"spec": {"taints": "none"}}));
        fleet.apply(None, Some(&good)).unwrap();
        fleet.apply(Some(&good), Some(&bad)).unwrap_err();
        assert_eq!(fleet.snapshot().len(), 1);
        fleet.apply(Some(&bad), Some(&good)).unwrap();
    }
}

//! What is taken back.

use std::sync::Arc;

use api::{
    policy::{Placement, ReplicaDivisionPreference, ReplicaSchedulingType},
    well_known::{
        annotations,
        events::binding::{DESCHEDULE_BINDING_FAILED, DESCHEDULE_BINDING_SUCCEED},
    },
    work::v1alpha2::ResourceBindingSpec,
};
use object::{Map, Value};
use schedule::{
    deschedule::Observed,
    report::{Event, Severity},
};

use crate::bound::Bound;

/// Replicas to take back, by cluster: how many there were and how many stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    taken: Vec<Taken>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Taken {
    cluster: Arc<str>,
    before: i32,
    after: i32,
}

/// Whether replicas of a binding may be taken back: those of a Deployment, divided by the room there was.
///
/// The placement that led to the present targets counts, not the one that may just have been written.
pub(super) fn is_concerned(bound: &Bound, read: impl Fn(&str) -> Option<Arc<Placement>>) -> bool {
    let resource = &bound.spec.resource;
    if resource.api_version != "apps/v1" || resource.kind != "Deployment" {
        return false;
    }
    let applied = bound
        .metadata
        .annotations
        .get(annotations::APPLIED_PLACEMENT);
    let Some(placement) = applied.and_then(|text| read(text)) else {
        return false;
    };
    let Some(strategy) = &placement.replica_scheduling else {
        return false;
    };
    if strategy.replica_scheduling_type != Some(ReplicaSchedulingType::Divided) {
        return false;
    }
    match strategy.replica_division_preference {
        Some(ReplicaDivisionPreference::Aggregated) => true,
        Some(ReplicaDivisionPreference::Weighted) => {
            let weights = strategy.weight_preference.as_ref();
            weights.is_some_and(|weights| weights.dynamic_weight.is_some())
        }
        _ => false,
    }
}

/// The targets of a binding with what members report of them.
pub(super) fn observe(bound: &Bound) -> Vec<Observed> {
    let ready = |cluster: &str| {
        let items = bound.status.aggregated_status.iter();
        let item = items
            .into_iter()
            .find(|item| *item.cluster_name == *cluster)?;
        let ready = item.status.as_ref()?.get("readyReplicas")?.as_i64()?;
        i32::try_from(ready).ok()
    };
    let targets = bound.spec.clusters.iter();
    targets
        .map(|target| Observed {
            cluster: Arc::from(&*target.name),
            replicas: target.replicas,
            ready: ready(&target.name),
        })
        .collect()
}

/// What to take back when so many pods found no node; `None` if nothing.
pub(super) fn plan(observed: &[Observed], unplaced: &[(Arc<str>, i32)]) -> Option<Change> {
    let taken: Vec<Taken> = observed
        .iter()
        .filter_map(|target| {
            let (_, count) = unplaced.iter().find(|(name, _)| *name == target.cluster)?;
            let after = target.remaining(*count);
            (after != target.replicas).then(|| Taken {
                cluster: Arc::clone(&target.cluster),
                before: target.replicas,
                after,
            })
        })
        .collect();
    (!taken.is_empty()).then_some(Change { taken })
}

impl Change {
    /// How many replicas are taken back.
    pub(super) fn total(&self) -> i32 {
        self.taken.iter().fold(0, |sum, taken| {
            sum.saturating_add(taken.before - taken.after)
        })
    }

    /// The targets with what stays. One that keeps nothing stays listed, so that the scheduler sees the difference.
    pub(super) fn patch(&self, spec: &ResourceBindingSpec) -> Value {
        let target = |name: &str, replicas: i32| {
            let after = self.taken.iter().find(|taken| *taken.cluster == *name);
            let replicas = after.map_or(replicas, |taken| taken.after);
            let mut fields = Map::from_iter([("name".to_owned(), Value::from(name))]);
            if replicas != 0 {
                fields.insert("replicas".to_owned(), Value::from(replicas));
            }
            Value::Object(fields)
        };
        let targets = spec.clusters.iter();
        let targets: Vec<Value> = targets
            .map(|known| target(&known.name, known.replicas))
            .collect();
        let clusters = Map::from_iter([("clusters".to_owned(), Value::Array(targets))]);
        Value::Object(Map::from_iter([(
            "spec".to_owned(),
            Value::Object(clusters),
        )]))
    }

    /// What is told about it.
    pub(super) fn event(&self, failure: Option<String>) -> Event {
        if let Some(message) = failure {
            return Event {
                severity: Severity::Warning,
                reason: DESCHEDULE_BINDING_FAILED,
                message,
            };
        }
        let each = self.taken.iter().map(|taken| {
            let count = taken.before - taken.after;
            format!("{count} replica(s) in cluster({})", taken.cluster)
        });
        let each: Vec<String> = each.collect();
        Event {
            severity: Severity::Normal,
            reason: DESCHEDULE_BINDING_SUCCEED,
            message: format!(
                "Binding has been descheduled, {}, {} total descheduled replica(s)",
                each.join(", "),
                self.total()
            ),
        }
    }
}

//! What is written on a cluster.

use api::{
    cluster::Cluster, kubernetes::scheduling::Taint, policy::ClusterTaintPolicy,
    well_known::events::cluster::TAINT_CLUSTER_SUCCEED,
};
use failover::{
    remedy::{self, Prescription},
    taint_policy::{self, Marked},
};
use intent::{Action, EventKind, ObjectRef, Part, Plan};
use object::{Object, Value, condition::Condition, time::Time};
use serde_json::json;

use crate::{kinds, members::traits};

/// The taints that follow from the cluster's conditions by these policies.
#[must_use]
pub fn taint(cluster: &Object, policies: &[ClusterTaintPolicy], now: Time) -> Plan {
    let mut plan = Plan::default();
    if cluster.is_terminating() || policies.is_empty() {
        return plan;
    }
    let taints: Vec<Taint> = list(cluster, &["spec", "taints"]);
    let conditions: Vec<Condition> = list(cluster, &["status", "conditions"]);
    let marked = Marked {
        traits: &traits(cluster),
        conditions: &conditions,
        taints: &taints,
    };
    let Some(next) = taint_policy::taints(marked, policies, now) else {
        return plan;
    };
    // Users and others write this list too, so it is written only as it was seen.
    let patch = json!({"spec": {"taints": next}});
    plan.push(Action::patch(
        kinds::of::<Cluster>(),
        cluster,
        patch,
        Part::Object,
    ));
    plan.push(Action::report(
        ObjectRef::of(cluster),
        EventKind::Normal,
        TAINT_CLUSTER_SUCCEED,
        describe(&next),
    ));
    plan
}

/// The actions that follow from the cluster's conditions by these remedies.
#[must_use]
pub fn prescribe(cluster: &Object, prescriptions: &[Prescription]) -> Plan {
    let mut plan = Plan::default();
    if cluster.is_terminating() {
        return plan;
    }
    let conditions: Vec<Condition> = list(cluster, &["status", "conditions"]);
    let next = remedy::actions(cluster.name(), &conditions, prescriptions);
    let current: Vec<String> = list(cluster, &["status", "remedyActions"]);
    if next != current {
        let next = if next.is_empty() {
            Value::Null
        } else {
            json!(next)
        };
        // Nobody else writes these, so whatever is reported meanwhile is no conflict.
        plan.push(Action::Patch {
            resource: kinds::of::<Cluster>(),
            key: cluster.key(),
            uid: Some(cluster.uid().to_owned()),
            revision: None,
            patch: json!({"status": {"remedyActions": next}}),
            part: Part::Status,
        });
    }
    plan
}

/// The items of a list that can be read. A cluster is long, so only what is looked at is.
fn list<T: serde::de::DeserializeOwned>(cluster: &Object, path: &[&str]) -> Vec<T> {
    let items = cluster.at(path).and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(|item| serde_json::from_value(item.clone()).ok())
        .collect()
}

fn describe(taints: &[Taint]) -> String {
    if taints.is_empty() {
        return "the cluster has no taints".to_owned();
    }
    let taints: Vec<String> = taints
        .iter()
        .map(|taint| match taint.value.as_str() {
            "" => format!("{}:{}", taint.key, taint.effect),
            value => format!("{}={value}:{}", taint.key, taint.effect),
        })
        .collect();
    format!("the cluster now has the taints {}", taints.join(", "))
}

//! How many pods are missing or too many, and what the status says.

use std::sync::Arc;

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::controllers::replica_set::least_missed;
use crate::controllers::template::pod_of;
use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::read;

/// The most pods made at a time; the rest follow when these are there.
const BURST: usize = 500;

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    /// What the set is.
    pub(crate) kind: Kind,
    pub(crate) set: &'a Object,
    /// All pods it controls.
    pub(crate) pods: &'a [&'a Arc<Object>],
    /// Why the last plan could not be carried out.
    pub(crate) trouble: Option<&'a str>,
    pub(crate) now: Time,
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let set = inputs.set;
    let active: Vec<&Arc<Object>> = inputs
        .pods
        .iter()
        .copied()
        .filter(|pod| read::is_active(pod))
        .collect();
    let wanted = set.integer_at(&["spec", "replicas"]).unwrap_or(1).max(0);
    let wanted = usize::try_from(wanted).unwrap_or_default();
    if !set.is_terminating() {
        if wanted > active.len() {
            for _ in 0..(wanted - active.len()).min(BURST) {
                plan.create_pod(set, pod_of(set, None));
            }
        } else {
            let surplus = active.len() - wanted;
            for pod in least_missed(&active).into_iter().take(surplus) {
                plan.delete(Kind::Pod, pod);
                let message = format!("Deleted pod: {}", pod.name());
                plan.report(set, Writer::Controllers, "SuccessfulDelete", message);
            }
        }
    }
    let status = status(inputs, &active, &mut plan);
    plan.status(inputs.kind, set, status, Writer::Controllers);
    plan
}

fn status(inputs: &Inputs<'_>, active: &[&Arc<Object>], plan: &mut Plan) -> Value {
    let set = inputs.set;
    let patience = set.integer_at(&["spec", "minReadySeconds"]).unwrap_or(0);
    let (mut ready, mut available) = (0, 0);
    for pod in active {
        let Some(time) = read::available_at(pod, patience) else {
            continue;
        };
        ready += 1;
        if time <= inputs.now {
            available += 1;
        } else {
            plan.wake_at(time);
        }
    }
    let template_labels = set.at(&["spec", "template", "metadata", "labels"]);
    let template_labels = template_labels.and_then(Value::as_object);
    let labelled = active.iter().filter(|pod| {
        template_labels
            .into_iter()
            .flatten()
            .all(|(name, value)| pod.label(name) == value.as_str())
    });
    let mut status = json!({
        "replicas": active.len(), "fullyLabeledReplicas": labelled.count(),
        "readyReplicas": ready, "availableReplicas": available, "observedGeneration": set.generation(),
    });
    let mut conditions = read::conditions(set);
    let lacks = set.integer_at(&["spec", "replicas"]).unwrap_or(1)
        > i64::try_from(active.len()).unwrap_or(i64::MAX);
    // What could not be made is no trouble any more once it is not wanted.
    match inputs
        .trouble
        .filter(|trouble| lacks && !trouble.is_empty())
    {
        None => conditions.retain(|condition| read::text(condition, "type") != "ReplicaFailure"),
        // Upstream: a failure that is known is not told anew, though its message names another pod each time.
        Some(_) if read::condition(set, "ReplicaFailure").is_some() => {}
        Some(trouble) => {
            let condition = json!({
                "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": trouble,
            });
            read::put_condition(&mut conditions, condition, inputs.now);
        }
    }
    let fields = status.as_object_mut();
    if let (Some(fields), false) = (fields, conditions.is_empty()) {
        fields.insert("conditions".to_owned(), conditions.into());
    }
    // Upstream: counts that are zero are left out.
    if let Some(fields) = status.as_object_mut() {
        fields.retain(|name, value| name == "replicas" || *value != json!(0));
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_as_long_as_pods_are_missing() {
        let pod = json!({"metadata": {"name": "p"}, "status": {"phase": "Running"}});
        let pod = Arc::new(Object::from_value(pod).unwrap());
        for (replicas, trouble, expected) in [
            (2, Some("no room"), true),
            (2, None, false),
            (1, Some("no room"), false),
        ] {
            let set = json!({
                "metadata": {"name": "s", "namespace": "d"}, "spec": {"replicas": replicas},
                "status": {"conditions": [{"type": "ReplicaFailure", "status": "True"}]},
            });
            let set = Object::from_value(set).unwrap();
            let inputs = Inputs {
                kind: Kind::ReplicaSet,
                set: &set,
                pods: &[&pod],
                trouble,
                now: "2026-01-01T00:00:00Z".parse().unwrap(),
            };
            let status = status(&inputs, &[&pod], &mut Plan::default());
            let is_told = status["conditions"].is_array();
            assert_eq!(is_told, expected, "{replicas} {trouble:?}");
        }
    }
}

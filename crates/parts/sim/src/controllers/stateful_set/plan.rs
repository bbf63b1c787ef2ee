//! What a StatefulSet does next.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::controllers::revision;
use crate::controllers::stateful_set::pods::{self, REVISION};
use crate::controllers::stateful_set::retention;
use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::read;

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) set: &'a Object,
    pub(crate) pods: &'a [&'a Arc<Object>],
    /// One of the claims in its namespace, by name.
    pub(crate) find_claim: &'a dyn Fn(&str) -> Option<&'a Object>,
    /// The revisions of its template that are kept.
    pub(crate) revisions: &'a [&'a Arc<Object>],
    pub(crate) now: Time,
}

/// The revisions of a set: the one it comes from and the one it goes to.
struct Revisions {
    current: String,
    update: String,
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let set = inputs.set;
    let revisions = revisions(inputs, &mut plan);
    let by_ordinal: BTreeMap<i64, &Object> = inputs
        .pods
        .iter()
        .filter_map(|pod| Some((pods::ordinal_of(set, pod)?, &***pod)))
        .collect();
    if !set.is_terminating() {
        act(inputs, &revisions, &by_ordinal, &mut plan);
    }
    let status = status(inputs, &revisions, &by_ordinal, &mut plan);
    plan.status(Kind::StatefulSet, set, status, Writer::Controllers);
    plan
}

/// Keeps a revision of the present template.
fn revisions(inputs: &Inputs<'_>, plan: &mut Plan) -> Revisions {
    let set = inputs.set;
    let update = revision::of(set).name;
    let current = set
        .text_at(&["status", "currentRevision"])
        .filter(|name| !name.is_empty())
        .map_or_else(|| update.clone(), str::to_owned);
    let of_pods = inputs.pods.iter().filter_map(|pod| pod.label(REVISION));
    let used = of_pods.chain([current.as_str()]).collect();
    revision::keep(set, inputs.revisions, &used, plan);
    Revisions { current, update }
}

/// One step: make what is missing, then take what is too much, then replace what is old.
fn act(
    inputs: &Inputs<'_>,
    revisions: &Revisions,
    by_ordinal: &BTreeMap<i64, &Object>,
    plan: &mut Plan,
) {
    let set = inputs.set;
    let is_ordered = set.text_at(&["spec", "podManagementPolicy"]) != Some("Parallel");
    let first = set.integer_at(&["spec", "ordinals", "start"]).unwrap_or(0);
    let wanted = set.integer_at(&["spec", "replicas"]).unwrap_or(1).max(0);
    let end = first.saturating_add(wanted);
    let partition = set
        .integer_at(&["spec", "updateStrategy", "rollingUpdate", "partition"])
        .unwrap_or(0);
    let are_owned = retention::settle(set, &(first..end), by_ordinal, inputs.find_claim, plan);
    for ordinal in first..end {
        for (name, claim) in pods::claims(set, ordinal) {
            if (inputs.find_claim)(&name).is_none() && by_ordinal.get(&ordinal).is_none() {
                plan.create(Kind::PersistentVolumeClaim, claim);
                let (set_name, pod) = (set.name(), pods::name_of(set, ordinal));
                let message =
                    format!("create Claim {name} Pod {pod} in StatefulSet {set_name} success");
                plan.report(set, Writer::Controllers, "SuccessfulCreate", message);
            }
        }
        match by_ordinal.get(&ordinal) {
            None => {
                let is_old = ordinal < partition && revisions.current != revisions.update;
                let older = is_old
                    .then(|| {
                        let mut known = inputs.revisions.iter();
                        revision::template_of(
                            known.find(|known| known.name() == revisions.current)?,
                        )
                    })
                    .flatten();
                let revision = if older.is_some() {
                    &revisions.current
                } else {
                    &revisions.update
                };
                plan.create(Kind::Pod, pods::pod(set, ordinal, revision, older.as_ref()));
                let name = pods::name_of(set, ordinal);
                let message = format!("create Pod {name} in StatefulSet {} successful", set.name());
                plan.report(set, Writer::Controllers, "SuccessfulCreate", message);
                if is_ordered {
                    return;
                }
            }
            Some(pod) if read::has_ended(pod) && !pod.is_terminating() => {
                plan.delete(Kind::Pod, pod);
                if is_ordered {
                    return;
                }
            }
            Some(pod) if is_ordered && !is_healthy(inputs, pod, plan) => return,
            Some(_) => {}
        }
    }
    let condemned: Vec<&Object> = by_ordinal
        .iter()
        .rev()
        .filter(|(ordinal, _)| !(first..end).contains(*ordinal))
        .map(|(_, pod)| *pod)
        .collect();
    if !are_owned {
        return;
    }
    for pod in &condemned {
        if pod.is_terminating() {
            if is_ordered {
                return;
            }
            continue;
        }
        remove(set, pod, plan);
        if is_ordered {
            return;
        }
    }
    if set.text_at(&["spec", "updateStrategy", "type"]) == Some("OnDelete") || !condemned.is_empty()
    {
        return;
    }
    for ordinal in (first.max(partition)..end).rev() {
        let Some(pod) = by_ordinal.get(&ordinal) else {
            return;
        };
        if pod.label(REVISION) != Some(&revisions.update) && !pod.is_terminating() {
            remove(set, pod, plan);
            return;
        }
        if !is_healthy(inputs, pod, plan) {
            return;
        }
    }
}

fn remove(set: &Object, pod: &Object, plan: &mut Plan) {
    plan.delete(Kind::Pod, pod);
    let message = format!(
        "delete Pod {} in StatefulSet {} successful",
        pod.name(),
        set.name()
    );
    plan.report(set, Writer::Controllers, "SuccessfulDelete", message);
}

fn is_healthy(inputs: &Inputs<'_>, pod: &Object, plan: &mut Plan) -> bool {
    let patience = inputs
        .set
        .integer_at(&["spec", "minReadySeconds"])
        .unwrap_or(0);
    match read::available_at(pod, patience) {
        Some(time) if time > inputs.now => {
            plan.wake_at(time);
            false
        }
        Some(_) => !pod.is_terminating() && !read::has_ended(pod),
        None => false,
    }
}

fn status(
    inputs: &Inputs<'_>,
    revisions: &Revisions,
    by_ordinal: &BTreeMap<i64, &Object>,
    plan: &mut Plan,
) -> Value {
    let set = inputs.set;
    let alive: Vec<&Object> = by_ordinal
        .values()
        .copied()
        .filter(|pod| !read::has_ended(pod))
        .collect();
    let of = |revision: &str| {
        let pods = alive
            .iter()
            .filter(|pod| !pod.is_terminating() && pod.label(REVISION) == Some(revision));
        pods.count()
    };
    let ready = alive.iter().filter(|pod| read::is_ready(pod)).count();
    let available = alive
        .iter()
        .filter(|pod| is_healthy(inputs, pod, plan))
        .count();
    let wanted = set.integer_at(&["spec", "replicas"]).unwrap_or(1).max(0);
    let updated = of(&revisions.update);
    // Everything is new and well: the update is the present.
    let is_done = i64::try_from(updated) == Ok(wanted)
        && alive.len() == updated
        && ready == updated
        && set.text_at(&["spec", "updateStrategy", "type"]) != Some("OnDelete");
    let current = if is_done {
        &revisions.update
    } else {
        &revisions.current
    };
    let mut status = json!({
        "observedGeneration": set.generation(), "replicas": alive.len(), "readyReplicas": ready,
        "currentReplicas": of(current), "updatedReplicas": updated, "availableReplicas": available,
        "currentRevision": current, "updateRevision": revisions.update, "collisionCount": 0,
    });
    if let Some(fields) = status.as_object_mut() {
        fields.retain(|name, value| {
            matches!(
                name.as_str(),
                "replicas" | "collisionCount" | "availableReplicas"
            ) || *value != json!(0)
        });
    }
    status
}

//! Which nodes lack a pod, which have one too many or too old.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::int_or_string::{IntOrString, Rounding};
use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::controllers::scheduler::{first_untolerated, suits};
use crate::controllers::template::{hash_of, pod_of};
use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::read;

const REVISION: &str = "controller-revision-hash";

/// What the pods of DaemonSets bear besides what their template says.
const BORNE: [(&str, &str); 7] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ("node.kubernetes.io/unreachable", "NoSchedule"),
];

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) set: &'a Object,
    pub(crate) pods: &'a [&'a Arc<Object>],
    pub(crate) nodes: &'a [&'a Arc<Object>],
    pub(crate) now: Time,
}

/// What the status counts.
#[derive(Default)]
struct Counts {
    desired: i64,
    current: i64,
    misplaced: i64,
    updated: i64,
    ready: i64,
    available: i64,
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let set = inputs.set;
    let template = set.at(&["spec", "template"]).cloned().unwrap_or_default();
    let revision = hash_of(&template, 0);
    let mut by_node: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for pod in inputs.pods {
        by_node.entry(target_of(pod)).or_default().push(pod);
    }
    let mut counts = Counts::default();
    let mut outdated = Vec::new();
    for node in inputs.nodes {
        let model = pod(set, node.name(), &revision);
        let wanted = Object::from_value(model.clone())
            .is_ok_and(|pod| suits(node, &pod) && first_untolerated(node, &pod).is_none());
        let here = by_node.remove(node.name()).unwrap_or_default();
        if !wanted {
            counts.misplaced += i64::from(!here.is_empty());
            dismiss(set, &here, &mut plan);
            continue;
        }
        counts.desired += 1;
        if here.is_empty() && !set.is_terminating() {
            plan.create(Kind::Pod, model);
            continue;
        }
        tally(
            inputs,
            &here,
            &revision,
            &mut counts,
            &mut outdated,
            &mut plan,
        );
    }
    // Those whose node is gone.
    for pods in by_node.values() {
        dismiss(set, pods, &mut plan);
    }
    update(inputs, &counts, &outdated, &mut plan);
    let status = json!({
        "observedGeneration": set.generation(),
        "desiredNumberScheduled": counts.desired, "currentNumberScheduled": counts.current,
        "numberMisscheduled": counts.misplaced, "numberReady": counts.ready,
        "updatedNumberScheduled": counts.updated, "numberAvailable": counts.available,
        "numberUnavailable": counts.desired - counts.available,
    });
    let mut status = status;
    if let Some(fields) = status.as_object_mut() {
        // Upstream: these counts are left out when they are zero.
        let optional = [
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
        ];
        fields.retain(|name, value| !optional.contains(&name.as_str()) || *value != json!(0));
    }
    plan.status(Kind::DaemonSet, set, status, Writer::Controllers);
    plan
}

/// Counts the pods of one node; all but the first that lives are too many, those that failed are made anew.
fn tally<'p>(
    inputs: &Inputs<'_>,
    here: &[&'p Object],
    revision: &str,
    counts: &mut Counts,
    outdated: &mut Vec<&'p Object>,
    plan: &mut Plan,
) {
    counts.current += 1;
    let patience = inputs
        .set
        .integer_at(&["spec", "minReadySeconds"])
        .unwrap_or(0);
    let mut alive = here.iter().filter(|pod| !pod.is_terminating());
    let failed: Vec<&Object> = here
        .iter()
        .copied()
        .filter(|pod| read::has_ended(pod) && !pod.is_terminating())
        .collect();
    dismiss(inputs.set, &failed, plan);
    let Some(pod) = alive.find(|pod| !read::has_ended(pod)) else {
        return;
    };
    let surplus: Vec<&Object> = alive.copied().collect();
    dismiss(inputs.set, &surplus, plan);
    if pod.label(REVISION) == Some(revision) {
        counts.updated += 1;
    } else {
        outdated.push(pod);
    }
    if let Some(time) = read::available_at(pod, patience) {
        counts.ready += 1;
        if time <= inputs.now {
            counts.available += 1;
        } else {
            plan.wake_at(time);
        }
    }
}

/// Lets go of as many outdated pods as may be missing.
fn update(inputs: &Inputs<'_>, counts: &Counts, outdated: &[&Object], plan: &mut Plan) {
    let set = inputs.set;
    if set.text_at(&["spec", "updateStrategy", "type"]) == Some("OnDelete") {
        return;
    }
    let share = set.at(&["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"]);
    let share = share
        .and_then(|share| serde_json::from_value::<IntOrString>(share.clone()).ok())
        .unwrap_or_else(|| IntOrString::from(1))
        .share_of(counts.desired, Rounding::Up)
        .unwrap_or(1)
        .max(1);
    let broken: Vec<&Object> = outdated
        .iter()
        .copied()
        .filter(|pod| !read::is_ready(pod))
        .collect();
    // One that does not work anyway is no loss.
    dismiss(set, &broken, plan);
    let missing = counts.desired - counts.available;
    let may_go = usize::try_from((share - missing).max(0)).unwrap_or_default();
    let well: Vec<&Object> = outdated
        .iter()
        .copied()
        .filter(|pod| read::is_ready(pod))
        .take(may_go)
        .collect();
    dismiss(set, &well, plan);
}

fn dismiss(set: &Object, pods: &[&Object], plan: &mut Plan) {
    for pod in pods.iter().filter(|pod| !pod.is_terminating()) {
        plan.delete(Kind::Pod, pod);
        let message = format!("Deleted pod: {}", pod.name());
        plan.report(set, Writer::Controllers, "SuccessfulDelete", message);
    }
}

/// The node a pod of the set is for, whether or not it is there yet.
fn target_of(pod: &Object) -> &str {
    let node = read::node_of(pod);
    if !node.is_empty() {
        return node;
    }
    let terms = pod.at(&[
        "spec",
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ]);
    terms
        .and_then(|terms| terms.pointer("/0/matchFields/0/values/0"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The pod for a node: the template, bound to the node by its name, bearing what daemons bear.
fn pod(set: &Object, node: &str, revision: &str) -> Value {
    let mut pod = pod_of(set, None);
    if let Some(labels) = pod
        .pointer_mut("/metadata/labels")
        .and_then(Value::as_object_mut)
    {
        labels.insert(REVISION.to_owned(), json!(revision));
    }
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return pod;
    };
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    if let Some(tolerations) = tolerations.as_array_mut() {
        for (key, effect) in BORNE {
            tolerations.push(json!({"key": key, "operator": "Exists", "effect": effect}));
        }
    }
    let affinity = spec.entry("affinity").or_insert_with(|| json!({}));
    let by_name = json!({"key": "metadata.name", "operator": "In", "values": [node]});
    if let Some(affinity) = affinity.as_object_mut() {
        let of_nodes = affinity.entry("nodeAffinity").or_insert_with(|| json!({}));
        if let Some(of_nodes) = of_nodes.as_object_mut() {
            let name = "requiredDuringSchedulingIgnoredDuringExecution";
            let required = of_nodes
                .entry(name)
                .or_insert_with(|| json!({"nodeSelectorTerms": []}));
            if let Some(terms) = required
                .get_mut("nodeSelectorTerms")
                .and_then(Value::as_array_mut)
            {
                if terms.is_empty() {
                    terms.push(json!({}));
                }
                for term in terms.iter_mut().filter_map(Value::as_object_mut) {
                    term.insert("matchFields".to_owned(), json!([by_name]));
                }
            }
        }
    }
    pod
}

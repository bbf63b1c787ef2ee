//! Which nodes lack a pod, which have one too many or too old.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::int_or_string::{IntOrString, Rounding};
use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::controllers::revision;
use crate::controllers::scheduler::{first_untolerated, suits};
use crate::controllers::template::pod_of;
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
    /// The revisions of its template that are kept.
    pub(crate) revisions: &'a [&'a Arc<Object>],
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
    /// Nodes with a new pod beside the old one.
    surging: i64,
}

/// How an update may go on.
struct Share {
    /// How many pods more than nodes there may be; then none is missing.
    surge: i64,
    unavailable: i64,
    by_hand: bool,
}

impl Share {
    fn of(inputs: &Inputs<'_>) -> Self {
        let set = inputs.set;
        let nodes = i64::try_from(inputs.nodes.len()).unwrap_or(i64::MAX);
        let share = |name: &str, usual: i32| {
            let share = set.at(&["spec", "updateStrategy", "rollingUpdate", name]);
            share
                .and_then(|share| serde_json::from_value::<IntOrString>(share.clone()).ok())
                .unwrap_or_else(|| IntOrString::from(usual))
                .share_of(nodes, Rounding::Up)
                .unwrap_or(1)
        };
        let surge = share("maxSurge", 0);
        let unavailable = share("maxUnavailable", 1);
        Self {
            surge,
            unavailable: if surge > 0 {
                unavailable
            } else {
                unavailable.max(1)
            },
            by_hand: set.text_at(&["spec", "updateStrategy", "type"]) == Some("OnDelete"),
        }
    }
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let set = inputs.set;
    let revision = revision::of(set).hash;
    let of_pods = inputs.pods.iter().filter_map(|pod| pod.label(REVISION));
    let used: Vec<String> = of_pods
        .map(|hash| format!("{}-{hash}", set.name()))
        .collect();
    let used = used.iter().map(String::as_str).collect();
    revision::keep(set, inputs.revisions, &used, &mut plan);
    let share = Share::of(inputs);
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
            plan.create_pod(set, model);
            continue;
        }
        let (mut old, new) = tally(inputs, &here, &revision, &mut counts, &mut plan);
        if share.surge > 0 {
            // The old one stays until the new one has been ready for long enough.
            let is_replaced = new.is_some_and(|new| is_available(inputs, new));
            dismiss(
                set,
                &old.take_if(|_| is_replaced).into_iter().collect::<Vec<_>>(),
                &mut plan,
            );
            if let (Some(old), None) = (old, new) {
                outdated.push((old, Some(model)));
            }
            counts.surging += i64::from(old.is_some() && new.is_some());
        } else if let Some(old) = old {
            outdated.push((old, None));
        }
    }
    // Those whose node is gone.
    for pods in by_node.values() {
        dismiss(set, pods, &mut plan);
    }
    update(inputs, &share, &counts, outdated, &mut plan);
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

/// Counts the pods of one node; those that failed are made anew, and of each revision one is enough. The old one that
/// lives and the new one.
fn tally<'p>(
    inputs: &Inputs<'_>,
    here: &[&'p Object],
    revision: &str,
    counts: &mut Counts,
    plan: &mut Plan,
) -> (Option<&'p Object>, Option<&'p Object>) {
    counts.current += 1;
    let (ended, alive): (Vec<&Object>, Vec<&Object>) = here
        .iter()
        .copied()
        .filter(|pod| !pod.is_terminating())
        .partition(|pod| read::has_ended(pod));
    for pod in &ended {
        let (namespace, name) = (pod.namespace(), pod.name());
        let message = format!(
            "Found failed daemon pod {namespace}/{name} on node {}, will try to kill it",
            read::node_of(pod)
        );
        plan.warn(inputs.set, Writer::Controllers, "FailedDaemonPod", message);
    }
    dismiss(inputs.set, &ended, plan);
    let (mut new, mut old): (Vec<&Object>, Vec<&Object>) = alive
        .into_iter()
        .partition(|pod| pod.label(REVISION) == Some(revision));
    for pods in [&mut new, &mut old] {
        pods.sort_by_key(|pod| (read::created(pod), pod.name().to_owned()));
        if let Some((_, surplus)) = pods.split_first() {
            dismiss(inputs.set, surplus, plan);
        }
    }
    let (new, old) = (new.first().copied(), old.first().copied());
    counts.updated += i64::from(new.is_some());
    let serving = [new, old].into_iter().flatten();
    let ready = serving
        .filter(|pod| read::is_ready(pod))
        .collect::<Vec<_>>();
    counts.ready += i64::from(!ready.is_empty());
    counts.available += i64::from(ready.iter().any(|pod| is_available(inputs, pod)));
    let patience = inputs
        .set
        .integer_at(&["spec", "minReadySeconds"])
        .unwrap_or(0);
    let later = ready
        .iter()
        .filter_map(|pod| read::available_at(pod, patience));
    for time in later.filter(|time| *time > inputs.now) {
        plan.wake_at(time);
    }
    (old, new)
}

fn is_available(inputs: &Inputs<'_>, pod: &Object) -> bool {
    let patience = inputs
        .set
        .integer_at(&["spec", "minReadySeconds"])
        .unwrap_or(0);
    read::available_at(pod, patience).is_some_and(|time| time <= inputs.now)
}

/// Lets go of as many outdated pods as may be missing, or makes as many new ones beside them as there may be more.
fn update(
    inputs: &Inputs<'_>,
    share: &Share,
    counts: &Counts,
    outdated: Vec<(&Object, Option<Value>)>,
    plan: &mut Plan,
) {
    if share.by_hand {
        return;
    }
    let (well, broken): (Vec<_>, Vec<_>) = outdated
        .into_iter()
        .partition(|(pod, _)| is_available(inputs, pod));
    if share.surge > 0 {
        let room = usize::try_from(share.surge - counts.surging).unwrap_or_default();
        for (_, model) in broken.into_iter().chain(well).take(room) {
            if let Some(model) = model {
                plan.create_pod(inputs.set, model);
            }
        }
        return;
    }
    // One that does not work anyway is no loss.
    let broken: Vec<&Object> = broken.into_iter().map(|(pod, _)| pod).collect();
    dismiss(inputs.set, &broken, plan);
    let missing = counts.desired - counts.available;
    let may_go = usize::try_from(share.unavailable - missing).unwrap_or_default();
    let well: Vec<&Object> = well.into_iter().take(may_go).map(|(pod, _)| pod).collect();
    dismiss(inputs.set, &well, plan);
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

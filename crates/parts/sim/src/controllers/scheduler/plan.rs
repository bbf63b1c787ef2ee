//! Which pod goes where.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::controllers::ephemeral_volume;
use crate::controllers::scheduler::affinity::{self, Placed};
use crate::controllers::scheduler::fit;
use crate::controllers::scheduler::ports::{HostPort, ports_of};
use crate::controllers::scheduler::requests::{Amounts, allocatable, requests_of};
use crate::engine::action::{Action, Plan, Target, Writer};
use crate::engine::kind::Kind;
use crate::read;

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    /// Pods without a node.
    pub(crate) waiting: &'a [&'a Arc<Object>],
    pub(crate) nodes: &'a [&'a Arc<Object>],
    /// The pods of a node that have not ended.
    pub(crate) pods_on: &'a dyn Fn(&str) -> Vec<&'a Arc<Object>>,
    /// How it stands with a claim, by `namespace/name`.
    pub(crate) claim: &'a dyn Fn(&str) -> Standing,
    pub(crate) now: Time,
}

/// How it stands with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Missing,
    /// It was deleted and stays only for those that have it.
    Going,
    Unbound,
    Bound,
}

/// What keeps a pod off a node where its ports are taken.
pub(crate) const NO_PORTS: &str = "node(s) didn't have free ports for the requested pod ports";

/// A node with what is left of it.
struct Room<'a> {
    node: &'a Object,
    has: Amounts,
    taken: Amounts,
    pods: i64,
    ports: Vec<HostPort<'a>>,
    /// How many pods of each owner are here; spreads equals.
    siblings: BTreeMap<&'a str, i64>,
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let mut placed = Vec::new();
    let mut rooms: Vec<Room<'_>> = inputs.nodes.iter().map(|node| Room::of(node)).collect();
    for room in &mut rooms {
        for pod in (inputs.pods_on)(room.node.name()) {
            room.take(pod, &requests_of(pod));
            placed.push(Placed {
                pod,
                node: room.node,
            });
        }
    }
    let mut waiting: Vec<&Arc<Object>> = inputs.waiting.to_vec();
    waiting.sort_by_cached_key(|pod| {
        let priority = pod.integer_at(&["spec", "priority"]).unwrap_or(0);
        (
            Reverse(priority),
            read::created(pod),
            pod.namespace().to_owned(),
            pod.name().to_owned(),
        )
    });
    for pod in waiting {
        let requests = requests_of(pod);
        if let Some(why) = missing_claim(inputs, pod) {
            let message = refusal_at_once(rooms.len(), &why);
            refuse(&mut plan, pod, message, inputs.now);
            continue;
        }
        match choose(pod, &requests, &rooms, &placed) {
            Ok(place) => {
                let Some(room) = rooms.get_mut(place) else {
                    continue;
                };
                room.take(pod, &requests);
                placed.push(Placed {
                    pod,
                    node: room.node,
                });
                bind(&mut plan, pod, room.node.name());
            }
            Err(message) => refuse(&mut plan, pod, message, inputs.now),
        }
    }
    plan
}

/// What a pod lacks that no node can give it.
fn missing_claim(inputs: &Inputs<'_>, pod: &Object) -> Option<String> {
    read::list(pod, &["spec", "volumes"])
        .iter()
        .find_map(|volume| {
            let made = ephemeral_volume::claim_of(pod, volume).map(|(name, _)| name);
            let is_made = made.is_some();
            let name = match made {
                Some(name) => name,
                None => {
                    let claim = volume.get("persistentVolumeClaim")?;
                    read::text(claim, "claimName").to_owned()
                }
            };
            match (inputs.claim)(&format!("{}/{name}", pod.namespace())) {
                Standing::Bound => None,
                Standing::Unbound => {
                    Some("pod has unbound immediate PersistentVolumeClaims".to_owned())
                }
                Standing::Going => Some(format!(
                    "persistentvolumeclaim {name:?} is being deleted"
                )),
                Standing::Missing if is_made => Some(format!(
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim {name:?}"
                )),
                Standing::Missing => Some(format!("persistentvolumeclaim {name:?} not found")),
            }
        })
}

fn refusal_at_once(nodes: usize, why: &str) -> String {
    format!(
        "0/{nodes} nodes are available: {why}. preemption: 0/{nodes} nodes are available: {nodes} Preemption is not helpful for scheduling."
    )
}

/// The place of the best room, or why there is none.
fn choose(
    pod: &Object,
    requests: &Amounts,
    rooms: &[Room<'_>],
    placed: &[Placed<'_>],
) -> Result<usize, String> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let suiting: Vec<&Object> = rooms
        .iter()
        .map(|room| room.node)
        .filter(|node| fit::suits(node, pod))
        .collect();
    let mut best: Option<(i64, Reverse<i64>, i64, Reverse<usize>)> = None;
    for (place, room) in rooms.iter().enumerate() {
        let objections = room.objections(pod, requests, &suiting, placed);
        if !objections.is_empty() {
            for objection in objections {
                *reasons.entry(objection).or_default() += 1;
            }
            continue;
        }
        let score = (
            fit::preference(room.node, pod),
            Reverse(room.siblings_of(pod)),
            room.free_share(requests),
            Reverse(place),
        );
        best = best.max(Some(score));
    }
    match best {
        Some((_, _, _, Reverse(place))) => Ok(place),
        None => Err(refusal(rooms.len(), &reasons)),
    }
}

impl<'a> Room<'a> {
    fn of(node: &'a Object) -> Self {
        Self {
            node,
            has: allocatable(node),
            taken: Amounts::default(),
            pods: 0,
            ports: Vec::new(),
            siblings: BTreeMap::new(),
        }
    }

    fn take(&mut self, pod: &'a Object, requests: &Amounts) {
        self.taken.add(requests);
        self.pods += 1;
        self.ports.extend(ports_of(pod));
        if let Some(owner) = read::controller_uid(pod) {
            *self.siblings.entry(owner).or_default() += 1;
        }
    }

    fn siblings_of(&self, pod: &Object) -> i64 {
        let owner = read::controller_uid(pod);
        owner
            .and_then(|owner| self.siblings.get(owner).copied())
            .unwrap_or(0)
    }

    /// Everything that keeps a pod off this node, in Kubernetes' words; the first filter that says no ends the list.
    fn objections(
        &self,
        pod: &Object,
        requests: &Amounts,
        suiting: &[&Object],
        placed: &[Placed<'_>],
    ) -> Vec<String> {
        let cordon = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"});
        let is_cordoned = self
            .node
            .at(&["spec", "unschedulable"])
            .and_then(Value::as_bool)
            == Some(true);
        if is_cordoned && !fit::tolerates(pod, &cordon) {
            return vec!["node(s) were unschedulable".to_owned()];
        }
        if let Some(taint) = fit::first_untolerated(self.node, pod) {
            let (key, value) = (read::text(taint, "key"), read::text(taint, "value"));
            return vec![format!("node(s) had untolerated taint {{{key}: {value}}}")];
        }
        if !fit::suits(self.node, pod) {
            return vec!["node(s) didn't match Pod's node affinity/selector".to_owned()];
        }
        if ports_of(pod).any(|port| self.ports.iter().any(|taken| taken.clashes_with(&port))) {
            return vec![NO_PORTS.to_owned()];
        }
        let mut short = Vec::new();
        if self.pods + 1 > self.has.get("pods") {
            short.push("Too many pods".to_owned());
        }
        for (name, amount) in &requests.0 {
            if *amount > 0 && self.taken.get(name).saturating_add(*amount) > self.has.get(name) {
                short.push(format!("Insufficient {name}"));
            }
        }
        if !short.is_empty() {
            return short;
        }
        let social = affinity::imbalance(pod, self.node, suiting, placed)
            .or_else(|| affinity::objection(pod, self.node, placed));
        social.map(str::to_owned).into_iter().collect()
    }

    /// How much would be left of what is scarcest, in thousandths.
    fn free_share(&self, requests: &Amounts) -> i64 {
        ["cpu", "memory"]
            .iter()
            .map(|name| {
                let has = self.has.get(name).max(1);
                let taken = self.taken.get(name).saturating_add(requests.get(name));
                has.saturating_sub(taken).max(0).saturating_mul(1000) / has
            })
            .min()
            .unwrap_or(0)
    }
}

/// Why no node takes a pod, the most frequent reasons not first but in their order, as Kubernetes writes it.
fn refusal(nodes: usize, reasons: &BTreeMap<String, usize>) -> String {
    if nodes == 0 {
        return "no nodes available to schedule pods".to_owned();
    }
    let mut parts: Vec<String> = reasons
        .iter()
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    parts.sort();
    let frees = |reason: &str| {
        reason.starts_with("Insufficient") || reason.starts_with("Too many") || reason == NO_PORTS
    };
    let helpless = !reasons.keys().any(|reason| frees(reason));
    let preemption = if helpless {
        format!("{nodes} Preemption is not helpful for scheduling")
    } else {
        format!("{nodes} No preemption victims found for incoming pod")
    };
    format!(
        "0/{nodes} nodes are available: {}. preemption: 0/{nodes} nodes are available: {preemption}.",
        parts.join(", ")
    )
}

fn bind(plan: &mut Plan, pod: &Object, node: &str) {
    plan.actions.push(Action::Bind {
        of: Target::any(Kind::Pod, pod),
        node: node.to_owned(),
    });
    let message = format!(
        "Successfully assigned {}/{} to {node}",
        pod.namespace(),
        pod.name()
    );
    plan.report(pod, Writer::Scheduler, "Scheduled", message);
}

fn refuse(plan: &mut Plan, pod: &Object, message: String, now: Time) {
    let said = read::condition(pod, "PodScheduled");
    if said.is_some_and(|said| read::text(said, "message") == message) {
        return;
    }
    let mut conditions = read::conditions(pod);
    let condition = json!({
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
        "lastProbeTime": null,
    });
    read::put_condition(&mut conditions, condition, now);
    let mut status = pod.at(&["status"]).cloned().unwrap_or_else(|| json!({}));
    if let Some(fields) = status.as_object_mut() {
        fields.insert("conditions".to_owned(), conditions.into());
    }
    plan.warn(pod, Writer::Scheduler, "FailedScheduling", message);
    plan.status(Kind::Pod, pod, status, Writer::Scheduler);
}

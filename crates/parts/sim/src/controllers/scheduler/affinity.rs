//! Whether one pod bears the company of others: required pod affinity, anti-affinity and even spreading.

use std::collections::BTreeMap;

use object::{Object, Value};

use crate::read;

/// A pod and the node it is on.
pub(crate) struct Placed<'a> {
    pub(crate) pod: &'a Object,
    pub(crate) node: &'a Object,
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// What keeps a pod off a node because of other pods, in Kubernetes' words.
pub(crate) fn objection(
    pod: &Object,
    node: &Object,
    placed: &[Placed<'_>],
) -> Option<&'static str> {
    let apart = terms(pod, "podAntiAffinity");
    if apart
        .iter()
        .any(|term| placed.iter().any(|other| meets(term, pod, other, node)))
    {
        return Some("node(s) didn't match pod anti-affinity rules");
    }
    let is_unwelcome = placed.iter().any(|other| {
        terms(other.pod, "podAntiAffinity").iter().any(|term| {
            let here = Placed { pod, node };
            meets(term, other.pod, &here, other.node)
        })
    });
    if is_unwelcome {
        return Some("node(s) didn't satisfy existing pods anti-affinity rules");
    }
    let together = terms(pod, "podAffinity");
    let is_alone = together.iter().any(|term| {
        let found = placed.iter().any(|other| meets(term, pod, other, node));
        // Upstream: the first of a group that wants itself for company may go anywhere.
        let is_first =
            !placed.iter().any(|other| concerns(term, pod, other.pod)) && concerns(term, pod, pod);
        let may_begin = is_first && node.label(read::text(term, "topologyKey")).is_some();
        !found && !may_begin
    });
    if is_alone {
        return Some("node(s) didn't match pod affinity rules");
    }
    None
}

/// What keeps a pod off a node because it would be spread unevenly.
pub(crate) fn imbalance(
    pod: &Object,
    node: &Object,
    candidates: &[&Object],
    placed: &[Placed<'_>],
) -> Option<&'static str> {
    for rule in read::list(pod, &["spec", "topologySpreadConstraints"]) {
        if read::text(rule, "whenUnsatisfiable") == "ScheduleAnyway" {
            continue;
        }
        let key = read::text(rule, "topologyKey");
        let Some(here) = node.label(key) else {
            return Some(
                "node(s) didn't match pod topology spread constraints (missing required label)",
            );
        };
        let Some(selector) = read::selector(rule.get("labelSelector")) else {
            continue;
        };
        let mut counts: BTreeMap<&str, i64> = candidates
            .iter()
            .filter_map(|node| Some((node.label(key)?, 0)))
            .collect();
        for other in placed {
            if other.pod.namespace() == pod.namespace()
                && read::selects(&selector, other.pod)
                && let Some(count) = other
                    .node
                    .label(key)
                    .and_then(|place| counts.get_mut(place))
            {
                *count += 1;
            }
        }
        let least = counts.values().copied().min().unwrap_or(0);
        let after =
            counts.get(here).copied().unwrap_or(0) + i64::from(read::selects(&selector, pod));
        let skew = rule.get("maxSkew").and_then(Value::as_i64).unwrap_or(1);
        if after - least > skew {
            return Some("node(s) didn't match pod topology spread constraints");
        }
    }
    None
}

fn terms<'p>(pod: &'p Object, which: &str) -> &'p [Value] {
    read::list(pod, &["spec", "affinity", which, REQUIRED])
}

/// Whether a term of a pod is about another pod.
fn concerns(term: &Value, of: &Object, other: &Object) -> bool {
    let namespaces = read::items(term, "namespaces");
    let is_here = if namespaces.is_empty() && term.get("namespaceSelector").is_none() {
        other.namespace() == of.namespace()
    } else {
        // A selector of namespaces is taken for all of them.
        term.get("namespaceSelector").is_some()
            || namespaces
                .iter()
                .any(|name| name.as_str() == Some(other.namespace()))
    };
    is_here
        && read::selector(term.get("labelSelector"))
            .is_some_and(|selector| read::selects(&selector, other))
}

/// Whether another pod is one a term is about and in the same place as a node.
fn meets(term: &Value, of: &Object, other: &Placed<'_>, node: &Object) -> bool {
    let key = read::text(term, "topologyKey");
    let (here, there) = (node.label(key), other.node.label(key));
    here.is_some() && here == there && concerns(term, of, other.pod)
}

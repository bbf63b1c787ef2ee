//! Many works, one binding.

use std::collections::BTreeSet;

use api::{
    well_known::conditions::binding::{FULLY_APPLIED, FULLY_APPLIED_FAILED, FULLY_APPLIED_SUCCESS},
    work::v1alpha2::{AggregatedStatusItem, ObjectReference, ResourceBindingStatus},
};
use object::{
    Object, Value,
    condition::{Condition, with_condition},
    time::Time,
};
use serde_json::json;

use crate::item::{Contact, item};

/// How many clusters a condition's message tells of; the items have all of them.
const NAMED_CLUSTERS: usize = 5;

/// Everything the fold looks at.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// The template of the binding.
    pub template: &'a ObjectReference,
    /// The clusters that should have a work: targets, and those that are being left gracefully.
    pub expected: &'a BTreeSet<&'a str>,
    /// The works of the binding.
    pub works: &'a [&'a Object],
    /// The clusters that do not answer.
    pub silent: &'a BTreeSet<&'a str>,
    /// What keeps works from being what they should be, as people are told. Works are applied then, but old ones.
    pub setbacks: &'a [&'a str],
}

/// What the works of a binding say together.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// One item for each work, by the name of the cluster.
    pub items: Vec<AggregatedStatusItem>,
    /// `FullyApplied`.
    pub condition: Condition,
}

/// Folds the works of a binding.
#[must_use]
pub fn fold(inputs: &Inputs<'_>) -> Folded {
    let mut items: Vec<AggregatedStatusItem> = inputs
        .works
        .iter()
        .filter(|work| !work.is_terminating())
        .filter_map(|work| {
            let cluster = api::names::cluster_of_execution_space(work.namespace())?;
            let contact = if inputs.silent.contains(cluster) {
                Contact::Silent
            } else {
                Contact::Answering
            };
            item(work, inputs.template, contact)
        })
        .collect();
    items.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    let condition = fully_applied(inputs.expected, &items, inputs.setbacks);
    Folded { items, condition }
}

/// Upstream: a binding without clusters is not applied, and a cluster too many counts like one too few.
fn fully_applied(
    expected: &BTreeSet<&str>,
    items: &[AggregatedStatusItem],
    setbacks: &[&str],
) -> Condition {
    let found = |cluster: &str| items.iter().find(|item| item.cluster_name == cluster);
    let missing: Vec<&str> = expected
        .iter()
        .copied()
        .filter(|cluster| found(cluster).is_none_or(|item| !item.applied))
        .collect();
    let strangers: Vec<&str> = items
        .iter()
        .map(|item| item.cluster_name.as_str())
        .filter(|cluster| !expected.contains(cluster))
        .collect();
    let problem = if expected.is_empty() {
        "no cluster is chosen".to_owned()
    } else if !missing.is_empty() {
        format!(
            "applied to {} of {} clusters; not to {}",
            expected.len() - missing.len(),
            expected.len(),
            list(&missing)
        )
    } else if !strangers.is_empty() {
        format!("still on {}", list(&strangers))
    } else if !setbacks.is_empty() {
        "not what was asked for".to_owned()
    } else {
        let message = format!("applied to {}", count(expected.len()));
        return Condition::new(FULLY_APPLIED, true.into(), FULLY_APPLIED_SUCCESS, message);
    };
    let problem = [problem.as_str()]
        .into_iter()
        .chain(setbacks.iter().copied())
        .collect::<Vec<_>>()
        .join("; ");
    Condition::new(FULLY_APPLIED, false.into(), FULLY_APPLIED_FAILED, problem)
}

fn list(clusters: &[&str]) -> String {
    let shown: Vec<&str> = clusters.iter().copied().take(NAMED_CLUSTERS).collect();
    match clusters.len().saturating_sub(NAMED_CLUSTERS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn count(clusters: usize) -> String {
    match clusters {
        1 => "1 cluster".to_owned(),
        more => format!("{more} clusters"),
    }
}

impl Folded {
    /// What is to be written to the status of the binding, as a merge patch; `None` if it says all of this already.
    ///
    /// Conditions are one list, so those of others are in it: write it only to the revision it was made from.
    #[must_use]
    pub fn patch(&self, current: &ResourceBindingStatus, now: Time) -> Option<Value> {
        let (conditions, is_new) =
            with_condition(current.conditions.clone(), self.condition.clone(), now);
        let mut status = object::Map::new();
        if is_new {
            status.insert("conditions".to_owned(), json!(conditions));
        }
        if self.items != current.aggregated_status {
            status.insert("aggregatedStatus".to_owned(), json!(self.items));
        }
        (!status.is_empty()).then(|| json!({ "status": status }))
    }
}

//! The estimate from single nodes: what an estimator that sees a cluster's nodes answers.

use std::{collections::BTreeMap, sync::Arc};

use api::{
    kubernetes::{
        ResourceList,
        scheduling::{
            NodeSelectorRequirement, NodeSelectorTerm, Taint, Toleration, selector_operator,
            taint_effect,
        },
    },
    work::v1alpha2::NodeClaim,
};

use crate::{
    demand::{Assumed, Component},
    first_fit::Nodes,
    general::UNBOUNDED,
    resource::{Amounts, Resource},
    toleration::{first_untolerated, tolerates},
};

/// The taint that Kubernetes puts on a cordoned node; whoever tolerates it may go there.
const CORDONED: &str = "node.kubernetes.io/unschedulable";

/// A node and what is left on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    name: String,
    labels: BTreeMap<String, String>,
    taints: Vec<Arc<Taint>>,
    cordoned: bool,
    /// Never negative; `pods` are places.
    free: Amounts,
}

/// How a node presents itself to whoever wants to go there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeTraits {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// Whether it is marked as not to be used for new pods.
    pub cordoned: bool,
}

/// What is on a node already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// What its pods request together.
    pub requested: Amounts,
    /// How many pods there are.
    pub pods: i64,
}

impl Node {
    /// A node that offers `allocatable` and carries `load`.
    #[must_use]
    pub fn new(traits: NodeTraits, allocatable: &ResourceList, load: &Load) -> Self {
        let mut left = Amounts::of(allocatable);
        let slots = left
            .amount(&Resource::Pods)
            .unwrap_or(0)
            .saturating_sub(load.pods);
        left.take(&load.requested, 1);
        let left = left.with(Resource::Pods, slots);
        Self {
            name: traits.name,
            labels: traits.labels,
            taints: traits.taints.into_iter().map(Arc::new).collect(),
            cordoned: traits.cordoned,
            free: Amounts::collect(
                left.iter()
                    .map(|(resource, amount)| (resource.clone(), amount.max(0))),
            ),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a pod with this claim may run here.
    #[must_use]
    pub fn accepts(&self, claim: Option<&NodeClaim>) -> bool {
        let tolerations = claim.map_or(&[][..], |claim| &claim.tolerations);
        if self.cordoned && !is_cordon_tolerated(tolerations) {
            return false;
        }
        if first_untolerated(&self.taints, tolerations).is_some() {
            return false;
        }
        let Some(claim) = claim else { return true };
        let selected = claim
            .node_selector
            .iter()
            .all(|(key, value)| self.labels.get(key) == Some(value));
        let affine = claim.hard_node_affinity.as_ref().is_none_or(|affinity| {
            affinity
                .node_selector_terms
                .iter()
                .any(|term| self.satisfies(term))
        });
        selected && affine
    }

    fn satisfies(&self, term: &NodeSelectorTerm) -> bool {
        if term.match_expressions.is_empty() && term.match_fields.is_empty() {
            return false;
        }
        let by_label = |requirement: &NodeSelectorRequirement| {
            is_met(
                requirement,
                self.labels.get(&requirement.key).map(String::as_str),
            )
        };
        let by_field = |requirement: &NodeSelectorRequirement| {
            requirement.key == "metadata.name" && is_met(requirement, Some(&self.name))
        };
        term.match_expressions.iter().all(by_label) && term.match_fields.iter().all(by_field)
    }
}

/// How many replicas fit on `nodes`; without a request, how many places for pods there are.
#[must_use]
pub fn replicas(
    nodes: &[Node],
    request: Option<&Amounts>,
    claim: Option<&NodeClaim>,
    assumed: &Assumed,
) -> i64 {
    let request = countable(request.unwrap_or(&Amounts::NONE));
    let room = with_assumed(nodes, assumed).room(&request, |origin| accepts(nodes, origin, claim));
    room.min(UNBOUNDED)
}

/// How many sets fit on `nodes`, at most `limit`; each component with the claim on nodes it makes.
#[must_use]
pub fn sets(
    nodes: &[Node],
    components: &[(Component, Option<&NodeClaim>)],
    assumed: &Assumed,
    limit: i64,
) -> i64 {
    let pods = components
        .iter()
        .map(|(component, _)| component.replicas)
        .fold(0_i64, i64::saturating_add);
    if pods == 0 {
        // Upstream would place empty sets until the limit, one by one.
        return limit.clamp(0, UNBOUNDED);
    }
    let wanted: Vec<Component> = components
        .iter()
        .map(|(component, _)| Component {
            request: countable(&component.request),
            ..component.clone()
        })
        .collect();
    let claim = |index: usize| components.get(index).and_then(|(_, claim)| *claim);
    with_assumed(nodes, assumed).place_sets(&wanted, limit.min(UNBOUNDED), |index, origin| {
        accepts(nodes, origin, claim(index))
    })
}

/// The room on the nodes once what was promised is placed, each workload once, wherever it fits.
fn with_assumed(nodes: &[Node], assumed: &Assumed) -> Nodes {
    let mut room = Nodes::new(nodes.iter().map(|node| (1, node.free.clone())));
    for workload in assumed.workloads() {
        room.place_set(&workload.components, |_, origin| {
            accepts(nodes, origin, None)
        });
    }
    room
}

fn accepts(nodes: &[Node], origin: usize, claim: Option<&NodeClaim>) -> bool {
    nodes.get(origin).is_some_and(|node| node.accepts(claim))
}

/// The part of a request that Kubernetes' scheduler counts on nodes.
fn countable(request: &Amounts) -> Amounts {
    let counts = |resource: &Resource| match resource {
        Resource::Named(name) => {
            name.contains('/')
                || name.starts_with("hugepages-")
                || name.starts_with("attachable-volumes-")
        }
        Resource::Pods => false,
        Resource::Cpu | Resource::Memory | Resource::EphemeralStorage => true,
    };
    Amounts::collect(
        request
            .iter()
            .filter(|(resource, _)| counts(resource))
            .map(|(r, amount)| (r.clone(), amount)),
    )
}

fn is_cordon_tolerated(tolerations: &[Toleration]) -> bool {
    let taint = Taint {
        key: CORDONED.to_owned(),
        effect: taint_effect::NO_SCHEDULE.to_owned(),
        ..Taint::default()
    };
    tolerations
        .iter()
        .any(|toleration| tolerates(toleration, &taint))
}

fn is_met(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let listed = |value: &str| requirement.values.iter().any(|wanted| wanted == value);
    let compared = |compare: fn(&i64, &i64) -> bool| {
        let bound = requirement
            .values
            .first()
            .and_then(|text| text.parse().ok());
        let number = value.and_then(|text| text.parse().ok());
        bound
            .zip(number)
            .is_some_and(|(bound, number)| compare(&number, &bound))
    };
    match requirement.operator.as_str() {
        selector_operator::IN => value.is_some_and(listed),
        selector_operator::NOT_IN => !value.is_some_and(listed),
        selector_operator::EXISTS => value.is_some(),
        selector_operator::DOES_NOT_EXIST => value.is_none(),
        selector_operator::GT => compared(i64::gt),
        selector_operator::LT => compared(i64::lt),
        _ => false,
    }
}

//! What a binding uses of its namespace's quotas.

use object::quantity::{Format, Quantity, Scale};

use super::resource_names::{is_huge_page, is_scalar};
use crate::{
    kubernetes::ResourceList, policy::FederatedResourceQuota, work::v1alpha2::ResourceBindingSpec,
};

/// What comes of charging a quota.
#[derive(Clone, Debug, PartialEq)]
pub enum Charge {
    /// The quota limits nothing of what changed.
    Untouched,
    /// It fits; this is used then.
    Fits(ResourceList),
    /// It does not fit.
    Exceeded(Vec<Excess>),
}

/// A limit that would be exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Name of the resource.
    pub resource: String,
    /// What would be used.
    pub total: Quantity,
    /// What may be used.
    pub limit: Quantity,
}

/// What the replicas of a binding ask for on all of its clusters together. A binding with components has the whole set
/// of them on each cluster.
#[must_use]
pub fn usage(spec: &ResourceBindingSpec) -> ResourceList {
    let mut usage = ResourceList::new();
    if spec.components.is_empty() {
        for (name, amount) in requests(spec) {
            add(&mut usage, name, *amount * scheduled_replicas(spec));
        }
    } else {
        let clusters = i64::try_from(spec.clusters.len()).unwrap_or(i64::MAX);
        for component in &spec.components {
            let request = component
                .replica_requirements
                .iter()
                .flat_map(|needs| &needs.resource_request);
            for (name, amount) in request {
                add(
                    &mut usage,
                    name,
                    *amount * i64::from(component.replicas) * clusters,
                );
            }
        }
    }
    usage.retain(|_, amount| !amount.is_zero());
    usage
}

/// How much more is used after a change than before; nothing is left out but what stays the same.
#[must_use]
pub fn delta(new: &ResourceList, old: &ResourceList) -> ResourceList {
    let mut delta = new.clone();
    for (name, amount) in old {
        add(&mut delta, name, -*amount);
    }
    delta.retain(|_, amount| !amount.is_zero());
    delta
}

/// Charges a quota with a change of use.
///
/// Upstream: every limit is compared, even of resources that the change leaves alone or uses less of, so that a quota
/// whose limit was lowered below its use also refuses to scale down. Here a limit only refuses what uses more of it.
#[must_use]
pub fn charge(quota: &FederatedResourceQuota, delta: &ResourceList) -> Charge {
    let limits = &quota.spec.overall;
    let relevant: ResourceList = delta
        .iter()
        .filter(|(name, amount)| limits.contains_key(*name) && !amount.is_zero())
        .map(|(name, amount)| (name.clone(), *amount))
        .collect();
    if relevant.is_empty() {
        return Charge::Untouched;
    }
    let totals = totals(&quota.status.overall_used, &relevant);
    let grows = |name: &String| relevant.get(name).is_some_and(|amount| amount.signum() > 0);
    let exceeded: Vec<Excess> = totals
        .iter()
        .filter(|(name, _)| grows(name))
        .filter_map(|(name, total)| {
            let limit = limits.get(name).filter(|limit| total > *limit)?;
            Some(Excess {
                resource: name.clone(),
                total: *total,
                limit: *limit,
            })
        })
        .collect();
    if exceeded.is_empty() {
        Charge::Fits(totals)
    } else {
        Charge::Exceeded(exceeded)
    }
}

/// Whether a change of a binding can change what it uses.
pub(super) fn is_relevant_change(old: &ResourceBindingSpec, new: &ResourceBindingSpec) -> bool {
    let has_components = !old.components.is_empty() || !new.components.is_empty();
    !requests(old).eq(requests(new))
        || scheduled_replicas(old) != scheduled_replicas(new)
        || (has_components && cluster_names(old) != cluster_names(new))
        || component_demands(old) != component_demands(new)
}

fn requests(spec: &ResourceBindingSpec) -> impl Iterator<Item = (&String, &Quantity)> {
    spec.replica_requirements
        .iter()
        .flat_map(|needs| &needs.resource_request)
}

fn scheduled_replicas(spec: &ResourceBindingSpec) -> i64 {
    spec.clusters
        .iter()
        .map(|target| i64::from(target.replicas))
        .sum()
}

fn cluster_names(spec: &ResourceBindingSpec) -> Vec<&str> {
    let mut names: Vec<&str> = spec
        .clusters
        .iter()
        .map(|target| target.name.as_str())
        .collect();
    names.sort_unstable();
    names
}

fn component_demands(spec: &ResourceBindingSpec) -> Vec<(i32, Option<&ResourceList>)> {
    let components = spec.components.iter();
    components
        .map(|component| {
            let request = component
                .replica_requirements
                .as_ref()
                .map(|needs| &needs.resource_request);
            (component.replicas, request)
        })
        .collect()
}

/// What is used after a change: cpu in thousandths, all else in whole units, and only what is left of it.
fn totals(used: &ResourceList, delta: &ResourceList) -> ResourceList {
    let mut totals = ResourceList::new();
    for (name, amount) in used.iter().chain(delta) {
        let Some((scale, format)) = counted_as(name) else {
            continue;
        };
        add(
            &mut totals,
            name,
            amount.round_up(scale).with_format(format),
        );
    }
    totals.retain(|_, amount| amount.signum() > 0);
    totals
}

/// The unit in which a quota counts a resource; `None` for names it does not keep track of.
fn counted_as(name: &str) -> Option<(Scale, Format)> {
    match name {
        "cpu" => Some((Scale::Milli, Format::DecimalSI)),
        "memory" | "ephemeral-storage" => Some((Scale::Unit, Format::BinarySI)),
        "pods" => Some((Scale::Unit, Format::DecimalSI)),
        _ if is_huge_page(name) => Some((Scale::Unit, Format::BinarySI)),
        _ if is_scalar(name) => Some((Scale::Unit, Format::DecimalSI)),
        _ => None,
    }
}

fn add(amounts: &mut ResourceList, name: &str, amount: Quantity) {
    match amounts.get_mut(name) {
        Some(sum) => *sum += amount,
        None => {
            amounts.insert(name.to_owned(), amount);
        }
    }
}

//! How much of each resource a pod asks for, as Kubernetes' scheduler counts it.
//!
//! Containers run side by side and add up. An ordinary init container runs alone, before them, so the pod needs at
//! least as much as the largest. A restartable one (a sidecar) is started in its turn and stays: it adds to the
//! containers, and to every init container after it. A request for the pod as a whole replaces what its containers sum
//! up to. What the runtime itself takes is added last.
//!
//! Upstream: sidecars count as ordinary init containers and requests of the pod as a whole are not seen, so such pods
//! look smaller than they are.

use api::kubernetes::ResourceList;
use object::{
    names::check_qualified_name,
    quantity::{Format, Quantity},
};

use crate::{error::RuleError, node::Node};

/// Amounts by resource; a pod names a handful, so a scan beats a map.
#[derive(Clone, Default)]
struct Amounts<'v>(Vec<(&'v str, Quantity)>);

/// What a pod of this spec asks for, without resources it asks nothing of.
pub(crate) fn requests(spec: Node<'_, '_>) -> Result<ResourceList, RuleError> {
    let mut total = Amounts::default();
    for container in spec.at(&["containers"])?.list()? {
        total.add(&container_requests(container)?);
    }
    let mut sidecars = Amounts::default();
    let mut starting = Amounts::default();
    for container in spec.at(&["initContainers"])?.list()? {
        let mut own = container_requests(container)?;
        if container.at(&["restartPolicy"])?.text()? == Some("Always") {
            total.add(&own);
            sidecars.add(&own);
            own.clone_from(&sidecars);
        } else {
            own.add(&sidecars);
        }
        starting.raise_to(&own);
    }
    total.raise_to(&starting);
    let whole = spec.at(&["resources"])?;
    total.replace(&pod_amounts(whole.at(&["requests"])?)?);
    // A limit of the pod as a whole is its request only where nothing else says what that is.
    total.fill(&pod_amounts(whole.at(&["limits"])?)?);
    total.add(&amounts(spec.at(&["overhead"])?)?);
    Ok(total.into_list())
}

/// A container's requests; where it has a limit and no request for a resource, the limit.
fn container_requests<'v>(container: Node<'v, '_>) -> Result<Amounts<'v>, RuleError> {
    let mut requests = amounts(container.at(&["resources", "requests"])?)?;
    requests.fill(&amounts(container.at(&["resources", "limits"])?)?);
    Ok(requests)
}

/// Amounts for the pod as a whole, of the resources that can be asked for that way.
fn pod_amounts<'v>(list: Node<'v, '_>) -> Result<Amounts<'v>, RuleError> {
    let mut amounts = amounts(list)?;
    amounts
        .0
        .retain(|(name, _)| matches!(*name, "cpu" | "memory") || is_huge_page(name));
    Ok(amounts)
}

fn amounts<'v>(list: Node<'v, '_>) -> Result<Amounts<'v>, RuleError> {
    let Some(fields) = list.fields()? else {
        return Ok(Amounts::default());
    };
    let mut amounts = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        if let Some(quantity) = list.key(name, value).quantity()?
            && is_counted(name)
        {
            amounts.push((name.as_str(), quantity));
        }
    }
    Ok(Amounts(amounts))
}

impl<'v> Amounts<'v> {
    fn add(&mut self, other: &Self) {
        self.merge(other, |mine, theirs| *mine += theirs);
    }

    fn raise_to(&mut self, other: &Self) {
        self.merge(other, |mine, theirs| *mine = (*mine).max(theirs));
    }

    fn replace(&mut self, other: &Self) {
        self.merge(other, |mine, theirs| *mine = theirs);
    }

    fn fill(&mut self, other: &Self) {
        self.merge(other, |_, _| ());
    }

    /// Brings the amounts together; those of the other alone are taken as they are.
    fn merge(&mut self, other: &Self, bring: impl Fn(&mut Quantity, Quantity)) {
        for (name, theirs) in &other.0 {
            match self.0.iter_mut().find(|(mine, _)| mine == name) {
                Some((_, mine)) => bring(mine, *theirs),
                None => self.0.push((name, *theirs)),
            }
        }
    }

    /// In the units and the writing that bindings have them in.
    fn into_list(self) -> ResourceList {
        let written = self.0.into_iter().map(|(name, quantity)| {
            let quantity = match name {
                "cpu" => Quantity::from_millis(quantity.milli_value(), Format::DecimalSI),
                "memory" | "ephemeral-storage" => {
                    Quantity::from_units(quantity.value(), Format::BinarySI)
                }
                name if is_huge_page(name) => {
                    Quantity::from_units(quantity.value(), Format::BinarySI)
                }
                _ => Quantity::from_units(quantity.value(), Format::DecimalSI),
            };
            (name, quantity)
        });
        written
            .filter(|(_, quantity)| quantity.signum() > 0)
            .map(|(name, quantity)| (name.to_owned(), quantity))
            .collect()
    }
}

/// Whether a scheduler counts the resource: the basic ones, those of nodes, and what vendors add.
fn is_counted(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "pods" | "ephemeral-storage")
        || is_huge_page(name)
        || name.starts_with("attachable-volumes-")
        || name.contains("kubernetes.io/")
        || is_extended(name)
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// A vendor's resource has the vendor's domain before it, and leaves room for the prefix that quotas put there.
fn is_extended(name: &str) -> bool {
    name.contains('/')
        && !name.starts_with("requests.")
        && check_qualified_name(&format!("requests.{name}")).is_empty()
}

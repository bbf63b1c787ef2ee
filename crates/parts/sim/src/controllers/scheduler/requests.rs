//! What pods ask for and nodes have, in whole units: thousandths of processors, bytes, pieces.

use std::collections::BTreeMap;

use object::quantity::Quantity;
use object::{Object, Value};

use crate::read;

/// Amounts by resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts(pub(crate) BTreeMap<String, i64>);

impl Amounts {
    /// Reads a resource list. What is no quantity is nothing.
    pub(crate) fn read(list: Option<&Value>) -> Self {
        let fields = list.and_then(Value::as_object);
        let amounts = fields.into_iter().flatten().filter_map(|(name, value)| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let quantity: Quantity = text.parse().ok()?;
            // Quotas put a prefix before the name.
            let amount = if name == "cpu" || name.ends_with(".cpu") {
                quantity.milli_value()
            } else {
                quantity.value()
            };
            Some((name.clone(), amount))
        });
        Self(amounts.collect())
    }

    pub(crate) fn get(&self, name: &str) -> i64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let sum = self.0.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*amount);
        }
    }

    fn raise_to(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let most = self.0.entry(name.clone()).or_default();
            *most = (*most).max(*amount);
        }
    }

    fn fill(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            self.0.entry(name.clone()).or_insert(*amount);
        }
    }
}

/// What a node can give.
pub(crate) fn allocatable(node: &Object) -> Amounts {
    Amounts::read(node.at(&["status", "allocatable"]))
}

/// What a pod asks for: its containers together, or its largest init container, and what its sandbox takes.
pub(crate) fn requests_of(pod: &Object) -> Amounts {
    let of = |container: &Value| {
        let resources = container.get("resources");
        let mut amounts = Amounts::read(resources.and_then(|resources| resources.get("requests")));
        let limits = resources.and_then(|resources| resources.get("limits"));
        amounts.fill(&Amounts::read(limits));
        amounts
    };
    let mut total = Amounts::default();
    for container in read::list(pod, &["spec", "containers"]) {
        total.add(&of(container));
    }
    let (mut sidecars, mut starting) = (Amounts::default(), Amounts::default());
    for container in read::list(pod, &["spec", "initContainers"]) {
        let mut own = of(container);
        if read::text(container, "restartPolicy") == "Always" {
            total.add(&own);
            sidecars.add(&own);
            own = sidecars.clone();
        } else {
            own.add(&sidecars);
        }
        starting.raise_to(&own);
    }
    total.raise_to(&starting);
    total.add(&Amounts::read(pod.at(&["spec", "overhead"])));
    total
}

//! Amounts of resources: of what a pod asks for, and of a whole that is shared.

use std::collections::BTreeMap;

use object::Value;
use object::quantity::Quantity;

use crate::describe::values::{entries, items, plain};

/// Amounts by the names of resources.
#[derive(Clone, Debug, Default)]
pub(in crate::describe) struct Amounts(BTreeMap<String, Quantity>);

impl Amounts {
    /// Reads a list of resources; what is no amount is left out.
    pub(in crate::describe) fn read(resources: &Value) -> Self {
        let entries = entries(resources).into_iter();
        let amounts = entries.filter_map(|(name, amount)| {
            let amount = plain(amount).parse().ok()?;
            Some((name.to_owned(), amount))
        });
        Self(amounts.collect())
    }

    pub(in crate::describe) fn of(&self, name: &str) -> Quantity {
        self.0.get(name).copied().unwrap_or(Quantity::ZERO)
    }

    /// The names there are amounts of.
    pub(in crate::describe) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Adds other amounts to these.
    pub(in crate::describe) fn add(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let sum = match self.0.get(name) {
                // What is more than can be written counts as it is.
                Some(known) => known.checked_add(*amount).unwrap_or(*known),
                None => *amount,
            };
            self.0.insert(name.clone(), sum);
        }
    }

    /// Raises each amount to the other's, where that is more.
    fn raise(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let known = self.0.entry(name.clone()).or_insert(*amount);
            if known.nanos() < amount.nanos() {
                *known = *amount;
            }
        }
    }
}

/// What a pod asks for: `list` is `requests` or `limits`. Containers run at once, so they add up; those that prepare run
/// before, one after the other, beside those among them that stay.
pub(in crate::describe) fn of_pod(spec: &Value, list: &str) -> Amounts {
    let read = |container: &Value| Amounts::read(&container["resources"][list]);
    let mut running = Amounts::default();
    for container in items(&spec["containers"]) {
        running.add(&read(container));
    }
    let (mut staying, mut preparing) = (Amounts::default(), Amounts::default());
    for container in items(&spec["initContainers"]) {
        let mut at_once = read(container);
        if container["restartPolicy"] == "Always" {
            running.add(&at_once);
            staying.add(&at_once);
            at_once = staying.clone();
        } else {
            at_once.add(&staying);
        }
        preparing.raise(&at_once);
    }
    running.raise(&preparing);
    let mut overhead = Amounts::read(&spec["overhead"]);
    if list == "limits" {
        // What is not limited stays so.
        overhead.0.retain(|name, _| running.0.contains_key(name));
    }
    running.add(&overhead);
    running
}

/// An amount, and its share of a whole in percent.
pub(in crate::describe) fn share(part: Quantity, whole: Quantity) -> String {
    let percent = part.nanos().saturating_mul(100);
    let percent = percent.checked_div(whole.nanos()).unwrap_or(0);
    format!("{part} ({percent}%)")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_asks_for_what_it_needs_at_once() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let staying = |cpu: &str| {
            let mut container = container(cpu);
            container["restartPolicy"] = json!("Always");
            container
        };
        for (first, then, overhead, expected) in [
            (
                vec![],
                vec![container("1"), container("500m")],
                "0",
                "1500m",
            ),
            (vec![container("2")], vec![container("1")], "0", "2"),
            (vec![container("2")], vec![container("3")], "100m", "3100m"),
            (vec![staying("1")], vec![container("1")], "0", "2"),
            // It stays while the next one prepares.
            (
                vec![staying("1"), container("2")],
                vec![container("1")],
                "0",
                "3",
            ),
        ] {
            let spec = json!({
                "initContainers": first, "containers": then, "overhead": {"cpu": overhead},
            });
            let asked = of_pod(&spec, "requests").of("cpu").to_string();
            assert_eq!(asked, expected, "{spec}");
        }
    }

    #[test]
    fn shares_are_cut_and_nothing_is_a_share_of_nothing() {
        let quantity = |text: &str| text.parse::<Quantity>().unwrap();
        for (part, whole, expected) in [
            ("500m", "7500m", "500m (6%)"),
            ("1074Mi", "15Gi", "1074Mi (6%)"),
            ("1", "0", "1 (0%)"),
        ] {
            assert_eq!(share(quantity(part), quantity(whole)), expected);
        }
    }
}

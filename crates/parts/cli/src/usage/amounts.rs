//! Amounts of processors and memory, added up and written short.

use object::Value;
use object::quantity::Quantity;

/// Billionths: the smallest part of a quantity.
const NANOS: i128 = 1_000_000_000;

/// What something uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amounts {
    /// Processors, in billionths.
    pub(super) cpu: i128,
    /// Bytes, in billionths.
    pub(super) memory: i128,
}

impl Amounts {
    /// What a list of resources says; nothing where it says nothing.
    pub(super) fn read(resources: &Value) -> Self {
        let amount = |name: &str| {
            let text = resources[name].as_str().unwrap_or_default();
            text.parse::<Quantity>().map_or(0, Quantity::nanos)
        };
        Self {
            cpu: amount("cpu"),
            memory: amount("memory"),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_add(other.cpu),
            memory: self.memory.saturating_add(other.memory),
        }
    }

    /// Thousandths of processors.
    pub(super) fn cpu_text(self) -> String {
        format!("{}m", self.cpu / (NANOS / 1000))
    }

    /// Mebibytes.
    pub(super) fn memory_text(self) -> String {
        format!("{}Mi", self.memory / NANOS / (1 << 20))
    }
}

/// A share in percent, without its fraction.
pub(super) fn percent(part: i128, whole: i128) -> String {
    match part.saturating_mul(100).checked_div(whole) {
        Some(share) => format!("{share}%"),
        None => "<unknown>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_are_cut_not_rounded() {
        for (resources, cpu, memory) in [
            (json!({"cpu": "1500u", "memory": "3Mi"}), "1m", "3Mi"),
            (json!({"cpu": "2", "memory": "1048575"}), "2000m", "0Mi"),
            (json!({"cpu": "much"}), "0m", "0Mi"),
            (Value::Null, "0m", "0Mi"),
        ] {
            let amounts = Amounts::read(&resources);
            assert_eq!(
                (amounts.cpu_text().as_str(), amounts.memory_text().as_str()),
                (cpu, memory)
            );
        }
        assert_eq!(percent(999, 1000), "99%");
        assert_eq!(percent(1, 0), "<unknown>");
    }
}

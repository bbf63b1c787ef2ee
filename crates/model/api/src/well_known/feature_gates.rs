//! Feature gates: what can be switched on or off, by the names that users know.

use std::{collections::BTreeMap, fmt, str::FromStr};

/// Something that can be switched on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// Moves workloads away from clusters that failed. Failover of applications is apart from it.
    Failover,
    /// Keeps the old copy until the new one is healthy, in both kinds of failover.
    GracefulEviction,
    /// Sends what a template refers to along with it.
    PropagateDeps,
    /// Sorts nodes into grades, for estimates without asking the cluster.
    CustomizedClusterResourceModeling,
    /// Lets policies take templates over from policies of lower priority.
    PropagationPolicyPreemption,
    /// Opens services to other clusters.
    MultiClusterService,
    /// Heeds the quotas of members in estimates.
    ResourceQuotaEstimate,
    /// Hands state of the old copy to the new one in a failover.
    StatefulFailoverInjection,
    /// Schedules urgent workloads first.
    PriorityBasedScheduling,
    /// Refuses schedules that exceed a FederatedResourceQuota.
    FederatedQuotaEnforcement,
    /// Schedules templates with several kinds of pod.
    MultiplePodTemplatesScheduling,
    /// Orders the queues of controllers by urgency.
    ControllerPriorityQueue,
    /// Keeps workloads of one group together, or apart.
    WorkloadAffinity,
    /// Counts replicas that are scheduled but not yet running.
    SchedulingOvercommitProtection,
    /// Accepted for compatibility: experimental options of Kubernetes' logging.
    LoggingAlphaOptions,
    /// Accepted for compatibility: newer options of Kubernetes' logging.
    LoggingBetaOptions,
    /// Accepted for compatibility: Kubernetes' contextual logging.
    ContextualLogging,
}

/// How settled a feature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// May change or go.
    Alpha,
    /// Will stay, in some form.
    Beta,
}

/// What is known of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateInfo {
    /// The gate.
    pub gate: Gate,
    /// How it is spelled in flags.
    pub name: &'static str,
    /// How settled the feature is.
    pub stage: Stage,
    /// Whether it is on unless somebody says otherwise.
    pub default: bool,
}

/// All gates, in the order of the documentation.
pub const GATES: &[GateInfo] = &[
    beta(Gate::Failover, "Failover", false),
    beta(Gate::GracefulEviction, "GracefulEviction", true),
    beta(Gate::PropagateDeps, "PropagateDeps", true),
    beta(
        Gate::CustomizedClusterResourceModeling,
        "CustomizedClusterResourceModeling",
        true,
    ),
    alpha(
        Gate::PropagationPolicyPreemption,
        "PropagationPolicyPreemption",
    ),
    alpha(Gate::MultiClusterService, "MultiClusterService"),
    alpha(Gate::ResourceQuotaEstimate, "ResourceQuotaEstimate"),
    alpha(Gate::StatefulFailoverInjection, "StatefulFailoverInjection"),
    alpha(Gate::PriorityBasedScheduling, "PriorityBasedScheduling"),
    alpha(Gate::FederatedQuotaEnforcement, "FederatedQuotaEnforcement"),
    alpha(
        Gate::MultiplePodTemplatesScheduling,
        "MultiplePodTemplatesScheduling",
    ),
    beta(
        Gate::ControllerPriorityQueue,
        "ControllerPriorityQueue",
        true,
    ),
    alpha(Gate::WorkloadAffinity, "WorkloadAffinity"),
    alpha(
        Gate::SchedulingOvercommitProtection,
        "SchedulingOvercommitProtection",
    ),
    alpha(Gate::LoggingAlphaOptions, "LoggingAlphaOptions"),
    beta(Gate::LoggingBetaOptions, "LoggingBetaOptions", true),
    beta(Gate::ContextualLogging, "ContextualLogging", true),
];

const fn alpha(gate: Gate, name: &'static str) -> GateInfo {
    GateInfo {
        gate,
        name,
        stage: Stage::Alpha,
        default: false,
    }
}

const fn beta(gate: Gate, name: &'static str, default: bool) -> GateInfo {
    GateInfo {
        gate,
        name,
        stage: Stage::Beta,
        default,
    }
}

/// Which gates are on: the defaults, and what somebody said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureGates {
    /// Only gates that were named; all others have their default.
    chosen: BTreeMap<Gate, bool>,
}

/// Why a list of gates cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// An entry is not of the form `Name=true` or `Name=false`.
    #[error("feature gate {entry:?} is not of the form Name=true or Name=false")]
    Form {
        /// The entry as it was written.
        entry: String,
    },
    /// No gate has that name.
    #[error("there is no feature gate {name:?}")]
    Unknown {
        /// The name as it was written.
        name: String,
    },
    /// The value is neither true nor false.
    #[error("feature gate {name} cannot be {value:?}: say true or false")]
    Value {
        /// The gate.
        name: &'static str,
        /// The value as it was written.
        value: String,
    },
}

impl FeatureGates {
    /// Whether the gate is on.
    #[must_use]
    pub fn is_enabled(&self, gate: Gate) -> bool {
        self.chosen
            .get(&gate)
            .copied()
            .unwrap_or_else(|| gate.info().default)
    }

    /// The same gates, but for one.
    #[must_use]
    pub fn with(mut self, gate: Gate, enabled: bool) -> Self {
        self.chosen.insert(gate, enabled);
        self
    }
}

impl Gate {
    /// What is known of the gate.
    #[must_use]
    pub fn info(self) -> &'static GateInfo {
        GATES
            .iter()
            .find(|info| info.gate == self)
            .expect("invariant: every gate is in the table, as a test shows")
    }
}

/// Reads `Name=bool,Name=bool`. A gate that is named twice has the last value; the group switches `AllAlpha` and
/// `AllBeta` set every gate of that stage that is not named itself.
impl FromStr for FeatureGates {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, GateError> {
        let mut groups = BTreeMap::new();
        let mut named = BTreeMap::new();
        for entry in text
            .split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
        {
            let Some((name, value)) = entry.split_once('=') else {
                return Err(GateError::Form {
                    entry: entry.to_owned(),
                });
            };
            let (name, value) = (name.trim(), value.trim());
            match name {
                "AllAlpha" => groups.insert(Stage::Alpha, switch("AllAlpha", value)?),
                "AllBeta" => groups.insert(Stage::Beta, switch("AllBeta", value)?),
                _ => {
                    let Some(info) = GATES.iter().find(|info| info.name == name) else {
                        return Err(GateError::Unknown {
                            name: name.to_owned(),
                        });
                    };
                    named.insert(info.gate, switch(info.name, value)?)
                }
            };
        }
        let grouped = GATES
            .iter()
            .filter_map(|info| groups.get(&info.stage).map(|enabled| (info.gate, *enabled)));
        let mut chosen: BTreeMap<Gate, bool> = grouped.collect();
        chosen.extend(named);
        Ok(Self { chosen })
    }
}

/// Every gate with its state, in a form that can be read again.
impl fmt::Display for FeatureGates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, info) in GATES.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            write!(f, "{comma}{}={}", info.name, self.is_enabled(info.gate))?;
        }
        Ok(())
    }
}

/// Upstream: flags accept every spelling of a boolean that Go's `strconv.ParseBool` does.
fn switch(name: &'static str, value: &str) -> Result<bool, GateError> {
    match value {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(GateError::Value {
            name,
            value: value.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_is_in_the_table_once() {
        for (position, info) in GATES.iter().enumerate() {
            assert_eq!(info.gate as usize, position, "{}", info.name);
            assert_eq!(info.name, format!("{:?}", info.gate));
            assert_eq!(info.gate.info(), info);
        }
        assert_eq!(Gate::ContextualLogging as usize + 1, GATES.len());
    }

    #[test]
    fn what_is_not_named_has_its_default() {
        let gates: FeatureGates = "Failover=true, PropagateDeps=False,".parse().unwrap();
        assert!(gates.is_enabled(Gate::Failover));
        assert!(!gates.is_enabled(Gate::PropagateDeps));
        assert!(gates.is_enabled(Gate::GracefulEviction));
        assert!(!gates.is_enabled(Gate::WorkloadAffinity));
        assert_eq!("".parse(), Ok(FeatureGates::default()));
    }

    #[test]
    fn groups_yield_to_single_gates_wherever_they_stand() {
        let gates: FeatureGates = "WorkloadAffinity=false,AllAlpha=true,AllBeta=false"
            .parse()
            .unwrap();
        assert!(gates.is_enabled(Gate::MultiClusterService));
        assert!(!gates.is_enabled(Gate::WorkloadAffinity));
        assert!(!gates.is_enabled(Gate::GracefulEviction));
    }

    #[test]
    fn what_is_printed_reads_back_the_same() {
        let gates = FeatureGates::default().with(Gate::Failover, true);
        let again: FeatureGates = gates.to_string().parse().unwrap();
        for info in GATES {
            assert_eq!(
                gates.is_enabled(info.gate),
                again.is_enabled(info.gate),
                "{}",
                info.name
            );
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            (
                "Failover",
                r#"feature gate "Failover" is not of the form Name=true or Name=false"#,
            ),
            (
                "PolicyPreemption=true",
                r#"there is no feature gate "PolicyPreemption""#,
            ),
            (
                "Failover=yes",
                r#"feature gate Failover cannot be "yes": say true or false"#,
            ),
            ("=true", r#"there is no feature gate """#),
        ] {
            assert_eq!(
                text.parse::<FeatureGates>().unwrap_err().to_string(),
                expected
            );
        }
    }
}

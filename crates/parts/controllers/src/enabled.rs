//! Which controllers run, by the names that operators know.

use std::collections::BTreeMap;

/// A controller's name and what it does; the order is that of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerName {
    /// As `--controllers` spells it.
    pub name: &'static str,
    /// Whether `*` means it too.
    pub by_default: bool,
}

/// All names that `--controllers` knows. Some are carried out by other parts of the product (`member`, `scheduler`).
pub const NAMES: [ControllerName; 28] = [
    on("cluster"),
    on("clusterStatus"),
    on("binding"),
    on("bindingStatus"),
    on("execution"),
    on("workStatus"),
    on("namespace"),
    on("serviceExport"),
    on("endpointSlice"),
    on("serviceImport"),
    on("unifiedAuth"),
    on("federatedResourceQuotaSync"),
    on("federatedResourceQuotaStatus"),
    on("federatedResourceQuotaEnforcement"),
    on("gracefulEviction"),
    on("applicationFailover"),
    on("federatedHorizontalPodAutoscaler"),
    on("cronFederatedHorizontalPodAutoscaler"),
    off("hpaScaleTargetMarker"),
    off("deploymentReplicasSyncer"),
    on("multiclusterservice"),
    on("endpointsliceCollect"),
    on("endpointsliceDispatch"),
    on("remedy"),
    on("workloadRebalancer"),
    on("agentcsrapproving"),
    on("clustertaintpolicy"),
    on("scheduler"),
];

/// The operator's choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enabled {
    named: BTreeMap<String, bool>,
    others: bool,
}

/// A name that no controller has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no controller is called {name:?}; there are {}", all())]
pub struct UnknownController {
    /// What was written.
    pub name: String,
}

impl Enabled {
    /// Reads a list such as `*,-namespace`: the first item that names a controller decides; one that is not named runs if
    /// `*` is in the list and it is not off by default.
    pub fn parse(list: &str) -> Result<Self, UnknownController> {
        let mut enabled = Self {
            named: BTreeMap::new(),
            others: false,
        };
        for item in list
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            if item == "*" {
                enabled.others = true;
                continue;
            }
            let (name, is_on) = match item.strip_prefix('-') {
                Some(name) => (name, false),
                None => (item, true),
            };
            if !NAMES.iter().any(|known| known.name == name) {
                return Err(UnknownController {
                    name: name.to_owned(),
                });
            }
            enabled.named.entry(name.to_owned()).or_insert(is_on);
        }
        Ok(enabled)
    }

    /// Whether the controller of that name is to run.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        match self.named.get(name) {
            Some(is_on) => *is_on,
            None => {
                self.others
                    && NAMES
                        .iter()
                        .any(|known| known.name == name && known.by_default)
            }
        }
    }
}

/// All that are not off by default.
impl Default for Enabled {
    fn default() -> Self {
        Self {
            named: BTreeMap::new(),
            others: true,
        }
    }
}

const fn on(name: &'static str) -> ControllerName {
    ControllerName {
        name,
        by_default: true,
    }
}

const fn off(name: &'static str) -> ControllerName {
    ControllerName {
        name,
        by_default: false,
    }
}

fn all() -> String {
    NAMES.map(|known| known.name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_item_that_names_a_controller_decides() {
        for (list, on, off) in [
            ("*", "binding", "hpaScaleTargetMarker"),
            ("*,-binding", "namespace", "binding"),
            ("-binding,binding,*", "namespace", "binding"),
            ("binding", "binding", "namespace"),
            ("*, hpaScaleTargetMarker", "hpaScaleTargetMarker", "unknown"),
        ] {
            let enabled = Enabled::parse(list).unwrap();
            assert!(enabled.is_on(on) && !enabled.is_on(off), "{list}");
        }
        assert_eq!(Enabled::parse("*"), Ok(Enabled::default()));
        assert!(!Enabled::parse("").unwrap().is_on("binding"));
    }

    #[test]
    fn a_name_nobody_has_is_refused_with_those_there_are() {
        let error = Enabled::parse("*,-bindings").unwrap_err().to_string();
        assert!(error.starts_with("no controller is called \"bindings\"; there are cluster, "));
    }
}

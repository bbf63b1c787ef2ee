//! What a control plane runs with, as far as it changes decisions.
//!
//! A Karavel server says it under `/configz`. Others say nothing, and neither does a server to those who may not ask; then
//! what the user says counts, and the defaults for the rest.

use api::well_known::feature_gates::{FeatureGates, GATES, Gate, GateInfo, Stage};
use client::{CallError, Client};
use estimate::Models;
use http::Method;
use object::Value;
use policy::exemption::DEFAULT_SKIPPED_NAMESPACES;
use policy::{Exemptions, Preemption};
use schedule::intake::DEFAULT_SCHEDULER;
use schedule::plugin::{Plugins, Registry, WorkloadGroups};
use schedule::{Components, EmptyWorkloads, Options};

use crate::choices::{check_plugins, read_gates};
use crate::failure::Failure;
use crate::reach::call_failure;

/// Where a server says what it runs with.
const PATH: &str = "/configz";

/// What the control plane is presumed to run with, in place of what it says itself.
#[derive(Clone, Debug, Default)]
pub struct Presumption {
    /// Features, as `--feature-gates` of a server takes them; those that are not named are as the server says.
    pub feature_gates: Option<String>,
    /// Plugins, as `--plugins` of a server takes them; as the server says if empty.
    pub plugins: Vec<String>,
}

/// What a control plane runs with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The features.
    pub(crate) gates: FeatureGates,
    /// The plugins of its scheduler that can be asked here.
    pub(crate) plugins: Plugins,
    /// What its scheduler is called.
    pub(crate) scheduler: String,
    /// What else changes its decisions.
    pub(crate) options: Options,
    /// What is never a template.
    pub(crate) exemptions: Exemptions,
    /// Whether taints with the effect `NoExecute` drive out what clusters have.
    pub(crate) evicts: bool,
    /// What is not as at the server, or is not known, in sentences.
    pub(crate) doubts: Vec<String>,
}

impl Settings {
    /// Asks the control plane.
    pub(crate) async fn read(control: &Client, presumed: &Presumption) -> Result<Self, Failure> {
        let answer = control
            .request(Method::GET, PATH, "application/json", Vec::new().into())
            .await;
        let told = answer.map(|bytes| serde_json::from_slice::<Value>(&bytes).unwrap_or_default());
        match told {
            Ok(told) => Self::from_told(told.get("karavel"), NO_ANSWER, presumed),
            Err(error) if error.is_forbidden() => Self::from_told(None, NO_LEAVE, presumed),
            Err(error @ CallError::Refused(_)) if error.code() < 500 => {
                Self::from_told(None, NO_ANSWER, presumed)
            }
            Err(error) => Err(call_failure(&error)),
        }
    }

    /// Reads what was told; `silence` says why nothing was.
    fn from_told(
        told: Option<&Value>,
        silence: &str,
        presumed: &Presumption,
    ) -> Result<Self, Failure> {
        let gates = gates(told, presumed.feature_gates.as_deref())?;
        let null = Value::Null;
        let told_scheduler = told.map_or(&null, |told| &told["scheduler"]);
        let texts = |field: &str| -> Vec<String> {
            let listed = told_scheduler[field].as_array().into_iter().flatten();
            listed
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        let others = [texts("webhooks"), texts("otherPlugins")].concat();
        check_plugins(&presumed.plugins, &others)?;
        let names = match (presumed.plugins.as_slice(), texts("plugins")) {
            ([], named) if told_scheduler["plugins"].is_array() => named,
            ([], _) => vec!["*".to_owned()],
            (presumed, _) => presumed.to_vec(),
        };
        let groups = match gates.is_enabled(Gate::WorkloadAffinity) {
            true => WorkloadGroups::On,
            false => WorkloadGroups::Off,
        };
        let mut doubts = Vec::new();
        let exemptions = exemptions(told);
        if exemptions.is_none() {
            doubts.push(
                "what the server leaves out cannot be read; the usual is left out".to_owned(),
            );
        }
        let is_silent = presumed.feature_gates.is_none() || presumed.plugins.is_empty();
        if told.is_none() && is_silent {
            doubts.push(format!(
                "{silence}: the defaults are taken where --feature-gates and --plugins say nothing"
            ));
        }
        if gates.is_enabled(Gate::FederatedQuotaEnforcement) {
            doubts.push(
                "FederatedResourceQuotas are enforced there, and are not counted here".to_owned(),
            );
        }
        doubts.extend(unasked(told_scheduler, &texts, &names));
        let scheduler = told_scheduler["name"].as_str().unwrap_or(DEFAULT_SCHEDULER);
        Ok(Self {
            plugins: Registry::in_tree(groups).enable(&names),
            scheduler: scheduler.to_owned(),
            options: Options {
                empty_workloads: match told_scheduler["emptyWorkloadPropagation"] == true {
                    true => EmptyWorkloads::Propagated,
                    false => EmptyWorkloads::Dropped,
                },
                models: match gates.is_enabled(Gate::CustomizedClusterResourceModeling) {
                    true => Models::Used,
                    false => Models::Ignored,
                },
                components: match gates.is_enabled(Gate::MultiplePodTemplatesScheduling) {
                    true => Components::AsSets,
                    false => Components::Apart,
                },
                ..Options::default()
            },
            exemptions: exemptions.unwrap_or_else(usual_exemptions),
            evicts: gates.is_enabled(Gate::Failover)
                && told.is_some_and(|told| told["noExecuteTaintEviction"] == true),
            gates,
            doubts,
        })
    }

    /// Whether policies may take templates over from each other.
    pub(crate) fn preemption(&self) -> Preemption {
        match self.gates.is_enabled(Gate::PropagationPolicyPreemption) {
            true => Preemption::On,
            false => Preemption::Off,
        }
    }
}

const NO_ANSWER: &str =
    "this control plane does not say which feature gates and plugins it runs with";
const NO_LEAVE: &str =
    "this user may not read which feature gates and plugins the control plane runs with (/configz)";

/// What the server leaves out; `None` if it cannot be read.
fn exemptions(told: Option<&Value>) -> Option<Exemptions> {
    let list = |field: &str| {
        let listed = told?.get(field)?.as_array()?;
        Some(listed.iter().filter_map(Value::as_str).collect::<Vec<_>>())
    };
    let (Some(apis), Some(namespaces)) = (
        list("skippedPropagatingAPIs"),
        list("skippedPropagatingNamespaces"),
    ) else {
        return Some(usual_exemptions());
    };
    Exemptions::parse(&apis.join(";"), namespaces).ok()
}

fn usual_exemptions() -> Exemptions {
    Exemptions::parse("", [DEFAULT_SKIPPED_NAMESPACES]).unwrap_or_default()
}

/// Who has a say at the server and is not asked here.
fn unasked(
    scheduler: &Value,
    texts: &impl Fn(&str) -> Vec<String>,
    enabled: &[String],
) -> Vec<String> {
    let mut doubts = Vec::new();
    if scheduler["enabled"] == false {
        doubts.push(
            "no scheduler runs in this server: where things go is what its own would decide"
                .to_owned(),
        );
    }
    let is_on = |name: &String| {
        let (on, off) = (
            enabled.iter().any(|known| known == name || known == "*"),
            format!("-{name}"),
        );
        on && !enabled.contains(&off)
    };
    let mut others: Vec<String> = texts("webhooks");
    others.extend(texts("otherPlugins"));
    others.retain(is_on);
    if scheduler["estimators"] == true {
        others.push("estimators".to_owned());
    }
    if !others.is_empty() {
        doubts.push(format!(
            "the scheduler also asks others, who are not asked here: {}",
            others.join(", ")
        ));
    }
    doubts
}

/// The features: as the user presumes, else as the server says, else the defaults.
fn gates(told: Option<&Value>, presumed: Option<&str>) -> Result<FeatureGates, Failure> {
    let presumed_text = presumed.unwrap_or_default();
    let presumed = read_gates(presumed_text)?;
    let mut gates = FeatureGates::default();
    for info in GATES {
        let told = told.and_then(|told| told["featureGates"][info.name].as_bool());
        let state = match is_named(presumed_text, info) {
            true => Some(presumed.is_enabled(info.gate)),
            false => told,
        };
        if let Some(state) = state {
            gates = gates.with(info.gate, state);
        }
    }
    Ok(gates)
}

/// Whether a list of gates says something about one.
fn is_named(list: &str, info: &GateInfo) -> bool {
    let group = match info.stage {
        Stage::Alpha => "AllAlpha",
        Stage::Beta => "AllBeta",
    };
    let names = list.split(',').filter_map(|entry| entry.split_once('='));
    names
        .map(|(name, _)| name.trim())
        .any(|name| name == info.name || name == group)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(told: Option<Value>, gates: Option<&str>, plugins: &[&str]) -> Result<String, String> {
        let presumed = Presumption {
            feature_gates: gates.map(str::to_owned),
            plugins: plugins.iter().map(|name| (*name).to_owned()).collect(),
        };
        let read = Settings::from_told(told.as_ref(), "silent", &presumed);
        let read = read.map_err(|failure| failure.to_string())?;
        let filters: Vec<&str> = read
            .plugins
            .filters
            .iter()
            .map(|(name, _)| &**name)
            .collect();
        Ok(format!(
            "{:?} {} {} {}",
            read.preemption(),
            read.scheduler,
            filters.len(),
            read.doubts.join("; ")
        ))
    }

    #[test]
    fn the_user_goes_before_the_server_and_the_server_before_the_defaults() {
        let told = || {
            Some(json!({
                "featureGates": {"PropagationPolicyPreemption": true, "Unheard": true},
                "scheduler": {"enabled": true, "name": "mine", "plugins": ["*", "-TaintToleration", "-Off"],
                    "webhooks": ["Carbon", "Off"], "estimators": true},
            }))
        };
        for (told, gates, plugins, expected) in [
            (
                told(),
                None,
                &[][..],
                Ok(
                    "On mine 4 the scheduler also asks others, who are not asked here: Carbon, estimators",
                ),
            ),
            (
                told(),
                Some("AllAlpha=false"),
                &["ClusterAffinity"],
                Ok("Off mine 1 the scheduler also asks others, who are not asked here: estimators"),
            ),
            (
                None,
                None,
                &[],
                Ok(
                    "Off default-scheduler 5 silent: the defaults are taken where --feature-gates and --plugins say nothing",
                ),
            ),
            (
                None,
                Some("PropagationPolicyPreemption=true"),
                &["*"],
                Ok("On default-scheduler 5 "),
            ),
            (
                Some(json!({"scheduler": {"enabled": false}})),
                None,
                &[],
                Ok(
                    "Off default-scheduler 5 no scheduler runs in this server: where things go is what its own would decide",
                ),
            ),
            (Some(json!([1])), None, &[], Ok("Off default-scheduler 5 ")),
            (
                Some(
                    json!({"skippedPropagatingAPIs": ["a/b/c/d"], "skippedPropagatingNamespaces": []}),
                ),
                None,
                &[],
                Ok(
                    "Off default-scheduler 5 what the server leaves out cannot be read; the usual is left out",
                ),
            ),
            (
                None,
                Some("Nonsense=true"),
                &[],
                Err("--feature-gates: there is no feature gate \"Nonsense\""),
            ),
            (
                told(),
                None,
                &["*", "-Carbon", "-Crabon"],
                Err("--plugins: there is no plugin \"Crabon\""),
            ),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(check(told, gates, plugins), expected);
        }
    }
}

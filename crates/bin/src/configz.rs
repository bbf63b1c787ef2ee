//! What the control plane runs with, over the API: `GET /configz`.
//!
//! Features and plugins change what is decided. Whoever explains a decision or supposes another one, such as
//! `karavel explain` and `karavel simulate`, has to decide with the same. Addresses and secrets are not told: every user
//! who is known may read it.

use api::well_known::feature_gates::GATES;
use object::{Map, Value};
use scheduler::EmptyWorkloads;
use serde_json::json;

use crate::plane::Settings;

/// The settings that change decisions, by the name of the program as Kubernetes' components have it.
pub(crate) fn tell(settings: &Settings) -> Value {
    let gates = &settings.controllers.gates;
    let state = |info: &api::well_known::feature_gates::GateInfo| {
        (
            info.name.to_owned(),
            Value::from(gates.is_enabled(info.gate)),
        )
    };
    let gates: Map = GATES.iter().map(state).collect();
    let scheduler = &settings.scheduler;
    let webhooks = scheduler.webhooks.iter().map(|webhook| &*webhook.name);
    let others = scheduler.others.iter().map(|plugin| &*plugin.name);
    let (apis, namespaces) = settings.controllers.exemptions.written();
    json!({"karavel": {
        "apiVersion": "karavel.io/v1alpha1",
        "kind": "ServerConfiguration",
        "featureGates": gates,
        "skippedPropagatingAPIs": apis,
        "skippedPropagatingNamespaces": namespaces,
        "scheduler": {
            "enabled": settings.controllers.enabled.is_on("scheduler"),
            "name": scheduler.name,
            "plugins": scheduler.plugins,
            "otherPlugins": others.collect::<Vec<&str>>(),
            "webhooks": webhooks.collect::<Vec<&str>>(),
            "emptyWorkloadPropagation": scheduler.options.empty_workloads == EmptyWorkloads::Propagated,
            "estimators": scheduler.estimators.is_some(),
        },
        "noExecuteTaintEviction": settings.controllers.eviction.heeds_taints,
        "descheduler": {"enabled": settings.descheduler.is_some()},
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_switched_is_told_and_nothing_is_left_out() {
        let mut settings = Settings::default();
        settings.controllers.gates = "PropagationPolicyPreemption=true".parse().unwrap();
        settings.scheduler.plugins = vec!["*".to_owned(), "-TaintToleration".to_owned()];
        let told = &tell(&settings)["karavel"];
        assert_eq!(told["featureGates"]["PropagationPolicyPreemption"], true);
        assert_eq!(told["featureGates"]["Failover"], false);
        assert_eq!(told["noExecuteTaintEviction"], false);
        assert_eq!(told["skippedPropagatingNamespaces"], json!(["kube-.*"]));
        let count = told["featureGates"].as_object().map(Map::len);
        assert_eq!(count, Some(GATES.len()));
        assert_eq!(
            told["scheduler"],
            json!({
                "enabled": true, "name": "default-scheduler", "plugins": ["*", "-TaintToleration"], "otherPlugins": [],
                "webhooks": [], "emptyWorkloadPropagation": false, "estimators": false,
            })
        );
    }
}

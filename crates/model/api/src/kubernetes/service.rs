//! The status of a service, as Kubernetes' core group defines it.

use object::condition::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ingress::PortStatus;
use crate::{
    schema::optional,
    wire::{absent, nullable},
};

/// What a service has come to: where it can be reached and what holds of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceStatus {
    /// Points of entry, for services that have a load balancer.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub load_balancer: LoadBalancerStatus,
    /// What holds of the service now; at most one entry for each type.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
}

/// Where a load balancer can be reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LoadBalancerStatus {
    /// One entry for each point of entry.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub ingress: Vec<LoadBalancerIngress>,
}

/// One point of entry of a load balancer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LoadBalancerIngress {
    /// Address, for load balancers that are reached by IP.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub ip: String,
    /// Name, for load balancers that are reached by DNS.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub hostname: String,
    /// What happens to traffic for the address: `VIP` delivers it with the address as destination, `Proxy` rewrites
    /// the destination to the node or pod. Only together with `ip`.
    #[serde(skip_serializing_if = "absent")]
    pub ip_mode: Option<String>,
    /// Ports this point of entry offers, with what went wrong on them.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub ports: Vec<PortStatus>,
}

//! Ingress rules and status, as networking.k8s.io/v1 defines them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    schema::{optional, required},
    wire::{absent, nullable},
};

/// How an ingress path is compared with the path of a request. The field is open text in the schemas.
pub mod path_type {
    /// The whole path, letter by letter.
    pub const EXACT: &str = "Exact";
    /// Element by element, split at `/`.
    pub const PREFIX: &str = "Prefix";
    /// As the ingress class sees fit.
    pub const IMPLEMENTATION_SPECIFIC: &str = "ImplementationSpecific";
}

/// What an ingress should route: a default, rules by host and path, and certificates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct IngressSpec {
    /// Name of the ingress class whose controller carries this ingress out.
    #[serde(skip_serializing_if = "absent")]
    pub ingress_class_name: Option<String>,
    /// Where requests go that no rule matches. Required when there are no rules.
    #[serde(skip_serializing_if = "absent")]
    pub default_backend: Option<IngressBackend>,
    /// Certificates by host. Several entries may share port 443 when the controller supports SNI.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub tls: Vec<IngressTls>,
    /// Routing by host and path. Without rules all traffic goes to the default backend.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub rules: Vec<IngressRule>,
}

/// One certificate and the hosts it serves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct IngressTls {
    /// Host names in the certificate. Empty leaves the choice to the load balancer.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub hosts: Vec<String>,
    /// Secret with the certificate and key for port 443. Empty routes by SNI host name alone.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub secret_name: String,
}

/// Routing for one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct IngressRule {
    /// Fully qualified domain name, or one with a leading `*.` that stands for a single label. Empty matches all
    /// hosts. IP addresses and ports are not accepted.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub host: String,
    /// Paths of this host. Absent sends all of the host's traffic to the default backend.
    #[serde(skip_serializing_if = "absent")]
    pub http: Option<HttpIngressRuleValue>,
}

/// The paths of one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpIngressRuleValue {
    /// Paths with their backends. The longest match wins, and `Exact` wins over `Prefix`.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(deserialize_with = "nullable")]
    pub paths: Vec<HttpIngressPath>,
}

/// One path and the backend that serves it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpIngressPath {
    /// Path of the request, starting with `/`. May be empty for `ImplementationSpecific`, which then matches all.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub path: String,
    /// How the path is compared: `Exact`, `Prefix` or `ImplementationSpecific`.
    #[serde(deserialize_with = "nullable")]
    pub path_type: String,
    /// Where matching requests go.
    #[serde(deserialize_with = "nullable")]
    pub backend: IngressBackend,
}

/// A destination: either a service or another resource, never both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct IngressBackend {
    /// A service in the namespace of the ingress.
    #[serde(skip_serializing_if = "absent")]
    pub service: Option<IngressServiceBackend>,
    /// Another resource in the namespace of the ingress, for example a storage bucket that the controller knows.
    #[serde(skip_serializing_if = "absent")]
    pub resource: Option<TypedLocalObjectReference>,
}

/// A service and one of its ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct IngressServiceBackend {
    /// Name of the service.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Port of the service, by name or by number.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub port: ServiceBackendPort,
}

/// A port, by name or by number, never both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ServiceBackendPort {
    /// Name of the port on the service.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub name: String,
    /// Number of the port on the service.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub number: i32,
}

/// Points at an object of any kind in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct TypedLocalObjectReference {
    /// API group of the object; absent or empty for the core group.
    #[serde(default)]
    #[schemars(transform = optional)]
    pub api_group: Option<String>,
    /// Kind of the object.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Name of the object.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

/// Where an ingress can be reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct IngressLoadBalancerStatus {
    /// One entry for each point of entry.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub ingress: Vec<IngressLoadBalancerIngress>,
}

/// One point of entry of an ingress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct IngressLoadBalancerIngress {
    /// Address, for load balancers that are reached by IP.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub ip: String,
    /// Name, for load balancers that are reached by DNS.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub hostname: String,
    /// Ports this point of entry offers, with what went wrong on them.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub ports: Vec<PortStatus>,
}

/// The state of one port of a load balancer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PortStatus {
    /// Number of the port.
    #[serde(deserialize_with = "nullable")]
    pub port: i32,
    /// Protocol of the port: `TCP`, `UDP` or `SCTP`.
    #[serde(deserialize_with = "nullable")]
    pub protocol: String,
    /// What is wrong with the port, in CamelCase, with a domain prefix for reasons that are not Kubernetes' own.
    #[schemars(length(max = 316))]
    #[schemars(extend("pattern" = crate::schema::QUALIFIED_NAME_PATTERN))]
    #[schemars(transform = required)]
    #[serde(skip_serializing_if = "absent")]
    pub error: Option<String>,
}

//! ResourceInterpreterWebhookConfiguration: services that explain kinds.

use object::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kind::{ApiVersion, KindName},
    schema::{bytes, optional},
    wire::{absent, nullable},
};

/// What an interpreter is asked. The field is open text in the schema; other values are refused on admission.
pub mod interpreter_operation {
    /// All operations.
    pub const ALL: &str = "*";
    /// How many replicas a template asks for, and what one needs.
    pub const INTERPRET_REPLICA: &str = "InterpretReplica";
    /// The components of a template.
    pub const INTERPRET_COMPONENT: &str = "InterpretComponent";
    /// Set the number of replicas.
    pub const REVISE_REPLICA: &str = "ReviseReplica";
    /// Which status is carried back.
    pub const INTERPRET_STATUS: &str = "InterpretStatus";
    /// Reserved; not accepted on admission.
    pub const PRUNE: &str = "Prune";
    /// Which values of the object in the cluster are kept.
    pub const RETAIN: &str = "Retain";
    /// How statuses become one.
    pub const AGGREGATE_STATUS: &str = "AggregateStatus";
    /// Whether the object is doing well.
    pub const INTERPRET_HEALTH: &str = "InterpretHealth";
    /// What the object refers to.
    pub const INTERPRET_DEPENDENCY: &str = "InterpretDependency";
}

/// Services that explain kinds. Asked after scripts and before what is built in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceInterpreterWebhookConfiguration {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// The services and what each is asked.
    #[serde(deserialize_with = "nullable")]
    pub webhooks: Vec<ResourceInterpreterWebhook>,
}

/// One service and what it is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceInterpreterWebhook {
    /// Unique name in the form of a domain with at least two parts, for example `workloads.example.com`.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// How the service is reached.
    #[serde(deserialize_with = "nullable")]
    pub client_config: WebhookClientConfig,
    /// The operations and kinds it is asked about.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub rules: Vec<RuleWithOperations>,
    /// How long an answer may take, in seconds: 1 to 30. Default: 10.
    #[serde(skip_serializing_if = "absent")]
    pub timeout_seconds: Option<i32>,
    /// Versions of ResourceInterpreterContext the service understands, the best first. `v1alpha1` must be among
    /// them.
    #[serde(deserialize_with = "nullable")]
    pub interpreter_context_versions: Vec<String>,
}

/// How a webhook is reached: by URL or by service, never both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookClientConfig {
    /// Where the service is: `https://`, a host, and a path; without user, fragment or query.
    #[serde(skip_serializing_if = "absent")]
    pub url: Option<String>,
    /// A service of the control plane.
    #[serde(skip_serializing_if = "absent")]
    pub service: Option<ServiceReference>,
    /// PEM certificates that the server's certificate is checked against, in base64. Empty means the system's.
    #[schemars(transform = bytes)]
    #[serde(skip_serializing_if = "absent")]
    pub ca_bundle: Option<String>,
}

/// Points at a service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceReference {
    /// Namespace of the service.
    #[serde(deserialize_with = "nullable")]
    pub namespace: String,
    /// Name of the service.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Path that is asked for.
    #[serde(skip_serializing_if = "absent")]
    pub path: Option<String>,
    /// Port of the service, 1 to 65535. Default: 443.
    #[serde(skip_serializing_if = "absent")]
    pub port: Option<i32>,
}

/// Operations on kinds. In each list `*` stands for everything and then stands alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RuleWithOperations {
    /// The operations, for example `InterpretReplica`.
    #[serde(deserialize_with = "nullable")]
    pub operations: Vec<String>,
    /// API groups; the empty text is the core group.
    #[serde(deserialize_with = "nullable")]
    pub api_groups: Vec<String>,
    /// API versions, without the group.
    #[serde(deserialize_with = "nullable")]
    pub api_versions: Vec<String>,
    /// Names of kinds.
    #[serde(deserialize_with = "nullable")]
    pub kinds: Vec<String>,
}

//! How a cluster is reached, and what is known of it beforehand.

use std::collections::BTreeMap;

use object::quantity::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kubernetes::scheduling::Taint,
    wire::{absent, nullable},
};

/// How works reach a cluster. The field is open text in the schema; other values are refused on admission.
pub mod sync_mode {
    /// The control plane connects to the cluster.
    pub const PUSH: &str = "Push";
    /// An agent beside the cluster connects to the control plane.
    pub const PULL: &str = "Pull";
}

/// How a cluster is reached, and what is known of it beforehand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSpec {
    /// Identity of the cluster that stays the same when it is joined again; taken from the UID of its `kube-system`
    /// namespace.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub id: String,
    /// `Push` when the control plane connects to the cluster, `Pull` when an agent beside it does.
    #[serde(deserialize_with = "nullable")]
    pub sync_mode: String,
    /// URL of the cluster's API server, for example `https://10.0.0.1:6443`. A scheme and host, without user,
    /// fragment or query.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub api_endpoint: String,
    /// Secret with the credentials of the control plane: `token` and `caBundle`.
    #[serde(skip_serializing_if = "absent")]
    pub secret_ref: Option<LocalSecretReference>,
    /// Secret with the `token` of the account that impersonates users on the way through the cluster proxy.
    #[serde(skip_serializing_if = "absent")]
    pub impersonator_secret_ref: Option<LocalSecretReference>,
    /// Whether the certificate of the API server goes unchecked. Only for trials.
    #[serde(
        rename = "insecureSkipTLSVerification",
        skip_serializing_if = "absent",
        deserialize_with = "nullable"
    )]
    pub insecure_skip_tls_verification: bool,
    /// Proxy on the way to the API server: `http`, `https` or `socks5`.
    #[serde(
        rename = "proxyURL",
        skip_serializing_if = "absent",
        deserialize_with = "nullable"
    )]
    pub proxy_url: String,
    /// Headers for the proxy. A value is split at commas into several.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub proxy_header: BTreeMap<String, String>,
    /// Who runs the cluster, for example a cloud's name. A label value.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub provider: String,
    /// Where the cluster is. A label value.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub region: String,
    /// Earlier form of `zones`; moved there when written. Not together with `zones`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub zone: String,
    /// Failure domains within the region that the cluster spans. Label values.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub zones: Vec<String>,
    /// Marks that keep away, or drive out, workloads that do not tolerate them. `NoSchedule` or `NoExecute`; each
    /// key and effect once.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub taints: Vec<Taint>,
    /// Sorts nodes into grades by free resources, for estimates without asking the cluster. Nine grades are filled
    /// in when a cluster is created without any.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub resource_models: Vec<ResourceModel>,
}

/// Points at a secret of the control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalSecretReference {
    /// Namespace of the secret.
    #[serde(deserialize_with = "nullable")]
    pub namespace: String,
    /// Name of the secret.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

/// One grade of nodes: those whose free resources lie in all of its ranges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceModel {
    /// Number of the grade, from 0. Grades follow one another without gaps between their ranges.
    #[serde(deserialize_with = "nullable")]
    pub grade: u32,
    /// One range for each resource, with the same resources in the same order in every grade.
    #[serde(deserialize_with = "nullable")]
    pub ranges: Vec<ResourceModelRange>,
}

/// A half-open range of one resource: from `min`, up to but without `max`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceModelRange {
    /// Name of the resource, for example `cpu`.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Least amount that belongs to the range; 0 in the first grade.
    #[serde(deserialize_with = "nullable")]
    pub min: Quantity,
    /// Amount at which the next grade begins; the greatest number there is in the last grade.
    #[serde(deserialize_with = "nullable")]
    pub max: Quantity,
}

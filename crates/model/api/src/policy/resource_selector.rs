//! Which templates a policy is about.

use object::selector::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::{absent, nullable};

/// Chooses templates of one kind, by name, by labels, or all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceSelector {
    /// API version of the templates, for example `apps/v1`.
    #[serde(deserialize_with = "nullable")]
    pub api_version: String,
    /// Kind of the templates, for example `Deployment`.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Namespace of the templates. In a namespaced policy it is filled in with the policy's own namespace and may be
    /// no other; in a cluster-wide policy empty means every namespace.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub namespace: String,
    /// Name of the one template that is meant. Empty means all of the kind, narrowed by `labelSelector`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub name: String,
    /// Labels the templates must carry. Has no effect when `name` is set.
    #[serde(skip_serializing_if = "absent")]
    pub label_selector: Option<LabelSelector>,
}

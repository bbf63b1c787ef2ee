//! Taints, tolerations and node selectors, as Kubernetes' core group defines them.

use object::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::{absent, nullable};

/// What a taint does to workloads that do not tolerate it. The field is open text in the schemas.
pub mod taint_effect {
    /// New work is kept away; what runs stays.
    pub const NO_SCHEDULE: &str = "NoSchedule";
    /// New work is kept away where possible. Known to Kubernetes; clusters here do not accept it.
    pub const PREFER_NO_SCHEDULE: &str = "PreferNoSchedule";
    /// New work is kept away and running work is evicted.
    pub const NO_EXECUTE: &str = "NoExecute";
}

/// How a toleration compares itself with a taint. The field is open text in the schemas.
pub mod toleration_operator {
    /// Any value of the key is tolerated.
    pub const EXISTS: &str = "Exists";
    /// Key and value must be equal; this is what an empty operator means.
    pub const EQUAL: &str = "Equal";
    /// The taint's value is a number below the toleration's. Not accepted in a placement.
    pub const LT: &str = "Lt";
    /// The taint's value is a number above the toleration's. Not accepted in a placement.
    pub const GT: &str = "Gt";
}

/// How a node selector requirement compares a value. The field is open text in the schemas.
pub mod selector_operator {
    /// The value is one of those listed.
    pub const IN: &str = "In";
    /// The value is none of those listed, or absent.
    pub const NOT_IN: &str = "NotIn";
    /// The key is present.
    pub const EXISTS: &str = "Exists";
    /// The key is absent.
    pub const DOES_NOT_EXIST: &str = "DoesNotExist";
    /// The value is an integer above the one listed.
    pub const GT: &str = "Gt";
    /// The value is an integer below the one listed.
    pub const LT: &str = "Lt";
}

/// A mark on a cluster that keeps away, or drives out, whatever does not tolerate it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Taint {
    /// What the mark is about, for example `cluster.karmada.io/not-ready`. Key and effect together identify a taint.
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// Detail that a toleration may compare with; often empty.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub value: String,
    /// What happens to work that does not tolerate the taint: `NoSchedule` or `NoExecute` on a cluster.
    #[serde(deserialize_with = "nullable")]
    pub effect: String,
    /// When the taint was put on. Filled in for `NoExecute`, where tolerations count seconds from this moment.
    #[serde(skip_serializing_if = "absent")]
    pub time_added: Option<Time>,
}

/// Lets work stay on, or go to, places that carry a matching taint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// Key of the taint that is tolerated. Empty, together with operator `Exists`, tolerates every taint.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub key: String,
    /// `Exists` or `Equal`; empty means `Equal`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub operator: String,
    /// Value that the taint must carry when the operator is `Equal`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub value: String,
    /// Effect of the taint that is tolerated. Empty matches every effect.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub effect: String,
    /// How long a `NoExecute` taint is borne before eviction. Absent means for ever; zero or less means not at all.
    #[serde(skip_serializing_if = "absent")]
    pub toleration_seconds: Option<i64>,
}

/// Chooses nodes: a node fits when any one of the terms holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct NodeSelector {
    /// The alternatives, joined by OR. An empty list chooses no node.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(deserialize_with = "nullable")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// One alternative of a node selector: all of its requirements must hold. An empty term matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct NodeSelectorTerm {
    /// Requirements on the labels of the node.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
    /// Requirements on the fields of the node, of which only `metadata.name` is known.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub match_fields: Vec<NodeSelectorRequirement>,
}

/// One comparison of a key with a list of values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelectorRequirement {
    /// The label key or field name that is looked up.
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// How it is compared: `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`.
    #[serde(deserialize_with = "nullable")]
    pub operator: String,
    /// What it is compared with: at least one value for `In` and `NotIn`, none for `Exists` and `DoesNotExist`, and
    /// exactly one integer for `Gt` and `Lt`.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub values: Vec<String>,
}

//! ResourceInterpreterCustomization: scripts that explain a kind.

use object::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kind::{ApiVersion, KindName},
    schema::optional,
    wire::{absent, nullable},
};

/// Explains one kind by Lua scripts: its replicas, its status, its health and so on. Goes before what is built in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceInterpreterCustomization {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// The kind and its scripts.
    #[serde(deserialize_with = "nullable")]
    pub spec: ResourceInterpreterCustomizationSpec,
}

/// A kind and its scripts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceInterpreterCustomizationSpec {
    /// The kind that is explained.
    #[serde(deserialize_with = "nullable")]
    pub target: CustomizationTarget,
    /// The scripts. Operations without one are left to webhooks and to what is built in.
    #[serde(deserialize_with = "nullable")]
    pub customizations: CustomizationRules,
}

/// The kind that is explained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CustomizationTarget {
    /// API version of the kind, for example `apps.example.com/v1`.
    #[serde(deserialize_with = "nullable")]
    pub api_version: String,
    /// Name of the kind.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
}

/// One script for each operation. Of two objects with the same target, no operation may be scripted in both, apart
/// from `dependencyInterpretation`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CustomizationRules {
    /// Which values of the object in the cluster are kept when the template is applied:
    /// `function Retain(desiredObj, observedObj)` returns the object to apply.
    #[serde(skip_serializing_if = "absent")]
    pub retention: Option<Script>,
    /// How many replicas the template asks for and what one of them needs:
    /// `function GetReplicas(desiredObj)` returns a number and a requirement.
    #[serde(skip_serializing_if = "absent")]
    pub replica_resource: Option<Script>,
    /// The components of a template that has several kinds of pod: `function GetComponents(desiredObj)` returns a
    /// list.
    #[serde(skip_serializing_if = "absent")]
    pub component_resource: Option<Script>,
    /// How the number of replicas is set: `function ReviseReplica(desiredObj, desiredReplica)` returns the changed
    /// object.
    #[serde(skip_serializing_if = "absent")]
    pub replica_revision: Option<Script>,
    /// Which status is carried back from a cluster: `function ReflectStatus(observedObj)` returns it.
    #[serde(skip_serializing_if = "absent")]
    pub status_reflection: Option<Script>,
    /// How the statuses of the clusters become one: `function AggregateStatus(desiredObj, statusItems)` returns the
    /// object with its status filled in.
    #[serde(skip_serializing_if = "absent")]
    pub status_aggregation: Option<Script>,
    /// Whether the object is doing well: `function InterpretHealth(observedObj)` returns true or false.
    #[serde(skip_serializing_if = "absent")]
    pub health_interpretation: Option<Script>,
    /// What the object refers to and must follow it: `function GetDependencies(desiredObj)` returns a list of
    /// references.
    #[serde(skip_serializing_if = "absent")]
    pub dependency_interpretation: Option<Script>,
}

/// A script for one operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Script {
    /// The Lua source. It must define the function of the operation; it runs without access to files, network or
    /// clock, and within a time limit.
    #[serde(deserialize_with = "nullable")]
    pub lua_script: String,
}

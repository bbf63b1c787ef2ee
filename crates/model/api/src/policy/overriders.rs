//! The ways in which a template can be changed for a cluster.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    schema::free_form,
    wire::{absent, nullable},
};

/// Changes to a template. Whatever order they are written in, they are applied as: image, command, args, labels,
/// annotations, field, plaintext.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Overriders {
    /// Changes at JSON pointers, without knowledge of the kind. Applied last.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub plaintext: Vec<PlaintextOverrider>,
    /// Changes to parts of image references.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub image_overrider: Vec<ImageOverrider>,
    /// Changes to the commands of containers.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub command_overrider: Vec<CommandArgsOverrider>,
    /// Changes to the arguments of containers.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub args_overrider: Vec<CommandArgsOverrider>,
    /// Changes to the labels of the object.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub labels_overrider: Vec<LabelAnnotationOverrider>,
    /// Changes to the annotations of the object.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub annotations_overrider: Vec<LabelAnnotationOverrider>,
    /// Changes inside text fields that hold JSON or YAML documents, such as the entries of a ConfigMap.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub field_overrider: Vec<FieldOverrider>,
}

impl Overriders {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        absent(self)
    }
}

/// What is done at the place an overrider points at.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum OverriderOperator {
    /// Puts a value there, or appends it.
    #[default]
    Add,
    /// Takes the value away.
    Remove,
    /// Puts a value in place of the one that is there.
    Replace,
}

/// One change at a JSON pointer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaintextOverrider {
    /// Where the change happens, as a JSON pointer such as `/spec/replicas`.
    #[serde(default, deserialize_with = "nullable")]
    pub path: String,
    /// What is done there.
    pub operator: OverriderOperator,
    /// The new value, of any type. Absent, and `null`, for `remove`.
    #[schemars(schema_with = "free_form")]
    #[serde(default, skip_serializing_if = "absent")]
    pub value: Option<Value>,
}

/// One change to image references.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageOverrider {
    /// Limits the change to one place. Absent means every container of a Pod, ReplicaSet, Deployment, DaemonSet,
    /// StatefulSet or Job; other kinds need it.
    #[serde(default, skip_serializing_if = "absent")]
    pub predicate: Option<ImagePredicate>,
    /// The part of the reference that is changed.
    pub component: ImageComponent,
    /// What is done to that part. Adding to a part that is there appends to it.
    pub operator: OverriderOperator,
    /// The text that is added or put in place. Empty for `remove`.
    #[serde(default, skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub value: String,
}

/// Names the place of an image reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImagePredicate {
    /// JSON pointer to the image text, for example `/spec/template/spec/containers/0/image`.
    #[serde(default, deserialize_with = "nullable")]
    pub path: String,
}

/// The parts of an image reference such as `registry.example/team/web:v1`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum ImageComponent {
    /// The host the image comes from: `registry.example`.
    #[default]
    Registry,
    /// The path within the registry: `team/web`.
    Repository,
    /// The tag or digest: `v1`.
    Tag,
}

/// One change to the command or the arguments of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandArgsOverrider {
    /// Name of the container.
    #[serde(default, deserialize_with = "nullable")]
    pub container_name: String,
    /// `add` appends the values, `remove` takes them out.
    #[schemars(extend("enum" = ["add", "remove"]))]
    pub operator: OverriderOperator,
    /// The words that are added or removed.
    #[serde(default, skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub value: Vec<String>,
}

/// One change to labels or annotations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelAnnotationOverrider {
    /// `add` puts entries in, `replace` changes those that are there, `remove` takes entries out by key.
    pub operator: OverriderOperator,
    /// The entries. For `remove` only the keys count.
    #[serde(default, deserialize_with = "nullable")]
    pub value: BTreeMap<String, String>,
}

/// Changes inside a text field that holds a document. Exactly one of `json` and `yaml` is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldOverrider {
    /// JSON pointer to the text field, for example `/data/config.yaml`.
    #[serde(default, deserialize_with = "nullable")]
    pub field_path: String,
    /// Changes to a field that holds JSON.
    #[serde(default, skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub json: Vec<DocumentPatch>,
    /// Changes to a field that holds YAML.
    #[serde(default, skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub yaml: Vec<DocumentPatch>,
}

/// One change inside a document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentPatch {
    /// Where in the document the change happens, as a JSON pointer.
    #[serde(default, deserialize_with = "nullable")]
    pub sub_path: String,
    /// What is done there.
    pub operator: OverriderOperator,
    /// The new value, of any type. Must be there for `add` and `replace` and absent for `remove`.
    #[schemars(schema_with = "free_form")]
    #[serde(default, skip_serializing_if = "absent")]
    pub value: Option<Value>,
}

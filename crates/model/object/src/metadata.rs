//! `metadata`, as a value.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Value, time::Time};

/// The `metadata` of any object.
///
/// Fields this type does not name are dropped; whoever must keep them edits an [`Object`](crate::Object) instead.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    /// Unique in its namespace for its kind; fixed at creation.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub name: String,
    /// A prefix the server completes to a unique `name` when none is given.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub generate_name: String,
    /// The space the name is unique in; empty for cluster-scoped kinds.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub namespace: String,
    /// Distinguishes this object from any earlier or later one of the same name.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub uid: String,
    /// The revision of the last change; opaque, to be compared for equality only.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub resource_version: String,
    /// Counts changes of the desired state.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "null_is_default")]
    pub generation: i64,
    /// When the server stored the object first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    /// When deletion was asked for; the object goes once `finalizers` is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    /// Seconds granted for a graceful end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_grace_period_seconds: Option<i64>,
    /// Keys and values to select by.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub labels: BTreeMap<String, String>,
    /// Keys and values of no meaning to selection.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub annotations: BTreeMap<String, String>,
    /// The objects this one goes with when they are deleted.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub owner_references: Vec<OwnerReference>,
    /// Who still has work to do before the object may go.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub finalizers: Vec<String>,
    /// Which manager owns which fields; kept as it came.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub managed_fields: Vec<Value>,
}

/// An object that this one belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// The owner's `apiVersion`.
    pub api_version: String,
    /// The owner's kind.
    pub kind: String,
    /// The owner's name, in the same namespace or cluster-scoped.
    pub name: String,
    /// The owner's uid; a new object of the same name is not the owner.
    pub uid: String,
    /// Whether this is the one managing controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether a foreground deletion of the owner waits for this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

impl ObjectMeta {
    /// Metadata of a namespaced object, otherwise empty.
    #[must_use]
    pub fn namespaced(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            ..Self::default()
        }
    }

    /// Metadata of a cluster-scoped object, otherwise empty.
    #[must_use]
    pub fn cluster(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Whether deletion has been asked for.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        self.deletion_timestamp.is_some()
    }
}

/// Go writes `null` for an empty field and reads it as one; so do we.
pub fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nulls_read_as_absent_and_empties_are_not_written() {
        let meta: ObjectMeta = serde_json::from_value(
            json!({"name": "web", "labels": null, "finalizers": null, "creationTimestamp": null}),
        )
        .unwrap();
        assert_eq!(meta, ObjectMeta::cluster("web"));
        assert_eq!(serde_json::to_value(meta).unwrap(), json!({"name": "web"}));
    }
}

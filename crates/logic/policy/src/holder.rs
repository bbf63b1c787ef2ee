//! Whose a template is, as its labels and annotations say.

use std::{collections::BTreeMap, fmt};

use api::well_known::{
    annotations::{
        CLUSTER_PROPAGATION_POLICY_NAME, PROPAGATION_POLICY_NAME, PROPAGATION_POLICY_NAMESPACE,
    },
    labels::permanent_id,
};
use object::{Map, Object, Value};

use crate::policy::{Policy, PolicyId};

/// Every label that is part of a claim.
const LABELS: [&str; 2] = [
    permanent_id::PROPAGATION_POLICY,
    permanent_id::CLUSTER_PROPAGATION_POLICY,
];

/// Every annotation that is part of a claim.
const ANNOTATIONS: [&str; 3] = [
    PROPAGATION_POLICY_NAMESPACE,
    PROPAGATION_POLICY_NAME,
    CLUSTER_PROPAGATION_POLICY_NAME,
];

/// The policy that holds a template or a binding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    /// Which policy.
    pub policy: PolicyId,
    /// Its identity over time; a later policy of the same name has another one.
    pub permanent_id: String,
}

/// Labels and annotations to write (`Some`) and to take away (`None`). Empty when all is as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataEdit {
    /// By key.
    pub labels: BTreeMap<&'static str, Option<String>>,
    /// By key.
    pub annotations: BTreeMap<&'static str, Option<String>>,
}

impl Holder {
    /// The holder that a template or a binding names. A claim counts only if it is whole: half of one means that
    /// nobody holds the object.
    #[must_use]
    pub fn of(object: &Object) -> Option<Self> {
        Self::namespaced(object).or_else(|| Self::cluster(object))
    }

    fn namespaced(object: &Object) -> Option<Self> {
        Some(Self {
            policy: PolicyId {
                namespace: text(object.annotation(PROPAGATION_POLICY_NAMESPACE))?,
                name: text(object.annotation(PROPAGATION_POLICY_NAME))?,
            },
            permanent_id: text(object.label(permanent_id::PROPAGATION_POLICY))?,
        })
    }

    fn cluster(object: &Object) -> Option<Self> {
        Some(Self {
            policy: PolicyId {
                namespace: String::new(),
                name: text(object.annotation(CLUSTER_PROPAGATION_POLICY_NAME))?,
            },
            permanent_id: text(object.label(permanent_id::CLUSTER_PROPAGATION_POLICY))?,
        })
    }

    /// Whether this is a claim of just that policy, not of another one of the same name.
    #[must_use]
    pub fn is(&self, policy: &Policy) -> bool {
        self.policy == policy.id && self.permanent_id == policy.permanent_id
    }
}

impl From<&Policy> for Holder {
    fn from(policy: &Policy) -> Self {
        Self {
            policy: policy.id.clone(),
            permanent_id: policy.permanent_id.clone(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.policy.fmt(f)
    }
}

/// What makes a template or a binding the policy's: its own keys, and no keys of a policy of the other kind.
///
/// Upstream: a claim is taken as written when its label is right, so one that lost an annotation is never completed;
/// and a ClusterPropagationPolicy leaves remains of a PropagationPolicy behind.
#[must_use]
pub fn claim(object: &Object, policy: &Policy) -> MetadataEdit {
    let id = policy.permanent_id.as_str();
    let PolicyId { namespace, name } = &policy.id;
    let (labels, annotations) = if namespace.is_empty() {
        (
            vec![(permanent_id::CLUSTER_PROPAGATION_POLICY, id)],
            vec![(CLUSTER_PROPAGATION_POLICY_NAME, name.as_str())],
        )
    } else {
        (
            vec![(permanent_id::PROPAGATION_POLICY, id)],
            vec![
                (PROPAGATION_POLICY_NAMESPACE, namespace.as_str()),
                (PROPAGATION_POLICY_NAME, name.as_str()),
            ],
        )
    };
    MetadataEdit {
        labels: changes(&LABELS, &labels, |key| object.label(key)),
        annotations: changes(&ANNOTATIONS, &annotations, |key| object.annotation(key)),
    }
}

/// What takes the claim of a policy off a template or a binding.
///
/// Nothing if another policy has claimed the object meanwhile: a fresh claim survives the deletion of an old policy.
#[must_use]
pub fn release(object: &Object, holder: &Holder) -> MetadataEdit {
    let (label, annotations) = if holder.policy.namespace.is_empty() {
        (permanent_id::CLUSTER_PROPAGATION_POLICY, &ANNOTATIONS[2..])
    } else {
        (permanent_id::PROPAGATION_POLICY, &ANNOTATIONS[..2])
    };
    if object.label(label) != Some(&holder.permanent_id) {
        return MetadataEdit::default();
    }
    MetadataEdit {
        labels: changes(&[label], &[], |key| object.label(key)),
        annotations: changes(annotations, &[], |key| object.annotation(key)),
    }
}

impl MetadataEdit {
    /// Whether nothing is to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }

    /// The edit as a merge patch on the object; `{}` when nothing is to be done.
    #[must_use]
    pub fn to_merge_patch(&self) -> Value {
        let mut metadata = Map::new();
        for (name, edits) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !edits.is_empty() {
                let edits = edits
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), Value::from(value.clone())));
                metadata.insert(name.to_owned(), Value::Object(edits.collect()));
            }
        }
        let mut patch = Map::new();
        if !metadata.is_empty() {
            patch.insert("metadata".to_owned(), Value::Object(metadata));
        }
        Value::Object(patch)
    }
}

/// The edits that leave of `owned` keys exactly the `wanted` ones.
fn changes<'o>(
    owned: &[&'static str],
    wanted: &[(&'static str, &str)],
    current: impl Fn(&str) -> Option<&'o str>,
) -> BTreeMap<&'static str, Option<String>> {
    let target = |key: &str| {
        wanted
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| *value)
    };
    owned
        .iter()
        .filter(|key| current(key) != target(key))
        .map(|key| (*key, target(key).map(str::to_owned)))
        .collect()
}

fn text(value: Option<&str>) -> Option<String> {
    value.filter(|text| !text.is_empty()).map(str::to_owned)
}

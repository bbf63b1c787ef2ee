//! A Deployment's ReplicaSets: which is the new one, how many pods each has, what is noted on them.

use std::sync::Arc;

use object::int_or_string::{IntOrString, Rounding};
use object::{Map, Object, Value};
use serde_json::json;

use crate::controllers::template::hash_of;
use crate::read;

pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";
pub(crate) const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(crate) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(crate) const MAXIMUM: &str = "deployment.kubernetes.io/max-replicas";
pub(crate) const TEMPLATE_HASH: &str = "pod-template-hash";

/// Annotations of a Deployment that its ReplicaSets do not get.
const KEPT_BACK: [&str; 5] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED,
    MAXIMUM,
];

/// What a Deployment asks for.
pub(crate) struct Wants {
    pub(crate) replicas: i64,
    /// How many pods more than wanted there may be; none when the old ones go first.
    pub(crate) surge: i64,
    /// How many pods fewer than wanted may be available.
    pub(crate) unavailable: i64,
    pub(crate) recreates: bool,
    pub(crate) is_paused: bool,
    pub(crate) history: usize,
    /// Seconds without progress until it is said that there is none; `None` if it never is.
    pub(crate) deadline: Option<i64>,
}

/// What nobody has a deadline of: the largest 32-bit number means none.
const NO_DEADLINE: i64 = i32::MAX as i64;

impl Wants {
    pub(crate) fn of(deployment: &Object) -> Self {
        let replicas = deployment
            .integer_at(&["spec", "replicas"])
            .unwrap_or(1)
            .max(0);
        let recreates = deployment.text_at(&["spec", "strategy", "type"]) == Some("Recreate");
        let share = |name: &str, rounding: Rounding| {
            let value = deployment.at(&["spec", "strategy", "rollingUpdate", name]);
            let value =
                value.and_then(|value| serde_json::from_value::<IntOrString>(value.clone()).ok());
            value
                .unwrap_or_else(|| IntOrString::from_text("25%"))
                .share_of(replicas, rounding)
                .unwrap_or(0)
                .max(0)
        };
        let (mut surge, mut unavailable) = (0, 0);
        if !recreates {
            surge = share("maxSurge", Rounding::Up);
            unavailable = share("maxUnavailable", Rounding::Down);
            // Upstream: both may round to nothing; then one pod is let go of, or nothing would ever move.
            if surge == 0 && unavailable == 0 {
                unavailable = 1;
            }
            unavailable = unavailable.min(replicas);
        }
        Self {
            replicas,
            surge,
            unavailable,
            recreates,
            is_paused: deployment.at(&["spec", "paused"]).and_then(Value::as_bool) == Some(true),
            history: deployment
                .integer_at(&["spec", "revisionHistoryLimit"])
                .and_then(|limit| usize::try_from(limit).ok())
                .unwrap_or(10),
            deadline: deployment
                .integer_at(&["spec", "progressDeadlineSeconds"])
                .filter(|seconds| *seconds < NO_DEADLINE),
        }
    }
}

/// How many pods a ReplicaSet is to have.
pub(crate) fn wanted(set: &Object) -> i64 {
    set.integer_at(&["spec", "replicas"]).unwrap_or(1).max(0)
}

/// A count of a ReplicaSet's status.
pub(crate) fn count(set: &Object, name: &str) -> i64 {
    set.integer_at(&["status", name]).unwrap_or(0)
}

/// A number in an annotation.
pub(crate) fn note(object: &Object, name: &str) -> Option<i64> {
    object.annotation(name)?.parse().ok()
}

/// The ReplicaSet of the present template: the oldest, should there be several.
pub(crate) fn newest<'s>(deployment: &Object, sets: &[&'s Arc<Object>]) -> Option<&'s Arc<Object>> {
    let template = deployment.at(&["spec", "template"])?;
    let mut same: Vec<&'s Arc<Object>> = sets
        .iter()
        .copied()
        .filter(|set| is_same_template(set.at(&["spec", "template"]), template))
        .collect();
    same.sort_by_key(|set| (read::created(set), set.name().to_owned()));
    same.first().copied()
}

fn is_same_template(of_set: Option<&Value>, template: &Value) -> bool {
    let Some(of_set) = of_set else { return false };
    let plain = |template: &Value| {
        let mut template = template.clone();
        if let Some(labels) = template
            .pointer_mut("/metadata/labels")
            .and_then(Value::as_object_mut)
        {
            labels.shift_remove(TEMPLATE_HASH);
        }
        // What the server fills in with nothing is nothing.
        if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|_, value| !value.is_null());
        }
        template
    };
    plain(of_set) == plain(template)
}

/// The highest revision noted on any of these.
pub(crate) fn highest_revision<'s>(sets: impl Iterator<Item = &'s Arc<Object>>) -> i64 {
    sets.filter_map(|set| note(set, REVISION))
        .max()
        .unwrap_or(0)
}

/// What a ReplicaSet of a Deployment has noted on it.
pub(crate) fn notes(deployment: &Object, wants: &Wants, revision: i64) -> Map {
    let mut notes = Map::new();
    for (name, value) in deployment.annotations() {
        if !KEPT_BACK.contains(&name) {
            notes.insert(name.to_owned(), json!(value));
        }
    }
    notes.insert(REVISION.to_owned(), json!(revision.to_string()));
    notes.insert(DESIRED.to_owned(), json!(wants.replicas.to_string()));
    let most = wants.replicas.saturating_add(wants.surge);
    notes.insert(MAXIMUM.to_owned(), json!(most.to_string()));
    notes
}

/// The ReplicaSet of the present template, to be made.
pub(crate) fn new_set(deployment: &Object, wants: &Wants, revision: i64, replicas: i64) -> Value {
    let mut template = deployment
        .at(&["spec", "template"])
        .cloned()
        .unwrap_or_else(|| json!({}));
    let collisions = deployment
        .integer_at(&["status", "collisionCount"])
        .unwrap_or(0);
    let hash = hash_of(&template, collisions);
    let mut labels = template
        .pointer("/metadata/labels")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    labels.insert(TEMPLATE_HASH.to_owned(), json!(hash));
    if let Some(fields) = template.as_object_mut() {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("labels".to_owned(), Value::Object(labels.clone()));
        }
    }
    let mut selector = deployment
        .at(&["spec", "selector"])
        .cloned()
        .unwrap_or_else(|| json!({}));
    if let Some(fields) = selector.as_object_mut() {
        let exact = fields.entry("matchLabels").or_insert_with(|| json!({}));
        if let Some(exact) = exact.as_object_mut() {
            exact.insert(TEMPLATE_HASH.to_owned(), json!(hash));
        }
    }
    let patience = deployment
        .integer_at(&["spec", "minReadySeconds"])
        .unwrap_or(0);
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{}-{hash}", deployment.name()), "namespace": deployment.namespace(),
            "labels": labels, "annotations": notes(deployment, wants, revision),
            "ownerReferences": [read::owner_reference(deployment)],
        },
        "spec": {"replicas": replicas, "minReadySeconds": patience, "selector": selector, "template": template},
    })
}

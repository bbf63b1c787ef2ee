//! What every new pod gets: patience with nodes that are not heard of, and word of what holds it back.

use object::Value;
use serde_json::json;

use crate::read;

/// How long a pod bears a node that is not heard of.
const PATIENCE: i64 = 300;

/// Lets a pod bear a node that is not heard of for a while, unless it says itself for how long.
pub(super) fn give_patience(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else {
        return;
    };
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let is_tolerated = tolerations.iter().any(|toleration| {
            let of = |name: &str| read::text(toleration, name);
            (of("key") == key || of("key").is_empty()) && matches!(of("effect"), "" | "NoExecute")
        });
        if !is_tolerated {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": PATIENCE,
            }));
        }
    }
}

/// Says of a pod that is held back from being placed that it is.
pub(super) fn tell_gates(pod: &mut Value) {
    let gates = pod
        .pointer("/spec/schedulingGates")
        .and_then(Value::as_array);
    if gates.is_none_or(Vec::is_empty) {
        return;
    }
    let condition = json!({
        "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": null, "lastTransitionTime": null,
    });
    let Some(fields) = pod.as_object_mut() else {
        return;
    };
    let status = fields.entry("status").or_insert_with(|| json!({}));
    if let Some(status) = status.as_object_mut() {
        status.insert("conditions".to_owned(), json!([condition]));
    }
}

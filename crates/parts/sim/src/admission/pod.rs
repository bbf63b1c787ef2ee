//! What every new pod gets: an account, patience with nodes that are not heard of, a priority.

use object::Value;
use serde_json::json;

use crate::read;

/// How long a pod bears a node that is not heard of.
const PATIENCE: i64 = 300;

/// Fills in what a cluster's admission fills in.
pub(crate) fn complete(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for name in ["serviceAccountName", "serviceAccount"] {
        let is_missing = spec
            .get(name)
            .and_then(Value::as_str)
            .is_none_or(str::is_empty);
        if is_missing {
            spec.insert(name.to_owned(), json!("default"));
        }
    }
    spec.entry("priority").or_insert_with(|| json!(0));
    spec.entry("preemptionPolicy")
        .or_insert_with(|| json!("PreemptLowerPriority"));
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

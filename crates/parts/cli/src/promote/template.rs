//! What a member has, made a template.

use api::manifest::{JobLifetime, prune};
use api::well_known::annotations::{CONFLICT_OVERWRITE, CONFLICT_RESOLUTION};
use object::Object;

/// The object as a template: without what belongs to the member, and so that the member's copy is taken over.
pub(super) fn strip(object: Object) -> Object {
    let mut object = prune(object, JobLifetime::Kept);
    if object.annotation(CONFLICT_RESOLUTION).is_none() {
        let path = ["metadata", "annotations", CONFLICT_RESOLUTION];
        // What a server sends as annotations is a map or nothing.
        let _ = object.set(&path, CONFLICT_OVERWRITE);
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_has_nothing_of_the_member() {
        for (kind, spec, expected) in [
            (
                "Service",
                json!({"clusterIP": "10.0.0.1", "ports": []}),
                json!({"ports": []}),
            ),
            (
                "Service",
                json!({"clusterIP": "None"}),
                json!({"clusterIP": "None"}),
            ),
            // The selector of a Job is made by the member, by the uid it has there.
            (
                "Job",
                json!({"ttlSecondsAfterFinished": 5, "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}}),
                json!({"ttlSecondsAfterFinished": 5, "selector": {"matchLabels": {}}}),
            ),
        ] {
            let object = json!({
                "apiVersion": "v1", "kind": kind,
                "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "ownerReferences": [], "finalizers": [], "labels": {"x": "y"}},
                "spec": spec, "status": {},
            });
            let stripped = strip(Object::from_value(object).unwrap()).into_value();
            assert_eq!(
                stripped,
                json!({
                    "apiVersion": "v1", "kind": kind,
                    "metadata": {"name": "a", "labels": {"x": "y"}, "annotations": {CONFLICT_RESOLUTION: CONFLICT_OVERWRITE}},
                    "spec": expected,
                })
            );
        }
    }
}

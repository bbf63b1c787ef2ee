//! What a member has, made a template.

use api::well_known::annotations::{CONFLICT_OVERWRITE, CONFLICT_RESOLUTION};
use object::Object;

/// Fields that belong to the member and to its controllers.
const MEMBERS_OWN: [&str; 8] = [
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The object as a template: without what belongs to the member, and so that the member's copy is taken over.
pub(super) fn strip(mut object: Object) -> Object {
    for field in MEMBERS_OWN.iter().chain(&["ownerReferences", "finalizers"]) {
        object.remove(&["metadata", field]);
    }
    object.remove(&["status"]);
    if object.kind() == "Service" && object.api_version() == "v1" {
        // Addresses are given by each cluster.
        let is_headless = object.text_at(&["spec", "clusterIP"]) == Some("None");
        if !is_headless {
            object.remove(&["spec", "clusterIP"]);
            object.remove(&["spec", "clusterIPs"]);
        }
    }
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
        let object = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "ownerReferences": [], "finalizers": [], "labels": {"x": "y"}},
            "spec": {"clusterIP": "10.0.0.1", "ports": []}, "status": {},
        });
        let stripped = strip(Object::from_value(object).unwrap()).into_value();
        assert_eq!(
            stripped,
            json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": "a", "labels": {"x": "y"}, "annotations": {CONFLICT_RESOLUTION: CONFLICT_OVERWRITE}},
                "spec": {"ports": []},
            })
        );
    }
}

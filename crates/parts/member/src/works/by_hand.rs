//! What whoever makes works puts into them, and somebody who writes one by hand leaves out, or copies from another's.

use api::well_known::annotations::{WORK_NAME, WORK_NAMESPACE};
use api::well_known::finalizers;
use api::well_known::labels::{MANAGED, TRUE};
use api::work::v1alpha1::Work;
use control::{Cx, ReconcileError};
use intent::{Action, Part, Plan};
use object::object::SetError;
use object::{Object, ObjectKey};

use crate::resources;

/// Sees to it that a work does not go before what it is about to bring.
pub(super) async fn tie(work: &Object, cx: &Cx) -> Result<(), ReconcileError> {
    if work.finalizers().any(|name| name == finalizers::EXECUTION) {
        return Ok(());
    }
    let all: Vec<&str> = work.finalizers().chain([finalizers::EXECUTION]).collect();
    let patch = serde_json::json!({"metadata": {"finalizers": all}});
    let mut plan = Plan::default();
    let resource = resources::of::<Work>();
    plan.push(Action::patch(resource, work, patch, Part::Object));
    cx.carry_out(&plan).await?;
    Ok(())
}

/// A manifest with the marks by which a member's object is known to be its work's.
pub(super) fn marked(mut manifest: Object, work: &ObjectKey) -> Result<Object, SetError> {
    if manifest.label(MANAGED) != Some(TRUE) {
        manifest.set(&["metadata", "labels", MANAGED], TRUE)?;
    }
    for (annotation, value) in [(WORK_NAMESPACE, &work.namespace), (WORK_NAME, &work.name)] {
        if manifest.annotation(annotation) != Some(value) {
            manifest.set(&["metadata", "annotations", annotation], value.as_str())?;
        }
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use object::Value;
    use serde_json::json;

    use super::*;
    use crate::testing::object;

    fn check(claim: &str, metadata: Value, expected: Value) {
        let manifest = object(json!({"kind": "ConfigMap", "metadata": metadata}));
        let work = ObjectKey::namespaced("karmada-es-m1", "w");
        let marked = marked(manifest, &work).unwrap();
        assert_eq!(marked.at(&["metadata"]), Some(&expected), "{claim}");
    }

    #[test]
    fn manifests_have_the_marks_of_their_own_work() {
        let marks =
            json!({"work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": "w"});
        check(
            "none",
            json!({"name": "c"}),
            json!({"name": "c", "labels": {"karmada.io/managed": "true"}, "annotations": marks}),
        );
        check(
            "copied from another cluster",
            json!({"labels": {"karmada.io/managed": "true", "a": "b"}, "annotations": {"work.karmada.io/namespace": "karmada-es-m2", "work.karmada.io/name": "v"}}),
            json!({"labels": {"karmada.io/managed": "true", "a": "b"}, "annotations": marks}),
        );
    }
}

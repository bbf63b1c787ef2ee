//! Two works that bring one object: somebody wrote one by hand for what another brings already.
//!
//! Each would make the object its own, which wakes the other, and so on without end. Works that are made here have names by
//! their objects, so that no two of them meet; the one that was written by hand gives way, and says to whom.

use api::well_known::labels::permanent_id;
use object::{GroupVersionKind, Object, ObjectKey, Value};

use crate::works::connection::work_of;

/// The work to which another gives way about an object: the one that the object names, if it is there to stay and brings it.
pub(super) fn rival<W: AsRef<Object>>(
    own: &ObjectKey,
    manifest: &Object,
    observed: &Object,
    find: impl Fn(&ObjectKey) -> Option<W>,
) -> Option<ObjectKey> {
    let named = work_of(observed).filter(|named| named.namespace == own.namespace)?;
    if named == *own || !is_by_hand(find(own)?.as_ref()) {
        return None;
    }
    let other = find(&named)?;
    let other = other.as_ref();
    (!other.is_terminating() && brings(other, manifest)).then_some(named)
}

/// Whether a work was made neither for a binding nor for anything else that owns it.
fn is_by_hand(work: &Object) -> bool {
    let ids = [
        permanent_id::RESOURCE_BINDING,
        permanent_id::CLUSTER_RESOURCE_BINDING,
    ];
    ids.iter().all(|id| work.label(id).is_none()) && work.owner_references().next().is_none()
}

/// Whether a work has a manifest of the same object.
fn brings(work: &Object, manifest: &Object) -> bool {
    let manifests = work.at(&["spec", "workload", "manifests"]);
    let manifests = manifests.and_then(Value::as_array).into_iter().flatten();
    manifests.into_iter().any(|other| {
        let text = |path: &str| other.pointer(path).and_then(Value::as_str);
        let kind = GroupVersionKind::from_api_version(
            text("/apiVersion").unwrap_or_default(),
            text("/kind").unwrap_or_default(),
        );
        kind.is_ok_and(|kind| kind.group_kind() == manifest.group_version_kind().group_kind())
            && text("/metadata/name") == Some(manifest.name())
            && text("/metadata/namespace").unwrap_or_default() == manifest.namespace()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::object;

    fn work(name: &str, metadata: Value, manifest: Value) -> Object {
        let mut work = object(json!({
            "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": metadata,
            "spec": {"workload": {"manifests": [manifest]}},
        }));
        work.set(&["metadata", "name"], name).unwrap();
        work.set(&["metadata", "namespace"], "karmada-es-m1")
            .unwrap();
        work
    }

    #[test]
    fn a_work_by_hand_gives_way_to_one_that_brings_the_same() {
        let web = |version: &str, name: &str| json!({"apiVersion": version, "kind": "Deployment", "metadata": {"name": name, "namespace": "shop"}});
        let manifest = object(web("apps/v1", "web"));
        let label = json!({"labels": {"resourcebinding.karmada.io/permanent-id": "b"}});
        let owned = json!({"ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": "shop", "uid": "n"}]});
        let going = json!({"deletionTimestamp": "2026-01-02T03:04:05Z"});
        let of_binding = work("made", label.clone(), web("apps/v1", "web"));
        for (claim, own, other, named, expected) in [
            ("one is made", json!({}), of_binding.clone(), "made", true),
            (
                "both by hand",
                json!({}),
                work("made", json!({}), web("apps/v1beta1", "web")),
                "made",
                true,
            ),
            ("of a binding", label, of_binding.clone(), "made", false),
            ("of an owner", owned, of_binding.clone(), "made", false),
            (
                "the other goes",
                json!({}),
                work("made", going, web("apps/v1", "web")),
                "made",
                false,
            ),
            (
                "the other brings something else",
                json!({}),
                work("made", json!({}), web("apps/v1", "api")),
                "made",
                false,
            ),
            (
                "another kind",
                json!({}),
                work("made", json!({}), web("batch/v1", "web")),
                "made",
                false,
            ),
            (
                "the other is not there",
                json!({}),
                of_binding.clone(),
                "gone",
                false,
            ),
            ("its own", json!({}), of_binding, "mine", false),
        ] {
            let own = work("mine", own, web("apps/v1", "web"));
            let observed = object(json!({"metadata": {"annotations": {
                "work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": named}}}));
            let known = [std::sync::Arc::new(own.clone()), std::sync::Arc::new(other)];
            let find = |key: &ObjectKey| known.iter().find(|work| work.key() == *key).cloned();
            let found = rival(&own.key(), &manifest, &observed, find);
            let expected = expected.then(|| ObjectKey::namespaced("karmada-es-m1", "made"));
            assert_eq!(found, expected, "{claim}");
        }
    }
}

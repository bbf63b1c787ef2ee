//! Manifests of a work that nothing in a member can answer to, so that they are never sent there, and nothing is sought there
//! when the work goes.

use object::{Object, ResourceType};

use crate::apply::record::place;

/// What is wrong with one of the manifests of a work, whatever its kind is.
pub(super) fn misfit(manifests: &[Object], position: usize) -> Option<String> {
    let (before, rest) = manifests.split_at_checked(position)?;
    let manifest = rest.first()?;
    let path = format!("spec.workload.manifests[{position}]");
    if manifest.name().is_empty() {
        return Some(format!(
            "{path}.metadata.name: is missing, and a name that the cluster makes up would be another one each time: give it a name"
        ));
    }
    // Both would be brought back over each other.
    let first = before
        .iter()
        .position(|other| place(other) == place(manifest))?;
    Some(format!(
        "{path}: {} {} is at spec.workload.manifests[{first}] already: take one of the two out",
        manifest.kind(),
        manifest.key()
    ))
}

/// What a manifest lacks to be somewhere in a member that has its kind there.
pub(super) fn lack(manifest: &Object, resource: &ResourceType) -> Option<String> {
    if manifest.name().is_empty() {
        return Some("it has no metadata.name".to_owned());
    }
    (resource.namespaced && manifest.namespace().is_empty()).then(|| {
        let kind = manifest.kind();
        format!(
            "{kind} {} has no metadata.namespace, and every {kind} is in a namespace: give it one",
            manifest.name()
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::object;

    fn manifest(api_version: &str, kind: &str, metadata: Value) -> Object {
        object(json!({"apiVersion": api_version, "kind": kind, "metadata": metadata}))
    }

    #[test]
    fn an_object_stands_in_a_work_once_and_by_its_name() {
        let here = json!({"name": "a", "namespace": "n"});
        let manifests = [
            manifest("v1", "ConfigMap", here.clone()),
            manifest("v1", "Secret", here.clone()),
            manifest("v1", "ConfigMap", json!({"name": "a", "namespace": "m"})),
            manifest("v1", "ConfigMap", here),
            manifest(
                "v1",
                "ConfigMap",
                json!({"generateName": "a-", "namespace": "n"}),
            ),
            // One object, whatever its version.
            manifest("acme.io/v1", "Widget", json!({"name": "w"})),
            manifest("acme.io/v2", "Widget", json!({"name": "w"})),
        ];
        let found: Vec<Option<String>> = (0..=manifests.len())
            .map(|position| misfit(&manifests, position))
            .collect();
        let twice = |position: usize, what: &str, first: usize| {
            Some(format!(
                "spec.workload.manifests[{position}]: {what} is at spec.workload.manifests[{first}] already: take one of the two out"
            ))
        };
        let nameless = "spec.workload.manifests[4].metadata.name: is missing, and a name that the cluster makes up would be another one each time: give it a name";
        let expected = [
            None,
            None,
            None,
            twice(3, "ConfigMap n/a", 0),
            Some(nameless.to_owned()),
            None,
            twice(6, "Widget w", 5),
            None,
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_in_a_namespace_says_in_which() {
        let namespaced = ResourceType::namespaced("", "v1", "ConfigMap", "configmaps");
        let cluster = ResourceType::cluster("", "v1", "Node", "nodes");
        let without = manifest("v1", "ConfigMap", json!({"name": "a"}));
        let with = manifest("v1", "ConfigMap", json!({"name": "a", "namespace": "n"}));
        let nameless = manifest("v1", "Node", json!({}));
        assert_eq!(lack(&with, &namespaced), None);
        assert_eq!(lack(&without, &cluster), None);
        assert_eq!(
            lack(&without, &namespaced).as_deref(),
            Some(
                "ConfigMap a has no metadata.namespace, and every ConfigMap is in a namespace: give it one"
            )
        );
        assert_eq!(
            lack(&nameless, &cluster).as_deref(),
            Some("it has no metadata.name")
        );
    }
}

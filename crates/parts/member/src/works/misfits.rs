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

/// Why nothing in a member that has its kind can be what a manifest names.
pub(super) fn nowhere(manifest: &Object, resource: &ResourceType) -> Option<String> {
    let (kind, name, namespace) = (manifest.kind(), manifest.name(), manifest.namespace());
    if name.is_empty() {
        return Some("it has no metadata.name".to_owned());
    }
    if resource.namespaced && namespace.is_empty() {
        return Some(format!(
            "{kind} {name} has no metadata.namespace, and every {kind} is in a namespace: give it one"
        ));
    }
    [("name", name), ("namespace", namespace)]
        .into_iter()
        .find(|(_, segment)| !is_segment(segment))
        .map(|(field, segment)| {
            format!("nothing can be called {segment:?}, as metadata.{field} of a {kind} says")
        })
}

/// Why a manifest is not sent although its object may be there.
pub(super) fn misplaced(manifest: &Object, resource: &ResourceType) -> Option<String> {
    let (kind, name, namespace) = (manifest.kind(), manifest.name(), manifest.namespace());
    (!resource.namespaced && !namespace.is_empty()).then(|| {
        format!("{kind} {name} has metadata.namespace {namespace:?}, and no {kind} is in a namespace: leave it out")
    })
}

/// Whether something can be a part of the path under which an object is found.
fn is_segment(text: &str) -> bool {
    !matches!(text, "." | "..") && !text.contains(['/', '%'])
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
    fn what_a_manifest_names_can_be_somewhere() {
        let namespaced = ResourceType::namespaced("", "v1", "ConfigMap", "configmaps");
        let cluster = ResourceType::cluster("", "v1", "Node", "nodes");
        for (resource, name, namespace, why) in [
            (&namespaced, "a", "n", ""),
            (&cluster, "a", "", ""),
            (&cluster, "system:a", "n", ""),
            (
                &namespaced,
                "a",
                "",
                "ConfigMap a has no metadata.namespace, and every ConfigMap is in a namespace: give it one",
            ),
            (&cluster, "", "", "it has no metadata.name"),
            (
                &namespaced,
                "..",
                "n",
                "nothing can be called \"..\", as metadata.name of a ConfigMap says",
            ),
            (
                &namespaced,
                "a",
                "n/m",
                "nothing can be called \"n/m\", as metadata.namespace of a ConfigMap says",
            ),
        ] {
            let kind = &resource.kind.kind;
            let manifest = manifest("v1", kind, json!({"name": name, "namespace": namespace}));
            let found = nowhere(&manifest, resource).unwrap_or_default();
            assert_eq!(found, why, "{kind} {namespace}/{name}");
        }
    }

    #[test]
    fn what_is_in_no_namespace_names_none() {
        let cluster = ResourceType::cluster("", "v1", "Node", "nodes");
        let namespaced = ResourceType::namespaced("", "v1", "ConfigMap", "configmaps");
        let named = manifest("v1", "Node", json!({"name": "a", "namespace": "n"}));
        assert_eq!(misplaced(&named, &namespaced), None);
        assert_eq!(
            misplaced(&named, &cluster).as_deref(),
            Some(
                "Node a has metadata.namespace \"n\", and no Node is in a namespace: leave it out"
            )
        );
        let without = manifest("v1", "Node", json!({"name": "a"}));
        assert_eq!(misplaced(&without, &cluster), None);
    }
}

//! The policy that sends one object to named clusters, as `apply` and `promote` make it, and which goes with the object.

use api::names::policy_name;
use api::registry;
use api::well_known::annotations::{CLUSTER_PROPAGATION_POLICY_NAME, PROPAGATION_POLICY_NAME};
use client::Client;
use object::{Object, ObjectKey, ResourceType, Value};
use serde_json::json;

/// How the policy treats what members have already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// As a policy does that says nothing.
    Usual,
    /// What is there is taken over, and stays when the template goes.
    Adopting {
        /// What it refers to comes along.
        with_dependencies: bool,
    },
}

/// A policy for one object and these clusters; all if there are none.
pub(crate) fn policy_for(
    resource: &ResourceType,
    object: &Object,
    name: Option<&str>,
    clusters: &[String],
    strictness: Strictness,
) -> (ResourceType, Object) {
    let kind = if resource.namespaced {
        ResourceType::from(&registry::PROPAGATION_POLICY)
    } else {
        ResourceType::from(&registry::CLUSTER_PROPAGATION_POLICY)
    };
    let name = name.map_or_else(
        || {
            policy_name(
                object.namespace(),
                object.name(),
                &resource.kind.to_string(),
            )
        },
        str::to_owned,
    );
    let mut selector = json!({
        "apiVersion": object.api_version(),
        "kind": object.kind(),
        "name": object.name(),
    });
    if resource.namespaced {
        selector["namespace"] = Value::from(object.namespace());
    }
    let affinity = match clusters.is_empty() {
        true => json!({}),
        false => json!({"clusterNames": clusters}),
    };
    let mut spec = json!({
        "resourceSelectors": [selector],
        "placement": {"clusterAffinity": affinity},
    });
    if let Strictness::Adopting { with_dependencies } = strictness {
        spec["conflictResolution"] = Value::from("Overwrite");
        spec["preserveResourcesOnDeletion"] = Value::from(true);
        spec["propagateDeps"] = Value::from(with_dependencies);
    }
    let key = match resource.namespaced {
        true => ObjectKey::namespaced(object.namespace(), name),
        false => ObjectKey::cluster(name),
    };
    let mut policy = Object::new(&kind.kind, &key);
    policy.fields_mut().insert("spec".to_owned(), spec);
    (kind, policy)
}

/// The policy that `apply` has made for an object, if there is one: it is for nothing else, and would send another object of
/// the name to the same clusters.
pub(super) async fn made_for(
    control: &Client,
    resource: &ResourceType,
    object: &Object,
) -> Option<(ResourceType, Object)> {
    let (kind, usual) = policy_for(resource, object, None, &[], Strictness::Usual);
    let claim = match resource.namespaced {
        true => PROPAGATION_POLICY_NAME,
        false => CLUSTER_PROPAGATION_POLICY_NAME,
    };
    let is_of_another = |holder: &str| holder != usual.name();
    if object.annotation(claim).is_some_and(is_of_another) {
        return None;
    }
    // Whoever may not look at policies has made none.
    let found = control.get(&kind, &usual.key()).await.ok()?;
    is_made_for(&found, &usual).then_some((kind, found))
}

/// Whether a policy is about the one object, and not one that lets it stay in members.
fn is_made_for(found: &Object, usual: &Object) -> bool {
    let selectors = ["spec", "resourceSelectors"];
    let is_kept = found.at(&["spec", "preserveResourcesOnDeletion"]) == Some(&Value::Bool(true));
    found.at(&selectors) == usual.at(&selectors) && !is_kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_for_one_object_goes_with_it_unless_it_is_for_more() {
        let resource = ResourceType::namespaced("apps", "v1", "Deployment", "deployments");
        let key = ObjectKey::namespaced("default", "nginx");
        let object = Object::new(&resource.kind, &key);
        let clusters = ["a".to_owned()];
        let usual =
            |clusters: &[String], how| policy_for(&resource, &object, None, clusters, how).1;
        let plain = usual(&[], Strictness::Usual);
        let kept = Strictness::Adopting {
            with_dependencies: false,
        };
        let mut wider = plain.clone();
        let more = json!([
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx", "namespace": "default"},
            {"apiVersion": "v1", "kind": "Service"},
        ]);
        wider.set(&["spec", "resourceSelectors"], more).unwrap();
        for (found, expected) in [
            (usual(&[], Strictness::Usual), true),
            (usual(&clusters, Strictness::Usual), true),
            (usual(&clusters, kept), false),
            (wider, false),
        ] {
            assert_eq!(is_made_for(&found, &plain), expected, "{found:?}");
        }
    }

    #[test]
    fn names_are_those_that_others_compute_too() {
        for (group, kind, plural, expected) in [
            ("apps", "Deployment", "deployments", "nginx-6d7f8d5f5b"),
            ("", "Service", "services", "nginx-76579ccd86"),
        ] {
            let resource = ResourceType::namespaced(group, "v1", kind, plural);
            let object = Object::new(&resource.kind, &ObjectKey::namespaced("default", "nginx"));
            let (_, policy) = policy_for(&resource, &object, None, &[], Strictness::Usual);
            assert_eq!(policy.name(), expected);
            assert_eq!(
                policy.at(&["spec", "placement"]),
                Some(&json!({"clusterAffinity": {}}))
            );
        }
    }
}

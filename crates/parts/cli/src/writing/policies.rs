//! The policy that sends one object to named clusters, as `apply` and `promote` make it.

use api::names::policy_name;
use api::registry;
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

#[cfg(test)]
mod tests {
    use super::*;

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

//! Definitions come and go, and take nothing along that was there without them.

use world::json;

use crate::stage::{SOON, Stage, WHILE};

/// What somebody may define who has rights on definitions alone.
const DEFINED: &[(&str, &str, &str, &str)] = &[
    (
        "clusterrolebindings",
        "rbac.authorization.k8s.io",
        "ClusterRoleBinding",
        "Cluster",
    ),
    ("leases", "coordination.k8s.io", "Lease", "Namespaced"),
    (
        "networkpolicies",
        "networking.k8s.io",
        "NetworkPolicy",
        "Namespaced",
    ),
    (
        "propagationpolicies",
        "policy.karmada.io",
        "PropagationPolicy",
        "Namespaced",
    ),
    ("clusters", "cluster.karmada.io", "Cluster", "Cluster"),
];

const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: definer}
rules: [{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: ['*']}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: definer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: definer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: kept, namespace: test}
spec: {podSelector: {}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: kept, namespace: test}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: kept, namespace: test}
spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: x}]}
";

fn definition((plural, group, kind, scope): (&str, &str, &str, &str)) -> String {
    let version = match group.ends_with("karmada.io") {
        true => "v1alpha1",
        false => "v1",
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            "annotations": {"api-approved.kubernetes.io": "unapproved, test"},
        },
        "spec": {
            "group": group, "scope": scope, "names": {"plural": plural, "kind": kind},
            "versions": [{
                "name": version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
    .to_string()
}

/// Every object of the kinds that are defined once more, but for leases that come and go by themselves.
async fn kept(stage: &Stage) -> Vec<String> {
    let mut all = Vec::new();
    for (plural, ..) in DEFINED {
        let namespace = match *plural {
            "leases" => "test",
            _ => "",
        };
        let names = stage.names(plural, namespace).await;
        assert!(!names.is_empty(), "{plural}");
        all.extend(names.into_iter().map(|name| format!("{plural} {name}")));
    }
    all
}

#[tokio::test(start_paused = true)]
async fn a_definition_of_a_built_in_kind_comes_and_goes_and_every_object_stays() {
    let stage = Stage::with(1).await;
    stage.apply(RIGHTS).await;
    let before = kept(&stage).await;
    for restarts in [false, true] {
        let mallory = stage.as_user("mallory", &[]).await;
        for defined in DEFINED {
            mallory.apply(&definition(*defined)).await;
        }
        stage.advance(WHILE).await;
        for (plural, group, ..) in DEFINED {
            let name = format!("{plural}.{group}");
            mallory.delete("customresourcedefinitions", &name).await;
        }
        if restarts {
            stage.restart().await;
        }
        stage
            .until("the definitions are gone", SOON, async || {
                let left = stage.names("customresourcedefinitions", "").await;
                left.is_empty()
            })
            .await;
        stage.advance(WHILE).await;
        assert_eq!(kept(&stage).await, before, "restarts: {restarts}");
    }
    stage.restart().await;
    stage.advance(WHILE).await;
    assert_eq!(kept(&stage).await, before, "after another restart");
}

#[tokio::test(start_paused = true)]
async fn a_definition_takes_its_own_objects_along_also_over_a_restart() {
    let stage = Stage::with(1).await;
    let gadgets = definition(("gadgets", "acme.io", "Gadget", "Namespaced"));
    let name = "gadgets.acme.io";
    let gadget =
        "{apiVersion: acme.io/v1, kind: Gadget, metadata: {name: g, namespace: test}, spec: {}}";
    for restarts in [false, true] {
        stage.apply(&gadgets).await;
        stage
            .until("the kind is served", SOON, async || {
                let kind = "customresourcedefinitions";
                let established = stage.condition(kind, name, "Established").await;
                established == "True InitialNamesAccepted"
            })
            .await;
        let left = stage.names("gadgets", "test").await;
        assert!(left.is_empty(), "restarts: {restarts}");
        stage.apply(gadget).await;
        stage.delete("customresourcedefinitions", name).await;
        if restarts {
            stage.restart().await;
        }
        stage
            .until("the definition is gone", SOON, async || {
                let left = stage.names("customresourcedefinitions", "").await;
                left.is_empty()
            })
            .await;
    }
    stage.apply(&gadgets).await;
    stage.advance(WHILE).await;
    assert!(stage.names("gadgets", "test").await.is_empty());
}

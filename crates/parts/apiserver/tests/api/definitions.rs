//! Definitions of kinds that are built in, and definitions that go: taken, and told what becomes of them.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tower_service::Service;

use crate::asking::{send, served, until};
use crate::world::{World, master};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Writes a definition; the warnings that came with the answer.
async fn write(world: &World, definition: &Value) -> Vec<String> {
    let request = Request::post(DEFINITIONS)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(definition.to_string())))
        .unwrap();
    let answer = world.handle.as_user(master()).call(request).await.unwrap();
    assert_eq!(answer.status(), 201, "{definition}");
    let warnings = answer.headers().get_all("warning").iter();
    warnings
        .map(|text| text.to_str().unwrap().to_owned())
        .collect()
}

/// The conditions of a definition, as soon as there are any: status, reason and message by type.
async fn conditions(world: &World, name: &str) -> Vec<String> {
    let line = format!("GET {DEFINITIONS}/{name}");
    let read = async || {
        let found = world.ask(&master(), &line, Value::Null).await.body;
        let conditions = found["status"]["conditions"].as_array().cloned();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let shown = conditions.into_iter().flatten().map(|condition| {
            ["type", "status", "reason", "message"]
                .map(|field| text(&condition[field]))
                .join(" ")
        });
        shown.collect::<Vec<_>>()
    };
    until("the definition to be judged", async || {
        !read().await.is_empty()
    })
    .await;
    read().await
}

/// Those who install the multi-cluster kinds as they are elsewhere wait for them to be established, and need not know that
/// they are here already. What departs from them is never served, and must not say that it is.
#[tokio::test]
async fn definitions_of_built_in_kinds_are_established_if_they_are_served_so() {
    let accepted = [
        "NamesAccepted True NoConflicts no conflicts found",
        "Established True InitialNamesAccepted the initial names have been accepted",
    ];
    let refused = |why: &str| {
        [
            format!("NamesAccepted False BuiltIn {why}"),
            "Established False NotAccepted not all names are accepted".to_owned(),
        ]
    };
    let accepted = accepted.map(str::to_owned);
    let policy = api::schema::definition(&api::registry::PROPAGATION_POLICY);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut definition = policy.clone();
        change(&mut definition["spec"]);
        definition
    };
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = |name: &str, served: bool| {
        json!({
            "name": name, "served": served, "storage": false, "schema": {"openAPIV3Schema": free},
        })
    };
    for (what, definition, expected) in [
        ("as published", policy.clone(), accepted.clone()),
        (
            "with another schema",
            changed(&|spec| spec["versions"][0]["schema"]["openAPIV3Schema"] = free.clone()),
            accepted.clone(),
        ),
        (
            "with a version that is not served",
            changed(&|spec| {
                let versions = spec["versions"].as_array_mut().unwrap();
                versions.push(version("v9", false));
            }),
            accepted.clone(),
        ),
        (
            "with a version that is served nowhere",
            changed(&|spec| {
                let versions = spec["versions"].as_array_mut().unwrap();
                versions.push(version("v9", true));
            }),
            refused(
                "propagationpolicies.policy.karmada.io is built in and served in v1alpha1, not in v9",
            ),
        ),
        (
            "with another scope",
            changed(&|spec| spec["scope"] = json!("Cluster")),
            refused(
                "propagationpolicies.policy.karmada.io is built in and its scope is Namespaced, not Cluster",
            ),
        ),
        (
            "with another kind",
            changed(&|spec| {
                spec["names"]["kind"] = json!("Other");
                spec["names"]["listKind"] = json!("OtherList");
            }),
            refused(
                "propagationpolicies.policy.karmada.io is built in and its kind is PropagationPolicy, not Other",
            ),
        ),
    ] {
        let world = World::start().await;
        let warnings = write(&world, &definition).await;
        let name = "propagationpolicies.policy.karmada.io";
        let told = format!(
            "299 - \"{name} is built in: this definition changes nothing about how it is served\""
        );
        assert_eq!(warnings, [told], "{what}");
        assert_eq!(conditions(&world, name).await, expected, "{what}");
        let listed = "GET /apis/policy.karmada.io/v1alpha1/propagationpolicies";
        let listed = world.ask(&master(), listed, Value::Null).await;
        assert_eq!(listed.code, 200, "{what}");
    }
}

/// A definition in a group of the API's own.
fn definition(plural: &str, group: &str, kind: &str, scope: &str) -> Value {
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"), "finalizers": ["test.io/hold"],
            "annotations": {"api-approved.kubernetes.io": "unapproved, test"},
        },
        "spec": {
            "group": group, "scope": scope,
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": free},
            }],
        },
    })
}

/// However well it describes them: nobody but the server says what its own kinds are, and what they are called.
#[tokio::test]
async fn definitions_never_have_the_names_of_kubernetes_own_kinds() {
    let world = World::start().await;
    let rbac = "rbac.authorization.k8s.io";
    for (plural, group, kind, scope, expected) in [
        (
            "clusterrolebindings",
            rbac,
            "ClusterRoleBinding",
            "Cluster",
            "BuiltIn clusterrolebindings.rbac.authorization.k8s.io is built in",
        ),
        (
            "leases",
            "coordination.k8s.io",
            "Lease",
            "Namespaced",
            "BuiltIn leases.coordination.k8s.io is built in",
        ),
        (
            "networkpolicies",
            "networking.k8s.io",
            "Other",
            "Cluster",
            "BuiltIn networkpolicies.networking.k8s.io is built in",
        ),
        // Owners and templates are found by the names of their kinds.
        (
            "others",
            rbac,
            "ClusterRoleBinding",
            "Cluster",
            "ListKindConflict \"ClusterRoleBindingList\" is already in use",
        ),
    ] {
        write(&world, &definition(plural, group, kind, scope)).await;
        let name = format!("{plural}.{group}");
        assert_eq!(
            conditions(&world, &name).await,
            [
                format!("NamesAccepted False {expected}"),
                "Established False NotAccepted not all names are accepted".to_owned(),
            ],
            "{name}"
        );
    }
}

#[tokio::test]
async fn nothing_is_created_of_a_kind_whose_definition_is_going() {
    let world = World::start().await;
    let gadgets = "/apis/test.io/v1/namespaces/default/gadgets";
    let gadget = |name: &str| json!({"apiVersion": "test.io/v1", "kind": "Gadget", "metadata": {"name": name}});
    write(
        &world,
        &definition("gadgets", "test.io", "Gadget", "Namespaced"),
    )
    .await;
    served(&world, gadgets).await;
    world.create(gadgets, gadget("old")).await;
    let overlapping = [
        definition("leases", "coordination.k8s.io", "Lease", "Namespaced"),
        definition("works", "work.karmada.io", "Work", "Namespaced"),
    ];
    for definition in &overlapping {
        write(&world, definition).await;
    }
    let names = [
        "gadgets.test.io",
        "leases.coordination.k8s.io",
        "works.work.karmada.io",
    ];
    for name in names {
        conditions(&world, name).await;
        let line = format!("DELETE {DEFINITIONS}/{name}");
        assert_eq!(world.ask(&master(), &line, Value::Null).await.code, 200);
    }
    let send = async |line: &str, media: &str, body: Value| {
        let headers = [("content-type", media)];
        let body = Bytes::from(body.to_string());
        let sent = send(&world, &master(), line, &headers, body).await;
        sent.unwrap()
    };
    let json = "application/json";
    for (line, media, name) in [
        (format!("POST {gadgets}"), json, "new"),
        (format!("POST {gadgets}?dryRun=All"), json, "new"),
        (
            format!("PATCH {gadgets}/new?fieldManager=m"),
            "application/apply-patch+yaml",
            "new",
        ),
    ] {
        let (code, status) = send(&line, media, gadget(name)).await;
        assert_eq!(code, 405, "{line}");
        assert_eq!(status["reason"], "MethodNotAllowed", "{line}");
        assert_eq!(
            status["message"], "create not allowed while custom resource definition is terminating",
            "{line}"
        );
        assert_eq!(
            status["details"],
            json!({"group": "test.io", "kind": "gadgets"}),
            "{line}"
        );
    }
    // Whoever clears up changes what there is, and takes it away.
    let line = format!("PATCH {gadgets}/old");
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    let changed = send(&line, "application/merge-patch+json", labels).await;
    assert_eq!(changed.0, 200, "{}", changed.1);
    let line = format!("DELETE {gadgets}/old");
    assert_eq!(world.ask(&master(), &line, Value::Null).await.code, 200);
    // What is there without its definition can be made whatever becomes of that.
    for (path, object) in [
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            json!({"metadata": {"name": "new"}}),
        ),
        (
            "/apis/work.karmada.io/v1alpha1/namespaces/default/works",
            json!({
                "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {"name": "new"},
                "spec": {"workload": {"manifests": []}},
            }),
        ),
    ] {
        world.create(path, object).await;
    }
}

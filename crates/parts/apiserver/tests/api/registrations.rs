//! APIServices: what is served is registered, and other servers are not asked.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::asking::until;
use crate::world::{World, known, master};

const SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async fn get(world: &World, path: &str) -> (u16, Value) {
    let line = format!("GET {path}");
    let answer = world.ask(&master(), &line, Value::Null).await;
    (answer.code, answer.body)
}

/// `STATUS REASON` of the condition `Available`, or the code of the answer.
async fn available(world: &World, name: &str) -> String {
    let (code, service) = get(world, &format!("{SERVICES}/{name}")).await;
    let condition = &service["status"]["conditions"][0];
    match (condition["status"].as_str(), condition["reason"].as_str()) {
        (Some(status), Some(reason)) => format!("{status} {reason}"),
        _ => code.to_string(),
    }
}

async fn becomes(world: &World, name: &str, expected: &str) {
    let what = format!("{name} to be {expected}");
    until(&what, async || available(world, name).await == expected).await;
}

/// Waits until everything that discovery names is registered, but for the group that keeps the list.
pub(crate) async fn registered(world: &World) {
    let (_, groups) = get(world, "/apis").await;
    let mut wanted = BTreeSet::from(["v1.".to_owned()]);
    for group in groups["groups"].as_array().unwrap() {
        for version in group["versions"].as_array().unwrap() {
            let (version, group) = (version["version"].as_str(), group["name"].as_str());
            wanted.insert(format!("{}.{}", version.unwrap(), group.unwrap()));
        }
    }
    assert!(wanted.remove("v1.apiregistration.k8s.io"));
    until("all to be registered", async || {
        let (_, list) = get(world, SERVICES).await;
        let items = list["items"].as_array().unwrap();
        let names = items.iter().map(|item| item["metadata"]["name"].as_str());
        let names: BTreeSet<String> = names.map(|name| name.unwrap().to_owned()).collect();
        let is_local = |item: &Value| item["status"]["conditions"][0]["reason"] == "Local";
        names == wanted && items.iter().all(is_local)
    })
    .await;
}

/// An APIService that names a server.
fn elsewhere(name: &str) -> Value {
    let (version, group) = name.split_once('.').unwrap();
    json!({
        "metadata": {"name": name},
        "spec": {
            "group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": {"namespace": "kube-system", "name": "other"}, "insecureSkipTLSVerify": true,
        },
    })
}

#[tokio::test]
async fn every_version_that_is_served_is_registered_as_long_as_it_is() {
    let world = World::start().await;
    registered(&world).await;
    for (name, group, version, label) in [
        ("v1.", 18_000, 1, "onstart"),
        ("v1.apps", 17_800, 15, "onstart"),
        ("v1.autoscaling", 17_500, 15, "onstart"),
        ("v2.autoscaling", 17_500, 30, "onstart"),
        ("v1alpha1.policy.karmada.io", 1_000, 100, "true"),
    ] {
        let (_, service) = get(&world, &format!("{SERVICES}/{name}")).await;
        let spec = &service["spec"];
        assert_eq!(
            (&spec["groupPriorityMinimum"], &spec["versionPriority"]),
            (&json!(group), &json!(version)),
            "{name}"
        );
        let labels = &service["metadata"]["labels"];
        let managed = &labels["kube-aggregator.kubernetes.io/automanaged"];
        assert_eq!(managed, label, "{name}");
    }
    let definition = json!({
        "metadata": {"name": "widgets.acme.io"},
        "spec": {
            "group": "acme.io", "scope": "Cluster", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    });
    world.create(DEFINITIONS, definition).await;
    becomes(&world, "v1.acme.io", "True Local").await;
    // What is taken away comes back, and what is changed is put back.
    let line = format!("DELETE {SERVICES}/v1.acme.io");
    assert_eq!(world.ask(&master(), &line, Value::Null).await.code, 200);
    becomes(&world, "v1.acme.io", "True Local").await;
    let line = format!("PATCH {SERVICES}/v1.acme.io");
    let patch = json!({"spec": {"groupPriorityMinimum": 7}});
    assert_eq!(world.ask(&master(), &line, patch).await.code, 200);
    until("the priority to be put back", async || {
        let (_, service) = get(&world, &format!("{SERVICES}/v1.acme.io")).await;
        service["spec"]["groupPriorityMinimum"] == 1_000
    })
    .await;
    let line = format!("DELETE {DEFINITIONS}/widgets.acme.io");
    assert_eq!(world.ask(&master(), &line, Value::Null).await.code, 200);
    becomes(&world, "v1.acme.io", "404").await;
}

#[tokio::test]
async fn an_api_service_that_names_a_server_says_that_nobody_asks_it() {
    let world = World::start().await;
    world.create(SERVICES, elsewhere("v1.away.io")).await;
    becomes(&world, "v1.away.io", "False NotAggregated").await;
    for (line, code) in [
        ("GET /apis/away.io/v1", 503),
        ("GET /apis/away.io/v1/namespaces/default/things/one", 503),
        ("POST /apis/away.io/v1/things", 503),
        ("GET /apis/away.io/v2", 404),
        ("GET /apis/away.io", 404),
        ("GET /apis/apps/v1/namespaces/default/deployments/none", 404),
    ] {
        let answer = world.ask(&master(), line, json!({})).await;
        assert_eq!(answer.code, code, "{line}: {}", answer.body);
        let text = answer.body["message"].as_str().unwrap();
        let is_told = text.contains("APIService v1.away.io names a service");
        assert_eq!(is_told, code == 503, "{line}: {text}");
        if code == 503 {
            assert_eq!(answer.body["reason"], "ServiceUnavailable", "{line}");
        }
    }
    // Whoever may not ask is told that and no more.
    let line = "GET /apis/away.io/v1/things";
    let answer = world.ask(&known("eve"), line, Value::Null).await;
    assert_eq!(answer.code, 403, "{}", answer.body);
    // Clients are not troubled with it.
    let (_, groups) = get(&world, "/apis").await;
    assert!(!groups.to_string().contains("away.io"));
    let line = format!("DELETE {SERVICES}/v1.away.io");
    assert_eq!(world.ask(&master(), &line, Value::Null).await.code, 200);
    assert_eq!(get(&world, "/apis/away.io/v1").await.0, 404);
}

#[tokio::test]
async fn a_server_named_for_what_is_served_here_is_not_used() {
    let world = World::start().await;
    let name = "v1alpha1.cluster.karmada.io";
    becomes(&world, name, "True Local").await;
    let line = format!("PATCH {SERVICES}/{name}");
    let patch = json!({"spec": {"service": {"namespace": "karmada-system", "name": "aggregated"}}});
    assert_eq!(world.ask(&master(), &line, patch).await.code, 200);
    until("the condition to say so", async || {
        let (_, service) = get(&world, &format!("{SERVICES}/{name}")).await;
        let said = &service["status"]["conditions"][0];
        let text = said["message"].as_str().unwrap_or_default();
        said["status"] == "True" && text.contains("does not ask the service")
    })
    .await;
    assert_eq!(
        get(&world, "/apis/cluster.karmada.io/v1alpha1/clusters")
            .await
            .0,
        200
    );
    let missing = "/apis/cluster.karmada.io/v1alpha1/clusters/none";
    assert_eq!(get(&world, missing).await.0, 404);
}

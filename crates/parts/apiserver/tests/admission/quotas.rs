//! Quotas in a whole server: what is counted, refused, given back and told.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{World, master};

const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

async fn quota(world: &World, name: &str, hard: Value) {
    let object = json!({"metadata": {"name": name}, "spec": {"hard": hard}});
    world.create(QUOTAS, object).await;
}

async fn check(world: &World, path: &str, object: Value, expected: &str) {
    let answer = world
        .ask(&master(), &format!("POST {path}"), object.clone())
        .await;
    let shown = match answer.body["message"].as_str() {
        Some(message) => format!("{} {message}", answer.code),
        None => answer.code.to_string(),
    };
    assert_eq!(shown, expected, "{path} {object}");
}

/// Waits until a quota says that so much is used.
async fn until_used(world: &World, name: &str, used: Value) {
    let line = format!("GET {QUOTAS}/{name}");
    let mut last = Value::Null;
    let mut writes = world.handle.server().cache().progress();
    let told = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            let quota = world.ask(&master(), &line, json!(null)).await.body;
            last = quota["status"]["used"].clone();
            if last == used {
                return;
            }
            writes.changed().await.unwrap();
        }
    });
    let is_told = told.await.is_ok();
    assert!(is_told, "{name}: {last}, not {used}");
}

/// Waits until the namespace has what the server puts into each, which quotas count too.
async fn until_furnished(world: &World) {
    let line = "GET /api/v1/namespaces/default/configmaps/kube-root-ca.crt";
    let mut writes = world.handle.server().cache().progress();
    let furnished = tokio::time::timeout(Duration::from_secs(20), async {
        while world.ask(&master(), line, json!(null)).await.code != 200 {
            writes.changed().await.unwrap();
        }
    });
    assert!(furnished.await.is_ok(), "no kube-root-ca.crt");
}

#[tokio::test]
async fn what_a_quota_counts_is_refused_beyond_it_told_and_given_back() {
    let world = World::start().await;
    until_furnished(&world).await;
    quota(
        &world,
        "q",
        json!({"configmaps": "2", "secrets": "1", "count/deployments.apps": "0", "services.loadbalancers": "1"}),
    )
    .await;
    let named = |name: &str| json!({"metadata": {"name": name}});
    let maps = "/api/v1/namespaces/default/configmaps";
    check(&world, maps, named("a"), "201").await;
    check(
        &world,
        maps,
        named("b"),
        "403 configmaps \"b\" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2",
    )
    .await;
    let secrets = "/api/v1/namespaces/default/secrets";
    check(&world, &format!("{secrets}?dryRun=All"), named("x"), "201").await;
    check(&world, secrets, named("a"), "201").await;
    check(
        &world,
        secrets,
        named("b"),
        "403 secrets \"b\" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1",
    )
    .await;
    let labels = json!({"app": "web"});
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
    });
    check(
        &world,
        "/apis/apps/v1/namespaces/default/deployments",
        deployment,
        "403 deployments.apps \"web\" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=0, limited: count/deployments.apps=0",
    )
    .await;
    // A service that becomes a load balancer is held against the quota too.
    let services = "/api/v1/namespaces/default/services";
    let service = |name: &str, sort: &str| json!({"metadata": {"name": name}, "spec": {"type": sort, "ports": [{"port": 80}]}});
    check(&world, services, service("s", "LoadBalancer"), "201").await;
    check(&world, services, service("t", "ClusterIP"), "201").await;
    let line = format!("PATCH {services}/t");
    let change = json!({"spec": {"type": "LoadBalancer"}});
    let refused = world.ask(&master(), &line, change.clone()).await;
    assert_eq!(refused.code, 403, "{}", refused.body);
    until_used(
        &world,
        "q",
        json!({"configmaps": "2", "count/deployments.apps": "0", "secrets": "1", "services.loadbalancers": "1"}),
    )
    .await;
    for line in [format!("DELETE {maps}/a"), format!("DELETE {services}/s")] {
        assert_eq!(world.ask(&master(), &line, json!(null)).await.code, 200);
    }
    check(&world, maps, named("b"), "201").await;
    assert_eq!(world.ask(&master(), &line, change).await.code, 200);
    until_used(
        &world,
        "q",
        json!({"configmaps": "2", "count/deployments.apps": "0", "secrets": "1", "services.loadbalancers": "1"}),
    )
    .await;
}

#[tokio::test]
async fn pods_must_say_what_a_quota_counts_and_get_it_from_limit_ranges() {
    let world = World::start().await;
    quota(
        &world,
        "c",
        json!({"requests.cpu": "500m", "limits.memory": "1Gi"}),
    )
    .await;
    let pods = "/api/v1/namespaces/default/pods";
    let pod = |name: &str| json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    check(
        &world,
        pods,
        pod("p"),
        "403 pods \"p\" is forbidden: failed quota: c: must specify limits.memory for: c; requests.cpu for: c",
    )
    .await;
    let item = json!({"type": "Container", "defaultRequest": {"cpu": "300m"}, "default": {"memory": "256Mi"}});
    let range = json!({"metadata": {"name": "l"}, "spec": {"limits": [item]}});
    world
        .create("/api/v1/namespaces/default/limitranges", range)
        .await;
    check(&world, pods, pod("p"), "201").await;
    check(
        &world,
        pods,
        pod("q"),
        "403 pods \"q\" is forbidden: exceeded quota: c, requested: requests.cpu=300m, used: requests.cpu=300m, limited: requests.cpu=500m",
    )
    .await;
    until_used(
        &world,
        "c",
        json!({"limits.memory": "256Mi", "requests.cpu": "300m"}),
    )
    .await;
    // Other namespaces have quotas of their own.
    world.namespace("shop").await;
    check(&world, "/api/v1/namespaces/shop/pods", pod("p"), "201").await;
}

#[tokio::test]
async fn many_at_once_never_exceed_a_quota_together() {
    let world = World::start().await;
    until_furnished(&world).await;
    quota(&world, "q", json!({"count/configmaps": "6"})).await;
    let line = "POST /api/v1/namespaces/default/configmaps";
    let root = master();
    let creations = (0..40).map(|number| {
        let object = json!({"metadata": {"name": format!("m{number}")}});
        world.ask(&root, line, object)
    });
    let created = futures_util::future::join_all(creations).await;
    let codes: Vec<u16> = created.iter().map(|answer| answer.code).collect();
    assert_eq!(
        codes.iter().filter(|code| **code == 201).count(),
        5,
        "{codes:?}"
    );
    assert!(
        codes.iter().all(|code| matches!(code, 201 | 403)),
        "{codes:?}"
    );
    until_used(&world, "q", json!({"count/configmaps": "6"})).await;
}

//! Pods and services of the control plane are templates: what runs of them runs in members. Calls that are for running
//! ones are answered as by a Kubernetes server to which nobody has brought a node.

use serde_json::{Value, json};

use crate::world::{World, known, master, subject};

const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

async fn pod(world: &World, name: &str, containers: &[&str]) {
    let containers: Vec<Value> = containers
        .iter()
        .map(|name| json!({"name": name, "image": "nginx"}))
        .collect();
    let pod = json!({
        "metadata": {"name": name, "labels": {"app": name}}, "spec": {"containers": containers},
    });
    world.create(PODS, pod).await;
}

/// Lets a pod look as if it ran, the way a template does whose status comes from members.
async fn run(world: &World, name: &str, is_ready: bool) {
    let ready = if is_ready { "True" } else { "False" };
    let status = json!({"status": {
        "phase": "Running", "conditions": [{"type": "Ready", "status": ready}],
    }});
    let line = format!("PATCH {PODS}/{name}/status");
    assert_eq!(world.ask(&master(), &line, status).await.code, 200);
}

fn eviction(name: &str) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}})
}

async fn said(world: &World, line: &str, body: Value) -> (u16, String) {
    let answer = world.ask(&master(), line, body).await;
    let text = answer.body["message"].as_str().unwrap_or_default();
    (answer.code, text.to_owned())
}

#[tokio::test]
async fn calls_for_running_pods_say_that_nothing_runs_here() {
    let world = World::start().await;
    pod(&world, "one", &["web"]).await;
    pod(&world, "two", &["web", "side"]).await;
    let service = json!({"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}});
    world
        .create("/api/v1/namespaces/default/services", service)
        .await;
    let services = "/api/v1/namespaces/default/services";
    for (line, code, message) in [
        (format!("GET {PODS}/one/log"), 204, ""),
        (
            format!("GET {PODS}/two/log"),
            400,
            "a container name must be specified for pod two, choose one of: [web side]",
        ),
        (
            format!("GET {PODS}/two/log?container=other"),
            400,
            "container other is not valid for pod two",
        ),
        (format!("GET {PODS}/two/log?container=side"), 204, ""),
        (
            format!("POST {PODS}/one/exec?command=ls"),
            400,
            "pod one does not have a host assigned",
        ),
        (
            format!("POST {PODS}/one/attach"),
            400,
            "pod one does not have a host assigned",
        ),
        (
            format!("POST {PODS}/two/portforward"),
            400,
            "pod two does not have a host assigned",
        ),
        (format!("GET {PODS}/one/proxy/"), 400, "address not allowed"),
        (
            format!("GET {PODS}/none/log"),
            404,
            "pods \"none\" not found",
        ),
        (
            format!("GET {services}/web/proxy/"),
            503,
            "no endpoints available for service \"web\"",
        ),
        (
            format!("GET {services}/https:web:443/proxy/a/b"),
            503,
            "no endpoints available for service \"web\"",
        ),
        (
            format!("GET {services}/none/proxy/"),
            404,
            "services \"none\" not found",
        ),
        (
            "GET /api/v1/nodes/n/proxy/".to_owned(),
            404,
            "nodes \"n\" not found",
        ),
    ] {
        let found = said(&world, &line, Value::Null).await;
        assert_eq!(found, (code, message.to_owned()), "{line}");
    }
}

#[tokio::test]
async fn evictions_delete_within_what_budgets_allow() {
    let world = World::start().await;
    for (name, is_running) in [("idle", false), ("web", true), ("sick", true)] {
        pod(&world, name, &["c"]).await;
        let budget = json!({
            "metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}},
        });
        world.create(BUDGETS, budget).await;
        if is_running {
            run(&world, name, name == "web").await;
        }
    }
    let evict = |name: &str| format!("POST {PODS}/{name}/eviction");
    let violated = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut wrong = eviction("web");
    wrong["kind"] = json!("Pod");
    for (line, body, code, message) in [
        (
            evict("none"),
            eviction("none"),
            404,
            "pods \"none\" not found",
        ),
        (
            evict("web"),
            eviction("other"),
            400,
            "name in URL does not match name in Eviction object",
        ),
        (
            evict("web"),
            wrong,
            400,
            "the kind of the object (Pod) does not match the one expected here (Eviction)",
        ),
        // Nobody has counted yet.
        (evict("web"), eviction("web"), 429, violated),
        // What does not run disrupts nobody.
        (
            format!("{}?dryRun=All", evict("idle")),
            eviction("idle"),
            201,
            "",
        ),
        (evict("idle"), eviction("idle"), 201, ""),
        (
            evict("idle"),
            eviction("idle"),
            404,
            "pods \"idle\" not found",
        ),
    ] {
        let found = said(&world, &line, body).await;
        assert_eq!(found, (code, message.to_owned()), "{line}");
    }
    let count = async |name: &str, allowed: i64, healthy: i64| {
        let status = json!({"status": {
            "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": 1,
            "expectedPods": 2,
        }});
        let line = format!("PATCH {BUDGETS}/{name}/status");
        let answer = world.ask(&master(), &line, status).await;
        assert_eq!(answer.code, 200, "{}", answer.body);
    };
    count("web", 0, 1).await;
    let refused = world.ask(&master(), &evict("web"), eviction("web")).await;
    assert_eq!(
        (refused.code, &refused.body["message"]),
        (429, &json!(violated))
    );
    assert_eq!(
        refused.body["details"]["causes"],
        json!([{
            "reason": "DisruptionBudget",
            "message": "The disruption budget web needs 1 healthy pods and has 1 currently",
        }])
    );
    count("web", 1, 2).await;
    let rehearsed = said(
        &world,
        &format!("{}?dryRun=All", evict("web")),
        eviction("web"),
    )
    .await;
    assert_eq!(rehearsed.0, 201);
    let line = format!("GET {BUDGETS}/web");
    let left = world.ask(&master(), &line, Value::Null).await;
    assert_eq!(left.body["status"]["disruptionsAllowed"], 1);
    assert_eq!(said(&world, &evict("web"), eviction("web")).await.0, 201);
    let left = world.ask(&master(), &line, Value::Null).await;
    assert_eq!(left.body["status"]["disruptionsAllowed"], 0);
    // One that is not ready takes nothing from a budget that is met without it.
    count("sick", 0, 1).await;
    assert_eq!(said(&world, &evict("sick"), eviction("sick")).await.0, 201);
    let gone = world
        .ask(&master(), &format!("GET {PODS}"), Value::Null)
        .await;
    assert_eq!(gone.body["items"], json!([]));
}

#[tokio::test]
async fn whoever_may_evict_need_not_be_let_delete() {
    let world = World::start().await;
    pod(&world, "web", &["c"]).await;
    world
        .role("default", "drainer", &["create core pods/eviction"])
        .await;
    world
        .bind("default", ("Role", "drainer"), subject("dora"))
        .await;
    let line = format!("DELETE {PODS}/web");
    let refused = world.ask(&known("dora"), &line, Value::Null).await;
    assert_eq!(refused.code, 403);
    let line = format!("POST {PODS}/web/eviction");
    let stranger = world.ask(&known("lou"), &line, eviction("web")).await;
    assert_eq!(stranger.code, 403);
    let evicted = world.ask(&known("dora"), &line, eviction("web")).await;
    assert_eq!(evicted.code, 201, "{}", evicted.body);
    assert_eq!(evicted.body["status"], "Success");
}

#[tokio::test]
async fn a_pod_is_placed_by_either_form_of_a_binding_and_only_once() {
    let world = World::start().await;
    for name in ["one", "two"] {
        pod(&world, name, &["c"]).await;
    }
    let binding = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
        })
    };
    let whole = "POST /api/v1/namespaces/default/bindings".to_owned();
    for (line, body, code, message) in [
        (format!("POST {PODS}/one/binding"), binding("one"), 201, ""),
        (whole.clone(), binding("two"), 201, ""),
        (
            whole.clone(),
            binding("two"),
            409,
            "Operation cannot be fulfilled on pods/binding \"two\": pod two is already assigned to node \"n1\"",
        ),
        (
            whole.clone(),
            binding("none"),
            404,
            "pods \"none\" not found",
        ),
        (
            whole,
            binding(""),
            400,
            "metadata.name: Required value: the pod to bind",
        ),
    ] {
        let found = said(&world, &line, body).await;
        assert_eq!(found, (code, message.to_owned()), "{line}");
    }
    for name in ["one", "two"] {
        let line = format!("GET {PODS}/{name}");
        let placed = world.ask(&master(), &line, Value::Null).await;
        assert_eq!(placed.body["spec"]["nodeName"], "n1");
    }
}

#[tokio::test]
async fn a_pod_that_names_a_node_goes_at_once_whatever_time_it_is_given() {
    let world = World::start().await;
    let names = ["one", "two", "three"];
    for name in names {
        let container = json!({"name": "c", "image": "nginx"});
        let pod = json!({
            "metadata": {"name": name},
            "spec": {"nodeName": "n1", "terminationGracePeriodSeconds": 40, "containers": [container]},
        });
        world.create(PODS, pod).await;
        run(&world, name, true).await;
    }
    let evicts = format!("POST {PODS}/three/eviction");
    for (line, body, code) in [
        (format!("DELETE {PODS}/one"), Value::Null, 200),
        (
            format!("DELETE {PODS}/two?gracePeriodSeconds=60"),
            Value::Null,
            200,
        ),
        (evicts, eviction("three"), 201),
    ] {
        let gone = world.ask(&master(), &line, body).await;
        assert_eq!(gone.code, code, "{line}: {}", gone.body);
    }
    for name in names {
        let line = format!("GET {PODS}/{name}");
        let found = world.ask(&master(), &line, Value::Null).await;
        assert_eq!(found.code, 404, "{}", found.body);
    }
}

#[tokio::test]
async fn a_pod_keeps_the_classes_it_names_though_nobody_here_knows_them() {
    let world = World::start().await;
    let container = json!({"name": "c", "image": "nginx"});
    let pod = json!({
        "metadata": {"name": "web"},
        "spec": {"runtimeClassName": "gvisor", "priorityClassName": "high", "containers": [container]},
    });
    world.create(PODS, pod).await;
    let line = format!("GET {PODS}/web");
    let found = world.ask(&master(), &line, Value::Null).await;
    let spec = &found.body["spec"];
    let classes = json!([
        spec["runtimeClassName"],
        spec["priorityClassName"],
        spec["priority"]
    ]);
    assert_eq!(classes, json!(["gvisor", "high", null]));
}

#[tokio::test]
async fn a_binding_to_a_cluster_that_cannot_exist_is_refused_by_kind_name_and_field() {
    let world = World::start().await;
    let bindings = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings";
    let binding = json!({
        "metadata": {"name": "b"},
        "spec": {
            "resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "m"},
            "clusters": [{"name": "m1"}, {"name": "M_2"}],
        },
    });
    let line = format!("POST {bindings}");
    let answer = world.ask(&master(), &line, binding).await;
    assert_eq!(
        (answer.code, &answer.body["reason"]),
        (422, &json!("Invalid"))
    );
    let details = &answer.body["details"];
    assert_eq!(
        [&details["kind"], &details["group"], &details["name"]],
        ["ResourceBinding", "work.karmada.io", "b"]
    );
    assert_eq!(details["causes"][0]["field"], "spec.clusters[1].name");
    let line = format!("GET {bindings}/b");
    assert_eq!(world.ask(&master(), &line, Value::Null).await.code, 404);
}

#[tokio::test]
async fn whoever_deletes_jobs_and_does_not_say_what_becomes_of_their_pods_is_told() {
    const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
    let world = World::start().await;
    for name in ["a", "b", "c", "d", "e"] {
        let container = json!({"name": "c", "image": "busybox"});
        let pod = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
        let job = json!({"metadata": {"name": name}, "spec": {"template": pod}});
        world.create(JOBS, job).await;
    }
    pod(&world, "one", &["web"]).await;
    for (line, body, expected) in [
        (format!("DELETE {JOBS}/a"), json!(null), 1),
        (
            format!("DELETE {JOBS}/b?propagationPolicy=Orphan"),
            json!(null),
            0,
        ),
        (
            format!("DELETE {JOBS}/c"),
            json!({"propagationPolicy": "Background"}),
            0,
        ),
        (format!("DELETE {JOBS}"), json!(null), 1),
        (format!("DELETE {PODS}/one"), json!(null), 0),
    ] {
        let answer = world.ask(&master(), &line, body).await;
        assert_eq!(answer.code, 200, "{line}: {}", answer.body);
        assert_eq!(answer.warnings.len(), expected, "{:?}", answer.warnings);
        for warning in answer.warnings {
            assert!(
                warning.contains("child pods are preserved by default when jobs are deleted"),
                "{warning}"
            );
        }
    }
}

//! Bindings that wait for a place or are held back, under a scheduler that runs alone over clusters that are only objects.

use std::time::Duration;

use controllers::Enabled;
use object::Value;
use world::{World, json};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

async fn world(gates: &str) -> World {
    World::build()
        .settings(|settings| {
            let gates = gates.parse().unwrap_or_default();
            settings.scheduler = scheduler::Settings::with_gates(&gates);
            settings.controllers.gates = gates;
            settings.controllers.enabled = Enabled::parse("scheduler").unwrap_or_default();
        })
        .start()
        .await
}

/// Adds a cluster that serves Deployments and has so many processors.
async fn add_cluster(world: &World, name: &str, cpu: u32) {
    world
        .apply(&format!(
            "{{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {{name: {name}}}, spec: {{syncMode: Pull}}}}"
        ))
        .await;
    set_room(world, name, cpu).await;
}

async fn set_room(world: &World, name: &str, cpu: u32) {
    let deployments = json!({"groupVersion": "apps/v1", "resources": [{"kind": "Deployment", "name": "deployments"}]});
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "ClusterReady", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let allocatable = json!({"cpu": cpu.to_string(), "memory": "1Ti", "pods": "1000"});
    let status = json!({
        "apiEnablements": [deployments], "conditions": [ready], "resourceSummary": {"allocatable": allocatable},
    });
    let patch = json!({"status": status});
    world.patch_status("clusters", name, patch).await;
}

/// A binding for so many replicas of one processor each, placed by room; `spec` adds to what it says.
async fn bind(world: &World, name: &str, replicas: u32, spec: &Value) {
    let by_room = json!({
        "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    });
    let mut binding = json!({
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": name, "labels": {"binding.karmada.io/managed-by": "somebody"}},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name},
            "replicas": replicas,
            "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
            "placement": {"replicaScheduling": by_room},
        },
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        let there = &mut binding["spec"][field.as_str()];
        match (there.as_object_mut(), value.as_object()) {
            (Some(there), Some(more)) => there.extend(more.clone()),
            _ => *there = value.clone(),
        }
    }
    world.apply(&binding.to_string()).await;
}

/// `m1=6 Success`
async fn placed(world: &World, name: &str) -> String {
    let binding = world
        .get("resourcebindings", &format!("default/{name}"))
        .await;
    let binding = binding.map(object::Object::into_value).unwrap_or_default();
    let targets = binding["spec"]["clusters"].as_array().into_iter().flatten();
    let mut words: Vec<String> = targets
        .map(|target| {
            let name = target["name"].as_str().unwrap_or_default();
            format!("{name}={}", target["replicas"])
        })
        .collect();
    let conditions = binding["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let scheduled = conditions.find(|condition| condition["type"] == "Scheduled");
    words.extend(scheduled.and_then(|found| found["reason"].as_str().map(str::to_owned)));
    words.join(" ")
}

async fn until_placed(world: &World, name: &str, within: Duration, expected: &str) {
    world
        .until_is(name, within, json!(expected), async || {
            json!(placed(world, name).await)
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_comes_brings_nothing_that_is_held_back_or_of_others() {
    let world = world("").await;
    add_cluster(&world, "m1", 10).await;
    bind(
        &world,
        "held",
        2,
        &json!({"suspension": {"scheduling": true}}),
    )
    .await;
    bind(&world, "foreign", 2, &json!({"schedulerName": "another"})).await;
    bind(&world, "ours", 20, &json!({})).await;
    until_placed(&world, "ours", MINUTE, "Unschedulable").await;
    add_cluster(&world, "m2", 10).await;
    until_placed(&world, "ours", MINUTE, "m1=10 m2=10 Success").await;
    for name in ["held", "foreign"] {
        assert_eq!(placed(&world, name).await, "", "{name}");
    }
    world
        .patch(
            "resourcebindings",
            "default/held",
            json!({"spec": {"suspension": null}}),
        )
        .await;
    until_placed(&world, "held", MINUTE, "m1=1 m2=1 Success").await;
}

#[tokio::test(start_paused = true)]
async fn room_that_was_promised_to_a_binding_that_goes_is_given_to_who_waits() {
    let world = world("SchedulingOvercommitProtection=true").await;
    add_cluster(&world, "m1", 10).await;
    bind(&world, "first", 6, &json!({})).await;
    until_placed(&world, "first", MINUTE, "m1=6 Success").await;
    bind(&world, "second", 6, &json!({})).await;
    until_placed(&world, "second", MINUTE, "Unschedulable").await;
    // By now it is tried every minute or two by itself.
    world.advance(70 * SECOND).await;
    world.delete("resourcebindings", "default/first").await;
    until_placed(&world, "second", 10 * SECOND, "m1=6 Success").await;
}

#[tokio::test(start_paused = true)]
async fn a_binding_kept_apart_comes_again_when_its_peer_leaves_the_only_room() {
    let world = world("WorkloadAffinity=true").await;
    add_cluster(&world, "m1", 10).await;
    add_cluster(&world, "m2", 1).await;
    let apart = json!({
        "placement": {"workloadAffinity": {"antiAffinity": {"groupByLabelKey": "app"}}},
        "workloadAffinityGroups": {"antiAffinityGroup": "app=x"},
    });
    bind(&world, "first", 10, &apart).await;
    until_placed(&world, "first", MINUTE, "m1=9 m2=1 Success").await;
    world
        .patch(
            "resourcebindings",
            "default/first",
            json!({"spec": {"replicas": 5, "clusters": [{"name": "m1", "replicas": 5}]}}),
        )
        .await;
    bind(&world, "second", 5, &apart).await;
    until_placed(&world, "second", MINUTE, "Unschedulable").await;
    world.advance(70 * SECOND).await;
    world.delete("resourcebindings", "default/first").await;
    world
        .until("it has a place", 10 * SECOND, async || {
            placed(&world, "second").await.ends_with(" Success")
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn room_in_as_many_clusters_as_are_allowed_is_waited_for_like_any() {
    let world = world("").await;
    for (name, cpu) in [("m1", 10), ("m2", 1)] {
        add_cluster(&world, name, cpu).await;
    }
    let spread = json!([{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]);
    let spec = json!({"placement": {"spreadConstraints": spread}});
    bind(&world, "wide", 15, &spec).await;
    until_placed(&world, "wide", MINUTE, "SchedulerError").await;
    world.advance(70 * SECOND).await;
    set_room(&world, "m1", 50).await;
    world
        .until("it has a place", 10 * SECOND, async || {
            placed(&world, "wide").await.ends_with(" Success")
        })
        .await;
}

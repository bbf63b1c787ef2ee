//! Clusters whose agents report: what the control plane thinks when they are silent.

use object::time::MicroTime;
use world::{World, json};

use crate::{SOON, config_map, everywhere, seconds};

const CLUSTER: &str = "
    apiVersion: cluster.karmada.io/v1alpha1
    kind: Cluster
    metadata: {name: far}
    spec: {syncMode: Pull}
";

async fn ready(world: &World) -> object::Value {
    json!(world.condition("clusters", "far", "Ready").await)
}

async fn report(world: &World) {
    let now = world.now().to_string();
    let condition = json!({"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "", "lastTransitionTime": now});
    world
        .patch_status(
            "clusters",
            "far",
            json!({"status": {"conditions": [condition]}}),
        )
        .await;
}

async fn renew(world: &World) {
    renew_by_clock(world, 0).await;
}

/// The same by a clock that is so many seconds ahead.
async fn renew_by_clock(world: &World, ahead: i64) {
    let now = MicroTime::from(world.now().plus_seconds(ahead)).to_string();
    world
        .apply(&format!(
            "
            apiVersion: coordination.k8s.io/v1
            kind: Lease
            metadata: {{name: far, namespace: karmada-cluster}}
            spec: {{holderIdentity: far, leaseDurationSeconds: 40, renewTime: '{now}'}}
            "
        ))
        .await;
}

#[tokio::test(start_paused = true)]
async fn c11_an_agent_that_never_reports_is_unknown_after_a_minute() {
    let world = World::with_members(0).await;
    world.apply(CLUSTER).await;
    world
        .stays("it is given time", seconds(58), async || {
            ready(&world).await == json!("")
        })
        .await;
    world
        .until_is(
            "it never was heard of",
            seconds(10),
            json!("Unknown ClusterStatusNeverUpdated"),
            async || ready(&world).await,
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn c10_and_c12_signs_of_life_keep_a_cluster_and_silence_loses_it() {
    let world = World::with_members(0).await;
    world.apply(CLUSTER).await;
    report(&world).await;
    for _ in 0..12 {
        renew(&world).await;
        world.advance(seconds(10)).await;
        assert_eq!(
            ready(&world).await,
            json!("True ClusterReady"),
            "renewed, whatever the status"
        );
    }
    world
        .stays("silence is borne", seconds(28), async || {
            ready(&world).await == json!("True ClusterReady")
        })
        .await;
    world
        .until_is(
            "and then it is not",
            seconds(22),
            json!("Unknown ClusterStatusUnknown"),
            async || ready(&world).await,
        )
        .await;
    world
        .until(
            "it is called unreachable, not unready",
            seconds(5),
            async || {
                let taints = world
                    .field("clusters", "far", "spec.taints")
                    .await
                    .to_string();
                taints.contains("cluster.karmada.io/unreachable") && !taints.contains("not-ready")
            },
        )
        .await;
}

/// Until an agent gives signs of life it is known by what it says of its cluster, and that is borne as long as a sign is.
#[tokio::test(start_paused = true)]
async fn p05_until_the_first_sign_of_life_reports_count() {
    let world = World::with_members(0).await;
    world.apply(CLUSTER).await;
    for round in 0..4 {
        report(&world).await;
        world.advance(seconds(30)).await;
        assert_eq!(ready(&world).await, json!("True ClusterReady"), "{round}");
    }
    let unknown = json!("Unknown ClusterStatusUnknown");
    let found = async || ready(&world).await;
    let took = world
        .until_is("nothing more comes", seconds(22), unknown, found)
        .await;
    assert!(took >= seconds(8), "{took:?}");
}

/// Where a cluster keeps its credentials is its own affair; signs of life are given in one place.
#[tokio::test(start_paused = true)]
async fn p06_and_p07_signs_of_life_count_when_they_come_whatever_time_they_bear() {
    let elsewhere = CLUSTER.replace(
        "syncMode: Pull",
        "syncMode: Pull, secretRef: {namespace: elsewhere, name: far}",
    );
    for ahead in [-3_600, 3_600] {
        let world = World::with_members(0).await;
        world.apply(&elsewhere).await;
        report(&world).await;
        for _ in 0..12 {
            renew_by_clock(&world, ahead).await;
            world.advance(seconds(10)).await;
            assert_eq!(ready(&world).await, json!("True ClusterReady"), "{ahead}");
        }
        let unknown = json!("Unknown ClusterStatusUnknown");
        let found = async || ready(&world).await;
        world
            .until_is("silence is noticed", seconds(42), unknown, found)
            .await;
    }
}

/// What an agent brought to its cluster it takes back, as long as there is one; after that nobody waits for it.
#[tokio::test(start_paused = true)]
async fn p09_works_of_a_cluster_that_goes_wait_for_its_agent_and_not_for_ever() {
    let world = World::with_members(0).await;
    world.apply(CLUSTER).await;
    report(&world).await;
    let served =
        json!([{"groupVersion": "v1", "resources": [{"name": "configmaps", "kind": "ConfigMap"}]}]);
    let status = json!({"status": {"apiEnablements": served}});
    world.patch_status("clusters", "far", status).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    let work = async || {
        let works = world.list("works", "karmada-es-far").await;
        works.into_iter().find(|work| work.name().starts_with("a-"))
    };
    world
        .until("it has a work", SOON, async || work().await.is_some())
        .await;
    let name = work().await.map(|work| work.key().to_string());
    let applied = json!({"type": "Applied", "status": "True", "reason": "AppliedSuccessful", "message": "",
                         "lastTransitionTime": world.now().to_string()});
    let status = json!({"status": {"conditions": [applied]}});
    let name = name.unwrap_or_default();
    world.patch_status("works", &name, status).await;
    renew(&world).await;
    world.delete("clusters", "far").await;
    for _ in 0..12 {
        renew(&world).await;
        world.advance(seconds(10)).await;
        let held = work().await;
        let is_held = held.is_some_and(|work| work.finalizers().next().is_some());
        assert!(is_held, "the agent is there and may be about to do it");
    }
    world
        .until("nobody is waited for any more", seconds(80), async || {
            world.get("clusters", "far").await.is_none()
        })
        .await;
    let events = world.list("events", "").await;
    let told = events
        .iter()
        .find(|event| event.text_at(&["reason"]) == Some("LeaveResourcesBehind"));
    let told = told.and_then(|event| event.text_at(&["message"]));
    assert!(
        told.is_some_and(|told| told.contains(" 1 object")),
        "{told:?}"
    );
}

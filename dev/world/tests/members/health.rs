//! Health: what a member answers, how long that must last, and what follows from it.

use object::Value;
use world::{World, config, json};

use crate::{SOON, seconds};

const NOT_READY: &str = "cluster.karmada.io/not-ready";

async fn ready(world: &World) -> Value {
    json!(world.condition("clusters", "m1", "Ready").await)
}

async fn taints(world: &World) -> Vec<String> {
    let taints = world.field("clusters", "m1", "spec.taints").await;
    let taints = taints.as_array().cloned().unwrap_or_default();
    let text = |taint: &Value, field: &str| taint[field].as_str().unwrap_or_default().to_owned();
    taints
        .iter()
        .map(|taint| format!("{}:{}", text(taint, "key"), text(taint, "effect")))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn c06_a_new_cluster_is_closed_until_it_is_seen_to_be_well() {
    let world = World::build().member(config("m1")).unready().start().await;
    let m1 = world.member("m1");
    m1.faults().cut_off(true);
    world
        .until("it is prepared and closed", SOON, async || {
            let space = world.get("namespaces", "karmada-es-m1").await.is_some();
            let cluster = world.get("clusters", "m1").await;
            let is_held = cluster.is_some_and(|cluster| {
                cluster
                    .finalizers()
                    .any(|name| name == "karmada.io/cluster-controller")
            });
            space && is_held && taints(&world).await == [format!("{NOT_READY}:NoSchedule")]
        })
        .await;
    m1.faults().heal();
    world.until_ready("m1").await;
    world
        .until("it is open", SOON, async || taints(&world).await.is_empty())
        .await;
}

#[tokio::test(start_paused = true)]
async fn c07_a_short_trouble_is_not_believed_and_a_long_one_is() {
    let world = World::with_members(1).await;
    let faults = world.member("m1").faults().clone();
    let fail = |percent| faults.change(|state| state.fail_percent = percent);
    let is_ready = async || ready(&world).await == json!("True ClusterReady");
    fail(100);
    world.stays("it is ready", seconds(20), is_ready).await;
    fail(0);
    world
        .stays("it is still ready", seconds(60), is_ready)
        .await;

    fail(100);
    world
        .stays("it is ready for a while", seconds(29), is_ready)
        .await;
    let gone = json!("False ClusterNotReachable");
    world
        .until_is("it is not", seconds(22), gone.clone(), async || {
            ready(&world).await
        })
        .await;
    world
        .until("it is closed", seconds(1), async || {
            taints(&world).await == [format!("{NOT_READY}:NoSchedule")]
        })
        .await;
    let version = world
        .field("clusters", "m1", "status.kubernetesVersion")
        .await;
    assert!(version.is_string(), "what was known stays known");

    fail(0);
    let is_gone = async || ready(&world).await == gone;
    world
        .stays("good news wait too", seconds(29), is_gone)
        .await;
    world
        .until_is(
            "it is ready again",
            seconds(30),
            json!("True ClusterReady"),
            async || ready(&world).await,
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn c09_a_control_plane_that_starts_believes_its_first_look() {
    let world = World::with_members(1).await;
    world.stop().await;
    world
        .member("m1")
        .refuse_connections(Some("connection refused"));
    world.begin().await;
    world
        .until_is(
            "it is not ready at once",
            seconds(10),
            json!("False ClusterNotReachable"),
            async || ready(&world).await,
        )
        .await;
}

//! Health: what a member answers, how long that must last, and what follows from it.

use http::StatusCode;
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

/// One that does not answer at all is found out as soon as one that answers with errors, and within what the defaults
/// promise: thirty seconds, and two looks.
#[tokio::test(start_paused = true)]
async fn a_member_that_is_cut_off_is_found_out_within_fifty_seconds() {
    let world = World::with_members(1).await;
    let faults = world.member("m1").faults().clone();
    for offset in [0, 3, 7] {
        world.advance(seconds(60 + offset)).await;
        faults.cut_off(true);
        let gone = json!("False ClusterNotReachable");
        let took = world
            .until_is("it is gone", seconds(51), gone, async || {
                ready(&world).await
            })
            .await;
        assert!(took >= seconds(29), "{took:?}");
        faults.heal();
        world.until_ready("m1").await;
    }
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
async fn c08_and_p02_older_members_are_asked_by_the_older_path_and_answers_mean_what_they_say() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    m1.answer_with("/readyz", Some(StatusCode::NOT_FOUND));
    world
        .stays("it is ready by /healthz", seconds(90), async || {
            ready(&world).await == json!("True ClusterReady")
        })
        .await;
    for (code, expected) in [
        (StatusCode::ACCEPTED, "False ClusterNotReady"),
        (
            StatusCode::INTERNAL_SERVER_ERROR,
            "False ClusterNotReachable",
        ),
        (StatusCode::OK, "True ClusterReady"),
    ] {
        m1.answer_with("/readyz", Some(code));
        world
            .until_is(
                "the answer is believed",
                seconds(60),
                expected,
                async || ready(&world).await,
            )
            .await;
    }
}

/// A member that is away loses nothing: nobody but a user, or a policy that a user made, asks for an eviction.
#[tokio::test(start_paused = true)]
async fn p01_a_member_that_is_not_ready_keeps_what_it_has() {
    let world = World::with_members(2).await;
    world.apply(&crate::everywhere("v1", "ConfigMap")).await;
    world.apply(&crate::config_map("a", "'1'")).await;
    let targets = async || {
        let path = "spec.clusters";
        let listed = world
            .field("resourcebindings", "default/a-configmap", path)
            .await;
        json!(listed.as_array().map_or(0, Vec::len))
    };
    world.until_is("it is bound", SOON, 2, targets).await;
    world.member("m1").faults().cut_off(true);
    world
        .until("it is seen to be away", seconds(90), async || {
            ready(&world).await == json!("False ClusterNotReachable")
        })
        .await;
    world.advance(seconds(900)).await;
    assert_eq!(taints(&world).await, [format!("{NOT_READY}:NoSchedule")]);
    assert_eq!(targets().await, json!(2));
    let works = world.names("works", "karmada-es-m1").await;
    assert!(
        works.iter().any(|name| name.contains("/a-")),
        "the work is kept: {works:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn p04_a_pushed_cluster_is_never_unknown_and_without_credentials_never_open() {
    let world = World::with_members(0).await;
    world
        .apply(
            "
            apiVersion: cluster.karmada.io/v1alpha1
            kind: Cluster
            metadata: {name: m1}
            spec: {syncMode: Push, apiEndpoint: 'https://nowhere.example'}
            ",
        )
        .await;
    let closed = [format!("{NOT_READY}:NoSchedule")];
    world
        .until("it is closed", SOON, async || {
            taints(&world).await == closed
        })
        .await;
    world
        .stays("nobody calls it unknown", seconds(180), async || {
            let said = ready(&world).await;
            said == json!("False StatusCollectionFailed") || said == json!("")
        })
        .await;
    assert_eq!(taints(&world).await, closed);
    let version = world.field("clusters", "m1", "status.kubernetesVersion");
    assert!(matches!(version.await, Value::Null | Value::String(_)));
}

/// Several write into a cluster's status: each leaves what is not its own, and none of them reaches the spec.
#[tokio::test(start_paused = true)]
async fn p26_and_p27_conditions_and_taints_of_others_stay() {
    let world = World::with_members(1).await;
    let other = json!({"type": "DnsReady", "status": "False", "reason": "Theirs", "message": "",
                       "lastTransitionTime": world.now().to_string()});
    let mut status = world.field("clusters", "m1", "status").await;
    if let Some(conditions) = status["conditions"].as_array_mut() {
        conditions.push(other);
    }
    // What is said about the spec in a write of the status is not heard.
    world
        .patch_status(
            "clusters",
            "m1",
            json!({"status": {"conditions": status["conditions"]}, "spec": {"provider": "smuggled"}}),
        )
        .await;
    let provider = world.field("clusters", "m1", "spec.provider").await;
    assert!(provider.is_null(), "{provider}");
    let mine = json!([{"key": NOT_READY, "value": "mine", "effect": "NoExecute"},
                      {"key": "own", "effect": "NoSchedule"}]);
    world
        .patch("clusters", "m1", json!({"spec": {"taints": mine}}))
        .await;
    let faults = world.member("m1").faults().clone();
    faults.change(|state| state.fail_percent = 100);
    world
        .until(
            "the system's own taint is beside them",
            seconds(90),
            async || taints(&world).await.len() == 3,
        )
        .await;
    faults.heal();
    world
        .until_is(
            "it is ready again",
            seconds(120),
            json!("True ClusterReady"),
            async || ready(&world).await,
        )
        .await;
    world
        .until("only the system's own taint went", SOON, async || {
            let left = taints(&world).await;
            left == [
                format!("{NOT_READY}:NoExecute"),
                "own:NoSchedule".to_owned(),
            ]
        })
        .await;
    assert_eq!(
        world.condition("clusters", "m1", "DnsReady").await,
        "False Theirs"
    );
}

#[tokio::test(start_paused = true)]
async fn c09_and_p03_a_control_plane_that_starts_believes_its_first_look() {
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

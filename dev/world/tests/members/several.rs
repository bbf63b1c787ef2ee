//! Several control planes on one store: one works, the others answer.

use http::{Request, StatusCode};
use world::{Api, World, json};

use crate::{SOON, config_map, everywhere, seconds};

/// Who holds the Lease of those that work.
async fn leader(api: &Api) -> object::Value {
    let lease = "kube-system/karavel-controllers";
    api.field("leases", lease, "spec.holderIdentity").await
}

async fn is_healthy(api: &Api) -> bool {
    for path in ["/healthz", "/readyz", "/livez"] {
        let request = Request::get(path).body(client::Body::empty());
        let request = request.expect("the path is a path");
        let answered = api.client().send(request).await;
        if !answered.is_ok_and(|answer| answer.status() == StatusCode::OK) {
            return false;
        }
    }
    true
}

#[tokio::test(start_paused = true)]
async fn c39_a_control_plane_that_stands_by_takes_over_from_one_that_dies() {
    let world = World::with_members(1).await;
    world.stop().await;
    let first = world.stand("the first").await;
    let arrives = async |name: &str, within| {
        let key = format!("default/{name}");
        world
            .until("it arrives", within, async || {
                world.member("m1").get("configmaps", &key).await.is_some()
            })
            .await
    };
    first.apply(&everywhere("v1", "ConfigMap")).await;
    first.apply(&config_map("a", "'1'")).await;
    arrives("a", SOON).await;
    let holder = leader(&first).await;

    let second = world.stand("the second").await;
    world
        .stays("one leads and both answer", seconds(120), async || {
            leader(&second).await == holder && is_healthy(&first).await && is_healthy(&second).await
        })
        .await;
    // What is written by way of the one that stands by is carried out by the other.
    second.apply(&config_map("b", "'1'")).await;
    let took = arrives("b", SOON).await;
    assert!(took < seconds(2), "{took:?}");

    drop(first);
    second.apply(&config_map("c", "'1'")).await;
    let begun = tokio::time::Instant::now();
    world
        .stays("the dead one is waited for", seconds(10), async || {
            leader(&second).await == holder && is_healthy(&second).await
        })
        .await;
    arrives("c", seconds(9)).await;
    let took = begun.elapsed();
    assert!(took < seconds(19), "{took:?}");
    assert_ne!(leader(&second).await, holder);
    let applied = async || {
        json!(
            second
                .condition("resourcebindings", "default/c-configmap", "FullyApplied")
                .await
        )
    };
    world
        .until_is(
            "and tells of it",
            SOON,
            json!("True FullyAppliedSuccess"),
            applied,
        )
        .await;
}

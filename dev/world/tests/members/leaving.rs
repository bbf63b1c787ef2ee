//! Letting a cluster go, in good order and when it is gone for good.

use member::join::{JoinError, JoinOptions, UnjoinError, UnjoinOptions, join, unjoin};
use world::{World, json};

use crate::{SOON, config_map, everywhere, seconds};

#[tokio::test(start_paused = true)]
async fn c15_without_its_kubeconfig_a_member_keeps_its_accounts_and_with_it_none() {
    let world = World::with_members(2).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    for member in ["m1", "m2"] {
        world
            .until("the object is there", SOON, async || {
                world
                    .member(member)
                    .get("configmaps", "default/a")
                    .await
                    .is_some()
            })
            .await;
    }
    let left = unjoin(world.client(), None, &UnjoinOptions::new("m1")).await;
    left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(world.get("clusters", "m1").await, None);
    assert_eq!(world.get("namespaces", "karmada-es-m1").await, None);
    world
        .until("its secrets went with it", SOON, async || {
            world.names("secrets", "karmada-cluster").await
                == ["karmada-cluster/m2", "karmada-cluster/m2-impersonator"]
        })
        .await;
    let m1 = world.member("m1");
    assert!(
        m1.get("serviceaccounts", "karmada-cluster/karmada-m1")
            .await
            .is_some()
    );
    assert_eq!(
        m1.get("configmaps", "default/a").await,
        None,
        "works were taken back"
    );
    assert_eq!(m1.get("clusterroles", "karmada-impersonator").await, None);

    let begun = tokio::time::Instant::now();
    world.unjoin("m2", &UnjoinOptions::new("m2")).await;
    assert!(
        begun.elapsed() < seconds(5),
        "a healthy member: {:?}",
        begun.elapsed()
    );
    let m2 = world.member("m2");
    world
        .until("nothing of ours is left", SOON, async || {
            m2.get("namespaces", "karmada-cluster").await.is_none()
        })
        .await;
    for kind in ["clusterroles", "clusterrolebindings"] {
        let names = m2.names(kind, "").await;
        assert!(
            !names.iter().any(|name| name.contains("karmada")),
            "{names:?}"
        );
    }
    // It may come back.
    world.join("m2").await;
    world.until_ready("m2").await;
}

#[tokio::test(start_paused = true)]
async fn another_cluster_in_the_members_place_loses_nothing() {
    let world = World::with_members(2).await;
    // With a kubeconfig of several contexts the wrong one is easily given, the control plane's own among them.
    for (whose, wrong) in [
        ("the control plane", world.client()),
        ("another member", world.member("m2").client()),
    ] {
        for force in [false, true] {
            let options = UnjoinOptions {
                force,
                ..UnjoinOptions::new("m1")
            };
            let left = unjoin(world.client(), Some(wrong), &options).await;
            assert!(
                matches!(left, Err(UnjoinError::Another { .. })),
                "{whose}: {left:?}"
            );
        }
        assert!(world.get("clusters", "m1").await.is_some(), "{whose}");
        assert_eq!(world.names("secrets", "karmada-cluster").await.len(), 4);
    }
    let m2 = world.member("m2");
    let account = m2.get("serviceaccounts", "karmada-cluster/karmada-m2");
    assert!(account.await.is_some());

    let itself = JoinOptions::new("itself", "https://localhost");
    let joined = join(world.client(), world.client(), &itself).await;
    assert!(matches!(joined, Err(JoinError::Itself)), "{joined:?}");
}

#[tokio::test(start_paused = true)]
async fn c16_an_unreachable_cluster_goes_once_it_is_seen_to_be_away() {
    let world = World::with_members(2).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    world
        .until("the object is there", SOON, async || {
            world
                .member("m1")
                .get("configmaps", "default/a")
                .await
                .is_some()
        })
        .await;
    world.member("m1").faults().cut_off(true);
    let options = UnjoinOptions {
        wait: seconds(180),
        ..UnjoinOptions::new("m1")
    };
    let left = unjoin(world.client(), None, &options).await;
    left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(world.get("clusters", "m1").await, None);
    let object = world.member("m1").get("configmaps", "default/a").await;
    assert!(object.is_some(), "nobody could delete it");
    let told = world.list("events", "").await;
    let told = told
        .iter()
        .any(|event| event.at(&["reason"]) == Some(&json!("LeaveResourcesBehind")));
    assert!(told, "and somebody said so");
}

#[tokio::test(start_paused = true)]
async fn c17_a_cluster_waits_for_bindings_that_name_it() {
    let world = World::with_members(1).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    let targets = async || {
        world
            .field(
                "resourcebindings",
                "default/a-configmap",
                "spec.clusters.0.name",
            )
            .await
    };
    world
        .until_is("it is bound", SOON, json!("m1"), targets)
        .await;
    world
        .patch(
            "resourcebindings",
            "default/a-configmap",
            json!({"spec": {"suspension": {"scheduling": true}}}),
        )
        .await;
    let options = UnjoinOptions {
        wait: seconds(30),
        ..UnjoinOptions::new("m1")
    };
    let late = unjoin(world.client(), None, &options).await.unwrap_err();
    assert!(matches!(late, UnjoinError::Late { .. }), "{late}");
    assert!(late.to_string().contains("binding"), "{late}");
    world
        .patch(
            "resourcebindings",
            "default/a-configmap",
            json!({"spec": {"suspension": {"scheduling": false}}}),
        )
        .await;
    let took = world
        .until("it is gone", seconds(10), async || {
            world.get("clusters", "m1").await.is_none()
        })
        .await;
    assert!(
        took < seconds(3),
        "bindings are watched, not asked: {took:?}"
    );
    assert_eq!(targets().await, json!(null));
}

/// Where the policy allows no other cluster the binding is left without any, and that holds nobody up.
#[tokio::test(start_paused = true)]
async fn c17_a_cluster_that_was_the_only_one_allowed_goes() {
    let world = World::with_members(2).await;
    let only = everywhere("v1", "ConfigMap").replace(
        "placement: {}",
        "placement: {clusterAffinity: {clusterNames: [m1]}}",
    );
    world.apply(&only).await;
    world.apply(&config_map("a", "'1'")).await;
    let targets = async || {
        let path = "spec.clusters";
        let listed = world
            .field("resourcebindings", "default/a-configmap", path)
            .await;
        json!(listed.as_array().map_or(0, Vec::len))
    };
    world.until_is("it is bound", SOON, json!(1), targets).await;
    let left = unjoin(world.client(), None, &UnjoinOptions::new("m1")).await;
    left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(world.get("clusters", "m1").await, None);
    assert_eq!(targets().await, json!(0));
    assert_eq!(
        world.member("m1").get("configmaps", "default/a").await,
        None
    );
}

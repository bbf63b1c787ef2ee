//! Nothing is deleted from a member unless it is sure that it should be.

use world::{World, json};

use crate::{SOON, config_map, everywhere, seconds};

/// The control plane's view is cut in every way at once while objects that must stay are in members: watches break, lists
/// fail, parts start anew. At the end everything is there that should be, and it is the same objects.
#[tokio::test(start_paused = true)]
async fn broken_views_delete_nothing() {
    let world = World::with_members(2).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    let names: Vec<String> = (0..5).map(|number| format!("keep-{number}")).collect();
    for name in &names {
        world.apply(&config_map(name, "'1'")).await;
    }
    let uids = async |member: &str| {
        let mut found = Vec::new();
        for name in &names {
            let key = format!("default/{name}");
            let member = world.member(member);
            found.push(member.field("configmaps", &key, "metadata.uid").await);
        }
        found
    };
    for member in ["m1", "m2"] {
        world
            .until("all are there", SOON, async || {
                uids(member).await.iter().all(object::Value::is_string)
            })
            .await;
    }
    let before = (uids("m1").await, uids("m2").await);
    let m1 = world.member("m1").faults();
    for round in 0..4_u64 {
        m1.change(|state| state.fail_percent = 60);
        world.restart().await;
        world.advance(seconds(20 + round)).await;
        m1.change(|state| {
            state.fail_percent = 0;
            state.dropped_groups.insert(String::new());
        });
        world.advance(seconds(15)).await;
        m1.cut_off(true);
        world.restart().await;
        world.advance(seconds(50)).await;
        m1.heal();
        world.advance(seconds(45)).await;
    }
    world.until_ready("m1").await;
    assert_eq!((uids("m1").await, uids("m2").await), before);
    // And what should go still goes.
    world.delete("configmaps", "default/keep-0").await;
    world
        .until("it is gone everywhere", SOON, async || {
            uids("m1").await[0].is_null() && uids("m2").await[0].is_null()
        })
        .await;
    assert_eq!(uids("m1").await[1..], before.0[1..]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_took_the_place_of_ours_is_left_alone() {
    let world = World::with_members(1).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    let m1 = world.member("m1");
    world
        .until("it is there", SOON, async || {
            m1.get("configmaps", "default/a").await.is_some()
        })
        .await;
    // While nobody looks, somebody puts an object of their own in its place; then the template goes.
    world.stop().await;
    m1.delete("configmaps", "default/a").await;
    m1.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mine: 'yes'}}")
        .await;
    world.begin().await;
    world.delete("configmaps", "default/a").await;
    world
        .until("the work is gone", SOON, async || {
            let works = world.names("works", "karmada-es-m1").await;
            !works.iter().any(|name| name.contains("/a-"))
        })
        .await;
    let left = m1.field("configmaps", "default/a", "data.mine").await;
    assert_eq!(left, json!("yes"));
}

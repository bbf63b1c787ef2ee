//! Trouble with one member: where it ends, and that no other member notices.

use std::time::Duration;

use object::Value;
use world::{World, config, json};

use crate::{SOON, config_map, everywhere, seconds};

/// How long a change of a template takes to reach a member.
async fn latency(world: &World, member: &str, value: u64) -> Duration {
    world
        .patch(
            "configmaps",
            "default/a",
            json!({"data": {"value": value.to_string()}}),
        )
        .await;
    let wanted = json!(value.to_string());
    world
        .until_is("the change is there", SOON, wanted, async || {
            world
                .member(member)
                .field("configmaps", "default/a", "data.value")
                .await
        })
        .await
}

async fn prepared() -> World {
    let world = World::with_members(2).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'0'")).await;
    for member in ["m1", "m2"] {
        world
            .until("it is everywhere", SOON, async || {
                world
                    .member(member)
                    .get("configmaps", "default/a")
                    .await
                    .is_some()
            })
            .await;
    }
    world
}

async fn value(world: &World, member: &str) -> Value {
    world
        .member(member)
        .field("configmaps", "default/a", "data.value")
        .await
}

/// Makes trouble in `m1`, changes the template meanwhile, ends the trouble: `m2` gets every change as fast as before, and
/// `m1` has the last one in the end.
async fn check(trouble: &str, begin: impl AsyncFn(&World), end: impl AsyncFn(&World)) {
    let world = prepared().await;
    let before = latency(&world, "m2", 1).await;
    world
        .until_is("both have it", SOON, json!("1"), async || {
            value(&world, "m1").await
        })
        .await;
    begin(&world).await;
    for (round, pause) in [1_u64, 20, 40, 60].into_iter().enumerate() {
        let number = u64::try_from(round).unwrap_or_default() + 2;
        let during = latency(&world, "m2", number).await;
        assert!(
            during <= before * 2 + Duration::from_millis(100),
            "{trouble}: {before:?} before, {during:?} with a neighbour in trouble"
        );
        world.advance(seconds(pause)).await;
    }
    end(&world).await;
    world
        .until_is(
            &format!("{trouble}: m1 has caught up"),
            seconds(300),
            json!("5"),
            async || value(&world, "m1").await,
        )
        .await;
    world.until_ready("m1").await;
    world
        .until_is(
            "and says so",
            SOON,
            json!("True FullyAppliedSuccess"),
            async || {
                json!(
                    world
                        .condition("resourcebindings", "default/a-configmap", "FullyApplied")
                        .await
                )
            },
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_cut_off_catches_up() {
    check(
        "cut off",
        async |world| world.member("m1").faults().cut_off(true),
        async |world| world.member("m1").faults().heal(),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_member_catches_up() {
    let slow = |world: &World, delay| {
        world
            .member("m1")
            .faults()
            .change(|state| state.delay = delay);
    };
    check(
        "slow",
        async |world| slow(world, seconds(20)),
        async |world| slow(world, Duration::ZERO),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_fails_half_of_its_calls_catches_up() {
    check(
        "failing",
        async |world| {
            world
                .member("m1")
                .faults()
                .change(|state| state.fail_percent = 50)
        },
        async |world| world.member("m1").faults().heal(),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_member_whose_certificate_has_expired_catches_up_with_a_new_one() {
    check(
        "expired",
        async |world| {
            let why = Some("invalid peer certificate: certificate expired");
            world.member("m1").refuse_connections(why);
        },
        async |world| world.member("m1").refuse_connections(None),
    )
    .await;
}

/// Its objects are gone and its accounts with them: whoever runs it joins it anew, and everything comes back.
#[tokio::test(start_paused = true)]
async fn a_member_that_lost_its_data_gets_everything_back_once_it_has_joined_anew() {
    let world = prepared().await;
    world.member("m1").restart(false).await;
    world
        .until(
            "it is not ready: nobody knows us there",
            seconds(120),
            async || {
                world
                    .condition("clusters", "m1", "Ready")
                    .await
                    .starts_with("False")
            },
        )
        .await;
    let before = latency(&world, "m2", 7).await;
    assert!(before < seconds(2), "{before:?}");
    let options = member::join::UnjoinOptions::new("m1");
    let left = member::join::unjoin(world.client(), None, &options).await;
    left.unwrap_or_else(|error| panic!("{error}"));
    world.join("m1").await;
    world.until_ready("m1").await;
    world
        .until_is("it has everything again", SOON, json!("7"), async || {
            value(&world, "m1").await
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_member_whose_clock_is_an_hour_off_is_like_any_other() {
    for skew in [3_600, -3_600] {
        let world = World::build()
            .member(config("m1"))
            .skewed(skew)
            .start()
            .await;
        world.apply(&everywhere("v1", "ConfigMap")).await;
        world.apply(&config_map("a", "'0'")).await;
        world
            .until_is("it is there", SOON, json!("0"), async || {
                value(&world, "m1").await
            })
            .await;
        let late = latency(&world, "m1", 1).await;
        assert!(late < seconds(2), "{skew}: {late:?}");
        world
            .stays("it stays ready", seconds(120), async || {
                world.condition("clusters", "m1", "Ready").await == "True ClusterReady"
            })
            .await;
        world.delete("configmaps", "default/a").await;
        world
            .until_is("and it goes", SOON, Value::Null, async || {
                value(&world, "m1").await
            })
            .await;
    }
}

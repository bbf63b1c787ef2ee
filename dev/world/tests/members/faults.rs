//! Trouble with one member: where it ends, and that no other member notices.

use std::time::Duration;

use http::StatusCode;
use object::Value;
use world::{World, config, json};

use crate::{SOON, config_map, everywhere, seconds};

/// How long a change of a template takes to reach a member.
pub(crate) async fn latency(world: &World, member: &str, value: u64) -> Duration {
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
async fn a_member_that_answers_nothing_but_errors_catches_up() {
    check(
        "errors",
        async |world| {
            world
                .member("m1")
                .faults()
                .change(|state| state.fail_percent = 100)
        },
        async |world| world.member("m1").faults().heal(),
    )
    .await;
}

/// It answers, but not to those who read and write: the probe goes through and everything else fails.
#[tokio::test(start_paused = true)]
async fn a_member_that_only_says_that_it_is_well_catches_up() {
    let refuse = |world: &World, status| {
        for path in ["/api/v1", "/apis"] {
            world.member("m1").answer_with(path, status);
        }
    };
    check(
        "well and useless",
        async |world| refuse(world, Some(StatusCode::INTERNAL_SERVER_ERROR)),
        async |world| refuse(world, None),
    )
    .await;
}

/// Somebody works against us: every second the object is changed or deleted in one member.
#[tokio::test(start_paused = true)]
async fn a_member_whose_objects_are_changed_and_deleted_by_hand_has_them_as_they_should_be() {
    let world = prepared().await;
    let before = latency(&world, "m2", 1).await;
    let m1 = world.member("m1");
    for round in 2..22_u64 {
        if round % 2 == 0 {
            m1.patch(
                "configmaps",
                "default/a",
                json!({"data": {"value": "by hand"}}),
            )
            .await;
        } else {
            m1.delete("configmaps", "default/a").await;
        }
        let during = latency(&world, "m2", round).await;
        assert!(
            during <= before * 2 + Duration::from_millis(100),
            "{before:?} before, {during:?} while a neighbour is worked on by hand"
        );
        world.advance(seconds(1)).await;
    }
    world
        .until_is(
            "it is as it should be",
            seconds(10),
            json!("21"),
            async || value(&world, "m1").await,
        )
        .await;
    let works = world.list("works", "karmada-es-m1").await;
    let recreated = works.iter().any(|work| {
        let text = work.fields().get("status").map(Value::to_string);
        text.is_some_and(|text| {
            text.contains("ReCreateSuccessful") || text.contains("AppliedSuccessful")
        })
    });
    assert!(recreated, "the work says what became of it");
}

/// A kind that one member lacks holds nobody else up, and is brought there when it comes.
#[tokio::test(start_paused = true)]
async fn a_member_without_a_kind_gets_its_objects_when_the_kind_arrives() {
    let world = prepared().await;
    let before = latency(&world, "m2", 1).await;
    let crd = "
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: gadgets.shop.example}
        spec:
          group: shop.example
          names: {kind: Gadget, plural: gadgets}
          scope: Namespaced
          versions:
          - name: v1
            served: true
            storage: true
            schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    ";
    world.apply(crd).await;
    world.member("m2").apply(crd).await;
    for member in ["m1", "m2"] {
        let work = format!(
            "
            apiVersion: work.karmada.io/v1alpha1
            kind: Work
            metadata: {{name: gadget, namespace: karmada-es-{member}}}
            spec:
              workload:
                manifests:
                - {{apiVersion: shop.example/v1, kind: Gadget, metadata: {{name: g, namespace: default}}, spec: {{size: 1}}}}
            "
        );
        world.apply(&work).await;
    }
    let applied = async |member: &str| {
        let work = format!("karmada-es-{member}/gadget");
        json!(world.condition("works", &work, "Applied").await)
    };
    world
        .until_is(
            "m2 has it",
            SOON,
            json!("True AppliedSuccessful"),
            async || applied("m2").await,
        )
        .await;
    world
        .until_is(
            "m1 says why not",
            SOON,
            json!("False AppliedFailed"),
            async || applied("m1").await,
        )
        .await;
    for round in 2..8 {
        let during = latency(&world, "m2", round).await;
        assert!(
            during <= before * 2 + Duration::from_millis(100),
            "{during:?}"
        );
        world.advance(seconds(30)).await;
    }
    world.member("m1").apply(crd).await;
    let took = world
        .until_is(
            "m1 has it",
            seconds(20),
            json!("True AppliedSuccessful"),
            async || applied("m1").await,
        )
        .await;
    assert!(took < seconds(10), "{took:?}");
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
    let message = "status.conditions.type=Ready.message";
    let message = world.field("clusters", "m1", message).await;
    let message = message.as_str().unwrap_or_default();
    for told in [
        "it does not know the credentials of the control plane any more",
        "unjoin the cluster with --force and join it again",
    ] {
        assert!(message.contains(told), "{message}");
    }
    let before = latency(&world, "m2", 7).await;
    assert!(before < seconds(2), "{before:?}");
    let options = member::join::UnjoinOptions {
        force: true,
        ..member::join::UnjoinOptions::new("m1")
    };
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
            .member(config("m2"))
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
        let beside = latency(&world, "m2", 2).await;
        assert!(beside < seconds(2), "{skew}: {beside:?}");
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

/// Nothing ends the stream of a member that is cut off, and whoever only listens would wait for ever.
#[tokio::test(start_paused = true)]
async fn whoever_watches_is_told_that_a_member_fell_silent() {
    let world = prepared().await;
    let admin = world.as_user("system:admin", &["system:masters"]).await;
    let query = cli::Query {
        words: vec!["configmaps".to_owned()],
        scope: cli::Scope::All,
        ..cli::Query::default()
    };
    let mut told = String::new();
    let mut rows = |_: &str| Ok(());
    let mut notes = |text: &str| {
        told.push_str(text);
        Ok(())
    };
    let sinks: (cli::Sink<'_>, cli::Sink<'_>) = (&mut rows, &mut notes);
    let silence = async {
        world.advance(seconds(5)).await;
        world.member("m1").faults().cut_off(true);
        world.advance(seconds(60)).await;
    };
    let watching = cli::watch(admin.client(), &query, (false, false), sinks, silence);
    let Err(ended) = watching.await else {
        panic!("it ended as if all had been seen");
    };
    assert_eq!(ended.exit_code(), 2, "{ended}");
    assert!(ended.to_string().starts_with("cluster(m1): "), "{ended}");
    assert!(told.contains("cluster(m1): "), "{told}");
    assert!(told.contains("trying again"), "{told}");
}

/// What is there comes in the order of names, so the last of it says nothing about how far a watch has come.
#[tokio::test(start_paused = true)]
async fn a_watch_that_goes_on_tells_nothing_twice() {
    let world = prepared().await;
    world.apply(&config_map("b", "'0'")).await;
    world
        .until("it is there", SOON, async || {
            let member = world.member("m1");
            member.get("configmaps", "default/b").await.is_some()
        })
        .await;
    latency(&world, "m1", 1).await;
    let admin = world.as_user("system:admin", &["system:masters"]).await;
    let query = cli::Query {
        words: vec!["configmaps".to_owned()],
        scope: cli::Scope::Members,
        clusters: vec!["m1".to_owned()],
        ..cli::Query::default()
    };
    let (mut shown, mut told) = (String::new(), String::new());
    let mut rows = |text: &str| {
        shown.push_str(text);
        Ok(())
    };
    let mut notes = |text: &str| {
        told.push_str(text);
        Ok(())
    };
    let sinks: (cli::Sink<'_>, cli::Sink<'_>) = (&mut rows, &mut notes);
    let trouble = async {
        world.advance(seconds(5)).await;
        world.member("m1").faults().cut_off(true);
        world.advance(seconds(60)).await;
        world.member("m1").faults().cut_off(false);
        world.advance(seconds(60)).await;
        latency(&world, "m1", 2).await;
        world.advance(seconds(5)).await;
    };
    let watching = cli::watch(admin.client(), &query, (false, true), sinks, trouble);
    watching.await.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(told.contains("cluster(m1): answers again"), "{told}");
    let rows: Vec<(&str, &str)> = shown
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            words.next().zip(words.next())
        })
        .filter(|(_, name)| ["a", "b"].contains(name))
        .collect();
    let expected = [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a")];
    assert_eq!(rows, expected, "{shown}");
}

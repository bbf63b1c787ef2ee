//! Trouble with one cluster, one estimator or many bindings that does not hold the others up.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use api::registry::{CLUSTER, RESOURCE_BINDING};
use intent::Part;
use karavel_scheduler::{
    Scheduler, Settings,
    estimator::{Answering, EstimatorSettings, Nearby},
};
use protocol::Question;
use serde_json::json;
use tokio::time::Instant;

use crate::world::{World, binding, by_room, cluster, show};

/// Estimators with room for five each; that of m1 may hang.
#[derive(Debug, Default)]
struct Estimators {
    hangs: AtomicBool,
    /// How often that of m1 was asked.
    asked: AtomicU32,
}

impl Nearby for Estimators {
    fn knows(&self, _: &str) -> bool {
        true
    }

    fn ask<'a>(&'a self, question: &'a Question) -> Option<Answering<'a>> {
        if question.cluster() == "m1" {
            self.asked.fetch_add(1, Relaxed);
            if self.hangs.load(Relaxed) {
                return Some(Box::pin(pending()));
            }
        }
        Some(Box::pin(std::future::ready(Ok(5))))
    }
}

/// A scheduler of two workers that asks `estimators`.
async fn world_asking(estimators: &Arc<Estimators>) -> (World, Scheduler) {
    let nearby: Arc<dyn Nearby> = Arc::clone(estimators) as _;
    World::with_clusters(Settings {
        workers: 2,
        estimators: Some(EstimatorSettings {
            nearby: Some(nearby),
            ..EstimatorSettings::default()
        }),
        ..Settings::default()
    })
    .await
}

/// All four judged by their estimators.
const BY_ESTIMATORS: &str = "m1=2 m2=2 m3=1 m4=1 Success";
/// m1 judged by its report, which has room for ten; the others by their estimators.
const BY_REPORT: &str = "m1=3 m2=1 m3=1 m4=1 Success";

/// Creates bindings that may go anywhere, and waits until the last is placed as expected; no time passes unless a decision
/// waits.
async fn place(world: &World, name: &str, count: u32, expected: &str) -> Duration {
    let begun = Instant::now();
    for number in 0..count {
        let object = binding(&format!("{name}-{number}"), 6, &by_room());
        world.create(&RESOURCE_BINDING, object).await;
    }
    for number in 0..count {
        let key = format!("shop/{name}-{number}");
        loop {
            let seen = show(&world.binding(&key).await);
            if seen == expected {
                break;
            }
            assert!(!seen.contains("Success"), "{key} is {seen}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    begun.elapsed()
}

/// How many decisions had to wait for somebody.
fn waited(scheduler: &Scheduler) -> u32 {
    let text = scheduler.metrics();
    let name = "karavel_scheduler_decisions_waited_total ";
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_estimator_that_hangs_from_the_start_is_waited_for_by_nobody() {
    let estimators = Arc::new(Estimators::default());
    estimators.hangs.store(true, Relaxed);
    let (world, scheduler) = world_asking(&estimators).await;
    let took = place(&world, "web", 200, BY_REPORT).await;
    // The greeting before the first decision, and the looks of this test.
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(waited(&scheduler), 0);
    assert_eq!(estimators.asked.load(Relaxed), 1, "the greeting");
}

#[tokio::test(start_paused = true)]
async fn when_an_estimator_begins_to_hang_only_those_wait_that_asked_it_and_only_once() {
    let estimators = Arc::new(Estimators::default());
    let (world, scheduler) = world_asking(&estimators).await;
    place(&world, "early", 5, BY_ESTIMATORS).await;
    assert_eq!(waited(&scheduler), 0);

    estimators.hangs.store(true, Relaxed);
    for number in 0..50 {
        let object = binding(&format!("held-{number}"), 6, &by_room());
        world.create(&RESOURCE_BINDING, object).await;
    }
    while waited(&scheduler) < 50 {
        tokio::task::yield_now().await;
    }
    // Fifty decisions wait and there are two workers; who does not need m1 is placed in no time at all.
    let begun = Instant::now();
    for (name, placement) in [
        (
            "elsewhere",
            json!({
                "clusterAffinity": {"clusterNames": ["m2"]},
                "replicaScheduling": by_room()["replicaScheduling"],
            }),
        ),
        // Copies go wherever they are allowed to: room decides nothing, and nobody is asked.
        (
            "copied",
            json!({"clusterAffinity": {"clusterNames": ["m1", "m2"]}}),
        ),
    ] {
        world
            .create(&RESOURCE_BINDING, binding(name, 2, &placement))
            .await;
        let key = format!("shop/{name}");
        while !show(&world.binding(&key).await).contains("Success") {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(
        show(&world.binding("shop/copied").await),
        "m1=2 m2=2 Success"
    );

    for number in 0..50 {
        let key = format!("shop/held-{number}");
        world.expect(&key, BY_REPORT).await;
    }
    let held = begun.elapsed();
    assert!(held < Duration::from_millis(200), "{held:?}");
    let asked = estimators.asked.load(Relaxed);
    let took = place(&world, "late", 200, BY_REPORT).await;
    assert!(took < Duration::from_millis(500), "{took:?}");
    assert_eq!(waited(&scheduler), 50, "nobody waits any more");
    assert_eq!(estimators.asked.load(Relaxed), asked);

    // It is well again: the question under way is given up, the next after a pause is answered, and all count on it.
    estimators.hangs.store(false, Relaxed);
    tokio::time::sleep(Duration::from_secs(5)).await;
    place(&world, "probing", 1, BY_REPORT).await;
    place(&world, "well", 5, BY_ESTIMATORS).await;
    assert_eq!(waited(&scheduler), 50);
}

#[tokio::test(start_paused = true)]
async fn many_without_a_place_and_a_cluster_that_flaps_do_not_hold_up_who_has_one() {
    const MANY: usize = 500;
    let (world, scheduler) = World::with_clusters(Settings::default()).await;
    for number in 0..MANY {
        let object = binding(&format!("large-{number}"), 1_000_000, &by_room());
        world.create(&RESOURCE_BINDING, object).await;
    }
    while scheduler.counts().unschedulable < MANY {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // More room brings all of them back, and there is not enough for any; ten times over.
    let only = json!({"clusterAffinity": {"clusterNames": ["m2"]}});
    for round in 0..10 {
        // Longer than any of them is spared when the room before was not enough.
        tokio::time::sleep(Duration::from_secs(6)).await;
        world.report("m1", cluster("m1", 11 + round)).await;
        // No time passes here: it would only pass once all of them have had their turn.
        while scheduler.counts().active < MANY / 2 {
            tokio::task::yield_now().await;
        }
        let name = format!("small-{round}");
        world
            .create(&RESOURCE_BINDING, binding(&name, 1, &only))
            .await;
        while show(&world.binding(&format!("shop/{name}")).await) != "m2=1 Success" {
            tokio::task::yield_now().await;
        }
        let counts = scheduler.counts();
        assert!(
            counts.active > 0,
            "it waited for all of the many: {counts:?}"
        );
    }
    while scheduler.counts().active + scheduler.counts().in_work > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(scheduler.counts().unschedulable, MANY);
    let text = scheduler.metrics();
    let placed = "karmada_scheduler_schedule_attempts_total{result=\"scheduled\",schedule_type=\"ReconcileSchedule\"} 10";
    assert!(text.contains(placed), "{text}");
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_those_that_were_decided_do_not_hold_up_what_is_new() {
    const MANY: usize = 500;
    let world = World::filled_with_clusters().await;
    for number in 0..MANY {
        let name = format!("decided-{number}");
        let object = binding(&name, 1, &by_room());
        world.create(&RESOURCE_BINDING, object).await;
        let decided = json!({"status": {"schedulerObservedGeneration": 1}});
        let key = format!("shop/{name}");
        world
            .patch(&RESOURCE_BINDING, &key, decided, Part::Status)
            .await;
    }
    // The last of the list.
    let only = json!({"clusterAffinity": {"clusterNames": ["m2"]}});
    world
        .create(&RESOURCE_BINDING, binding("new", 1, &only))
        .await;
    let scheduler = world.schedule(Settings::default());
    // No time passes here: it would only pass once all of them have had their turn.
    while show(&world.binding("shop/new").await) != "m2=1 Success" {
        tokio::task::yield_now().await;
    }
    let counts = scheduler.counts();
    assert!(counts.active > MANY / 2, "it waited for others: {counts:?}");
    world.settle(&scheduler, "shop/new").await;
    assert!(show(&world.binding("shop/decided-7").await).ends_with("Success"));
}

#[tokio::test(start_paused = true)]
async fn five_hundred_reasons_are_told_as_far_as_a_condition_takes_them() {
    const MANY: usize = 500;
    let (world, scheduler) = World::with_clusters(Settings::default()).await;
    for number in 0..MANY {
        let name = format!("tainted-{number}");
        let mut member = cluster(&name, 1);
        let value = format!("{number}-{}", "x".repeat(50));
        let taint = json!([{"key": "dedicated", "value": value, "effect": "NoSchedule"}]);
        member.set(&["spec", "taints"], taint).unwrap();
        world.create(&CLUSTER, member).await;
    }
    world.settle_clusters().await;
    let mut web = binding(
        "web",
        1,
        &json!({"clusterAffinity": {"exclude": ["m1", "m2", "m3", "m4"]}}),
    );
    let before = json!([{"name": "m1", "replicas": 1}]);
    web.set(&["spec", "clusters"], before).unwrap();
    world.create(&RESOURCE_BINDING, web).await;
    assert_eq!(world.settle(&scheduler, "shop/web").await, "NoClusterFit");
    let web = world.binding("shop/web").await;
    let message = web.at(&["status", "conditions"]).unwrap()[0]["message"].clone();
    let message = message.as_str().unwrap();
    let most = "0/504 clusters are available: 4 cluster(s) did not match";
    assert!(message.starts_with(most), "{message}");
    assert!(message.ends_with(" more reasons."), "{message}");
}

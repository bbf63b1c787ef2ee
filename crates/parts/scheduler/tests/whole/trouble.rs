//! Trouble with one cluster, one estimator or many bindings that does not hold the others up.

use std::{future::pending, sync::Arc, time::Duration};

use api::registry::RESOURCE_BINDING;
use karavel_scheduler::{
    Settings,
    estimator::{Answering, EstimatorSettings, Nearby},
};
use protocol::Question;
use serde_json::json;
use tokio::time::Instant;

use crate::world::{World, binding, by_room, cluster, show};

/// Estimators of which that of m1 never answers; the others have room for five.
#[derive(Debug)]
struct Hanging;

impl Nearby for Hanging {
    fn ask<'a>(&'a self, question: &'a Question) -> Option<Answering<'a>> {
        Some(match question.cluster() {
            "m1" => Box::pin(pending()),
            _ => Box::pin(std::future::ready(Ok(5))),
        })
    }
}

#[tokio::test(start_paused = true)]
async fn an_estimator_that_hangs_costs_one_decision_its_deadline_and_the_others_a_moment() {
    let (world, scheduler) = World::with_clusters(Settings {
        estimators: Some(EstimatorSettings {
            nearby: Some(Arc::new(Hanging)),
            ..EstimatorSettings::default()
        }),
        ..Settings::default()
    })
    .await;
    let begun = Instant::now();
    for number in 0..200 {
        let object = binding(&format!("web-{number}"), 6, &by_room());
        world.create(&RESOURCE_BINDING, object).await;
    }
    let elsewhere = json!({
        "clusterAffinity": {"clusterNames": ["m2"]},
        "replicaScheduling": by_room()["replicaScheduling"],
    });
    world
        .create(&RESOURCE_BINDING, binding("elsewhere", 2, &elsewhere))
        .await;
    world.expect("shop/elsewhere", "m2=2 Success").await;
    // m1 is judged by its report, which has room for ten; the others by their estimators.
    world
        .expect("shop/web-199", "m1=3 m2=1 m3=1 m4=1 Success")
        .await;
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    while scheduler.counts().active + scheduler.counts().in_work > 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    while scheduler.counts().in_work > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
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

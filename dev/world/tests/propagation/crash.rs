//! The control plane stops without warning at any moment, and always comes to the same end.

use std::time::Duration;

use object::{Object, Value};
use world::World;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, SOON, Stage, all, config_map, deployment, divided, on, policy,
};

/// How many objects of each kind are rolled out, and how many times the control plane is stopped meanwhile.
const OBJECTS: usize = 12;
const STOPS: u64 = 12;

/// What the members have, without what differs from run to run.
async fn end_state(world: &World, members: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    for member in members {
        for kind in ["deployments", "configmaps"] {
            for object in world.member(member).list(kind, "test").await {
                lines.push(format!("{member} {}", line(&object)));
            }
        }
    }
    let works = world.list("works", "").await;
    for work in works.iter().filter(|work| {
        work.label("resourcebinding.karmada.io/permanent-id")
            .is_some()
    }) {
        lines.push(format!("work {}", work.key()));
    }
    lines.sort();
    lines
}

fn line(object: &Object) -> String {
    let field = |path: &[&str]| object.at(path).cloned().unwrap_or(Value::Null);
    format!(
        "{} {} replicas={} data={} managed={:?}",
        object.kind(),
        object.name(),
        field(&["spec", "replicas"]),
        field(&["data"]),
        object.label("karmada.io/managed"),
    )
}

/// A rollout: objects are made, changed and partly deleted, and the policies move them.
fn steps() -> Vec<String> {
    let mut steps = vec![all(&[
        policy(
            "d",
            DEPLOYMENTS,
            &divided(&[("m1", 1), ("m2", 1), ("m3", 1)]),
        ),
        policy("c", CONFIG_MAPS, &on("m1, m2, m3")),
    ])];
    for number in 0..OBJECTS {
        steps.push(all(&[
            deployment(&format!("d{number}"), 3),
            config_map(&format!("c{number}"), "{version: one}"),
        ]));
    }
    for number in 0..OBJECTS {
        steps.push(all(&[
            deployment(&format!("d{number}"), 6),
            config_map(&format!("c{number}"), "{version: two}"),
        ]));
    }
    steps.push(policy("c", CONFIG_MAPS, &on("m1, m3")));
    steps
}

async fn roll_out(seed: Option<u64>) -> Vec<String> {
    let stage = Stage::with(3).await;
    let steps = steps();
    // A stop falls into a step, and within it at a moment that the seed chooses.
    let mut random = seed.unwrap_or(1);
    let mut next = move || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    let every = (steps.len() as u64 / STOPS).max(1);
    for (number, step) in steps.iter().enumerate() {
        stage.apply(step).await;
        if seed.is_some() && (number as u64).is_multiple_of(every) {
            stage.advance(Duration::from_micros(next() % 40_000)).await;
            for _ in 0..next() % 200 {
                tokio::task::yield_now().await;
            }
            stage.restart().await;
        }
    }
    stage.template("configmaps", "test/c0").delete().await;
    if seed.is_some() {
        stage.restart().await;
    }
    let members = ["m1", "m2", "m3"];
    let expected = OBJECTS * 3 + (OBJECTS - 1) * 2;
    stage
        .until("the rollout is over", SOON * 5, async || {
            let lines = end_state(&stage, &members).await;
            let of_members = lines.iter().filter(|line| line.starts_with('m'));
            let done = of_members
                .clone()
                .filter(|line| line.contains("replicas=2") || line.contains("two"));
            done.count() == expected
                && of_members
                    .filter(|line| !line.contains("kube-root-ca"))
                    .count()
                    == expected
        })
        .await;
    stage.advance(SOON).await;
    end_state(&stage, &members).await
}

#[tokio::test(start_paused = true)]
async fn a_control_plane_that_is_stopped_again_and_again_comes_to_the_same_end() {
    let undisturbed = roll_out(None).await;
    for seed in [3, 71] {
        let disturbed = roll_out(Some(seed)).await;
        assert_eq!(undisturbed, disturbed, "seed {seed}");
    }
}

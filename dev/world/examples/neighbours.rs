//! How long a change takes to reach a member while its neighbour is in trouble, in real time:
//! `cargo run --release -p karavel-world --example neighbours`.
//!
//! All figures are of one run in one process, so that they can be compared with each other and with nothing else.
#![expect(
    clippy::print_stdout,
    reason = "an example tells what it measured on the terminal"
)]

use std::time::{Duration, Instant};

use http::StatusCode;
use world::{World, json, sized};

/// How many changes are timed for each trouble.
const CHANGES: usize = 200;
/// Between two looks whether a change has arrived.
const LOOK: Duration = Duration::from_micros(500);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut large = sized("big", 5_000, "8", "16Gi");
    large.heartbeat = 300;
    let world = World::build()
        .members(["m1", "m2"])
        .member(large)
        .start()
        .await;
    world
        .apply(
            "
            apiVersion: policy.karmada.io/v1alpha1
            kind: PropagationPolicy
            metadata: {name: maps}
            spec:
              resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]
              placement: {}
            ---
            {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {value: '0'}}
            ",
        )
        .await;
    let mut number = 0_u64;
    println!(
        "{:<34} {:>9} {:>9} {:>9}",
        "m1", "p50 ms", "p99 ms", "max ms"
    );
    measure(&world, "is well", &mut number).await;
    let m1 = world.member("m1");
    m1.faults().cut_off(true);
    measure(&world, "is cut off", &mut number).await;
    m1.faults().heal();
    m1.faults()
        .change(|state| state.delay = Duration::from_secs(20));
    measure(&world, "takes 20 s longer for each call", &mut number).await;
    m1.faults().heal();
    m1.faults().change(|state| state.fail_percent = 100);
    measure(&world, "answers every call with 500", &mut number).await;
    m1.faults().heal();
    m1.faults().change(|state| state.fail_percent = 50);
    measure(&world, "answers every other call with 500", &mut number).await;
    m1.faults().heal();
    m1.refuse_connections(Some("invalid peer certificate: certificate expired"));
    measure(&world, "has an expired certificate", &mut number).await;
    m1.refuse_connections(None);
    m1.answer_with("/api/v1", Some(StatusCode::INTERNAL_SERVER_ERROR));
    measure(&world, "says that it is well and is not", &mut number).await;
    m1.answer_with("/api/v1", None);
    m1.restart(false).await;
    measure(&world, "has lost its data", &mut number).await;
    measure(&world, "has lost its data, once more", &mut number).await;
}

/// Changes the template again and again, and times its way to the neighbour.
async fn measure(world: &World, trouble: &str, number: &mut u64) {
    let mut took = Vec::with_capacity(CHANGES);
    for _ in 0..CHANGES {
        *number += 1;
        let value = json!(number.to_string());
        let begun = Instant::now();
        world
            .patch("configmaps", "default/a", json!({"data": {"value": value}}))
            .await;
        let neighbour = world.member("m2");
        while neighbour
            .field("configmaps", "default/a", "data.value")
            .await
            != value
        {
            tokio::time::sleep(LOOK).await;
        }
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    let at = |part: usize| {
        let place = (took.len() * part / 100).min(took.len() - 1);
        took.get(place).copied().unwrap_or_default().as_secs_f64() * 1e3
    };
    println!(
        "{trouble:<34} {:>9.2} {:>9.2} {:>9.2}",
        at(50),
        at(99),
        at(100)
    );
}

//! What the queue costs: a key added, taken and done, among a hundred thousand others that wait.
//!
//! `cargo bench -p karavel-runtime`

#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use karavel_runtime::Queue;

fn queue(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let mut group = c.benchmark_group("queue");
    for waiting in [0_u64, 100_000] {
        let queue = Queue::default();
        for key in 0..waiting {
            queue.add_after(key, Duration::from_secs(3_600 + key));
        }
        group.bench_function(format!("add and take, {waiting} waiting"), |b| {
            b.iter(|| {
                queue.add(u64::MAX);
                black_box(runtime.block_on(queue.take()).unwrap());
            });
        });
        group.bench_function(format!("add what waits, {waiting} waiting"), |b| {
            queue.add_after(u64::MAX, Duration::from_secs(60));
            b.iter(|| queue.add_after(black_box(u64::MAX), Duration::from_secs(60)));
        });
    }
    group.finish();
}

criterion_group!(benches, queue);
criterion_main!(benches);

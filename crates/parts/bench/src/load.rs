//! Clients that ask, as fast as they are answered or at a pace.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use client::Door;
use tokio::task::JoinSet;

use crate::error::BenchError;
use crate::latency::Latencies;
use crate::progress::Progress;
use crate::wire::{Ask, Wire, said};

/// How often progress is told.
const TELL: Duration = Duration::from_millis(200);

/// How much to ask, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// How often altogether.
    pub(crate) count: usize,
    /// By how many clients, each with a connection of its own and one request at a time.
    pub(crate) clients: usize,
    /// How many a second; as fast as they are answered if absent.
    pub(crate) pace: Option<f64>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) latencies: Latencies,
    pub(crate) failures: usize,
    /// What the first failure was.
    pub(crate) first_failure: Option<String>,
    pub(crate) bytes: u64,
    /// When the first could have been asked.
    pub(crate) begun: Option<Instant>,
    pub(crate) took: Duration,
    /// From when on the time of each counts that was not refused.
    since: HashMap<usize, Instant>,
}

/// Asks `make(0)`, `make(1)` and so on. With a pace, a time counts from when the request was due, so that a server that
/// stalls is charged for everything that had to wait.
pub(crate) async fn run(
    door: &Door,
    load: Load,
    progress: &dyn Progress,
    make: impl Fn(usize) -> Ask + Send + Sync + 'static,
) -> Result<Outcome, BenchError> {
    let clients = load.clients.clamp(1, load.count.max(1));
    let mut wires = Vec::with_capacity(clients);
    for _ in 0..clients {
        wires.push(Wire::open(door).await?);
    }
    let (make, next) = (Arc::new(make), Arc::new(AtomicUsize::new(0)));
    let begun = Instant::now();
    let mut set = JoinSet::new();
    for wire in wires {
        set.spawn(client(
            wire,
            load,
            begun,
            Arc::clone(&next),
            Arc::clone(&make),
        ));
    }
    let mut outcome = Outcome::default();
    let mut tick = tokio::time::interval(TELL);
    loop {
        tokio::select! {
            _ = tick.tick() => progress.advance(next.load(Relaxed).min(load.count), load.count),
            joined = set.join_next() => match joined {
                None => break,
                Some(Ok(one)) => outcome.add(one?),
                Some(Err(error)) => return Err(BenchError::broken(&error)),
            },
        }
    }
    outcome.took = begun.elapsed();
    outcome.begun = Some(begun);
    Ok(outcome)
}

async fn client(
    mut wire: Wire,
    load: Load,
    begun: Instant,
    next: Arc<AtomicUsize>,
    make: Arc<impl Fn(usize) -> Ask>,
) -> Result<Outcome, BenchError> {
    let mut outcome = Outcome::default();
    loop {
        let index = next.fetch_add(1, Relaxed);
        if index >= load.count {
            return Ok(outcome);
        }
        let ask = make(index);
        let since = match load.pace {
            None => Instant::now(),
            Some(pace) => {
                let due = begun + Duration::from_secs_f64(index as f64 / pace);
                tokio::time::sleep_until(due.into()).await;
                due
            }
        };
        let answer = wire.ask(ask).await?;
        outcome.bytes += answer.body.len() as u64;
        if answer.status.is_success() {
            outcome.latencies.push(since.elapsed());
            outcome.since.insert(index, since);
        } else {
            outcome.failures += 1;
            let failure = || format!("{}: {}", answer.status.as_u16(), said(&answer.body));
            outcome.first_failure.get_or_insert_with(failure);
        }
    }
}

impl Outcome {
    /// How long it took from asking for each of the things named `…-0`, `…-1` to its being seen, and until the last was.
    pub(crate) fn until(&self, seen: &BTreeMap<String, Instant>) -> (Latencies, Option<Duration>) {
        let mut latencies = Latencies::default();
        for (name, at) in seen {
            let number = name.rsplit('-').next().and_then(|last| last.parse().ok());
            if let Some(since) = number.and_then(|number: usize| self.since.get(&number)) {
                latencies.push(at.saturating_duration_since(*since));
            }
        }
        let last = seen.values().max().copied();
        let took = last.zip(self.begun);
        (
            latencies,
            took.map(|(last, begun)| last.saturating_duration_since(begun)),
        )
    }

    fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.failures += other.failures;
        self.bytes += other.bytes;
        self.since.extend(other.since);
        if self.first_failure.is_none() {
            self.first_failure = other.first_failure;
        }
    }
}

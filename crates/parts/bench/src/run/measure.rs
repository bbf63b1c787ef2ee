//! A step's frame: what was used before, what is used after, what that says.

use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::error::BenchError;
use crate::latency::Latencies;
use crate::load::Outcome;
use crate::objects;
use crate::report::{Limit, Step};
use crate::target::Target;
use crate::weight::Weight;
use crate::wire::{Ask, Wire};

/// Where workloads put their objects.
pub(crate) const NAMESPACE: &str = "karavel-bench";
/// From here on a machine counts as used up.
const FULL: f64 = 0.85;

/// The beginning of a measurement.
pub(crate) struct Watching {
    begun: Instant,
    own: Weight,
    target: Weight,
}

/// What was done in it.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) count: usize,
    pub(crate) failures: usize,
    pub(crate) first_failure: Option<String>,
    /// How long each took.
    pub(crate) latencies: Latencies,
    /// How long all of it took; until now if absent.
    pub(crate) took: Option<Duration>,
    /// Whether it was done at a pace, so that its rate says nothing.
    pub(crate) paced: bool,
}

impl From<Outcome> for Done {
    fn from(outcome: Outcome) -> Self {
        Self {
            count: outcome.latencies.len(),
            failures: outcome.failures,
            first_failure: outcome.first_failure,
            latencies: outcome.latencies,
            took: Some(outcome.took),
            paced: false,
        }
    }
}

impl Watching {
    pub(crate) fn begin(target: &Target) -> Self {
        Self {
            begun: Instant::now(),
            own: Weight::own(),
            target: target.weight(),
        }
    }

    /// What it came to.
    pub(crate) fn end(self, name: &str, target: &Target, done: Done) -> Step {
        let watched = self.begun.elapsed().as_secs_f64();
        let seconds = done.took.map_or(watched, |took| took.as_secs_f64());
        let cores = available_parallelism().map_or(1, usize::from) as f64;
        let share = |before: Weight, after: Weight| {
            (after.cpu_seconds - before.cpu_seconds).max(0.0) / (watched * cores)
        };
        let generator = share(self.own, Weight::own());
        let weight = target.weight();
        let server = target.is_weighed().then(|| share(self.target, weight));
        Step {
            name: name.to_owned(),
            count: done.count,
            failures: done.failures,
            first_failure: done.first_failure,
            seconds,
            per_second: (!done.paced && seconds > 0.0).then(|| done.count as f64 / seconds),
            latency_ms: done.latencies.spread(),
            generator_share: generator,
            server_share: server,
            server_memory: target.is_weighed().then_some(weight.memory),
            limit: limit(generator, server, done.paced),
            figures: Vec::new(),
        }
    }
}

/// What kept a step from going faster.
fn limit(generator: f64, server: Option<f64>, paced: bool) -> Limit {
    let used = generator + server.unwrap_or_default();
    match server {
        _ if paced => Limit::Pace,
        // One client at a time cannot use more than its own core; as far as we see, it was all we could do.
        None if generator > FULL => Limit::Generator,
        None => Limit::Server,
        Some(server) if used > FULL && generator > server => Limit::Generator,
        Some(_) if used > FULL => Limit::Machine,
        Some(_) => Limit::Server,
    }
}

/// Makes the namespace of a run, which may be there from one that was broken off.
pub(crate) async fn make_namespace(wire: &mut Wire) -> Result<(), BenchError> {
    let body = objects::namespace(NAMESPACE);
    let answer = wire.ask(Ask::post("/api/v1/namespaces", body)).await?;
    if answer.status == http::StatusCode::CONFLICT {
        return Ok(());
    }
    answer.accepted("create a namespace").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_says_what_kept_it_from_going_faster() {
        let cases = [
            (0.1, Some(0.2), true, Limit::Pace),
            (0.2, Some(0.4), false, Limit::Server),
            (0.3, Some(0.6), false, Limit::Machine),
            (0.6, Some(0.3), false, Limit::Generator),
            (0.2, None, false, Limit::Server),
            (0.9, None, false, Limit::Generator),
        ];
        for (generator, server, paced, expected) in cases {
            assert_eq!(limit(generator, server, paced), expected);
        }
    }
}

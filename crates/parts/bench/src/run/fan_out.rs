//! One object that changes before many watchers.

use std::time::{Duration, Instant};

use http::Method;

use super::Bench;
use super::measure::{Done, NAMESPACE, Watching};
use crate::error::BenchError;
use crate::latency::Latencies;
use crate::objects::Kind;
use crate::report::Step;
use crate::target::Target;
use crate::watch::Lookout;
use crate::wire::{Ask, MERGE_PATCH, Wire};
use crate::workload::{Planned, Work};

const PATIENCE: Duration = Duration::from_secs(60);

impl Bench<'_> {
    /// Every write is made when all watchers have seen the one before; a time is that of the last watcher.
    pub(super) async fn fan_out(
        &self,
        target: &Target,
        planned: &Planned,
    ) -> Result<Step, BenchError> {
        let Work::FanOut { watchers, writes } = &planned.work else {
            return Err(BenchError::Unfit {
                workload: planned.name.clone(),
                needs: "watchers",
            });
        };
        let (watchers, writes) = (
            watchers.at(self.settings.size),
            writes.at(self.settings.size),
        );
        let collection = Kind::ConfigMap.path(NAMESPACE);
        let name = format!("watched-by-{watchers}");
        let mut wire = Wire::open(&target.control).await?;
        let body = Kind::ConfigMap.object(&name, 0);
        wire.ask(Ask::post(collection.clone(), body)).await?;
        let field = format!("{collection}?fieldSelector=metadata.name%3D{name}");
        let mut lookouts = Vec::with_capacity(watchers);
        for _ in 0..watchers {
            lookouts.push(Lookout::count(&target.control, &field).await?);
        }
        let watching = Watching::begin(target);
        let mut latencies = Latencies::default();
        let mut sent = Duration::ZERO;
        for write in 1..=writes {
            self.progress.advance(write, writes);
            // The first event shows what is there.
            let seen: Vec<usize> = lookouts.iter().map(Lookout::events).collect();
            let begun = Instant::now();
            let patch = format!(r#"{{"data":{{"turn":"{write}"}}}}"#);
            let path = format!("{collection}/{name}");
            let ask = Ask::new(Method::PATCH, path, MERGE_PATCH, patch);
            wire.ask(ask).await?.accepted("patch what is watched")?;
            for (lookout, before) in lookouts.iter_mut().zip(seen) {
                lookout.beyond(before, PATIENCE).await?;
            }
            latencies.push(begun.elapsed());
            sent += begun.elapsed();
        }
        let done = Done {
            count: writes,
            latencies,
            took: Some(sent),
            ..Done::default()
        };
        let mut step = watching.end(&planned.name, target, done);
        step.figure("watchers", watchers as f64);
        step.figure("events/s", (watchers * writes) as f64 / sent.as_secs_f64());
        Ok(step)
    }
}

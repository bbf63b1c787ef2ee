//! Starting, holding, restarting and growing: what needs processes of its own.

use std::time::{Duration, Instant};

use super::Bench;
use super::measure::{Done, NAMESPACE, Watching};
use super::propagate::Templates;
use crate::error::BenchError;
use crate::latency::Latencies;
use crate::objects::Kind;
use crate::report::Step;
use crate::target::Target;
use crate::weight::Weight;
use crate::workload::Stage;

/// How long a process is left alone before its idle memory counts.
const REST: Duration = Duration::from_secs(2);
/// How long a process is looked at to see whether it still works.
const GLANCE: Duration = Duration::from_millis(500);
/// Longer than a control plane in a burst puts anything off: reports wait up to two seconds.
const PUT_OFF: Duration = Duration::from_millis(2_500);
/// A process that uses less of a core than this is quiet.
const QUIET: f64 = 0.05;
const PATIENCE: Duration = Duration::from_secs(300);
pub(super) const MIB: f64 = 1024.0 * 1024.0;

impl Bench<'_> {
    /// From nothing to ready, and what it weighs then.
    pub(super) async fn start(&self, name: &str, members: usize) -> Result<Step, BenchError> {
        let begun = Instant::now();
        let bare = self.settings.own.start(Stage::Server).await?;
        let ready = begun.elapsed();
        let (target, joined) = match members {
            0 => (bare, ready),
            _ => {
                drop(bare);
                let begun = Instant::now();
                let target = self.settings.own.start(Stage::Members(members)).await?;
                (target, begun.elapsed())
            }
        };
        let watching = Watching::begin(&target);
        tokio::time::sleep(REST).await;
        let mut step = watching.end(name, &target, one(joined));
        step.per_second = None;
        step.figure("ready ms", ready.as_secs_f64() * 1e3);
        step.figure("members", members as f64);
        step.figure("idle MiB", target.weight().memory as f64 / MIB);
        step.figure(
            "idle % of a core",
            step.server_share.unwrap_or_default() * 100.0 * cores(),
        );
        Ok(step)
    }

    /// What each object costs in memory, and how soon a server with so many is ready again.
    pub(super) async fn hold(&self, name: &str, objects: usize) -> Result<Step, BenchError> {
        let mut target = self.stage(name, Stage::Server).await?;
        let empty = target.weight().memory;
        let watching = Watching::begin(&target);
        let collection = Kind::ConfigMap.path(NAMESPACE);
        self.fill(&target, &collection, "held", objects).await?;
        let full = target.weight().memory;
        let took = target.restart().await?;
        tokio::time::sleep(REST).await;
        let again = target.weight().memory;
        let mut step = watching.end(name, &target, one(took));
        step.per_second = None;
        step.figure("objects", objects as f64);
        step.figure("ready ms", took.as_secs_f64() * 1e3);
        step.figure("MiB", full as f64 / MIB);
        step.figure("MiB after restart", again as f64 / MIB);
        step.figure(
            "bytes an object",
            full.saturating_sub(empty) as f64 / objects as f64,
        );
        Ok(step)
    }

    /// Kills a control plane that has work in members, and looks how soon it does its work again.
    pub(super) async fn restart(
        &self,
        name: &str,
        members: usize,
        templates: usize,
    ) -> Result<Step, BenchError> {
        let mut target = self.stage(name, Stage::Members(members)).await?;
        let sent = |prefix: &str, count| Templates {
            kind: Kind::ConfigMap,
            count,
            pace: None,
            prefix: prefix.to_owned(),
        };
        self.send(&target, &sent("before-", templates)).await?;
        quiet(&target).await?;
        let begun = Instant::now();
        let ready = target.restart().await?;
        let watching = Watching::begin(&target);
        self.send(&target, &sent("after-", 1)).await?;
        let through = begun.elapsed();
        quiet(&target).await?;
        let settled = begun.elapsed();
        let mut step = watching.end(name, &target, one(through));
        step.per_second = None;
        step.figure("templates", templates as f64);
        step.figure("ready ms", ready.as_secs_f64() * 1e3);
        step.figure("first change ms", through.as_secs_f64() * 1e3);
        step.figure("quiet s", settled.as_secs_f64());
        step.figure("MiB", target.weight().memory as f64 / MIB);
        Ok(step)
    }

    /// Many members, and templates to all of them.
    pub(super) async fn scale(
        &self,
        name: &str,
        members: usize,
        templates: usize,
    ) -> Result<Step, BenchError> {
        let begun = Instant::now();
        let target = self.stage(name, Stage::Members(members)).await?;
        let joined = begun.elapsed();
        quiet(&target).await?;
        let idle = target.weight();
        let watching = Watching::begin(&target);
        let sent = Templates {
            kind: Kind::PausedDeployment,
            count: templates,
            pace: None,
            prefix: "scale-".to_owned(),
        };
        let done = self.send(&target, &sent).await?;
        let took = done.took.unwrap_or_default().as_secs_f64();
        let mut step = watching.end(name, &target, done);
        step.figure("members", members as f64);
        step.figure("join s", joined.as_secs_f64());
        step.figure("idle MiB", idle.memory as f64 / MIB);
        step.figure("MiB", target.weight().memory as f64 / MIB);
        step.figure("copies/s", (templates * members) as f64 / took);
        Ok(step)
    }
}

/// A step that did one thing.
fn one(took: Duration) -> Done {
    let mut latencies = Latencies::default();
    latencies.push(took);
    Done {
        count: 1,
        latencies,
        took: Some(took),
        ..Done::default()
    }
}

fn cores() -> f64 {
    std::thread::available_parallelism().map_or(1, usize::from) as f64
}

/// Waits until the control plane uses no more than a resting one does.
async fn quiet(target: &Target) -> Result<(), BenchError> {
    settled(target, 0.0).await
}

/// Waits until the control plane uses hardly more of a core than `resting`.
pub(super) async fn settled(target: &Target, resting: f64) -> Result<(), BenchError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let share = share_over(target, GLANCE).await;
        if share < resting + QUIET {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(BenchError::Late {
                what: "the control plane's coming to rest".to_owned(),
                seconds: PATIENCE.as_secs(),
                seen: format!("it uses {:.0} % of a core", share * 100.0),
            });
        }
    }
}

/// Waits until the control plane rests, and has nothing left that it only put off.
pub(super) async fn rested(target: &Target) -> Result<(), BenchError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        settled(target, 0.0).await?;
        let share = share_over(target, PUT_OFF).await;
        // Somebody else's server may always have something to do.
        if share < QUIET || Instant::now() > deadline {
            return Ok(());
        }
    }
}

/// How much of a core the control plane uses for so long from now.
pub(super) async fn share_over(target: &Target, period: Duration) -> f64 {
    let (Weight { cpu_seconds, .. }, begun) = (target.weight(), Instant::now());
    tokio::time::sleep(period).await;
    (target.weight().cpu_seconds - cpu_seconds) / begun.elapsed().as_secs_f64()
}

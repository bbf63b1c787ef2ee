//! What the scheduler counts, under the names the reference gives it.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use schedule::{Point, Run, Step, Watch, plugin::Unheard};
use tokio::time::Instant;

use crate::queue::Counts;

/// Upper bounds of the durations that are told apart, in seconds: from a millisecond, doubling.
const BOUNDS: [f64; 15] = [
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096,
    8.192, 16.384,
];

/// The same for plugins, which are done with a cluster in no time: from ten microseconds, by half as much again.
const PLUGIN_BOUNDS: [f64; 20] = [
    0.000_01,
    0.000_015,
    0.000_022_5,
    0.000_033_75,
    0.000_050_625,
    0.000_075_937_5,
    0.000_113_906_25,
    0.000_170_859_375,
    0.000_256_289_062_5,
    0.000_384_433_593_75,
    0.000_576_650_390_625,
    0.000_864_975_585_937_5,
    0.001_297_463_378_906_25,
    0.001_946_195_068_359_375,
    0.002_919_292_602_539_062_5,
    0.004_378_938_903_808_594,
    0.006_568_408_355_712_89,
    0.009_852_612_533_569_336,
    0.014_778_918_800_354_004,
    0.022_168_378_200_531_005,
];

/// Of so many decisions one is looked at closely, plugin by plugin. Upstream: of ten.
const CLOSE: u64 = 50;

/// How an attempt ended, as the reference tells it: a binding for which no cluster is allowed counts as scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is nothing to try again.
    Scheduled,
    /// It will be tried again.
    Error,
}

/// What brought a binding to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// It is new.
    BindingAdd,
    /// It was edited.
    BindingUpdate,
    /// An attempt failed.
    ScheduleAttemptFailure,
    /// A cluster changed.
    ClusterChanged,
}

const INCOMING: [&str; 4] = [
    "BindingAdd",
    "BindingUpdate",
    "ScheduleAttemptFailure",
    "ClusterChanged",
];
const OUTCOMES: [&str; 2] = ["scheduled", "error"];
const STEPS: [&str; 4] = ["Filter", "Score", "Select", "AssignReplicas"];
const TYPES: [&str; 2] = ["ReconcileSchedule", "ScaleSchedule"];

/// All that is counted.
#[derive(Debug, Default)]
pub struct Metrics {
    /// By outcome and type of schedule.
    attempts: [[Histogram; 2]; 2],
    /// By step.
    steps: [Histogram; 4],
    /// By plugin, point and run, of some decisions.
    plugins: Mutex<BTreeMap<Ran, PluginHistogram>>,
    /// Decisions watched.
    watched: AtomicU64,
    incoming: [AtomicU64; 4],
    /// Decisions made again because another took the room first.
    overtaken: AtomicU64,
    /// Decisions that waited for an estimator or a webhook.
    waited: AtomicU64,
    /// Writes refused because the binding had changed.
    conflicts: AtomicU64,
    /// Times a plugin was not heard, by its name and by whether nothing was decided without it.
    unheard: Mutex<BTreeMap<(Arc<str>, bool), u64>>,
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    nanos: AtomicU64,
}

/// Which plugin ran where, and how it fared.
type Ran = (Arc<str>, Point, Run);

#[derive(Clone, Debug, Default)]
struct PluginHistogram {
    buckets: [u64; PLUGIN_BOUNDS.len()],
    count: u64,
    nanos: u64,
}

/// The watch over one decision.
#[derive(Debug)]
pub struct Stopwatch<'m> {
    metrics: &'m Metrics,
    is_close: bool,
    /// When the last step was done.
    step: Cell<Instant>,
    /// When the last plugin was.
    plugin: Cell<Instant>,
}

impl Watch for Stopwatch<'_> {
    fn done(&self, step: Step) {
        let now = Instant::now();
        let before = self.step.replace(now);
        self.plugin.set(now);
        self.metrics.stepped(step, now.duration_since(before));
    }

    fn is_close(&self) -> bool {
        self.is_close
    }

    fn ran(&self, plugin: &Arc<str>, point: Point, run: Run) {
        let took = self.plugin.get().elapsed();
        self.metrics.plugin_ran(plugin, point, run, took);
        // What counting took is nobody's.
        self.plugin.set(Instant::now());
    }
}

impl Metrics {
    /// Counts an attempt of a type and how long it took, writes included.
    pub fn attempted(&self, outcome: Outcome, schedule_type: &str, took: Duration) {
        let outcome = &self.attempts[usize::from(outcome == Outcome::Error)];
        outcome[usize::from(schedule_type == TYPES[1])].observe(took);
    }

    /// Counts a step of a decision and how long it took.
    pub fn stepped(&self, step: Step, took: Duration) {
        let slot = match step {
            Step::Filter => 0,
            Step::Score => 1,
            Step::Select => 2,
            Step::AssignReplicas => 3,
        };
        self.steps[slot].observe(took);
    }

    /// Begins to watch a decision.
    #[must_use]
    pub fn watch(&self) -> Stopwatch<'_> {
        let now = Instant::now();
        Stopwatch {
            metrics: self,
            is_close: self.watched.fetch_add(1, Relaxed).is_multiple_of(CLOSE),
            step: Cell::new(now),
            plugin: Cell::new(now),
        }
    }

    fn plugin_ran(&self, plugin: &Arc<str>, point: Point, run: Run, took: Duration) {
        // Counted by plain code that does not panic.
        let plugins = self.plugins.lock();
        let mut plugins = plugins.unwrap_or_else(PoisonError::into_inner);
        let key = (Arc::clone(plugin), point, run);
        let histogram = plugins.entry(key).or_default();
        let seconds = took.as_secs_f64();
        let bucket = PLUGIN_BOUNDS.iter().position(|bound| seconds <= *bound);
        if let Some(count) = bucket.and_then(|bucket| histogram.buckets.get_mut(bucket)) {
            *count += 1;
        }
        histogram.count += 1;
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        histogram.nanos = histogram.nanos.saturating_add(nanos);
    }

    /// Counts a binding that was brought to the queue.
    pub fn came(&self, why: Incoming) {
        let slot = match why {
            Incoming::BindingAdd => 0,
            Incoming::BindingUpdate => 1,
            Incoming::ScheduleAttemptFailure => 2,
            Incoming::ClusterChanged => 3,
        };
        self.incoming[slot].fetch_add(1, Relaxed);
    }

    /// Counts a decision that is made again because another took the room, or a place of its groups, first.
    pub fn overtaken(&self) {
        self.overtaken.fetch_add(1, Relaxed);
    }

    /// Counts a decision that waits for an estimator or a webhook.
    pub fn waited(&self) {
        self.waited.fetch_add(1, Relaxed);
    }

    /// Counts a write that was refused because the binding had changed.
    pub fn conflicted(&self) {
        self.conflicts.fetch_add(1, Relaxed);
    }

    /// Counts a decision about which a plugin was asked and not heard.
    pub fn unheard(&self, unheard: &Unheard) {
        let counts = self.unheard.lock();
        let mut counts = counts.unwrap_or_else(PoisonError::into_inner);
        let key = (Arc::clone(&unheard.plugin), unheard.ends.is_some());
        *counts.entry(key).or_default() += 1;
    }

    /// How many attempts there were.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        let all = self.attempts.iter().flatten();
        all.map(|histogram| histogram.count.load(Relaxed)).sum()
    }

    /// Everything, in the text format of Prometheus.
    #[must_use]
    pub fn render(&self, counts: Counts) -> String {
        let mut text = String::new();
        self.render_attempts(&mut text);
        let name = "karmada_scheduler_scheduling_algorithm_duration_seconds";
        let _ = writeln!(text, "# TYPE {name} histogram");
        for (step, histogram) in STEPS.iter().zip(&self.steps) {
            histogram.render(&mut text, name, &format!("schedule_step=\"{step}\""));
        }
        let name = "karmada_scheduler_framework_extension_point_duration_seconds";
        let _ = writeln!(text, "# TYPE {name} histogram");
        for (point, histogram) in STEPS.iter().zip(&self.steps).take(2) {
            let labels = format!("extension_point=\"{point}\",result=\"Success\"");
            histogram.render(&mut text, name, &labels);
        }
        self.render_plugins(&mut text);
        self.render_unheard(&mut text);
        let name = "karmada_scheduler_queue_incoming_bindings_total";
        let _ = writeln!(text, "# TYPE {name} counter");
        for (event, count) in INCOMING.iter().zip(&self.incoming) {
            let _ = writeln!(text, "{name}{{event=\"{event}\"}} {}", count.load(Relaxed));
        }
        let name = "scheduler_pending_bindings";
        let _ = writeln!(text, "# TYPE {name} gauge");
        let Counts {
            active,
            backoff,
            unschedulable,
            in_work,
        } = counts;
        for (queue, count) in [
            ("active", active),
            ("backoff", backoff),
            ("unschedulable", unschedulable),
        ] {
            let _ = writeln!(text, "{name}{{queue=\"{queue}\"}} {count}");
        }
        for (name, kind, count) in [
            (
                "karavel_scheduler_decisions_in_work",
                "gauge",
                in_work as u64,
            ),
            (
                "karavel_scheduler_decisions_overtaken_total",
                "counter",
                self.overtaken.load(Relaxed),
            ),
            (
                "karavel_scheduler_decisions_waited_total",
                "counter",
                self.waited.load(Relaxed),
            ),
            (
                "karavel_scheduler_write_conflicts_total",
                "counter",
                self.conflicts.load(Relaxed),
            ),
        ] {
            let _ = writeln!(text, "# TYPE {name} {kind}\n{name} {count}");
        }
        text
    }

    fn render_plugins(&self, text: &mut String) {
        let name = "karmada_scheduler_plugin_execution_duration_seconds";
        let _ = writeln!(text, "# TYPE {name} histogram");
        let plugins = self.plugins.lock();
        let plugins = plugins.unwrap_or_else(PoisonError::into_inner).clone();
        for ((plugin, point, run), histogram) in plugins {
            let labels =
                format!("plugin=\"{plugin}\",extension_point=\"{point:?}\",result=\"{run:?}\"");
            let PluginHistogram {
                buckets,
                count,
                nanos,
            } = histogram;
            let buckets = PLUGIN_BOUNDS.iter().zip(buckets);
            write_histogram(text, name, &labels, buckets, count, nanos);
        }
    }

    fn render_unheard(&self, text: &mut String) {
        let counts = self.unheard.lock();
        let counts = counts.unwrap_or_else(PoisonError::into_inner).clone();
        let name = "karavel_scheduler_plugin_unheard_total";
        let _ = writeln!(text, "# TYPE {name} counter");
        for ((plugin, ends), count) in counts {
            let policy = if ends { "Fail" } else { "Ignore" };
            let labels = format!("plugin=\"{plugin}\",failure_policy=\"{policy}\"");
            let _ = writeln!(text, "{name}{{{labels}}} {count}");
        }
    }

    fn render_attempts(&self, text: &mut String) {
        let each = || {
            let outcomes = OUTCOMES.iter().zip(&self.attempts);
            outcomes.flat_map(|(outcome, by_type)| {
                let types = TYPES.iter().zip(by_type);
                types.map(move |(schedule_type, histogram)| {
                    let labels = format!("result=\"{outcome}\",schedule_type=\"{schedule_type}\"");
                    (labels, histogram)
                })
            })
        };
        let name = "karmada_scheduler_schedule_attempts_total";
        let _ = writeln!(text, "# TYPE {name} counter");
        for (labels, histogram) in each() {
            let _ = writeln!(text, "{name}{{{labels}}} {}", histogram.count.load(Relaxed));
        }
        let name = "karmada_scheduler_e2e_scheduling_duration_seconds";
        let _ = writeln!(text, "# TYPE {name} histogram");
        for (labels, histogram) in each() {
            histogram.render(text, name, &labels);
        }
    }
}

impl Histogram {
    fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[bucket].fetch_add(1, Relaxed);
        }
        self.count.fetch_add(1, Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Relaxed);
    }

    fn render(&self, text: &mut String, name: &str, labels: &str) {
        let buckets = self.buckets.iter().map(|bucket| bucket.load(Relaxed));
        let (count, nanos) = (self.count.load(Relaxed), self.nanos.load(Relaxed));
        write_histogram(text, name, labels, BOUNDS.iter().zip(buckets), count, nanos);
    }
}

fn write_histogram<'b>(
    text: &mut String,
    name: &str,
    labels: &str,
    buckets: impl Iterator<Item = (&'b f64, u64)>,
    count: u64,
    nanos: u64,
) {
    let mut sum = 0;
    for (bound, bucket) in buckets {
        sum += bucket;
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {sum}");
    }
    let seconds = Duration::from_nanos(nanos).as_secs_f64();
    let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
    let _ = writeln!(text, "{name}_sum{{{labels}}} {seconds}");
    let _ = writeln!(text, "{name}_count{{{labels}}} {count}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_shown_under_the_references_names() {
        let metrics = Metrics::default();
        metrics.attempted(
            Outcome::Scheduled,
            "ScaleSchedule",
            Duration::from_millis(3),
        );
        metrics.attempted(Outcome::Error, "ReconcileSchedule", Duration::from_secs(60));
        metrics.came(Incoming::ClusterChanged);
        metrics.stepped(Step::Select, Duration::from_micros(3));
        let name: Arc<str> = "ClusterAffinity".into();
        for (run, micros) in [
            (Run::Success, 11),
            (Run::Success, 40),
            (Run::Unschedulable, 1),
        ] {
            metrics.plugin_ran(&name, Point::Filter, run, Duration::from_micros(micros));
        }
        metrics.unheard(&Unheard {
            plugin: "Carbon".into(),
            why: "late".into(),
            ends: None,
        });
        let text = metrics.render(Counts {
            unschedulable: 7,
            ..Counts::default()
        });
        for line in [
            "karmada_scheduler_schedule_attempts_total{result=\"scheduled\",schedule_type=\"ScaleSchedule\"} 1",
            "karmada_scheduler_e2e_scheduling_duration_seconds_bucket{result=\"scheduled\",schedule_type=\"ScaleSchedule\",le=\"0.002\"} 0",
            "karmada_scheduler_e2e_scheduling_duration_seconds_bucket{result=\"scheduled\",schedule_type=\"ScaleSchedule\",le=\"0.004\"} 1",
            "karmada_scheduler_e2e_scheduling_duration_seconds_bucket{result=\"error\",schedule_type=\"ReconcileSchedule\",le=\"16.384\"} 0",
            "karmada_scheduler_e2e_scheduling_duration_seconds_bucket{result=\"error\",schedule_type=\"ReconcileSchedule\",le=\"+Inf\"} 1",
            "karmada_scheduler_queue_incoming_bindings_total{event=\"ClusterChanged\"} 1",
            "scheduler_pending_bindings{queue=\"unschedulable\"} 7",
            "karavel_scheduler_plugin_unheard_total{plugin=\"Carbon\",failure_policy=\"Ignore\"} 1",
            "karmada_scheduler_plugin_execution_duration_seconds_bucket{plugin=\"ClusterAffinity\",extension_point=\"Filter\",result=\"Success\",le=\"0.000015\"} 1",
            "karmada_scheduler_plugin_execution_duration_seconds_count{plugin=\"ClusterAffinity\",extension_point=\"Filter\",result=\"Success\"} 2",
            "karmada_scheduler_plugin_execution_duration_seconds_count{plugin=\"ClusterAffinity\",extension_point=\"Filter\",result=\"Unschedulable\"} 1",
            "karmada_scheduler_scheduling_algorithm_duration_seconds_count{schedule_step=\"Select\"} 1",
            "karmada_scheduler_framework_extension_point_duration_seconds_count{extension_point=\"Filter\",result=\"Success\"} 0",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
        assert_eq!(metrics.attempts(), 2);
    }
}

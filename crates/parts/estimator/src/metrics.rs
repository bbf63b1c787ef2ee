//! What is counted, under the reference's names.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use protocol::Question;
use tokio::time::Instant;

/// The calls, in the order of [`index`].
const TYPES: [&str; 3] = [
    "MaxAvailableReplicas",
    "MaxAvailableComponentSets",
    "GetUnschedulableReplicas",
];
/// The steps of the last of them that are told apart, in the order of [`Step`].
const STEPS: [&str; 2] = ["GetObjectFromCache", "GetWorkloadUnschedulablePods"];
/// What is estimated, in the order of [`Point`].
const POINTS: [&str; 2] = ["estimate_replicas", "estimate_components"];
/// What estimates are made from, in the order of [`Limit`].
const LIMITS: [&str; 2] = ["NodeResourceEstimator", "ResourceQuotaEstimator"];
const RESULTS: [&str; 2] = ["success", "error"];
/// Upper bounds of the histograms' buckets, in seconds: from a tenth of a millisecond, doubling.
const BOUNDS: [f64; 12] = [
    0.0001, 0.0002, 0.0004, 0.0008, 0.0016, 0.0032, 0.0064, 0.0128, 0.0256, 0.0512, 0.1024, 1.0,
];
/// How many bounds there may be.
const BUCKETS: usize = 20;
/// The same for what estimates are made from, which mostly takes no time: from ten microseconds, by half as much again.
const LIMIT_BOUNDS: [f64; BUCKETS] = [
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

/// Counts of one estimator, or of those of one process together.
#[derive(Debug, Default)]
pub struct Metrics {
    answers: [[Histogram; 3]; 2],
    steps: [[Histogram; 2]; 2],
    points: [Histogram; 2],
    /// By what they are made from and what is estimated.
    limits: [[Histogram; 2]; 2],
}

/// A step of counting pods without a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Finding the workload. Here it is asked for: workloads are not followed.
    Workload,
    /// Finding its pods, and counting.
    Pods,
}

/// What is estimated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// Replicas of one template.
    Replicas,
    /// Sets of components.
    Sets,
}

/// What an estimate is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// Room on nodes.
    Nodes,
    /// Quotas of a namespace.
    Quotas,
}

#[derive(Debug, Default)]
struct Histogram {
    /// As many of them as there are bounds.
    buckets: [AtomicU64; BUCKETS],
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Metrics {
    /// Counts an answer, or a refusal.
    pub(crate) fn answered(&self, question: &Question, is_answer: bool, took: Duration) {
        let result = usize::from(!is_answer);
        let by_type = self
            .answers
            .get(result)
            .and_then(|by_type| by_type.get(index(question)));
        if let Some(histogram) = by_type {
            histogram.observe(&BOUNDS, took);
        }
    }

    /// Counts a step that began at `begun` and is done now.
    pub(crate) fn stepped(&self, step: Step, is_ok: bool, begun: Instant) {
        let [success, error] = &self.steps;
        let [workload, pods] = if is_ok { success } else { error };
        let histogram = match step {
            Step::Workload => workload,
            Step::Pods => pods,
        };
        histogram.observe(&BOUNDS, begun.elapsed());
    }

    /// Makes an estimate, and counts how long it took.
    pub(crate) fn estimating<T>(&self, point: Point, estimate: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let estimated = estimate();
        of(point, &self.points).observe(&BOUNDS, begun.elapsed());
        estimated
    }

    /// Looks at one thing that limits an estimate, and counts how long it took.
    pub(crate) fn limiting<T>(&self, limit: Limit, point: Point, look: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let found = look();
        let [nodes, quotas] = &self.limits;
        let by_point = match limit {
            Limit::Nodes => nodes,
            Limit::Quotas => quotas,
        };
        of(point, by_point).observe(&LIMIT_BOUNDS, begun.elapsed());
        found
    }

    /// Everything, in the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        let each = || {
            RESULTS
                .iter()
                .zip(&self.answers)
                .flat_map(|(result, by_type)| {
                    let types = TYPES.iter().zip(by_type);
                    types.map(move |(call, histogram)| (result, call, histogram))
                })
        };
        let mut text = String::new();
        let name = "karmada_scheduler_estimator_estimating_request_total";
        let _ = writeln!(text, "# TYPE {name} counter");
        for (result, call, histogram) in each() {
            let count = histogram.count.load(Relaxed);
            let _ = writeln!(
                text,
                "{name}{{result=\"{result}\",type=\"{call}\"}} {count}"
            );
        }
        let name = "karmada_scheduler_estimator_estimating_algorithm_duration_seconds";
        let _ = writeln!(text, "# TYPE {name} histogram");
        for (result, call, histogram) in each() {
            let labels = format!("result=\"{result}\",step=\"Total\",type=\"{call}\"");
            histogram.render(&BOUNDS, &mut text, name, &labels);
        }
        let [.., call] = TYPES;
        for (result, by_step) in RESULTS.iter().zip(&self.steps) {
            for (step, histogram) in STEPS.iter().zip(by_step) {
                let labels = format!("result=\"{result}\",step=\"{step}\",type=\"{call}\"");
                histogram.render(&BOUNDS, &mut text, name, &labels);
            }
        }
        self.render_estimates(&mut text);
        text
    }

    fn render_estimates(&self, text: &mut String) {
        let label = |point: &str| format!("estimating_plugin_extension_point=\"{point}\"");
        let name = "karmada_scheduler_estimator_estimating_plugin_extension_point_duration_seconds";
        let _ = writeln!(text, "# TYPE {name} histogram");
        for (point, histogram) in POINTS.iter().zip(&self.points) {
            histogram.render(&BOUNDS, text, name, &label(point));
        }
        let name = "karmada_scheduler_estimator_estimating_plugin_execution_duration_seconds";
        let _ = writeln!(text, "# TYPE {name} histogram");
        for (limit, by_point) in LIMITS.iter().zip(&self.limits) {
            for (point, histogram) in POINTS.iter().zip(by_point) {
                let labels = format!("estimating_plugin=\"{limit}\",{}", label(point));
                histogram.render(&LIMIT_BOUNDS, text, name, &labels);
            }
        }
    }
}

fn index(question: &Question) -> usize {
    match question {
        Question::Replicas(_) => 0,
        Question::Sets(_) => 1,
        Question::Unschedulable(_) => 2,
    }
}

fn of(point: Point, histograms: &[Histogram; 2]) -> &Histogram {
    let [replicas, sets] = histograms;
    match point {
        Point::Replicas => replicas,
        Point::Sets => sets,
    }
}

impl Histogram {
    fn observe(&self, bounds: &[f64], took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = bounds.iter().position(|bound| seconds <= *bound);
        if let Some(bucket) = bucket.and_then(|bucket| self.buckets.get(bucket)) {
            bucket.fetch_add(1, Relaxed);
        }
        self.count.fetch_add(1, Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Relaxed);
    }

    fn render(&self, bounds: &[f64], text: &mut String, name: &str, labels: &str) {
        let mut sum = 0;
        for (bound, bucket) in bounds.iter().zip(&self.buckets) {
            sum += bucket.load(Relaxed);
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {sum}");
        }
        let count = self.count.load(Relaxed);
        let seconds = Duration::from_nanos(self.nanos.load(Relaxed)).as_secs_f64();
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
        let _ = writeln!(text, "{name}_sum{{{labels}}} {seconds}");
        let _ = writeln!(text, "{name}_count{{{labels}}} {count}");
    }
}

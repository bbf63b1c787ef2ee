//! What is counted, under the reference's names.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use protocol::Question;

/// The calls, in the order of [`index`].
const TYPES: [&str; 3] = [
    "MaxAvailableReplicas",
    "MaxAvailableComponentSets",
    "GetUnschedulableReplicas",
];
const RESULTS: [&str; 2] = ["success", "error"];
/// Upper bounds of the histograms' buckets, in seconds: from a tenth of a millisecond, doubling.
const BOUNDS: [f64; 12] = [
    0.0001, 0.0002, 0.0004, 0.0008, 0.0016, 0.0032, 0.0064, 0.0128, 0.0256, 0.0512, 0.1024, 1.0,
];

/// Counts of one estimator, or of those of one process together.
#[derive(Debug, Default)]
pub struct Metrics {
    answers: [[Histogram; 3]; 2],
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [AtomicU64; BOUNDS.len()],
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
            histogram.observe(took);
        }
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
            histogram.render(&mut text, name, &labels);
        }
        text
    }
}

fn index(question: &Question) -> usize {
    match question {
        Question::Replicas(_) => 0,
        Question::Sets(_) => 1,
        Question::Unschedulable(_) => 2,
    }
}

impl Histogram {
    fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound);
        if let Some(bucket) = bucket.and_then(|bucket| self.buckets.get(bucket)) {
            bucket.fetch_add(1, Relaxed);
        }
        self.count.fetch_add(1, Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Relaxed);
    }

    fn render(&self, text: &mut String, name: &str, labels: &str) {
        let mut sum = 0;
        for (bound, bucket) in BOUNDS.iter().zip(&self.buckets) {
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

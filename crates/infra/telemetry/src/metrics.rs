//! What is counted and measured, and how Prometheus reads it.
//!
//! A [`Registry`] holds one server's figures; whoever measures is handed it. Names are an enum, so that they are all in one
//! place and none is written in two ways. Labels have few values: never names of objects or users.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Everything that can be counted or measured. Names that Kubernetes has are Kubernetes'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Requests answered.
    ApiserverRequestTotal,
    /// How long answers took.
    ApiserverRequestDurationSeconds,
    /// Requests being answered now, watches apart.
    ApiserverCurrentInflightRequests,
    /// Watches and other requests without an end of their own that are open now.
    ApiserverLongrunningRequests,
    /// Objects kept, by resource.
    ApiserverStorageObjects,
    /// Reconciliations finished, by controller and result.
    ControlReconcileTotal,
    /// How long reconciliations took, by controller.
    ControlReconcileDurationSeconds,
    /// Keys that wait, by controller.
    WorkqueueDepth,
    /// Keys put into queues, by controller.
    WorkqueueAddsTotal,
    /// Writes that plans asked for, by action and result.
    ControlActionsTotal,
    /// Scheduling attempts, by result.
    SchedulerAttemptsTotal,
    /// How long scheduling took from the queue to the decision.
    SchedulerDurationSeconds,
    /// Time the process has computed.
    ProcessCpuSecondsTotal,
    /// Memory the process holds.
    ProcessResidentMemoryBytes,
    /// Memory the process has reserved.
    ProcessVirtualMemoryBytes,
    /// Files and connections the process has open.
    ProcessOpenFds,
    /// How many it may have open.
    ProcessMaxFds,
    /// When the process was started, in seconds since 1970.
    ProcessStartTimeSeconds,
}

/// How figures of a metric behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts how often a figure was below each of a list of bounds.
    Histogram,
}

/// The figures of one server.
#[derive(Clone, Default)]
pub struct Registry {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// A lock held for a lookup and an addition; reading copies nothing under it but the text.
    series: Mutex<BTreeMap<Metric, BTreeMap<Labels, Figure>>>,
    collectors: Mutex<Vec<Collector>>,
    /// What parts count themselves, by part.
    texts: Mutex<BTreeMap<&'static str, Text>>,
}

/// The values of a metric's labels, in the order of their names.
type Labels = Box<[Box<str>]>;
type Collector = Box<dyn Fn(&Registry) + Send + Sync>;
type Text = Box<dyn Fn() -> String + Send + Sync>;

enum Figure {
    Number(f64),
    Histogram {
        /// How many were within each bound and not within the one before.
        counts: Box<[u64]>,
        beyond: u64,
        sum: f64,
    },
}

/// Kubernetes' bounds for the time a request takes, in seconds.
const BOUNDS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0,
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
];

const REQUEST_LABELS: &[&str] = &[
    "component",
    "dry_run",
    "group",
    "resource",
    "scope",
    "subresource",
    "verb",
    "version",
];

impl Metric {
    /// The name Prometheus knows it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ApiserverRequestTotal => "apiserver_request_total",
            Self::ApiserverRequestDurationSeconds => "apiserver_request_duration_seconds",
            Self::ApiserverCurrentInflightRequests => "apiserver_current_inflight_requests",
            Self::ApiserverLongrunningRequests => "apiserver_longrunning_requests",
            Self::ApiserverStorageObjects => "apiserver_storage_objects",
            Self::ControlReconcileTotal => "control_reconcile_total",
            Self::ControlReconcileDurationSeconds => "control_reconcile_duration_seconds",
            Self::WorkqueueDepth => "workqueue_depth",
            Self::WorkqueueAddsTotal => "workqueue_adds_total",
            Self::ControlActionsTotal => "control_actions_total",
            Self::SchedulerAttemptsTotal => "scheduler_attempts_total",
            Self::SchedulerDurationSeconds => "scheduler_duration_seconds",
            Self::ProcessCpuSecondsTotal => "process_cpu_seconds_total",
            Self::ProcessResidentMemoryBytes => "process_resident_memory_bytes",
            Self::ProcessVirtualMemoryBytes => "process_virtual_memory_bytes",
            Self::ProcessOpenFds => "process_open_fds",
            Self::ProcessMaxFds => "process_max_fds",
            Self::ProcessStartTimeSeconds => "process_start_time_seconds",
        }
    }

    /// What it says, in a sentence.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::ApiserverRequestTotal => "Requests answered.",
            Self::ApiserverRequestDurationSeconds => "Seconds until requests were answered.",
            Self::ApiserverCurrentInflightRequests => "Requests being answered, watches apart.",
            Self::ApiserverLongrunningRequests => {
                "Watches and other lasting requests that are open."
            }
            Self::ApiserverStorageObjects => "Objects kept.",
            Self::ControlReconcileTotal => "Reconciliations finished.",
            Self::ControlReconcileDurationSeconds => "Seconds reconciliations took.",
            Self::WorkqueueDepth => "Keys that wait.",
            Self::WorkqueueAddsTotal => "Keys put into the queue.",
            Self::ControlActionsTotal => "Writes that plans asked for.",
            Self::SchedulerAttemptsTotal => "Scheduling attempts.",
            Self::SchedulerDurationSeconds => "Seconds scheduling took.",
            Self::ProcessCpuSecondsTotal => "Seconds of processor time used.",
            Self::ProcessResidentMemoryBytes => "Bytes of memory held.",
            Self::ProcessVirtualMemoryBytes => "Bytes of memory reserved.",
            Self::ProcessOpenFds => "Files and connections open.",
            Self::ProcessMaxFds => "Files and connections that may be open.",
            Self::ProcessStartTimeSeconds => "When the process started, in seconds since 1970.",
        }
    }

    /// How its figures behave.
    #[must_use]
    pub fn sort(self) -> Sort {
        match self {
            Self::ApiserverRequestDurationSeconds
            | Self::ControlReconcileDurationSeconds
            | Self::SchedulerDurationSeconds => Sort::Histogram,
            Self::ApiserverCurrentInflightRequests
            | Self::ApiserverLongrunningRequests
            | Self::ApiserverStorageObjects
            | Self::WorkqueueDepth
            | Self::ProcessResidentMemoryBytes
            | Self::ProcessVirtualMemoryBytes
            | Self::ProcessOpenFds
            | Self::ProcessMaxFds
            | Self::ProcessStartTimeSeconds => Sort::Gauge,
            _ => Sort::Counter,
        }
    }

    /// The names of its labels, in the order their values are given.
    #[must_use]
    pub fn labels(self) -> &'static [&'static str] {
        match self {
            Self::ApiserverRequestTotal => &[
                "component",
                "dry_run",
                "group",
                "resource",
                "scope",
                "subresource",
                "verb",
                "version",
                "code",
            ],
            Self::ApiserverRequestDurationSeconds | Self::ApiserverLongrunningRequests => {
                REQUEST_LABELS
            }
            Self::ApiserverCurrentInflightRequests => &["request_kind"],
            Self::ApiserverStorageObjects => &["resource"],
            Self::ControlReconcileTotal => &["controller", "result"],
            Self::ControlReconcileDurationSeconds => &["controller"],
            Self::WorkqueueDepth | Self::WorkqueueAddsTotal => &["name"],
            Self::ControlActionsTotal => &["action", "result"],
            Self::SchedulerAttemptsTotal => &["result"],
            _ => &[],
        }
    }
}

impl Registry {
    /// Adds to a counter, or to a gauge, which may also be lowered. `values` are those of the metric's labels.
    pub fn add(&self, metric: Metric, values: &[&str], amount: f64) {
        self.with(metric, values, |figure| {
            if let Figure::Number(number) = figure {
                *number += amount;
            }
        });
    }

    /// Sets a gauge, or a counter that somebody else counts.
    pub fn set(&self, metric: Metric, values: &[&str], number: f64) {
        self.with(metric, values, |figure| *figure = Figure::Number(number));
    }

    /// Adds a figure to a histogram.
    pub fn observe(&self, metric: Metric, values: &[&str], took: Duration) {
        let seconds = took.as_secs_f64();
        self.with(metric, values, |figure| {
            let Figure::Histogram {
                counts,
                beyond,
                sum,
            } = figure
            else {
                return;
            };
            *sum += seconds;
            let place = BOUNDS.partition_point(|bound| *bound < seconds);
            *counts.get_mut(place).unwrap_or(beyond) += 1;
        });
    }

    /// Lets somebody bring figures up to date before they are read.
    pub fn on_reading(&self, collector: impl Fn(&Self) + Send + Sync + 'static) {
        lock(&self.inner.collectors).push(Box::new(collector));
    }

    /// Lets a part that counts by itself say its figures along with the others', in Prometheus' text; the later of two
    /// for the same part counts.
    pub fn include(&self, part: &'static str, text: impl Fn() -> String + Send + Sync + 'static) {
        lock(&self.inner.texts).insert(part, Box::new(text));
    }

    /// Everything, as Prometheus reads it.
    #[must_use]
    pub fn text(&self) -> String {
        for collector in lock(&self.inner.collectors).iter() {
            collector(self);
        }
        let mut out = String::with_capacity(4096);
        for (metric, figures) in lock(&self.inner.series).iter() {
            let sort = match metric.sort() {
                Sort::Counter => "counter",
                Sort::Gauge => "gauge",
                Sort::Histogram => "histogram",
            };
            let name = metric.name();
            let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {sort}", metric.help());
            for (values, figure) in figures {
                write_figure(&mut out, *metric, values, figure);
            }
        }
        for text in lock(&self.inner.texts).values() {
            out.push_str(&text());
        }
        out
    }

    fn with(&self, metric: Metric, values: &[&str], change: impl FnOnce(&mut Figure)) {
        debug_assert_eq!(values.len(), metric.labels().len(), "{metric:?}");
        let key: Labels = values.iter().map(|value| Box::from(*value)).collect();
        let mut series = lock(&self.inner.series);
        let figures = series.entry(metric).or_default();
        change(figures.entry(key).or_insert_with(|| match metric.sort() {
            Sort::Histogram => Figure::Histogram {
                counts: BOUNDS.map(|_| 0).into(),
                beyond: 0,
                sum: 0.0,
            },
            Sort::Counter | Sort::Gauge => Figure::Number(0.0),
        }));
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Registry")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Figures are whole after every change, so that a panic elsewhere leaves nothing broken.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_figure(out: &mut String, metric: Metric, values: &[Box<str>], figure: &Figure) {
    let labels: Vec<String> = metric
        .labels()
        .iter()
        .zip(values)
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    let labels = labels.join(",");
    let name = metric.name();
    let line = |out: &mut String, suffix: &str, bound: &str, number: f64| {
        let bound = if bound.is_empty() {
            String::new()
        } else {
            format!("le=\"{bound}\"")
        };
        let comma = if labels.is_empty() || bound.is_empty() {
            ""
        } else {
            ","
        };
        let all = format!("{labels}{comma}{bound}");
        let braces = if all.is_empty() {
            String::new()
        } else {
            format!("{{{all}}}")
        };
        let _ = writeln!(out, "{name}{suffix}{braces} {number}");
    };
    match figure {
        Figure::Number(number) => line(out, "", "", *number),
        Figure::Histogram {
            counts,
            beyond,
            sum,
        } => {
            let mut within = 0;
            for (bound, count) in BOUNDS.iter().zip(counts) {
                within += count;
                line(out, "_bucket", &bound.to_string(), within as f64);
            }
            within += beyond;
            line(out, "_bucket", "+Inf", within as f64);
            line(out, "_sum", "", *sum);
            line(out, "_count", "", within as f64);
        }
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_prometheus_reads_them() {
        let registry = Registry::default();
        registry.add(Metric::ControlReconcileTotal, &["binding", "ok"], 2.0);
        registry.add(Metric::ControlReconcileTotal, &["b\"\\\n", "ok"], 1.0);
        registry.add(Metric::ApiserverCurrentInflightRequests, &["mutating"], 3.0);
        registry.add(
            Metric::ApiserverCurrentInflightRequests,
            &["mutating"],
            -1.0,
        );
        registry.on_reading(|registry| registry.set(Metric::ProcessOpenFds, &[], 7.0));
        let text = registry.text();
        for line in [
            "# TYPE control_reconcile_total counter",
            "control_reconcile_total{controller=\"binding\",result=\"ok\"} 2",
            "control_reconcile_total{controller=\"b\\\"\\\\\\n\",result=\"ok\"} 1",
            "apiserver_current_inflight_requests{request_kind=\"mutating\"} 2",
            "process_open_fds 7",
        ] {
            assert!(text.lines().any(|have| have == line), "{line}\n{text}");
        }
    }

    #[test]
    fn histograms_count_what_is_within_each_bound() {
        let registry = Registry::default();
        for millis in [1, 5, 30, 700_000] {
            let took = Duration::from_millis(millis);
            registry.observe(Metric::ControlReconcileDurationSeconds, &["x"], took);
        }
        let text = registry.text();
        for line in [
            "control_reconcile_duration_seconds_bucket{controller=\"x\",le=\"0.005\"} 2",
            "control_reconcile_duration_seconds_bucket{controller=\"x\",le=\"0.05\"} 3",
            "control_reconcile_duration_seconds_bucket{controller=\"x\",le=\"60\"} 3",
            "control_reconcile_duration_seconds_bucket{controller=\"x\",le=\"+Inf\"} 4",
            "control_reconcile_duration_seconds_sum{controller=\"x\"} 700.036",
            "control_reconcile_duration_seconds_count{controller=\"x\"} 4",
        ] {
            assert!(text.lines().any(|have| have == line), "{line}\n{text}");
        }
    }
}

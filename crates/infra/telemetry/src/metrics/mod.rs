//! What is counted and measured, and how Prometheus reads it.
//!
//! A [`Registry`] holds one server's figures; whoever measures is handed it. Names are an enum, so that they are all in one
//! place and none is written in two ways. Labels have few values: never names of objects or users. Members are the exception:
//! there are some hundreds of them, and their figures are forgotten when they go.

mod names;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use self::names::{MEMBER, Metric, Sort};

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
/// Brings figures up to date; `false` if it has none any more and need not be asked again.
type Collector = Box<dyn Fn(&Registry) -> bool + Send + Sync>;
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
            let place = metric.bounds().partition_point(|bound| *bound < seconds);
            *counts.get_mut(place).unwrap_or(beyond) += 1;
        });
    }

    /// Lets somebody bring figures up to date before they are read.
    pub fn on_reading(&self, collector: impl Fn(&Self) + Send + Sync + 'static) {
        self.while_of_use(move |registry| {
            collector(registry);
            true
        });
    }

    /// The same, until the collector says that it has nothing to say any more.
    pub fn while_of_use(&self, collector: impl Fn(&Self) -> bool + Send + Sync + 'static) {
        lock(&self.inner.collectors).push(Box::new(collector));
    }

    /// Forgets all figures in which a label has a value, such as those of a member that is gone.
    pub fn forget(&self, label: &str, value: &str) {
        let mut series = lock(&self.inner.series);
        for (metric, figures) in series.iter_mut() {
            let place = metric.labels().iter().position(|name| *name == label);
            if let Some(place) = place {
                figures.retain(|values, _| values.get(place).is_none_or(|had| **had != *value));
            }
        }
        series.retain(|_, figures| !figures.is_empty());
    }

    /// Lets a part that counts by itself say its figures along with the others', in Prometheus' text; the later of two
    /// for the same part counts.
    pub fn include(&self, part: &'static str, text: impl Fn() -> String + Send + Sync + 'static) {
        lock(&self.inner.texts).insert(part, Box::new(text));
    }

    /// Everything, as Prometheus reads it.
    #[must_use]
    pub fn text(&self) -> String {
        // Held until all is written: who reads at the same time must not find figures half added up.
        let mut collectors = lock(&self.inner.collectors);
        lock(&self.inner.series).retain(|metric, _| !metric.is_tallied());
        collectors.retain(|collector| collector(self));
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
                counts: vec![0; metric.bounds().len()].into(),
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
            for (bound, count) in metric.bounds().iter().zip(counts) {
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
        registry.add(Metric::ControllerReconcileTotal, &["binding", "ok"], 2.0);
        registry.add(Metric::ControllerReconcileTotal, &["b\"\\\n", "ok"], 1.0);
        registry.add(Metric::ApiserverCurrentInflightRequests, &["mutating"], 3.0);
        registry.add(
            Metric::ApiserverCurrentInflightRequests,
            &["mutating"],
            -1.0,
        );
        registry.on_reading(|registry| registry.set(Metric::ProcessOpenFds, &[], 7.0));
        let text = registry.text();
        for line in [
            "# TYPE controller_runtime_reconcile_total counter",
            "controller_runtime_reconcile_total{controller=\"binding\",result=\"ok\"} 2",
            "controller_runtime_reconcile_total{controller=\"b\\\"\\\\\\n\",result=\"ok\"} 1",
            "apiserver_current_inflight_requests{request_kind=\"mutating\"} 2",
            "process_open_fds 7",
        ] {
            assert!(text.lines().any(|have| have == line), "{line}\n{text}");
        }
    }

    #[test]
    fn figures_of_what_is_gone_are_forgotten() {
        let registry = Registry::default();
        for member in ["m1", "m2"] {
            registry.set(Metric::ClusterReadyState, &[member], 1.0);
            let labels = ["success", "v1", "Secret", member];
            registry.add(Metric::DeleteResourceFromCluster, &labels, 1.0);
        }
        registry.set(Metric::ProcessOpenFds, &[], 7.0);
        registry.forget(MEMBER, "m1");
        let text = registry.text();
        assert!(!text.contains("m1"), "{text}");
        assert!(text.contains("cluster_ready_state{member_cluster=\"m2\"} 1"));
        assert!(text.contains("process_open_fds 7"));
        registry.forget(MEMBER, "m2");
        assert!(!registry.text().contains("cluster_ready_state"));
    }

    #[test]
    fn figures_of_the_moment_are_added_up_at_each_reading() {
        let registry = Registry::default();
        let depth = |of_use: bool| {
            move |registry: &Registry| {
                registry.add(Metric::WorkqueueDepth, &["x", "x"], 2.0);
                of_use
            }
        };
        registry.while_of_use(depth(true));
        registry.while_of_use(depth(false));
        let line = |text: &str| {
            let found = text
                .lines()
                .find(|line| line.starts_with("workqueue_depth"));
            found.map(str::to_owned).unwrap_or_default()
        };
        let labels = "workqueue_depth{name=\"x\",controller=\"x\"}";
        assert_eq!(line(&registry.text()), format!("{labels} 4"));
        assert_eq!(line(&registry.text()), format!("{labels} 2"));
    }

    #[test]
    fn histograms_count_what_is_within_each_bound() {
        let registry = Registry::default();
        for millis in [1, 5, 30, 700_000] {
            let took = Duration::from_millis(millis);
            registry.observe(Metric::ControllerReconcileTimeSeconds, &["x"], took);
        }
        let text = registry.text();
        for line in [
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"x\",le=\"0.005\"} 2",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"x\",le=\"0.05\"} 3",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"x\",le=\"60\"} 3",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"x\",le=\"+Inf\"} 4",
            "controller_runtime_reconcile_time_seconds_sum{controller=\"x\"} 700.036",
            "controller_runtime_reconcile_time_seconds_count{controller=\"x\"} 4",
        ] {
            assert!(text.lines().any(|have| have == line), "{line}\n{text}");
        }
    }
}

//! What a run showed, as a value.

mod compare;
mod html;
mod machine;
mod table;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use self::compare::{Comparison, compare};
pub use self::machine::Machine;
use crate::error::BenchError;
use crate::latency::Spread;

/// What a run showed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Report {
    /// When it ended.
    pub at: String,
    /// Which program measured, and for its own servers was measured: version and commit.
    pub version: String,
    /// What was measured.
    pub target: String,
    /// How large the run was.
    pub size: String,
    /// Where it was made.
    pub machine: Machine,
    /// What was done.
    pub workloads: Vec<WorkloadReport>,
}

/// What one workload showed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct WorkloadReport {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub about: String,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// What one step showed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// How much was done.
    pub count: usize,
    /// How much was refused, which is not in `count`.
    pub failures: usize,
    /// What the first refusal said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<String>,
    /// How long it took altogether.
    pub seconds: f64,
    /// How much of it in a second; absent where a pace was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// How long each took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Spread>,
    /// How much of the machine's processors whoever measured used, from 0 to 1.
    pub generator_share: f64,
    /// How much the control plane used, if it was weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_share: Option<f64>,
    /// Bytes of memory the control plane held at the end, if it was weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_memory: Option<u64>,
    /// What kept it from going faster.
    pub limit: Limit,
    /// What else there is to say, each with its unit in its name.
    #[serde(default)]
    pub figures: Vec<(String, f64)>,
}

/// What kept a step from going faster.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// What was measured.
    Server,
    /// Both together used up the machine, the server more of it: alone it could do more.
    Machine,
    /// Whoever measured used more than the server, and the machine up: the figure says little of the server.
    Generator,
    /// It was not to go faster.
    Pace,
}

impl Limit {
    /// In a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Machine => "machine",
            Self::Generator => "GENERATOR",
            Self::Pace => "pace",
        }
    }
}

impl Step {
    pub(crate) fn figure(&mut self, name: &str, figure: f64) {
        self.figures.push((name.to_owned(), figure));
    }

    /// In a few words, for whoever waits.
    pub(crate) fn headline(&self) -> String {
        let mut parts = Vec::new();
        if let Some(rate) = self.per_second {
            parts.push(format!("{rate:.0}/s"));
        }
        if let Some(spread) = self.latency_ms {
            parts.push(format!(
                "p50 {:.1} ms, p99 {:.1} ms",
                spread.p50, spread.p99
            ));
        }
        if self.failures > 0 {
            let why = self.first_failure.as_deref().unwrap_or_default();
            parts.push(format!("{} REFUSED ({why})", self.failures));
        }
        if self.limit == Limit::Generator {
            parts.push("the generator was the limit".to_owned());
        }
        parts.join(", ")
    }
}

impl Report {
    /// Reads what [`Report::save`] wrote.
    pub fn load(path: &Path) -> Result<Self, BenchError> {
        let text = std::fs::read(path).map_err(|source| BenchError::File {
            doing: "read",
            path: path.to_owned(),
            source,
        })?;
        serde_json::from_slice(&text).map_err(|error| BenchError::Report {
            path: path.to_owned(),
            why: error.to_string(),
        })
    }

    /// Writes it down: as a page where the name ends in `.html`, else as JSON.
    pub fn save(&self, path: &Path) -> Result<(), BenchError> {
        let text = match path.extension().is_some_and(|ending| ending == "html") {
            true => self.page(),
            false => format!("{:#}\n", serde_json::json!(self)),
        };
        std::fs::write(path, text).map_err(|source| BenchError::File {
            doing: "write",
            path: path.to_owned(),
            source,
        })
    }
}

/// A figure as people read it: three places that matter, no more.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 99.5 => format!("{value:.0}"),
        size if size >= 9.95 => format!("{value:.1}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A report with a step of every sort.
    pub(crate) fn sample(rate: f64) -> Report {
        let step = |name: &str, per_second, limit| Step {
            name: name.to_owned(),
            count: 3000,
            failures: 0,
            first_failure: None,
            seconds: 1.5,
            per_second,
            latency_ms: Some(Spread {
                p50: 4.0,
                p90: 6.25,
                p99: 12.5,
                max: 40.0,
            }),
            generator_share: 0.31,
            server_share: Some(0.52),
            server_memory: Some(64 << 20),
            limit,
            figures: vec![("members".to_owned(), 2.0)],
        };
        Report {
            at: "2026-01-02T03:04:05Z".to_owned(),
            version: "0.1.0".to_owned(),
            target: "started for the run".to_owned(),
            size: "small".to_owned(),
            machine: Machine {
                processor: "a processor <of> some sort".to_owned(),
                cores: 2,
                memory: 24 << 30,
                system: "Linux 6.1".to_owned(),
            },
            workloads: vec![WorkloadReport {
                name: "api".to_owned(),
                about: "requests".to_owned(),
                steps: vec![
                    step("create", Some(rate), Limit::Machine),
                    step("get", Some(rate * 2.0), Limit::Generator),
                    step("at a pace", None, Limit::Pace),
                ],
            }],
        }
    }

    #[test]
    fn a_report_survives_being_saved() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        let report = sample(2000.0);
        report.save(&path).unwrap();
        assert_eq!(Report::load(&path).unwrap(), report);
    }

    #[test]
    fn what_is_no_report_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        std::fs::write(&path, "{}").unwrap();
        let error = Report::load(&path).unwrap_err().to_string();
        assert!(error.contains("report.json is not a report"), "{error}");
    }

    #[test]
    fn figures_have_three_places_that_matter() {
        for (value, text) in [
            (0.0, "0"),
            (0.1234, "0.12"),
            (9.94, "9.94"),
            (12.34, "12.3"),
            (99.6, "100"),
            (1234.5, "1234"),
        ] {
            assert_eq!(figure(value), text);
        }
    }
}

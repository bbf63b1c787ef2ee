//! One report held against another.

use std::fmt;

use super::{Report, Step, figure};

/// How the second of two reports stands to the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    rows: Vec<Row>,
    /// Steps that only one of them has.
    alone: Vec<String>,
    /// Why ratios should be taken with care.
    warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    step: String,
    what: &'static str,
    first: f64,
    second: f64,
}

/// Holds `second` against `first`, step by step.
#[must_use]
pub fn compare(first: &Report, second: &Report) -> Comparison {
    let (before, after) = (steps(first), steps(second));
    let mut rows = Vec::new();
    let mut alone = Vec::new();
    for (name, step) in &before {
        match after.iter().find(|(other, _)| other == name) {
            Some((_, other)) => rows.extend(hold(name, step, other)),
            None => alone.push(format!("{name} (only the first)")),
        }
    }
    for (name, _) in &after {
        if !before.iter().any(|(other, _)| other == name) {
            alone.push(format!("{name} (only the second)"));
        }
    }
    let mut warnings = Vec::new();
    if first.machine != second.machine {
        warnings.push("the reports come from different machines".to_owned());
    }
    if first.size != second.size {
        warnings.push(format!(
            "the runs differ in size: {} and {}",
            first.size, second.size
        ));
    }
    Comparison {
        rows,
        alone,
        warnings,
    }
}

fn steps(report: &Report) -> Vec<(String, &Step)> {
    let named = |workload: &'_ super::WorkloadReport, step: &'_ Step| {
        format!("{}: {}", workload.name, step.name)
    };
    let workloads = report.workloads.iter();
    workloads
        .flat_map(|workload| {
            let steps = workload.steps.iter();
            steps.map(move |step| (named(workload, step), step))
        })
        .collect()
}

fn hold(name: &str, first: &Step, second: &Step) -> Vec<Row> {
    let spread = |step: &Step| step.latency_ms;
    let pairs = [
        ("per second", first.per_second.zip(second.per_second)),
        (
            "p50 ms",
            spread(first)
                .zip(spread(second))
                .map(|(a, b)| (a.p50, b.p50)),
        ),
        (
            "p99 ms",
            spread(first)
                .zip(spread(second))
                .map(|(a, b)| (a.p99, b.p99)),
        ),
        (
            "server MiB",
            first
                .server_memory
                .zip(second.server_memory)
                .map(|(a, b)| ((a >> 10) as f64 / 1024.0, (b >> 10) as f64 / 1024.0)),
        ),
    ];
    let rows = pairs.into_iter().filter_map(|(what, pair)| {
        let (first, second) = pair?;
        Some(Row {
            step: name.to_owned(),
            what,
            first,
            second,
        })
    });
    rows.collect()
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        let width = self.rows.iter().map(|row| row.step.chars().count()).max();
        let width = width.unwrap_or_default().max("STEP".len());
        writeln!(
            f,
            "{:<width$}  {:<10}  {:>10}  {:>10}  {:>7}",
            "STEP", "WHAT", "FIRST", "SECOND", "RATIO"
        )?;
        for row in &self.rows {
            let ratio = match row.first > 0.0 {
                true => format!("{:.2}", row.second / row.first),
                false => "-".to_owned(),
            };
            writeln!(
                f,
                "{:<width$}  {:<10}  {:>10}  {:>10}  {ratio:>7}",
                row.step,
                row.what,
                figure(row.first),
                figure(row.second),
            )?;
        }
        for step in &self.alone {
            writeln!(f, "not compared: {step}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn ratios_stand_beside_what_they_come_from() {
        let (first, mut second) = (sample(1000.0), sample(2500.0));
        second.workloads[0].steps[2].name = "something else".to_owned();
        second.machine.cores = 4;
        let text = compare(&first, &second).to_string();
        for line in [
            "warning: the reports come from different machines",
            "api: create  per second        1000        2500     2.50",
            "api: create  p99 ms            12.5        12.5     1.00",
            "not compared: api: at a pace (only the first)",
            "not compared: api: something else (only the second)",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}

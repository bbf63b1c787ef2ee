//! A report for a terminal.

use std::fmt;

use super::{Report, Step, figure};

const HEAD: [&str; 9] = [
    "STEP",
    "COUNT",
    "PER SECOND",
    "P50 MS",
    "P99 MS",
    "MAX MS",
    "SERVER",
    "GENERATOR",
    "LIMIT",
];

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = &self.machine;
        writeln!(
            f,
            "karavel {}, {}, size {}, {}\n{} cores of {}, {} GiB, {}",
            self.version,
            self.target,
            self.size,
            self.at,
            machine.cores,
            machine.processor,
            machine.memory >> 30,
            machine.system,
        )?;
        for workload in &self.workloads {
            writeln!(f, "\n{}: {}", workload.name, workload.about)?;
            let mut rows = vec![HEAD.map(str::to_owned)];
            rows.extend(workload.steps.iter().map(row));
            for (index, line) in align(&rows).into_iter().enumerate() {
                writeln!(f, "  {line}")?;
                // Behind the head, each line has a step.
                let Some(step) = index.checked_sub(1).and_then(|at| workload.steps.get(at)) else {
                    continue;
                };
                if !step.figures.is_empty() {
                    writeln!(f, "      {}", further(step))?;
                }
                if let Some(why) = &step.first_failure {
                    writeln!(f, "      {} refused, the first: {why}", step.failures)?;
                }
            }
        }
        Ok(())
    }
}

fn row(step: &Step) -> [String; 9] {
    let or_dash = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
    let share = |share: f64| format!("{:.0} %", share * 100.0);
    [
        step.name.clone(),
        step.count.to_string(),
        or_dash(step.per_second),
        or_dash(step.latency_ms.map(|spread| spread.p50)),
        or_dash(step.latency_ms.map(|spread| spread.p99)),
        or_dash(step.latency_ms.map(|spread| spread.max)),
        step.server_share.map_or_else(|| "-".to_owned(), share),
        share(step.generator_share),
        step.limit.name().to_owned(),
    ]
}

fn further(step: &Step) -> String {
    let figures = step.figures.iter();
    let named = figures.map(|(name, value)| format!("{name} {}", figure(*value)));
    named.collect::<Vec<_>>().join(", ")
}

/// Columns under one another: names to the left, numbers to the right.
fn align<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;

    #[test]
    fn a_terminal_shows_columns_under_one_another() {
        let expected = "\
karavel 0.1.0, started for the run, size small, 2026-01-02T03:04:05Z
2 cores of a processor <of> some sort, 24 GiB, Linux 6.1

api: requests
  STEP       COUNT  PER SECOND  P50 MS  P99 MS  MAX MS  SERVER  GENERATOR      LIMIT
  create      3000        2000    4.00    12.5    40.0    52 %       31 %    machine
      members 2.00
  get         3000        4000    4.00    12.5    40.0    52 %       31 %  GENERATOR
      members 2.00
  at a pace   3000           -    4.00    12.5    40.0    52 %       31 %       pace
      members 2.00
";
        assert_eq!(sample(2000.0).to_string(), expected);
    }
}

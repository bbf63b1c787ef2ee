//! The diagnosis as a text of at most 80 columns.

use std::fmt;

use super::{Attempt, Diagnosis};
use crate::{
    assign::{Mode, Step, quota},
    candidate::Candidate,
    decision::{Outcome, TargetsText},
    select::How,
};

/// The widest a line gets, long names of clusters apart.
const COLUMNS: usize = 80;

/// How many clusters a table lists before it says how many more there are.
const ROWS: usize = 40;

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} replicas, {}",
            self.binding, self.replicas, self.strategy
        )?;
        for attempt in &self.attempts {
            if let Some((index, name)) = &attempt.term {
                writeln!(f, "group {name} (index {index})")?;
            }
            self.write_filters(f, attempt)?;
            self.write_candidates(f, attempt)?;
            self.write_selection(f, attempt)?;
            for step in &attempt.steps {
                self.write_step(f, step)?;
            }
            if let Some(refusal) = &attempt.refusal {
                write_wrapped(f, "  given up: ", &refusal.to_string())?;
            }
        }
        for unheard in &self.unheard {
            let start = format!("not heard: {}: ", unheard.plugin);
            write_wrapped(f, &start, &unheard.why)?;
        }
        match &self.outcome {
            Outcome::Placed(targets) => {
                write_wrapped(f, "placed: ", &TargetsText(targets).to_string())?
            }
            Outcome::Refused(refusal) => {
                write_wrapped(
                    f,
                    &format!("refused ({}): ", refusal.reason()),
                    &refusal.to_string(),
                )?;
            }
        }
        for change in self.changes() {
            let count = |replicas: Option<i32>| {
                replicas.map_or("none".to_owned(), |replicas| replicas.to_string())
            };
            writeln!(
                f,
                "  {}: {} -> {}",
                change.cluster,
                count(change.before),
                count(change.after)
            )?;
        }
        Ok(())
    }
}

impl Diagnosis {
    fn write_filters(&self, f: &mut fmt::Formatter<'_>, attempt: &Attempt) -> fmt::Result {
        let total = self.clusters.len();
        let passed = attempt.candidates.len() + attempt.passed.len();
        writeln!(f, "  filters: {passed} of {total} clusters pass")?;
        for position in attempt.deleting.iter().take(ROWS) {
            writeln!(f, "    {}: is being deleted", self.clusters.name(*position))?;
        }
        for refusal in attempt.refusals.iter().take(ROWS) {
            let filter = attempt
                .filters
                .get(refusal.filter)
                .map_or("", |name| &**name);
            let cluster = self.clusters.name(refusal.cluster);
            write_wrapped(
                f,
                &format!("    {cluster}: "),
                &format!("{} ({filter})", refusal.reason),
            )?;
        }
        write_more(f, attempt.refusals.len())
    }

    fn write_candidates(&self, f: &mut fmt::Formatter<'_>, attempt: &Attempt) -> fmt::Result {
        if attempt.candidates.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "  {:24} {:>5} {:>10} {:>7}  estimate",
            "cluster", "score", "fits", "running"
        )?;
        for candidacy in attempt.candidates.iter().take(ROWS) {
            let Candidate {
                cluster,
                score,
                allocatable,
                assigned,
                ..
            } = candidacy.candidate;
            let name = self.clusters.name(cluster);
            let start = format!("  {name:24} {score:>5} {allocatable:>10} {assigned:>7}  ");
            write_wrapped(f, &start, &candidacy.source.to_string())?;
        }
        write_more(f, attempt.candidates.len())
    }

    fn write_selection(&self, f: &mut fmt::Formatter<'_>, attempt: &Attempt) -> fmt::Result {
        match &attempt.selection {
            None => Ok(()),
            Some(How::Unconstrained) => {
                writeln!(f, "  selection: all, there are no spread constraints")
            }
            Some(How::WeightsOverride) => writeln!(
                f,
                "  selection: all, fixed weights override the constraints"
            ),
            Some(How::Unsupported) => {
                writeln!(f, "  selection: the constraints cannot select clusters")
            }
            Some(How::Other(text)) => write_wrapped(f, "  selection: ", text),
            Some(How::ByCluster {
                min,
                max,
                need,
                swaps,
                room,
            }) => {
                write!(f, "  selection: {min} to {max} clusters")?;
                match need {
                    Some(need) => writeln!(f, " with room for {need}")?,
                    None => writeln!(f)?,
                }
                if let Some(room) = room {
                    let (clusters, preferred) = (room.clusters, room.preferred);
                    writeln!(f, "    the preferred {clusters} have room for {preferred}")?;
                }
                for (out, into) in swaps {
                    let (out, into) = (self.clusters.name(*out), self.clusters.name(*into));
                    writeln!(f, "    {into} instead of {out}, which has less room")?;
                }
                match room.filter(|_| !swaps.is_empty()) {
                    Some(room) => writeln!(f, "    together they have room for {}", room.found),
                    None => Ok(()),
                }
            }
            Some(How::ByRegion {
                regions,
                is_approximate,
            }) => {
                let note = if *is_approximate {
                    ", too many to weigh every combination"
                } else {
                    ""
                };
                writeln!(f, "  selection: by region{note}")?;
                writeln!(
                    f,
                    "    {:24} {:>8} {:>14}  chosen",
                    "region", "clusters", "weight"
                )?;
                for region in regions {
                    let rank = region
                        .rank
                        .map_or("-".to_owned(), |rank| (rank + 1).to_string());
                    writeln!(
                        f,
                        "    {:24} {:>8} {:>14}  {rank}",
                        region.name, region.clusters, region.weight
                    )?;
                }
                Ok(())
            }
        }
    }

    fn write_step(&self, f: &mut fmt::Formatter<'_>, step: &Step) -> fmt::Result {
        let Step {
            tier,
            mode,
            replicas,
            rows,
            left_out,
        } = step;
        let tier = tier.map_or(String::new(), |tier| format!("tier {tier}: "));
        match mode {
            Mode::List => return writeln!(f, "  assignment: {tier}nothing to count"),
            Mode::Duplicate => {
                return writeln!(f, "  assignment: {tier}{replicas} for each cluster");
            }
            Mode::Keep => {
                return writeln!(f, "  assignment: {tier}{replicas} are right as they are");
            }
            Mode::StaticWeight | Mode::Fresh | Mode::ScaleUp | Mode::ScaleDown => {}
        }
        let total = step.total_weight();
        writeln!(
            f,
            "  assignment: {tier}{mode}, {replicas} by total weight {total}"
        )?;
        writeln!(
            f,
            "  {:24} {:>14} {:>14} {:>10} {:>10}",
            "cluster", "weight", "quota", "kept", "given"
        )?;
        for row in rows.iter().take(ROWS) {
            let quota = decimal(quota(*replicas, row.weight, total), total);
            let name = self.clusters.name(row.cluster);
            writeln!(
                f,
                "  {name:24} {:>14} {quota:>14} {:>10} {:>10}",
                row.weight, row.kept, row.given
            )?;
        }
        write_more(f, rows.len())?;
        if *left_out > 0 {
            writeln!(f, "    {left_out} other clusters take no part")?;
        }
        Ok(())
    }
}

fn write_more(f: &mut fmt::Formatter<'_>, listed: usize) -> fmt::Result {
    match listed.saturating_sub(ROWS) {
        0 => Ok(()),
        more => writeln!(f, "    and {more} more"),
    }
}

/// A whole number and so many parts of `total`, with two decimals, cut off.
fn decimal((whole, parts): (i128, i128), total: i128) -> String {
    if parts == 0 {
        return whole.to_string();
    }
    format!("{whole}.{:02}", parts * 100 / total)
}

/// Writes a long text after `start`, broken between words, further lines indented.
fn write_wrapped(f: &mut fmt::Formatter<'_>, start: &str, text: &str) -> fmt::Result {
    f.write_str(start)?;
    let mut column = start.chars().count();
    for (position, word) in text.split(' ').enumerate() {
        let width = word.chars().count();
        if position > 0 {
            if column + 1 + width > COLUMNS {
                f.write_str("\n      ")?;
                column = 6;
            } else {
                f.write_str(" ")?;
                column += 1;
            }
        }
        f.write_str(word)?;
        column += width;
    }
    writeln!(f)
}

//! What the operating system knows of this process.

use std::fs;

use crate::metrics::{Metric, Registry};

/// Linux counts processor time in these, whatever the machine's own clock does.
const TICKS_PER_SECOND: f64 = 100.0;
/// The size of a page where this runs.
const PAGE: f64 = 4096.0;

/// Has the process's own figures read whenever a registry is. Where there is no `/proc` there are none.
pub fn watch_process(registry: &Registry) {
    registry.on_reading(|registry| {
        for (metric, figure) in figures() {
            registry.set(metric, &[], figure);
        }
    });
}

fn figures() -> Vec<(Metric, f64)> {
    let mut figures = Vec::new();
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program stands in parentheses and may hold anything; the fields behind it are numbers.
    let fields: Vec<f64> = stat
        .rsplit_once(") ")
        .map(|(_, rest)| rest)
        .unwrap_or_default()
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0.0))
        .collect();
    // Counted from the third field, the state: 14 and 15 are time, 22 is the start, 23 and 24 memory.
    if let Some([user, system]) = fields.get(11..13) {
        let time = (user + system) / TICKS_PER_SECOND;
        figures.push((Metric::ProcessCpuSecondsTotal, time));
    }
    if let Some([started, reserved, held]) = fields.get(19..22) {
        let booted = fs::read_to_string("/proc/stat").unwrap_or_default();
        let booted = booted
            .lines()
            .find_map(|line| line.strip_prefix("btime ")?.parse::<f64>().ok());
        if let Some(booted) = booted {
            let started = booted + started / TICKS_PER_SECOND;
            figures.push((Metric::ProcessStartTimeSeconds, started));
        }
        figures.push((Metric::ProcessVirtualMemoryBytes, *reserved));
        figures.push((Metric::ProcessResidentMemoryBytes, held * PAGE));
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        figures.push((Metric::ProcessOpenFds, open.count() as f64));
    }
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let most = limits.lines().find_map(|line| {
        let numbers = line.strip_prefix("Max open files")?;
        numbers.split_whitespace().next()?.parse::<f64>().ok()
    });
    figures.extend(most.map(|most| (Metric::ProcessMaxFds, most)));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_knows_its_own_size() {
        let registry = Registry::default();
        watch_process(&registry);
        let text = registry.text();
        let figure = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.trim().parse::<f64>().ok())
        };
        assert!(figure("process_resident_memory_bytes ").unwrap() > 100_000.0);
        assert!(figure("process_start_time_seconds ").unwrap() > 1_600_000_000.0);
        assert!(figure("process_open_fds ").unwrap() >= 3.0);
    }
}

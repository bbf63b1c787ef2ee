//! What processes use of the machine.

use std::fs;

use serde::{Deserialize, Serialize};

/// Linux counts processor time in these, whatever the machine's own clock does.
const TICKS_PER_SECOND: f64 = 100.0;
const PAGE: u64 = 4096;

/// What a process has used so far, and holds now.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Weight {
    /// Seconds of processor time since it began.
    pub cpu_seconds: f64,
    /// Bytes of memory.
    pub memory: u64,
}

impl Weight {
    /// Weighs a process; nothing where it has ended or where there is no `/proc`.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        read(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Weighs this process.
    pub(crate) fn own() -> Self {
        Self::of(std::process::id()).unwrap_or_default()
    }

    /// Weighs several as one.
    pub(crate) fn of_all(pids: impl IntoIterator<Item = u32>) -> Self {
        let weights = pids.into_iter().filter_map(Self::of);
        weights.fold(Self::default(), |sum, one| Self {
            cpu_seconds: sum.cpu_seconds + one.cpu_seconds,
            memory: sum.memory + one.memory,
        })
    }
}

fn read(stat: &str) -> Option<Weight> {
    // The name of the program stands in parentheses and may hold anything; the fields behind it are numbers.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let mut field = |skip: usize| fields.nth(skip)?.parse::<u64>().ok();
    let (user, system) = (field(11)?, field(0)?);
    let pages = field(8)?;
    Some(Weight {
        cpu_seconds: (user + system) as f64 / TICKS_PER_SECOND,
        memory: pages * PAGE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_line_is_read_whatever_the_program_is_called() {
        let line = "42 (a) b (c)) S 1 42 42 0 -1 4194304 9 8 7 6 250 50 3 2 20 0 4 0 100 900000 512 18446744073709551615";
        let expected = Weight {
            cpu_seconds: 3.0,
            memory: 512 * 4096,
        };
        assert_eq!(read(line), Some(expected));
        assert_eq!(read("nonsense"), None);
    }

    #[test]
    fn this_process_weighs_something() {
        assert!(Weight::own().memory > 100_000);
    }
}

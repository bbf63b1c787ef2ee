//! How many events are written at once, and how long their writer rests: plain data that is told how long writes took.
//!
//! Nothing says directly whether a server has time for news. What says so is how long the writer's own writes take, beside
//! the quickest it has known: on an idle server one takes as long as the disk, in a burst it stands in line.

use std::time::Duration;

/// How many are written at once at most: few enough not to be felt by who writes at the same time.
const MOST: usize = 16;
/// How many times as long as the quickest writes may take on a server that has time: sixteen at once take about half of
/// that.
const QUICK: u32 = 8;
/// How many times as long as the writes took the writer rests after them: a tenth of a server's time is for news at most.
const REST: u32 = 9;
/// How long it rests at most.
const LONGEST_REST: Duration = Duration::from_millis(400);

#[derive(Debug)]
pub(super) struct Pace {
    /// How many to write at once next.
    pub(super) together: usize,
    quickest: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            together: 1,
            quickest: Duration::MAX,
        }
    }
}

impl Pace {
    /// Learns how long the latest writes took; how long to rest now.
    pub(super) fn after(&mut self, took: Duration) -> Duration {
        self.quickest = self.quickest.min(took);
        self.together = match took <= self.quickest.saturating_mul(QUICK) {
            true => self.together.saturating_mul(2).min(MOST),
            false => 1,
        };
        took.saturating_mul(REST).min(LONGEST_REST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_are_written_at_once_while_that_is_quick() {
        let mut pace = Pace::default();
        let milliseconds = Duration::from_millis;
        let told: Vec<(u64, usize, u128)> = [1, 2, 2, 3, 4, 8, 9, 1, 90, 8]
            .into_iter()
            .map(|took| {
                let together = pace.together;
                let rest = pace.after(milliseconds(took));
                (took, together, rest.as_millis())
            })
            .collect();
        assert_eq!(
            told,
            [
                (1, 1, 9),
                (2, 2, 18),
                (2, 4, 18),
                (3, 8, 27),
                (4, 16, 36),
                (8, 16, 72),
                // Somebody else has much to do.
                (9, 16, 81),
                (1, 1, 9),
                (90, 2, 400),
                (8, 1, 72),
            ]
        );
    }
}

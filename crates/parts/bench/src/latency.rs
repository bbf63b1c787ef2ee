//! How long things took.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Times in microseconds, one for each thing that was done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies(Vec<u32>);

/// The shape of many times, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Spread {
    /// Half were faster.
    pub p50: f64,
    /// Nine of ten were faster.
    pub p90: f64,
    /// 99 of 100 were faster.
    pub p99: f64,
    /// None was slower.
    pub max: f64,
}

impl Latencies {
    pub(crate) fn push(&mut self, took: Duration) {
        self.0
            .push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Nothing where nothing was measured.
    pub(crate) fn spread(mut self) -> Option<Spread> {
        self.0.sort_unstable();
        let last = self.0.len().checked_sub(1)?;
        // The smallest time that at least this share did not exceed.
        let at = |percent: usize| {
            let rank = (self.0.len() * percent).div_ceil(100).saturating_sub(1);
            f64::from(self.0[rank.min(last)]) / 1e3
        };
        Some(Spread {
            p50: at(50),
            p90: at(90),
            p99: at(99),
            max: at(100),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_time_that_was_measured() {
        let cases = [
            (vec![7], [7.0, 7.0, 7.0]),
            (vec![2, 1], [1.0, 2.0, 2.0]),
            (vec![5, 1, 4, 2, 3], [3.0, 5.0, 5.0]),
            (vec![1, 1, 1, 9], [1.0, 9.0, 9.0]),
        ];
        for (times, expected) in cases {
            let mut latencies = Latencies::default();
            for time in times {
                latencies.push(Duration::from_millis(time));
            }
            let spread = latencies.spread().unwrap();
            assert_eq!([spread.p50, spread.p99, spread.max], expected);
        }
        assert_eq!(Latencies::default().spread(), None);
    }
}

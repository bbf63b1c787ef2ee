//! How long to wait after a failure.

use std::time::Duration;

/// Doubles from a first wait up to a longest one, with jitter so that many who failed together do not return together.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
    random: u64,
}

impl Backoff {
    /// Starts at `first` and ends at `longest`. The seed decides the jitter; take something that differs between peers.
    #[must_use]
    pub fn new(first: Duration, longest: Duration, seed: u64) -> Self {
        Self {
            first,
            longest,
            failures: 0,
            random: seed,
        }
    }

    /// The wait after one more failure: between three quarters of the full wait and all of it.
    pub fn fail(&mut self) -> Duration {
        let full = delay(self.first, self.longest, self.failures);
        self.failures = self.failures.saturating_add(1);
        full - full.mul_f64(0.25 * self.chance())
    }

    /// How often it failed since the last success.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// It went well: the next failure is the first again.
    pub fn succeed(&mut self) {
        self.failures = 0;
    }

    /// A number from 0 up to 1: a step of the splitmix64 generator, which is random enough to spread peers.
    fn chance(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The top 53 bits are what a double can hold exactly.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let numerator = (mixed >> 11) as f64;
        numerator / (1_u64 << 53) as f64
    }
}

/// `first` doubled once for each earlier failure, but no more than `longest`.
pub(crate) fn delay(first: Duration, longest: Duration, failures: u32) -> Duration {
    let factor = 2_u32.saturating_pow(failures.min(31));
    first.saturating_mul(factor).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let (first, longest) = (Duration::from_millis(5), Duration::from_secs(60));
        for (failures, millis) in [
            (0, 5),
            (1, 10),
            (13, 40_960),
            (14, 60_000),
            (u32::MAX, 60_000),
        ] {
            assert_eq!(
                delay(first, longest, failures),
                Duration::from_millis(millis)
            );
        }
    }

    #[test]
    fn jitter_keeps_peers_apart_and_within_bounds() {
        let second = Duration::from_secs(1);
        let mut one = Backoff::new(second, second * 8, 1);
        let mut other = Backoff::new(second, second * 8, 2);
        for full in [1, 2, 4, 8, 8] {
            let (a, b) = (one.fail(), other.fail());
            assert_ne!(a, b);
            for wait in [a, b] {
                assert!(wait <= second * full && wait >= (second * full).mul_f64(0.75));
            }
        }
        one.succeed();
        assert!(one.fail() <= second);
    }
}

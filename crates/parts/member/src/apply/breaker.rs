//! Spares a member that does not answer.
//!
//! Works fail one by one when a member is down; tried one by one, hundreds of them would each wait for a deadline. After
//! a few failures in a row nothing is tried but one work at a time, at growing intervals, until one goes through.

use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row before a member is spared: more than a restart of one connection causes.
const TOLERATED: u32 = 5;
/// The first pause.
const FIRST: Duration = Duration::from_secs(1);
/// The longest pause: a member that is back is found within this.
const LONGEST: Duration = Duration::from_secs(30);

/// Whether a member is worth a call now.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    closed_until: Option<Instant>,
}

impl Breaker {
    /// How long to wait before calling; `None` to call now. After a pause one caller is let through, and the others wait
    /// for another pause or its success.
    pub(crate) fn wait(&mut self, now: Instant) -> Option<Duration> {
        let until = self.closed_until?;
        if now < until {
            return Some(until - now);
        }
        self.closed_until = Some(now + self.pause());
        None
    }

    /// A call got through to the member, whatever it answered.
    pub(crate) fn answered(&mut self) {
        *self = Self::default();
    }

    /// A call did not get through.
    pub(crate) fn silent(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= TOLERATED {
            self.closed_until = Some(now + self.pause());
        }
    }

    /// A call did not get through to a member that is known not to be well: once is enough.
    pub(crate) fn still_silent(&mut self, now: Instant) {
        self.failures = self.failures.max(TOLERATED - 1);
        self.silent(now);
    }

    fn pause(&self) -> Duration {
        let doublings = self.failures.saturating_sub(TOLERATED).min(8);
        FIRST.saturating_mul(1 << doublings).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_member_is_tried_by_one_at_a_time() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut breaker = Breaker::default();
        for _ in 0..TOLERATED {
            assert_eq!(breaker.wait(start), None);
            breaker.silent(start);
        }
        assert_eq!(breaker.wait(start), Some(Duration::from_secs(1)));
        assert_eq!(breaker.wait(at(1)), None);
        assert_eq!(breaker.wait(at(1)), Some(Duration::from_secs(1)));
        for _ in 0..20 {
            breaker.silent(at(2));
        }
        assert_eq!(breaker.wait(at(2)), Some(LONGEST));
        breaker.answered();
        assert_eq!(breaker.wait(at(2)), None);
    }

    #[test]
    fn a_member_that_is_known_to_be_away_is_spared_after_one_call() {
        let start = Instant::now();
        let mut breaker = Breaker::default();
        breaker.still_silent(start);
        assert_eq!(breaker.wait(start), Some(FIRST));
        breaker.still_silent(start + FIRST);
        assert_eq!(breaker.wait(start + FIRST), Some(FIRST * 2));
        breaker.answered();
        assert_eq!(breaker.wait(start + FIRST), None);
    }
}

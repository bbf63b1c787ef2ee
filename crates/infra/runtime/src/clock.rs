//! The time of day.

use std::time::{Duration, SystemTime};

use object::time::{MicroTime, Time};
use tokio::time::Instant;

/// Says what time it is. Waiting is tokio's business; this is for what is written down.
#[derive(Clone, Debug)]
pub struct Clock {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// The machine's clock.
    System,
    /// Runs with tokio's time from a given start, so that a test that advances one advances both.
    Tied { origin: Instant, start: MicroTime },
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self {
            source: Source::System,
        }
    }

    /// Shows `start` now and moves as tokio's time does: with `start_paused` it stands still until somebody waits.
    #[must_use]
    pub fn tied(start: Time) -> Self {
        Self {
            source: Source::Tied {
                origin: Instant::now(),
                start: start.into(),
            },
        }
    }

    /// Now, to the second.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now_micros().to_time()
    }

    /// Now, to the microsecond.
    #[must_use]
    pub fn now_micros(&self) -> MicroTime {
        let (start, passed) = match &self.source {
            // A clock before 1970 is broken in a way nothing here can mend.
            Source::System => (
                MicroTime::from_unix_micros(0),
                SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default(),
            ),
            Source::Tied { origin, start } => (*start, origin.elapsed()),
        };
        let passed = i64::try_from(passed.as_micros()).unwrap_or(i64::MAX);
        MicroTime::from_unix_micros(start.unix_micros().saturating_add(passed))
    }

    /// Waits until the clock shows `time`; at once if it has passed.
    pub async fn sleep_until(&self, time: Time) {
        tokio::time::sleep(self.until(time)).await;
    }

    /// How long it is until the clock shows `time`; nothing if it has passed.
    #[must_use]
    pub fn until(&self, time: Time) -> Duration {
        let wanted = MicroTime::from(time).unix_micros();
        let micros = wanted.saturating_sub(self.now_micros().unix_micros());
        Duration::from_micros(u64::try_from(micros).unwrap_or_default())
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_tied_clock_moves_with_the_tests_time() {
        let start: Time = "2026-01-01T00:00:00Z".parse().unwrap();
        let clock = Clock::tied(start);
        assert_eq!(clock.now(), start);
        tokio::time::advance(Duration::from_millis(1_500)).await;
        assert_eq!(
            clock.now_micros().to_string(),
            "2026-01-01T00:00:01.500000Z"
        );
        clock.sleep_until(start.plus_seconds(3_600)).await;
        assert_eq!(clock.now(), start.plus_seconds(3_600));
        assert_eq!(clock.until(start), Duration::ZERO);
    }
}

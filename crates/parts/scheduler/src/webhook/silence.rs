//! When it is told that a webhook is not heard: once, however many decisions are made meanwhile.

use std::time::Duration;

use tokio::time::Instant;

/// How long nothing more is told after the last time: one that is heard every other time must not fill the log.
const QUIET: Duration = Duration::from_secs(30);

/// What is known of the times a webhook was not heard.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// How often since it was heard last.
    missed: u64,
    /// Whether that was told.
    is_told: bool,
    /// When the last time was told.
    told: Option<Instant>,
}

impl Silence {
    /// Takes note that it was not heard; whether to tell.
    pub(super) fn missed(&mut self, now: Instant) -> bool {
        self.missed += 1;
        let is_quiet = self.told.is_some_and(|told| now < told + QUIET);
        if self.is_told || is_quiet {
            return false;
        }
        (self.is_told, self.told) = (true, Some(now));
        true
    }

    /// Takes note that it was heard; how often it was not before, if that was told.
    pub(super) fn heard(&mut self) -> Option<u64> {
        let missed = std::mem::take(&mut self.missed);
        std::mem::take(&mut self.is_told).then_some(missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_once_and_its_end_too() {
        let now = Instant::now();
        let mut silence = Silence::default();
        assert_eq!(silence.heard(), None);
        let told: Vec<bool> = (0..3).map(|_| silence.missed(now)).collect();
        assert_eq!(told, [true, false, false]);
        assert_eq!(silence.heard(), Some(3));
        // Another one right after it is not, and later ones are.
        assert!(!silence.missed(now + Duration::from_secs(1)));
        assert_eq!(silence.heard(), None);
        assert!(!silence.missed(now + Duration::from_secs(29)));
        assert!(silence.missed(now + Duration::from_secs(30)));
        assert_eq!(silence.heard(), Some(2));
    }
}

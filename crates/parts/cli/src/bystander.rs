//! What scripts learn of the world when they are run from the command line: the time, as in the control plane.

use std::time::{Duration, Instant, SystemTime};

use interpret::script::Surroundings;
use object::time::Time;

/// Tells scripts the time, and lets no run take longer than it may. Nobody listens to what they print.
#[derive(Debug)]
pub(crate) struct Bystander {
    began: Instant,
}

impl Bystander {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
        }
    }
}

impl Surroundings for Bystander {
    fn now(&self) -> Option<Time> {
        let since = SystemTime::UNIX_EPOCH.elapsed().ok()?;
        Some(Time::from_unix_seconds(since.as_secs().try_into().ok()?))
    }

    fn elapsed(&self) -> Option<Duration> {
        Some(self.began.elapsed())
    }

    fn print(&self, _: &str) {}
}

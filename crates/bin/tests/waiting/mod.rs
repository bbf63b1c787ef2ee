//! Waiting for a state of the world, with a limit.

use std::time::{Duration, Instant};

/// Nothing that is waited for takes longer unless something is wrong, however much else the machine has to do.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks until what was looked for is there; what was found last instead is what the test fails with.
#[track_caller]
pub(crate) fn wait_for<T>(mut look: impl FnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(instead) => assert!(begun.elapsed() < PATIENCE, "{instead}"),
        }
        std::thread::park_timeout(PAUSE);
    }
}

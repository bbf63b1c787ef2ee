//! Memory that roles which keep running do not hold.

use std::time::Duration;

use runtime::Tasks;

/// How long after the start the code that was needed for it is let go of, which is done again after twice as long each
/// time: what was only used once is not held.
const FIRST_REST: Duration = Duration::from_secs(1);
/// Between two such times at most: what is used has to be mapped again each time.
const LONGEST_REST: Duration = Duration::from_secs(600);

/// Gives back now and then what is only needed once (docs/adr/0037-code-that-is-not-used-is-not-held.md).
pub(crate) fn give_back(tasks: &Tasks) {
    let spawner = tasks.spawner();
    spawner.spawn("giving back of memory", |stop| async move {
        let mut rest = FIRST_REST;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(rest) => {}
            }
            if let Err(error) = pages::give_back() {
                tracing::debug!(%error, "code that is not used stays in memory");
            }
            rest = (rest * 2).min(LONGEST_REST);
        }
    });
}

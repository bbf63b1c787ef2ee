//! The embedded store does what every store must.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

// The name the other crates know this one by.
extern crate karavel_store as store;

mod conformance;

use std::time::Duration;

use conformance::{Subject, random_histories, scenarios};
use store::Store;
use store::embedded::{Clock, Embedded, ManualClock, Options};
use tempfile::TempDir;

struct InDirectory {
    directory: TempDir,
    clock: ManualClock,
    checkpoint_bytes: u64,
}

impl InDirectory {
    fn with(checkpoint_bytes: u64) -> Self {
        let clock = ManualClock::at(Duration::from_secs(1_800_000_000));
        Self {
            directory: TempDir::new().unwrap(),
            clock,
            checkpoint_bytes,
        }
    }

    fn new() -> Self {
        Self::with(Options::default().checkpoint_bytes)
    }
}

impl Subject for InDirectory {
    async fn open(&self) -> Store {
        let options = Options {
            clock: Clock::Manual(self.clock.clone()),
            checkpoint_bytes: self.checkpoint_bytes,
            ..Options::default()
        };
        Store::Embedded(Embedded::open(self.directory.path(), options).unwrap())
    }

    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }

    fn tick(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn has_cheap_time(&self) -> bool {
        true
    }
}

#[test]
fn random_histories_agree_with_the_model() {
    random_histories(48, InDirectory::new);
}

#[test]
fn random_histories_agree_with_the_model_when_every_batch_makes_a_checkpoint() {
    random_histories(32, || InDirectory::with(1));
}

#[test]
fn random_histories_agree_with_the_model_when_segments_are_small() {
    random_histories(32, || InDirectory::with(400));
}

macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() {
                scenarios::$name(InDirectory::new()).await;
                scenarios::$name(InDirectory::with(1)).await;
            }
        )*
    };
}

scenarios! {
    a_waiting_watch_hears_of_a_change,
    progress_covers_what_was_acknowledged,
    a_watch_may_begin_in_the_future,
    one_of_many_rivals_wins,
    concurrent_writes_are_seen_in_one_order,
    pages_of_one_revision_are_consistent,
    keys_live_as_long_as_they_were_given,
    times_to_live_survive_a_restart,
    a_closed_store_says_so,
    reads_share_what_was_written,
}

//! The store in memory does what every store must, but for outliving its process.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(dead_code, reason = "the scenario of a restart is not for this store")]

// The name the other crates know this one by.
extern crate karavel_store as store;

mod conformance;

use std::time::Duration;

use conformance::{Subject, random_histories, scenarios};
use store::Store;
use store::embedded::Retention;
use store::memory::Memory;

struct InMemory;

impl Subject for InMemory {
    async fn open(&self) -> Store {
        Store::Memory(Memory::new(Retention::default()))
    }

    async fn pass(&self, time: Duration) {
        tokio::time::advance(time).await;
    }

    fn tick(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn has_cheap_time(&self) -> bool {
        false // The histories' runtime does not hold the clock; the scenarios' do.
    }

    fn outlives_closing(&self) -> bool {
        false
    }
}

#[test]
fn random_histories_agree_with_the_model() {
    random_histories(96, || InMemory);
}

macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                scenarios::$name(InMemory).await;
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
    a_closed_store_says_so,
    reads_share_what_was_written,
}

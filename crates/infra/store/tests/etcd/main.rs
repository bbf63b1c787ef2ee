//! A store in etcd does what every store must, and keeps its promises when etcd has a bad day.
//!
//! Each test has real etcd processes to itself.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

// The name the other crates know this one by.
extern crate karavel_store as store;

mod access;
mod cluster;
#[path = "../conformance/mod.rs"]
mod conformance;
mod history;
mod peer;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use conformance::{Subject, random_histories, scenarios};
use peer::Peer;
use store::Store;
use store::etcd::{Etcd, Options};

/// A prefix of its own in an etcd.
struct InEtcd {
    peer: Arc<Peer>,
    options: Options,
}

impl InEtcd {
    fn below(peer: &Arc<Peer>, prefix: &str) -> Self {
        let mut options = peer.options();
        options.prefix = prefix.to_owned();
        Self {
            peer: Arc::clone(peer),
            options,
        }
    }

    async fn new() -> Self {
        Self::below(&Arc::new(Peer::alone().await), "/karavel")
    }
}

impl Subject for InEtcd {
    async fn open(&self) -> Store {
        assert!(self.options.endpoints.contains(&self.peer.url()));
        Store::Etcd(Etcd::connect(self.options.clone()).await.unwrap())
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn tick(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn has_cheap_time(&self) -> bool {
        false
    }

    fn spares_watches(&self) -> bool {
        false
    }
}

#[test]
fn random_histories_agree_with_the_model() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let peer = Arc::new(runtime.block_on(Peer::alone()));
    let count = AtomicU32::new(0);
    random_histories(16, || {
        let number = count.fetch_add(1, Ordering::Relaxed);
        InEtcd::below(&peer, &format!("/history-{number}/"))
    });
}

macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() {
                scenarios::$name(InEtcd::new().await).await;
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

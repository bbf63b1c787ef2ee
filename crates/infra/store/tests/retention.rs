//! How much of the past is kept, and what becomes of those who wanted more.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use karavel_store::embedded::{Clock, Embedded, ManualClock, Options, Retention};
use karavel_store::{Key, Notice, Revision, Txn, WatchError};
use tempfile::TempDir;

struct Setup {
    _directory: TempDir,
    clock: ManualClock,
    store: Embedded,
}

fn setup(retention: Retention) -> Setup {
    let directory = TempDir::new().unwrap();
    let clock = ManualClock::at(Duration::from_secs(1_800_000_000));
    let options = Options {
        retention,
        clock: Clock::Manual(clock.clone()),
        ..Options::default()
    };
    let store = Embedded::open(directory.path(), options).unwrap();
    Setup {
        _directory: directory,
        clock,
        store,
    }
}

const PLENTY: Retention = Retention {
    age: Duration::from_secs(3600),
    events: usize::MAX,
    bytes: usize::MAX,
};

async fn write(store: &Embedded, name: &str, count: u64) {
    for _ in 0..count {
        store
            .commit(Txn::new().put(Key::new(name.to_owned()).unwrap(), vec![1; 1000]))
            .await
            .unwrap();
    }
}

fn compacted(store: &Embedded) -> u64 {
    store.status().unwrap().compacted.0
}

#[tokio::test]
async fn history_is_bounded_by_events() {
    let Setup {
        store, _directory, ..
    } = setup(Retention {
        events: 10,
        ..PLENTY
    });
    write(&store, "k", 50).await;
    // What exceeds the limit goes with the next batch.
    assert_eq!(compacted(&store), 39);
}

#[tokio::test]
async fn history_is_bounded_by_bytes() {
    let Setup {
        store, _directory, ..
    } = setup(Retention {
        bytes: 20_000,
        ..PLENTY
    });
    write(&store, "k", 50).await;
    let kept = 50 - compacted(&store);
    assert!(
        (10..20).contains(&kept),
        "{kept} revisions of somewhat more than 1000 bytes"
    );
}

#[tokio::test]
async fn history_is_bounded_by_age_also_when_nothing_is_written() {
    let Setup {
        store,
        clock,
        _directory,
    } = setup(PLENTY);
    write(&store, "k", 5).await;
    clock.advance(Duration::from_secs(1800));
    write(&store, "k", 5).await;
    clock.advance(Duration::from_secs(1801));
    let deadline = tokio::time::timeout(Duration::from_secs(30), async {
        while compacted(&store) != 5 {
            tokio::task::yield_now().await;
        }
    });
    deadline.await.unwrap();
}

#[tokio::test]
async fn a_watcher_that_stops_reading_is_told_that_it_fell_behind() {
    let Setup {
        store, _directory, ..
    } = setup(Retention {
        events: 100,
        ..PLENTY
    });
    let mut slow = store.watch("k".into(), Revision(0)).unwrap();
    write(&store, "k", 2).await;
    assert!(
        matches!(slow.next().await, Ok(Notice::Changes(changes)) if changes.revision == Revision(1))
    );
    // Beyond the retention and the grace for watchers under way.
    write(&store, "k", 1500).await;
    let ended = slow.next().await;
    let Err(WatchError::FellBehind { seen, compacted }) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!((seen, compacted), (Revision(1), Revision(1401)));
    assert!(slow.next().await.is_err(), "and again when it asks again");
}

#[tokio::test]
async fn a_watcher_that_nothing_concerns_never_falls_behind() {
    let Setup {
        store, _directory, ..
    } = setup(Retention {
        events: 100,
        ..PLENTY
    });
    let mut quiet = store.watch("quiet".into(), Revision(0)).unwrap();
    write(&store, "loud", 1500).await;
    write(&store, "quiet", 1).await;
    assert!(
        matches!(quiet.next().await, Ok(Notice::Changes(changes)) if changes.revision == Revision(1501))
    );
}

#[tokio::test]
async fn a_watcher_that_stops_reading_keeps_nothing_alive() {
    let Setup {
        store, _directory, ..
    } = setup(Retention {
        events: 10,
        ..PLENTY
    });
    let key = Key::new("k").unwrap();
    let slow = store.watch("".into(), Revision(0)).unwrap();
    write(&store, "k", 1).await;
    let first = store.get(&key, None).unwrap().unwrap();
    let weak = Arc::downgrade(&first);
    drop(first);
    write(&store, "k", 1500).await;
    assert!(
        weak.upgrade().is_none(),
        "the value that the watcher has not read is gone"
    );
    drop(slow);
}

#[tokio::test]
async fn a_compaction_up_to_the_present_spares_those_who_are_a_moment_late() {
    let Setup {
        store, _directory, ..
    } = setup(PLENTY);
    let mut watch = store.watch("".into(), Revision(0)).unwrap();
    write(&store, "k", 10).await;
    store.compact(Revision(10)).await.unwrap();
    for revision in 1..=10 {
        assert!(
            matches!(watch.next().await, Ok(Notice::Changes(changes)) if changes.revision == Revision(revision))
        );
    }
    let refused = store.watch("".into(), Revision(9));
    assert!(
        matches!(refused, Err(WatchError::Compacted { .. })),
        "but nobody new may begin there"
    );
}

/// Opens the store in a directory at a time of day.
fn open_at(directory: &TempDir, seconds: u64) -> (Embedded, ManualClock) {
    let clock = ManualClock::at(Duration::from_secs(seconds));
    let options = Options {
        clock: Clock::Manual(clock.clone()),
        ..Options::default()
    };
    (Embedded::open(directory.path(), options).unwrap(), clock)
}

/// Writes something else, after which everything due by now is gone.
async fn settle(store: &Embedded) {
    write(store, "other", 2).await;
}

#[tokio::test]
async fn a_clock_that_went_back_gives_no_key_more_than_its_whole_time() {
    let directory = TempDir::new().unwrap();
    let key = Key::new("short").unwrap();
    let minute = Duration::from_secs(60);
    let (store, _) = open_at(&directory, 1_800_000_000);
    let txn = Txn::new().put_for(key.clone(), vec![1], minute);
    store.commit(txn).await.unwrap();
    store.close().await;

    let (store, clock) = open_at(&directory, 1_700_000_000);
    clock.advance(Duration::from_secs(59));
    settle(&store).await;
    assert!(store.get(&key, None).unwrap().is_some());
    store.renew(key.clone()).await.unwrap();
    store.close().await;

    let (store, clock) = open_at(&directory, 1_700_000_059 + 59);
    settle(&store).await;
    assert!(store.get(&key, None).unwrap().is_some(), "it was renewed");
    clock.advance(Duration::from_secs(1));
    settle(&store).await;
    assert!(store.get(&key, None).unwrap().is_none());
}

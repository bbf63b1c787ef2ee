//! Cases about waiting and about many at once.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;

use store::{CommitError, Expect, Notice, Query, ReadError, Revision, Store, Txn, WatchError};

use super::{Subject, drain, key, soon};

async fn put(store: &Store, name: &str, value: &str) -> Revision {
    soon(
        "a put",
        store.commit(Txn::new().put(key(name), value.to_owned())),
    )
    .await
    .unwrap()
    .revision
}

/// A watch is woken by a change that happens while it waits, and by nothing else.
pub(crate) async fn a_waiting_watch_hears_of_a_change(subject: impl Subject) {
    let store = subject.open().await;
    let start = store.revision().await.unwrap();
    let mut watch = store.watch("pods/", start).await.unwrap();
    let (notice, revision) = tokio::join!(soon("the change", watch.next()), async {
        put(&store, "nodes/a", "1").await;
        put(&store, "pods/a", "1").await
    });
    let Notice::Changes(changes) = notice.unwrap() else {
        panic!("not a change")
    };
    assert_eq!(changes.revision, revision);
    assert_eq!(changes.events.len(), 1);
    assert!(changes.events[0].is_create());
    store.close().await;
}

/// Progress covers everything acknowledged before it was asked for, also on a watch that nothing concerns.
pub(crate) async fn progress_covers_what_was_acknowledged(subject: impl Subject) {
    let store = subject.open().await;
    let start = store.revision().await.unwrap();
    let mut watch = store.watch("quiet/", start).await.unwrap();
    for round in 0..20 {
        let revision = put(&store, "loud", &round.to_string()).await;
        assert_eq!(drain(&mut watch, revision).await, []);
    }
    store.close().await;
}

/// A watch that begins in the future stays silent until then.
pub(crate) async fn a_watch_may_begin_in_the_future(subject: impl Subject) {
    let store = subject.open().await;
    let start = store.revision().await.unwrap();
    let mut watch = store.watch("", Revision(start.0 + 2)).await.unwrap();
    let mut last = start;
    for round in 0..4 {
        last = put(&store, "k", &round.to_string()).await;
    }
    let seen: Vec<_> = drain(&mut watch, last)
        .await
        .iter()
        .map(|changes| changes.revision)
        .collect();
    assert_eq!(seen, [Revision(start.0 + 3), Revision(start.0 + 4)]);
    store.close().await;
}

/// Of many callers who all expect the same state, one wins; the others are shown what it wrote.
pub(crate) async fn one_of_many_rivals_wins(subject: impl Subject) {
    let store = subject.open().await;
    let rivals = (0..32).map(|rival: u32| {
        let store = store.clone();
        async move {
            store
                .commit(
                    Txn::new()
                        .check(key("k"), Expect::Absent)
                        .put(key("k"), rival.to_string()),
                )
                .await
        }
    });
    let results = join_all(rivals).await;
    let winners: Vec<_> = results
        .iter()
        .filter_map(|result| result.as_ref().ok())
        .collect();
    assert_eq!(winners.len(), 1);
    for result in &results {
        let Err(CommitError::Conflict(conflict)) = result else {
            continue;
        };
        assert_eq!(conflict.current, winners[0].outcomes[0].current);
    }
    assert_eq!(
        results
            .iter()
            .filter(|result| matches!(result, Err(CommitError::Conflict(_))))
            .count(),
        31
    );
    store.close().await;
}

/// Every transaction of many concurrent callers has a revision of its own, and a watch sees them all in order.
pub(crate) async fn concurrent_writes_are_seen_in_one_order(subject: impl Subject) {
    let store = subject.open().await;
    let start = store.revision().await.unwrap();
    let mut watch = store.watch("", start).await.unwrap();
    let writers = (0..16u32).map(|writer| {
        let store = store.clone();
        async move {
            let mut revisions = Vec::new();
            for round in 0..20u32 {
                revisions.push(put(&store, &format!("w{writer}"), &round.to_string()).await);
            }
            revisions
        }
    });
    let revisions: Vec<_> = join_all(writers).await.into_iter().flatten().collect();
    let distinct: BTreeSet<_> = revisions.iter().copied().collect();
    assert_eq!(distinct.len(), 320);
    let seen: Vec<_> = drain(&mut watch, *distinct.last().unwrap())
        .await
        .iter()
        .map(|changes| changes.revision)
        .collect();
    assert_eq!(seen, distinct.into_iter().collect::<Vec<_>>());
    store.close().await;
}

/// A list read page by page at one revision is not disturbed by what is written meanwhile.
pub(crate) async fn pages_of_one_revision_are_consistent(subject: impl Subject) {
    let store = subject.open().await;
    for index in 0..25 {
        put(&store, &format!("p/{index:02}"), "old").await;
    }
    let mut page = store
        .range(&Query::prefix("p/").limit(10).counting())
        .await
        .unwrap();
    let revision = page.revision;
    let mut seen = Vec::new();
    loop {
        seen.extend(
            page.entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.value.clone())),
        );
        if !page.more {
            break;
        }
        put(&store, "p/00x", "new").await;
        put(&store, "p/24", "new").await;
        soon("a delete", store.commit(Txn::new().delete(key("p/12"))))
            .await
            .unwrap();
        let mut start = page.entries.last().unwrap().key.as_bytes().to_vec();
        start.push(0);
        page = store
            .range(
                &Query::between(start, "p0")
                    .limit(10)
                    .at(revision)
                    .counting(),
            )
            .await
            .unwrap();
        assert_eq!(page.revision, revision);
    }
    assert_eq!(seen.len(), 25);
    assert!(seen.iter().all(|(_, value)| value == "old"));
    store.close().await;
}

/// A key with a time to live goes when it is over, unless it is renewed; putting it again without one keeps it.
pub(crate) async fn keys_live_as_long_as_they_were_given(subject: impl Subject) {
    let store = subject.open().await;
    let tick = subject.tick();
    let start = store.revision().await.unwrap();
    let mut watch = store.watch("", start).await.unwrap();
    for name in ["gone", "renewed", "kept"] {
        store
            .commit(Txn::new().put_for(key(name), "1", tick * 4))
            .await
            .unwrap();
    }
    let last = put(&store, "kept", "2").await;
    assert_eq!(drain(&mut watch, last).await.len(), 4);
    subject.pass(tick * 3).await;
    store.renew(&key("renewed")).await.unwrap();
    subject.pass(tick * 2).await;
    let Notice::Changes(changes) = soon("the expiry", watch.next()).await.unwrap() else {
        panic!("not a change")
    };
    assert_eq!(changes.events.len(), 1);
    assert_eq!(changes.events[0].key, key("gone"));
    assert!(changes.events[0].is_delete());
    assert_eq!(changes.events[0].previous.as_ref().unwrap().value, "1");
    subject.pass(tick * 4).await;
    let Notice::Changes(changes) = soon("the expiry", watch.next()).await.unwrap() else {
        panic!("not a change")
    };
    assert_eq!(changes.events[0].key, key("renewed"));
    assert_eq!(
        store.get(&key("kept"), None).await.unwrap().unwrap().value,
        "2"
    );
    store.close().await;
}

/// Times to live go on across a restart, and what was due meanwhile goes at once.
pub(crate) async fn times_to_live_survive_a_restart(subject: impl Subject) {
    let tick = subject.tick();
    let store = subject.open().await;
    store
        .commit(Txn::new().put_for(key("short"), "1", tick * 2))
        .await
        .unwrap();
    store
        .commit(Txn::new().put_for(key("long"), "1", tick * 60))
        .await
        .unwrap();
    let last = put(&store, "kept", "1").await;
    store.close().await;
    subject.pass(tick * 4).await;
    let store = subject.open().await;
    let mut watch = store.watch("", last).await.unwrap();
    let Notice::Changes(changes) = soon("the expiry", watch.next()).await.unwrap() else {
        panic!("not a change")
    };
    let gone: Vec<_> = changes
        .events
        .iter()
        .map(|event| event.key.clone())
        .collect();
    assert_eq!(gone, [key("short")]);
    assert!(store.get(&key("long"), None).await.unwrap().is_some());
    store.close().await;
}

/// A closed store says so to everyone.
pub(crate) async fn a_closed_store_says_so(subject: impl Subject) {
    let store = subject.open().await;
    let revision = put(&store, "k", "1").await;
    let mut watch = store.watch("", revision).await.unwrap();
    let (ended, ()) = tokio::join!(soon("the end", watch.next()), store.close());
    assert!(matches!(ended, Err(WatchError::Closed)), "{ended:?}");
    assert!(matches!(
        store.get(&key("k"), None).await,
        Err(ReadError::Closed)
    ));
    let refused = store.commit(Txn::new().delete(key("k"))).await;
    assert!(matches!(refused, Err(CommitError::Closed)), "{refused:?}");
}

/// Reading shares the stored bytes.
pub(crate) async fn reads_share_what_was_written(subject: impl Subject) {
    let store = subject.open().await;
    put(&store, "k", "a value that is long enough to be on the heap").await;
    let one = store.get(&key("k"), None).await.unwrap().unwrap();
    let other = store
        .range(&Query::default())
        .await
        .unwrap()
        .entries
        .remove(0);
    assert_eq!(one, other);
    if !matches!(store, Store::Etcd(_)) {
        assert!(Arc::ptr_eq(&one, &other));
    }
    store.close().await;
}

/// Waits for all, polling them together.
async fn join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|cx| {
        let mut pending = false;
        for (future, output) in &mut futures {
            if output.is_some() {
                continue;
            }
            match future.as_mut().poll(cx) {
                std::task::Poll::Ready(value) => *output = Some(value),
                std::task::Poll::Pending => pending = true,
            }
        }
        if pending {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
    futures
        .into_iter()
        .filter_map(|(_, output)| output)
        .collect()
}

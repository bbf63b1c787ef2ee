//! Watching and compacting under difficulties: restarts, cut connections, slow readers, a full etcd.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use store::{
    Changes, CommitError, Notice, Query, ReadError, Revision, Store, Txn, Watch, WatchError,
};
use tokio::task::JoinSet;

use crate::conformance::{drain, key, soon, try_drain};
use crate::peer::{Peer, Proxy};

async fn put(store: &Store, name: &str, value: impl Into<Vec<u8>>) -> Revision {
    let txn = Txn::new().put(key(name), value.into());
    soon("a put", store.commit(txn)).await.unwrap().revision
}

#[tokio::test]
async fn what_is_compacted_is_said_to_be() {
    let peer = Peer::alone().await;
    let store = peer.connect().await;
    let mut revisions = Vec::new();
    for round in 0..6u32 {
        revisions.push(put(&store, "k", round.to_string()).await);
    }
    assert_eq!(store.status().await.unwrap().compacted, Revision::ZERO);
    let floor = revisions[3];
    store.compact(floor).await.unwrap();
    store.compact(revisions[1]).await.unwrap();
    assert_eq!(store.status().await.unwrap().compacted, floor);
    for (index, revision) in revisions.iter().copied().enumerate() {
        let read = store.get(&key("k"), Some(revision)).await;
        let watch = store.watch("", revision).await;
        if revision >= floor {
            assert_eq!(read.unwrap().unwrap().value, index.to_string());
            let seen = drain(&mut watch.unwrap(), revisions[5]).await;
            assert_eq!(seen.len(), 5 - index);
            assert!(
                seen.iter()
                    .all(|changes| changes.events[0].previous.is_some())
            );
            continue;
        }
        assert!(
            matches!(read, Err(ReadError::Compacted { compacted, .. }) if compacted == floor),
            "{read:?}"
        );
        assert!(
            matches!(watch, Err(WatchError::Compacted { compacted, .. }) if compacted == floor),
            "{watch:?}"
        );
    }
}

#[tokio::test]
async fn a_compaction_while_disconnected_ends_a_watch_that_needs_what_is_gone() {
    let peer = Peer::alone().await;
    let proxy = Proxy::before(&peer).await;
    let mut options = peer.options();
    options.endpoints = vec![proxy.url()];
    let (store, direct) = (peer.connect_with(options).await, peer.connect().await);
    let start = store.revision().await.unwrap();
    let mut watch = store.watch("", start).await.unwrap();
    let first = put(&direct, "k", "1").await;
    assert_eq!(drain(&mut watch, first).await.len(), 1);
    proxy.cut();
    put(&direct, "k", "2").await;
    let last = put(&direct, "k", "3").await;
    direct.compact(last).await.unwrap();
    proxy.mend();
    let ended = soon("the end", watch.next()).await;
    let Err(WatchError::Compacted {
        requested,
        compacted,
    }) = ended
    else {
        panic!("{ended:?}");
    };
    assert!(requested >= first && compacted == last, "{ended:?}");
    assert!(watch.next().await.is_err());
}

/// Writes to a key of its own until told to stop, and says which revisions were acknowledged and which were not.
async fn write_until(store: Store, name: String, stop: Arc<AtomicBool>) -> Vec<(Revision, String)> {
    let mut acknowledged = Vec::new();
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let value = format!("{name}-{round}");
        match soon(
            "a put",
            store.commit(Txn::new().put(key(&name), value.clone())),
        )
        .await
        {
            Ok(committed) => acknowledged.push((committed.revision, value)),
            Err(CommitError::Unavailable { .. } | CommitError::Unknown { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    acknowledged
}

/// Several writers at once; see [`write_until`].
pub(crate) struct Load {
    writers: JoinSet<Vec<(Revision, String)>>,
    stop: Arc<AtomicBool>,
}

impl Load {
    pub(crate) fn on(store: &Store, writers: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        for writer in 0..writers {
            tasks.spawn(write_until(
                store.clone(),
                format!("w{writer}"),
                Arc::clone(&stop),
            ));
        }
        Self {
            writers: tasks,
            stop,
        }
    }

    /// Ends the writing and returns what was acknowledged.
    pub(crate) async fn finish(self) -> Vec<(Revision, String)> {
        self.stop.store(true, Ordering::Relaxed);
        soon("the writers", self.writers.join_all())
            .await
            .into_iter()
            .flatten()
            .collect()
    }
}

/// Reads a watch until it has seen so many transactions.
pub(crate) async fn read(watch: &mut Watch, seen: &mut Vec<Changes>, count: usize) {
    while seen.len() < count {
        if let Notice::Changes(changes) = soon("a change", watch.next()).await.unwrap() {
            seen.push(changes);
        }
    }
}

/// Everything acknowledged was seen, everything seen is what etcd has, and nothing was seen twice or out of order.
pub(crate) async fn check_all_seen(
    store: &Store,
    watch: &mut Watch,
    mut seen: Vec<Changes>,
    acknowledged: &[(Revision, String)],
) {
    let newest = soon("the revision", store.revision()).await.unwrap();
    try_drain(watch, newest, &mut seen).await.unwrap();
    assert!(seen.is_sorted_by(|one, other| one.revision < other.revision));
    let value = |changes: &Changes| changes.events[0].current.as_ref().unwrap().value.clone();
    for (revision, expected) in acknowledged {
        let index = seen
            .binary_search_by_key(revision, |changes| changes.revision)
            .unwrap_or_else(|_| panic!("revision {revision} was acknowledged and not seen"));
        assert_eq!(value(&seen[index]), expected.as_bytes());
    }
    // Writers count up, and each event says what came before it: a gap would show.
    for changes in &seen {
        let event = &changes.events[0];
        let current = event.current.as_ref().unwrap();
        match &event.previous {
            Some(previous) => assert_eq!(previous.version + 1, current.version),
            None => assert_eq!(current.version, 1),
        }
    }
    let puts: u64 = store
        .range(&Query::default())
        .await
        .unwrap()
        .entries
        .iter()
        .map(|entry| entry.version)
        .sum();
    assert_eq!(puts, seen.len() as u64, "every put was seen once");
}

#[tokio::test]
async fn a_watch_misses_and_repeats_nothing_across_restarts_of_etcd() {
    let mut peer = Peer::alone().await;
    let store = peer.connect().await;
    let start = store.revision().await.unwrap();
    let mut watch = store.watch("", start).await.unwrap();
    let mut seen = Vec::new();
    let load = Load::on(&store, 8);
    for _ in 0..3 {
        let target = seen.len() + 100;
        read(&mut watch, &mut seen, target).await;
        peer.kill();
        peer.start();
    }
    let target = seen.len() + 100;
    read(&mut watch, &mut seen, target).await;
    let acknowledged = load.finish().await;
    check_all_seen(&store, &mut watch, seen, &acknowledged).await;
}

#[tokio::test]
async fn a_watch_misses_and_repeats_nothing_across_cut_connections() {
    let peer = Peer::alone().await;
    let proxy = Proxy::before(&peer).await;
    let mut options = peer.options();
    options.endpoints = vec![proxy.url()];
    let store = peer.connect_with(options).await;
    let start = store.revision().await.unwrap();
    let mut watch = store.watch("", start).await.unwrap();
    let mut seen = Vec::new();
    let load = Load::on(&store, 8);
    for _ in 0..10 {
        let target = seen.len() + 30;
        read(&mut watch, &mut seen, target).await;
        proxy.cut();
        proxy.mend();
    }
    let acknowledged = load.finish().await;
    check_all_seen(&store, &mut watch, seen, &acknowledged).await;
}

#[tokio::test]
async fn transactions_larger_than_a_message_arrive_whole() {
    let peer = Peer::with(&["--max-request-bytes=65536"]).await;
    let store = peer.connect().await;
    let start = store.revision().await.unwrap();
    let mut last = start;
    for _ in 0..40 {
        let txn = ["a", "b", "c"].iter().fold(Txn::new(), |txn, name| {
            txn.put(key(name), vec![b'x'; 15_000])
        });
        last = store.commit(txn).await.unwrap().revision;
    }
    // One that begins now gets all of it at once, in fragments that end anywhere.
    let seen = drain(&mut store.watch("", start).await.unwrap(), last).await;
    assert_eq!(seen.len(), 40);
    assert!(seen.iter().all(|changes| changes.events.len() == 3));
    let refused = store
        .commit(Txn::new().put(key("a"), vec![b'x'; 70_000]))
        .await;
    let Err(CommitError::Invalid(reason)) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        reason.to_string().contains("--max-request-bytes"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_reader_who_stops_costs_little_and_misses_nothing_until_etcd_forgets() {
    let peer = Peer::alone().await;
    let mut options = peer.options();
    options.watch_bytes = 64 * 1024;
    let store = peer.connect_with(options).await;
    let start = store.revision().await.unwrap();
    let mut patient = store.watch("", start).await.unwrap();
    let mut late = store.watch("", start).await.unwrap();
    // Both have caught up, so that from now on changes come one by one.
    let mut last = put(&store, "first", "1").await;
    for watch in [&mut patient, &mut late] {
        assert_eq!(drain(watch, last).await.len(), 1);
    }
    for round in 0..100u32 {
        last = put(&store, &format!("k{round:03}"), vec![b'x'; 4000]).await;
    }
    // Far more than what is kept for a reader, and all of it is there.
    let seen = drain(&mut patient, last).await;
    let keys: Vec<_> = seen
        .iter()
        .map(|changes| changes.events[0].key.to_string())
        .collect();
    let all: Vec<_> = (0..100).map(|round| format!("k{round:03}")).collect();
    assert_eq!(keys, all);

    store.compact(last).await.unwrap();
    let mut kept = Vec::new();
    let ended = try_drain(&mut late, last, &mut kept).await;
    let Err(WatchError::FellBehind { seen, compacted }) = ended else {
        panic!("{ended:?}, after {} changes", kept.len());
    };
    assert_eq!(compacted, last);
    assert_eq!(kept.last().unwrap().revision, seen);
    let bytes: usize = kept
        .iter()
        .map(|changes| changes.events[0].current.as_ref().unwrap().value.len())
        .sum();
    assert!((32 * 1024..128 * 1024).contains(&bytes), "{bytes} bytes");
}

#[tokio::test]
async fn a_list_of_several_messages_is_whole_and_of_one_revision() {
    let peer = Peer::alone().await;
    let store = peer.connect().await;
    for start in (0..1500u32).step_by(100) {
        let txn = (start..start + 100).fold(Txn::new(), |txn, index| {
            txn.put(key(&format!("k{index:04}")), index.to_string())
        });
        store.commit(txn).await.unwrap();
    }
    let before = store.revision().await.unwrap();
    let page = store.range(&Query::default().counting()).await.unwrap();
    assert_eq!((page.more, page.remaining), (false, Some(0)));
    assert_eq!(page.revision, before);
    let keys: Vec<_> = page
        .entries
        .iter()
        .map(|entry| entry.key.to_string())
        .collect();
    let all: Vec<_> = (0..1500).map(|index| format!("k{index:04}")).collect();
    assert_eq!(keys, all);
    let page = store
        .range(&Query::default().limit(1200).counting())
        .await
        .unwrap();
    assert_eq!(page.entries.len(), 1200);
    assert_eq!((page.more, page.remaining), (true, Some(300)));
}

#[tokio::test]
async fn spent_leases_are_given_back() {
    let peer = Peer::alone().await;
    let store = peer.connect().await;
    let hour = Duration::from_secs(3600);
    for round in 0..5u32 {
        let txn = Txn::new().put_for(key("k"), round.to_string(), hour);
        store.commit(txn).await.unwrap();
    }
    let refused = Txn::new()
        .check(key("k"), store::Expect::Absent)
        .put_for(key("k"), "no", hour);
    assert!(store.commit(refused).await.is_err());
    store
        .commit(Txn::new().put_for(key("other"), "1", hour))
        .await
        .unwrap();
    store.commit(Txn::new().delete(key("other"))).await.unwrap();
    let leases = || {
        peer.post("/v3/lease/leases", "{}")
            .matches("\"ID\"")
            .count()
    };
    soon("the leases to go", async {
        while leases() > 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(
        store.get(&key("k"), None).await.unwrap().unwrap().value,
        "4"
    );
}

#[tokio::test]
async fn replicas_compact_regularly_and_keep_the_recent_past() {
    let peer = Peer::alone().await;
    let replicas = [peer.connect().await, peer.connect().await];
    let first = put(&replicas[0], "k", "0").await;
    let mut tasks = JoinSet::new();
    for replica in &replicas {
        let Store::Etcd(etcd) = replica.clone() else {
            panic!("not in etcd");
        };
        tasks.spawn(async move { etcd.compact_regularly(Duration::from_millis(200)).await });
    }
    soon("a compaction", async {
        while replicas[0].get(&key("k"), Some(first)).await.is_ok() {
            put(&replicas[0], "k", "1").await;
        }
    })
    .await;
    let recent = put(&replicas[0], "k", "2").await;
    assert!(replicas[0].get(&key("k"), Some(recent)).await.is_ok());
    for replica in &replicas {
        replica.close().await;
    }
    soon("the end of compacting", tasks.join_all()).await;
}

#[tokio::test]
async fn a_full_etcd_takes_no_writes_and_says_what_to_do() {
    // Sixteen megabytes is the least that the page size and etcd's own needs leave room for.
    let peer = Peer::with(&["--quota-backend-bytes=16777216"]).await;
    let store = peer.connect().await;
    assert_eq!(store.status().await.unwrap().read_only, None);
    let reason = loop {
        let txn = Txn::new().put(key("k"), vec![0; 1_000_000]);
        match store.commit(txn).await {
            Ok(_) => {}
            Err(CommitError::ReadOnly { reason }) => break reason,
            Err(error) => panic!("{error}"),
        }
    };
    assert!(reason.contains("etcdctl alarm disarm"), "{reason}");
    assert_eq!(store.status().await.unwrap().read_only, Some(reason));
    assert!(store.get(&key("k"), None).await.unwrap().is_some());
    // What the reason says helps.
    let newest = store.revision().await.unwrap();
    store.compact(newest).await.unwrap();
    soon("room", async {
        // etcd compacts in the background: until it has, defragmenting wins nothing and the alarm comes back.
        while store
            .commit(Txn::new().put(key("k"), "small"))
            .await
            .is_err()
        {
            peer.post("/v3/maintenance/defragment", "{}");
            let alarms = peer.post("/v3/maintenance/alarm", "{}");
            if let Some((_, member)) = alarms.split_once(r#""memberID":""#) {
                let member = member.split('"').next().unwrap();
                let disarm =
                    format!(r#"{{"action":"DEACTIVATE","memberID":"{member}","alarm":"NOSPACE"}}"#);
                peer.post("/v3/maintenance/alarm", &disarm);
            }
        }
    })
    .await;
    assert_eq!(store.status().await.unwrap().read_only, None);
}

//! Three members, of which some die, freeze and come back.

use std::time::{Duration, Instant};

use store::etcd::Options;
use store::{CommitError, Store, Txn};

use crate::conformance::{drain, key, soon};
use crate::history::{Load, check_all_seen, read};
use crate::peer::{Peer, connect};

/// A store on all members, the given one first.
async fn on_all(peers: &[Peer], first: usize) -> Store {
    connect(options(peers, first)).await.unwrap()
}

fn options(peers: &[Peer], first: usize) -> Options {
    let mut endpoints: Vec<_> = peers.iter().map(Peer::url).collect();
    endpoints.rotate_left(first);
    Options {
        timeout: Duration::from_secs(5),
        ..Options::new(endpoints, "/karavel")
    }
}

/// The place of a member that leads, or of one that does not.
async fn find(peers: &[Peer], leads: bool) -> usize {
    soon("a leader", async {
        loop {
            let leaders: Vec<_> = peers.iter().map(Peer::is_leader).collect();
            if leaders.contains(&true) {
                return leaders.iter().position(|leader| *leader == leads).unwrap();
            }
        }
    })
    .await
}

async fn survive_the_loss_of_one(leads: bool) {
    let mut peers = Peer::three().await;
    let victim = find(&peers, leads).await;
    // The watch and the writes go to the one that dies.
    let store = on_all(&peers, victim).await;
    let start = store.revision().await.unwrap();
    let mut watch = store.watch("", start).await.unwrap();
    let mut seen = Vec::new();
    let load = Load::on(&store, 8);
    read(&mut watch, &mut seen, 100).await;
    peers[victim].kill();
    let target = seen.len() + 200;
    read(&mut watch, &mut seen, target).await;
    peers[victim].start();
    let direct = peers[victim].connect().await;
    let target = seen.len() + 100;
    read(&mut watch, &mut seen, target).await;
    let acknowledged = load.finish().await;
    assert!(acknowledged.len() >= 200, "{}", acknowledged.len());
    check_all_seen(&store, &mut watch, seen, &acknowledged).await;
    // The one that came back has it all as well.
    let mut whole = direct.watch("", start).await.unwrap();
    check_all_seen(&direct, &mut whole, Vec::new(), &acknowledged).await;
}

#[tokio::test]
async fn nothing_is_lost_or_repeated_when_the_leader_dies_and_comes_back() {
    survive_the_loss_of_one(true).await;
}

#[tokio::test]
async fn nothing_is_lost_or_repeated_when_a_follower_dies_and_comes_back() {
    survive_the_loss_of_one(false).await;
}

#[tokio::test]
async fn without_a_majority_writes_fail_in_time_and_recover() {
    let mut peers = Peer::three().await;
    let impatient = Options {
        timeout: Duration::from_secs(2),
        ..options(&peers, 0)
    };
    let store = connect(impatient).await.unwrap();
    let first = store.commit(Txn::new().put(key("k"), "1")).await.unwrap();
    let mut watch = store.watch("", first.revision).await.unwrap();
    peers[1].kill();
    peers[2].kill();
    let begun = Instant::now();
    let mut definite = None;
    // The first may have been under way; as soon as the member has noticed, refusals are definite.
    while definite.is_none() {
        match soon("a refusal", store.commit(Txn::new().put(key("k"), "2"))).await {
            Err(CommitError::Unavailable { source }) => definite = Some(source.to_string()),
            Err(CommitError::Unknown { .. }) => {}
            other => panic!("{other:?}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(15));
    }
    let reason = definite.unwrap();
    assert!(
        reason.contains("no leader") || reason.contains("cannot connect"),
        "{reason}"
    );
    assert!(store.get(&key("k"), None).await.is_err());
    peers[1].start();
    peers[2].start();
    let last = soon("a recovery", async {
        loop {
            if let Ok(committed) = store.commit(Txn::new().put(key("k"), "3")).await {
                return committed.revision;
            }
        }
    })
    .await;
    let seen = drain(&mut watch, last).await;
    // Writes of which nothing is known may still come, also behind the one that was acknowledged.
    assert!(seen.iter().any(|event| event.revision == last));
    assert!(seen.is_sorted_by(|one, other| one.revision < other.revision));
}

#[tokio::test]
async fn a_member_that_falls_silent_is_left() {
    let peers = Peer::three().await;
    let victim = find(&peers, false).await;
    let store = on_all(&peers, victim).await;
    let start = store.revision().await.unwrap();
    let mut watch = store.watch("", start).await.unwrap();
    peers[victim].freeze();
    // Its connections stay open, and only the lack of answers shows that it is gone.
    let other = on_all(&peers, (victim + 1) % 3).await;
    let last = other.commit(Txn::new().put(key("k"), "1")).await.unwrap();
    let seen = drain(&mut watch, last.revision).await;
    assert_eq!(seen.len(), 1);
    let read = soon("a read", store.get(&key("k"), None)).await.unwrap();
    assert_eq!(read.unwrap().value, "1");
    peers[victim].thaw();
}

//! The crash argument, case by case: a recorded workload is cut at every act on the disk.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::embedded::clock::{Clock, ManualClock};
use crate::embedded::disk::Disk;
use crate::embedded::fault::{Act, Failure, FaultyDisk, Image, Loss, Platter};
use crate::embedded::history::Retention;
use crate::embedded::open::{OpenError, recover};
use crate::embedded::{Embedded, Options};
use crate::{CommitError, Committed, Key, Notice, Query, Revision, Txn};

/// What every key holds and when it was put.
type Contents = BTreeMap<Key, (Bytes, Revision)>;

/// The contents after each revision.
type Expected = BTreeMap<u64, Contents>;

/// Small segments, many checkpoints, a short history: every mechanism is at work within a few transactions.
fn options() -> Options {
    Options {
        retention: Retention {
            age: Duration::from_secs(300),
            events: 6,
            bytes: usize::MAX,
        },
        clock: Clock::Manual(ManualClock::at(Duration::from_secs(1_800_000_000))),
        checkpoint_bytes: 2000,
    }
}

fn open(disk: &FaultyDisk) -> Result<Embedded, OpenError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let recovered = recover(&disk)?;
    Embedded::start(disk, None, recovered, options()).map_err(OpenError::directory)
}

fn key(index: usize) -> Key {
    Key::new(format!("key/{index}")).unwrap()
}

/// A group of transactions for each round; those of a group are offered at once and may share a batch.
fn group(round: usize) -> Vec<Txn> {
    let value = |n: usize| vec![u8::try_from(n % 251).unwrap(); 40 + (n * 97) % 900];
    match round % 4 {
        0 => vec![Txn::new().put(key(round % 5), value(round))],
        // Half of a transaction must never be seen: two keys that change together.
        1 => vec![
            Txn::new()
                .put(key(10), value(round))
                .put(key(11), value(round)),
        ],
        2 => (0..3)
            .map(|n| Txn::new().put(key(20 + n), value(round + n)).delete(key(n)))
            .collect(),
        _ => vec![
            Txn::new()
                .put_for(key(30), value(round), Duration::from_secs(60))
                .delete(key(10)),
        ],
    }
}

/// Whether the workload has gone on for long enough: until the checkpoint, which has a thread of its own, has been
/// at work several times.
fn is_enough(disk: &FaultyDisk, round: usize, failed: bool) -> bool {
    let removed = || {
        disk.log()
            .iter()
            .filter(|act| matches!(act, Act::Remove { .. }))
            .count()
    };
    round >= 24 && (failed || round >= 1000 || removed() > 3)
}

/// Runs the workload until it is done or fails, and says what each revision held.
fn run(disk: &FaultyDisk) -> (Expected, Option<CommitError>) {
    let mut expected = Expected::from([(0, Contents::new())]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let Ok(store) = open(disk) else {
        return (expected, None);
    };
    let failed = runtime.block_on(async {
        let mut failed = None;
        for round in 0.. {
            if is_enough(disk, round, failed.is_some()) {
                break;
            }
            let group = group(round);
            let results = together(group.iter().map(|txn| store.commit(txn.clone()))).await;
            let mut done: Vec<(&Txn, Committed)> = Vec::new();
            for (txn, result) in group.iter().zip(results) {
                match result {
                    Ok(committed) => {
                        assert!(
                            failed.is_none(),
                            "a write was acknowledged on top of a failed one"
                        );
                        disk.note(Act::Acknowledged(committed.revision.0));
                        done.push((txn, committed));
                    }
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            done.sort_by_key(|(_, committed)| committed.revision);
            for (txn, committed) in done {
                let mut contents = expected.values().last().unwrap().clone();
                for (op, outcome) in txn.ops.iter().zip(&committed.outcomes) {
                    match &outcome.current {
                        Some(entry) => {
                            contents.insert(op.key().clone(), (entry.value.clone(), entry.modified))
                        }
                        None => contents.remove(op.key()),
                    };
                }
                expected.insert(committed.revision.0, contents);
            }
        }
        if failed.is_some() {
            assert_eq!(
                contents(&store),
                *expected.values().last().unwrap(),
                "reads go on"
            );
            assert!(store.status().unwrap().read_only.is_some());
        }
        store.close().await;
        failed
    });
    (expected, failed)
}

async fn together<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|cx| {
        for (future, output) in &mut futures {
            if output.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(cx)
            {
                *output = Some(value);
            }
        }
        if futures.iter().all(|(_, output)| output.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    futures
        .into_iter()
        .filter_map(|(_, output)| output)
        .collect()
}

fn contents(store: &Embedded) -> Contents {
    let page = store.range(&Query::default()).unwrap();
    page.entries
        .iter()
        .map(|entry| (entry.key.clone(), (entry.value.clone(), entry.modified)))
        .collect()
}

/// Opens what is left and checks that it is a prefix with everything acknowledged, that its history leads to it, and
/// that it can be written to.
fn check(disk: &FaultyDisk, acknowledged: u64, expected: &Expected, what: &str) {
    let store = open(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let revision = store.revision().unwrap().0;
    assert!(
        revision >= acknowledged,
        "{what}: {acknowledged} was acknowledged, but {revision} is the newest"
    );
    if let Some(expected) = expected.get(&revision) {
        assert_eq!(contents(&store), *expected, "{what}: revision {revision}");
    } else {
        // Written but never answered: the next one after all that was.
        assert!(
            revision > *expected.keys().last().unwrap(),
            "{what}: revision {revision} is unknown"
        );
    }
    check_history(&store, expected, what);
    // Life goes on, in small steps and a large one: segments are begun in the middle of whatever was left.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for (step, size) in (1..).zip([60, 300, 60, 2500]) {
        let committed = runtime
            .block_on(store.commit(Txn::new().put(key(99), vec![1; size])))
            .unwrap();
        assert_eq!(committed.revision, Revision(revision + step), "{what}");
    }
    let before = contents(&store);
    drop(store);
    let store = open(disk).unwrap_or_else(|error| panic!("{what}, opened once more: {error}"));
    assert_eq!(contents(&store), before, "{what}, opened once more");
}

/// Follows the changes from the compacted revision: each must lead from one expected state to the next.
fn check_history(store: &Embedded, expected: &Expected, what: &str) {
    let compacted = store.status().unwrap().compacted;
    let newest = store.revision().unwrap();
    let page = store.range(&Query::default().at(compacted)).unwrap();
    let mut contents: Contents = page
        .entries
        .iter()
        .map(|entry| (entry.key.clone(), (entry.value.clone(), entry.modified)))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut watch = store.watch(Bytes::new(), compacted).unwrap();
    let mut seen = compacted;
    while seen < newest {
        let Notice::Changes(changes) = runtime.block_on(watch.next()).unwrap() else {
            continue;
        };
        assert_eq!(changes.revision, seen.next(), "{what}");
        seen = changes.revision;
        for event in changes.events.iter() {
            let previous = event
                .previous
                .as_ref()
                .map(|entry| (entry.value.clone(), entry.modified));
            assert_eq!(
                contents.get(&event.key),
                previous.as_ref(),
                "{what}: {seen}"
            );
            match &event.current {
                Some(entry) => {
                    contents.insert(event.key.clone(), (entry.value.clone(), entry.modified))
                }
                None => contents.remove(&event.key),
            };
        }
        if let Some(expected) = expected.get(&seen.0) {
            assert_eq!(contents, *expected, "{what}: {seen}");
        }
    }
}

/// Calls back with what a crash after each act may leave, and what had been acknowledged by then.
fn at_every_act(start: &Image, log: &[Act], mut each: impl FnMut(usize, &Platter, u64)) {
    let mut platter = Platter::with(start);
    let mut acknowledged = 0;
    for (number, act) in log.iter().enumerate() {
        platter.take(act);
        match act {
            Act::Acknowledged(revision) => acknowledged = acknowledged.max(*revision),
            _ => each(number, &platter, acknowledged),
        }
    }
}

fn cut_everywhere(losses: impl Fn(usize) -> Vec<Loss>) {
    let disk = FaultyDisk::default();
    let (expected, failed) = run(&disk);
    assert!(failed.is_none());
    let log = disk.log();
    let removed = log
        .iter()
        .filter(|act| matches!(act, Act::Remove { .. }))
        .count();
    assert!(
        removed > 3,
        "the workload is too small for checkpoints to matter: {removed}"
    );
    at_every_act(&Image::new(), &log, |number, platter, acknowledged| {
        for loss in losses(number) {
            let disk = FaultyDisk::with(&platter.image(loss));
            check(
                &disk,
                acknowledged,
                &expected,
                &format!("cut after act {number} of {}, {loss:?}", log.len()),
            );
        }
    });
}

#[test]
fn a_crash_that_loses_every_unsynced_write_keeps_what_was_acknowledged() {
    cut_everywhere(|_| vec![Loss::All]);
}

#[test]
fn a_crash_that_loses_no_write_keeps_what_was_acknowledged() {
    cut_everywhere(|_| vec![Loss::None]);
}

#[test]
fn a_crash_that_loses_any_sectors_keeps_what_was_acknowledged() {
    cut_everywhere(|number| {
        (0..3)
            .map(|seed| Loss::Some((number * 3 + seed) as u64))
            .collect()
    });
}

#[test]
fn a_second_crash_while_recovering_loses_nothing_either() {
    let disk = FaultyDisk::default();
    let (expected, _) = run(&disk);
    at_every_act(
        &Image::new(),
        &disk.log(),
        |number, platter, acknowledged| {
            if number % 11 != 0 {
                return;
            }
            let first = platter.image(Loss::Some(number as u64));
            let recovering = FaultyDisk::with(&first);
            drop(open(&recovering).unwrap());
            at_every_act(&first, &recovering.log(), |again, platter, _| {
                let disk = FaultyDisk::with(&platter.image(Loss::Some(again as u64)));
                check(
                    &disk,
                    acknowledged,
                    &expected,
                    &format!("cut after act {number}, then act {again}"),
                );
            });
        },
    );
}

/// Fails at every act of the workload, and checks both the living store and what is found afterwards.
fn fail_everywhere(failure: impl Fn(usize) -> Failure) {
    let whole = FaultyDisk::default();
    run(&whole);
    let acts = whole
        .log()
        .iter()
        .filter(|act| !matches!(act, Act::Acknowledged(_)))
        .count();
    let mut refused = 0;
    for number in 1..=acts {
        let disk = FaultyDisk::default().fail(failure(number));
        let (expected, failed) = run(&disk);
        refused += usize::from(failed.is_some());
        let mut platter = Platter::default();
        let mut acknowledged = 0;
        for act in disk.log() {
            platter.take(&act);
            if let Act::Acknowledged(revision) = act {
                acknowledged = revision;
            }
        }
        for loss in [Loss::None, Loss::Some(number as u64)] {
            let disk = FaultyDisk::with(&platter.image(loss));
            check(
                &disk,
                acknowledged,
                &expected,
                &format!("{:?}, {loss:?}", failure(number)),
            );
        }
    }
    assert!(
        refused * 2 > acts,
        "most failures are seen by a writer: {refused} of {acts}"
    );
}

#[test]
fn one_failed_write_or_sync_ends_writing_and_loses_nothing() {
    fail_everywhere(Failure::Once);
}

#[test]
fn a_full_disk_ends_writing_and_loses_nothing() {
    fail_everywhere(Failure::Full);
}

#[test]
fn a_disk_that_is_gone_ends_writing_and_loses_nothing() {
    fail_everywhere(Failure::Gone);
}

#[test]
fn what_a_restarted_process_has_shown_survives_the_machine() {
    let whole = FaultyDisk::default();
    run(&whole);
    let acts = whole
        .log()
        .iter()
        .filter(|act| !matches!(act, Act::Acknowledged(_)))
        .count();
    for number in 1..=acts {
        // The process fails and is started again on the same machine: what was written is there, synced or not.
        let disk = FaultyDisk::default().fail(Failure::Once(number));
        let (mut expected, _) = run(&disk);
        disk.mend();
        let store = open(&disk).unwrap();
        let shown = store.revision().unwrap().0;
        expected.insert(shown, contents(&store));
        let log = disk.log();
        drop(store);
        // Then the machine fails.
        let mut platter = Platter::default();
        log.iter().for_each(|act| platter.take(act));
        for loss in [Loss::All, Loss::Some(number as u64)] {
            let disk = FaultyDisk::with(&platter.image(loss));
            check(
                &disk,
                shown,
                &expected,
                &format!("act {number} failed, restarted, {loss:?}"),
            );
        }
    }
}

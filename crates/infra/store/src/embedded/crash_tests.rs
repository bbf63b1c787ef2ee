//! The crash argument, case by case: a recorded workload is cut at every act on the disk.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::embedded::clock::{Clock, ManualClock};
use crate::embedded::disk::Disk;
use crate::embedded::fault::{Act, Failure, FaultyDisk, Image, Loss, Platter, Told};
use crate::embedded::history::Retention;
use crate::embedded::open::{OpenError, recover};
use crate::embedded::{Embedded, Options};
use crate::{CommitError, Committed, Key, Notice, Query, Revision, Txn};

/// What every key holds and when it was put.
type Contents = BTreeMap<Key, (Bytes, Revision)>;

/// The contents after each revision.
type Expected = BTreeMap<u64, Contents>;

/// When the workload begins.
const START: Duration = Duration::from_secs(1_800_000_000);

/// How long a key of the workload lives that nobody renews.
const SHORT: Duration = Duration::from_secs(2);

/// What callers had been told when the lights went out.
#[derive(Clone, Debug)]
struct Promises {
    revision: u64,
    compacted: u64,
    /// The entry renewed last, by its revision, and how long it lives.
    renewed: (u64, u64),
    now: Duration,
}

impl Promises {
    fn none() -> Self {
        Self {
            revision: 0,
            compacted: 0,
            renewed: (0, 0),
            now: START,
        }
    }

    fn take(&mut self, told: &Told) {
        match told {
            Told::Committed(revision) => self.revision = self.revision.max(*revision),
            Told::Compacted(revision) => self.compacted = *revision,
            Told::Renewed { modified, deadline } => self.renewed = (*modified, *deadline),
            Told::Time(millis) => self.now = Duration::from_millis(*millis),
        }
    }
}

/// Small segments, many checkpoints, a short history: every mechanism is at work within a few transactions.
fn options(clock: &ManualClock) -> Options {
    Options {
        retention: Retention {
            age: Duration::from_secs(300),
            events: 6,
            bytes: usize::MAX,
        },
        clock: Clock::Manual(clock.clone()),
        checkpoint_bytes: 2000,
    }
}

fn open(disk: &FaultyDisk, clock: &ManualClock) -> Result<Embedded, OpenError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let recovered = recover(&disk)?;
    Embedded::start(disk, None, recovered, options(clock)).map_err(OpenError::directory)
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
                .put_for(key(31), value(round), SHORT)
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
    let clock = ManualClock::at(START);
    let Ok(store) = open(disk, &clock) else {
        return (expected, None);
    };
    let failed = runtime.block_on(async {
        let mut failed = None;
        for round in 0.. {
            if is_enough(disk, round, failed.is_some()) {
                break;
            }
            pass_a_second(disk, &store, &clock, &mut expected);
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
                        disk.note(Act::Told(Told::Committed(committed.revision.0)));
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
            keep_house(disk, &store, round).await;
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

/// Lets a second go by, and waits until what is due has gone.
fn pass_a_second(
    disk: &FaultyDisk,
    store: &Embedded,
    clock: &ManualClock,
    expected: &mut Expected,
) {
    let before = store.revision().unwrap();
    clock.advance(Duration::from_secs(1));
    disk.note(Act::Told(Told::Time(clock.now())));
    settle(store, clock);
    if store.revision().unwrap() > before {
        expected.insert(store.revision().unwrap().0, contents(store));
    }
}

/// Waits until nothing is due that could go.
fn settle(store: &Embedded, clock: &ManualClock) {
    loop {
        let state = store.owner.shared.published.state();
        let due = state
            .expiries
            .iter()
            .any(|(_, expiry)| expiry.deadline <= clock.now());
        if !due || store.status().unwrap().read_only.is_some() {
            return;
        }
        std::thread::yield_now();
    }
}

/// Renewals and compactions, which take no revision and are promises all the same.
async fn keep_house(disk: &FaultyDisk, store: &Embedded, round: usize) {
    if round % 4 == 1 && store.renew(key(30)).await.is_ok() {
        let state = store.owner.shared.published.state();
        let expiry = state.expiries.get(&key(30)).copied().unwrap();
        disk.note(Act::Told(Told::Renewed {
            modified: expiry.modified,
            deadline: expiry.deadline,
        }));
    }
    if round % 8 == 6 {
        let revision = Revision(store.revision().unwrap().0.saturating_sub(2));
        if store.compact(revision).await.is_ok() {
            disk.note(Act::Told(Told::Compacted(revision.0)));
        }
    }
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
fn check(disk: &FaultyDisk, promises: &Promises, expected: &Expected, what: &str) {
    let clock = ManualClock::at(promises.now);
    let store = open(disk, &clock).unwrap_or_else(|error| panic!("{what}: {error}"));
    settle(&store, &clock);
    let revision = store.revision().unwrap().0;
    assert!(
        revision >= promises.revision,
        "{what}: {promises:?}, but {revision} is the newest"
    );
    let compacted = store.status().unwrap().compacted.0;
    assert!(
        compacted >= promises.compacted,
        "{what}: {promises:?}, but history begins at {compacted}"
    );
    let state = store.owner.shared.published.state();
    if let Some(expiry) = state.expiries.get(&key(30))
        && expiry.modified == promises.renewed.0
    {
        assert!(
            expiry.deadline >= promises.renewed.1,
            "{what}: {promises:?}, but {expiry:?}"
        );
    }
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
    let store =
        open(disk, &clock).unwrap_or_else(|error| panic!("{what}, opened once more: {error}"));
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
fn at_every_act(start: &Image, log: &[Act], mut each: impl FnMut(usize, &Platter, &Promises)) {
    let mut platter = Platter::with(start);
    let mut promises = Promises::none();
    for (number, act) in log.iter().enumerate() {
        platter.take(act);
        match act {
            Act::Told(told) => promises.take(told),
            _ => each(number, &platter, &promises),
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
    at_every_act(&Image::new(), &log, |number, platter, promises| {
        for loss in losses(number) {
            let disk = FaultyDisk::with(&platter.image(loss));
            check(
                &disk,
                promises,
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
    at_every_act(&Image::new(), &disk.log(), |number, platter, promises| {
        if number % 11 != 0 {
            return;
        }
        let first = platter.image(Loss::Some(number as u64));
        let recovering = FaultyDisk::with(&first);
        drop(open(&recovering, &ManualClock::at(promises.now)).unwrap());
        at_every_act(&first, &recovering.log(), |again, platter, _| {
            let disk = FaultyDisk::with(&platter.image(Loss::Some(again as u64)));
            check(
                &disk,
                promises,
                &expected,
                &format!("cut after act {number}, then act {again}"),
            );
        });
    });
}

/// Fails at every act of the workload, and checks both the living store and what is found afterwards.
fn fail_everywhere(failure: impl Fn(usize) -> Failure) {
    let whole = FaultyDisk::default();
    run(&whole);
    let acts = whole
        .log()
        .iter()
        .filter(|act| !matches!(act, Act::Told(_)))
        .count();
    let mut refused = 0;
    for number in 1..=acts {
        let disk = FaultyDisk::default().fail(failure(number));
        let (expected, failed) = run(&disk);
        refused += usize::from(failed.is_some());
        let mut platter = Platter::default();
        let mut promises = Promises::none();
        for act in disk.log() {
            platter.take(&act);
            if let Act::Told(told) = &act {
                promises.take(told);
            }
        }
        for loss in [Loss::None, Loss::Some(number as u64)] {
            let disk = FaultyDisk::with(&platter.image(loss));
            check(
                &disk,
                &promises,
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
        .filter(|act| !matches!(act, Act::Told(_)))
        .count();
    for number in 1..=acts {
        // The process fails and is started again on the same machine: what was written is there, synced or not.
        let disk = FaultyDisk::default().fail(Failure::Once(number));
        let (mut expected, _) = run(&disk);
        disk.mend();
        let mut promises = Promises::none();
        for act in disk.log() {
            if let Act::Told(told) = &act {
                promises.take(told);
            }
        }
        let clock = ManualClock::at(promises.now);
        let store = open(&disk, &clock).unwrap();
        settle(&store, &clock);
        let shown = store.revision().unwrap().0;
        promises.revision = shown;
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
                &promises,
                &expected,
                &format!("act {number} failed, restarted, {loss:?}"),
            );
        }
    }
}

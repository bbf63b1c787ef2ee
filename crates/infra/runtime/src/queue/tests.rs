//! The queue against a plain model, and its waiting in the test's own time.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// What may be done to a queue of a few keys; times in milliseconds.
#[derive(Clone, Debug)]
enum Step {
    Add { key: u8, delay: u64, priority: i64 },
    Retry { key: u8 },
    Forget { key: u8 },
    Remove { key: u8 },
    Take,
    Finish { nth: usize },
    Pass { millis: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6_u8, prop_oneof![Just(0), 0..50_u64], -2..3_i64)
            .prop_map(|(key, delay, priority)| Step::Add { key, delay, priority }),
        1 => (0..6_u8).prop_map(|key| Step::Retry { key }),
        1 => (0..6_u8).prop_map(|key| Step::Forget { key }),
        1 => (0..6_u8).prop_map(|key| Step::Remove { key }),
        4 => Just(Step::Take),
        3 => (0..4_usize).prop_map(|nth| Step::Finish { nth }),
        2 => (0..40_u64).prop_map(|millis| Step::Pass { millis }),
    ]
}

/// The same, as slow and plain as can be.
#[derive(Default)]
struct Model {
    now: u64,
    arrivals: u64,
    /// Key to when it is due, its priority, and when it came.
    wanted: BTreeMap<u8, (u64, i64, u64)>,
    running: BTreeMap<u8, Option<(u64, i64)>>,
    failures: BTreeMap<u8, u32>,
    taken: u64,
}

impl Model {
    fn add(&mut self, key: u8, due: u64, priority: i64) {
        if let Some(again) = self.running.get_mut(&key) {
            *again = Some(again.map_or((due, priority), |(d, p)| (d.min(due), p.max(priority))));
            return;
        }
        self.arrivals += 1;
        let arrival = self.arrivals;
        let entry = self.wanted.entry(key).or_insert((due, priority, arrival));
        let is_ready = entry.0 <= self.now;
        if priority > entry.1 || (!is_ready && due < entry.0) {
            *entry = (entry.0.min(due), entry.1.max(priority), arrival);
        }
    }

    /// All keys that may be taken now: those due with the highest priority, or with the lowest each sixteenth time.
    fn candidates(&self) -> Vec<u8> {
        let due = self.wanted.iter().filter(|(_, (at, ..))| *at <= self.now);
        let priorities = due.clone().map(|(_, (_, priority, _))| *priority);
        let wanted = match self.taken % 16 {
            15 => priorities.min(),
            _ => priorities.max(),
        };
        due.filter(|(_, (_, priority, _))| Some(*priority) == wanted)
            .map(|(key, _)| *key)
            .collect()
    }
}

proptest! {
    #[test]
    fn the_queue_behaves_like_the_model(steps in prop::collection::vec(step(), 1..120)) {
        let origin = Instant::now();
        let at = |millis: u64| origin + Duration::from_millis(millis);
        let retry = RetryAfter { first: Duration::from_millis(5), longest: Duration::from_millis(30) };
        let mut state = State::new(retry);
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Add { key, delay, priority } => {
                    state.add(key, at(model.now + delay), priority, at(model.now));
                    model.add(key, model.now + delay, priority);
                }
                Step::Retry { key } => {
                    state.retry(key, -1, at(model.now), Duration::ZERO..=Duration::MAX);
                    let failures = model.failures.entry(key).or_default();
                    let wait = (5 << *failures).min(30);
                    *failures = (*failures + 1).min(8);
                    model.add(key, model.now + wait, -1);
                }
                Step::Forget { key } => {
                    state.forget(&key);
                    model.failures.remove(&key);
                }
                Step::Remove { key } => {
                    state.remove(&key);
                    model.failures.remove(&key);
                    model.wanted.remove(&key);
                    if let Some(again) = model.running.get_mut(&key) {
                        *again = None;
                    }
                }
                Step::Take => {
                    let candidates = model.candidates();
                    let taken = state.take(true, at(model.now));
                    prop_assert_eq!(taken.is_some(), !candidates.is_empty());
                    if let Some((key, waited, _)) = taken {
                        prop_assert!(candidates.contains(&key), "{key} is not among {candidates:?}");
                        prop_assert!(!model.running.contains_key(&key));
                        let due = model.wanted.remove(&key).map(|(due, ..)| due);
                        prop_assert_eq!(due, Some(model.now - waited.as_millis() as u64));
                        model.running.insert(key, None);
                        model.taken += 1;
                    }
                }
                Step::Finish { nth } => {
                    let key = model.running.keys().copied().nth(nth);
                    if let Some(key) = key {
                        state.finish(&key, at(model.now));
                        if let Some((due, priority)) = model.running.remove(&key).flatten() {
                            model.add(key, due, priority);
                        }
                    }
                }
                Step::Pass { millis } => model.now += millis,
            }
            let counts = state.counts(at(model.now));
            let ready = model.wanted.values().filter(|(due, ..)| *due <= model.now).count();
            prop_assert_eq!(counts.ready, ready);
            prop_assert_eq!(counts.waiting, model.wanted.len() - ready);
            prop_assert_eq!(counts.running, model.running.len());
        }
    }
}

#[test]
fn keys_of_one_priority_come_in_the_order_they_were_added() {
    let now = Instant::now();
    let mut state = State::new(RetryAfter::default());
    for (key, priority) in [("a", 0), ("b", 0), ("c", 7), ("d", 0), ("b", 0), ("d", 1)] {
        state.add(key, now, priority, now);
    }
    let order: Vec<_> = std::iter::from_fn(|| state.take(true, now))
        .map(|(key, ..)| key)
        .collect();
    assert_eq!(order, ["c", "d", "a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_taken_when_it_is_due_and_a_change_makes_it_earlier() {
    let queue = Queue::default();
    let start = Instant::now();
    queue.add_after("later", Duration::from_secs(60));
    queue.add_after("soon", Duration::from_secs(5));
    let soon = queue.take().await.unwrap();
    assert_eq!((*soon.key(), start.elapsed().as_secs()), ("soon", 5));
    let change = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        queue.add("later");
    };
    let (taken, ()) = tokio::join!(queue.take(), change);
    assert_eq!(
        (*taken.unwrap().key(), start.elapsed().as_secs()),
        ("later", 6)
    );
}

#[tokio::test(start_paused = true)]
async fn a_key_is_never_with_two_workers_and_comes_back_if_it_changed_meanwhile() {
    let queue = Queue::default();
    queue.add("a");
    let first = queue.take().await.unwrap();
    queue.add("a");
    assert_eq!(queue.counts().ready, 0);
    let second = {
        let waiting = queue.take();
        tokio::pin!(waiting);
        let early = tokio::time::timeout(Duration::from_secs(9), &mut waiting).await;
        assert!(early.is_err());
        drop(first);
        waiting.await
    };
    assert_eq!(second.unwrap().key(), &"a");
    assert!(queue.is_idle());
}

#[tokio::test(start_paused = true)]
async fn failures_wait_longer_until_they_are_forgotten() {
    let queue = Queue::default();
    let mut waits = Vec::new();
    for round in 0..4 {
        if round == 3 {
            queue.forget(&"a");
        }
        let start = Instant::now();
        queue.retry("a");
        drop(queue.take().await.unwrap());
        waits.push(start.elapsed().as_millis());
    }
    assert_eq!(waits, [5, 10, 20, 5]);
    assert_eq!(queue.failures(&"a"), 1);
}

#[tokio::test(start_paused = true)]
async fn closing_tells_everybody_who_waits() {
    let queue = Queue::<u8>::default();
    let close = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        queue.add_after(1, Duration::from_secs(5));
        queue.close();
        queue.add(2);
    };
    let (one, other, ()) = tokio::join!(queue.take(), queue.take(), close);
    assert!(one.is_none() && other.is_none());
    assert!(queue.take().await.is_none());
}

#[test]
fn what_is_added_in_the_background_comes_last_and_yet_comes() {
    let queue = Queue::default();
    in_the_background(0, || {
        for key in 0..3 {
            queue.add(key);
        }
        queue.add_with(3, Instant::now(), 7);
    });
    queue.add(1);
    for key in 100..116 {
        queue.add_with(key, Instant::now(), -100);
    }
    let mut taken = Vec::new();
    while let Some((key, ..)) = queue.lock().take(true, Instant::now()) {
        taken.push(key);
    }
    let expected = [
        1, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113,
    ];
    assert_eq!(taken[..15], expected);
    assert_eq!(
        taken[15..],
        [0, 114, 115, 3, 2],
        "one in sixteen is the least urgent"
    );
}

#[test]
fn of_what_was_there_before_the_newest_comes_first() {
    let queue = Queue::default();
    for (key, age, priority) in [
        ("a", 7, 0),
        ("b", u32::MAX, 0),
        ("c", 3, 0),
        ("d", 3, 0),
        ("e", 9, 1),
        ("b", 5, 0),
    ] {
        in_the_background(age, || queue.add_with(key, Instant::now(), priority));
    }
    let mut taken = Vec::new();
    while let Some((key, ..)) = queue.lock().take(true, Instant::now()) {
        taken.push(key);
    }
    assert_eq!(taken, ["e", "c", "d", "b", "a"]);
}

#[tokio::test(start_paused = true)]
async fn few_look_in_the_background_and_the_others_still_get_what_changes() {
    let turns = Turns::new(1);
    let (one, other) = (Queue::default(), Queue::default());
    in_the_background(0, || {
        one.add("old");
        other.add("old");
    });
    let mut held = one.take_in_turn(&turns).await.unwrap();
    let turn = held.turn().unwrap();
    let waiting = other.take_in_turn(&turns);
    tokio::pin!(waiting);
    let early = tokio::time::timeout(Duration::from_secs(9), &mut waiting).await;
    assert!(early.is_err(), "it is not its turn");
    other.add("new");
    let mut taken = waiting.await.unwrap();
    assert_eq!((*taken.key(), taken.turn().is_some()), ("new", false));
    let waiting = other.take_in_turn(&turns);
    tokio::pin!(waiting);
    let early = tokio::time::timeout(Duration::from_secs(9), &mut waiting).await;
    assert!(early.is_err(), "it is not its turn yet");
    drop(turn);
    let mut taken = waiting.await.unwrap();
    assert_eq!((*taken.key(), taken.turn().is_some()), ("old", true));
}

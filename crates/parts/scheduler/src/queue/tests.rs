//! Stories of a queue, each told in one line and answered in one line.

use std::time::Duration;

use super::*;

/// Plays a story. Words: `a` or `a:5` brings a binding (with a priority), `a@3` an edit up to generation 3, `~a` a change
/// elsewhere, `pop` takes one, `+a` settles it (generation 1), `+a@3` settles it at 3, `-a` fails it, `?a` leaves it
/// unschedulable, `^a` says there may be room, `x a` is spelled `xa` and removes it, `=a@3` expects our own write, `1s`
/// passes time.
fn play(story: &str) -> String {
    let mut queue: Queue<&str> = Queue::new(Patience::PRIORITIES);
    let mut now = Duration::ZERO;
    let mut told: Vec<String> = Vec::new();
    let generation = |text: &'static str| text.parse::<i64>().unwrap();
    let story: &'static str = Box::leak(story.to_owned().into_boxed_str());
    for word in story.split_whitespace() {
        let (name, number) = word.split_once(['@', ':']).unwrap_or((word, "1"));
        match word.as_bytes() {
            b"pop" => told.push(match queue.pop(now) {
                Some(turn) => format!("{}{}", turn.key, turn.attempt),
                None => "-".to_owned(),
            }),
            [b'+', ..] => queue.finish(&&name[1..], Ending::Settled(generation(number)), now),
            [b'-', ..] => queue.finish(&&name[1..], Ending::Failed, now),
            [b'?', ..] => queue.finish(&&name[1..], Ending::Unschedulable, now),
            [b'^', ..] => queue.retry(&&name[1..], now),
            [b'=', ..] => queue.expect(&&name[1..], generation(number)),
            [b'~', ..] => drop(queue.push(&&name[1..], 0, Cause::Elsewhere)),
            [b'x', _, ..] => queue.remove(&&name[1..]),
            [b'0'..=b'9', .., b's'] => {
                now += Duration::from_secs(word.trim_end_matches('s').parse().unwrap());
            }
            _ if word.contains('@') => {
                queue.push(&name, 0, Cause::Changed(generation(number)));
            }
            _ => {
                let priority = if word.contains(':') {
                    number.parse().unwrap()
                } else {
                    0
                };
                queue.push(&name, priority, Cause::Elsewhere);
            }
        }
    }
    let Counts {
        active,
        backoff,
        unschedulable,
        in_work,
    } = queue.counts();
    told.push(format!("({active} {backoff} {unschedulable} {in_work})"));
    told.join(" ")
}

/// Each story with what was popped (the key and its attempt) and the counts at the end: active, backoff,
/// unschedulable, in work.
const STORIES: &[(&str, &str, &str)] = &[
    (
        "in order of arrival",
        "a b c pop pop pop pop",
        "a1 b1 c1 - (0 0 0 3)",
    ),
    (
        "greater priorities first, then the older",
        "a:0 b:10 c:10 d:5 pop pop pop pop",
        "b1 c1 d1 a1 (0 0 0 4)",
    ),
    (
        "a pending one keeps its place and priority",
        "a:1 b:2 a:9 pop pop pop",
        "b1 a1 - (0 0 0 2)",
    ),
    ("never twice at once", "a pop a pop", "a1 - (0 0 0 1)"),
    (
        "brought while in work: again, with its attempts",
        "a pop a +a pop",
        "a1 a2 (0 0 0 1)",
    ),
    (
        "settled ones are forgotten",
        "a pop +a pop a pop",
        "a1 - a1 (0 0 0 1)",
    ),
    (
        "the first failure waits a second",
        "a pop -a pop 1s pop",
        "a1 - a2 (0 0 0 1)",
    ),
    (
        "then two",
        "a pop -a 1s pop -a 1s pop 1s pop",
        "a1 a2 - a3 (0 0 0 1)",
    ),
    (
        "ten seconds at most",
        "a pop -a 1s pop -a 2s pop -a 4s pop -a 8s pop -a 9s pop 1s pop",
        "a1 a2 a3 a4 a5 - a6 (0 0 0 1)",
    ),
    (
        "an event ends a wait and its count",
        "a pop -a a pop",
        "a1 a1 (0 0 0 1)",
    ),
    (
        "for want of room that no event tells of, one second, then two",
        "a pop ?a pop 1s pop ?a 1s pop 1s pop",
        "a1 - a2 - a3 (0 0 0 1)",
    ),
    (
        "or until there may be some",
        "a pop ?a ^a pop",
        "a1 a2 (0 0 0 1)",
    ),
    (
        "which helps later if it did not before",
        "a pop ?a ^a pop ?a ^a pop ^a 1s pop",
        "a1 a2 - a3 (0 0 0 1)",
    ),
    (
        "five seconds later at most",
        "a pop ?a ^a pop ?a 5s ^a pop ?a 5s ^a pop ?a 5s ^a pop ?a 5s ^a pop ?a 5s ^a pop ?a ^a 4s pop 1s pop",
        "a1 a2 a3 a4 a5 a6 a7 - a8 (0 0 0 1)",
    ),
    (
        "which does not end the wait after an error",
        "a pop -a ^a pop",
        "a1 - (0 1 0 0)",
    ),
    (
        "an event helps the unschedulable too",
        "a pop ?a ~a pop",
        "a1 a1 (0 0 0 1)",
    ),
    (
        "an edit that was settled is not decided again",
        "a pop a@2 +a@2 pop",
        "a1 - (0 0 0 0)",
    ),
    ("a later one is", "a pop a@3 +a@2 pop", "a1 a2 (0 0 0 1)"),
    (
        "a change elsewhere always is",
        "a pop a@2 ~a +a@2 pop",
        "a1 a2 (0 0 0 1)",
    ),
    (
        "the event of our own write is no reason",
        "a pop =a@2 +a@2 a@2 pop",
        "a1 - (0 0 0 0)",
    ),
    (
        "the one after it is",
        "a pop =a@2 +a@2 a@2 a@3 pop",
        "a1 a1 (0 0 0 1)",
    ),
    (
        "nothing is awaited once the event has come",
        "a pop a@2 =a@2 +a@2 a@2 pop",
        "a1 a1 (0 0 0 1)",
    ),
    (
        "an edit that came with our own write is seen",
        "a pop =a@2 +a@2 a@3 pop",
        "a1 a1 (0 0 0 1)",
    ),
    (
        "a failure after an edit is tried at once",
        "a pop a@2 -a pop",
        "a1 a2 (0 0 0 1)",
    ),
    (
        "what is gone is not decided",
        "a b pop ?a xa xb pop 300s pop",
        "a1 - - (0 0 0 0)",
    ),
    (
        "one in work may be gone",
        "a pop xa +a pop",
        "a1 - (0 0 0 0)",
    ),
    (
        "events go before retries of the same priority",
        "a pop ?a ^a b pop pop",
        "a1 b1 a2 (0 0 0 2)",
    ),
    (
        "a retry of greater priority goes first",
        "a:1 pop ?a ^a b pop pop",
        "a1 a2 b1 (0 0 0 2)",
    ),
];

#[test]
fn stories() {
    for (claim, story, expected) in STORIES {
        assert_eq!(play(story), *expected, "{claim}: {story}");
    }
}

#[test]
fn retries_have_their_turn_among_many_events() {
    let mut queue: Queue<u32> = Queue::new(Patience::PLAIN);
    queue.push(&1000, 0, Cause::Elsewhere);
    queue.pop(Duration::ZERO);
    queue.finish(&1000, Ending::Unschedulable, Duration::ZERO);
    queue.retry(&1000, Duration::ZERO);
    for key in 0..20 {
        queue.push(&key, 0, Cause::Elsewhere);
    }
    let order: Vec<u32> = std::iter::from_fn(|| queue.pop(Duration::ZERO))
        .map(|turn| turn.key)
        .collect();
    // One event was taken before the retry was there; then the rest of the eight.
    assert_eq!(order.iter().position(|key| *key == 1000), Some(7));
    assert_eq!(order.len(), 21);
}

#[test]
fn room_that_no_event_tells_of_is_looked_for_less_and_less_often() {
    for patience in [Patience::PLAIN, Patience::PRIORITIES] {
        let mut queue = Queue::new(patience);
        queue.push(&"a", 0, Cause::Elsewhere);
        let mut now = Duration::ZERO;
        let mut waits = Vec::new();
        for _ in 0..10 {
            queue.pop(now).unwrap();
            queue.finish(&"a", Ending::Unschedulable, now);
            let wake = queue.next_wake().unwrap();
            waits.push((wake - now).as_secs());
            now = wake;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
    }
}

#[test]
fn plain_waits_double_from_five_milliseconds() {
    let waits: Vec<u128> = (1..=5)
        .map(|attempts| Patience::PLAIN.after(attempts).as_millis())
        .collect();
    assert_eq!(waits, [5, 10, 20, 40, 80]);
    assert_eq!(Patience::PLAIN.after(u32::MAX), Duration::from_secs(1000));
    let waits: Vec<u64> = (1..=7)
        .map(|attempts| Patience::PRIORITIES.after(attempts).as_secs())
        .collect();
    assert_eq!(waits, [1, 2, 4, 8, 10, 10, 10]);
}

#[test]
fn who_waits_for_somebody_to_be_heard_never_waits_for_long() {
    for (ending, longest) in [(Ending::Failed, 1000), (Ending::Unheard, 30)] {
        let mut queue = Queue::new(Patience::PLAIN);
        queue.push(&"web", 0, Cause::Elsewhere);
        let mut now = Duration::ZERO;
        let mut waits = Vec::new();
        for _ in 0..20 {
            queue.pop(now).unwrap();
            queue.finish(&"web", ending, now);
            let next = queue.next_wake().unwrap();
            waits.push(next - now);
            now = next;
        }
        assert_eq!(waits.first(), Some(&Duration::from_millis(5)));
        assert_eq!(waits.last(), Some(&Duration::from_secs(longest)));
    }
}

#[test]
fn a_cluster_that_flaps_does_not_hold_up_what_is_new() {
    let mut queue = Queue::new(Patience::PLAIN);
    let names: Vec<String> = (0..100).map(|number| format!("old-{number}")).collect();
    for name in &names {
        queue.push(&name.as_str(), 0, Cause::Review);
    }
    queue.push(&"new", 0, Cause::Elsewhere);
    let first = queue.pop(Duration::ZERO).map(|turn| turn.key);
    assert_eq!(first, Some("new"));
    // Nor one of the old that is edited meanwhile.
    assert!(!queue.push(&"old-7", 0, Cause::Changed(2)));
    let next = [queue.pop(Duration::ZERO), queue.pop(Duration::ZERO)];
    assert_eq!(
        next.map(|turn| turn.map(|turn| turn.key)),
        [Some("old-7"), Some("old-0")]
    );
    assert_eq!(queue.counts().active, 98);
}

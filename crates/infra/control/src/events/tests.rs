//! Events as a reader of the API finds them.

use object::GroupVersionKind;

use super::*;

fn web() -> ObjectRef {
    ObjectRef {
        kind: GroupVersionKind::new("apps", "v1", "Deployment"),
        key: ObjectKey::namespaced("shop", "web"),
        uid: "u".to_owned(),
        revision: "7".to_owned(),
    }
}

fn note(message: &str) -> Note {
    Note {
        about: web(),
        kind: EventKind::Normal,
        reason: "Tested".to_owned(),
        message: message.to_owned(),
        component: None,
    }
}

fn at(seconds: i64) -> Time {
    Time::from_unix_seconds(seconds)
}

#[test]
fn the_same_event_only_counts() {
    let mut table = Table::new(at(0));
    for (seconds, count) in [(1, 1), (5, 2), (600, 3)] {
        assert!(table.add(note("a"), at(seconds)));
        let entry = table.next().unwrap();
        assert_eq!((entry.count, entry.first), (count, at(1)));
        assert_eq!(entry.stored.is_some(), count > 1);
        table.written(&entry.note, ObjectKey::namespaced("shop", "web.1"));
    }
    assert!(table.next().is_none());
    // After a long time it is news again.
    table.add(note("a"), at(9_999));
    let entry = table.next().unwrap();
    assert_eq!(
        (entry.count, entry.first, entry.stored),
        (1, at(9_999), None)
    );
}

#[test]
fn events_that_wait_are_written_once_with_the_count_they_reached() {
    let mut table = Table::new(at(0));
    for _ in 0..3 {
        table.add(note("a"), at(1));
    }
    assert_eq!(table.next().unwrap().count, 3);
    assert!(table.next().is_none());
}

#[test]
fn steps_are_told_while_there_are_few() {
    let mut table = Table::new(at(0));
    let mut told = |number: i64, kind: EventKind, seconds: i64| {
        let mut note = note("a");
        note.about.key.name = format!("web-{number}");
        note.kind = kind;
        let is_told = table.add(note, at(seconds));
        while table.next().is_some() {}
        is_told
    };
    let burst = (0..600).filter(|number| told(*number, EventKind::Progress, 1));
    assert_eq!(burst.count(), 500);
    // News is told all the same, and after a while so are steps.
    assert!(told(600, EventKind::Normal, 1));
    let later = (700..800).filter(|number| told(*number, EventKind::Progress, 11));
    assert_eq!(later.count(), 50);
}

#[test]
fn an_object_that_talks_too_much_is_cut_short() {
    let mut table = Table::new(at(0));
    let taken = |table: &mut Table, seconds| {
        (0..100)
            .filter(|number| table.add(note(&number.to_string()), at(seconds)))
            .count()
    };
    assert_eq!(taken(&mut table, 1), 25);
    assert_eq!(table.dropped, 75);
    assert_eq!(taken(&mut table, 301), 1);
    assert_eq!(taken(&mut table, 301 + 25 * 300), 25);
}

#[test]
fn steps_leave_room_for_what_goes_wrong_afterwards() {
    let mut table = Table::new(at(0));
    let mut taken = |kind: EventKind, seconds: i64| {
        let told = (0..100).filter(|number| {
            let note = Note {
                kind,
                ..note(&format!("{kind:?} {number}"))
            };
            table.add(note, at(seconds))
        });
        told.count()
    };
    assert_eq!(taken(EventKind::Progress, 1), 15);
    assert_eq!(taken(EventKind::Warning, 1), 10);
    // What comes back is for the worse news first.
    assert_eq!(taken(EventKind::Progress, 1 + 10 * 300), 0);
    assert_eq!(taken(EventKind::Progress, 1 + 12 * 300), 2);
    assert_eq!(taken(EventKind::Warning, 1 + 12 * 300), 10);
}

#[test]
fn a_full_table_forgets_what_is_written_and_drops_what_is_not() {
    let mut table = Table::new(at(0));
    let numbered = |number: usize| Note {
        about: ObjectRef {
            uid: number.to_string(),
            ..web()
        },
        ..note("a")
    };
    let taken = (0..5_000).filter(|number| table.add(numbered(*number), at(1)));
    assert_eq!(taken.count(), 4_096);
    let entry = table.next().unwrap();
    table.written(&entry.note, ObjectKey::cluster("x"));
    assert!(table.add(numbered(5_001), at(1)));
    assert!(!table.add(numbered(5_002), at(1)));
}

#[test]
fn warnings_go_before_news_and_take_their_place_when_there_is_no_room() {
    let mut table = Table::new(at(0));
    let numbered = |number: usize, kind| Note {
        about: ObjectRef {
            uid: number.to_string(),
            ..web()
        },
        kind,
        ..note("a")
    };
    for number in 0..5_000 {
        table.add(numbered(number, EventKind::Normal), at(1));
    }
    assert!(table.add(numbered(9, EventKind::Warning), at(1)));
    assert_eq!(table.next().unwrap().note.kind, EventKind::Warning);
    let news = table.next().unwrap().note;
    assert_eq!(*news, {
        let mut first_left = numbered(1, EventKind::Normal);
        first_left.about.revision.clear();
        first_left
    });
}

#[test]
fn events_are_written_some_at_a_time_and_warnings_apart() {
    let mut table = Table::new(at(0));
    let kinds = [EventKind::Normal, EventKind::Warning, EventKind::Progress];
    for number in 0..12 {
        let mut note = note("a");
        note.about.uid = number.to_string();
        note.kind = kinds[number % 3];
        table.add(note, at(1));
    }
    let mut told = Vec::new();
    loop {
        let entries = table.next_few(5);
        if entries.is_empty() {
            break;
        }
        let warnings = entries
            .iter()
            .filter(|entry| entry.note.kind == EventKind::Warning);
        told.push((entries.len(), warnings.count()));
    }
    assert_eq!(told, [(4, 4), (5, 0), (3, 0)]);
}

#[test]
fn an_event_that_was_lost_starts_anew() {
    let mut table = Table::new(at(0));
    table.add(note("a"), at(1));
    let entry = table.next().unwrap();
    table.lost(&entry.note);
    table.add(note("a"), at(2));
    assert_eq!(table.next().unwrap().count, 1);
}

#[test]
fn the_end_of_an_object_is_told_once() {
    let end = || Note {
        reason: DELETED.to_owned(),
        ..note("it is gone")
    };
    let mut table = Table::new(at(0));
    assert!(table.add(end(), at(1)));
    assert!(!table.add(end(), at(2)));
    assert_eq!(table.next().unwrap().count, 1);
    assert!(!table.add(end(), at(9_999)));
}

#[test]
fn names_and_messages_fit() {
    let long = "ü".repeat(2_000);
    assert!(shortened(&long).len() <= 1_024 && shortened(&long).ends_with("..."));
    assert_eq!(shortened("short"), "short");
    assert!(event_name(&long, "0123456789abcdef").len() <= 253);
    for (name, expected) in [
        ("web", "web.a"),
        ("web-1.shop", "web-1.shop.a"),
        ("system:node", "system-node.a"),
        ("A.b", "a.b.a"),
        ("system:", "system.a"),
        ("_x_..y", "x.y.a"),
        (":", "event.a"),
    ] {
        let found = event_name(name, "a");
        assert_eq!(found, expected);
        assert!(object::names::is_dns1123_subdomain(&found), "{found}");
    }
    for length in 230..=253 {
        let found = event_name(&"a-".repeat(200)[..length], "0123456789abcdef");
        assert!(object::names::is_dns1123_subdomain(&found), "{found}");
    }
}

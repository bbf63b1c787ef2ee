use std::sync::Arc;

use serde_json::json;
use store::{Changes, Entry, Event, Key, Revision};

use super::*;
use crate::record;

/// A store of nothing but its own bookkeeping, to feed a cache with.
struct Feed {
    cache: Cache,
    entries: std::collections::BTreeMap<String, Arc<Entry>>,
    revision: u64,
}

impl Feed {
    fn new() -> Self {
        let cache = Cache::load(&[], Revision(10)).unwrap();
        Self {
            cache,
            entries: std::collections::BTreeMap::new(),
            revision: 10,
        }
    }

    fn put(&mut self, name: &str, spec: i64) {
        self.put_value(name, json!(spec));
    }

    fn put_value(&mut self, name: &str, spec: serde_json::Value) {
        self.revision += 1;
        let object = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "d"}, "spec": spec,
        });
        let key = store_key("core/pods", "d", name);
        let entry = Arc::new(Entry {
            key: Key::new(key.clone()).unwrap(),
            value: record::encode(object.as_object().unwrap()),
            created: Revision(self.revision),
            modified: Revision(self.revision),
            version: 1,
        });
        let previous = self.entries.insert(key, Arc::clone(&entry));
        self.publish(Event {
            key: entry.key.clone(),
            current: Some(entry),
            previous,
        });
    }

    fn delete(&mut self, name: &str) {
        self.revision += 1;
        let previous = self.entries.remove(&store_key("core/pods", "d", name));
        let key = previous.as_ref().unwrap().key.clone();
        self.publish(Event {
            key,
            current: None,
            previous,
        });
    }

    fn publish(&self, event: Event) {
        let changes = Changes {
            revision: Revision(self.revision),
            events: Arc::from([event]),
        };
        self.cache.apply(&changes).unwrap();
    }
}

fn shown(snapshot: &Snapshot) -> String {
    let spec = |record: &Arc<Record>| record.value()["spec"].to_string();
    let rows: Vec<String> = snapshot
        .objects
        .values()
        .map(|record| format!("{}={}", record.key(), spec(record)))
        .collect();
    rows.join(" ")
}

#[test]
fn earlier_states_can_be_read_back_as_far_as_the_ring_goes() {
    let mut feed = Feed::new();
    let pods = feed.cache.collection("core/pods");
    feed.put("a", 1); // 11
    feed.put("b", 1); // 12
    feed.put("a", 2); // 13
    feed.delete("b"); // 14
    feed.put("b", 3); // 15
    for (revision, expected) in [
        (10, ""),
        (11, "d/a=1"),
        (12, "d/a=1 d/b=1"),
        (13, "d/a=2 d/b=1"),
        (14, "d/a=2"),
        (15, "d/a=2 d/b=3"),
    ] {
        assert_eq!(
            shown(&pods.snapshot_at(Revision(revision)).unwrap()),
            expected,
            "at {revision}"
        );
    }
    assert_eq!(
        pods.snapshot_at(Revision(9)).unwrap_err(),
        TooOld {
            oldest: Revision(10)
        }
    );
}

#[test]
fn a_watcher_gets_every_change_once_and_in_order() {
    let mut feed = Feed::new();
    let pods = feed.cache.collection("core/pods");
    feed.put("a", 1);
    let mut place = pods.place_after(Revision(10)).unwrap();
    feed.put("b", 1);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let (changes, next) = pods.changes(place, 1).unwrap();
        seen.extend(changes.iter().map(|change| change.revision.0));
        place = next;
    }
    assert_eq!(seen, [11, 12]);
    feed.delete("a");
    let (changes, _) = pods.changes(place, 10).unwrap();
    assert_eq!(changes.len(), 1);
    assert!(changes[0].current.is_none() && changes[0].previous.is_some());
}

#[test]
fn changes_of_large_objects_leave_the_ring_earlier() {
    let mut feed = Feed::new();
    let pods = feed.cache.collection("core/pods");
    // Text that packing makes no smaller.
    let noise = std::iter::successors(Some(1_u32), |last| {
        Some(last.wrapping_mul(1_664_525).wrapping_add(1_013_904_223))
    });
    let letter = |number: u32| char::from(b'0' + (number >> 26) as u8);
    let large: String = noise.map(letter).take(4 * 1024 * 1024).collect();
    for _ in 0..40 {
        feed.put_value("a", json!(large)); // 11 to 50
    }
    let oldest = |pods: &Collection| pods.snapshot_at(Revision(1)).unwrap_err().oldest.0;
    assert_eq!(
        oldest(&pods),
        34,
        "sixteen changes stay, whatever they weigh"
    );
    feed.put("a", 1);
    for number in 0..16 {
        feed.put("b", number); // 52 to 67
    }
    assert_eq!(
        oldest(&pods),
        43,
        "eight of them fit beside those of small objects"
    );
}

#[test]
fn a_watcher_that_stopped_reading_is_told_and_costs_no_more_than_the_ring() {
    let mut feed = Feed::new();
    let pods = feed.cache.collection("core/pods");
    let place = pods.place_after(Revision(10)).unwrap();
    let count = i64::try_from(RING_LENGTH).unwrap();
    for number in 0..=count {
        feed.put("a", number);
    }
    assert_eq!(
        pods.changes(place, 1).unwrap_err(),
        TooOld {
            oldest: Revision(11)
        }
    );
    assert_eq!(
        pods.place_after(Revision(10)).unwrap_err(),
        TooOld {
            oldest: Revision(11)
        }
    );
    assert!(pods.place_after(Revision(11)).is_ok());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_revision_ends_when_it_is_reached_or_the_limit_is() {
    let mut feed = Feed::new();
    assert!(
        !feed
            .cache
            .wait_for(Revision(11), Duration::from_secs(3))
            .await
    );
    feed.put("a", 1);
    assert!(
        feed.cache
            .wait_for(Revision(11), Duration::from_secs(3))
            .await
    );
}

#[test]
fn keys_of_the_store_name_collection_and_object() {
    assert_eq!(
        split_key(b"/registry/core/pods/d/a"),
        Some(("core/pods", "d/a"))
    );
    assert_eq!(
        split_key(b"/registry/x.io/things/a"),
        Some(("x.io/things", "a"))
    );
    assert_eq!(split_key(b"/other/a"), None);
    assert_eq!(
        store_key(&name_of("", "nodes"), "", "n"),
        "/registry/core/nodes/n"
    );
    assert_eq!(
        store_key(&name_of("apps", "deployments"), "d", "w"),
        "/registry/apps/deployments/d/w"
    );
}

#[test]
fn the_latest_events_are_written_once_for_all_and_older_ones_by_whoever_is_behind() {
    let mut feed = Feed::new();
    let pods = feed.cache.collection("core/pods");
    let (_, start) = pods.begin();
    feed.put("a", 0);
    let (first, _) = pods.changes(start, 1).unwrap();
    let written = |change: &Change| {
        let mut count = 0;
        for _ in 0..2 {
            let make = |_: &Change| {
                count += 1;
                bytes::Bytes::from_static(b"event")
            };
            assert_eq!(change.frame(collection::FrameForm::Json, make), "event");
        }
        count
    };
    assert_eq!(written(&first[0]), 1);
    for spec in 1..=256 {
        feed.put("a", spec);
    }
    assert_eq!(written(&first[0]), 2, "nobody keeps it any longer");
    let (all, _) = pods.changes(start, usize::MAX).unwrap();
    assert_eq!(written(&all[1]), 1);
}

//! What is kept, how much of it, and what a restart leaves.

use object::Value;
use serde_json::json;

use super::{rings::MOST_BYTES, *};

fn record(binding: &str, attempt: u32) -> Record {
    Record {
        at: Some(Time::from_unix_seconds(i64::from(attempt))),
        binding: binding.to_owned(),
        uid: "u".to_owned(),
        trigger: "the placement changed".to_owned(),
        attempt,
        outcome: format!("{{m1:{attempt}}}"),
        again: 0,
        diagnosis: Packed::Absent,
    }
}

fn names(names: &[&str]) -> Arc<[Arc<str>]> {
    names.iter().map(|name| Arc::from(*name)).collect()
}

fn all(directory: &std::path::Path) -> Vec<Record> {
    let mut records = Vec::new();
    file::read_all(directory, |record| records.push(record)).unwrap();
    records
}

#[test]
fn the_last_few_of_each_binding_are_kept_and_the_longest_untouched_binding_goes() {
    let mut rings = Rings::default();
    for attempt in 0..20 {
        rings.put(Arc::new(record("a", attempt)), 2);
    }
    rings.put(Arc::new(record("b", 1)), 2);
    rings.put(Arc::new(record("a", 20)), 2);
    rings.put(Arc::new(record("c", 1)), 2);
    let attempts = |name: &str| -> Vec<u32> {
        let records = rings.last(name).into_iter();
        records.map(|record| record.attempt).collect()
    };
    assert_eq!(attempts("a"), [20, 19, 18, 17, 16, 15, 14, 13]);
    assert!(attempts("b").is_empty(), "b was decided before a was again");
    assert_eq!(attempts("c"), [1]);
    assert_eq!(rings.size().0, 2);
}

#[test]
fn decisions_that_say_the_same_do_not_drive_out_what_came_before() {
    let mut rings = Rings::default();
    rings.put(Arc::new(record("a", 1)), 2);
    for attempt in 2..100 {
        let again = Record {
            outcome: "{m2:1}".to_owned(),
            ..record("a", attempt)
        };
        rings.put(Arc::new(again), 2);
    }
    let kept: Vec<(u32, u64)> = rings
        .last("a")
        .iter()
        .map(|record| (record.attempt, record.again))
        .collect();
    assert_eq!(kept, [(99, 96), (2, 0), (1, 0)]);
    let bytes: usize = rings.last("a").iter().map(|record| record.weight()).sum();
    assert_eq!(rings.size(), (1, bytes));
    assert_eq!(rings.last("a")[0].to_value()["again"], 96);
    // What one of the same name said later is not the same again.
    let anew = Record {
        uid: "v".to_owned(),
        outcome: "{m2:1}".to_owned(),
        ..record("a", 100)
    };
    rings.put(Arc::new(anew), 2);
    let newest = rings.last("a")[0].to_value();
    assert_eq!(
        (&newest["uid"], &newest["again"]),
        (&json!("v"), &json!(null))
    );
    assert_eq!(rings.last("a").len(), 4);
}

#[test]
fn files_are_bounded_and_read_back_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let line = record("shop/web", 10).to_line(0).len() as u64 + 1;
    let mut log = file::Log::new(Some(directory.path().to_owned()), line * 3);
    for attempt in 10..18 {
        log.push(&record("shop/web", attempt));
        log.flush().unwrap();
    }
    let attempts: Vec<u32> = all(directory.path())
        .iter()
        .map(|record| record.attempt)
        .collect();
    // The newer file has the last two, the older the three before.
    assert_eq!(attempts, [13, 14, 15, 16, 17]);
    let mine = read(directory.path(), &"shop/web".parse().unwrap()).unwrap();
    assert_eq!(mine.first().map(|record| record.attempt), Some(17));
    assert!(
        read(directory.path(), &"shop/other".parse().unwrap())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn each_file_says_which_clusters_its_numbers_are() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = file::Log::new(Some(directory.path().to_owned()), 400);
    for attempt in 0..12_u32 {
        // One cluster more after every five, which is not when files change.
        let clusters: Vec<String> = (0..=attempt / 5)
            .map(|number| format!("m{number}"))
            .collect();
        let clusters: Vec<&str> = clusters.iter().map(String::as_str).collect();
        let names = log.names(&names(&clusters));
        // In between, those that the budget did not reach for.
        log.push(&record("shop/web", 100 + attempt));
        let text = json!({"attempts": [{"selected": [attempt / 5]}]}).to_string();
        let diagnosis = Packed::Here {
            text: text.into(),
            names,
        };
        log.push(&Record {
            diagnosis,
            ..record("shop/web", attempt)
        });
        log.flush().unwrap();
    }
    let records = all(directory.path());
    let told: Vec<&Record> = records
        .iter()
        .filter(|record| record.attempt < 100)
        .collect();
    assert!(told.len() > 1);
    for record in told {
        let expected = format!("m{}", record.attempt / 5);
        let diagnosis = record.diagnosis();
        assert_eq!(diagnosis["attempts"][0]["selected"][0], json!(expected));
    }
}

#[test]
fn a_torn_line_costs_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let whole = record("a", 1).to_line(0);
    let packed = r#"{"binding":"a","roster":9,"packed":{"attempts":[{"selected":"0-1"}]}}"#;
    let torn = r#"{"binding":"a","roster":9,"packed":{"attempts":"#;
    let earlier = r#"{"binding":"a","diagnosis":{"attempts":[{"selected":["m7"]}]}}"#;
    let text = format!(
        "{whole}\nnot json\n{packed}\n{torn}\n{earlier}\n{whole}\n{}",
        &whole[..20]
    );
    std::fs::write(directory.path().join("decisions.jsonl"), text).unwrap();
    let selected: Vec<Value> = all(directory.path())
        .iter()
        .map(|record| record.diagnosis()["attempts"][0]["selected"].clone())
        .collect();
    // Without the names, numbers stand for nothing; a diagnosis that is not whole is none.
    let expected = [
        json!(null),
        json!([""]),
        json!(null),
        json!(["m7"]),
        json!(null),
    ];
    assert_eq!(selected, expected);
    assert!(all(&directory.path().join("nowhere")).is_empty());
}

#[tokio::test(start_paused = true)]
async fn whole_diagnoses_are_written_within_a_budget() {
    let mut budget = Budget::new(2);
    let taken: Vec<bool> = (0..3).map(|_| budget.take(1)).collect();
    assert_eq!(taken, [true, true, false]);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(budget.take(1));
}

#[test]
fn memory_is_bounded_by_what_diagnoses_hold() {
    let mut rings = Rings::default();
    let text: Box<str> = "x".repeat(MOST_BYTES / 4).into();
    for number in 0..10 {
        let diagnosis = Packed::Here {
            text: text.clone(),
            names: Arc::default(),
        };
        let record = Record {
            diagnosis,
            ..record(&format!("b{number}"), 1)
        };
        rings.put(Arc::new(record), 100);
    }
    let (bindings, bytes) = rings.size();
    assert_eq!(bindings, 3);
    assert!(bytes <= MOST_BYTES && !rings.last("b9").is_empty());
}

#[tokio::test(start_paused = true)]
async fn who_asks_sees_what_was_only_just_decided() {
    let tasks = runtime::Tasks::new();
    let recorder = Recorder::start(RecorderSettings::default(), &tasks.spawner()).unwrap();
    let key: ObjectKey = "shop/web".parse().unwrap();
    let start = Instant::now();
    // After the first, the writer waits for more before it writes again.
    for attempt in 1..=3 {
        let made = Made {
            record: record("shop/web", attempt),
            diagnosis: None,
        };
        recorder.sender.send(Handed::Decision(made)).await.unwrap();
        let last = recorder.last(&key).await;
        let newest = last.first().map(|record| record.attempt);
        assert_eq!((newest, last.len()), (Some(attempt), attempt as usize));
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    tasks.spawner().finish().await;
    assert_eq!(recorder.last(&key).await.len(), 3);
}

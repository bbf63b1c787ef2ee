//! What is kept, how much of it, and what a restart leaves.

use super::*;

fn record(binding: &str, attempt: u32) -> Record {
    Record {
        at: Some(Time::from_unix_seconds(i64::from(attempt))),
        binding: binding.to_owned(),
        trigger: "the placement changed".to_owned(),
        attempt,
        outcome: "{m1:1}".to_owned(),
        diagnosis: Value::Null,
    }
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
        let ring = rings.by_binding.get(name).into_iter();
        ring.flat_map(|ring| ring.records.iter().map(|record| record.attempt))
            .collect()
    };
    assert_eq!(attempts("a"), [13, 14, 15, 16, 17, 18, 19, 20]);
    assert!(attempts("b").is_empty(), "b was decided before a was again");
    assert_eq!(attempts("c"), [1]);
    assert_eq!(rings.by_age.len(), 2);
}

#[test]
fn files_are_bounded_and_read_back_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let line = record("shop/web", 10).to_value().to_string().len() as u64 + 1;
    let mut log = file::Log::new(Some(directory.path().to_owned()), line * 3);
    for attempt in 10..18 {
        log.push(&record("shop/web", attempt));
        log.flush().unwrap();
    }
    let attempts: Vec<u32> = file::read_all(directory.path())
        .unwrap()
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
fn a_torn_line_costs_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let whole = record("a", 1).to_value().to_string();
    let text = format!("{whole}\nnot json\n{whole}\n{}", &whole[..20]);
    std::fs::write(directory.path().join("decisions.jsonl"), text).unwrap();
    assert_eq!(file::read_all(directory.path()).unwrap().len(), 2);
    assert!(
        file::read_all(&directory.path().join("nowhere"))
            .unwrap()
            .is_empty()
    );
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
    let large = Value::Array(vec![Value::Null; MOST_VALUES / 4]);
    for number in 0..10 {
        let record = Record {
            diagnosis: large.clone(),
            ..record(&format!("b{number}"), 1)
        };
        rings.put(Arc::new(record), 100);
    }
    assert_eq!(rings.by_binding.len(), 3);
    assert!(rings.by_binding.contains_key("b9") && rings.values <= MOST_VALUES);
}

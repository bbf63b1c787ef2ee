//! The scheduler's records: what the last decision held of each cluster, and what became different since the one before.

use std::collections::{BTreeMap, BTreeSet};

use object::Object;
use object::time::Time;
use serde_json::{Value, json};

/// More clusters than this are as many as there are.
pub(super) const MOST_NAMED: u64 = 100_000;

/// How the scheduler calls it when targets do not add up to the replicas, whoever changed which of them.
const REPLICAS_CHANGED: &str = "the replicas changed";
/// How it is called where their number is what it was.
const TAKEN_BACK: &str = "replicas were taken back from clusters";

/// Those of the records, the newest first, that are about this very binding: one of the same name may have been before it.
pub(super) fn of_binding(records: Vec<Value>, binding: &Object) -> Vec<Value> {
    let since: Option<Time> = binding
        .text_at(&["metadata", "creationTimestamp"])
        .and_then(|text| text.parse().ok());
    let is_own = |record: &Value| match record["uid"].as_str() {
        None | Some("") => {
            // Records of earlier versions say only when they were made.
            let at: Option<Time> = record["at"].as_str().and_then(|text| text.parse().ok());
            at.zip(since).is_none_or(|(at, since)| at >= since)
        }
        Some(uid) => uid == binding.uid(),
    };
    let own = records.into_iter().filter(is_own).collect();
    with_causes(own)
}

/// Records with what can be told of their causes. Where as many replicas had been placed as are wanted, it was not their
/// number that changed: somebody, such as the descheduler, took some back from clusters.
fn with_causes(mut records: Vec<Value>) -> Vec<Value> {
    let wanted = |record: &Value| record["diagnosis"]["replicas"].as_i64();
    let is_placed = |record: &Value| {
        let outcome = record["outcome"].as_str().unwrap_or_default();
        outcome.starts_with('{')
    };
    let placed: Vec<Option<i64>> = records
        .iter()
        .map(|record| wanted(record).filter(|_| is_placed(record)))
        .collect();
    for (record, before) in records.iter_mut().zip(placed.into_iter().skip(1)) {
        if record["trigger"] == REPLICAS_CHANGED && before.is_some() && before == wanted(record) {
            record["trigger"] = Value::from(TAKEN_BACK);
        }
    }
    records
}

/// What a decision held of a cluster.
pub(super) fn verdict(record: Option<&Value>, cluster: &str) -> Value {
    // Of several groups of clusters that were tried, the last one counts.
    let Some(attempt) = record.and_then(|record| items(&record["diagnosis"]["attempts"]).last())
    else {
        return Value::Null;
    };
    let is_it = |item: &&Value| item["cluster"] == cluster;
    let refusals: Vec<Value> = items(&attempt["refusals"])
        .iter()
        .filter(is_it)
        .map(|refusal| json!({"filter": refusal["filter"], "reason": refusal["reason"]}))
        .collect();
    let candidate = items(&attempt["candidates"]).iter().find(is_it);
    let is_selected = items(&attempt["selected"])
        .iter()
        .any(|name| name == cluster);
    let shares: Vec<Value> = items(&attempt["steps"])
        .iter()
        .flat_map(|step| {
            items(&step["rows"]).iter().filter(is_it).map(|row| {
                json!({
                    "mode": step["mode"], "of": step["replicas"], "weight": row["weight"],
                    "quota": row["quota"], "kept": row["kept"], "given": row["given"],
                })
            })
        })
        .collect();
    let is_leaving = items(&attempt["deleting"])
        .iter()
        .any(|name| name == cluster);
    // A decision that ended for want of an answer knows nothing of those that passed but that they did.
    let is_passed = candidate.is_some() || passed(attempt).any(|name| name == cluster);
    let is_considered = is_passed || !refusals.is_empty() || is_leaving || is_selected;
    json!({
        "considered": is_considered,
        "passed": is_passed,
        "leaving": is_leaving,
        "refusals": refusals,
        "scores": candidate.map(|found| found["scores"].clone()),
        "fits": candidate.map(|found| found["fits"].clone()),
        "estimate": candidate.map(|found| found["estimate"].clone()),
        "running": candidate.map(|found| found["running"].clone()),
        "selected": is_selected,
        "shares": shares,
    })
}

/// All clusters that a decision looked at, by name.
pub(super) fn clusters(record: Option<&Value>) -> BTreeSet<String> {
    let attempts = record
        .map(|record| items(&record["diagnosis"]["attempts"]))
        .unwrap_or_default();
    attempts
        .iter()
        .flat_map(|attempt| {
            let named = items(&attempt["refusals"])
                .iter()
                .chain(items(&attempt["candidates"]));
            let named = named.filter_map(|item| item["cluster"].as_str());
            named.chain(passed(attempt))
        })
        .map(str::to_owned)
        .collect()
}

/// The clusters that passed the filters of an attempt which ended there.
fn passed(attempt: &Value) -> impl Iterator<Item = &str> {
    items(&attempt["passed"]).iter().filter_map(Value::as_str)
}

/// Why a cluster is not chosen, by what the last decision held of it.
pub(super) fn why_not(record: Option<&Value>, cluster: &str) -> String {
    let Some(record) = record.filter(|record| !record["diagnosis"].is_null()) else {
        return "why is not on record".to_owned();
    };
    let verdict = verdict(Some(record), cluster);
    if verdict["leaving"] == true {
        return "the cluster is being removed".to_owned();
    }
    let refusals = items(&verdict["refusals"]).iter();
    let refusals: Vec<&str> = refusals
        .filter_map(|refusal| refusal["filter"].as_str())
        .collect();
    if !refusals.is_empty() {
        return format!("refused by {}", refusals.join(", "));
    }
    let attempts = items(&record["diagnosis"]["attempts"]);
    let attempt = attempts.last().unwrap_or(&Value::Null);
    match (verdict["passed"] == true, verdict["selected"] == true) {
        (false, _) => NOT_CONSIDERED.to_owned(),
        (true, true) => format!(
            "it was selected, and its share of {} replicas is none",
            record["diagnosis"]["replicas"]
        ),
        // What was refused chose nobody, so nobody was preferred either.
        (true, false) => match selection(&attempt["selection"]) {
            Some(how) if record["diagnosis"]["refused"].is_null() => {
                format!("it passed, and {how}")
            }
            _ => format!(
                "it passed, and nothing was placed: {}",
                record["outcome"].as_str().unwrap_or("no reason is known")
            ),
        },
    }
}

/// What is said of a cluster that a decision did not look at.
const NOT_CONSIDERED: &str =
    "it was not there at the last decision, and has not been considered yet";

/// How others were selected instead; `None` if it did not come to that.
fn selection(how: &Value) -> Option<String> {
    let most = how["max"].as_u64().filter(|most| *most <= MOST_NAMED);
    Some(match (how["by"].as_str()?, most) {
        ("cluster", Some(1)) => {
            "another one was preferred: the placement spreads to 1 at most".to_owned()
        }
        ("cluster", Some(most)) => {
            format!("others were preferred: the placement spreads to {most} at most")
        }
        ("region", _) => "others were preferred: regions were chosen first".to_owned(),
        _ => "others were preferred".to_owned(),
    })
}

/// One after the other, those that say the same taken together: the newest of each, and how many and since when.
pub(super) fn folded(records: &[Value]) -> Vec<(&Value, usize, &Value)> {
    let mut all: Vec<(&Value, usize, &Value)> = Vec::new();
    for record in records {
        // One that is kept may stand for others between it and the one before.
        let others = record["again"].as_u64().unwrap_or(0);
        let times = usize::try_from(others).unwrap_or(0).saturating_add(1);
        match all.last_mut() {
            Some((newest, count, oldest)) if is_again(newest, record) => {
                *count += times;
                *oldest = record;
            }
            _ => all.push((record, times, record)),
        }
    }
    all
}

/// Whether two decisions were made for the same reason, with the same result.
fn is_again(one: &Value, other: &Value) -> bool {
    ["outcome", "trigger"]
        .iter()
        .all(|field| one[field] == other[field])
}

/// What became different between the last decision and the last one that said something else, in sentences.
pub(super) fn changes(records: &[Value]) -> Vec<String> {
    let folded = folded(records);
    let (Some((now, ..)), Some((before, ..))) = (folded.first(), folded.get(1)) else {
        return Vec::new();
    };
    let mut changes = Vec::new();
    let (now_wants, before_wants) = (
        &now["diagnosis"]["replicas"],
        &before["diagnosis"]["replicas"],
    );
    if now_wants != before_wants && !now_wants.is_null() && !before_wants.is_null() {
        changes.push(format!(
            "{now_wants} replicas are wanted instead of {before_wants}"
        ));
    }
    let (views, earlier) = (views(now), views(before));
    for (cluster, view) in &views {
        match earlier.get(cluster) {
            None if !earlier.is_empty() => changes.push(format!("{cluster} is new")),
            Some(was) if was != view => changes.push(format!("{cluster}: {view}; before: {was}")),
            _ => {}
        }
    }
    let gone = earlier
        .keys()
        .filter(|cluster| !views.contains_key(*cluster) && !views.is_empty());
    changes.extend(gone.map(|cluster| format!("{cluster} is gone")));
    if now["outcome"] != before["outcome"] {
        let text = |record: &Value| record["outcome"].as_str().unwrap_or_default().to_owned();
        changes.push(format!(
            "the result is {} instead of {}",
            text(now),
            text(before)
        ));
    }
    changes
}

/// What a record held of each cluster, in a few words; the room in it apart, which changes with every pod.
fn views(record: &Value) -> BTreeMap<String, String> {
    clusters(Some(record))
        .into_iter()
        .map(|cluster| {
            let verdict = verdict(Some(record), &cluster);
            let words = match (
                items(&verdict["refusals"]).first(),
                verdict["selected"].as_bool(),
            ) {
                (Some(refusal), _) => format!(
                    "refused by {}",
                    refusal["filter"].as_str().unwrap_or("a filter")
                ),
                (None, Some(true)) => "selected".to_owned(),
                (None, _) => "passed".to_owned(),
            };
            (cluster, words)
        })
        .collect()
}

/// A record in a line.
pub(super) fn without_diagnosis(record: &Value) -> Value {
    let mut record = record.clone();
    if let Some(fields) = record.as_object_mut() {
        fields.shift_remove("diagnosis");
    }
    record
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(selected: &[&str], refused: &[&str], outcome: &str) -> Value {
        let candidates: Vec<Value> = selected
            .iter()
            .map(|name| json!({"cluster": name, "fits": 9}))
            .collect();
        let refusals: Vec<Value> = refused
            .iter()
            .map(|name| json!({"cluster": name, "filter": "F", "reason": "r"}))
            .collect();
        json!({"outcome": outcome, "diagnosis": {"replicas": 3, "attempts": [{
            "candidates": candidates, "refusals": refusals, "selected": selected,
            "steps": [{"mode": "m", "replicas": 3, "rows": [{"cluster": "a", "weight": 1, "quota": "3", "kept": 0, "given": 3}]}],
        }]}})
    }

    #[test]
    fn a_verdict_is_what_the_last_attempt_held_of_the_cluster() {
        let made = record(&["a"], &["b"], "{a:3}");
        assert_eq!(verdict(Some(&made), "a")["shares"][0]["given"], 3);
        assert_eq!(verdict(Some(&made), "a")["selected"], true);
        assert_eq!(verdict(Some(&made), "b")["refusals"][0]["reason"], "r");
        assert_eq!(verdict(Some(&made), "b")["passed"], false);
        for (cluster, is_considered) in [("a", true), ("b", true), ("later", false)] {
            let verdict = verdict(Some(&made), cluster);
            assert_eq!(verdict["considered"], is_considered, "{cluster}");
        }
        assert_eq!(verdict(None, "a"), Value::Null);
        assert_eq!(verdict(Some(&json!({"diagnosis": 7})), "a"), Value::Null);
    }

    #[test]
    fn records_of_an_earlier_binding_are_not_this_ones() {
        let binding = json!({"metadata": {"name": "web", "uid": "new", "creationTimestamp": "2026-01-01T00:00:10Z"}});
        let binding = Object::from_value(binding).unwrap();
        let record = |uid: Value, second: &str| json!({"uid": uid, "at": format!("2026-01-01T00:00:{second}Z")});
        for (record, is_own) in [
            (record(json!("new"), "11"), true),
            (record(json!("old"), "09"), false),
            // The same second, and still another's.
            (record(json!("old"), "10"), false),
            (record(Value::Null, "10"), true),
            (record(Value::Null, "09"), false),
            (json!({}), true),
        ] {
            let own = of_binding(vec![record.clone()], &binding);
            assert_eq!(own.len() == 1, is_own, "{record}");
        }
    }

    #[test]
    fn replicas_that_were_taken_back_are_told_from_those_that_were_asked_for() {
        let made = |trigger: &str, outcome: &str, replicas: Value| json!({"trigger": trigger, "outcome": outcome, "diagnosis": {"replicas": replicas}});
        let causes: Vec<Value> = with_causes(vec![
            made(REPLICAS_CHANGED, "{a:5}", json!(5)),
            made(REPLICAS_CHANGED, "{a:3, b:2}", json!(5)),
            // It is tried again until there is room.
            made(REPLICAS_CHANGED, "Unschedulable: no room", json!(5)),
            made(REPLICAS_CHANGED, "Unschedulable: no room", json!(5)),
            made("it had no place", "{a:3}", json!(3)),
            made(REPLICAS_CHANGED, "{a:3}", json!(3)),
            // Nobody knows what this one wanted.
            json!({"trigger": REPLICAS_CHANGED, "outcome": "{a:3}"}),
        ])
        .iter()
        .map(|record| record["trigger"].clone())
        .collect();
        assert_eq!(
            causes,
            [
                TAKEN_BACK,
                REPLICAS_CHANGED,
                REPLICAS_CHANGED,
                REPLICAS_CHANGED,
                "it had no place",
                REPLICAS_CHANGED,
                REPLICAS_CHANGED,
            ]
        );
    }

    #[test]
    fn what_changed_is_said_cluster_by_cluster() {
        let before = record(&["a", "c"], &[], "{a:1, c:2}");
        let now = record(&["a"], &["c"], "{a:3}");
        assert_eq!(
            changes(&[now.clone(), before]),
            [
                "c: refused by F; before: selected",
                "the result is {a:3} instead of {a:1, c:2}",
            ]
        );
        assert!(changes(&[now.clone(), now]).is_empty());
        assert!(changes(&[]).is_empty());
    }

    #[test]
    fn decisions_that_say_the_same_are_told_once() {
        let made = |at: i64, trigger: &str, outcome: &str| json!({"at": at, "trigger": trigger, "outcome": outcome});
        let records = [
            made(9, "t", "{a:1}"),
            made(8, "t", "{a:1}"),
            made(7, "t", "{a:1}"),
            made(6, "u", "{a:1}"),
            made(5, "t", "{a:1}"),
            made(4, "t", "{b:1}"),
        ];
        let found: Vec<(i64, usize, i64)> = folded(&records)
            .into_iter()
            .map(|(newest, count, oldest)| {
                let at = |record: &Value| record["at"].as_i64().unwrap();
                (at(newest), count, at(oldest))
            })
            .collect();
        assert_eq!(found, [(9, 3, 7), (6, 1, 6), (5, 1, 5), (4, 1, 4)]);
        // The recorder does the same with those in between.
        let mut newest = made(9, "t", "{a:1}");
        newest["again"] = json!(5);
        let kept = [newest, made(2, "t", "{a:1}"), made(1, "u", "{a:1}")];
        let counts: Vec<usize> = folded(&kept).iter().map(|(_, count, _)| *count).collect();
        assert_eq!(counts, [7, 1]);
        // What changed is held against the last one that said something else.
        let (before, now) = (
            record(&["c"], &[], "{c:3}"),
            record(&["a"], &["c"], "{a:3}"),
        );
        let again = [now.clone(), now.clone(), before.clone()];
        assert_eq!(changes(&again), changes(&[now, before]));
        assert!(!changes(&again).is_empty());
    }

    #[test]
    fn a_cluster_that_is_not_chosen_says_why() {
        let mut made = record(&["a"], &["b"], "{a:3}");
        let attempt = &mut made["diagnosis"]["attempts"][0];
        attempt["candidates"] = json!([{"cluster": "a"}, {"cluster": "c"}]);
        attempt["deleting"] = json!(["d"]);
        attempt["selection"] = json!({"by": "cluster", "min": 1, "max": 1});
        for (cluster, expected) in [
            ("a", "it was selected, and its share of 3 replicas is none"),
            ("b", "refused by F"),
            (
                "c",
                "it passed, and another one was preferred: the placement spreads to 1 at most",
            ),
            ("d", "the cluster is being removed"),
            ("e", NOT_CONSIDERED),
        ] {
            assert_eq!(why_not(Some(&made), cluster), expected);
        }
        let mut refused = made.clone();
        refused["diagnosis"]["refused"] = json!("no room");
        refused["outcome"] = json!("SchedulerError: no room");
        let nowhere = "it passed, and nothing was placed: SchedulerError: no room";
        assert_eq!(why_not(Some(&refused), "c"), nowhere);
        let attempt = &mut made["diagnosis"]["attempts"][0];
        attempt["selection"] = Value::Null;
        attempt["selected"] = json!([]);
        let unplaced = "it passed, and nothing was placed: {a:3}";
        assert_eq!(why_not(Some(&made), "c"), unplaced);
        assert_eq!(why_not(None, "c"), "why is not on record");
    }

    #[test]
    fn a_decision_that_somebody_was_not_heard_about_considered_who_passed() {
        let before = record(&["a", "c"], &["b"], "{a:1, c:2}");
        let mut ended = record(&[], &["b"], "SchedulerError: late");
        ended["diagnosis"]["attempts"][0]["passed"] = json!(["a", "c"]);
        for (cluster, is_passed, expected) in [
            (
                "a",
                true,
                "it passed, and nothing was placed: SchedulerError: late",
            ),
            ("b", false, "refused by F"),
            ("e", false, NOT_CONSIDERED),
        ] {
            let verdict = verdict(Some(&ended), cluster);
            assert_eq!(verdict["passed"], is_passed, "{cluster}");
            assert_eq!(verdict["considered"], cluster != "e", "{cluster}");
            assert_eq!(why_not(Some(&ended), cluster), expected);
        }
        let all: Vec<String> = clusters(Some(&ended)).into_iter().collect();
        assert_eq!(all, ["a", "b", "c"]);
        // Nobody is said to be gone.
        assert_eq!(
            changes(&[ended, before]),
            [
                "a: passed; before: selected",
                "c: passed; before: selected",
                "the result is SchedulerError: late instead of {a:1, c:2}",
            ]
        );
    }
}

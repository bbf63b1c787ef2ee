//! The scheduler's records: what the last decision held of each cluster, and what became different since the one before.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

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
    json!({
        "passed": candidate.is_some(),
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
            named.filter_map(|item| item["cluster"].as_str())
        })
        .map(str::to_owned)
        .collect()
}

/// What became different between the last decision and the one before, in sentences.
pub(super) fn changes(records: &[Value]) -> Vec<String> {
    let (Some(now), Some(before)) = (records.first(), records.get(1)) else {
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
        assert_eq!(verdict(None, "a"), Value::Null);
        assert_eq!(verdict(Some(&json!({"diagnosis": 7})), "a"), Value::Null);
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
}

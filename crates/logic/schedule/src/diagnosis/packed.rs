//! The diagnosis in few bytes, for those who keep many: what many clusters have in common is said once.
//!
//! Lists with an entry for each cluster are turned around, into a column for each field. A column whose entries are all
//! alike is that one entry; texts that come again stand once, with numbers that point to them; clusters are numbers, and
//! neighbours a range. Whoever reads it needs the names the numbers stand for: [`Snapshot::names`](crate::cluster::Snapshot::names).

use std::{collections::BTreeMap, sync::Arc};

use object::{Map, Value};

use super::{
    Attempt, Diagnosis,
    value::{put, put_list, put_some, quota_text},
};
use crate::{
    assign::Step,
    decision::{Outcome, Target},
};

impl Diagnosis {
    /// Everything that [`to_value`](Self::to_value) says; [`unpack`] makes it of this again.
    #[must_use]
    pub fn to_packed(&self) -> Value {
        let mut fields = self.head();
        let attempts = self.attempts.iter();
        put_list(
            &mut fields,
            "attempts",
            attempts.map(|attempt| self.pack_attempt(attempt)),
        );
        self.put_unheard(&mut fields);
        match &self.outcome {
            Outcome::Placed(targets) if targets.is_empty() => {}
            Outcome::Placed(targets) => {
                let replicas = targets.iter().map(|target| target.replicas.into());
                let columns = [
                    (CLUSTER, self.places(targets.iter())),
                    ("replicas", column(replicas)),
                ];
                put(&mut fields, "placed", list(columns));
            }
            Outcome::Refused(refusal) => {
                put(&mut fields, "reason", refusal.reason());
                put(&mut fields, "refused", refusal.to_string());
            }
        }
        let changes = self.changes();
        if !changes.is_empty() {
            let targets: Vec<Target> = changes
                .iter()
                .map(|change| Target {
                    cluster: Arc::clone(&change.cluster),
                    replicas: 0,
                })
                .collect();
            let columns = [
                (CLUSTER, self.places(targets.iter())),
                (
                    "before",
                    column(changes.iter().map(|change| change.before.into())),
                ),
                (
                    "after",
                    column(changes.iter().map(|change| change.after.into())),
                ),
            ];
            put(&mut fields, "changes", list(columns));
        }
        Value::Object(fields)
    }

    fn pack_attempt(&self, attempt: &Attempt) -> Value {
        let mut fields = Map::new();
        let group = attempt.term.as_ref().map(|(_, name)| &**name);
        put_some(&mut fields, "group", group);
        let filters = attempt.filters.iter();
        put_list(
            &mut fields,
            "filters",
            filters.map(|name| Value::from(&**name)),
        );
        let positions = |list: &[usize]| (!list.is_empty()).then(|| pack_positions(list));
        put_some(&mut fields, "deleting", positions(&attempt.deleting));
        if !attempt.refusals.is_empty() {
            put(&mut fields, "refusals", pack_refusals(attempt));
        }
        put_some(&mut fields, "passed", positions(&attempt.passed));
        if !attempt.candidates.is_empty() {
            put(&mut fields, "candidates", pack_candidates(attempt));
        }
        let selection = attempt.selection.as_ref();
        put_some(
            &mut fields,
            "selection",
            selection.map(|how| self.selection_value(how)),
        );
        put_some(&mut fields, "selected", positions(&attempt.selected));
        put_list(&mut fields, "steps", attempt.steps.iter().map(pack_step));
        let refusal = attempt.refusal.as_ref();
        put_some(&mut fields, "refusal", refusal.map(ToString::to_string));
        Value::Object(fields)
    }

    /// The places of targets, by name; one whose cluster is gone keeps its name.
    fn places<'a>(&self, targets: impl Iterator<Item = &'a Target>) -> Value {
        let mut finder = self.clusters.finder();
        let mut positions = Vec::new();
        let mut has_all = true;
        let places: Vec<Value> = targets
            .map(|target| match finder.find(&target.cluster) {
                Some(position) => {
                    positions.push(position);
                    Value::from(position)
                }
                None => {
                    has_all = false;
                    Value::from(&*target.cluster)
                }
            })
            .collect();
        if has_all {
            pack_positions(&positions)
        } else {
            Value::Array(places)
        }
    }
}

const CLUSTER: &str = "cluster";

fn pack_refusals(attempt: &Attempt) -> Value {
    let refusals = &attempt.refusals;
    let positions: Vec<usize> = refusals.iter().map(|refusal| refusal.cluster).collect();
    let filters = refusals.iter();
    list([
        (CLUSTER, pack_positions(&positions)),
        (
            "filter",
            texts(
                filters.map(|refusal| refusal.filter),
                |filter| match attempt.filters.get(*filter) {
                    Some(name) => name.to_string(),
                    None => String::new(),
                },
            ),
        ),
        (
            "reason",
            texts(refusals.iter().map(|refusal| &refusal.reason), |reason| {
                reason.to_string()
            }),
        ),
    ])
}

fn pack_candidates(attempt: &Attempt) -> Value {
    let candidates = || attempt.candidates.iter();
    let numbers = || candidates().map(|candidacy| candidacy.candidate);
    let positions: Vec<usize> = numbers().map(|candidate| candidate.cluster).collect();
    let mut scores = Map::new();
    for (plugin, by_candidate) in &attempt.scores {
        put(
            &mut scores,
            plugin,
            column(by_candidate.iter().map(|score| (*score).into())),
        );
    }
    list([
        (CLUSTER, pack_positions(&positions)),
        ("scores", Value::Object(scores)),
        (
            "fits",
            column(numbers().map(|candidate| candidate.allocatable.into())),
        ),
        (
            "estimate",
            texts(candidates().map(|candidacy| &candidacy.source), |source| {
                source.to_string()
            }),
        ),
        (
            "running",
            column(numbers().map(|candidate| candidate.assigned.into())),
        ),
        (
            "tier",
            column(numbers().map(|candidate| candidate.tier.into())),
        ),
    ])
}

fn pack_step(step: &Step) -> Value {
    let mut fields = Map::new();
    put(&mut fields, "mode", step.mode.to_string());
    put_some(&mut fields, "tier", step.tier);
    put(&mut fields, "replicas", step.replicas);
    if !step.rows.is_empty() {
        let rows = || step.rows.iter();
        let positions: Vec<usize> = rows().map(|row| row.cluster).collect();
        // What would be exact is left out: it follows from the weights.
        let columns = [
            (CLUSTER, pack_positions(&positions)),
            ("weight", column(rows().map(|row| row.weight.into()))),
            ("kept", column(rows().map(|row| row.kept.into()))),
            ("given", column(rows().map(|row| row.given.into()))),
        ];
        put(&mut fields, "rows", list(columns));
    }
    if step.left_out > 0 {
        put(&mut fields, "leftOut", step.left_out);
    }
    Value::Object(fields)
}

fn list<const N: usize>(columns: [(&str, Value); N]) -> Value {
    let columns = columns.into_iter();
    Value::Object(
        columns
            .map(|(name, column)| (name.to_owned(), column))
            .collect(),
    )
}

/// Positions in the snapshot: ranges if they ascend, or one by one.
fn pack_positions(positions: &[usize]) -> Value {
    let ascends = positions.is_sorted_by(|before, after| before < after);
    if !ascends {
        let positions = positions.iter();
        return Value::Array(positions.map(|position| Value::from(*position)).collect());
    }
    let runs = positions.chunk_by(|before, after| before.saturating_add(1) == *after);
    let runs: Vec<String> = runs
        .filter_map(|run| match (run.first(), run.last()) {
            (Some(first), Some(last)) if first < last => Some(format!("{first}-{last}")),
            (Some(only), _) => Some(only.to_string()),
            _ => None,
        })
        .collect();
    Value::from(runs.join(","))
}

/// Numbers, or one for all.
fn column(values: impl Iterator<Item = Value>) -> Value {
    let mut values: Vec<Value> = values.collect();
    match values.first() {
        Some(first) if values.iter().all(|value| value == first) => values.swap_remove(0),
        _ => Value::Array(values),
    }
}

/// Texts, each once, and which entry has which; or one for all.
fn texts<T: PartialEq>(items: impl Iterator<Item = T>, text: impl Fn(&T) -> String) -> Value {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut last: Option<(T, usize)> = None;
    let mut at = Vec::new();
    for item in items {
        // Neighbours mostly say the same, and then it is not written out.
        let number = match &last {
            Some((before, number)) if *before == item => *number,
            _ => {
                let next = known.len();
                let number = *known.entry(text(&item)).or_insert(next);
                last = Some((item, number));
                number
            }
        };
        at.push(Value::from(number));
    }
    let mut texts: Vec<(usize, String)> = known.into_iter().map(|(text, at)| (at, text)).collect();
    texts.sort_unstable();
    let mut texts: Vec<Value> = texts.into_iter().map(|(_, text)| text.into()).collect();
    if texts.len() == 1 {
        return texts.swap_remove(0);
    }
    list([("texts", Value::Array(texts)), ("at", Value::Array(at))])
}

/// What [`Diagnosis::to_value`] said of the diagnosis that was packed; `names` are those of its clusters.
///
/// What was not packed here comes back as it is, with names missing where there are none.
#[must_use]
pub fn unpack(packed: &Value, names: &[Arc<str>]) -> Value {
    let mut value = packed.clone();
    let Some(fields) = value.as_object_mut() else {
        return value;
    };
    let attempts = fields.get_mut("attempts").and_then(Value::as_array_mut);
    for attempt in attempts.into_iter().flatten() {
        for list in ["refusals", "candidates"] {
            replace(attempt, list, |columns| unpack_list(columns, names));
        }
        for list in ["deleting", "passed", "selected"] {
            replace(attempt, list, |column| {
                Value::Array(unpack_names(column, names))
            });
        }
        let steps = attempt.get_mut("steps").and_then(Value::as_array_mut);
        for step in steps.into_iter().flatten() {
            let replicas = step["replicas"].as_i64().unwrap_or(0);
            replace(step, "rows", |columns| {
                unpack_rows(unpack_list(columns, names), replicas)
            });
        }
    }
    for list in ["placed", "changes"] {
        replace(&mut value, list, |columns| unpack_list(columns, names));
    }
    value
}

fn replace(value: &mut Value, field: &str, make: impl FnOnce(&Value) -> Value) {
    if let Some(slot) = value.get_mut(field) {
        *slot = make(slot);
    }
}

/// The entries that columns stand for.
fn unpack_list(columns: &Value, names: &[Arc<str>]) -> Value {
    let Some(columns) = columns.as_object() else {
        return columns.clone();
    };
    let Some(clusters) = columns.get(CLUSTER) else {
        return Value::Array(Vec::new());
    };
    let clusters = unpack_names(clusters, names);
    let entries = clusters.into_iter().enumerate().map(|(index, cluster)| {
        let mut fields = Map::new();
        fields.insert(CLUSTER.to_owned(), cluster);
        for (name, column) in columns.iter().filter(|(name, _)| *name != CLUSTER) {
            let entry = match (name.as_str(), column) {
                ("scores", Value::Object(plugins)) => {
                    let scores = plugins.iter();
                    Value::Object(
                        scores
                            .map(|(plugin, column)| (plugin.clone(), entry(column, index)))
                            .collect(),
                    )
                }
                _ => entry(column, index),
            };
            let is_said = match name.as_str() {
                "tier" => entry.as_u64() != Some(0),
                _ => !entry.is_null(),
            };
            if is_said {
                fields.insert(name.clone(), entry);
            }
        }
        Value::Object(fields)
    });
    Value::Array(entries.collect())
}

/// The entry of a column at `index`.
fn entry(column: &Value, index: usize) -> Value {
    let found = match column {
        Value::Array(entries) => entries.get(index),
        Value::Object(texts) => {
            let number = texts.get("at").and_then(|at| at.get(index));
            let number = number
                .and_then(Value::as_u64)
                .and_then(|number| usize::try_from(number).ok());
            number.and_then(|number| texts.get("texts")?.get(number))
        }
        all => Some(all),
    };
    found.cloned().unwrap_or_default()
}

/// The names that a column of clusters stands for. No range is longer than there are names.
fn unpack_names(column: &Value, names: &[Arc<str>]) -> Vec<Value> {
    let name = |position: usize| names.get(position).map_or("", |name| &**name);
    match column {
        Value::String(ranges) => {
            let number = |text: &str| text.parse::<usize>().ok();
            let range = |text: &str| match text.split_once('-') {
                Some((first, last)) => Some((number(first)?, number(last)?)),
                None => number(text).map(|only| (only, only)),
            };
            ranges
                .split(',')
                .filter_map(range)
                .flat_map(|(first, last)| first..=last.min(names.len()))
                .map(|position| Value::from(name(position)))
                .collect()
        }
        Value::Array(places) => {
            let places = places.iter();
            places
                .map(|place| match place.as_u64() {
                    Some(position) => {
                        Value::from(usize::try_from(position).map_or("", |at| name(at)))
                    }
                    None => place.clone(),
                })
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The rows of a step, with what each would get exactly.
fn unpack_rows(rows: Value, replicas: i64) -> Value {
    let Value::Array(rows) = rows else {
        return rows;
    };
    let weight = |row: &Value| row["weight"].as_i64().unwrap_or(0);
    let total: i128 = rows.iter().map(|row| i128::from(weight(row).max(0))).sum();
    let rows = rows.into_iter().map(|row| {
        let quota = quota_text(replicas, weight(&row), total);
        let Value::Object(row) = row else {
            return row;
        };
        let mut fields = Map::new();
        for (name, value) in row {
            let is_weight = name == "weight";
            fields.insert(name, value);
            if is_weight {
                put(&mut fields, "quota", quota.as_str());
            }
        }
        Value::Object(fields)
    });
    Value::Array(rows.collect())
}

//! The diagnosis as a JSON value, for those who keep or show it elsewhere.

use object::{Map, Value};

use super::{Attempt, Diagnosis};
use crate::{
    assign::{Step, quota},
    decision::{Outcome, Target},
    select::How,
};

impl Diagnosis {
    /// Everything, with names instead of positions. Fields that would be empty are left out.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut fields = self.head();
        put_list(
            &mut fields,
            "attempts",
            self.attempts
                .iter()
                .map(|attempt| self.attempt_value(attempt)),
        );
        self.put_unheard(&mut fields);
        match &self.outcome {
            Outcome::Placed(targets) => {
                put_list(&mut fields, "placed", targets.iter().map(target_value))
            }
            Outcome::Refused(refusal) => {
                put(&mut fields, "reason", refusal.reason());
                put(&mut fields, "refused", refusal.to_string());
            }
        }
        let changes = self.changes();
        put_list(
            &mut fields,
            "changes",
            changes.iter().map(|change| {
                let mut fields = Map::new();
                put(&mut fields, "cluster", &*change.cluster);
                put_some(&mut fields, "before", change.before);
                put_some(&mut fields, "after", change.after);
                Value::Object(fields)
            }),
        );
        Value::Object(fields)
    }

    /// What it is about.
    pub(super) fn head(&self) -> Map {
        let mut fields = Map::new();
        put(&mut fields, "binding", &*self.binding);
        put(&mut fields, "strategy", self.strategy);
        put(&mut fields, "replicas", self.replicas);
        put(&mut fields, "clusters", self.clusters.len());
        fields
    }

    /// Who was not heard. Nothing where all were: so it is in what earlier versions kept.
    pub(super) fn put_unheard(&self, fields: &mut Map) {
        let unheard = self.unheard.iter().map(|unheard| {
            let mut fields = Map::new();
            put(&mut fields, "plugin", &*unheard.plugin);
            put(&mut fields, "why", &*unheard.why);
            Value::Object(fields)
        });
        put_list(fields, "unheard", unheard);
    }

    fn attempt_value(&self, attempt: &Attempt) -> Value {
        let mut fields = Map::new();
        put_some(
            &mut fields,
            "group",
            attempt.term.as_ref().map(|(_, name)| &**name),
        );
        put_list(
            &mut fields,
            "filters",
            attempt.filters.iter().map(|name| Value::from(&**name)),
        );
        put_list(
            &mut fields,
            "deleting",
            attempt
                .deleting
                .iter()
                .map(|position| self.name_value(*position)),
        );
        let refusals = attempt.refusals.iter().map(|refusal| {
            let mut fields = Map::new();
            put(&mut fields, "cluster", self.name_value(refusal.cluster));
            put_some(
                &mut fields,
                "filter",
                attempt.filters.get(refusal.filter).map(|name| &**name),
            );
            put(&mut fields, "reason", refusal.reason.to_string());
            Value::Object(fields)
        });
        put_list(&mut fields, "refusals", refusals);
        let passed = attempt.passed.iter();
        put_list(
            &mut fields,
            "passed",
            passed.map(|position| self.name_value(*position)),
        );
        let candidates = attempt
            .candidates
            .iter()
            .enumerate()
            .map(|(index, candidacy)| {
                let candidate = candidacy.candidate;
                let mut fields = Map::new();
                put(&mut fields, "cluster", self.name_value(candidate.cluster));
                let mut scores = Map::new();
                for (plugin, by_candidate) in &attempt.scores {
                    put_some(&mut scores, plugin, by_candidate.get(index).copied());
                }
                put(&mut fields, "scores", scores);
                put(&mut fields, "fits", candidate.allocatable);
                put(&mut fields, "estimate", candidacy.source.to_string());
                put(&mut fields, "running", candidate.assigned);
                if candidate.tier > 0 {
                    put(&mut fields, "tier", candidate.tier);
                }
                Value::Object(fields)
            });
        put_list(&mut fields, "candidates", candidates);
        put_some(
            &mut fields,
            "selection",
            attempt
                .selection
                .as_ref()
                .map(|how| self.selection_value(how)),
        );
        put_list(
            &mut fields,
            "selected",
            attempt
                .selected
                .iter()
                .map(|position| self.name_value(*position)),
        );
        put_list(
            &mut fields,
            "steps",
            attempt.steps.iter().map(|step| self.step_value(step)),
        );
        put_some(
            &mut fields,
            "refusal",
            attempt.refusal.as_ref().map(ToString::to_string),
        );
        Value::Object(fields)
    }

    pub(super) fn selection_value(&self, how: &How) -> Value {
        let mut fields = Map::new();
        match how {
            How::Unconstrained => put(&mut fields, "by", "none"),
            How::WeightsOverride => put(&mut fields, "by", "weights"),
            How::Unsupported => put(&mut fields, "by", "unsupported"),
            How::Other(text) => put(&mut fields, "by", &**text),
            How::ByCluster {
                min,
                max,
                need,
                swaps,
                room,
            } => {
                put(&mut fields, "by", "cluster");
                put(&mut fields, "min", *min);
                put(&mut fields, "max", *max);
                put_some(&mut fields, "need", *need);
                let swaps = swaps.iter().map(|(out, into)| {
                    let mut fields = Map::new();
                    put(&mut fields, "out", self.name_value(*out));
                    put(&mut fields, "in", self.name_value(*into));
                    Value::Object(fields)
                });
                put_list(&mut fields, "swaps", swaps);
                if let Some(room) = room {
                    let mut found = Map::new();
                    put(&mut found, "clusters", room.clusters);
                    put(&mut found, "preferred", room.preferred);
                    put(&mut found, "found", room.found);
                    put(&mut fields, "room", Value::Object(found));
                }
            }
            How::ByRegion {
                regions,
                is_approximate,
            } => {
                put(&mut fields, "by", "region");
                put(&mut fields, "approximate", *is_approximate);
                let regions = regions.iter().map(|region| {
                    let mut fields = Map::new();
                    put(&mut fields, "name", &*region.name);
                    put(&mut fields, "clusters", region.clusters);
                    put(&mut fields, "weight", region.weight);
                    put_some(&mut fields, "rank", region.rank);
                    Value::Object(fields)
                });
                put_list(&mut fields, "regions", regions);
            }
        }
        Value::Object(fields)
    }

    fn step_value(&self, step: &Step) -> Value {
        let total = step.total_weight();
        let mut fields = Map::new();
        put(&mut fields, "mode", step.mode.to_string());
        put_some(&mut fields, "tier", step.tier);
        put(&mut fields, "replicas", step.replicas);
        let rows = step.rows.iter().map(|row| {
            let mut fields = Map::new();
            put(&mut fields, "cluster", self.name_value(row.cluster));
            put(&mut fields, "weight", row.weight);
            put(
                &mut fields,
                "quota",
                quota_text(step.replicas, row.weight, total),
            );
            put(&mut fields, "kept", row.kept);
            put(&mut fields, "given", row.given);
            Value::Object(fields)
        });
        put_list(&mut fields, "rows", rows);
        if step.left_out > 0 {
            put(&mut fields, "leftOut", step.left_out);
        }
        Value::Object(fields)
    }

    fn name_value(&self, position: usize) -> Value {
        Value::from(&*self.clusters.name(position))
    }
}

/// What a row would get if replicas could be split. As text: the parts of a large total do not fit into JSON's numbers.
pub(super) fn quota_text(replicas: i64, weight: i64, total: i128) -> String {
    let (whole, part) = quota(replicas, weight, total);
    if part == 0 {
        whole.to_string()
    } else {
        format!("{whole} {part}/{total}")
    }
}

fn target_value(target: &Target) -> Value {
    let mut fields = Map::new();
    put(&mut fields, "cluster", &*target.cluster);
    put(&mut fields, "replicas", target.replicas);
    Value::Object(fields)
}

pub(super) fn put(fields: &mut Map, name: &str, value: impl Into<Value>) {
    fields.insert(name.to_owned(), value.into());
}

pub(super) fn put_some(fields: &mut Map, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        put(fields, name, value);
    }
}

pub(super) fn put_list(fields: &mut Map, name: &str, items: impl Iterator<Item = Value>) {
    let items: Vec<Value> = items.collect();
    if !items.is_empty() {
        put(fields, name, items);
    }
}

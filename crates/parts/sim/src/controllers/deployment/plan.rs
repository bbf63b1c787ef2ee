//! What a Deployment does next.

use std::sync::Arc;

use object::time::Time;
use object::{Map, Object, Value};
use serde_json::json;

use crate::controllers::deployment::rollout::{self, Sizes};
use crate::controllers::deployment::sets::{
    self, DESIRED, MAXIMUM, REVISION, REVISION_HISTORY, Wants, wanted,
};
use crate::controllers::deployment::status::{self, Seen};
use crate::engine::action::{Action, Plan, Target, Writer};
use crate::engine::kind::Kind;
use crate::read;

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) deployment: &'a Object,
    /// The ReplicaSets it controls.
    pub(crate) sets: &'a [&'a Arc<Object>],
    /// How many pods of a ReplicaSet have not ended, those on their way out among them.
    pub(crate) pods_of: &'a dyn Fn(&str) -> usize,
    pub(crate) now: Time,
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let deployment = inputs.deployment;
    let wants = Wants::of(deployment);
    let new = sets::newest(deployment, inputs.sets);
    let mut old: Vec<&Arc<Object>> = inputs
        .sets
        .iter()
        .copied()
        .filter(|set| new.is_none_or(|new| new.uid() != set.uid()))
        .collect();
    old.sort_by_key(|set| (read::created(set), set.name().to_owned()));
    let mut events = status::Events::default();
    if !deployment.is_terminating() {
        let revision = revise(inputs, &wants, new, &old, &mut plan);
        if !plan.actions.is_empty() {
            // One write of the Deployment at a time: the rest follows when this one is seen.
            return plan;
        }
        match new {
            Some(_) => size(inputs, &wants, new, &old, revision, &mut plan),
            None if wants.is_paused => size(inputs, &wants, None, &old, revision, &mut plan),
            None => make(inputs, &wants, &old, revision, &mut plan, &mut events),
        }
        if let Some(new) = new
            && status::is_complete(deployment, &wants, &status::count(inputs.sets, Some(new)))
        {
            forget(&wants, &old, &mut plan);
        }
    }
    let seen = Seen {
        deployment,
        sets: inputs.sets,
        new,
        wants: &wants,
        now: inputs.now,
        events,
    };
    status::write(&seen, &mut plan);
    plan
}

/// Counts the revision on if the template is new, and notes it on the Deployment.
fn revise(
    inputs: &Inputs<'_>,
    wants: &Wants,
    new: Option<&Arc<Object>>,
    old: &[&Arc<Object>],
    plan: &mut Plan,
) -> i64 {
    let before = sets::highest_revision(old.iter().copied());
    let own = new.and_then(|new| sets::note(new, REVISION)).unwrap_or(0);
    let revision = if own > before {
        own
    } else {
        before.saturating_add(1)
    };
    let is_noted = sets::note(inputs.deployment, REVISION) == Some(revision);
    let is_idle = wants.is_paused && new.is_none();
    if !is_noted && !is_idle {
        let patch = json!({"metadata": {"annotations": {REVISION: revision.to_string()}}});
        // Upstream: noted beside the status, because notes on the object itself would be a new generation.
        let mut of = Target::of(Kind::Deployment, inputs.deployment);
        of.path.push_str("/status");
        let by = Writer::Controllers;
        plan.actions.push(Action::Merge { of, patch, by });
    }
    revision
}

/// Makes the ReplicaSet of a new template.
fn make(
    inputs: &Inputs<'_>,
    wants: &Wants,
    old: &[&Arc<Object>],
    revision: i64,
    plan: &mut Plan,
    events: &mut status::Events,
) {
    let replicas = if wants.recreates {
        if !rollout::are_gone(old, inputs.pods_of) {
            // The old ones go first; the new one is made at once and waits without pods.
            shrink_all(inputs, wants, old, plan);
            0
        } else {
            wants.replicas
        }
    } else {
        let present: i64 = old.iter().map(|set| wanted(set)).sum();
        let room = wants.replicas.saturating_add(wants.surge) - present;
        room.clamp(0, wants.replicas)
    };
    let set = sets::new_set(inputs.deployment, wants, revision, replicas);
    let name = set
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    plan.create(Kind::ReplicaSet, set);
    if replicas > 0 {
        say_scaled(inputs.deployment, &name, 0, replicas, plan);
    }
    events.created = Some(name);
}

/// Sizes the ReplicaSets for the next step.
fn size(
    inputs: &Inputs<'_>,
    wants: &Wants,
    new: Option<&Arc<Object>>,
    old: &[&Arc<Object>],
    revision: i64,
    plan: &mut Plan,
) {
    let resized = inputs.sets.iter().any(|set| {
        wanted(set) > 0 && sets::note(set, DESIRED).is_some_and(|noted| noted != wants.replicas)
    });
    let sizes: Sizes = if wants.is_paused || resized {
        rollout::scale(wants, new, old)
    } else if wants.recreates {
        rollout::recreate(wants, new, old, inputs.pods_of)
    } else {
        rollout::roll(wants, new, old)
    };
    for set in inputs.sets {
        let is_new = new.is_some_and(|new| new.uid() == set.uid());
        let size = sizes.get(set.uid()).copied().unwrap_or_else(|| wanted(set));
        annotate_and_size(
            inputs.deployment,
            wants,
            set,
            is_new.then_some(revision),
            size,
            plan,
        );
    }
}

fn shrink_all(inputs: &Inputs<'_>, wants: &Wants, old: &[&Arc<Object>], plan: &mut Plan) {
    for set in old {
        annotate_and_size(inputs.deployment, wants, set, None, 0, plan);
    }
}

/// Writes the size of a ReplicaSet and what is noted on it, where they differ.
fn annotate_and_size(
    deployment: &Object,
    wants: &Wants,
    set: &Object,
    revision: Option<i64>,
    size: i64,
    plan: &mut Plan,
) {
    let mut notes = Map::new();
    let most = wants.replicas.saturating_add(wants.surge).to_string();
    let is_sized = size != wanted(set) || size > 0;
    match revision {
        Some(revision) => {
            notes = sets::notes(deployment, wants, revision);
            if let Some(before) = sets::note(set, REVISION).filter(|before| *before != revision) {
                let history = set.annotation(REVISION_HISTORY).unwrap_or_default();
                let history = if history.is_empty() {
                    before.to_string()
                } else {
                    format!("{history},{before}")
                };
                notes.insert(REVISION_HISTORY.to_owned(), json!(history));
            }
        }
        None if is_sized => {
            notes.insert(DESIRED.to_owned(), json!(wants.replicas.to_string()));
            notes.insert(MAXIMUM.to_owned(), json!(most));
        }
        None => {}
    }
    notes.retain(|name, value| set.annotation(name) != value.as_str());
    let mut patch = json!({});
    if let Some(fields) = patch.as_object_mut() {
        if !notes.is_empty() {
            fields.insert("metadata".to_owned(), json!({"annotations": notes}));
        }
        let mut spec = Map::new();
        if size != wanted(set) {
            spec.insert("replicas".to_owned(), json!(size));
        }
        let patience = deployment
            .integer_at(&["spec", "minReadySeconds"])
            .unwrap_or(0);
        if revision.is_some()
            && set.integer_at(&["spec", "minReadySeconds"]).unwrap_or(0) != patience
        {
            spec.insert("minReadySeconds".to_owned(), json!(patience));
        }
        if !spec.is_empty() {
            fields.insert("spec".to_owned(), Value::Object(spec));
        }
        if fields.is_empty() {
            return;
        }
    }
    plan.merge(Kind::ReplicaSet, set, patch);
    if size != wanted(set) {
        say_scaled(deployment, set.name(), wanted(set), size, plan);
    }
}

fn say_scaled(deployment: &Object, set: &str, from: i64, to: i64, plan: &mut Plan) {
    let way = if to > from { "up" } else { "down" };
    let message = format!("Scaled {way} replica set {set} from {from} to {to}");
    plan.report(
        deployment,
        Writer::Controllers,
        "ScalingReplicaSet",
        message,
    );
}

/// Lets go of the oldest revisions beyond the limit, once a rollout is complete.
fn forget(wants: &Wants, old: &[&Arc<Object>], plan: &mut Plan) {
    let mut idle: Vec<&Arc<Object>> = old
        .iter()
        .copied()
        .filter(|set| {
            wanted(set) == 0 && sets::count(set, "replicas") == 0 && !set.is_terminating()
        })
        .collect();
    idle.sort_by_key(|set| sets::note(set, REVISION).unwrap_or(0));
    let surplus = idle.len().saturating_sub(wants.history);
    for set in idle.into_iter().take(surplus) {
        plan.delete(Kind::ReplicaSet, set);
    }
}

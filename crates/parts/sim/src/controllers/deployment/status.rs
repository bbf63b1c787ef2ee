//! What a Deployment says of itself.

use std::sync::Arc;

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::controllers::deployment::progress;
use crate::controllers::deployment::sets::{self, Wants, wanted};
use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::read;

/// How many pods there are, in what state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) replicas: i64,
    pub(crate) updated: i64,
    pub(crate) ready: i64,
    pub(crate) available: i64,
    pub(crate) unavailable: i64,
}

/// What happened in this plan that the conditions tell of.
#[derive(Default)]
pub(crate) struct Events {
    /// A ReplicaSet of this name is being made.
    pub(crate) created: Option<String>,
}

/// What the status is made from.
pub(crate) struct Seen<'a> {
    pub(crate) deployment: &'a Object,
    pub(crate) sets: &'a [&'a Arc<Object>],
    pub(crate) new: Option<&'a Arc<Object>>,
    pub(crate) wants: &'a Wants,
    pub(crate) now: Time,
    pub(crate) events: Events,
}

/// Sums the ReplicaSets up.
pub(crate) fn count(all: &[&Arc<Object>], new: Option<&Arc<Object>>) -> Counts {
    let sum = |name: &str| -> i64 { all.iter().map(|set| sets::count(set, name)).sum() };
    let available = sum("availableReplicas");
    let total: i64 = all.iter().map(|set| wanted(set)).sum();
    Counts {
        replicas: sum("replicas"),
        updated: new.map_or(0, |new| sets::count(new, "replicas")),
        ready: sum("readyReplicas"),
        available,
        unavailable: (total - available).max(0),
    }
}

/// Whether all pods are of the present template and available, and no other is left.
pub(crate) fn is_complete(deployment: &Object, wants: &Wants, counts: &Counts) -> bool {
    counts.updated == wants.replicas
        && counts.replicas == wants.replicas
        && counts.available == wants.replicas
        && observed(deployment) >= deployment.generation()
}

fn observed(deployment: &Object) -> i64 {
    deployment
        .integer_at(&["status", "observedGeneration"])
        .unwrap_or(0)
}

/// Writes the status where it differs.
pub(crate) fn write(seen: &Seen<'_>, plan: &mut Plan) {
    let counts = count(seen.sets, seen.new);
    let mut conditions = read::conditions(seen.deployment);
    let is_available = counts.available >= seen.wants.replicas - seen.wants.unavailable;
    let (state, reason, message) = if is_available {
        (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
    } else {
        (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    };
    progress::put(
        &mut conditions,
        "Available",
        state,
        reason,
        message,
        seen.now,
    );
    progress::judge(seen, &counts, &mut conditions, plan);
    tell_failures(seen, &mut conditions);
    let mut status = json!({"observedGeneration": seen.deployment.generation()});
    if let Some(fields) = status.as_object_mut() {
        for (name, number) in [
            ("replicas", counts.replicas),
            ("updatedReplicas", counts.updated),
            ("readyReplicas", counts.ready),
            ("availableReplicas", counts.available),
            ("unavailableReplicas", counts.unavailable),
        ] {
            // Upstream: counts that are zero are left out.
            if number != 0 {
                fields.insert(name.to_owned(), json!(number));
            }
        }
        if let Some(collisions) = seen.deployment.at(&["status", "collisionCount"]) {
            fields.insert("collisionCount".to_owned(), collisions.clone());
        }
        fields.insert("conditions".to_owned(), conditions.into());
    }
    plan.status(
        Kind::Deployment,
        seen.deployment,
        status,
        Writer::Controllers,
    );
}

/// Passes on that a ReplicaSet cannot make its pods.
fn tell_failures(seen: &Seen<'_>, conditions: &mut Vec<Value>) {
    let failure = seen
        .sets
        .iter()
        .find_map(|set| read::condition(set, "ReplicaFailure"));
    match failure {
        Some(failure) => progress::put(
            conditions,
            "ReplicaFailure",
            read::text(failure, "status"),
            read::text(failure, "reason"),
            read::text(failure, "message"),
            seen.now,
        ),
        None => conditions.retain(|known| read::text(known, "type") != "ReplicaFailure"),
    }
}

//! Whether a Deployment gets on: its `Progressing` condition.

use object::Value;
use object::time::Time;
use serde_json::json;

use crate::controllers::deployment::status::{Counts, Seen, is_complete};
use crate::engine::action::{Plan, Writer};
use crate::read;

const PROGRESSING: &str = "Progressing";
const PAUSED: &str = "DeploymentPaused";
const RESUMED: &str = "DeploymentResumed";
const COMPLETE: &str = "NewReplicaSetAvailable";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";

/// Puts a condition with the times Deployments keep: of the last transition and of the last update.
pub(crate) fn put(
    conditions: &mut Vec<Value>,
    kind: &str,
    state: &str,
    reason: &str,
    message: &str,
    now: Time,
) {
    let known = conditions
        .iter()
        .find(|condition| read::text(condition, "type") == kind);
    // Upstream: the same state for the same reason is the same condition, whatever its message.
    let is_same = known.is_some_and(|known| {
        read::text(known, "status") == state && read::text(known, "reason") == reason
    });
    if is_same {
        return;
    }
    let condition = json!({
        "type": kind, "status": state, "reason": reason, "message": message, "lastUpdateTime": now.to_string(),
    });
    read::put_condition(conditions, condition, now);
}

/// Says whether there is progress, and looks again when the deadline would pass.
pub(crate) fn judge(
    seen: &Seen<'_>,
    counts: &Counts,
    conditions: &mut Vec<Value>,
    plan: &mut Plan,
) {
    let Some(deadline) = seen.wants.deadline else {
        conditions.retain(|condition| read::text(condition, "type") != PROGRESSING);
        return;
    };
    let known = conditions
        .iter()
        .find(|condition| read::text(condition, "type") == PROGRESSING)
        .cloned();
    let reason = known
        .as_ref()
        .map_or("", |known| read::text(known, "reason"))
        .to_owned();
    let mut say = |state: &str, reason: &str, message: &str| {
        put(conditions, PROGRESSING, state, reason, message, seen.now);
    };
    if seen.wants.is_paused {
        if reason != TIMED_OUT {
            say("Unknown", PAUSED, "Deployment is paused");
        }
        return;
    }
    if reason == PAUSED {
        say("Unknown", RESUMED, "Deployment is resumed");
        return;
    }
    if let Some(name) = &seen.events.created {
        let message = format!("Created new replica set {name:?}");
        say("True", "NewReplicaSetCreated", &message);
        return;
    }
    let name = seen.new.map_or("", |new| new.name());
    let was_complete = counts.replicas == counts.updated && reason == COMPLETE;
    if was_complete && is_complete(seen.deployment, seen.wants, counts) {
        return;
    }
    if is_complete(seen.deployment, seen.wants, counts) {
        let message = format!("ReplicaSet {name:?} has successfully progressed.");
        say("True", COMPLETE, &message);
        return;
    }
    if was_complete {
        // Upstream: pods that fail after a rollout are not its progress.
        return;
    }
    if moved(seen, counts) {
        let message = format!("ReplicaSet {name:?} is progressing.");
        let condition = json!({
            "type": PROGRESSING, "status": "True", "reason": "ReplicaSetUpdated", "message": message,
            "lastUpdateTime": seen.now.to_string(),
        });
        read::put_condition(conditions, condition, seen.now);
        plan.wake_at(seen.now.plus_seconds(deadline.saturating_add(1)));
        return;
    }
    let Some(known) = known else {
        let message = format!("Found new replica set {name:?}");
        say("True", "FoundNewReplicaSet", &message);
        plan.wake_at(seen.now.plus_seconds(deadline.saturating_add(1)));
        return;
    };
    if reason == TIMED_OUT || reason == COMPLETE {
        return;
    }
    let since = read::time(&known, "lastUpdateTime").unwrap_or(seen.now);
    let due = since.plus_seconds(deadline);
    if seen.now <= due {
        plan.wake_at(due.plus_seconds(1));
        return;
    }
    let message = format!("ReplicaSet {name:?} has timed out progressing.");
    say("False", TIMED_OUT, &message);
    plan.warn(seen.deployment, Writer::Controllers, TIMED_OUT, message);
}

/// Whether there are more new, ready or available pods than before, or fewer old ones.
fn moved(seen: &Seen<'_>, counts: &Counts) -> bool {
    let before = |name: &str| seen.deployment.integer_at(&["status", name]).unwrap_or(0);
    counts.updated > before("updatedReplicas")
        || counts.replicas - counts.updated < before("replicas") - before("updatedReplicas")
        || counts.ready > before("readyReplicas")
        || counts.available > before("availableReplicas")
}

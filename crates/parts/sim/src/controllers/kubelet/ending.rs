//! A pod that was asked to go: its containers stop, then it is gone.

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::controllers::kubelet::container;
use crate::engine::action::{Action, Plan, Target, Writer};
use crate::engine::kind::Kind;
use crate::read;

/// What a container ends with that is asked to stop and has nothing to finish.
const STOPPED: i64 = 143;
/// What a container ends with that is killed.
pub(crate) const KILLED: i64 = 137;

/// What is done about a pod that takes `stop` seconds to end: its containers have stopped by then, or are killed when
/// its grace period is over. A status says so before the pod is gone.
pub(crate) fn plan(plan: &mut Plan, pod: &Object, stop: i64, now: Time) {
    let Some(deadline) = pod.deletion_timestamp() else {
        return;
    };
    let grace = pod
        .integer_at(&["metadata", "deletionGracePeriodSeconds"])
        .unwrap_or(0);
    let gone_at = deadline.plus_seconds(stop.clamp(0, grace) - grace);
    if now < gone_at && !read::has_ended(pod) {
        plan.wake_at(gone_at);
        return;
    }
    let is_held = pod.finalizers().next().is_some();
    // A pod that is killed is gone at once, and nobody could read its status, unless somebody holds it.
    if grace > 0 || is_held {
        let code = exit_code(pod, stop > grace);
        if let Some((status, stopped)) = stop_containers(pod, code, now) {
            plan.status(Kind::Pod, pod, status, Writer::Kubelet);
            for name in stopped {
                let message = format!("Stopping container {name}");
                plan.report(pod, Writer::Kubelet, "Killing", message);
            }
            return;
        }
    }
    if is_held && grace == 0 {
        // Nothing is left for the kubelet to do.
        return;
    }
    plan.actions.push(Action::Delete {
        of: Target::any(Kind::Pod, pod),
        grace: Some(0),
        propagation: None,
        by: Writer::Kubelet,
    });
}

/// Servers end well when they are asked to stop; work that is not done has failed.
pub(crate) fn exit_code(pod: &Object, is_cut_short: bool) -> i64 {
    match pod.text_at(&["spec", "restartPolicy"]) {
        _ if is_cut_short => KILLED,
        Some("Never" | "OnFailure") => STOPPED,
        _ => 0,
    }
}

/// The status with all containers ended, and the names of those that ran; `None` if none did.
fn stop_containers(pod: &Object, code: i64, now: Time) -> Option<(Value, Vec<String>)> {
    let mut status = pod.at(&["status"])?.clone();
    let fields = status.as_object_mut()?;
    let mut stopped = Vec::new();
    for list in [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ] {
        let containers = fields.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            if container::end(container, code, now) {
                stopped.push(read::text(container, "name").to_owned());
            }
        }
    }
    if stopped.is_empty() {
        return None;
    }
    let main = fields.get("containerStatuses").and_then(Value::as_array);
    let has_failed = main
        .into_iter()
        .flatten()
        .any(|container| container.pointer("/state/terminated/exitCode") != Some(&json!(0)));
    let (phase, reason) = if has_failed {
        ("Failed", "PodFailed")
    } else {
        ("Succeeded", "PodCompleted")
    };
    fields.insert("phase".to_owned(), json!(phase));
    let mut conditions = read::conditions(pod);
    for kind in ["ContainersReady", "Ready"] {
        let condition =
            json!({"type": kind, "status": "False", "lastProbeTime": null, "reason": reason});
        read::put_condition(&mut conditions, condition, now);
    }
    fields.insert("conditions".to_owned(), conditions.into());
    Some((status, stopped))
}

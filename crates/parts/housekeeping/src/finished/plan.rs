//! When a finished job goes.

use intent::{Action, Plan, Propagation};
use object::time::Time;
use object::{Object, Value};

use crate::resources;

pub(crate) fn plan(job: &Object, now: Time) -> Plan {
    let mut plan = Plan::default();
    let ttl = job.integer_at(&["spec", "ttlSecondsAfterFinished"]);
    let (Some(ttl), Some(finished)) = (ttl, finished_at(job)) else {
        return plan;
    };
    if job.is_terminating() {
        return plan;
    }
    let goes = finished.plus_seconds(ttl.max(0));
    if goes > now {
        plan.wake_at(goes);
        return plan;
    }
    plan.push(Action::Delete {
        resource: resources::jobs(),
        key: job.key(),
        uid: job.uid().to_owned(),
        // In this very state: its time may just have been prolonged.
        revision: Some(job.resource_version().to_owned()),
        propagation: Some(Propagation::Foreground),
        cause: format!("it finished at {finished} and had {ttl} seconds left"),
    });
    plan
}

/// Upstream: when its condition `Complete` or `Failed` came true.
fn finished_at(job: &Object) -> Option<Time> {
    let conditions = job.at(&["status", "conditions"])?.as_array()?;
    let text = |condition: &Value, name: &str| condition.get(name)?.as_str().map(str::to_owned);
    let ended = conditions.iter().find(|condition| {
        let r#type = text(condition, "type");
        matches!(r#type.as_deref(), Some("Complete" | "Failed"))
            && text(condition, "status").as_deref() == Some("True")
    })?;
    text(ended, "lastTransitionTime")?.parse().ok()
}

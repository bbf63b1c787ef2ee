//! When a certificate request goes.

use intent::{Action, Plan};
use object::time::Time;
use object::{Object, Value};

use crate::resources;

/// How long a request is kept after it was granted. Upstream: an hour.
const GRANTED_SECONDS: i64 = 3_600;
/// The same for one that was denied or failed.
const DENIED_SECONDS: i64 = 3_600;
/// The same for one that nobody has decided on. Upstream: a day.
const PENDING_SECONDS: i64 = 86_400;

pub(crate) fn plan(request: &Object, now: Time) -> Plan {
    let mut plan = Plan::default();
    if request.is_terminating() {
        return plan;
    }
    let Some((since, seconds, what)) = state(request) else {
        return plan;
    };
    let goes = since.plus_seconds(seconds);
    if goes > now {
        plan.wake_at(goes);
        return plan;
    }
    let cause = format!("it was {what} at {since}");
    plan.push(Action::delete(
        resources::certificate_requests(),
        request,
        cause,
    ));
    plan
}

/// Since when it is in which state, and how long it is kept in that.
fn state(request: &Object) -> Option<(Time, i64, &'static str)> {
    let created: Option<Time> = request
        .text_at(&["metadata", "creationTimestamp"])
        .and_then(|time| time.parse().ok());
    let approved = condition(request, "Approved");
    if let Some(denied) = condition(request, "Denied").or(condition(request, "Failed")) {
        return Some((denied, DENIED_SECONDS, "denied"));
    }
    let certificate = request.text_at(&["status", "certificate"]);
    if let Some(approved) = approved {
        return match certificate.is_some_and(|text| !text.is_empty()) {
            true => Some((approved, GRANTED_SECONDS, "granted")),
            // Upstream: one that was approved and never signed is as good as one that waits.
            false => Some((created?, PENDING_SECONDS, "made")),
        };
    }
    Some((created?, PENDING_SECONDS, "made"))
}

fn condition(request: &Object, r#type: &str) -> Option<Time> {
    let conditions = request.at(&["status", "conditions"])?.as_array()?;
    let text = |condition: &Value, name: &str| condition.get(name)?.as_str().map(str::to_owned);
    let found = conditions
        .iter()
        .find(|condition| text(condition, "type").as_deref() == Some(r#type))?;
    let time = text(found, "lastUpdateTime").or_else(|| text(found, "lastTransitionTime"))?;
    time.parse().ok()
}

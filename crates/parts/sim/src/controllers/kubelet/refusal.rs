//! What a node does not take in, whoever has sent it there: only the scheduler looks before it places a pod.

use object::time::Time;
use object::{Map, Object, Value};
use serde_json::json;

use crate::controllers::kubelet::pod::Step;
use crate::controllers::scheduler::{NO_PORTS, ports_of};
use crate::read;

/// Seconds after which a pod is refused. Whoever makes such pods anew and anew must not do it all in one moment.
const AFTER: i64 = 1;

/// The end of a pod that was not taken in yet and wants ports of its node that others have; `None` if it may start.
/// `before` are those that the node has looked at already.
pub(crate) fn refuse(pod: &Object, before: &[&Object], all: &[&Object], now: Time) -> Option<Step> {
    let has_started = |pod: &Object| pod.text_at(&["status", "startTime"]).is_some();
    if has_started(pod) || read::has_ended(pod) || ports_of(pod).next().is_none() {
        return None;
    }
    let started = all.iter().filter(|other| has_started(other));
    let mut others = started
        .chain(before)
        .filter(|other| other.uid() != pod.uid() && !read::has_ended(other));
    let clashes = |other: &&&Object| {
        ports_of(pod).any(|port| ports_of(other).any(|taken| taken.clashes_with(&port)))
    };
    others.find(clashes)?;
    let due = read::created(pod).plus_seconds(AFTER);
    if now < due {
        return Some(Step {
            wake: Some(due),
            ..Step::default()
        });
    }
    let why = format!("Predicate NodePorts failed: {NO_PORTS}");
    let mut status = Map::new();
    if let Some(class) = pod.at(&["status", "qosClass"]) {
        status.insert("qosClass".to_owned(), class.clone());
    }
    status.insert("phase".to_owned(), json!("Failed"));
    status.insert("reason".to_owned(), json!("NodePorts"));
    let message = format!("Pod was rejected: {why}");
    status.insert("message".to_owned(), json!(message));
    Some(Step {
        status: Some(Value::Object(status)),
        wake: None,
        events: vec![(true, "NodePorts", why)],
    })
}

//! Kinds that are served under two names and stored under one: autoscalers and events.
//!
//! Only what the other form cannot say in fields travels in annotations, under the names Kubernetes uses for it, so
//! that nothing is lost on a round trip.

mod autoscaler;
mod event;
#[cfg(test)]
mod tests;

use object::Value;

pub use self::autoscaler::{autoscaler_to_v1, autoscaler_to_v2};
pub use self::event::{event_to_core, event_to_events};
use crate::kinds::Kind;

/// An object of `kind` in the form it is stored in; `None` where that is the form it has.
#[must_use]
pub fn to_stored(kind: &Kind<'_>, object: &Value) -> Option<Value> {
    match (kind.group, kind.version, kind.kind) {
        ("autoscaling", "v1", "HorizontalPodAutoscaler") => Some(autoscaler_to_v2(object)),
        ("events.k8s.io", "v1", "Event") => Some(event_to_core(object)),
        _ => None,
    }
}

/// A stored object in the form of `kind`; `None` where that is the form it has.
#[must_use]
pub fn from_stored(kind: &Kind<'_>, stored: &Value) -> Option<Value> {
    match (kind.group, kind.version, kind.kind) {
        ("autoscaling", "v1", "HorizontalPodAutoscaler") => Some(autoscaler_to_v1(stored)),
        ("events.k8s.io", "v1", "Event") => Some(event_to_events(stored)),
        _ => None,
    }
}

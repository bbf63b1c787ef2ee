//! Whether a member answers, and whether that is to be believed.

mod damping;
mod probe;

#[cfg(test)]
mod tests;

use api::well_known::conditions::cluster::READY;
use object::{Object, Value};

pub(crate) use crate::health::damping::Damping;
pub use crate::health::damping::Thresholds;
pub(crate) use crate::health::probe::{Answer, condition, unconnected};

/// Whether a cluster is ready, read from the object as it is: its list of kinds is long, and of no interest here.
pub(crate) fn is_ready(cluster: &Object) -> bool {
    let conditions = cluster
        .at(&["status", "conditions"])
        .and_then(Value::as_array);
    let is = |condition: &Value, field: &str, text: &str| {
        condition.get(field).and_then(Value::as_str) == Some(text)
    };
    conditions
        .into_iter()
        .flatten()
        .any(|condition| is(condition, "type", READY) && is(condition, "status", "True"))
}

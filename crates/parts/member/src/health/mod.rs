//! Whether a member answers, and whether that is to be believed.

mod damping;
mod probe;

#[cfg(test)]
mod tests;

use api::well_known::conditions::cluster::READY;
use object::{Object, Value};

pub(crate) use crate::health::damping::Damping;
pub use crate::health::damping::Thresholds;
pub(crate) use crate::health::probe::{Answer, IDENTITY_CHANGED, another, condition, unconnected};

/// Whether a cluster is ready, read from the object as it is: its list of kinds is long, and of no interest here.
pub(crate) fn is_ready(cluster: &Object) -> bool {
    ready(cluster).is_some_and(|ready| ready["status"] == "True")
}

/// What the cluster says if another one was found in its place.
pub(crate) fn is_another(cluster: &Object) -> Option<&str> {
    let ready = ready(cluster).filter(|ready| ready["reason"] == IDENTITY_CHANGED)?;
    ready["message"].as_str()
}

fn ready(cluster: &Object) -> Option<&Value> {
    let conditions = cluster.at(&["status", "conditions"])?.as_array()?;
    let mut conditions = conditions.iter();
    conditions.find(|condition| condition["type"] == READY)
}

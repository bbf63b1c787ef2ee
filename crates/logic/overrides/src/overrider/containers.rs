//! Where the containers of a workload are.

use object::{Value, patch::Pointer};

use crate::problem::Fault;

/// The containers of an object, each with its place. Kinds that are not known to have any have none.
///
/// Upstream: known by the name of the kind alone; neither init containers nor CronJobs are looked at.
pub(crate) fn containers_mut(document: &mut Value) -> Result<Vec<(Pointer, &mut Value)>, Fault> {
    let kind = document.get("kind").and_then(Value::as_str);
    let path: &[&str] = match kind.unwrap_or_default() {
        "Pod" => &["spec", "containers"],
        "ReplicaSet" | "Deployment" | "DaemonSet" | "StatefulSet" | "Job" => {
            &["spec", "template", "spec", "containers"]
        }
        _ => return Ok(Vec::new()),
    };
    let place: Pointer = path.iter().copied().collect();
    match super::find_mut(document, &place) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter_mut()
            .enumerate()
            .map(|(position, container)| {
                let place = place.child(position.to_string());
                if container.is_object() {
                    return Ok((place, container));
                }
                Err(Fault::unexpected(&place, "a container", container))
            })
            .collect(),
        Some(other) => Err(Fault::unexpected(&place, "a list of containers", other)),
    }
}

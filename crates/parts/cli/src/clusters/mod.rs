//! Commands about the clusters themselves: what they are and what may be put there.

mod cordon;
mod overview;
mod taint;

pub use cordon::{Cordon, cordon};
pub use overview::clusters;
pub use taint::{TaintChange, taint};

use client::{CallError, Client, PatchKind, WriteOptions};
use intent::Part;
use object::{Object, ResourceType, Value};
use serde_json::json;

use crate::failure::Failure;
use crate::reach::call_failure;

/// Who writes, in the fields' records.
const MANAGER: &str = "karavel-cli";

/// Where clusters are found.
fn resource() -> ResourceType {
    ResourceType::cluster("cluster.karmada.io", "v1alpha1", "Cluster", "clusters")
}

/// A cluster by name.
async fn find(control: &Client, name: &str) -> Result<Object, Failure> {
    let found = control
        .get(&resource(), &object::ObjectKey::cluster(name))
        .await;
    found.map_err(|error| unknown(&error))
}

fn unknown(error: &CallError) -> Failure {
    if error.is_not_found() {
        return Failure::refused(
            call_failure(error).to_string(),
            "`karavel clusters` lists the clusters there are",
        );
    }
    call_failure(error)
}

/// Gives a cluster these taints, if nobody has changed it since it was read.
async fn set_taints(control: &Client, read: &Object, taints: &Value) -> Result<(), Failure> {
    let patch = json!({
        "metadata": {"resourceVersion": read.resource_version()},
        "spec": {"taints": taints},
    });
    let (options, kind) = (WriteOptions::by(MANAGER), PatchKind::Merge);
    control
        .patch(
            &resource(),
            &read.key(),
            kind,
            &patch,
            &Part::Object,
            &options,
        )
        .await
        .map_err(|error| call_failure(&error))?;
    Ok(())
}

//! Commands about the clusters themselves: what they are and what may be put there.

mod cordon;
mod overview;
mod taint;

pub use cordon::{Cordon, cordon};
pub use overview::{ClustersQuery, clusters};
pub use taint::{TaintChange, taint};

use api::cluster::Cluster;
use api::kubernetes::scheduling::Taint;
use client::{CallError, Client, ListOptions, PatchKind, WriteOptions};
use intent::Part;
use object::{Object, ObjectKey, ResourceType, Value};
use serde_json::json;

use crate::failure::Failure;
use crate::nearest::cluster_hint;
use crate::reach::call_failure;
use crate::reading::clusters_failure;

/// Who writes, in the fields' records.
const MANAGER: &str = "karavel-cli";

/// Where clusters are found.
fn resource() -> ResourceType {
    ResourceType::cluster("cluster.karmada.io", "v1alpha1", "Cluster", "clusters")
}

/// A cluster by name.
async fn find(control: &Client, name: &str) -> Result<Object, Failure> {
    let key = ObjectKey::cluster(name);
    match control.get(&resource(), &key).await {
        Ok(found) => Ok(found),
        Err(error) if error.is_absence_of(name) => {
            Err(unknown(control, name, call_failure(&error).to_string()).await)
        }
        Err(error) => Err(clusters_failure(&error)),
    }
}

/// A refusal because no cluster has the name, along with the name that was probably meant.
pub async fn unknown(control: &Client, name: &str, what: String) -> Failure {
    let options = ListOptions {
        metadata_only: true,
        ..ListOptions::default()
    };
    let listed = control.list_all(&resource(), "", &options).await;
    let known = listed.map(|list| list.items).unwrap_or_default();
    Failure::refused(what, cluster_hint(&[name], known.iter().map(Object::name)))
}

/// How often a cluster that somebody else changes meanwhile is looked at anew: it reports on itself all the time.
const ATTEMPTS: usize = 10;

/// Changes the taints of a cluster. `decide` makes the new ones from those there are, `None` if nothing is to change; it is
/// asked again if somebody else wrote the cluster meanwhile. Says whether anything changed.
async fn change_taints(
    control: &Client,
    name: &str,
    dry_run: bool,
    decide: impl Fn(Vec<Taint>) -> Result<Option<Vec<Taint>>, Failure>,
) -> Result<bool, Failure> {
    for attempt in 1.. {
        let found = find(control, name).await?;
        let cluster: Cluster = found.read().map_err(|error| {
            Failure::failed(error.to_string(), "the server's answer makes no sense")
        })?;
        let Some(taints) = decide(cluster.spec.taints)? else {
            return Ok(false);
        };
        if dry_run {
            return Ok(true);
        }
        match set_taints(control, &found, &json!(taints)).await {
            Ok(()) => return Ok(true),
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => {}
            Err(error) => return Err(call_failure(&error)),
        }
    }
    Ok(false)
}

/// Gives a cluster these taints, if nobody has changed it since it was read.
async fn set_taints(control: &Client, read: &Object, taints: &Value) -> Result<(), CallError> {
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
        .await?;
    Ok(())
}

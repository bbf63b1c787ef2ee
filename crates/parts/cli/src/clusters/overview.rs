//! All clusters at a glance.

use api::cluster::{Cluster, ResourceSummary};
use client::{Client, ListOptions};
use object::quantity::Quantity;
use object::time::Time;
use object::{Object, condition};

use super::resource;
use crate::age;
use crate::failure::Failure;
use crate::reach::call_failure;
use crate::table::Table;

/// A row for each cluster: how it is connected, how it is, and how full.
pub async fn clusters(control: &Client, now: Time) -> Result<Table, Failure> {
    let listed = control
        .list_all(&resource(), "", &ListOptions::default())
        .await
        .map_err(|error| call_failure(&error))?;
    let mut table = Table::new(&[
        "NAME", "MODE", "VERSION", "READY", "NODES", "CPU", "MEMORY", "TAINTS", "AGE",
    ]);
    table.rows = listed.items.iter().map(|object| row(object, now)).collect();
    Ok(table)
}

fn row(object: &Object, now: Time) -> Vec<String> {
    let created = object.text_at(&["metadata", "creationTimestamp"]);
    let age = created.map_or_else(|| "<unknown>".to_owned(), |created| age::of(created, now));
    let Ok(cluster) = object.read::<Cluster>() else {
        // Shown all the same: a cluster nobody can read is what somebody looks for.
        let unknown = std::iter::repeat_n("<unreadable>".to_owned(), 7);
        return std::iter::once(object.name().to_owned())
            .chain(unknown)
            .chain([age])
            .collect();
    };
    let status = cluster.status;
    let ready = condition::find(&status.conditions, "Ready");
    let nodes = status.node_summary.as_ref();
    let nodes = nodes.map(|nodes| format!("{}/{}", nodes.ready_num, nodes.total_num));
    let summary = status.resource_summary.as_ref();
    let taints = cluster.spec.taints.iter().map(|taint| {
        let key = taint.key.rsplit('/').next().unwrap_or_default();
        format!("{key}:{}", taint.effect)
    });
    let taints: Vec<String> = taints.collect();
    vec![
        object.name().to_owned(),
        cluster.spec.sync_mode,
        or_dash(Some(status.kubernetes_version)),
        ready.map_or_else(
            || "Unknown".to_owned(),
            |ready| ready.status.as_str().to_owned(),
        ),
        or_dash(nodes),
        or_dash(summary.and_then(|summary| share(summary, "cpu"))),
        or_dash(summary.and_then(|summary| share(summary, "memory"))),
        or_dash(Some(taints.join(","))),
        age,
    ]
}

/// What is taken of a resource, of how much, and the share.
fn share(summary: &ResourceSummary, name: &str) -> Option<String> {
    let all = *summary.allocatable.get(name)?;
    let zero = Quantity::from_units(0, all.format());
    let taken = summary.allocated.get(name).copied().unwrap_or(zero);
    let percent = taken
        .nanos()
        .saturating_mul(100)
        .checked_div(all.nanos())
        .unwrap_or_default();
    Some(format!("{taken}/{all} ({percent}%)"))
}

fn or_dash(text: Option<String>) -> String {
    text.filter(|text| !text.is_empty())
        .unwrap_or_else(|| "-".to_owned())
}

#[cfg(test)]
mod tests {
    use object::Object;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_says_how_a_cluster_is_and_how_full() {
        let now: Time = "2026-01-01T01:00:00Z".parse().unwrap();
        let cases = [
            (
                json!({
                    "metadata": {"name": "east", "creationTimestamp": "2026-01-01T00:00:00Z"},
                    "spec": {"syncMode": "Push", "taints": [{"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule"}]},
                    "status": {
                        "kubernetesVersion": "v1.34.0",
                        "conditions": [{"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                        "nodeSummary": {"totalNum": 3, "readyNum": 2},
                        "resourceSummary": {"allocatable": {"cpu": "24", "memory": "48Gi"}, "allocated": {"cpu": "1500m"}},
                    },
                }),
                "east Push v1.34.0 True 2/3 1500m/24_(6%) 0/48Gi_(0%) not-ready:NoSchedule 60m",
            ),
            (
                json!({"metadata": {"name": "new"}, "spec": {"syncMode": "Pull"}}),
                "new Pull - Unknown - - - - <unknown>",
            ),
            (
                json!({"metadata": {"name": "odd"}, "spec": {"taints": "none"}}),
                "odd <unreadable> <unreadable> <unreadable> <unreadable> <unreadable> <unreadable> <unreadable> <unknown>",
            ),
        ];
        for (value, expected) in cases {
            let object = Object::from_value(value).unwrap();
            let cells: Vec<String> = row(&object, now)
                .iter()
                .map(|cell| cell.replace(' ', "_"))
                .collect();
            assert_eq!(cells.join(" "), expected);
        }
    }
}

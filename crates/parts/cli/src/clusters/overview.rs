//! All clusters at a glance.

use api::cluster::{Cluster, ResourceSummary};
use client::{Client, ListOptions};
use object::quantity::Quantity;
use object::time::Time;
use object::{Object, Value, condition};

use super::{find, resource};
use crate::age;
use crate::failure::Failure;
use crate::reading::{self, Answer, Output, clean};
use crate::table::Table;
use crate::writing::name_of;

/// How clusters are shown.
#[derive(Clone, Debug, Default)]
pub struct ClustersQuery {
    /// Only these; all if empty.
    pub names: Vec<String>,
    /// Only those with these labels; empty for any.
    pub selector: String,
    /// A table, a wide one, names, or documents for programs.
    pub output: Output,
    /// No headline.
    pub no_headers: bool,
}

/// A row for each cluster: how it is connected, how it is, and how full.
pub async fn clusters(
    control: &Client,
    query: &ClustersQuery,
    now: Time,
) -> Result<Answer, Failure> {
    reading::refuse_names(!query.names.is_empty(), &[&query.selector])?;
    let (listed, failures) = find_all(control, query).await?;
    let mut answer = Answer {
        failure: reading::blame_objects(failures),
        ..Answer::default()
    };
    if listed.is_empty() && answer.failure.is_none() {
        answer.notes.push(nobody(query).to_owned());
    }
    answer.text = match &query.output {
        Output::Name => listed
            .iter()
            .map(|object| format!("{}\n", name_of(&resource(), object.name())))
            .collect(),
        Output::Table | Output::Wide if listed.is_empty() => String::new(),
        Output::Table | Output::Wide => table(&listed, query, now).to_string(),
        output => {
            let items = listed.into_iter();
            let items = items.map(|object| reading::mark(object, None, false));
            reading::show_list(items.collect(), output, query.no_headers)?
        }
    };
    Ok(answer)
}

/// The clusters that are named, or all that are chosen, and what went wrong with those that are named.
async fn find_all(
    control: &Client,
    query: &ClustersQuery,
) -> Result<(Vec<Object>, Vec<(String, Failure)>), Failure> {
    if query.names.is_empty() {
        let options = ListOptions {
            label_selector: query.selector.clone(),
            ..ListOptions::default()
        };
        let listed = control.list_all(&resource(), "", &options).await;
        let listed = listed.map_err(|error| reading::clusters_failure(&error))?;
        return Ok((listed.items, Vec::new()));
    }
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    for name in &query.names {
        match find(control, name).await {
            Ok(cluster) => found.push(cluster),
            Err(failure) => failures.push((name.clone(), failure)),
        }
    }
    Ok((found, failures))
}

/// What is said where no cluster is.
fn nobody(query: &ClustersQuery) -> &'static str {
    match query.selector.as_str() {
        "" => "No clusters have joined. Join one with: karavel join NAME --cluster-kubeconfig FILE",
        _ => "No resources found",
    }
}

fn table(listed: &[Object], query: &ClustersQuery, now: Time) -> Table {
    let is_wide = query.output == Output::Wide;
    let mut header = vec![
        "NAME", "MODE", "VERSION", "READY", "NODES", "CPU", "MEMORY", "AGE",
    ];
    if is_wide {
        header.extend(["PROVIDER", "REGION", "ZONES", "API-ENDPOINT"]);
    }
    // The longest comes last: a line that is too long is too long at its end.
    header.push("TAINTS");
    let mut table = match query.no_headers {
        true => Table::default(),
        false => Table::new(&header),
    };
    table.rows = listed
        .iter()
        .map(|object| {
            let mut row = row(object, now);
            if is_wide {
                let taints = row.pop();
                row.extend(place_of(object));
                row.extend(taints);
            }
            row
        })
        .collect();
    table
}

/// Where a cluster is, and who runs it.
fn place_of(object: &Object) -> [String; 4] {
    let text = |field: &str| or_dash(object.text_at(&["spec", field]).map(clean));
    let zones = object.at(&["spec", "zones"]).and_then(Value::as_array);
    let zones: Vec<String> = zones
        .into_iter()
        .flatten()
        .filter_map(|zone| zone.as_str().map(clean))
        .collect();
    [
        text("provider"),
        text("region"),
        or_dash(Some(zones.join(","))),
        text("apiEndpoint"),
    ]
}

fn row(object: &Object, now: Time) -> Vec<String> {
    let created = object.text_at(&["metadata", "creationTimestamp"]);
    let age = created.map_or_else(|| "<unknown>".to_owned(), |created| age::of(created, now));
    let Ok(cluster) = object.read::<Cluster>() else {
        // Shown all the same: a cluster nobody can read is what somebody looks for.
        let unknown = std::iter::repeat_n("<unreadable>".to_owned(), 6);
        return std::iter::once(object.name().to_owned())
            .chain(unknown)
            .chain([age, "-".to_owned()])
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
        age,
        or_dash(Some(taints.join(","))),
    ]
}

/// The share of a resource that is taken, and of how much.
fn share(summary: &ResourceSummary, name: &str) -> Option<String> {
    let all = *summary.allocatable.get(name)?;
    let zero = Quantity::from_units(0, all.format());
    let taken = summary.allocated.get(name).copied().unwrap_or(zero);
    let percent = taken
        .nanos()
        .saturating_mul(100)
        .checked_div(all.nanos())
        .unwrap_or_default();
    Some(format!("{percent}% of {all}"))
}

fn or_dash(text: Option<String>) -> String {
    text.filter(|text| !text.is_empty())
        .unwrap_or_else(|| "-".to_owned())
}

#[cfg(test)]
mod tests {
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
                "east Push v1.34.0 True 2/3 6%_of_24 0%_of_48Gi 60m not-ready:NoSchedule",
            ),
            (
                json!({"metadata": {"name": "new"}, "spec": {"syncMode": "Pull"}}),
                "new Pull - Unknown - - - <unknown> -",
            ),
            (
                json!({"metadata": {"name": "odd"}, "spec": {"taints": "none"}}),
                "odd <unreadable> <unreadable> <unreadable> <unreadable> <unreadable> <unreadable> <unknown> -",
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

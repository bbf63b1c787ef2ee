//! What nodes use, of how much.

use client::{Client, ListOptions};
use object::{Object, ObjectKey, ResourceType, Value};

use super::amounts::{Amounts, percent};
use super::{SortBy, UsageQuery, ask_members, read};
use crate::failure::Failure;
use crate::reading::{Answer, Place, blame, clean, nothing_found};
use crate::table::Table;

struct Node {
    name: String,
    cluster: String,
    /// Nothing if it was not measured.
    used: Option<Amounts>,
    of: Amounts,
}

/// A row for each node of the members.
pub async fn top_nodes(control: &Client, query: &UsageQuery) -> Result<Answer, Failure> {
    query.check()?;
    let (found, failed) = ask_members(control, &query.clusters, |place| ask(place, query)).await?;
    let mut nodes: Vec<Node> = Vec::new();
    for (cluster, found) in found {
        nodes.extend(found.into_iter().map(|node| Node {
            cluster: cluster.clone(),
            ..node
        }));
    }
    nodes.sort_by_key(|node| {
        let size = match query.sort_by {
            None => 0,
            Some(SortBy::Cpu) => -node.used.unwrap_or_default().cpu,
            Some(SortBy::Memory) => -node.used.unwrap_or_default().memory,
        };
        // What was not measured stands behind what was.
        (
            node.used.is_none(),
            size,
            node.name.clone(),
            node.cluster.clone(),
        )
    });
    let header = [
        "NAME",
        "CLUSTER",
        "CPU(cores)",
        "CPU%",
        "MEMORY(bytes)",
        "MEMORY%",
    ];
    let mut table = if query.no_headers {
        Table::default()
    } else {
        Table::new(&header)
    };
    table.rows = nodes.iter().map(row).collect();
    let mut notes = Vec::new();
    let text = if nodes.is_empty() {
        notes.extend(failed.is_empty().then(|| nothing_found("", false)));
        String::new()
    } else {
        table.to_string()
    };
    Ok(Answer {
        text,
        notes,
        failure: blame(failed, false),
    })
}

fn row(node: &Node) -> Vec<String> {
    let mut row = vec![node.name.clone(), node.cluster.clone()];
    match node.used {
        Some(used) => row.extend([
            used.cpu_text(),
            percent(used.cpu, node.of.cpu),
            used.memory_text(),
            percent(used.memory, node.of.memory),
        ]),
        None => row.extend(std::iter::repeat_n("<unknown>".to_owned(), 4)),
    }
    row
}

async fn ask(place: Place, query: &UsageQuery) -> Result<Vec<Node>, Failure> {
    let kind = ResourceType::cluster("", "v1", "Node", "nodes");
    let client = place.client();
    let nodes = match &query.name {
        Some(name) => {
            let node = client.get(&kind, &ObjectKey::cluster(name)).await;
            vec![node.map_err(|error| place.failure(&error))?]
        }
        None => {
            let options = ListOptions {
                label_selector: query.selector.clone(),
                ..ListOptions::default()
            };
            let listed = client.list_all(&kind, "", &options).await;
            listed.map_err(|error| place.failure(&error))?.items
        }
    };
    let measured = read(&place, "/apis/metrics.k8s.io/v1beta1/nodes").await?;
    let measured = measured["items"].as_array().cloned().unwrap_or_default();
    let used = |node: &Object| {
        let found = measured
            .iter()
            .find(|item| item["metadata"]["name"] == node.name());
        found.map(|item| Amounts::read(&item["usage"]))
    };
    let of = if query.capacity {
        "capacity"
    } else {
        "allocatable"
    };
    let node = |node: &Object| Node {
        name: clean(node.name()),
        cluster: String::new(),
        used: used(node),
        of: Amounts::read(node.at(&["status", of]).unwrap_or(&Value::Null)),
    };
    Ok(nodes.iter().map(node).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_without_metrics_is_unknown_in_four_cells() {
        let of = Amounts::read(&json!({"cpu": "4", "memory": "8Gi"}));
        let node = |used| Node {
            name: "n".to_owned(),
            cluster: "c".to_owned(),
            used,
            of,
        };
        let used = Amounts::read(&json!({"cpu": "1", "memory": "1Gi"}));
        assert_eq!(row(&node(Some(used))).join(" "), "n c 1000m 25% 1024Mi 12%");
        assert_eq!(
            row(&node(None)).join(" "),
            "n c <unknown> <unknown> <unknown> <unknown>"
        );
    }
}

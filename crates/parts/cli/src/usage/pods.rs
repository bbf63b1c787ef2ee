//! What pods use.

use client::Client;
use object::{ObjectKey, ResourceType, Value};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::amounts::Amounts;
use super::{SortBy, UsageQuery, ask_members, read};
use crate::failure::Failure;
use crate::reading::{
    Answer, Place, Scope, blame, clean, meant_namespace, no_such_space, nothing_found, places,
};
use crate::table::Table;

struct Pod {
    cluster: String,
    namespace: String,
    name: String,
    /// By container.
    containers: Vec<(String, Amounts)>,
}

impl Pod {
    fn used(&self) -> Amounts {
        let amounts = self.containers.iter().map(|(_, used)| *used);
        amounts.fold(Amounts::default(), Amounts::plus)
    }
}

/// A row for each pod of the members, or for each container.
pub async fn top_pods(control: &Client, query: &UsageQuery) -> Result<Answer, Failure> {
    query.check()?;
    let asked = query.namespace.as_deref();
    let namespace = meant_namespace(control, asked, query.all_namespaces);
    let path = path(query, &namespace)?;
    let named = query.name.as_ref();
    let named = named.map(|name| ObjectKey::namespaced(&namespace, name));
    let asking = |place| ask(place, &path, named.as_ref());
    let (found, failed) = ask_members(control, &query.clusters, asking).await?;
    let mut pods: Vec<Pod> = Vec::new();
    for (cluster, found) in found {
        pods.extend(found.into_iter().map(|pod| Pod {
            cluster: cluster.clone(),
            ..pod
        }));
    }
    pods.sort_by_key(|pod| {
        let size = match query.sort_by {
            None => 0,
            Some(SortBy::Cpu) => -pod.used().cpu,
            Some(SortBy::Memory) => -pod.used().memory,
        };
        (
            size,
            pod.cluster.clone(),
            pod.namespace.clone(),
            pod.name.clone(),
        )
    });
    let mut notes = Vec::new();
    let text = if pods.is_empty() {
        if failed.is_empty() {
            notes.push(nothing_found(&namespace, true));
            let members = places(control, Scope::Members, &query.clusters).await?;
            notes.extend(no_such_space(&members, &namespace).await);
        }
        String::new()
    } else {
        table(&pods, query).to_string()
    };
    Ok(Answer {
        text,
        notes,
        failure: blame(failed, false),
    })
}

fn path(query: &UsageQuery, namespace: &str) -> Result<String, Failure> {
    let mut path = "/apis/metrics.k8s.io/v1beta1".to_owned();
    if !namespace.is_empty() {
        path.push_str(&format!("/namespaces/{namespace}"));
    }
    path.push_str("/pods");
    if let Some(name) = &query.name {
        if query.all_namespaces {
            return Err(Failure::refused(
                "a pod cannot be read by name in all namespaces",
                "name its namespace with -n, or leave the name out",
            ));
        }
        path.push_str(&format!("/{name}"));
        return Ok(path);
    }
    let mut sign = '?';
    for (name, value) in [
        ("labelSelector", &query.selector),
        ("fieldSelector", &query.field_selector),
    ] {
        if !value.is_empty() {
            path.push_str(&format!(
                "{sign}{name}={}",
                utf8_percent_encode(value, NON_ALPHANUMERIC)
            ));
            sign = '&';
        }
    }
    Ok(path)
}

async fn ask(place: Place, path: &str, named: Option<&ObjectKey>) -> Result<Vec<Pod>, Failure> {
    let answer = match (read(&place, path).await, named) {
        (Err(failure), Some(key)) => return Err(absent(&place, key).await.unwrap_or(failure)),
        (answer, _) => answer?,
    };
    let one = std::slice::from_ref(&answer);
    let items = answer["items"].as_array().map_or(one, Vec::as_slice);
    let text = |value: &Value| clean(value.as_str().unwrap_or_default());
    let pod = |item: &Value| Pod {
        cluster: String::new(),
        namespace: text(&item["metadata"]["namespace"]),
        name: text(&item["metadata"]["name"]),
        containers: item["containers"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|container| (text(&container["name"]), Amounts::read(&container["usage"])))
            .collect(),
    };
    Ok(items.iter().map(pod).collect())
}

/// That a pod has no metrics is no news if it is not there at all.
async fn absent(place: &Place, key: &ObjectKey) -> Option<Failure> {
    let pods = ResourceType::namespaced("", "v1", "Pod", "pods");
    let found = place.client().get_metadata(&pods, key).await;
    let error = found.err().filter(client::CallError::is_not_found)?;
    Some(place.failure(&error))
}

fn table(pods: &[Pod], query: &UsageQuery) -> Table {
    let mut header = Vec::new();
    header.extend(query.all_namespaces.then_some("NAMESPACE"));
    header.extend(query.containers.then_some("POD"));
    header.extend(["NAME", "CLUSTER", "CPU(cores)", "MEMORY(bytes)"]);
    let mut table = if query.no_headers {
        Table::default()
    } else {
        Table::new(&header)
    };
    let mut sum = Amounts::default();
    for pod in pods {
        sum = sum.plus(pod.used());
        let parts = match query.containers {
            true => pod.containers.clone(),
            false => vec![(pod.name.clone(), pod.used())],
        };
        for (name, used) in parts {
            let mut row = Vec::new();
            row.extend(query.all_namespaces.then(|| pod.namespace.clone()));
            row.extend(query.containers.then(|| pod.name.clone()));
            row.extend([
                name,
                pod.cluster.clone(),
                used.cpu_text(),
                used.memory_text(),
            ]);
            table.rows.push(row);
        }
    }
    if query.sum {
        let empty = header.len().saturating_sub(2);
        let line = |cpu: String, memory: String| -> Vec<String> {
            std::iter::repeat_n(String::new(), empty)
                .chain([cpu, memory])
                .collect()
        };
        let rule = "_".repeat(8);
        table.rows.push(line(rule.clone(), rule));
        table.rows.push(line(sum.cpu_text(), sum.memory_text()));
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_and_containers_are_shown_and_summed_up() {
        let used = |cpu: &str| Amounts::read(&json!({"cpu": cpu, "memory": "2Mi"}));
        let pods = [Pod {
            cluster: "east".to_owned(),
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            containers: vec![("a".to_owned(), used("10m")), ("b".to_owned(), used("5m"))],
        }];
        let query = |containers, sum| UsageQuery {
            containers,
            sum,
            all_namespaces: containers,
            ..UsageQuery::default()
        };
        for (query, expected) in [
            (
                query(false, true),
                "
NAME   CLUSTER   CPU(cores)   MEMORY(bytes)
web    east      15m          4Mi
                 ________     ________
                 15m          4Mi
",
            ),
            (
                query(true, false),
                "
NAMESPACE   POD   NAME   CLUSTER   CPU(cores)   MEMORY(bytes)
shop        web   a      east      10m          2Mi
shop        web   b      east      5m           2Mi
",
            ),
        ] {
            assert_eq!(format!("\n{}", table(&pods, &query)), expected);
        }
    }
}

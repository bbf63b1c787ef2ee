//! What is remembered of a pod: where it is, whether it still counts, and what it requests.

use object::{Map, Object, Value};

use crate::census::amounts::{Amounts, Names, ResourceId};

/// All that the census knows of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodFacts<'a> {
    /// The node it is on, or is to be on; empty while it waits for one.
    pub(crate) node: &'a str,
    /// Whether all of its containers have ended for good, so that it holds no room.
    pub(crate) is_finished: bool,
    /// What it requests, its own place among the pods included.
    pub(crate) requests: Amounts,
}

impl<'a> PodFacts<'a> {
    /// Reads a pod. What is malformed requests nothing: a member's API server has validated it.
    pub(crate) fn read(pod: &'a Object, names: &mut Names) -> Self {
        let phase = pod.text_at(&["status", "phase"]).unwrap_or_default();
        let mut requests = requests(pod, names);
        requests.add(ResourceId::PODS, 1);
        requests.shrink();
        Self {
            node: pod.text_at(&["spec", "nodeName"]).unwrap_or_default(),
            is_finished: matches!(phase, "Succeeded" | "Failed"),
            requests,
        }
    }
}

/// What Kubernetes' scheduler sets aside for a pod: all containers at once, or the hungriest moment of its start,
/// whichever is more, and the overhead of its runtime.
fn requests(pod: &Object, names: &mut Names) -> Amounts {
    let mut total = Amounts::default();
    for container in list(pod, "containers") {
        total.add_all(&of_container(container, names));
    }
    // Containers that start before the others and stay run beside everything that starts after them.
    let mut staying = Amounts::default();
    let mut starting = Amounts::default();
    for container in list(pod, "initContainers") {
        let mut now = of_container(container, names);
        if text(container, "restartPolicy") == Some("Always") {
            staying.add_all(&now);
            starting.raise_to(&staying);
        } else {
            now.add_all(&staying);
            starting.raise_to(&now);
        }
    }
    total.add_all(&staying);
    total.raise_to(&starting);
    // Requests of the pod as a whole stand for those of its containers.
    let whole = pod
        .at(&["spec", "resources", "requests"])
        .and_then(Value::as_object);
    for (id, quantity) in names.quantities(whole) {
        total.set(id, Amounts::of(id, quantity));
    }
    let overhead = pod.at(&["spec", "overhead"]).and_then(Value::as_object);
    for (id, quantity) in names.quantities(overhead) {
        total.add(id, Amounts::of(id, quantity));
    }
    total
}

fn of_container(container: &Map, names: &mut Names) -> Amounts {
    let list = container
        .get("resources")
        .and_then(|resources| resources.get("requests"))
        .and_then(Value::as_object);
    let mut amounts = Amounts::default();
    for (id, quantity) in names.quantities(list) {
        amounts.add(id, Amounts::of(id, quantity));
    }
    amounts
}

fn list<'a>(pod: &'a Object, field: &str) -> impl Iterator<Item = &'a Map> {
    pod.at(&["spec", field])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
}

fn text<'a>(map: &'a Map, field: &str) -> Option<&'a str> {
    map.get(field)?.as_str()
}

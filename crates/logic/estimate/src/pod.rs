//! What a pod takes from its node, and whether it found one.

use api::kubernetes::ResourceList;
use object::{Map, Object, Value, parse, time::Time};

use crate::resource::Amounts;

/// The node a pod is on, or is to be on; `None` while it waits for one.
#[must_use]
pub fn node(pod: &Object) -> Option<&str> {
    let node = pod.text_at(&["spec", "nodeName"])?;
    (!node.is_empty()).then_some(node)
}

/// Whether all of its containers have ended for good, so that it holds no room.
#[must_use]
pub fn is_finished(pod: &Object) -> bool {
    let phase = pod.text_at(&["status", "phase"]);
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Since when the member's scheduler has found no node for it; `None` if it has one or was not looked at yet.
#[must_use]
pub fn unschedulable_since(pod: &Object) -> Option<Time> {
    let conditions = pod.at(&["status", "conditions"])?.as_array()?;
    let text = |condition: &Value, field: &str| condition.get(field)?.as_str().map(str::to_owned);
    let scheduled = conditions
        .iter()
        .find(|condition| text(condition, "type").as_deref() == Some("PodScheduled"))?;
    let is_refused = text(scheduled, "status").as_deref() == Some("False")
        && text(scheduled, "reason").as_deref() == Some("Unschedulable");
    let since = text(scheduled, "lastTransitionTime").filter(|_| is_refused)?;
    since.parse().ok()
}

/// What Kubernetes' scheduler sets aside for a pod: all containers at once, or the hungriest moment of its start,
/// whichever is more, and the overhead of its runtime. What is malformed requests nothing: the member has validated it.
#[must_use]
pub fn requests(pod: &Object) -> Amounts {
    let mut total = Amounts::default();
    for container in containers(pod, "containers") {
        total.add(&of_container(container), 1);
    }
    // Containers that start before the others and stay run beside everything that starts after them.
    let mut staying = Amounts::default();
    let mut starting = Amounts::default();
    for container in containers(pod, "initContainers") {
        let mut now = of_container(container);
        now.add(&staying, 1);
        starting = starting.or_more(&now);
        if container.get("restartPolicy").and_then(Value::as_str) == Some("Always") {
            staying = now;
        }
    }
    total.add(&staying, 1);
    total = total.or_more(&starting);
    // Requests of the pod as a whole stand for those of its containers.
    for (resource, amount) in list(pod.at(&["spec", "resources", "requests"])).iter() {
        total = total.with(resource.clone(), amount);
    }
    total.add(&list(pod.at(&["spec", "overhead"])), 1);
    total
}

fn of_container(container: &Map) -> Amounts {
    let resources = container.get("resources");
    list(resources.and_then(|resources| resources.get("requests")))
}

fn list(value: Option<&Value>) -> Amounts {
    let list: Option<ResourceList> = value.and_then(|value| parse::shape(value).ok());
    list.as_ref().map(Amounts::of).unwrap_or_default()
}

fn containers<'a>(pod: &'a Object, field: &str) -> impl Iterator<Item = &'a Map> {
    let containers = pod.at(&["spec", field]).and_then(Value::as_array);
    let containers = containers.into_iter().flatten();
    containers.filter_map(Value::as_object)
}

//! Gives containers what they do not ask for.

use object::{Map, Value};

/// Where it is noted what was filled in. Upstream: the same.
const NOTE: &str = "kubernetes.io/limit-ranger";

/// Gives the containers of a pod the amounts of one limit range that they do not name, and notes it on the pod.
pub fn fill_in(pod: &mut Value, items: &[Value]) {
    let mut notes = Vec::new();
    for (list, word) in [
        ("containers", "container"),
        ("initContainers", "init container"),
    ] {
        let containers = pod.get_mut("spec").and_then(|spec| spec.get_mut(list));
        for container in containers
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let name = container.get("name").and_then(Value::as_str);
            let name = name.unwrap_or_default().to_owned();
            for (from, to, what) in [
                ("defaultRequest", "requests", "request"),
                ("default", "limits", "limit"),
            ] {
                let set = set_missing(container, to, items, from);
                if !set.is_empty() {
                    notes.push(format!("{} {what} for {word} {name}", set.join(", ")));
                }
            }
        }
    }
    if notes.is_empty() {
        return;
    }
    let text = format!("LimitRanger plugin set: {}", notes.join("; "));
    let annotations = pod
        .get_mut("metadata")
        .and_then(|metadata| object_in(metadata, "annotations"));
    if let Some(annotations) = annotations {
        annotations.insert(NOTE.to_owned(), text.into());
    }
}

/// Sets the amounts that are missing in a list of a container's resources; which, in order.
fn set_missing(container: &mut Value, list: &str, items: &[Value], from: &str) -> Vec<String> {
    let mut set = Vec::new();
    let of_containers = items
        .iter()
        .filter(|item| item.get("type").and_then(Value::as_str) == Some("Container"));
    for (resource, amount) in of_containers
        .filter_map(|item| item.get(from)?.as_object())
        .flatten()
    {
        if object_in(container, "resources").is_none() {
            continue;
        }
        let resources = container.get_mut("resources");
        let Some(amounts) = resources.and_then(|resources| object_in(resources, list)) else {
            continue;
        };
        if !amounts.contains_key(resource) {
            amounts.insert(resource.clone(), amount.clone());
            set.push(resource.clone());
        }
    }
    set.sort();
    set
}

/// An object in a field, made if there is nothing; `None` if there is something else.
fn object_in<'a>(value: &'a mut Value, field: &str) -> Option<&'a mut Map> {
    let inner = value
        .as_object_mut()?
        .entry(field)
        .or_insert_with(|| Value::Object(Map::new()));
    if inner.is_null() {
        *inner = Value::Object(Map::new());
    }
    inner.as_object_mut()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_is_set_and_noted_and_the_rest_is_left_alone() {
        let items = [
            json!({"type": "Container", "default": {"cpu": "1", "memory": "2Gi"}, "defaultRequest": {"cpu": "100m"}}),
            json!({"type": "Pod", "default": {"cpu": "7"}}),
        ];
        let mut pod = json!({
            "metadata": {"name": "p"},
            "spec": {
                "containers": [
                    {"name": "a"},
                    {"name": "b", "resources": {"limits": {"cpu": "3"}, "requests": {"cpu": "2"}}},
                ],
                "initContainers": [{"name": "i", "resources": null}],
            },
        });
        fill_in(&mut pod, &items);
        let full = json!({"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "100m"}});
        assert_eq!(pod["spec"]["containers"][0]["resources"], full);
        assert_eq!(
            pod["spec"]["containers"][1]["resources"],
            json!({"limits": {"cpu": "3", "memory": "2Gi"}, "requests": {"cpu": "2"}})
        );
        assert_eq!(pod["spec"]["initContainers"][0]["resources"], full);
        assert_eq!(
            pod["metadata"]["annotations"][NOTE],
            "LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a; memory limit for \
             container b; cpu request for init container i; cpu, memory limit for init container i"
        );
        let before = pod.clone();
        fill_in(&mut pod, &items);
        assert_eq!(pod, before, "a second time changes nothing");
        for mut odd in [
            json!(null),
            json!({"spec": 7}),
            json!({"spec": {"containers": [7]}}),
        ] {
            let before = odd.clone();
            fill_in(&mut odd, &items);
            assert_eq!(odd, before);
        }
    }
}

//! Reading the objects of a cluster: the questions several controllers ask of pods and their owners.

use object::selector::{LabelSelector, Selector};
use object::time::Time;
use object::{Object, Value};
use serde_json::json;

/// The lists of a pod's containers, those that do its work first.
pub(crate) const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// The lists of the states of a pod's containers.
pub(crate) const CONTAINER_STATUSES: [&str; 3] = [
    "containerStatuses",
    "initContainerStatuses",
    "ephemeralContainerStatuses",
];

/// The status of a container of a pod.
pub(crate) fn container_status<'o>(pod: &'o Object, name: &str) -> Option<&'o Value> {
    CONTAINER_STATUSES
        .iter()
        .flat_map(|field| list(pod, &["status", field]))
        .find(|status| text(status, "name") == name)
}

/// Since when a container of a pod has been running.
pub(crate) fn running_since(pod: &Object, container: &str) -> Option<Time> {
    let status = container_status(pod, container)?;
    time(status.pointer("/state/running")?, "startedAt")
}

/// The reference to the owner that controls an object.
pub(crate) fn controller(object: &Object) -> Option<&Value> {
    object
        .at(&["metadata", "ownerReferences"])?
        .as_array()?
        .iter()
        .find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))
}

/// The uid of the owner that controls an object.
pub(crate) fn controller_uid(object: &Object) -> Option<&str> {
    controller(object)?.get("uid")?.as_str()
}

/// The reference an object's controlled dependents carry.
pub(crate) fn owner_reference(owner: &Object) -> Value {
    json!({
        "apiVersion": owner.api_version(), "kind": owner.kind(), "name": owner.name(), "uid": owner.uid(),
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// The node a pod is bound to; empty if none.
pub(crate) fn node_of(pod: &Object) -> &str {
    pod.text_at(&["spec", "nodeName"]).unwrap_or_default()
}

/// The phase of a pod or namespace.
pub(crate) fn phase(object: &Object) -> &str {
    object.text_at(&["status", "phase"]).unwrap_or_default()
}

/// Whether a pod has ended for good.
pub(crate) fn has_ended(pod: &Object) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether a pod counts for its owner: neither ended nor going.
pub(crate) fn is_active(pod: &Object) -> bool {
    !has_ended(pod) && !pod.is_terminating()
}

/// A condition of an object's status.
pub(crate) fn condition<'o>(object: &'o Object, kind: &str) -> Option<&'o Value> {
    find_condition(object.at(&["status"])?, kind)
}

/// A condition of a status.
pub(crate) fn find_condition<'v>(status: &'v Value, kind: &str) -> Option<&'v Value> {
    status
        .get("conditions")?
        .as_array()?
        .iter()
        .find(|condition| text(condition, "type") == kind)
}

/// Whether a pod says it is ready.
pub(crate) fn is_ready(pod: &Object) -> bool {
    condition(pod, "Ready").is_some_and(|ready| text(ready, "status") == "True")
}

/// When a ready pod will have been ready for so long; `None` if it is not ready.
pub(crate) fn available_at(pod: &Object, min_ready_seconds: i64) -> Option<Time> {
    let ready = condition(pod, "Ready").filter(|ready| text(ready, "status") == "True")?;
    Some(time(ready, "lastTransitionTime")?.plus_seconds(min_ready_seconds))
}

/// A text field, empty if absent.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A time field.
pub(crate) fn time(value: &Value, name: &str) -> Option<Time> {
    value.get(name)?.as_str()?.parse().ok()
}

/// When an object was made.
pub(crate) fn created(object: &Object) -> Time {
    object
        .text_at(&["metadata", "creationTimestamp"])
        .and_then(|text| text.parse().ok())
        .unwrap_or(Time::MIN)
}

/// The items of a list at a path.
pub(crate) fn list<'o>(object: &'o Object, path: &[&str]) -> &'o [Value] {
    object
        .at(path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The items of a list field.
pub(crate) fn items<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A label selector. One that cannot be understood selects nothing; an absent one too.
pub(crate) fn selector(value: Option<&Value>) -> Option<Selector> {
    let typed: LabelSelector = serde_json::from_value(value?.clone()).ok()?;
    typed
        .compile(&object::field::FieldPath::new("selector"))
        .ok()
}

/// Whether a selector takes an object by its labels.
pub(crate) fn selects(selector: &Selector, object: &Object) -> bool {
    selector.matches(|key| object.label(key))
}

/// Puts a condition into a list in the place of the one of its type. The time of the last transition stays where the
/// status does; `now` otherwise.
pub(crate) fn put_condition(conditions: &mut Vec<Value>, mut new: Value, now: Time) {
    let position = conditions
        .iter()
        .position(|known| known.get("type") == new.get("type"));
    let known = position.and_then(|position| conditions.get(position));
    let since = known
        .filter(|known| known.get("status") == new.get("status"))
        .and_then(|known| known.get("lastTransitionTime").cloned())
        .unwrap_or_else(|| json!(now.to_string()));
    if let Some(fields) = new.as_object_mut() {
        fields.insert("lastTransitionTime".to_owned(), since);
    }
    match position.and_then(|position| conditions.get_mut(position)) {
        Some(known) => *known = new,
        None => conditions.push(new),
    }
}

/// The conditions of an object's status, to be changed.
pub(crate) fn conditions(object: &Object) -> Vec<Value> {
    list(object, &["status", "conditions"]).to_vec()
}

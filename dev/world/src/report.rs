//! What there is, for a test that did not get what it waited for.

use std::fmt::Write as _;

use client::ListOptions;
use object::{Object, ResourceType, Value};

use crate::api::field;
use crate::world::World;

/// As many events as are told, the last ones.
const EVENTS: usize = 40;

/// Clusters, bindings, works with their conditions; what members hold of it; the last events.
pub(crate) async fn write(world: &World) -> String {
    let mut text = format!("at {}\n", world.now());
    let kinds = [
        ResourceType::from(&api::registry::CLUSTER),
        ResourceType::from(&api::registry::RESOURCE_BINDING),
        ResourceType::from(&api::registry::CLUSTER_RESOURCE_BINDING),
        ResourceType::from(&api::registry::WORK),
    ];
    for resource in kinds {
        for object in list(world, &resource).await {
            text.push_str(&line(&object));
        }
    }
    for member in world.all_members() {
        let faults = member.faults().state();
        let _ = writeln!(text, "member {}: {faults:?}", member.name());
    }
    let events = ResourceType::namespaced("", "v1", "Event", "events");
    let events = list(world, &events).await;
    let _ = writeln!(text, "the last of {} events:", events.len());
    for event in events.iter().rev().take(EVENTS).rev() {
        let field = |path| match field(event, path) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let _ = writeln!(
            text,
            "  {} {} {}/{} {}: {}",
            field("lastTimestamp"),
            field("involvedObject.kind"),
            field("involvedObject.namespace"),
            field("involvedObject.name"),
            field("reason"),
            field("message"),
        );
    }
    text
}

async fn list(world: &World, resource: &ResourceType) -> Vec<Object> {
    let listed = world
        .control()
        .client()
        .list_all(resource, "", &ListOptions::default())
        .await;
    listed.map(|list| list.items).unwrap_or_default()
}

/// An object's kind and name, where it is to go, and its conditions.
fn line(object: &Object) -> String {
    let mut line = format!("{} {}", object.kind(), object.key());
    if object.is_terminating() {
        let finalizers: Vec<&str> = object.finalizers().collect();
        let _ = write!(line, " (ending, {finalizers:?})");
    }
    for (name, path) in [
        ("clusters", "spec.clusters"),
        ("taints", "spec.taints"),
        ("evictions", "spec.gracefulEvictionTasks"),
    ] {
        let found = field(object, path);
        if !found.is_null() {
            let _ = write!(line, " {name}={found}");
        }
    }
    line.push('\n');
    if let Value::Array(conditions) = field(object, "status.conditions") {
        for condition in conditions {
            let text = |name: &str| {
                let found = condition.get(name).and_then(Value::as_str);
                found.unwrap_or_default().to_owned()
            };
            let _ = writeln!(
                line,
                "    {}={} {}: {} (since {})",
                text("type"),
                text("status"),
                text("reason"),
                text("message"),
                text("lastTransitionTime"),
            );
        }
    }
    line
}

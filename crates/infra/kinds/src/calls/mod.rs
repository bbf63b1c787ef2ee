//! Parts of built-in objects that are calls: they do something, and store nothing of what was sent.

mod binding;
mod document;
mod eviction;
mod nowhere;

use std::sync::Arc;

use object::Value;
use serve::call::User;
use serve::handler::Handlers;

use binding::Binding;
use eviction::Eviction;
use nowhere::Nowhere;

/// Answers evictions and bindings of pods from now on. What evictions take from budgets is written by `bookkeeper`.
pub fn insert_pod_calls(handlers: &mut Handlers, bookkeeper: User) {
    handlers.insert("", "pods", "binding", Arc::new(Binding));
    handlers.insert("", "bindings", "", Arc::new(Binding));
    handlers.insert("", "pods", "eviction", Arc::new(Eviction { bookkeeper }));
}

/// Answers calls to what would be running on nodes, for a server that has none: its pods and services are templates.
pub fn insert_calls_to_nodes(handlers: &mut Handlers) {
    let nowhere = Arc::new(Nowhere);
    for part in ["attach", "exec", "log", "portforward", "proxy"] {
        handlers.insert("", "pods", part, Arc::clone(&nowhere) as _);
    }
    for resource in ["nodes", "services"] {
        handlers.insert("", resource, "proxy", Arc::clone(&nowhere) as _);
    }
}

/// A text at a path, empty if there is none.
fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

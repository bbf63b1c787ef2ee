//! `pods/resize`: what containers ask for may change while they run, and nothing else.

use object::{Map, Value, field::FieldError};

use super::{
    prepare::quality,
    spot::{Errors, Spot},
};

/// The containers that can be resized, by their lists.
const LISTS: [&str; 2] = ["initContainers", "containers"];
/// What of a container a resize may name.
const OPEN: [&str; 2] = ["resources", "resizePolicy"];

/// Takes what a resize is about out of the containers sent, and leaves the rest as it was. Where they are not the same
/// ones in the same order, they are left for [`check`] to refuse.
pub(super) fn keep_the_rest(old: &Value, spec: &mut Map) {
    for list in LISTS {
        let before = old.get("spec").and_then(|spec| spec.get(list)?.as_array());
        let sent = spec.get_mut(list).and_then(Value::as_array_mut);
        let (Some(before), Some(sent)) = (before, sent) else {
            continue;
        };
        let name = |container: &Value| container.get("name").cloned();
        if !before.iter().map(name).eq(sent.iter().map(name)) {
            continue;
        }
        for (known, sent) in before.iter().zip(sent) {
            let mut next = known.clone();
            for field in OPEN {
                let asked = sent.get(field).cloned();
                match (asked, next.as_object_mut()) {
                    (Some(asked), Some(fields)) => drop(fields.insert(field.to_owned(), asked)),
                    (None, Some(fields)) => drop(fields.shift_remove(field)),
                    (_, None) => {}
                }
            }
            *sent = next;
        }
    }
}

/// Everything wrong with a resize. Upstream: processors and memory alone, never less than nothing, and the class of
/// service stays.
pub(super) fn check(old: &Value, new: &Value, errors: &mut Errors) {
    let (before, root) = (Spot::root(old), Spot::root(new));
    let (old_spec, spec) = (before.field("spec"), root.field("spec"));
    let whole = old_spec.field("resources");
    if ["requests", "limits"].map(|list| whole.field(list).is_empty()) != [true, true] {
        errors.push(root.forbidden("pods with pod-level resources cannot be resized"));
        return;
    }
    let system = old_spec.field("os");
    if system.field("name").text() == "windows" {
        errors.push(root.forbidden("windows pods cannot be resized"));
        return;
    }
    if !are_the_same(&old_spec, &spec, errors) {
        return;
    }
    let class = |pod: &Value| pod.as_object().map(quality);
    if class(old) != class(new) {
        let shown = new.pointer("/status/qosClass").cloned().unwrap_or_default();
        let why = "Pod QOS Class may not change as a result of resizing";
        let path = spec.path();
        errors.push(FieldError::invalid(path, shown, why));
    }
    for list in LISTS {
        let (known, sent) = (old_spec.field(list), spec.field(list));
        for (known, sent) in known.elements().zip(sent.elements()) {
            let is_sidecar = known.field("restartPolicy").text() == "Always";
            if list == "initContainers" && !is_sidecar {
                if known.value != sent.value {
                    let why = "resources for non-sidecar init containers are immutable";
                    errors.push(spec.forbidden(why));
                }
                continue;
            }
            nothing_is_removed(&known, &sent, errors);
            if apart_from_amounts(known.value) != apart_from_amounts(sent.value) {
                errors.push(spec.forbidden(match list {
                    "containers" => "only cpu and memory resources are mutable",
                    _ => "only cpu and memory resources for sidecar containers are mutable",
                }));
            }
        }
    }
}

/// Whether the containers are those that there were, in their order.
fn are_the_same(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) -> bool {
    let count = errors.len();
    for list in ["containers", "initContainers"] {
        let (known, sent) = (old.field(list), new.field(list));
        if known.len() != sent.len() {
            errors.push(sent.forbidden(format!("{list} may not be added or removed on resize")));
            continue;
        }
        for (known, sent) in known.elements().zip(sent.elements()) {
            let name = sent.field("name");
            if known.field("name").text() != name.text() {
                let why = format!("{list} may not be renamed or reordered on resize");
                errors.push(name.forbidden(why));
            }
        }
    }
    errors.len() == count
}

fn nothing_is_removed(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) {
    let (old, new) = (old.field("resources"), new.field("resources"));
    for list in ["requests", "limits"] {
        let sent = new.field(list);
        let known = old.field(list);
        let mut names = known.map().into_iter().flat_map(|amounts| amounts.keys());
        if names.any(|name| sent.value.get(name).is_none()) {
            errors.push(sent.forbidden(format!("resource {list} cannot be removed")));
        }
    }
}

/// A container without the amounts of processors and memory it asks for.
fn apart_from_amounts(container: &Value) -> Value {
    let mut container = container.clone();
    let Some(fields) = container.as_object_mut() else {
        return container;
    };
    if let Some(resources) = fields.get_mut("resources").and_then(Value::as_object_mut) {
        for list in ["requests", "limits"] {
            let amounts = resources.get_mut(list).and_then(Value::as_object_mut);
            if let Some(amounts) = amounts {
                amounts.retain(|name, _| !matches!(name.as_str(), "cpu" | "memory"));
                if amounts.is_empty() {
                    resources.shift_remove(list);
                }
            }
        }
        if resources.is_empty() {
            fields.shift_remove("resources");
        }
    }
    container
}

//! How important a pod is follows from its class; at most one class is that of pods that name none.

use object::Value;
use serde_json::json;
use serve::cache::Cache;
use serve::call::Call;
use serve::status::Status;

use crate::admission::refuse;
use crate::read;

const CLASSES: &str = "scheduling.k8s.io/priorityclasses";
/// What pods without a class do to those that matter less.
const PREEMPTS: &str = "PreemptLowerPriority";

/// Gives a new pod the importance of its class, or refuses the pod if there is no such class or it says otherwise.
pub(super) fn resolve(call: &Call, pod: &mut Value, cache: &Cache) -> Result<(), Status> {
    let named = pod
        .pointer("/spec/priorityClassName")
        .and_then(Value::as_str);
    let class = match named.filter(|name| !name.is_empty()) {
        None => default_class(cache),
        Some(name) => match cache.collection(CLASSES).find(name) {
            Some(class) => Some(class.value()),
            None => {
                let why = format!("no PriorityClass with name {name} was found");
                return Err(refuse(call, pod, &why));
            }
        },
    };
    let part = |name: &str| class.as_ref().and_then(|class| class.get(name)).cloned();
    let wanted = [
        ("priority", part("value").unwrap_or_else(|| json!(0))),
        (
            "preemptionPolicy",
            part("preemptionPolicy").unwrap_or_else(|| json!(PREEMPTS)),
        ),
    ];
    for (field, value) in &wanted {
        let said = pod.pointer(&format!("/spec/{field}"));
        if let Some(said) = said.filter(|said| !said.is_null() && *said != value) {
            let kind = match *field {
                "priority" => "integer value of priority",
                _ => "string value of PreemptionPolicy",
            };
            let plain = |value: &Value| value.to_string().trim_matches('"').to_owned();
            let why = format!(
                "the {kind} ({}) must not be provided in pod spec; priority admission controller computed {} from the given \
                 PriorityClass name",
                plain(said),
                plain(value)
            );
            return Err(refuse(call, pod, &why));
        }
    }
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    for (field, value) in wanted {
        spec.insert(field.to_owned(), value);
    }
    if let Some(class) = &class {
        let name = class
            .get("metadata")
            .map_or("", |metadata| read::text(metadata, "name"));
        spec.insert("priorityClassName".to_owned(), json!(name));
    }
    Ok(())
}

/// Refuses a class that is to be that of pods without one while another is.
pub(super) fn check(call: &Call, class: &Value, cache: &Cache) -> Result<(), Status> {
    let is_class =
        call.target.group == "scheduling.k8s.io" && call.target.resource == "priorityclasses";
    if !is_class || !is_default(class) {
        return Ok(());
    }
    let name = |class: &Value| class.pointer("/metadata/name").cloned();
    match default_class(cache).filter(|known| name(known) != name(class)) {
        None => Ok(()),
        Some(known) => {
            let known = known
                .get("metadata")
                .map_or("", |metadata| read::text(metadata, "name"));
            let why = format!(
                "PriorityClass {known} is already marked as default. Only one default can exist"
            );
            Err(refuse(call, class, &why))
        }
    }
}

fn default_class(cache: &Cache) -> Option<Value> {
    let snapshot = cache.collection(CLASSES).snapshot();
    let mut classes = snapshot.objects.values().map(|record| record.value());
    classes.find(is_default)
}

fn is_default(class: &Value) -> bool {
    class.get("globalDefault").and_then(Value::as_bool) == Some(true)
}

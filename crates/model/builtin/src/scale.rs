//! The size of a workload seen alone: the `scale` subresource of kinds that have replicas.

use object::{
    Value,
    field::FieldPath,
    selector::{LabelSelector, Selector},
};
use serde_json::json;

use crate::path;

/// Metadata that a scale shows of its object.
const SHOWN: [&str; 5] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
];

/// The scale of a built-in object whose kind has the subresource.
#[must_use]
pub fn scale_of(object: &Value) -> Value {
    let metadata: object::Map = SHOWN
        .iter()
        .filter_map(|field| {
            Some((
                (*field).to_owned(),
                object.get("metadata")?.get(field)?.clone(),
            ))
        })
        .collect();
    let mut spec = object::Map::new();
    // Upstream: a size of zero is not shown.
    let wanted = path::number(object, "spec.replicas");
    if wanted != 0 {
        spec.insert("replicas".to_owned(), Value::from(wanted));
    }
    let mut status = json!({"replicas": path::number(object, "status.replicas")});
    let selector = selector_text(object.get("spec").and_then(|spec| spec.get("selector")));
    if !selector.is_empty() {
        status["selector"] = Value::String(selector);
    }
    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": spec, "status": status})
}

/// Sets the size that `scale` asks for. Of its metadata only the resource version counts, as a precondition.
pub fn apply_scale(scale: &Value, object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec.insert(
        "replicas".to_owned(),
        Value::from(path::number(scale, "spec.replicas")),
    );
    let version = path::at(scale, "metadata.resourceVersion")
        .filter(|version| **version != "")
        .cloned();
    if let (Some(version), Some(metadata)) = (
        version,
        object.get_mut("metadata").and_then(Value::as_object_mut),
    ) {
        metadata.insert("resourceVersion".to_owned(), version);
    }
}

/// A selector as text. The oldest workload has plain labels instead of a selector with parts.
fn selector_text(selector: Option<&Value>) -> String {
    let Some(Value::Object(fields)) = selector else {
        return String::new();
    };
    let plain = fields.values().all(Value::is_string);
    let wrapped = if plain {
        json!({"matchLabels": fields})
    } else {
        Value::Object(fields.clone())
    };
    let compiled: Option<Selector> = serde_json::from_value::<LabelSelector>(wrapped)
        .ok()
        .and_then(|selector| selector.compile(&FieldPath::root()).ok());
    compiled
        .map(|selector| selector.to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_shows_and_sets_the_size() {
        let mut object = json!({
            "metadata": {"name": "web", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"b": "2", "a": "1"}}},
            "status": {"replicas": 2},
        });
        let scale = scale_of(&object);
        assert_eq!(
            scale,
            json!({
                "apiVersion": "autoscaling/v1", "kind": "Scale",
                "metadata": {"name": "web", "namespace": "n", "uid": "u", "resourceVersion": "7"},
                "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "a=1,b=2"},
            })
        );
        apply_scale(
            &json!({"metadata": {"resourceVersion": "9"}, "spec": {}}),
            &mut object,
        );
        assert_eq!(
            (
                &object["spec"]["replicas"],
                &object["metadata"]["resourceVersion"]
            ),
            (&json!(0), &json!("9"))
        );
        assert_eq!(scale_of(&object)["spec"], json!({}));
    }

    #[test]
    fn plain_labels_are_a_selector_too() {
        let controller = json!({"spec": {"selector": {"app": "web"}}});
        assert_eq!(
            scale_of(&controller)["status"],
            json!({"replicas": 0, "selector": "app=web"})
        );
        assert_eq!(scale_of(&json!(null))["status"], json!({"replicas": 0}));
        let mut broken = json!({"spec": []});
        apply_scale(&json!({"spec": {"replicas": 1}}), &mut broken);
        assert_eq!(broken, json!({"spec": []}));
    }

    #[test]
    fn every_kind_with_the_subresource_has_a_size() {
        for kind in crate::kinds::kinds() {
            let catalog = crate::types::catalog();
            let spec = catalog
                .id(&format!("{}Spec", kind.type_name()))
                .map(|id| catalog.def(id));
            let sized = spec.is_some_and(|def| match &def.body {
                crate::types::Body::Fields(fields) => {
                    fields.iter().any(|field| field.name == "replicas")
                }
                crate::types::Body::Value(_) => false,
            });
            assert_eq!(kind.has_subresource("scale"), sized, "{}", kind.kind);
        }
    }
}

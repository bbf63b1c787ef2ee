//! The size of an object, seen and set as a `Scale`.

use object::{Map, Value};
use serde_json::json;

use crate::resource::ScalePaths;

/// Which metadata a `Scale` shares with its object.
const SHARED: [&str; 5] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
];

/// The `Scale` of an object.
#[must_use]
pub fn scale_of(object: &Value, paths: &ScalePaths) -> Value {
    let metadata: Map = SHARED
        .iter()
        .filter_map(|name| {
            Some((
                (*name).to_owned(),
                object.get("metadata")?.get(*name)?.clone(),
            ))
        })
        .collect();
    let number = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or(0);
    let mut status = json!({"replicas": number(&paths.present)});
    let selector = paths
        .selector
        .as_ref()
        .and_then(|path| at(object, path))
        .and_then(Value::as_str);
    if let (Some(selector), Some(fields)) = (selector, status.as_object_mut()) {
        fields.insert("selector".to_owned(), json!(selector));
    }
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {"replicas": number(&paths.wanted)}, "status": status,
    })
}

/// Sets the size a `Scale` asks for. Of its metadata the revision counts, as a precondition.
pub fn apply_scale(scale: &Value, object: &mut Value, paths: &ScalePaths) {
    let wanted = scale
        .get("spec")
        .and_then(|spec| spec.get("replicas"))
        .cloned()
        .unwrap_or(json!(0));
    let names: Vec<&str> = paths
        .wanted
        .split('.')
        .filter(|name| !name.is_empty())
        .collect();
    put(object, &names, wanted);
    if let Some(version) = scale
        .get("metadata")
        .and_then(|metadata| metadata.get("resourceVersion"))
    {
        put(object, &["metadata", "resourceVersion"], version.clone());
    }
}

fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.')
        .filter(|name| !name.is_empty())
        .try_fold(value, |value, name| value.get(name))
}

fn put(value: &mut Value, path: &[&str], new: Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = new;
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    if let Some(fields) = value.as_object_mut() {
        put(
            fields.entry((*first).to_owned()).or_insert(Value::Null),
            rest,
            new,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_read_and_set_where_the_paths_say() {
        let paths = ScalePaths {
            wanted: ".spec.size".into(),
            present: ".status.size".into(),
            selector: Some(".status.selector".into()),
        };
        let mut object = json!({
            "metadata": {"name": "a", "uid": "u", "labels": {"x": "y"}},
            "spec": {"size": 3}, "status": {"size": 2, "selector": "app=a"},
        });
        let mut scale = scale_of(&object, &paths);
        assert_eq!(
            scale,
            json!({
                "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "a", "uid": "u"},
                "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "app=a"},
            })
        );
        scale["spec"]["replicas"] = json!(7);
        apply_scale(&scale, &mut object, &paths);
        assert_eq!(object["spec"]["size"], 7);
    }
}

//! A new claim that names no class gets the default one.

use object::Value;
use serde_json::json;
use serve::cache::Cache;

/// Marks the class that claims get unless they name one.
pub(crate) const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// Fills in the class. An empty name is one too: it means none.
pub(crate) fn complete(claim: &mut Value, cache: &Cache) {
    let Some(spec) = claim.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if spec
        .get("storageClassName")
        .is_some_and(|name| !name.is_null())
    {
        return;
    }
    let classes = cache.collection("storage.k8s.io/storageclasses").snapshot();
    let default = classes.objects.values().find(|record| {
        let class = record.value();
        let annotations = class.pointer("/metadata/annotations");
        annotations.and_then(|annotations| annotations.get(DEFAULT_CLASS)) == Some(&json!("true"))
    });
    if let Some(class) = default {
        spec.insert("storageClassName".to_owned(), json!(class.head().name));
    }
}

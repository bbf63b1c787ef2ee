//! A new definition is held until its objects are gone.

use object::Value;
use serde_json::json;
use serve::call::Call;

/// The finalizer that stands for the objects of a definition.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Adds the finalizer. Upstream adds it with the deletion; a definition that has it from the start cannot be quicker.
pub(crate) fn hold(call: &Call, definition: &mut Value) {
    let is_definition = call.target.group == "apiextensions.k8s.io"
        && call.target.resource == "customresourcedefinitions";
    let metadata = definition
        .get_mut("metadata")
        .and_then(Value::as_object_mut);
    let Some(metadata) = metadata.filter(|_| is_definition) else {
        return;
    };
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if finalizers.is_null() {
        *finalizers = json!([]);
    }
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|name| name == CLEANUP)
    {
        finalizers.push(json!(CLEANUP));
    }
}

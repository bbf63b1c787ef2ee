//! A new definition is held until its objects are gone, and takes no new ones when it is going itself.

use object::Value;
use serde_json::json;
use serve::cache::Cache;
use serve::call::Call;
use serve::resource::SchemaDuty;
use serve::status::{Details, Status};

use crate::garbage::DEFINITIONS;

/// The finalizer that stands for the objects of a definition.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Refuses a new object of a kind whose definition is going: it would outlive it.
pub(super) fn check(call: &Call, cache: &Cache) -> Result<(), Status> {
    let resource = &call.served.resource;
    if resource.rules.schema_duty() == SchemaDuty::Shape {
        return Ok(());
    }
    let definitions = cache.collection(DEFINITIONS);
    let definition = definitions.find(&format!("{}.{}", resource.plural, resource.group));
    if !definition.is_some_and(|definition| definition.head().terminating) {
        return Ok(());
    }
    Err(Status {
        message: "create not allowed while custom resource definition is terminating".to_owned(),
        details: Box::new(Details {
            group: call.target.group.clone(),
            kind: call.target.resource.clone(),
            ..Details::default()
        }),
        ..Status::method_not_allowed()
    })
}

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

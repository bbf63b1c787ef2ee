//! Nothing is created of a kind whose definition is going: it would be taken along although its writer was told that it is
//! stored, or would outlive its kind.

use serve::cache::Cache;
use serve::call::Call;
use serve::resource::SchemaDuty;
use serve::status::{Details, Status};

/// Where definitions are kept.
pub const DEFINITIONS: &str = "apiextensions.k8s.io/customresourcedefinitions";

/// Refuses a new object of a kind whose definition is being deleted.
pub fn refuse_without_future(call: &Call, cache: &Cache) -> Result<(), Status> {
    let resource = &call.served.resource;
    // Kubernetes' own kinds have no definitions, and most of what is created is of these.
    if resource.rules.schema_duty() == SchemaDuty::Shape {
        return Ok(());
    }
    let name = format!("{}.{}", resource.plural, resource.group);
    let definition = cache.collection(DEFINITIONS).find(&name);
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

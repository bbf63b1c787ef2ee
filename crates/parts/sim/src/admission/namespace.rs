//! Nothing is created in a namespace that is not there, or is going.

use serve::cache::Cache;
use serve::call::Call;
use serve::status::{Cause, Status, Subject};

/// Refuses what would be created in a namespace that is missing or ending.
pub(crate) fn check(call: &Call, cache: &Cache) -> Result<(), Status> {
    let name = call.target.namespace.as_str();
    if !call.served.resource.namespaced || name.is_empty() {
        return Ok(());
    }
    let Some(namespace) = cache.collection("core/namespaces").find(name) else {
        return Err(Status::not_found(Subject {
            group: "",
            resource: "namespaces",
            name,
        }));
    };
    if !namespace.head().terminating {
        return Ok(());
    }
    let why =
        format!("unable to create new content in namespace {name} because it is being terminated");
    let mut status = Status::forbidden(call.subject(), &why);
    status.details.causes.push(Cause {
        reason: "NamespaceTerminating".to_owned(),
        message: format!("namespace {name} is being terminated"),
        field: "metadata.namespace".to_owned(),
    });
    Err(status)
}

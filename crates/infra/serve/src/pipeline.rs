//! What every object goes through on its way to the store, in the version it was sent in: defaults, admission, judgement;
//! and from one version to another.

use object::Value;

use crate::call::{Call, Proposal};
use crate::lifecycle;
use crate::server::Server;
use crate::status::Status;

impl Server {
    /// Sets what the author left out, by the schema and by the kind.
    pub(crate) fn complete(&self, call: &Call, object: &mut Value) {
        let version = call.served.version();
        if let Some(schema) = &version.schema {
            schema.apply_defaults(object);
        }
        call.served
            .resource
            .rules
            .apply_defaults(&version.name, object);
    }

    /// Lets admission change an object, then completes what it left out.
    pub(crate) async fn mutate(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: &mut Value,
    ) -> Result<Vec<String>, Status> {
        let mut warnings = Vec::new();
        for admission in &self.admission {
            warnings.extend(
                admission
                    .mutate(
                        call,
                        Proposal {
                            old,
                            new: Some(new),
                        },
                    )
                    .await?,
            );
        }
        if !self.admission.is_empty() {
            self.complete(call, new);
        }
        Ok(warnings)
    }

    /// Refuses an object with all that is wrong with it, by the rules of metadata, the schema and the kind.
    pub(crate) fn judge(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), Status> {
        let resource = &call.served.resource;
        let mut errors = lifecycle::validate(resource, old, new);
        if let Some(schema) = &call.served.version().schema {
            errors.extend(schema.validate(new));
        }
        // The kind's own rules may take for granted that fields have their types.
        if errors.is_empty() {
            errors.extend(resource.rules.validate(old, new));
        }
        if errors.is_empty() {
            return Ok(());
        }
        Err(Status::invalid(call.kind_subject(name_of(new)), &errors))
    }

    /// Lets admission refuse a change.
    pub(crate) async fn validate(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<Vec<String>, Status> {
        let mut warnings = Vec::new();
        for admission in &self.admission {
            warnings.extend(admission.validate(call, old, new).await?);
        }
        Ok(warnings)
    }
}

/// An object of the call as it is stored.
pub(crate) fn stored_form(call: &Call, object: Value) -> Result<Value, Status> {
    if call.served.is_stored_form() {
        return Ok(object);
    }
    let resource = &call.served.resource;
    resource
        .rules
        .convert(&object, &resource.stored_as)
        .ok_or_else(|| {
            Status::internal(
                format!(
                    "{} cannot be converted to {}",
                    resource.kind, resource.stored_as
                ),
                None,
            )
        })
}

/// A stored object as the call sees it.
pub(crate) fn asked_form(call: &Call, stored: Value) -> Result<Value, Status> {
    if call.served.is_stored_form() {
        return Ok(stored);
    }
    let resource = &call.served.resource;
    let asked = call.served.api_version();
    let failed = || {
        Status::internal(
            format!("{} cannot be converted to {asked}", resource.kind),
            None,
        )
    };
    resource.rules.convert(&stored, &asked).ok_or_else(failed)
}

/// The name an object gives itself.
pub(crate) fn name_of(object: &Value) -> &str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get("name"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

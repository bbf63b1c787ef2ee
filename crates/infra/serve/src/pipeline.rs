//! What every object goes through on its way to the store, in the version it was sent in: defaults, admission, judgement;
//! and from one version to another.

use object::Value;
use object::field::{FieldError, FieldErrorKind};
use schema::Schema;

use crate::call::{Call, Proposal};
use crate::lifecycle;
use crate::resource::SchemaDuty;
use crate::server::Server;
use crate::status::Status;
use crate::target::Verb;

impl Server {
    /// Sets what the author left out, by the schema and by the kind.
    pub(crate) fn complete(&self, call: &Call, object: &mut Value) {
        let version = call.served.version();
        let rules = &call.served.resource.rules;
        if let (Some(schema), SchemaDuty::Everything) = (&version.schema, rules.schema_duty()) {
            schema.apply_defaults(object);
        }
        rules.apply_defaults(&version.name, object);
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
        if self
            .admission
            .iter()
            .any(|admission| admission.changes(call))
        {
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
        let version = call.served.version();
        let by_schema = match (&version.schema, resource.rules.schema_duty()) {
            (Some(schema), SchemaDuty::Shape) => {
                check_shape(call, schema, new)?;
                Vec::new()
            }
            (Some(schema), SchemaDuty::Everything) => {
                // What was wrong before and did not change is not held against a change elsewhere.
                let mut errors = match old {
                    Some(old) => schema.validate_update(new, old),
                    None => schema.validate(new),
                };
                let further = resource
                    .rules
                    .judge_further(&version.name, old, new, &errors);
                errors.extend(further);
                errors
            }
            (None, _) => Vec::new(),
        };
        let mut errors = lifecycle::validate(resource, old, new);
        errors.extend(by_schema);
        // The kind's own rules may take for granted that fields have their types.
        if errors.is_empty() {
            errors.extend(resource.rules.validate(
                &version.name,
                old,
                new,
                &call.target.subresource,
            ));
        }
        if errors.is_empty() {
            return Ok(());
        }
        Err(Status::invalid(call.kind_subject(name_of(new)), &errors))
    }

    /// Lets admission refuse a stream.
    pub(crate) async fn admit_stream(
        &self,
        call: &Call,
        options: &Value,
    ) -> Result<Vec<String>, Status> {
        let mut warnings = Vec::new();
        for admission in &self.admission {
            warnings.extend(admission.connect(call, options).await?);
        }
        Ok(warnings)
    }

    /// Refuses an object that no object of its kind could be, before anything else is known about it.
    pub(crate) fn check_sent(&self, call: &Call, object: &Value) -> Result<(), Status> {
        let duty = call.served.resource.rules.schema_duty();
        match (&call.served.version().schema, duty) {
            (Some(schema), SchemaDuty::Shape) => check_shape(call, schema, object),
            _ => Ok(()),
        }
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

/// Refuses an object with a field of the wrong type. Upstream: such a body cannot be decoded, so it is a bad request.
fn check_shape(call: &Call, schema: &Schema, object: &Value) -> Result<(), Status> {
    // The value of such an error is the name of the type that was found; null means absent, as Go reads it.
    let is_null =
        |error: &FieldError| error.value.as_deref().and_then(Value::as_str) == Some("null");
    // No bytes at all are bytes too; only schemas of custom kinds see that otherwise.
    let is_no_bytes = |error: &FieldError| error.detail.ends_with("must be of type byte: \"\"");
    let mistyped = |error: &FieldError| {
        error.kind == FieldErrorKind::TypeInvalid && !is_null(error) && !is_no_bytes(error)
    };
    let Some(error) = schema.validate(object).into_iter().find(mistyped) else {
        return Ok(());
    };
    if call.verb == Verb::Patch && !call.applies {
        return Err(Status::bad_patch(object, error.to_string()));
    }
    let (kind, version) = (&call.served.resource.kind, &call.served.version().name);
    Err(Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {error}"
    )))
}

/// The name an object gives itself.
pub(crate) fn name_of(object: &Value) -> &str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get("name"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

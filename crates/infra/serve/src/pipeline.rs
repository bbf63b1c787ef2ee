//! What every object goes through on its way to the store, in the version it was sent in: defaults, admission, judgement;
//! and from one version to another.

use object::Value;
use object::field::{FieldError, FieldErrorKind};
use schema::Schema;

use crate::call::{Call, Exhibit, Proposal};
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
        let warnings = match &call.exhibit {
            Exhibit::Object => self.ask_to_change(call, old, new).await?,
            Exhibit::Scale(paths) => self.ask_to_change_scale(call, paths, old, new).await?,
            Exhibit::Nothing => Vec::new(),
        };
        if self.is_changed_by_admission(call) {
            self.complete(call, new);
        }
        Ok(warnings)
    }

    /// Lets every admission change what it is shown.
    pub(crate) async fn ask_to_change(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: &mut Value,
    ) -> Result<Vec<String>, Status> {
        let mut warnings = Vec::new();
        for admission in &self.admission {
            let proposal = Proposal {
                old,
                new: Some(new),
            };
            told(&mut warnings, admission.mutate(call, proposal).await)?;
        }
        Ok(warnings)
    }

    fn is_changed_by_admission(&self, call: &Call) -> bool {
        let mut admission = self.admission.iter();
        call.exhibit != Exhibit::Nothing && admission.any(|admission| admission.changes(call))
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
                // What was sent has been checked: this is about what else may have changed it.
                if call.applies || self.is_changed_by_admission(call) {
                    check_shape(call, schema, new)?;
                }
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
                // Upstream: nobody minds what metadata says twice.
                errors.retain(|error| {
                    error.kind != FieldErrorKind::Duplicate
                        || !error.path.as_str().starts_with("metadata.")
                });
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

    /// Lets admission change what a handler was sent: something that is asked for like an object and never stored. What it
    /// leaves out is the handler's to fill in.
    pub async fn mutate_sent(
        &self,
        call: &Call,
        document: &mut Value,
    ) -> Result<Vec<String>, Status> {
        self.ask_to_change(call, None, document).await
    }

    /// Lets admission refuse what a handler was sent, as the handler understood it.
    pub async fn validate_sent(
        &self,
        call: &Call,
        document: &Value,
    ) -> Result<Vec<String>, Status> {
        self.ask_to_judge(call, None, Some(document)).await
    }

    /// Lets admission refuse a stream.
    pub(crate) async fn admit_stream(
        &self,
        call: &Call,
        options: &Value,
    ) -> Result<Vec<String>, Status> {
        let mut warnings = Vec::new();
        for admission in &self.admission {
            told(&mut warnings, admission.connect(call, options).await)?;
        }
        Ok(warnings)
    }

    /// Refuses an object that no object of its kind could be, before anything else is known about it.
    pub fn check_sent(&self, call: &Call, object: &Value) -> Result<(), Status> {
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
        match &call.exhibit {
            Exhibit::Object => self.ask_to_judge(call, old, new).await,
            Exhibit::Scale(paths) => self.ask_to_judge_scale(call, paths, old, new).await,
            Exhibit::Nothing => Ok(Vec::new()),
        }
    }

    /// Lets every admission refuse what it is shown.
    pub(crate) async fn ask_to_judge(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<Vec<String>, Status> {
        let mut warnings = Vec::new();
        for admission in &self.admission {
            told(&mut warnings, admission.validate(call, old, new).await)?;
        }
        Ok(warnings)
    }
}

/// Takes what one admission says; a refusal carries what those before it wanted to be told.
fn told(warnings: &mut Vec<String>, verdict: Result<Vec<String>, Status>) -> Result<(), Status> {
    let said = verdict.map_err(|status| status.with_warnings(warnings))?;
    warnings.extend(said);
    Ok(())
}

/// The first field of an object that has not the type its kind wants.
#[must_use]
pub fn mistyped(schema: &Schema, object: &Value) -> Option<FieldError> {
    // The value of such an error is the name of the type that was found; null means absent, as Go reads it.
    let is_null =
        |error: &FieldError| error.value.as_deref().and_then(Value::as_str) == Some("null");
    // No bytes at all are bytes too; only schemas of custom kinds see that otherwise.
    let is_no_bytes = |error: &FieldError| {
        error.detail.ends_with("must be of type byte: \"\"")
            && is_text_at(object, error.path.as_str())
    };
    let mistyped = |error: &FieldError| {
        error.kind == FieldErrorKind::TypeInvalid && !is_null(error) && !is_no_bytes(error)
    };
    schema.validate(object).into_iter().find(mistyped)
}

/// Refuses an object with a field of the wrong type. Upstream: such a body cannot be decoded, so it is a bad request.
fn check_shape(call: &Call, schema: &Schema, object: &Value) -> Result<(), Status> {
    let Some(error) = mistyped(schema, object) else {
        return Ok(());
    };
    if call.verb == Verb::Patch && !call.applies {
        return Err(Status::bad_patch(call.shown(object), error.to_string()));
    }
    let (kind, version) = (&call.served.resource.kind, &call.served.version().name);
    Err(Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {error}"
    )))
}

/// Whether there is text at a path as errors write it.
fn is_text_at(value: &Value, path: &str) -> bool {
    let below =
        |rest: &str, value: &Value| is_text_at(value, rest.strip_prefix('.').unwrap_or(rest));
    match value {
        Value::String(_) => path.is_empty(),
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let rest = path.strip_prefix(name.as_str());
            rest.is_some_and(|rest| below(rest, value))
        }),
        Value::Array(items) => items.iter().enumerate().any(|(position, item)| {
            let rest = path.strip_prefix(&format!("[{position}]"));
            rest.is_some_and(|rest| below(rest, item))
        }),
        _ => false,
    }
}

/// The name an object gives itself.
pub(crate) fn name_of(object: &Value) -> &str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get("name"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

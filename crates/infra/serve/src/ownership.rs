//! Who owns which field: `metadata.managedFields`, kept on every write.

use object::Value;
use schema::Schema;
use schema::apply::fieldset::FieldSet;
use schema::apply::{ApplyError, Versions, Write, keep_times};

use crate::call::{Call, REDACTED};
use crate::resource::{Resource, SchemaDuty};
use crate::server::Server;
use crate::status::{Cause, Status};

/// The other versions of a call's resource.
struct OtherVersions<'c> {
    resource: &'c Resource,
    part: &'c str,
}

impl Versions for OtherVersions<'_> {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        let version = |name: &str| self.resource.api_version(name) == api_version;
        self.resource
            .versions
            .iter()
            .find(|known| version(&known.name))?
            .schema
            .as_ref()
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        if object.get("apiVersion").and_then(Value::as_str) == Some(api_version) {
            return Ok(object.clone());
        }
        let converted = self.resource.rules.convert(object, api_version);
        converted.ok_or_else(|| format!("{} has no version {api_version}", self.resource.kind))
    }

    fn ignored(&self, api_version: &str) -> Option<FieldSet> {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let fields = self.resource.rules.unowned_fields(version, self.part);
        let paths: Vec<Vec<&str>> = fields
            .iter()
            .map(|path| path.split('.').collect())
            .collect();
        let paths: Vec<&[&str]> = paths.iter().map(Vec::as_slice).collect();
        (!paths.is_empty()).then(|| FieldSet::of_fields(&paths))
    }
}

impl Server {
    /// Records the writer of whatever differs between two objects. A kind without a schema has no owners.
    pub(crate) fn own_fields(&self, call: &Call, old: Option<&Value>, new: &mut Value) {
        let Some(schema) = &call.served.version().schema else {
            return;
        };
        let versions = OtherVersions {
            resource: &call.served.resource,
            part: &call.target.subresource,
        };
        let api_version = call.served.api_version();
        let write = Write {
            schema,
            api_version: &api_version,
            versions: &versions,
            manager: &call.options.field_manager,
            subresource: call.through(),
            now: self.surroundings.now(),
        };
        write.own(old, new);
    }

    /// Merges a declaration into the object there is, if there is one.
    pub(crate) fn apply(
        &self,
        call: &Call,
        live: Option<&Value>,
        declared: &Value,
    ) -> Result<Value, Status> {
        let Some(schema) = &call.served.version().schema else {
            return Err(Status::bad_request(format!(
                "{} has no schema to apply by",
                call.served.resource.kind
            )));
        };
        let versions = OtherVersions {
            resource: &call.served.resource,
            part: &call.target.subresource,
        };
        let api_version = call.served.api_version();
        let write = Write {
            schema,
            api_version: &api_version,
            versions: &versions,
            manager: &call.options.field_manager,
            subresource: call.through(),
            now: self.surroundings.now(),
        };
        let applied = write
            .apply(live, declared, call.options.force)
            .map_err(|error| refusal(call, error))?;
        let mut object = applied.object;
        // What is kept somewhere above is known to the declaration, and still no field of its kind here.
        if call.served.resource.rules.schema_duty() == SchemaDuty::Everything {
            schema.prune(&mut object);
        }
        if let Some(live) = live {
            keep_times(&mut object, live);
        }
        Ok(object)
    }
}

fn refusal(call: &Call, mut error: ApplyError) -> Status {
    if call.served.is_secret {
        redact(&mut error);
    }
    match error {
        ApplyError::Conflicts(conflicts) => {
            let message = ApplyError::Conflicts(conflicts.clone()).to_string();
            let causes = conflicts.iter().map(|conflict| Cause {
                reason: "FieldManagerConflict".to_owned(),
                message: conflict.message(),
                field: conflict.field.clone(),
            });
            Status::apply_conflict(message, causes.collect())
        }
        ApplyError::BadRequest(message) => Status::bad_request(message),
        error @ ApplyError::Declaration { .. } => Status::untypable(error.to_string()),
        other => Status::internal(other.to_string(), Some(Box::new(other))),
    }
}

/// Takes the values out of what is said about fields of the wrong type.
fn redact(error: &mut ApplyError) {
    const FOUND: &str = ", got ";
    let (ApplyError::Declaration { problems, .. } | ApplyError::Live { problems, .. }) = error
    else {
        return;
    };
    for problem in problems {
        let text = &mut problem.problem;
        if let Some(at) = text.find(FOUND) {
            text.truncate(at + FOUND.len());
            text.push_str(REDACTED);
        }
    }
}

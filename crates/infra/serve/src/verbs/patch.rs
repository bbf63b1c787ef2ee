//! Patch, in its four forms.

use std::sync::{Mutex, PoisonError};

use http::{Response, StatusCode};
use object::Value;
use object::field::{FieldError, FieldPath};
use object::patch::{self, DecodeError, JsonPatch, MAX_OPERATIONS, Replace};

use crate::body::Body;
use crate::call::Call;
use crate::intake;
use crate::negotiate::{Answer, Content};
use crate::resource::SchemaDuty;
use crate::server::Server;
use crate::status::{Status, Subject};
use crate::verbs::write::NotMade;

/// The forms of patches objects of a call take. Only kinds whose lists have known keys can be merged strategically.
pub(crate) fn readable(call: &Call) -> Vec<Content> {
    let mut forms = vec![Content::JsonPatch, Content::MergePatch];
    if call.served.resource.rules.schema_duty() == SchemaDuty::Shape {
        forms.push(Content::StrategicMergePatch);
    }
    forms.push(Content::Apply);
    forms
}

impl Server {
    /// A part of an object changed.
    pub(crate) async fn patch(
        &self,
        call: &Call,
        content: Content,
        bytes: &[u8],
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        if content == Content::Apply {
            return self.patch_by_applying(call, bytes, answer).await;
        }
        let (document, repeated) = intake::decode(content, bytes)?;
        if content != Content::JsonPatch && !document.is_object() {
            return Err(Status::bad_request(format!(
                "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                crate::metadata::found(&document)
            )));
        }
        let odd = match content {
            Content::JsonPatch => odd_operations(&document, &repeated),
            _ => repeated,
        };
        let mut warnings = Vec::new();
        // What the last attempt would tell the client; an attempt that lost a race is of no interest.
        let told = Mutex::new(Vec::new());
        let edit = |current: &Value| -> Result<Value, Status> {
            let mut patched = match content {
                Content::JsonPatch => json_patch(&document, current)?,
                Content::StrategicMergePatch => strategic(call, document.clone(), current.clone())?,
                _ => patch::merge(current, &document),
            };
            intake::settle_nulls(call, &mut patched, content, bytes);
            let taken = intake::patched(call, patched, &odd)?;
            self.check_sent(call, &taken.object)?;
            *told.lock().unwrap_or_else(PoisonError::into_inner) = taken.warnings;
            Ok(taken.object)
        };
        let written = self.replace(call, &mut warnings, &edit).await;
        warnings.append(&mut told.into_inner().unwrap_or_else(PoisonError::into_inner));
        let written = written.map_err(|status| status.with_warnings(&warnings))?;
        self.report(call, &written, StatusCode::OK, answer, &warnings)
            .await
    }

    /// Server-side apply: makes the object if there is none.
    async fn patch_by_applying(
        &self,
        call: &Call,
        bytes: &[u8],
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        if !call.options.manager_is_named {
            let options = Subject {
                group: "meta.k8s.io",
                resource: "PatchOptions",
                name: "",
            };
            let missing = FieldError::required(
                FieldPath::new("fieldManager"),
                "is required for apply patch",
            );
            return Err(Status::invalid(options, &[missing]));
        }
        let taken = intake::object(call, Content::Apply, bytes)?;
        let (mut declared, mut warnings) = (taken.object, taken.warnings);
        if call.served.resource.rules.schema_duty() == SchemaDuty::Shape {
            forget_null_times(&mut declared);
        }
        if self.find(call).is_none() && call.target.subresource.is_empty() {
            let wanted = declared.pointer("/metadata/uid").and_then(Value::as_str);
            if let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) {
                let why = format!(
                    "uid mismatch: the provided object specified uid {wanted}, and no existing object was found"
                );
                return Err(Status::conflict(call.subject(), &why));
            }
            let mut object = self.apply(call, None, &declared)?;
            place(call, &mut object);
            match self.store_new(call, object, &mut warnings).await {
                // Somebody else made it in between: then it is there to be merged into.
                Err(NotMade::Taken(_)) => {}
                Err(NotMade::Refused(status)) => return Err(status.with_warnings(&warnings)),
                Ok(written) => {
                    return self
                        .report(call, &written, StatusCode::CREATED, answer, &warnings)
                        .await;
                }
            }
        }
        let edit = |current: &Value| self.apply(call, Some(current), &declared);
        let written = self.replace(call, &mut warnings, &edit).await;
        let written = written.map_err(|status| status.with_warnings(&warnings))?;
        self.report(call, &written, StatusCode::OK, answer, &warnings)
            .await
    }
}

/// Puts an object where the path says, as far as it does not say so itself.
fn place(call: &Call, object: &mut Value) {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata.filter(|_| call.served.resource.namespaced) {
        metadata.insert(
            "namespace".to_owned(),
            Value::from(call.target.namespace.as_str()),
        );
    }
}

/// Generators of manifests write `creationTimestamp: null` into templates. It says nothing and is not stored, so that
/// nobody can own it.
fn forget_null_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Object(metadata)) = fields.get_mut("metadata")
                && metadata.get("creationTimestamp") == Some(&Value::Null)
            {
                metadata.shift_remove("creationTimestamp");
            }
            fields.values_mut().for_each(forget_null_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_null_times),
        _ => {}
    }
}

fn json_patch(document: &Value, current: &Value) -> Result<Value, Status> {
    let patch = JsonPatch::decode(document).map_err(|error| match error {
        DecodeError::TooMany { count } => Status::oversized(format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
        )),
        other => Status::bad_request(other.to_string()),
    })?;
    patch
        .apply(current, Replace::ExistingOrMissing)
        .map_err(Status::unprocessable)
}

/// What a client is told about fields of operations that are there twice or nobody knows.
fn odd_operations(document: &Value, repeated: &[String]) -> Vec<String> {
    let mut told: Vec<String> = repeated
        .iter()
        .map(|text| format!("json patch {text}"))
        .collect();
    let operations = document.as_array().into_iter().flatten();
    for (position, operation) in operations.enumerate() {
        let fields = operation.as_object().into_iter().flat_map(|map| map.keys());
        told.extend(
            fields
                .filter(|name| !matches!(name.as_str(), "op" | "path" | "from" | "value"))
                .take(MOST_ODD.saturating_sub(told.len()))
                .map(|name| format!("json patch unknown field \"[{position}].{name}\"")),
        );
    }
    told
}

/// Of very many only the first are named.
const MOST_ODD: usize = 64;

fn strategic(call: &Call, document: Value, current: Value) -> Result<Value, Status> {
    let Some(schema) = &call.served.version().schema else {
        return Ok(patch::merge(&current, &document));
    };
    schema
        .merge_strategically(current, document)
        .map_err(|error| Status::bad_request(error.to_string()))
}

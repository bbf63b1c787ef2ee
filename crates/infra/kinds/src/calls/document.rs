//! Documents that calls are sent: what they are, and which object they are about.

use object::Value;
use serde_json::json;
use serve::call::Call;
use serve::status::Status;

/// What a document is.
pub(super) struct Form {
    pub(super) api_version: &'static str,
    /// The same by an older name, which is understood too.
    pub(super) older: &'static str,
    pub(super) kind: &'static str,
}

/// Checks that a document is of a form and in the namespace of the call, and fills in what it does not say of that.
/// Admission sees it in the newer form. Upstream: the same.
pub(super) fn complete(call: &Call, document: &mut Value, form: &Form) -> Result<(), Status> {
    let Some(fields) = document.as_object_mut() else {
        return Err(Status::bad_request("the body is not an object"));
    };
    for (field, expected, older) in [
        ("apiVersion", form.api_version, form.older),
        ("kind", form.kind, form.kind),
    ] {
        let found = fields.get(field).and_then(Value::as_str);
        let found = found.unwrap_or_default();
        if !found.is_empty() && found != expected && found != older {
            let why = format!(
                "the {field} of the object ({found}) does not match the one expected here ({expected})"
            );
            return Err(Status::bad_request(why));
        }
        fields.insert(field.to_owned(), json!(expected));
    }
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    let Some(metadata) = metadata.as_object_mut() else {
        return Err(Status::bad_request("metadata is not an object"));
    };
    let namespace = metadata.get("namespace").and_then(Value::as_str);
    let namespace = namespace.unwrap_or_default();
    if !namespace.is_empty() && namespace != call.target.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    metadata.insert("namespace".to_owned(), json!(call.target.namespace));
    Ok(())
}

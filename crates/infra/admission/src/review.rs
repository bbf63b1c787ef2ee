//! `AdmissionReview`: what a webhook is asked, and what its answer means.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use object::patch::JsonPatch;
use object::{Map, Value};
use serde_json::json;
use serve::call::Call;
use serve::options::FieldValidation;
use serve::status::{Cause, Details, Status};

use crate::matching::{Asked, Operation};

/// What a webhook said.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Why not, if not.
    pub(crate) refusal: Option<Box<Refusal>>,
    pub(crate) patch: Option<JsonPatch>,
    pub(crate) warnings: Vec<String>,
    pub(crate) notes: Vec<(String, String)>,
}

/// A webhook's no.
#[derive(Debug, PartialEq)]
pub(crate) struct Refusal {
    code: u16,
    /// Empty if the webhook gives none: none is made up.
    reason: String,
    message: String,
    /// What the webhook says it is about.
    details: Details,
}

/// The objects as the webhook sees them, in the version it wants.
pub(crate) struct Shown<'a> {
    pub(crate) uid: &'a str,
    pub(crate) version: &'a str,
    pub(crate) old: Option<&'a Value>,
    pub(crate) new: Option<&'a Value>,
}

/// The request of a review. Policies see the same.
pub(crate) fn request(asked: &Asked<'_>, shown: &Shown<'_>) -> Value {
    let call = asked.call;
    let (target, resource) = (&call.target, &call.served.resource);
    // A stream is about its options and a token about its request, not about the object they are asked of.
    let foreign = asked.new.filter(|document| is_foreign(call, document));
    let foreign = foreign.and_then(foreign_kind);
    let kind = |version: &str| match &foreign {
        Some(foreign) => foreign.clone(),
        None => json!({"group": &*resource.group, "version": version, "kind": &*resource.kind}),
    };
    let plural = |version: &str| json!({"group": target.group, "version": version, "resource": target.resource});
    let mut request = json!({
        "uid": shown.uid,
        "kind": kind(shown.version),
        "resource": plural(shown.version),
        "requestKind": kind(&target.version),
        "requestResource": plural(&target.version),
        "name": asked.name(),
        "namespace": asked.namespace(),
        "operation": asked.operation.as_str(),
        "userInfo": user(call),
        "object": shown.new,
        "oldObject": shown.old,
        "dryRun": call.options.dry_run,
        "options": options(call, asked.operation),
    });
    if let Some(fields) = request.as_object_mut() {
        if !target.subresource.is_empty() {
            fields.insert("subResource".to_owned(), json!(target.subresource));
            fields.insert("requestSubResource".to_owned(), json!(target.subresource));
        }
        fields
            .retain(|name, value| !(matches!(name.as_str(), "name" | "namespace") && *value == ""));
    }
    request
}

/// Whether a document is of another kind than the resource's: the options of a stream, the request for a token, the size
/// of an object, whatever the object's own kind is called. Such a kind has one version.
pub(crate) fn is_foreign(call: &Call, document: &Value) -> bool {
    let kind = document.get("kind").and_then(Value::as_str);
    let is_scale = call.target.subresource == "scale";
    is_scale || kind.is_some_and(|kind| kind != &*call.served.resource.kind)
}

/// The kind a document says it has.
fn foreign_kind(document: &Value) -> Option<Value> {
    let text = |field: &str| document.get(field).and_then(Value::as_str);
    let api_version = text("apiVersion").unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Some(json!({"group": group, "version": version, "kind": text("kind")?}))
}

/// The whole document.
pub(crate) fn document(request: Value, version: &str) -> Value {
    json!({
        "kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": request,
    })
}

fn user(call: &Call) -> Value {
    let user = &call.user;
    let mut fields = Map::new();
    fields.insert("username".to_owned(), json!(user.name));
    if !user.uid.is_empty() {
        fields.insert("uid".to_owned(), json!(user.uid));
    }
    fields.insert("groups".to_owned(), json!(user.groups));
    if !user.extra.is_empty() {
        fields.insert("extra".to_owned(), json!(user.extra));
    }
    Value::Object(fields)
}

/// How the write is meant. Upstream: a patch is shown as the creation or the update it comes to.
fn options(call: &Call, operation: Operation) -> Value {
    let kind = match operation {
        Operation::Connect => return Value::Null,
        Operation::Delete => "DeleteOptions",
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
    };
    let mut fields = Map::new();
    fields.insert("kind".to_owned(), json!(kind));
    fields.insert("apiVersion".to_owned(), json!("meta.k8s.io/v1"));
    if call.options.dry_run {
        fields.insert("dryRun".to_owned(), json!(["All"]));
    }
    if operation == Operation::Delete {
        let sent = call.options.deletion.as_ref().and_then(Value::as_object);
        fields.extend(sent.cloned().into_iter().flatten());
        return Value::Object(fields);
    }
    if call.options.manager_is_named {
        fields.insert("fieldManager".to_owned(), json!(call.options.field_manager));
    }
    if call.options.validation_is_named {
        let validation = match call.options.field_validation {
            FieldValidation::Ignore => "Ignore",
            FieldValidation::Warn => "Warn",
            FieldValidation::Strict => "Strict",
        };
        fields.insert("fieldValidation".to_owned(), json!(validation));
    }
    Value::Object(fields)
}

/// Reads an answer.
///
/// # Errors
/// When it is none to this review, or says what an answer cannot say.
pub(crate) fn read(
    bytes: &[u8],
    version: &str,
    uid: &str,
    may_change: bool,
) -> Result<Answer, String> {
    let review: Value =
        serde_json::from_slice(bytes).map_err(|_| "the answer is not JSON".to_owned())?;
    let text = |value: &Value, field: &str| {
        let text = value.get(field).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let expected = format!("admission.k8s.io/{version}");
    let (api_version, kind) = (text(&review, "apiVersion"), text(&review, "kind"));
    let is_old = version == "v1beta1";
    // Upstream: nobody looks at what an answer of the old version says it is an answer to.
    if !is_old && (api_version != expected || kind != "AdmissionReview") {
        return Err(format!(
            "expected webhook response of {expected}, Kind=AdmissionReview, got {:.64}, Kind={:.64}",
            api_version, kind
        ));
    }
    let response = review
        .get("response")
        .filter(|response| response.is_object())
        .ok_or("webhook response was absent")?;
    let answered = text(response, "uid");
    if answered != uid && !is_old {
        return Err(format!(
            "expected response.uid={uid:?}, got {answered:.64?}"
        ));
    }
    let patch = match is_old {
        true => read_old_patch(response, may_change)?,
        false => read_patch(response, may_change)?,
    };
    let allowed = response
        .get("allowed")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let notes = response.get("auditAnnotations").and_then(Value::as_object);
    let notes = notes.into_iter().flatten().filter_map(|(name, value)| {
        let value = value.as_str()?;
        Some((name.clone(), value.to_owned()))
    });
    let warnings = response.get("warnings").and_then(Value::as_array);
    let warnings = warnings.into_iter().flatten().filter_map(Value::as_str);
    Ok(Answer {
        refusal: (!allowed).then(|| Box::new(read_refusal(response.get("status")))),
        patch,
        warnings: warnings.map(str::to_owned).collect(),
        notes: notes.collect(),
    })
}

fn read_patch(response: &Value, may_change: bool) -> Result<Option<JsonPatch>, String> {
    let text = |field: &str| response.get(field).and_then(Value::as_str);
    let (patch, sort) = (text("patch").unwrap_or_default(), text("patchType"));
    if !may_change {
        if !patch.is_empty() {
            return Err("validating webhook may not return response.patch".to_owned());
        }
        if sort.is_some() {
            return Err("validating webhook may not return response.patchType".to_owned());
        }
        return Ok(None);
    }
    match (patch, sort) {
        ("", None) => Ok(None),
        ("", Some(_)) => {
            Err("webhook returned response.patchType but not response.patch".to_owned())
        }
        (_, None) => Err("webhook returned response.patch but not response.patchType".to_owned()),
        (patch, Some("JSONPatch")) => decode_patch(patch).map(Some),
        (_, Some(other)) => Err(format!("unsupported patch type {other:.64?}")),
    }
}

/// Upstream: in the old version a patch is of the one sort there is, whatever is said of it, and whoever may not change
/// anything is not listened to.
fn read_old_patch(response: &Value, may_change: bool) -> Result<Option<JsonPatch>, String> {
    let patch = response.get("patch").and_then(Value::as_str);
    let patch = patch.filter(|patch| may_change && !patch.is_empty());
    patch.map(decode_patch).transpose()
}

fn decode_patch(patch: &str) -> Result<JsonPatch, String> {
    let bytes = STANDARD
        .decode(patch)
        .map_err(|_| "response.patch is not base64".to_owned())?;
    let document: Value =
        serde_json::from_slice(&bytes).map_err(|_| "response.patch is not JSON".to_owned())?;
    JsonPatch::decode(&document)
        .map_err(|error| format!("response.patch is not a JSON patch: {error}"))
}

/// Upstream: what a webhook says of its refusal is what the client reads, but for the name put in front.
fn read_refusal(status: Option<&Value>) -> Refusal {
    let text = |field: &str| {
        let text = status.and_then(|status| status.get(field)?.as_str());
        text.unwrap_or_default()
    };
    let code = status
        .and_then(|status| status.get("code")?.as_u64())
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..=999).contains(code))
        // Upstream: a refusal is never answered as a success.
        .unwrap_or(400);
    let message = match (text("message"), text("reason")) {
        ("", "") => " without explanation".to_owned(),
        ("", reason) => format!(": {reason}"),
        (message, _) => format!(": {message}"),
    };
    let details = status.and_then(|status| status.get("details"));
    Refusal {
        code,
        reason: text("reason").to_owned(),
        message,
        details: details.map(read_details).unwrap_or_default(),
    }
}

fn read_details(details: &Value) -> Details {
    let text = |value: &Value, field: &str| {
        let text = value.get(field).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let causes = details.get("causes").and_then(Value::as_array);
    let causes = causes.into_iter().flatten().map(|cause| Cause {
        reason: text(cause, "reason"),
        message: text(cause, "message"),
        field: text(cause, "field"),
    });
    let wait = details.get("retryAfterSeconds").and_then(Value::as_u64);
    Details {
        name: text(details, "name"),
        group: text(details, "group"),
        kind: text(details, "kind"),
        uid: text(details, "uid"),
        causes: causes.collect(),
        retry_after_seconds: wait.and_then(|wait| wait.try_into().ok()).unwrap_or(0),
        continues: String::new(),
    }
}

impl Refusal {
    /// As the client reads it.
    pub(crate) fn status(&self, webhook: &str) -> Status {
        let message = &self.message;
        Status {
            code: self.code,
            reason: self.reason.clone().into(),
            message: format!("admission webhook {webhook:?} denied the request{message}"),
            details: Box::new(self.details.clone()),
            warnings: Vec::new(),
            cause: None,
        }
    }
}

#[cfg(test)]
mod tests;

//! `AdmissionReview`: what a webhook is asked, and what its answer means.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use object::Value;
use object::patch::JsonPatch;
use serde_json::json;
use serve::call::Call;
use serve::options::FieldValidation;
use serve::status::{Cause, Details, Status};
use serve::target::Verb;

use crate::matching::{Asked, Operation};

/// The most warnings taken from one answer, and the longest of them in characters.
const WARNINGS: (usize, usize) = (32, 256);

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
    reason: &'static str,
    message: String,
    causes: Vec<Cause>,
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

/// Whether a document is of another kind than the resource's: the options of a stream, the request for a token. Such a
/// kind has one version.
pub(crate) fn is_foreign(call: &Call, document: &Value) -> bool {
    let kind = document.get("kind").and_then(Value::as_str);
    kind.is_some_and(|kind| kind != &*call.served.resource.kind)
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
    let mut fields = object::Map::new();
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

fn options(call: &Call, operation: Operation) -> Value {
    let kind = match (operation, call.verb) {
        (Operation::Connect, _) => return Value::Null,
        (Operation::Delete, _) => "DeleteOptions",
        (_, Verb::Patch) => "PatchOptions",
        (Operation::Create, _) => "CreateOptions",
        (Operation::Update, _) => "UpdateOptions",
    };
    let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
    let Some(fields) = options.as_object_mut() else {
        return options;
    };
    if call.options.dry_run {
        fields.insert("dryRun".to_owned(), json!(["All"]));
    }
    if operation != Operation::Delete {
        if call.options.manager_is_named {
            fields.insert("fieldManager".to_owned(), json!(call.options.field_manager));
        }
        let validation = match call.options.field_validation {
            FieldValidation::Ignore => "Ignore",
            FieldValidation::Warn => "Warn",
            FieldValidation::Strict => "Strict",
        };
        fields.insert("fieldValidation".to_owned(), json!(validation));
    }
    if kind == "PatchOptions" && call.options.force {
        fields.insert("force".to_owned(), json!(true));
    }
    options
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
    // Upstream: what answers the old version need not say what it is.
    if !(is_old && api_version.is_empty() && kind.is_empty())
        && (api_version != expected || kind != "AdmissionReview")
    {
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
    if answered != uid && !(is_old && answered.is_empty()) {
        return Err(format!(
            "expected response.uid={uid:?}, got {answered:.64?}"
        ));
    }
    let patch = read_patch(response, may_change)?;
    let allowed = response
        .get("allowed")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let notes = response.get("auditAnnotations").and_then(Value::as_object);
    let notes = notes.into_iter().flatten().filter_map(|(name, value)| {
        let value = value.as_str()?;
        Some((name.clone(), value.to_owned()))
    });
    let (most, longest) = WARNINGS;
    let warnings = response.get("warnings").and_then(Value::as_array);
    let warnings = warnings.into_iter().flatten().filter_map(Value::as_str);
    Ok(Answer {
        refusal: (!allowed).then(|| Box::new(read_refusal(response.get("status")))),
        patch,
        warnings: warnings
            .take(most)
            .map(|warning| warning.chars().take(longest).collect())
            .collect(),
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
        (patch, Some("JSONPatch")) => {
            let bytes = STANDARD
                .decode(patch)
                .map_err(|_| "response.patch is not base64".to_owned())?;
            let document: Value = serde_json::from_slice(&bytes)
                .map_err(|_| "response.patch is not JSON".to_owned())?;
            let patch = JsonPatch::decode(&document)
                .map_err(|error| format!("response.patch is not a JSON patch: {error}"))?;
            Ok(Some(patch))
        }
        (_, Some(other)) => Err(format!("unsupported patch type {other:.64?}")),
    }
}

fn read_refusal(status: Option<&Value>) -> Refusal {
    let text = |field: &str| {
        let text = status.and_then(|status| status.get(field)?.as_str());
        text.unwrap_or_default()
    };
    let code = status
        .and_then(|status| status.get("code")?.as_u64())
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..=599).contains(code))
        // Upstream: a refusal is never answered as a success.
        .unwrap_or(400);
    let message = match (text("message"), text("reason")) {
        ("", "") => " without explanation".to_owned(),
        ("", reason) => format!(": {reason}"),
        (message, _) => format!(": {message}"),
    };
    let causes = status.and_then(|status| status.get("details")?.get("causes")?.as_array());
    let causes = causes.into_iter().flatten().take(WARNINGS.0).map(|cause| {
        let text = |field: &str| cause.get(field).and_then(Value::as_str).unwrap_or_default();
        Cause {
            reason: text("reason").to_owned(),
            message: text("message").to_owned(),
            field: text("field").to_owned(),
        }
    });
    Refusal {
        code,
        reason: known_reason(text("reason"), code),
        message,
        causes: causes.collect(),
    }
}

impl Refusal {
    /// As the client reads it.
    pub(crate) fn status(&self, webhook: &str, call: &Call) -> Status {
        let message = &self.message;
        Status {
            code: self.code,
            reason: self.reason,
            message: format!("admission webhook {webhook:?} denied the request{message}"),
            details: Box::new(Details {
                name: call.target.name.clone(),
                group: call.target.group.clone(),
                kind: call.target.resource.clone(),
                causes: self.causes.clone(),
                ..Details::default()
            }),
            warnings: Vec::new(),
            cause: None,
        }
    }
}

/// A reason clients know; what follows from the code if the webhook gives none of them.
pub(crate) fn known_reason(reason: &str, code: u16) -> &'static str {
    const KNOWN: [&str; 18] = [
        "Unauthorized",
        "Forbidden",
        "NotFound",
        "AlreadyExists",
        "Conflict",
        "Gone",
        "Invalid",
        "ServerTimeout",
        "Timeout",
        "TooManyRequests",
        "BadRequest",
        "MethodNotAllowed",
        "NotAcceptable",
        "RequestEntityTooLarge",
        "UnsupportedMediaType",
        "InternalError",
        "ServiceUnavailable",
        "QuotaExceeded",
    ];
    if let Some(known) = KNOWN.into_iter().find(|known| *known == reason) {
        return known;
    }
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        500..=599 => "InternalError",
        _ => "",
    }
}

#[cfg(test)]
mod tests;

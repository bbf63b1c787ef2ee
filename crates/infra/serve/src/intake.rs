//! From the bytes of a body to an object that may be worked on: decoded, of the right kind, in the right place, without
//! unknown fields.

use std::collections::{BTreeSet, HashSet};

use http::HeaderMap;
use object::field::{FieldError, FieldPath};
use object::parse::{self, ParseError};
use object::{Map, Value};
use schema::Malformed;
use schema::wire::{DecodeError, Envelope};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::DuplicateKeyPolicy;

use crate::call::Call;
use crate::negotiate::{Content, Wire};
use crate::options::FieldValidation;
use crate::resource::SchemaDuty;
use crate::status::{Status, Subject};
use crate::target::Verb;

/// An object as a client sent it, and what it should be told about it.
#[derive(Debug)]
pub struct Taken {
    /// The object.
    pub object: Value,
    /// For `Warning` headers.
    pub warnings: Vec<String>,
}

/// Reads a whole object for the resource of the call.
pub fn object(call: &Call, content: Content, body: &[u8]) -> Result<Taken, Status> {
    let wire = call.served.resource.rules.wire();
    let (mut value, repeated) = decode_sent(content, body, wire)?;
    let Some(fields) = value.as_object_mut() else {
        return Err(Status::bad_request("the body must be one object"));
    };
    check_kind(call, fields, content)?;
    check_place(call, fields, content)?;
    let mut problems = repeated;
    settle_nulls(call, &mut value, content, body);
    // What is applied is held against the schema field by field later: nothing unknown in it is let pass.
    let applied = content == Content::Apply;
    if !applied {
        problems.extend(prune(call, &mut value)?);
    }
    if !problems.is_empty() && !is_custom(call) && !applied {
        let (original, _) = decode_sent(content, body, wire)?;
        problems = in_document_order(&original, problems);
    }
    let mut warnings = judge(call.options.field_validation, problems).map_err(|refusal| {
        let resource = &call.served.resource;
        let version = &call.served.version().name;
        let kind = &resource.kind;
        // Upstream: what is applied is always read as YAML.
        Status::bad_request(if applied {
            format!(
                "error strict decoding YAML: error converting YAML to JSON: {YAML_ERRORS}{}",
                refusal.0.join("\n  ")
            )
        } else {
            let why = refusal.message();
            format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}")
        })
    })?;
    warnings.extend(name_owners_once(call, &mut value));
    Ok(Taken {
        object: value,
        warnings,
    })
}

/// Checks what a patch made of an object, as if it had been sent whole. Fields nobody knows go: those the patch brought
/// are refused if the client is strict, those the object had all along are no news.
///
/// `repeated` is what the client is to be told of the patch itself.
pub fn patched(call: &Call, mut object: Value, repeated: &[String]) -> Result<Taken, Status> {
    let Some(fields) = object.as_object_mut() else {
        return Err(Status::bad_patch(
            call.shown(&object),
            "the patched document is not an object",
        ));
    };
    for (field, shown) in [("kind", "Kind"), ("apiVersion", "apiVersion")] {
        if fields.get(field).is_none_or(Value::is_null) {
            let found = call.shown(&object);
            let why = format!("Object '{shown}' is missing in '{found}'");
            return Err(Status::bad_patch(found, why));
        }
    }
    check_kind(call, fields, Content::Json)?;
    check_place(call, fields, Content::Json)?;
    // What is refused is shown as the patch made it.
    let is_strict = call.options.field_validation == FieldValidation::Strict;
    let shown = is_strict.then(|| object.clone());
    let mut problems = repeated.to_vec();
    problems.extend(prune(call, &mut object)?);
    let mut warnings = judge(call.options.field_validation, problems).map_err(|refusal| {
        let shown = call.shown(shown.as_ref().unwrap_or(&object));
        Status::bad_patch(shown, refusal.message())
    })?;
    warnings.extend(name_owners_once(call, &mut object));
    Ok(Taken { object, warnings })
}

/// Takes out of an object what its kind does not know, and says what that was.
fn prune(call: &Call, object: &mut Value) -> Result<Vec<String>, Status> {
    let Some(schema) = &call.served.version().schema else {
        return Ok(Vec::new());
    };
    let mut unknown = schema.prune(object);
    if is_custom(call) {
        // Custom kinds leave metadata out of their schemas, their own and that of objects within.
        let coerced = schema.coerce(object, Malformed::Refuse);
        let coerced = coerced.map_err(|error| undecodable(call, object, &error.to_string()))?;
        // Upstream: the object's own metadata is read first, that of others last.
        let (own, inner): (Vec<String>, Vec<String>) = coerced
            .into_iter()
            .partition(|path| path.starts_with("metadata."));
        unknown.splice(..0, own);
        unknown.extend(inner);
    } else {
        unknown.extend(schema.prune_metadata(object));
    }
    let told = unknown.iter();
    Ok(told.map(|path| format!("unknown field {path:?}")).collect())
}

/// What is wrong with fields of a built-in object, as it is met on the way through the document. Upstream: of fields nobody
/// knows only that is told; custom objects are read twice, so that their lists come one after the other.
fn in_document_order(document: &Value, problems: Vec<String>) -> Vec<String> {
    let (by_line, by_field): (Vec<String>, Vec<String>) = problems
        .into_iter()
        .partition(|problem| problem.starts_with("line "));
    let known: BTreeSet<String> = by_field.into_iter().collect();
    let mut found = by_line;
    walk(document, &FieldPath::root(), &known, &mut found);
    found
}

fn walk(value: &Value, path: &FieldPath, known: &BTreeSet<String>, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = path.child(name);
                let unknown = format!("unknown field {:?}", path.as_str());
                if known.contains(&unknown) {
                    found.push(unknown);
                    continue;
                }
                let duplicate = format!("duplicate field {:?}", path.as_str());
                if known.contains(&duplicate) {
                    found.push(duplicate);
                }
                walk(value, &path, known, found);
            }
        }
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                walk(item, &path.index(position), known, found);
            }
        }
        _ => {}
    }
}

/// Built-in kinds read `null` as nothing. Few bodies have any, so that they are looked at before their objects are.
pub(crate) fn settle_nulls(call: &Call, object: &mut Value, content: Content, body: &[u8]) {
    let has_any = content != Content::Protobuf && has_null(content, body);
    let schema = call.served.version().schema.as_ref();
    if let (true, false, Some(schema)) = (has_any, is_custom(call), schema) {
        schema.settle_nulls(object);
    }
}

/// Whether a body may say `null`; YAML has several words for it.
fn has_null(content: Content, body: &[u8]) -> bool {
    let is_braced = body.trim_ascii_start().starts_with(b"{");
    if matches!(content, Content::Yaml | Content::Apply) && !is_braced {
        return true;
    }
    body.windows(4).any(|bytes| bytes == b"null")
}

/// What cannot be an object of its kind, whether it was sent or a patch made it.
fn undecodable(call: &Call, object: &Value, why: &str) -> Status {
    if call.verb == Verb::Patch && !call.applies {
        return Status::bad_patch(call.shown(object), why);
    }
    let (kind, version) = (&call.served.resource.kind, &call.served.version().name);
    Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
    ))
}

/// Names every owner once. Upstream: whoever names one twice is told, and told otherwise if a patch did it.
fn name_owners_once(call: &Call, object: &mut Value) -> Option<String> {
    let owners = object
        .get_mut("metadata")?
        .get_mut("ownerReferences")?
        .as_array_mut()?;
    // Invariant: every owner is looked at once, however many there are.
    let mut seen: HashSet<&Value> = HashSet::with_capacity(owners.len());
    let is_first: Vec<bool> = owners.iter().map(|owner| seen.insert(owner)).collect();
    if is_first.iter().all(|is_first| *is_first) {
        return None;
    }
    let mut twice: Vec<String> = Vec::new();
    let mut named: HashSet<String> = HashSet::new();
    let mut is_first = is_first.into_iter();
    owners.retain(|owner| {
        let is_first = is_first.next().unwrap_or(true);
        let uid = owner.get("uid").and_then(Value::as_str).unwrap_or_default();
        if !is_first && named.insert(uid.to_owned()) {
            twice.push(uid.to_owned());
        }
        is_first
    });
    let when = match call.verb {
        Verb::Patch => " after mutating admission happens",
        _ => "",
    };
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, \
         and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        twice.join(", ")
    ))
}

/// Decodes a body of JSON or YAML without knowing what it is; also says which fields were given twice.
pub fn decode(content: Content, body: &[u8]) -> Result<(Value, Vec<String>), Status> {
    decode_sent(content, body, None)
}

/// A body as the document it says, in whatever form that is: for those who write down what was said or answered, not for
/// those who act on it. Nothing if it cannot be read.
#[must_use]
pub fn said(headers: &HeaderMap, body: &[u8], wire: Option<Wire>) -> Option<Value> {
    // What is in no known form is refused elsewhere, and may be JSON all the same.
    let content = Content::of(headers, &Content::ALL).unwrap_or(Content::Json);
    let kind = match content {
        Content::Protobuf => Envelope::open(body).ok()?.kind,
        _ => "",
    };
    decode_sent(content, body, wire)
        .map(|(value, _)| value)
        // Such as options, which every group has.
        .or_else(|_| decode_options(content, body, wire, kind))
        .ok()
}

/// Decodes a body without knowing what it is. Protobuf is read by the tables given.
pub(crate) fn decode_sent(
    content: Content,
    body: &[u8],
    wire: Option<Wire>,
) -> Result<(Value, Vec<String>), Status> {
    if body.is_empty() {
        return Err(Status::bad_request(
            "the body is empty; an object was expected",
        ));
    }
    match content {
        Content::Protobuf => {
            let wire = wire.ok_or_else(|| Content::refuse(&[Content::Json, Content::Yaml]))?;
            let value = wire.0.decode(body).map_err(malformed)?;
            Ok((value, Vec::new()))
        }
        Content::Yaml | Content::Apply => {
            // Programs mostly send JSON, which is YAML too and read many times faster as what it is.
            let is_braced = body.trim_ascii_start().starts_with(b"{");
            match is_braced.then(|| parse::parse_json(body)) {
                Some(Ok(parsed)) => Ok(with_duplicates(parsed)),
                Some(Err(deep @ ParseError::TooDeep { .. })) => Err(Status::bad_request(format!(
                    "error decoding the body as YAML: {deep}"
                ))),
                _ => yaml(body),
            }
        }
        _ => {
            let parsed = parse::parse_json(body).map_err(|error| {
                Status::bad_request(format!("error decoding the body as JSON: {error}"))
            })?;
            Ok(with_duplicates(parsed))
        }
    }
}

fn with_duplicates(parsed: parse::Parsed) -> (Value, Vec<String>) {
    let mut seen: HashSet<&str> = HashSet::new();
    let told = (parsed.duplicates.iter())
        // However often it is given.
        .filter(|path| seen.insert(path.as_str()))
        .map(|path| format!("duplicate field {:?}", path.as_str()))
        .collect();
    (parsed.value, told)
}

/// Decodes a body of a kind that every group has, such as `DeleteOptions`.
pub(crate) fn decode_options(
    content: Content,
    body: &[u8],
    wire: Option<Wire>,
    kind: &str,
) -> Result<Value, Status> {
    let message = wire.and_then(|wire| Some((wire, wire.0.find("v1", kind)?)));
    match (content, message) {
        (Content::Protobuf, Some((wire, message))) => {
            wire.0.decode_message(body, message).map_err(malformed)
        }
        _ => decode_sent(content, body, wire).map(|(value, _)| value),
    }
}

fn malformed(error: DecodeError) -> Status {
    Status::bad_request(format!("error decoding the body as protobuf: {error}"))
}

/// A key that is given twice counts as it was given last; the first such key is named with its line.
fn yaml(body: &[u8]) -> Result<(Value, Vec<String>), Status> {
    let text = std::str::from_utf8(body)
        .map_err(|_| Status::bad_request("the body is not valid UTF-8"))?;
    let read = |policy: DuplicateKeyPolicy| {
        let options = serde_saphyr::options! {
            with_snippet: false,
            // Upstream: `0777` is 511, as in YAML 1.1.
            legacy_octal_numbers: true,
            duplicate_keys: policy,
        };
        serde_saphyr::from_str_with_options::<Value>(text, options)
    };
    let refuse = |error: serde_saphyr::Error| {
        let mut cause = &error;
        while let serde_saphyr::Error::AliasError { error, .. } = cause {
            cause = error;
        }
        let why = match cause {
            serde_saphyr::Error::Budget { breach, .. } => excess(breach),
            _ => error.to_string(),
        };
        Status::bad_request(format!("error decoding the body as YAML: {why}"))
    };
    let told = match read(DuplicateKeyPolicy::Error) {
        Ok(value) => return Ok((value, Vec::new())),
        Err(serde_saphyr::Error::DuplicateMappingKey { key, location }) => {
            let key = key.unwrap_or_default();
            format!("line {}: key {key:?} already set in map", location.line())
        }
        Err(other) => return Err(refuse(other)),
    };
    let value = read(DuplicateKeyPolicy::LastWins).map_err(refuse)?;
    Ok((value, vec![told]))
}

/// What a document has too much of to be read.
fn excess(breach: &BudgetBreach) -> String {
    let (what, count) = match breach {
        BudgetBreach::Events { events } => ("parts", *events),
        BudgetBreach::Nodes { nodes } => ("values, with what its aliases stand for", *nodes),
        BudgetBreach::Aliases { aliases } => ("aliases", *aliases),
        BudgetBreach::Anchors { anchors } => ("anchors", *anchors),
        BudgetBreach::MergeKeys { merge_keys } => ("merge keys", *merge_keys),
        BudgetBreach::Documents { documents } => ("documents", *documents),
        BudgetBreach::Depth { depth } => ("levels of lists and maps within each other", *depth),
        BudgetBreach::ScalarBytes { total_scalar_bytes } => (
            "bytes of text, with what its aliases stand for",
            *total_scalar_bytes,
        ),
        BudgetBreach::AliasAnchorRatio { aliases, anchors } => {
            return format!(
                "the document has {aliases} aliases of only {anchors} anchors, which is too many"
            );
        }
        BudgetBreach::SequenceUnbalanced => {
            return "the document ends a list or map that was not begun".to_owned();
        }
        _ => return "the document is too large, with what its aliases stand for".to_owned(),
    };
    format!("the document is too large: it has at least {count} {what}")
}

/// What stands above the lines that something is wrong with.
const YAML_ERRORS: &str = "yaml: unmarshal errors:\n  ";

/// Why a strict client is refused.
struct Refusal(Vec<String>);

impl Refusal {
    fn message(&self) -> String {
        let by_line = self
            .0
            .first()
            .is_some_and(|first| first.starts_with("line "));
        let above = if by_line { YAML_ERRORS } else { "" };
        format!("strict decoding error: {above}{}", self.0.join(", "))
    }
}

fn judge(validation: FieldValidation, problems: Vec<String>) -> Result<Vec<String>, Refusal> {
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(problems),
        FieldValidation::Strict if problems.is_empty() => Ok(problems),
        FieldValidation::Strict => Err(Refusal(problems)),
    }
}

/// The object must be of the kind and version of the path; what it leaves out is filled in.
fn check_kind(call: &Call, fields: &mut Map, content: Content) -> Result<(), Status> {
    let expected = [
        ("apiVersion", call.served.api_version()),
        ("kind", call.served.resource.kind.to_string()),
    ];
    let is_unnamed = |name: &str| fields.get(name).is_none_or(Value::is_null);
    if content == Content::Apply && (is_unnamed("apiVersion") || is_unnamed("kind")) {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let version = match text("apiVersion") {
            "" => "/",
            version => version,
        };
        return Err(Status::bad_request(format!(
            "invalid object type: {version}, Kind={}",
            text("kind")
        )));
    }
    for (name, expected) in expected {
        match fields.get(name) {
            None | Some(Value::Null) => {
                fields.insert(name.to_owned(), Value::from(expected));
            }
            Some(Value::String(given)) if *given == expected => {}
            Some(given) if !given.is_string() => {
                return Err(Status::bad_request(format!(
                    "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: \
                     json: cannot unmarshal {} into Go struct field .{name} of type string",
                    call.served.resource.kind,
                    crate::metadata::found(given)
                )));
            }
            // Upstream: what a patch makes of a custom object is told apart later, by validation.
            Some(Value::String(given))
                if name == "apiVersion"
                    && is_custom(call)
                    && call.verb == Verb::Patch
                    && !call.applies =>
            {
                let why = format!("must be {expected}");
                let error = FieldError::invalid(FieldPath::new(name), given.as_str(), why);
                let subject = call.kind_subject(name_of_fields(fields));
                return Err(Status::invalid(subject, &[error]));
            }
            Some(given) if name == "apiVersion" => {
                return Err(Status::bad_request(format!(
                    "the API version in the data ({}) does not match the expected API version ({expected})",
                    shown(given)
                )));
            }
            Some(Value::String(given)) if is_custom(call) && content == Content::Apply => {
                let version = call.served.api_version();
                return Err(Status::bad_request(format!(
                    "invalid object type: {version}, Kind={given}"
                )));
            }
            // Upstream: custom kinds are told apart later, by validation.
            Some(Value::String(given)) if is_custom(call) => {
                let subject = Subject {
                    group: &call.target.group,
                    resource: given,
                    name: name_of_fields(fields),
                };
                let kind = FieldPath::new("kind");
                let why = format!("must be {expected}");
                let error = FieldError::invalid(kind, given.as_str(), why);
                return Err(Status::invalid(subject, &[error]));
            }
            Some(given) => {
                return Err(Status::bad_request(format!(
                    "the kind in the data ({}) does not match the expected kind ({expected})",
                    shown(given)
                )));
            }
        }
    }
    Ok(())
}

fn is_custom(call: &Call) -> bool {
    call.served.resource.rules.schema_duty() == SchemaDuty::Everything
}

fn name_of_fields(fields: &Map) -> &str {
    let metadata = fields.get("metadata");
    let name = metadata.and_then(|metadata| metadata.get("name"));
    name.and_then(Value::as_str).unwrap_or_default()
}

/// The object must be where the path says; what it leaves out is filled in. A declaration to be applied is about the
/// object of the path without saying where that is.
fn check_place(call: &Call, fields: &mut Map, content: Content) -> Result<(), Status> {
    let metadata = fields
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    let Value::Object(metadata) = metadata else {
        return Err(Status::bad_request("metadata: expected an object"));
    };
    let is_read = is_custom(call) && content != Content::Apply;
    if let Some(problem) = crate::metadata::mistyped(metadata).filter(|_| is_read) {
        return Err(undecodable(call, &Value::Object(fields.clone()), &problem));
    }
    for name in ["name", "namespace"] {
        if metadata
            .get(name)
            .is_some_and(|value| !value.is_string() && !value.is_null())
        {
            return Err(Status::bad_request(format!(
                "metadata.{name}: expected a string"
            )));
        }
    }
    let text = |metadata: &Map, name: &str| {
        metadata
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let namespace = text(metadata, "namespace");
    match (call.served.resource.namespaced, namespace.as_str()) {
        (true, "") if content == Content::Apply => {}
        (true, "") => drop(metadata.insert(
            "namespace".to_owned(),
            Value::from(call.target.namespace.as_str()),
        )),
        (true, given) if given == call.target.namespace => {}
        (false, "") => drop(metadata.shift_remove("namespace")),
        _ => {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    }
    let name = text(metadata, "name");
    if call.target.name.is_empty() {
        return Ok(());
    }
    match name.as_str() {
        "" => return Err(Status::unnamed(&call.target.name)),
        given if given == call.target.name => {}
        given => {
            return Err(Status::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({})",
                call.target.name
            )));
        }
    }
    Ok(())
}

fn shown(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

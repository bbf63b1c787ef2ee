//! From the bytes of a body to an object that may be worked on: decoded, of the right kind, in the right place, without
//! unknown fields.

use object::field::{FieldError, FieldPath};
use object::parse::{self, ParseError};
use object::{Map, Value};
use schema::wire::DecodeError;

use crate::call::Call;
use crate::negotiate::{Content, Wire};
use crate::options::FieldValidation;
use crate::resource::SchemaDuty;
use crate::status::{Status, Subject};

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
    let (mut value, duplicates) = decode_sent(content, body, wire)?;
    let Some(fields) = value.as_object_mut() else {
        return Err(Status::bad_request("the body must be one object"));
    };
    check_kind(call, fields, content)?;
    check_place(call, fields, content)?;
    let duplicates = duplicates
        .iter()
        .map(|path| format!("duplicate field {path:?}"));
    let mut problems: Vec<String> = duplicates.collect();
    // What is applied is held against the schema field by field later: nothing unknown in it is let pass.
    let applied = content == Content::Apply;
    if is_custom(call) && !applied {
        problems.extend(prune_metadata(fields));
    }
    if let Some(schema) = call.served.version().schema.as_ref().filter(|_| !applied) {
        problems.extend(
            schema
                .prune(&mut value)
                .iter()
                .map(|path| format!("unknown field {path:?}")),
        );
    }
    let warnings = judge(call.options.field_validation, problems).map_err(|refusal| {
        let resource = &call.served.resource;
        let version = &call.served.version().name;
        Status::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {refusal}",
            kind = resource.kind
        ))
    })?;
    Ok(Taken {
        object: value,
        warnings,
    })
}

/// Checks what a patch made of an object, as if it had been sent whole. Fields nobody knows go: those the patch brought
/// are refused if the client is strict, those the object had all along are no news.
pub fn patched(call: &Call, mut object: Value) -> Result<Taken, Status> {
    let Some(fields) = object.as_object_mut() else {
        return Err(Status::bad_patch(
            &object,
            "the patched document is not an object",
        ));
    };
    check_kind(call, fields, Content::Json)?;
    check_place(call, fields, Content::Json)?;
    let mut problems = Vec::new();
    if is_custom(call) {
        problems.extend(prune_metadata(fields));
    }
    if let Some(schema) = &call.served.version().schema {
        let unknown = schema.prune(&mut object);
        problems.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    }
    let warnings = judge(call.options.field_validation, problems)?;
    Ok(Taken { object, warnings })
}

/// Decodes a body of JSON or YAML without knowing what it is; also names the fields given twice.
pub fn decode(content: Content, body: &[u8]) -> Result<(Value, Vec<String>), Status> {
    decode_sent(content, body, None)
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
                _ => yaml(body).map(|value| (value, Vec::new())),
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
    let duplicates = parsed.duplicates.iter().map(ToString::to_string);
    (parsed.value, duplicates.collect())
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

fn yaml(body: &[u8]) -> Result<Value, Status> {
    let text = std::str::from_utf8(body)
        .map_err(|_| Status::bad_request("the body is not valid UTF-8"))?;
    let options = serde_saphyr::options! {
        with_snippet: false,
        // Upstream: `0777` is 511, as in YAML 1.1.
        legacy_octal_numbers: true,
    };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| Status::bad_request(format!("error decoding the body as YAML: {error}")))
}

fn judge(validation: FieldValidation, problems: Vec<String>) -> Result<Vec<String>, Status> {
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(problems),
        FieldValidation::Strict if problems.is_empty() => Ok(problems),
        FieldValidation::Strict => Err(Status::bad_request(format!(
            "strict decoding error: {}",
            problems.join(", ")
        ))),
    }
}

/// The object must be of the kind and version of the path; what it leaves out is filled in.
fn check_kind(call: &Call, fields: &mut Map, content: Content) -> Result<(), Status> {
    let expected = [
        ("apiVersion", call.served.api_version()),
        ("kind", call.served.resource.kind.to_string()),
    ];
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

/// Takes out of the metadata what is no field of it; what the client is told.
fn prune_metadata(fields: &mut Map) -> Vec<String> {
    let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
    let unknown = metadata.map(crate::metadata::prune).unwrap_or_default();
    let told = unknown.iter();
    told.map(|name| format!("unknown field \"metadata.{name}\""))
        .collect()
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
        let (kind, version) = (&call.served.resource.kind, &call.served.version().name);
        return Err(Status::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {problem}"
        )));
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
        "" => drop(metadata.insert("name".to_owned(), Value::from(call.target.name.as_str()))),
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

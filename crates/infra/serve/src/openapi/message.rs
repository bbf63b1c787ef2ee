//! OpenAPI v2 as the protobuf message that clients in Go ask for.
//!
//! The message mirrors the JSON document field by field, so that it is written from the document by tables: a line for
//! each field with its name there and its number here. Values of any kind are YAML text in it, for which JSON serves.
//!
//! Upstream: the message is `openapi.v2.Document` of gnostic.

use bytes::Bytes;
use object::{Map, Value};

/// One field of a message: its name in JSON, its number, and what it holds.
type Field = (&'static str, u32, Holds);

/// What a field holds.
#[derive(Clone, Copy)]
enum Holds {
    /// A text.
    Text,
    /// A whole number.
    Whole,
    /// Any number.
    Real,
    /// Yes or no.
    Flag,
    /// Any value, as a message with its YAML text.
    Any,
    /// A list of these; one alone counts as a list of one.
    Each(&'static Holds),
    /// An object with these fields.
    Message(&'static [Field]),
    /// A message whose only field has this number.
    Within(u32, &'static Holds),
    /// An object with any names, as a message that has under this number pairs of a name and one of these.
    Pairs(u32, &'static Holds),
    /// What the value itself says.
    Chosen(fn(&Value) -> Holds),
}

/// Under this name a table has the number of everything whose name begins so.
const EXTENSIONS: &str = "x-";

static DOCUMENT: &[Field] = &[
    ("swagger", 1, Holds::Text),
    ("info", 2, Holds::Message(INFO)),
    ("paths", 8, Holds::Pairs(2, &Holds::Message(PATH))),
    ("definitions", 9, Holds::Pairs(1, &SCHEMA)),
];

static INFO: &[Field] = &[("title", 1, Holds::Text), ("version", 2, Holds::Text)];

static PATH: &[Field] = &[
    ("get", 2, OPERATION),
    ("put", 3, OPERATION),
    ("post", 4, OPERATION),
    ("delete", 5, OPERATION),
    ("options", 6, OPERATION),
    ("head", 7, OPERATION),
    ("patch", 8, OPERATION),
    ("parameters", 9, PARAMETERS),
    (EXTENSIONS, 10, Holds::Any),
];

const OPERATION: Holds = Holds::Message(&[
    ("tags", 1, Holds::Each(&Holds::Text)),
    ("summary", 2, Holds::Text),
    ("description", 3, Holds::Text),
    ("operationId", 5, Holds::Text),
    ("produces", 6, Holds::Each(&Holds::Text)),
    ("consumes", 7, Holds::Each(&Holds::Text)),
    ("parameters", 8, PARAMETERS),
    (
        "responses",
        9,
        Holds::Pairs(1, &Holds::Within(1, &RESPONSE)),
    ),
    ("schemes", 10, Holds::Each(&Holds::Text)),
    ("deprecated", 11, Holds::Flag),
    (EXTENSIONS, 13, Holds::Any),
]);

const PARAMETERS: Holds = Holds::Each(&Holds::Within(1, &Holds::Chosen(parameter)));

/// A parameter is in the body, in the query or in the path, each of which is a message of its own.
fn parameter(value: &Value) -> Holds {
    match value.get("in").and_then(Value::as_str) {
        Some("body") => Holds::Within(1, &BODY),
        Some("path") => Holds::Within(2, &PATH_PARAMETER),
        _ => Holds::Within(2, &QUERY_PARAMETER),
    }
}

static PATH_PARAMETER: Holds = Holds::Within(4, &IN_PATH);
static QUERY_PARAMETER: Holds = Holds::Within(3, &IN_QUERY);

static BODY: Holds = Holds::Message(&[
    ("description", 1, Holds::Text),
    ("name", 2, Holds::Text),
    ("in", 3, Holds::Text),
    ("required", 4, Holds::Flag),
    ("schema", 5, SCHEMA),
]);

static IN_QUERY: Holds = Holds::Message(&[
    ("required", 1, Holds::Flag),
    ("in", 2, Holds::Text),
    ("description", 3, Holds::Text),
    ("name", 4, Holds::Text),
    ("type", 6, Holds::Text),
    ("uniqueItems", 20, Holds::Flag),
]);

static IN_PATH: Holds = Holds::Message(&[
    ("required", 1, Holds::Flag),
    ("in", 2, Holds::Text),
    ("description", 3, Holds::Text),
    ("name", 4, Holds::Text),
    ("type", 5, Holds::Text),
    ("uniqueItems", 19, Holds::Flag),
]);

const RESPONSE: Holds = Holds::Message(&[
    ("description", 1, Holds::Text),
    ("schema", 2, Holds::Within(1, &SCHEMA)),
]);

const SCHEMA: Holds = Holds::Chosen(|_| Holds::Message(SCHEMA_FIELDS));

static SCHEMA_FIELDS: &[Field] = &[
    ("$ref", 1, Holds::Text),
    ("format", 2, Holds::Text),
    ("title", 3, Holds::Text),
    ("description", 4, Holds::Text),
    ("default", 5, Holds::Any),
    ("multipleOf", 6, Holds::Real),
    ("maximum", 7, Holds::Real),
    ("exclusiveMaximum", 8, Holds::Flag),
    ("minimum", 9, Holds::Real),
    ("exclusiveMinimum", 10, Holds::Flag),
    ("maxLength", 11, Holds::Whole),
    ("minLength", 12, Holds::Whole),
    ("pattern", 13, Holds::Text),
    ("maxItems", 14, Holds::Whole),
    ("minItems", 15, Holds::Whole),
    ("uniqueItems", 16, Holds::Flag),
    ("maxProperties", 17, Holds::Whole),
    ("minProperties", 18, Holds::Whole),
    ("required", 19, Holds::Each(&Holds::Text)),
    ("enum", 20, Holds::Each(&Holds::Any)),
    ("additionalProperties", 21, Holds::Chosen(additional)),
    ("type", 22, Holds::Within(1, &Holds::Each(&Holds::Text))),
    ("items", 23, Holds::Within(1, &Holds::Each(&SCHEMA))),
    ("allOf", 24, Holds::Each(&SCHEMA)),
    ("properties", 25, Holds::Pairs(1, &SCHEMA)),
    ("readOnly", 27, Holds::Flag),
    ("externalDocs", 29, Holds::Message(DOCUMENTATION)),
    ("example", 30, Holds::Any),
    (EXTENSIONS, 31, Holds::Any),
];

static DOCUMENTATION: &[Field] = &[("description", 1, Holds::Text), ("url", 2, Holds::Text)];

fn additional(value: &Value) -> Holds {
    match value {
        Value::Bool(_) => Holds::Within(2, &Holds::Flag),
        _ => Holds::Within(1, &SCHEMA),
    }
}

/// The message of a document.
pub(super) fn encode(document: &Value) -> Bytes {
    let mut out = Vec::new();
    if let Value::Object(fields) = document {
        put_fields(&mut out, DOCUMENT, fields);
    }
    out.into()
}

fn put_fields(out: &mut Vec<u8>, table: &[Field], fields: &Map) {
    for (name, number, holds) in table {
        if *name == EXTENSIONS {
            let extensions = fields
                .iter()
                .filter(|(name, _)| name.starts_with(EXTENSIONS));
            for (name, value) in extensions {
                put_pair(out, *number, name, *holds, value);
            }
        } else if let Some(value) = fields.get(*name) {
            put(out, *number, *holds, value);
        }
    }
}

/// Appends a field; a value that is not what the field holds is left out.
fn put(out: &mut Vec<u8>, number: u32, holds: Holds, value: &Value) {
    match (holds, value) {
        (Holds::Text, Value::String(text)) => put_bytes(out, number, text.as_bytes()),
        (Holds::Flag, Value::Bool(flag)) => {
            put_varint(out, key(number, VARINT));
            put_varint(out, u64::from(*flag));
        }
        (Holds::Whole, value) => {
            if let Some(whole) = value.as_i64() {
                put_varint(out, key(number, VARINT));
                put_varint(out, whole.cast_unsigned());
            }
        }
        (Holds::Real, value) => {
            if let Some(real) = value.as_f64() {
                put_varint(out, key(number, FIXED));
                out.extend_from_slice(&real.to_le_bytes());
            }
        }
        (Holds::Any, value) => {
            let mut any = Vec::new();
            put_bytes(&mut any, 2, value.to_string().as_bytes());
            put_bytes(out, number, &any);
        }
        (Holds::Each(one), Value::Array(items)) => {
            for item in items {
                put(out, number, *one, item);
            }
        }
        (Holds::Each(one), value) => put(out, number, *one, value),
        (Holds::Message(table), Value::Object(fields)) => {
            let mut message = Vec::new();
            put_fields(&mut message, table, fields);
            put_bytes(out, number, &message);
        }
        (Holds::Within(inner, holds), value) => {
            let mut message = Vec::new();
            put(&mut message, inner, *holds, value);
            put_bytes(out, number, &message);
        }
        (Holds::Pairs(inner, holds), Value::Object(fields)) => {
            let mut message = Vec::new();
            for (name, value) in fields {
                put_pair(&mut message, inner, name, *holds, value);
            }
            put_bytes(out, number, &message);
        }
        (Holds::Chosen(choose), value) => put(out, number, choose(value), value),
        _ => {}
    }
}

/// A name under 1 and what it stands for under 2.
fn put_pair(out: &mut Vec<u8>, number: u32, name: &str, holds: Holds, value: &Value) {
    let mut pair = Vec::new();
    put_bytes(&mut pair, 1, name.as_bytes());
    put(&mut pair, 2, holds, value);
    put_bytes(out, number, &pair);
}

const VARINT: u32 = 0;
const FIXED: u32 = 1;
const LENGTH: u32 = 2;

fn key(number: u32, form: u32) -> u64 {
    u64::from(number << 3 | form)
}

fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_varint(out, key(number, LENGTH));
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(low_bits(value) | 0x80);
        value >>= 7;
    }
    out.push(low_bits(value));
}

fn low_bits(value: u64) -> u8 {
    value.to_le_bytes()[0] & 0x7f
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A message in words: numbers, nested messages in braces where the bytes are one, texts otherwise.
    fn read(bytes: &[u8]) -> Option<String> {
        let mut shown = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let key = varint(&mut rest)?;
            let number = key >> 3;
            let value = match key & 7 {
                0 => varint(&mut rest)?.to_string(),
                1 => {
                    let (real, after) = rest.split_first_chunk::<8>()?;
                    rest = after;
                    format!("{:?}", f64::from_le_bytes(*real))
                }
                2 => {
                    let length = usize::try_from(varint(&mut rest)?).ok()?;
                    let (inner, after) = rest.split_at_checked(length)?;
                    rest = after;
                    let text = std::str::from_utf8(inner).ok();
                    let printable =
                        |text: &&str| !text.is_empty() && !text.contains(char::is_control);
                    match text.filter(printable) {
                        Some(text) => format!("{text:?}"),
                        None => format!("{{{}}}", read(inner)?),
                    }
                }
                _ => return None,
            };
            shown.push(format!("{number}:{value}"));
        }
        Some(shown.join(" "))
    }

    fn varint(rest: &mut &[u8]) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, after) = rest.split_first()?;
            *rest = after;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    #[test]
    fn every_sort_of_field_is_written_under_its_number() {
        let schema = |schema: Value| json!({"definitions": {"T": schema}});
        for (document, expected) in [
            (json!({"swagger": "2.0"}), r#"1:"2.0""#),
            (
                json!({"info": {"version": "v1", "title": "K"}}),
                r#"2:{1:"K" 2:"v1"}"#,
            ),
            (
                schema(json!({"type": "string"})),
                r#"9:{1:{1:"T" 2:{22:{1:"string"}}}}"#,
            ),
            (
                schema(json!({"$ref": "#/definitions/U"})),
                r##"9:{1:{1:"T" 2:{1:"#/definitions/U"}}}"##,
            ),
            (
                schema(json!({"maxLength": 300, "minimum": 1.5, "uniqueItems": true})),
                r#"9:{1:{1:"T" 2:{9:1.5 11:300 16:1}}}"#,
            ),
            (
                schema(json!({"items": {"title": "a"}})),
                r#"9:{1:{1:"T" 2:{23:{1:{3:"a"}}}}}"#,
            ),
            (
                schema(json!({"additionalProperties": {"title": "a"}})),
                r#"9:{1:{1:"T" 2:{21:{1:{3:"a"}}}}}"#,
            ),
            (
                schema(json!({"additionalProperties": true})),
                r#"9:{1:{1:"T" 2:{21:{2:1}}}}"#,
            ),
            (
                schema(json!({"properties": {"p": {"title": "a"}}})),
                r#"9:{1:{1:"T" 2:{25:{1:{1:"p" 2:{3:"a"}}}}}}"#,
            ),
            (
                schema(json!({"required": ["a", "b"]})),
                r#"9:{1:{1:"T" 2:{19:"a" 19:"b"}}}"#,
            ),
            (
                schema(json!({"x-kubernetes-y": [{"a": 1}]})),
                r#"9:{1:{1:"T" 2:{31:{1:"x-kubernetes-y" 2:{2:"[{\"a\":1}]"}}}}}"#,
            ),
            (
                schema(json!({"title": 5, "unheard-of": 1})),
                r#"9:{1:{1:"T" 2:{}}}"#,
            ),
            (
                json!({"paths": {"/a": {"get": {"parameters": [{"in": "query", "name": "q"}]}}}}),
                r#"8:{2:{1:"/a" 2:{2:{8:{1:{2:{3:{2:"query" 4:"q"}}}}}}}}"#,
            ),
            (
                json!({"paths": {"/a": {"post": {"parameters": [{"in": "body", "schema": {"title": "a"}}]}}}}),
                r#"8:{2:{1:"/a" 2:{4:{8:{1:{1:{3:"body" 5:{3:"a"}}}}}}}}"#,
            ),
            (
                json!({"paths": {"/a": {"put": {"responses": {"200": {"description": "OK"}}}}}}),
                r#"8:{2:{1:"/a" 2:{3:{9:{1:{1:"200" 2:{1:{1:"OK"}}}}}}}}"#,
            ),
        ] {
            let bytes = encode(&document);
            assert_eq!(read(&bytes).as_deref(), Some(expected), "{document}");
        }
    }
}

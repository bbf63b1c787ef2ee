//! OpenAPI as the protobuf messages that clients in Go ask for.
//!
//! A message mirrors the JSON document field by field, so that it is written from the document by tables: a line for
//! each field with its name there and its number here. Values of any kind are YAML text in it, for which JSON serves.
//!
//! Upstream: the messages are `openapi.v2.Document` and `openapi.v3.Document` of gnostic.

mod v2;
mod v3;

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
    /// Nothing: there is no room for it.
    Nothing,
}

/// Under this name a table has the number of everything whose name begins so.
const EXTENSIONS: &str = "x-";

/// The message of a document of OpenAPI v2.
pub(super) fn encode_v2(document: &Value) -> Bytes {
    encode(v2::DOCUMENT, document)
}

/// The message of a document of OpenAPI v3.
pub(super) fn encode_v3(document: &Value) -> Bytes {
    encode(v3::DOCUMENT, document)
}

fn encode(table: &[Field], document: &Value) -> Bytes {
    let mut out = Vec::new();
    if let Value::Object(fields) = document {
        put_fields(&mut out, table, fields);
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
            let bytes = encode_v2(&document);
            assert_eq!(read(&bytes).as_deref(), Some(expected), "{document}");
        }
    }

    #[test]
    fn the_third_version_has_numbers_of_its_own_and_tells_references_from_schemas() {
        let schema = |schema: Value| json!({"components": {"schemas": {"T": schema}}});
        for (document, expected) in [
            (json!({"openapi": "3.0.0"}), r#"1:"3.0.0""#),
            (
                json!({"info": {"version": "v1", "title": "K"}}),
                r#"2:{1:"K" 6:"v1"}"#,
            ),
            (
                schema(json!({"type": "string", "nullable": true})),
                r#"5:{1:{1:{1:"T" 2:{1:{1:1 25:"string"}}}}}"#,
            ),
            (
                schema(json!({"allOf": [{"$ref": "#/U"}], "default": 5, "description": "d"})),
                r##"5:{1:{1:{1:"T" 2:{1:{26:{2:{1:"#/U"}} 33:{1:5.0} 34:"d"}}}}}"##,
            ),
            (
                schema(json!({"items": {"$ref": "#/U"}, "default": "x"})),
                r##"5:{1:{1:{1:"T" 2:{1:{30:{1:{2:{1:"#/U"}}} 33:{3:"x"}}}}}}"##,
            ),
            (
                schema(json!({"properties": {"p": {"title": "a"}}, "default": {}})),
                r#"5:{1:{1:{1:"T" 2:{1:{31:{1:{1:"p" 2:{1:{9:"a"}}}}}}}}}"#,
            ),
            (
                schema(json!({"additionalProperties": {"title": "a"}, "not": {"title": "b"}})),
                r#"5:{1:{1:{1:"T" 2:{1:{29:{9:"b"} 32:{1:{1:{9:"a"}}}}}}}}"#,
            ),
            (
                json!({"paths": {"/a": {"get": {"parameters": [{"in": "query", "name": "q"}]}}}}),
                r#"4:{1:{1:"/a" 2:{4:{6:{1:{1:"q" 2:"query"}}}}}}"#,
            ),
            (
                json!({"paths": {"/a": {"post": {"requestBody": {"content": {"j": {"schema": {"$ref": "#/U"}}}}}}}}),
                r##"4:{1:{1:"/a" 2:{6:{7:{1:{2:{1:{1:"j" 2:{1:{2:{1:"#/U"}}}}}}}}}}}"##,
            ),
            (
                json!({"paths": {"/a": {"put": {"responses": {"200": {"description": "OK"}}}}}}),
                r#"4:{1:{1:"/a" 2:{5:{8:{2:{1:"200" 2:{1:{1:"OK"}}}}}}}}"#,
            ),
        ] {
            let bytes = encode_v3(&document);
            assert_eq!(read(&bytes).as_deref(), Some(expected), "{document}");
        }
    }
}

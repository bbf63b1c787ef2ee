//! The fields of `openapi.v2.Document`, as far as documents of this server have them.

use object::Value;

use super::{EXTENSIONS, Field, Holds};

pub(super) static DOCUMENT: &[Field] = &[
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

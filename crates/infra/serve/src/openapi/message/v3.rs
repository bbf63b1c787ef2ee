//! The fields of `openapi.v3.Document`, as far as documents of this server have them.

use object::Value;

use super::{EXTENSIONS, Field, Holds};

pub(super) static DOCUMENT: &[Field] = &[
    ("openapi", 1, Holds::Text),
    ("info", 2, Holds::Message(INFO)),
    ("paths", 4, Holds::Pairs(1, &Holds::Message(PATH))),
    ("components", 5, Holds::Message(COMPONENTS)),
];

static INFO: &[Field] = &[
    ("title", 1, Holds::Text),
    ("description", 2, Holds::Text),
    ("version", 6, Holds::Text),
];

static COMPONENTS: &[Field] = &[("schemas", 1, Holds::Pairs(1, &SCHEMA_OR_REFERENCE))];

static PATH: &[Field] = &[
    ("get", 4, OPERATION),
    ("put", 5, OPERATION),
    ("post", 6, OPERATION),
    ("delete", 7, OPERATION),
    ("options", 8, OPERATION),
    ("head", 9, OPERATION),
    ("patch", 10, OPERATION),
    ("parameters", 13, PARAMETERS),
    (EXTENSIONS, 14, Holds::Any),
];

const OPERATION: Holds = Holds::Message(&[
    ("tags", 1, Holds::Each(&Holds::Text)),
    ("summary", 2, Holds::Text),
    ("description", 3, Holds::Text),
    ("operationId", 5, Holds::Text),
    ("parameters", 6, PARAMETERS),
    ("requestBody", 7, Holds::Within(1, &REQUEST_BODY)),
    (
        "responses",
        8,
        Holds::Pairs(2, &Holds::Within(1, &RESPONSE)),
    ),
    ("deprecated", 10, Holds::Flag),
    (EXTENSIONS, 13, Holds::Any),
]);

const PARAMETERS: Holds = Holds::Each(&Holds::Within(1, &PARAMETER));

static PARAMETER: Holds = Holds::Message(&[
    ("name", 1, Holds::Text),
    ("in", 2, Holds::Text),
    ("description", 3, Holds::Text),
    ("required", 4, Holds::Flag),
    ("schema", 10, SCHEMA_OR_REFERENCE),
]);

static REQUEST_BODY: Holds = Holds::Message(&[
    ("description", 1, Holds::Text),
    ("content", 2, CONTENT),
    ("required", 3, Holds::Flag),
]);

static RESPONSE: Holds =
    Holds::Message(&[("description", 1, Holds::Text), ("content", 3, CONTENT)]);

const CONTENT: Holds = Holds::Pairs(1, &Holds::Message(&[("schema", 1, SCHEMA_OR_REFERENCE)]));

const SCHEMA_OR_REFERENCE: Holds = Holds::Chosen(schema_or_reference);

/// A reference is a message of its own, and says nothing else.
fn schema_or_reference(value: &Value) -> Holds {
    match value.get("$ref") {
        Some(_) => Holds::Within(2, &Holds::Message(&[("$ref", 1, Holds::Text)])),
        None => Holds::Within(1, &SCHEMA),
    }
}

static SCHEMA: Holds = Holds::Message(SCHEMA_FIELDS);

static SCHEMA_FIELDS: &[Field] = &[
    ("nullable", 1, Holds::Flag),
    ("readOnly", 3, Holds::Flag),
    ("writeOnly", 4, Holds::Flag),
    ("externalDocs", 6, Holds::Message(DOCUMENTATION)),
    ("example", 7, Holds::Any),
    ("deprecated", 8, Holds::Flag),
    ("title", 9, Holds::Text),
    ("multipleOf", 10, Holds::Real),
    ("maximum", 11, Holds::Real),
    ("exclusiveMaximum", 12, Holds::Flag),
    ("minimum", 13, Holds::Real),
    ("exclusiveMinimum", 14, Holds::Flag),
    ("maxLength", 15, Holds::Whole),
    ("minLength", 16, Holds::Whole),
    ("pattern", 17, Holds::Text),
    ("maxItems", 18, Holds::Whole),
    ("minItems", 19, Holds::Whole),
    ("uniqueItems", 20, Holds::Flag),
    ("maxProperties", 21, Holds::Whole),
    ("minProperties", 22, Holds::Whole),
    ("required", 23, Holds::Each(&Holds::Text)),
    ("enum", 24, Holds::Each(&Holds::Any)),
    ("type", 25, Holds::Text),
    ("allOf", 26, Holds::Each(&SCHEMA_OR_REFERENCE)),
    ("oneOf", 27, Holds::Each(&SCHEMA_OR_REFERENCE)),
    ("anyOf", 28, Holds::Each(&SCHEMA_OR_REFERENCE)),
    ("not", 29, Holds::Chosen(|_| Holds::Message(SCHEMA_FIELDS))),
    ("items", 30, Holds::Within(1, &SCHEMA_OR_REFERENCE)),
    ("properties", 31, Holds::Pairs(1, &SCHEMA_OR_REFERENCE)),
    ("additionalProperties", 32, Holds::Chosen(additional)),
    ("default", 33, Holds::Chosen(default)),
    ("description", 34, Holds::Text),
    ("format", 35, Holds::Text),
    (EXTENSIONS, 36, Holds::Any),
];

static DOCUMENTATION: &[Field] = &[("description", 1, Holds::Text), ("url", 2, Holds::Text)];

fn additional(value: &Value) -> Holds {
    match value {
        Value::Bool(_) => Holds::Within(2, &Holds::Flag),
        _ => Holds::Within(1, &SCHEMA_OR_REFERENCE),
    }
}

/// A default is a number, a switch or a text; of any other the message has no room.
fn default(value: &Value) -> Holds {
    match value {
        Value::Number(_) => Holds::Within(1, &Holds::Real),
        Value::Bool(_) => Holds::Within(2, &Holds::Flag),
        Value::String(_) => Holds::Within(3, &Holds::Text),
        _ => Holds::Nothing,
    }
}

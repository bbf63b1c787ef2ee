//! Schemas of the kinds, made from the types: names, limits and documentation are written once, beside the field.
//!
//! [`structural_schema`] describes one version of one kind in the form Kubernetes asks of custom resources;
//! [`crds`] wraps the schemas into CustomResourceDefinitions.

mod definition;
mod structural;

pub use definition::{crds, definition, schemas};

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::Value;

/// A name with an optional domain before it, as the types of conditions have.
pub(crate) const QUALIFIED_NAME_PATTERN: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

/// One CamelCase word, as the reasons of conditions are.
pub(crate) const REASON_PATTERN: &str = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

/// Marks a field that is always written but need not be given.
const OPTIONAL: &str = "x-karavel-optional";

/// Marks a field that must be given although it is not always written.
const REQUIRED: &str = "x-karavel-required";

/// Carries the default that the server fills in, as opposed to the zero value of the type.
const DEFAULT: &str = "x-karavel-default";

/// The schema of `T` in structural form: every type inline, no `null`, Kubernetes' formats and extensions.
#[must_use]
pub fn structural_schema<T: JsonSchema>() -> Value {
    // What is written decides what is required: a field that is left out when zero need not be given.
    let settings = SchemaSettings::default().for_serialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    structural::simplify(&mut schema);
    structural::open_metadata(&mut schema);
    schema
}

/// For a field that is always written but need not be given.
pub(crate) fn optional(schema: &mut Schema) {
    schema.insert(OPTIONAL.to_owned(), true.into());
}

/// For a field that must be given although it is left out when zero.
pub(crate) fn required(schema: &mut Schema) {
    schema.insert(REQUIRED.to_owned(), true.into());
}

/// For a Go `int`, which has no declared width.
pub(crate) fn plain_integer(schema: &mut Schema) {
    schema.remove("format");
}

/// For bytes, which travel as base64.
pub(crate) fn bytes(schema: &mut Schema) {
    schema.insert("format".to_owned(), "byte".into());
}

/// Any JSON value.
pub(crate) fn free_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}

/// Any JSON object.
pub(crate) fn free_form_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// A list of JSON objects.
pub(crate) fn free_form_list(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": free_form_object(generator) })
}

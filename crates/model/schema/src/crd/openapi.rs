//! The rules for a custom resource's schema that do not depend on its being structural.

use std::collections::BTreeSet;

use object::{
    Value,
    field::{FieldError, FieldPath},
};

use super::props::{Additional, Items, Props};

/// What is known on the way down.
#[derive(Clone, Copy, Default)]
struct Context<'a> {
    /// Why defaults are not allowed here.
    no_defaults: Option<&'a str>,
    /// Whether the schema describes metadata of an object.
    in_metadata: bool,
}

/// Everything wrong with a schema by itself.
pub(super) fn check(schema: &Props, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, path, true, Context::default(), &mut errors);
    errors
}

fn walk(
    schema: &Props,
    path: &FieldPath,
    is_root: bool,
    context: Context<'_>,
    errors: &mut Vec<FieldError>,
) {
    constructs(schema, path, context, errors);
    if schema.unique_items {
        let detail =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(path.child("uniqueItems"), detail));
    }
    additional_properties(schema, path, context, errors);
    for (name, property) in &schema.properties {
        let path = path.child("properties").key(name);
        let is_meta = (is_root || schema.embedded)
            && ["metadata", "kind", "apiVersion"].contains(&name.as_str());
        let reason = format!("in top-level {name}");
        let context = match (is_meta, is_root) {
            (true, true) => Context {
                in_metadata: true,
                no_defaults: Some(&reason),
            },
            (true, false) => Context {
                in_metadata: true,
                ..context
            },
            (false, _) => context,
        };
        walk(property, &path, false, context, errors);
    }
    if let Some(not) = &schema.not {
        walk(not, &path.child("not"), false, context, errors);
    }
    for (name, branches) in [
        ("allOf", &schema.all_of),
        ("oneOf", &schema.one_of),
        ("anyOf", &schema.any_of),
    ] {
        for (index, branch) in branches.iter().enumerate() {
            walk(
                branch,
                &path.child(name).index(index),
                false,
                context,
                errors,
            );
        }
    }
    match &schema.items {
        Some(Items::One(item)) => walk(item, &path.child("items"), false, context, errors),
        Some(Items::Many(items)) => {
            for (index, item) in items.iter().enumerate() {
                walk(
                    item,
                    &path.child("items").index(index),
                    false,
                    context,
                    errors,
                );
            }
        }
        None => {}
    }
    if schema.preserve_unknown == Some(false) {
        let path = path.child("x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(
            path,
            false,
            "must be true or undefined",
        ));
    }
    topology(schema, path, errors);
    keys(schema, path, errors);
    validations(schema, path, errors);
}

/// Constructs that are refused, or allowed in some places only.
fn constructs(
    schema: &Props,
    path: &FieldPath,
    context: Context<'_>,
    errors: &mut Vec<FieldError>,
) {
    const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
    if !schema.ty.is_empty() && !TYPES.contains(&schema.ty.as_str()) {
        errors.push(FieldError::not_supported(
            path.child("type"),
            schema.ty.as_str(),
            &TYPES,
        ));
    }
    if let (Some(_), Some(reason)) = (&schema.default, context.no_defaults) {
        errors.push(FieldError::forbidden(
            path.child("default"),
            format!("must not be set {reason}"),
        ));
    }
    for name in schema.unsupported.iter().filter(|name| **name != "$schema") {
        errors.push(FieldError::forbidden(
            path.child(name),
            format!("{name} is not supported"),
        ));
    }
    if schema.ty == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(path.child("type"), detail));
    }
    if matches!(&schema.items, Some(Items::Many(items)) if !items.is_empty()) {
        errors.push(FieldError::forbidden(
            path.child("items"),
            "items must be a schema object and not an array",
        ));
    }
    if context.in_metadata && schema.embedded {
        let path = path.child("x-kubernetes-embedded-resource");
        errors.push(FieldError::forbidden(
            path,
            "must not be used inside of resource meta",
        ));
    }
}

fn additional_properties(
    schema: &Props,
    path: &FieldPath,
    context: Context<'_>,
    errors: &mut Vec<FieldError>,
) {
    let Some(additional) = &schema.additional else {
        return;
    };
    let path = path.child("additionalProperties");
    if !schema.properties.is_empty() && *additional != Additional::Flag(true) {
        errors.push(FieldError::forbidden(
            path.clone(),
            "additionalProperties and properties are mutual exclusive",
        ));
    }
    let reason = "inside additionalProperties applying to object metadata";
    let no_defaults = if context.in_metadata {
        Some(reason)
    } else {
        context.no_defaults
    };
    if let Additional::Schema(schema) = additional {
        walk(
            schema,
            &path,
            false,
            Context {
                no_defaults,
                ..context
            },
            errors,
        );
    }
}

/// `x-kubernetes-map-type` and `x-kubernetes-list-type`.
fn topology(schema: &Props, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let mut needs_type = |ty: &str, extension: &str| {
        let detail = format!("must be {ty} if {extension} is specified");
        if schema.ty.is_empty() {
            errors.push(FieldError::required(path.child("type"), detail));
        } else if schema.ty != ty {
            errors.push(FieldError::invalid(
                path.child("type"),
                schema.ty.as_str(),
                detail,
            ));
        }
    };
    if schema.map_type.is_some() {
        needs_type("object", "x-kubernetes-map-type");
    }
    if schema.list_type.is_some() {
        needs_type("array", "x-kubernetes-list-type");
    }
    if let Some(map_type) = schema
        .map_type
        .as_deref()
        .filter(|ty| !matches!(*ty, "atomic" | "granular"))
    {
        let path = path.child("x-kubernetes-map-type");
        errors.push(FieldError::not_supported(
            path,
            map_type,
            &["atomic", "granular"],
        ));
    }
    let list_type = schema.list_type.as_deref();
    if let (Some("set"), "array", Some(item)) = (list_type, schema.ty.as_str(), schema.item()) {
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let shown = item.list_type.as_deref().map_or(Value::Null, Value::from);
        if item.ty == "array" && item.list_type.as_deref().is_some_and(|ty| ty != "atomic") {
            errors.push(FieldError::invalid(
                path.child("items").child("x-kubernetes-list-type"),
                shown,
                detail,
            ));
        } else if item.ty == "object" && item.map_type.as_deref() != Some("atomic") {
            errors.push(FieldError::invalid(
                path.child("items").child("x-kubernetes-map-type"),
                shown,
                detail,
            ));
        }
    }
    if let Some(list_type) = list_type.filter(|ty| !matches!(*ty, "atomic" | "set" | "map")) {
        let path = path.child("x-kubernetes-list-type");
        errors.push(FieldError::not_supported(
            path,
            list_type,
            &["atomic", "set", "map"],
        ));
    }
}

/// `x-kubernetes-list-map-keys`, and the elements of lists that are sets or maps.
fn keys(schema: &Props, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let list_type = schema.list_type.as_deref();
    let keys_path = path.child("x-kubernetes-list-map-keys");
    if !schema.list_map_keys.is_empty() && list_type != Some("map") {
        let path = path.child("x-kubernetes-list-type");
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match list_type {
            None => FieldError::required(path, detail),
            Some(other) => FieldError::invalid(path, other, detail),
        });
    }
    let items_path = path.child("items");
    if list_type == Some("map") {
        if schema.list_map_keys.is_empty() {
            errors.push(FieldError::required(
                keys_path.clone(),
                "must not be empty if x-kubernetes-list-type is map",
            ));
        }
        match (&schema.items, schema.item()) {
            (None, _) => {
                let detail = "must have a schema if x-kubernetes-list-type is map";
                errors.push(FieldError::required(items_path.clone(), detail));
            }
            (Some(_), None) => {
                let detail = "must only have a single schema if x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(items_path.clone(), "", detail));
            }
            (_, Some(item)) if item.ty != "object" => {
                let detail = "must be object if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(
                    items_path.child("type"),
                    item.ty.as_str(),
                    detail,
                ));
            }
            (_, Some(item)) => key_properties(schema, item, path, errors),
        }
    }
    let (Some(list_type @ ("set" | "map")), Some(item)) = (list_type, schema.item()) else {
        return;
    };
    if item.nullable {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(items_path.child("nullable"), detail));
    }
    if list_type == "set" {
        return;
    }
    let required: BTreeSet<&String> = item.required.iter().collect();
    for (key, property) in schema
        .list_map_keys
        .iter()
        .filter_map(|key| item.properties.get_key_value(key))
    {
        let path = items_path.child("properties").key(key);
        let reason = "this property is in x-kubernetes-list-map-keys, so it";
        if !required.contains(key) && property.default.is_none() {
            let detail = format!("{reason} must have a default or be a required property");
            errors.push(FieldError::required(path.child("default"), detail));
        }
        if property.nullable {
            errors.push(FieldError::forbidden(
                path.child("nullable"),
                format!("{reason} cannot be nullable"),
            ));
        }
    }
}

/// How often it is told what is wrong with a list of keys: each time shows the whole list.
const KEYS_TOLD: usize = 16;

fn key_properties(schema: &Props, item: &Props, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let keys_path = path.child("x-kubernetes-list-map-keys");
    let mut told = 0;
    let mut complain = |detail: &str, errors: &mut Vec<FieldError>| {
        told += 1;
        if told <= KEYS_TOLD {
            let keys = Value::from(schema.list_map_keys.clone());
            errors.push(FieldError::invalid(keys_path.clone(), keys, detail));
        }
    };
    let mut seen: BTreeSet<&String> = BTreeSet::new();
    for key in &schema.list_map_keys {
        match item.properties.get(key) {
            None => complain("entries must all be names of item properties", errors),
            Some(property) if matches!(property.ty.as_str(), "array" | "object") => {
                let path = path
                    .child("items")
                    .child("properties")
                    .key(key)
                    .child("type");
                let detail =
                    "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(path, item.ty.as_str(), detail));
            }
            Some(_) => {}
        }
        if !seen.insert(key) {
            complain("must not contain duplicate entries", errors);
        }
    }
}

/// `x-kubernetes-validations`, as far as that can be said without evaluating them.
fn validations(schema: &Props, path: &FieldPath, errors: &mut Vec<FieldError>) {
    const REASONS: [&str; 4] = [
        "FieldValueDuplicate",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueRequired",
    ];
    let has_newline = |text: &str| text.contains(['\n', '\r']);
    for (index, rule) in schema.validations.iter().enumerate() {
        let path = path.child("x-kubernetes-validations").index(index);
        let message = rule.message.as_deref().unwrap_or_default();
        let message_path = path.child("message");
        if rule.rule.trim().is_empty() {
            errors.push(FieldError::required(
                path.child("rule"),
                "rule is not specified",
            ));
        } else if !message.is_empty() && message.trim().is_empty() {
            errors.push(FieldError::invalid(
                message_path,
                message,
                "must be non-empty if specified",
            ));
        } else if has_newline(message.trim()) {
            errors.push(FieldError::invalid(
                message_path,
                message,
                "must not contain line breaks",
            ));
        } else if has_newline(rule.rule.trim()) && message.trim().is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            errors.push(FieldError::required(message_path, detail));
        }
        let expression = rule.message_expression.as_deref().unwrap_or_default();
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            errors.push(FieldError::required(
                path.child("messageExpression"),
                detail,
            ));
        }
        if let Some(reason) = rule
            .reason
            .as_deref()
            .filter(|reason| !REASONS.contains(reason))
        {
            errors.push(FieldError::not_supported(
                path.child("reason"),
                reason,
                &REASONS,
            ));
        }
        let Some(field) = rule.field_path.as_deref().filter(|field| !field.is_empty()) else {
            continue;
        };
        let mut refuse =
            |detail: &str| errors.push(FieldError::invalid(path.child("fieldPath"), field, detail));
        if field.trim().is_empty() {
            refuse("must be non-empty if specified");
        }
        if has_newline(field) {
            refuse("must not contain line breaks");
        }
        if !is_field_path(field, schema) {
            refuse("must be a valid path");
        }
    }
}

/// Whether a path such as `.spec['a.b'].c` leads to a field the schema describes.
fn is_field_path(path: &str, schema: &Props) -> bool {
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let name;
        if let Some(after) = rest.strip_prefix("['") {
            let Some((quoted, after)) = after.split_once("']") else {
                return false;
            };
            (name, rest) = (quoted.replace("\\'", "'"), after);
        } else if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[', ']']).unwrap_or(after.len());
            (name, rest) = (after[..end].to_owned(), &after[end..]);
        } else {
            return false;
        }
        let next = if schema.properties.is_empty() {
            schema.additional_schema()
        } else {
            schema.properties.get(&name)
        };
        let Some(next) = next else { return false };
        schema = next;
    }
    true
}

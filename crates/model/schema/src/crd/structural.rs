//! What makes a schema structural: types everywhere, and combinations that only restrict what is already described.
//!
//! Upstream: these are the rules and the texts of a CustomResourceDefinition's structural check.

use object::field::{FieldError, FieldPath};

use super::props::{Additional, Props};
use crate::pattern::Pattern;

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Everything that keeps a schema from being structural, sorted by text.
pub(super) fn check(schema: &Props, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, Level::Root, path, &mut errors);
    completeness(schema, Some(schema), path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

fn invariants(schema: &Props, level: Level, path: &FieldPath, errors: &mut Vec<FieldError>) {
    if schema.ty == "array" && schema.items.is_none() {
        errors.push(FieldError::required(
            path.child("items"),
            "must be specified",
        ));
    }
    if let Some(item) = schema.item() {
        invariants(item, Level::Item, &path.child("items"), errors);
    }
    for (name, property) in &schema.properties {
        invariants(
            property,
            Level::Field,
            &path.child("properties").key(name),
            errors,
        );
    }
    if let Some(additional) = &schema.additional {
        let path = path.child("additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(
                path.clone(),
                "must not be used at the root",
            ));
        }
        if let Additional::Schema(additional) = additional {
            invariants(additional, Level::Field, &path, errors);
        }
    }
    extensions(schema, path, errors);
    value_rules(schema, Exempt::of(schema), path, errors);
    type_of(schema, level, path, errors);
    identity(schema, level, path, errors);
}

fn extensions(schema: &Props, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let detail = "must be false if x-kubernetes-int-or-string is true";
    if schema.int_or_string && schema.preserves() {
        errors.push(FieldError::invalid(
            path.child("x-kubernetes-preserve-unknown-fields"),
            true,
            detail,
        ));
    }
    if schema.int_or_string && schema.embedded {
        errors.push(FieldError::invalid(
            path.child("x-kubernetes-embedded-resource"),
            true,
            detail,
        ));
    }
}

fn type_of(schema: &Props, level: Level, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let ty = path.child("type");
    if schema.embedded && schema.ty != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if schema.ty.is_empty() {
            FieldError::required(ty.clone(), detail)
        } else {
            FieldError::invalid(ty.clone(), schema.ty.as_str(), detail)
        });
    } else if schema.ty.is_empty() && !schema.int_or_string && !schema.preserves() {
        let place = match level {
            Level::Root => "at the root",
            Level::Item => "for specified array items",
            Level::Field => "for specified object fields",
        };
        errors.push(FieldError::required(
            ty.clone(),
            format!("must not be empty {place}"),
        ));
    }
    if schema.embedded && schema.additional.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(
            path.child("additionalProperties"),
            detail,
        ));
    }
    if level == Level::Root && !schema.ty.is_empty() && schema.ty != "object" {
        errors.push(FieldError::invalid(
            ty,
            schema.ty.as_str(),
            "must be object at the root",
        ));
    }
}

/// `apiVersion`, `kind` and `metadata` of objects are implied and may only be narrowed.
fn identity(schema: &Props, level: Level, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let is_object = level == Level::Root || schema.embedded;
    let properties = path.child("properties");
    for name in ["kind", "apiVersion"] {
        if let Some(property) = schema
            .properties
            .get(name)
            .filter(|property| is_object && property.ty != "string")
        {
            let path = properties.key(name).child("type");
            errors.push(FieldError::invalid(
                path,
                property.ty.as_str(),
                "must be string",
            ));
        }
    }
    if let Some(metadata) = schema.properties.get("metadata") {
        let path = properties.key("metadata");
        if is_object && metadata.ty != "object" {
            errors.push(FieldError::invalid(
                path.child("type"),
                metadata.ty.as_str(),
                "must be object",
            ));
        }
        if level == Level::Root && !narrows_names_only(metadata) {
            let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            errors.push(FieldError::forbidden(path, detail));
        }
    }
    if schema.embedded && !schema.preserves() && schema.properties.is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(properties, detail));
    }
}

fn narrows_names_only(metadata: &Props) -> bool {
    let names_only = metadata
        .properties
        .keys()
        .all(|name| name == "name" || name == "generateName");
    let rest = Props {
        ty: String::new(),
        default: None,
        properties: Default::default(),
        ..metadata.clone()
    };
    names_only && rest == Props::default()
}

/// Which `type`s below a combination are allowed: the two halves of an int-or-string.
#[derive(Clone, Copy, Default)]
struct Exempt {
    any_of: bool,
    first_all_of: bool,
}

impl Exempt {
    fn of(schema: &Props) -> Self {
        Self {
            any_of: is_int_or_string(&schema.any_of),
            first_all_of: schema
                .all_of
                .first()
                .is_some_and(|first| is_int_or_string(&first.any_of)),
        }
    }
}

/// Whether alternatives are exactly `integer` and `string`.
pub(super) fn is_int_or_string(alternatives: &[Props]) -> bool {
    let only = |ty: &str| Props {
        ty: ty.to_owned(),
        ..Props::default()
    };
    matches!(alternatives, [first, second] if *first == only("integer") && *second == only("string"))
}

fn value_rules(schema: &Props, exempt: Exempt, path: &FieldPath, errors: &mut Vec<FieldError>) {
    if !exempt.any_of {
        for (index, branch) in schema.any_of.iter().enumerate() {
            nested(branch, false, &path.child("anyOf").index(index), errors);
        }
    }
    for (index, branch) in schema.all_of.iter().enumerate() {
        nested(
            branch,
            exempt.first_all_of && index == 0,
            &path.child("allOf").index(index),
            errors,
        );
    }
    for (index, branch) in schema.one_of.iter().enumerate() {
        nested(branch, false, &path.child("oneOf").index(index), errors);
    }
    if let Some(branch) = &schema.not {
        nested(branch, false, &path.child("not"), errors);
    }
    if schema.pattern.is_empty() {
        return;
    }
    if let Err(error) = Pattern::new(&schema.pattern) {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(
            path.child("pattern"),
            schema.pattern.as_str(),
            detail,
        ));
    }
}

/// Below a combination only values may be restricted: nothing there may describe structure.
fn nested(schema: &Props, any_of_exempt: bool, path: &FieldPath, errors: &mut Vec<FieldError>) {
    value_rules(
        schema,
        Exempt {
            any_of: any_of_exempt,
            first_all_of: false,
        },
        path,
        errors,
    );
    if let Some(item) = schema.item() {
        nested(item, false, &path.child("items"), errors);
    }
    for (name, property) in &schema.properties {
        nested(property, false, &path.child("properties").key(name), errors);
    }
    let has_additional = !matches!(schema.additional, None | Some(Additional::Flag(false)));
    let forbidden = [
        (!schema.ty.is_empty(), "type", "empty"),
        (has_additional, "additionalProperties", "undefined"),
        (schema.default.is_some(), "default", "undefined"),
        (!schema.title.is_empty(), "title", "empty"),
        (!schema.description.is_empty(), "description", "empty"),
        (schema.nullable, "nullable", "false"),
        (
            schema.preserves(),
            "x-kubernetes-preserve-unknown-fields",
            "false",
        ),
        (schema.embedded, "x-kubernetes-embedded-resource", "false"),
        (schema.int_or_string, "x-kubernetes-int-or-string", "false"),
        (
            !schema.list_map_keys.is_empty(),
            "x-kubernetes-list-map-keys",
            "empty",
        ),
        (
            schema.list_type.is_some(),
            "x-kubernetes-list-type",
            "undefined",
        ),
        (
            schema.map_type.is_some(),
            "x-kubernetes-map-type",
            "undefined",
        ),
        (
            !schema.validations.is_empty(),
            "x-kubernetes-validations",
            "empty",
        ),
    ];
    for (_, name, wanted) in forbidden.into_iter().filter(|(is_set, ..)| *is_set) {
        errors.push(FieldError::forbidden(
            path.child(name),
            format!("must be {wanted} to be structural"),
        ));
    }
    if schema.properties.contains_key("metadata") {
        let path = path.child("properties").key("metadata");
        errors.push(FieldError::forbidden(
            path,
            "must not be specified in a nested context",
        ));
    }
}

/// What a combination at the root mentions must be described outside of it.
fn completeness(
    rules: &Props,
    described: Option<&Props>,
    at: &FieldPath,
    rules_at: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let Some(schema) = described else {
        errors.push(FieldError::required(
            at.clone(),
            format!("because it is defined in {rules_at}"),
        ));
        return;
    };
    let mut branch =
        |branch: &Props, path: FieldPath| branch_completeness(branch, schema, at, &path, errors);
    if let Some(not) = &rules.not {
        branch(not, rules_at.child("not"));
    }
    for (name, branches) in [
        ("allOf", &rules.all_of),
        ("anyOf", &rules.any_of),
        ("oneOf", &rules.one_of),
    ] {
        for (index, nested) in branches.iter().enumerate() {
            branch(nested, rules_at.child(name).index(index));
        }
    }
}

fn branch_completeness(
    branch: &Props,
    schema: &Props,
    at: &FieldPath,
    branch_at: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    completeness(branch, Some(schema), at, branch_at, errors);
    if let Some(item) = branch.item() {
        let (at, branch_at) = (at.child("items"), branch_at.child("items"));
        match schema.item() {
            Some(described) => branch_completeness(item, described, &at, &branch_at, errors),
            None => completeness(item, None, &at, &branch_at, errors),
        }
    }
    for (name, property) in &branch.properties {
        let (at, branch_at) = (
            at.child("properties").key(name),
            branch_at.child("properties").key(name),
        );
        match schema.properties.get(name) {
            Some(described) => branch_completeness(property, described, &at, &branch_at, errors),
            None => completeness(property, None, &at, &branch_at, errors),
        }
    }
}

//! Doubts about a policy's expressions, given the types of the objects it is about.
//!
//! An expression is compiled without knowing what `object` is, because a policy may be about many kinds. Where its rules
//! name kinds, each expression is tried once more with the type of each: what does not fit is reported, not refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::{Environment, Program, Type};
use object::Value;
use schema::{Schema, SchemaId};
use serde_json::json;
use serve::resource::{Resource, Table, Version};

/// The most kinds one policy is tried with. Upstream: the same.
const MOST_KINDS: usize = 10;
/// How deep the types of fields are looked into; what lies below may be anything.
const DEEPEST: usize = 16;

/// The status of a policy: which generation was looked at, and what is doubtful about it.
#[must_use]
pub fn policy_status(policy: &Value, table: &Table) -> Value {
    let nothing = Value::Null;
    let spec = policy.get("spec").unwrap_or(&nothing);
    let kinds = kinds(spec, table);
    let mut warnings: Vec<Value> = Vec::new();
    for (path, source) in expressions(spec) {
        let doubts: Vec<String> = kinds
            .iter()
            .filter_map(|(name, ty)| {
                let environment = environment(spec, ty);
                let error = Program::compile(&source, &environment).err()?;
                Some(format!("{name}: {error}"))
            })
            .collect();
        if !doubts.is_empty() {
            warnings.push(json!({"fieldRef": path, "warning": doubts.join("\n")}));
        }
    }
    let checking = if warnings.is_empty() {
        json!({})
    } else {
        json!({"expressionWarnings": warnings})
    };
    json!({
        "observedGeneration": policy.get("metadata").and_then(|m| m.get("generation")), "typeChecking": checking,
    })
}

/// Every expression that judges, by its path. Variables are known by their names alone.
fn expressions(spec: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (list, fields) in [
        ("variables", &["expression"][..]),
        ("validations", &["expression", "messageExpression"]),
        ("auditAnnotations", &["valueExpression"]),
    ] {
        let entries = spec.get(list).and_then(Value::as_array);
        for (place, entry) in entries.into_iter().flatten().enumerate() {
            for field in fields {
                let source = entry
                    .get(*field)
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                if !source.is_empty() {
                    found.push((format!("spec.{list}[{place}].{field}"), source.to_owned()));
                }
            }
        }
    }
    found
}

fn environment(spec: &Value, ty: &Type) -> Arc<Environment> {
    let names = spec.get("variables").and_then(Value::as_array);
    let names = names.into_iter().flatten();
    let names = names.filter_map(|variable| variable.get("name")?.as_str());
    let environment = Environment::admission()
        .declare("object", ty.clone())
        .declare("oldObject", ty.clone())
        .declare("params", Type::Dyn)
        .variables(names.map(|name| (name, Type::Dyn)));
    Arc::new(environment)
}

/// The kinds that the rules of a policy name, and their types. Rules with wildcards name none.
fn kinds(spec: &Value, table: &Table) -> Vec<(String, Type)> {
    let rules = spec
        .get("matchConstraints")
        .and_then(|constraints| constraints.get("resourceRules")?.as_array());
    let mut found: Vec<(String, Type)> = Vec::new();
    for rule in rules.into_iter().flatten() {
        if found.len() >= MOST_KINDS {
            break;
        }
        for (resource, version) in named(rule, table) {
            let Some(schema) = &version.schema else {
                continue;
            };
            let api_version = resource.api_version(&version.name);
            let name = format!("{api_version}, Kind={}", resource.kind);
            if found.len() < MOST_KINDS && !found.iter().any(|(known, _)| *known == name) {
                let ty = type_of(schema, schema.root_id(), DEEPEST, "object");
                found.push((name, ty));
            }
        }
    }
    found
}

/// What a rule names of all that is served, in the order of the rule. The table is looked through and not every
/// combination of the rule's lists: a policy may have any number of those.
fn named<'t>(rule: &Value, table: &'t Table) -> Vec<(&'t Resource, &'t Version)> {
    let places = |field: &str| -> BTreeMap<&str, usize> {
        let list = rule.get(field).and_then(Value::as_array);
        let texts = list.into_iter().flatten().filter_map(Value::as_str);
        let mut places = BTreeMap::new();
        for (place, text) in texts.enumerate() {
            places.entry(text).or_insert(place);
        }
        places
    };
    let (groups, versions, plurals) = (
        places("apiGroups"),
        places("apiVersions"),
        places("resources"),
    );
    let mut found = Vec::new();
    for resource in table.iter() {
        let here = (groups.get(&*resource.group), plurals.get(&*resource.plural));
        let (Some(group), Some(plural)) = here else {
            continue;
        };
        for version in resource.versions.iter().filter(|version| version.served) {
            if let Some(place) = versions.get(&*version.name) {
                found.push(((group, place, plural), &**resource, version));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let found = found.into_iter();
    found
        .map(|(_, resource, version)| (resource, version))
        .collect()
}

fn type_of(schema: &Schema, id: SchemaId, deepest: usize, name: &str) -> Type {
    let node = schema.node(id);
    let format = node
        .rules
        .as_ref()
        .and_then(|rules| rules.format.as_deref());
    if deepest == 0 || node.preserve_unknown || node.embedded {
        return Type::Dyn;
    }
    let below = |id: SchemaId, field: &str| type_of(schema, id, deepest - 1, field);
    match (&node.ty, format) {
        (schema::Type::Boolean, _) => Type::Bool,
        (schema::Type::Integer, _) => Type::Int,
        (schema::Type::Number, _) => Type::Double,
        (schema::Type::String, Some("date-time")) => Type::Timestamp,
        (schema::Type::String, Some("duration")) => Type::Duration,
        (schema::Type::String, Some("byte")) => Type::Bytes,
        (schema::Type::String, _) => Type::String,
        (schema::Type::Array, _) => match node.items {
            Some(items) => Type::list(below(items, name)),
            None => Type::list(Type::Dyn),
        },
        (schema::Type::Object, _) if !node.properties.is_empty() => {
            let fields = node
                .properties
                .iter()
                .map(|property| (&*property.name, below(property.schema, &property.name)));
            Type::object(name, fields)
        }
        (schema::Type::Object, _) => match node.values {
            Some(values) => Type::map_of(below(values, name)),
            None => Type::Dyn,
        },
        // What may be a number or a text is looked at when the program runs.
        (schema::Type::Any | schema::Type::IntOrString | schema::Type::Quantity, _) => Type::Dyn,
    }
}

//! Writing schemas as OpenAPI, for clients that explain, complete and validate.
//!
//! Version 3 says everything. Version 2 has no combinations and no nullable, and old clients refuse what they do not
//! expect next to unknown fields, so that such parts are left out there.

use std::sync::Arc;

use object::{Map, Value};
use serde_json::json;

use crate::{
    meta::OBJECT_META,
    node::{ListKind, MapKind, Node, PatchStrategy, Property, Schema, SchemaId, Type, Types},
    rules::{Branch, Expression, Rules},
    trail::MAX_DEPTH,
};

/// The versions of OpenAPI there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenApi {
    /// Swagger 2.0: references point to `#/definitions/`.
    V2,
    /// OpenAPI 3.0: references point to `#/components/schemas/`.
    V3,
}

impl OpenApi {
    fn prefix(self) -> &'static str {
        match self {
            Self::V2 => "#/definitions/",
            Self::V3 => "#/components/schemas/",
        }
    }
}

impl Schema {
    /// The schema as OpenAPI; named types inside it are references.
    #[must_use]
    pub fn publish(&self, version: OpenApi) -> Value {
        self.types.publish(self.root, version)
    }
}

impl Types {
    /// The type at `id` as OpenAPI; named types inside it are references.
    #[must_use]
    pub fn publish(&self, id: SchemaId, version: OpenApi) -> Value {
        let mut writer = Writer {
            types: self,
            version,
            depth: 0,
        };
        writer.node(self.node(id), true)
    }
}

struct Writer<'a> {
    types: &'a Types,
    version: OpenApi,
    depth: usize,
}

impl Writer<'_> {
    fn node(&mut self, node: &Node, is_root: bool) -> Value {
        let mut out = Map::new();
        if self.depth > MAX_DEPTH {
            return Value::Object(out); // A type inside itself without a name: nothing a client could follow.
        }
        self.depth += 1;
        let is_v2 = self.version == OpenApi::V2;
        // Version 2 cannot say "or null", and its clients take any list of fields for complete.
        let is_vague = is_v2 && (node.nullable || node.preserve_unknown);
        if is_root && is_v2 && node.preserve_unknown {
            self.depth -= 1;
            return json!({"type": "object"});
        }
        put_text(&mut out, "description", node.description.as_ref());
        self.put_type(&mut out, node, is_vague);
        if let Some(default) = &node.default {
            out.insert("default".to_owned(), (**default).clone());
        }
        if node.nullable && !is_v2 {
            out.insert("nullable".to_owned(), Value::Bool(true));
        }
        if let Some(docs) = &node.docs {
            put_text(&mut out, "title", docs.title.as_ref());
            put(&mut out, "externalDocs", docs.external.clone());
            put(&mut out, "example", docs.example.clone());
        }
        if !is_vague {
            self.put_children(&mut out, node);
        }
        self.put_values(&mut out, node);
        if let Some(rules) = &node.rules {
            self.put_rules(&mut out, rules, node, is_vague);
        }
        if node.ty == Type::IntOrString && !is_v2 && !has_format(node, "int-or-string") {
            unfold(&mut out);
        }
        put_extensions(&mut out, node);
        if node.embedded && !(is_v2 && node.preserve_unknown) {
            self.put_identity(&mut out, node);
        }
        self.depth -= 1;
        Value::Object(out)
    }

    fn put_type(&self, out: &mut Map, node: &Node, is_vague: bool) {
        let is_v2 = self.version == OpenApi::V2;
        let is_named_either = node.ty == Type::IntOrString && has_format(node, "int-or-string");
        let either = |types: [&str; 2]| json!([{"type": types[0]}, {"type": types[1]}]);
        let ty = match node.ty {
            Type::Quantity if !is_v2 => {
                return drop(out.insert("oneOf".to_owned(), either(["string", "number"])));
            }
            Type::IntOrString if is_named_either && !is_v2 => {
                return drop(out.insert("oneOf".to_owned(), either(["integer", "string"])));
            }
            Type::IntOrString if is_named_either => "string",
            Type::Any | Type::IntOrString => return,
            Type::Quantity | Type::String => "string",
            Type::Object => "object",
            Type::Array => "array",
            Type::Integer => "integer",
            Type::Number => "number",
            Type::Boolean => "boolean",
        };
        let hidden =
            is_v2 && (node.nullable || (is_vague && matches!(node.ty, Type::Object | Type::Array)));
        if !hidden {
            out.insert("type".to_owned(), Value::from(ty));
        }
    }

    fn put_children(&mut self, out: &mut Map, node: &Node) {
        if !node.properties.is_empty() {
            let properties: Map = node
                .properties
                .iter()
                .map(|property| (property.name.to_string(), self.property(property)))
                .collect();
            out.insert("properties".to_owned(), Value::Object(properties));
        }
        if let Some(items) = node.items {
            let items = self.reference(items);
            out.insert("items".to_owned(), items);
        }
    }

    fn put_values(&mut self, out: &mut Map, node: &Node) {
        if node.closed {
            out.insert("additionalProperties".to_owned(), Value::Bool(false));
        } else if let Some(values) = node.values {
            let is_anything = *self.types.node(values)
                == Node {
                    nullable: true,
                    ..Node::default()
                };
            let values = if is_anything {
                Value::Bool(true)
            } else {
                self.reference(values)
            };
            out.insert("additionalProperties".to_owned(), values);
        }
    }

    /// A type used somewhere: its name if it has one.
    fn reference(&mut self, id: SchemaId) -> Value {
        match self.types.name(id) {
            Some(name) => json!({"$ref": format!("{}{name}", self.version.prefix())}),
            None => self.node(self.types.node(id), false),
        }
    }

    fn property(&mut self, property: &Property) -> Value {
        let mut value =
            if &*property.name == "metadata" && is_metadata(self.types.node(property.schema)) {
                json!({"$ref": format!("{}{OBJECT_META}", self.version.prefix())})
            } else {
                self.reference(property.schema)
            };
        let Value::Object(out) = &mut value else {
            return value;
        };
        let mut more = Map::new();
        put_text(&mut more, "description", property.description.as_ref());
        put(&mut more, "default", property.default.as_deref().cloned());
        if let Some(patch) = &property.patch {
            put_patch(&mut more, patch);
        }
        if more.is_empty() {
            return value;
        }
        // A reference may have no neighbours in version 3; it is wrapped instead.
        if self.version == OpenApi::V3 && out.contains_key("$ref") {
            more.insert("allOf".to_owned(), Value::Array(vec![value]));
            return Value::Object(more);
        }
        out.extend(more);
        value
    }

    fn put_rules(&mut self, out: &mut Map, rules: &Rules, node: &Node, is_vague: bool) {
        put_values_rules(out, rules);
        if self.version == OpenApi::V2 {
            // A field that may be null cannot be called required there.
            let nullable = |name: &str| {
                !is_vague
                    && node
                        .property(name)
                        .is_some_and(|property| self.types.node(property.schema).nullable)
            };
            let maps_nullable = node.values.is_some_and(|values| {
                self.types.node(values).nullable && !is_open(self.types, values)
            });
            if let Some(Value::Array(required)) = out.get_mut("required") {
                required.retain(|name| !maps_nullable && !name.as_str().is_some_and(nullable));
                if required.is_empty() {
                    out.shift_remove("required");
                }
            }
            return;
        }
        put_combinations(out, rules);
    }

    /// What embedded objects have although their schema does not list it.
    fn put_identity(&mut self, out: &mut Map, node: &Node) {
        if !out.contains_key("properties") {
            let identity = ["apiVersion", "kind", "metadata"]
                .into_iter()
                .filter_map(|name| node.property(name));
            let identity: Map = identity
                .map(|property| (property.name.to_string(), self.property(property)))
                .collect();
            out.insert("properties".to_owned(), Value::Object(identity));
        }
        let required = out
            .entry("required")
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(required) = required {
            for name in ["kind", "apiVersion"] {
                if !required.iter().any(|known| known == name) {
                    required.push(Value::from(name));
                }
            }
        }
    }
}

fn has_format(node: &Node, name: &str) -> bool {
    node.rules
        .as_deref()
        .and_then(|rules| rules.format.as_deref())
        == Some(name)
}

/// Says in plain OpenAPI what `x-kubernetes-int-or-string` means, unless that has been said.
fn unfold(out: &mut Map) {
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let first = out
        .get("allOf")
        .and_then(|all_of| all_of.get(0))
        .and_then(|first| first.get("anyOf"));
    if first == Some(&either) {
        return;
    }
    match out.get("anyOf") {
        Some(said) if *said == either => {}
        None => drop(out.insert("anyOf".to_owned(), either)),
        Some(_) => {
            let all_of = out
                .entry("allOf")
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(all_of) = all_of {
                all_of.insert(0, json!({"anyOf": either}));
            }
        }
    }
}

fn is_open(types: &Types, id: SchemaId) -> bool {
    *types.node(id)
        == Node {
            nullable: true,
            ..Node::default()
        }
}

/// Whether a node is metadata, plain or with restrictions on names.
fn is_metadata(node: &Node) -> bool {
    node.property("managedFields").is_some() && node.property("resourceVersion").is_some()
}

fn put(out: &mut Map, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        out.insert(name.to_owned(), value);
    }
}

fn put_text(out: &mut Map, name: &str, text: Option<&Arc<str>>) {
    put(out, name, text.map(|text| Value::from(&**text)));
}

fn put_patch(out: &mut Map, patch: &PatchStrategy) {
    let words = [
        (patch.merge, "merge"),
        (patch.replace, "replace"),
        (patch.retain_keys, "retainKeys"),
    ];
    let strategy: Vec<&str> = words
        .into_iter()
        .filter(|(is_set, _)| *is_set)
        .map(|(_, word)| word)
        .collect();
    put_text(
        out,
        "x-kubernetes-patch-merge-key",
        patch.merge_key.as_ref(),
    );
    put(
        out,
        "x-kubernetes-patch-strategy",
        Some(Value::from(strategy.join(","))),
    );
}

fn put_extensions(out: &mut Map, node: &Node) {
    let flags = [
        (
            node.preserve_unknown,
            "x-kubernetes-preserve-unknown-fields",
        ),
        (node.embedded, "x-kubernetes-embedded-resource"),
        (
            node.ty == Type::IntOrString && !has_format(node, "int-or-string"),
            "x-kubernetes-int-or-string",
        ),
    ];
    for (_, name) in flags.into_iter().filter(|(is_set, _)| *is_set) {
        out.insert(name.to_owned(), Value::Bool(true));
    }
    let list = match &node.list {
        ListKind::Unstated => None,
        ListKind::Atomic => Some("atomic"),
        ListKind::Set => Some("set"),
        ListKind::Map(keys) => {
            let keys: Vec<Value> = keys.iter().map(|key| Value::from(&**key)).collect();
            out.insert("x-kubernetes-list-map-keys".to_owned(), Value::Array(keys));
            Some("map")
        }
    };
    put(out, "x-kubernetes-list-type", list.map(Value::from));
    let map = match node.map {
        MapKind::Unstated => None,
        MapKind::Atomic => Some("atomic"),
        MapKind::Granular => Some("granular"),
    };
    put(out, "x-kubernetes-map-type", map.map(Value::from));
}

/// Rules about the value itself.
fn put_values_rules(out: &mut Map, rules: &Rules) {
    put_text(out, "format", rules.format.as_ref());
    put(
        out,
        "pattern",
        rules
            .pattern
            .as_ref()
            .map(|pattern| Value::from(pattern.as_str())),
    );
    if !rules.enumeration.is_empty() {
        out.insert("enum".to_owned(), Value::Array(rules.enumeration.to_vec()));
    }
    for (name, number) in [
        ("maximum", rules.maximum),
        ("minimum", rules.minimum),
        ("multipleOf", rules.multiple_of),
    ] {
        put(out, name, number.map(Value::from));
    }
    for (name, flag) in [
        ("exclusiveMaximum", rules.exclusive_maximum),
        ("exclusiveMinimum", rules.exclusive_minimum),
        ("uniqueItems", rules.unique_items),
    ] {
        put(out, name, flag.then_some(Value::Bool(true)));
    }
    for (name, count) in [
        ("maxLength", rules.max_length),
        ("minLength", rules.min_length),
        ("maxItems", rules.max_items),
        ("minItems", rules.min_items),
        ("maxProperties", rules.max_properties),
        ("minProperties", rules.min_properties),
    ] {
        put(out, name, count.map(Value::from));
    }
    if !rules.required.is_empty() {
        let names: Vec<Value> = rules
            .required
            .iter()
            .map(|name| Value::from(&**name))
            .collect();
        out.insert("required".to_owned(), Value::Array(names));
    }
    if !rules.expressions.is_empty() {
        let rules: Vec<Value> = rules.expressions.iter().map(expression).collect();
        out.insert("x-kubernetes-validations".to_owned(), Value::Array(rules));
    }
}

fn put_combinations(out: &mut Map, rules: &Rules) {
    for (name, branches) in [
        ("allOf", &rules.all_of),
        ("anyOf", &rules.any_of),
        ("oneOf", &rules.one_of),
    ] {
        if !branches.is_empty() {
            out.insert(
                name.to_owned(),
                Value::Array(branches.iter().map(branch).collect()),
            );
        }
    }
    put(out, "not", rules.not.as_deref().map(branch));
}

fn branch(branch_: &Branch) -> Value {
    let mut out = Map::new();
    match branch_.ty {
        Some(Type::Integer) => put(&mut out, "type", Some(Value::from("integer"))),
        Some(Type::String) => put(&mut out, "type", Some(Value::from("string"))),
        _ => {}
    }
    put_values_rules(&mut out, &branch_.rules);
    put_combinations(&mut out, &branch_.rules);
    if !branch_.properties.is_empty() {
        let properties: Map = branch_
            .properties
            .iter()
            .map(|(name, inner)| (name.to_string(), branch(inner)))
            .collect();
        out.insert("properties".to_owned(), Value::Object(properties));
    }
    put(&mut out, "items", branch_.items.as_deref().map(branch));
    Value::Object(out)
}

fn expression(rule: &Expression) -> Value {
    let mut out = Map::new();
    put(&mut out, "rule", Some(Value::from(&*rule.rule)));
    put_text(&mut out, "message", rule.message.as_ref());
    put_text(
        &mut out,
        "messageExpression",
        rule.message_expression.as_ref(),
    );
    put_text(&mut out, "reason", rule.reason.as_ref());
    put_text(&mut out, "fieldPath", rule.field_path.as_ref());
    put(
        &mut out,
        "optionalOldSelf",
        rule.optional_old_self.map(Value::Bool),
    );
    Value::Object(out)
}

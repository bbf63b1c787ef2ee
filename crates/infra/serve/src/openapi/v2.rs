//! OpenAPI v2: everything in one document, for older clients and tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::{Map, Value};
use schema::Types;
use schema::publish::OpenApi;
use serde_json::json;

use super::{
    SCALE, method, named, of_kind, offered, parts, path_of, references, scale_gvk, scale_kind,
    scale_types, type_name,
};
use crate::resource::{Action, Resource, Table, Version};
use crate::target::Verb;

/// The whole document.
pub(super) fn document(table: &Table, version: &str) -> Value {
    let mut document = Document::default();
    let scale = scale_types(table);
    for resource in table.iter() {
        for served in resource.versions.iter().filter(|version| version.served) {
            document.add(resource, served, scale);
        }
    }
    let definitions: Map = document.definitions.into_iter().collect();
    json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": version},
        "paths": document.paths, "definitions": definitions,
    })
}

#[derive(Default)]
struct Document {
    paths: Map,
    definitions: BTreeMap<String, Value>,
}

impl Document {
    fn add(&mut self, resource: &Resource, version: &Version, scale: Option<&Arc<Types>>) {
        let gvk =
            json!({"group": &*resource.group, "version": &*version.name, "kind": &*resource.kind});
        let name = self.define(resource, version, &gvk);
        let base = format!("/{}", path_of(resource, version));
        let scoped = if resource.namespaced {
            format!("{base}/namespaces/{{namespace}}")
        } else {
            base
        };
        let collection = format!("{scoped}/{}", resource.plural);
        let object = format!("{collection}/{{name}}");
        let offered = |verbs: &[Verb]| offered(verbs, &version.verbs);
        let single = [Verb::Get, Verb::Update, Verb::Patch, Verb::Delete];
        self.add_path(object.clone(), &offered(&single), &gvk, &name);
        let whole = [Verb::List, Verb::Create, Verb::DeleteCollection];
        self.add_path(collection, &offered(&whole), &gvk, &name);
        for part in parts(version) {
            let path = format!("{object}/{}", part.name);
            let (gvk, name) = match &part.action {
                Action::Scale(_) => (scale_gvk(resource, &gvk), self.define_scale(scale)),
                _ => (gvk.clone(), name.clone()),
            };
            self.add_path(path, &part.verbs, &gvk, &name);
        }
    }

    fn add_path(&mut self, path: String, verbs: &[Verb], gvk: &Value, name: &str) {
        let operations: Map = verbs
            .iter()
            .map(|verb| (method(*verb).to_owned(), operation(*verb, gvk, name)))
            .collect();
        if !operations.is_empty() {
            self.paths.insert(path, Value::Object(operations));
        }
    }

    /// Adds the definition of a `Scale`; returns the name it goes by.
    fn define_scale(&mut self, types: Option<&Arc<Types>>) -> String {
        if !self.definitions.contains_key(SCALE) {
            let id = types.and_then(|types| Some((types, types.id(SCALE)?)));
            let published = id.map(|(types, id)| (types, types.publish(id, OpenApi::V2)));
            let mut schema = json!({"type": "object"});
            if let Some((types, published)) = published {
                self.define_references(types, &published);
                schema = published;
            }
            self.definitions
                .insert(SCALE.to_owned(), of_kind(schema, &scale_kind()));
        }
        SCALE.to_owned()
    }

    /// Adds the definition of a kind and of every type it refers to; returns the name it goes by.
    fn define(&mut self, resource: &Resource, version: &Version, gvk: &Value) -> String {
        let schema = version.schema.as_ref();
        let name = schema.and_then(named);
        let name = name.unwrap_or_else(|| type_name(resource, version));
        let published = match schema {
            Some(schema) => schema.publish(OpenApi::V2),
            None => json!({"type": "object"}),
        };
        if let Some(schema) = schema {
            self.define_references(schema.types(), &published);
        }
        self.definitions
            .insert(name.clone(), of_kind(published, gvk));
        name
    }

    fn define_references(&mut self, types: &Arc<Types>, published: &Value) {
        let mut waiting = references(published);
        while let Some(name) = waiting.pop() {
            if self.definitions.contains_key(&name) {
                continue;
            }
            let Some(id) = types.id(&name) else { continue };
            let published = types.publish(id, OpenApi::V2);
            waiting.extend(references(&published));
            self.definitions.insert(name, published);
        }
    }
}

fn operation(verb: Verb, gvk: &Value, name: &str) -> Value {
    let action = match verb {
        Verb::Update => "put",
        Verb::Create => "post",
        other => other.as_str(),
    };
    let schema = json!({"$ref": format!("#/definitions/{name}")});
    let mut parameters = Vec::new();
    if matches!(verb, Verb::Create | Verb::Update | Verb::Patch) {
        let body = match verb {
            Verb::Patch => json!({"type": "object"}),
            _ => schema.clone(),
        };
        parameters.push(json!({"name": "body", "in": "body", "required": true, "schema": body}));
        // Old clients look here for what the server can do.
        for name in ["dryRun", "fieldManager", "fieldValidation"] {
            parameters.push(json!({"name": name, "in": "query", "type": "string"}));
        }
    }
    json!({
        "parameters": parameters, "x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk,
        "produces": ["application/json", "application/yaml"],
        "responses": {"200": {"description": "OK", "schema": schema}},
    })
}

//! The API described for programs: OpenAPI v3, a document for each group and version, and OpenAPI v2, one for all.
//!
//! Clients validate, explain and complete with it; `kubectl` also learns from it that the server checks fields itself.

mod message;
mod v2;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use object::{Map, Value};
use schema::publish::OpenApi;
use schema::{Schema, Types};
use serde_json::json;

use crate::discovery::api_version;
use crate::resource::{Action, Resource, SchemaDuty, Subresource, Table, Version};
use crate::target::Verb;

/// Everything published about one table of resources.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// By path below `/openapi/v3/`, such as `apis/apps/v1`.
    documents: BTreeMap<String, Page>,
    index: Page,
    /// Few ask for it, and it says everything again: made for the first who does.
    v2: OnceLock<Page>,
    /// The same as a message.
    v2_message: OnceLock<Page>,
}

/// One document and what tells it from others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    /// The document: JSON, but for the one that is a message.
    pub(crate) bytes: Bytes,
    /// Equal documents have equal fingerprints, so clients may keep what they fetched.
    pub(crate) fingerprint: String,
}

impl Page {
    pub(crate) fn new(bytes: Bytes) -> Self {
        let fingerprint = format!("{:016X}", fingerprint(&bytes));
        Self { bytes, fingerprint }
    }
}

impl Published {
    /// Describes a table.
    pub(crate) fn of(table: &Table, version: &str) -> Self {
        let mut groups: BTreeMap<String, Document> = BTreeMap::new();
        let scale = scale_types(table);
        for resource in table.iter() {
            for served in resource.versions.iter().filter(|version| version.served) {
                let document = groups.entry(path_of(resource, served)).or_default();
                document.add(resource, served, scale);
            }
        }
        let documents: BTreeMap<String, Page> = groups
            .into_iter()
            .map(|(path, document)| (path, Page::new(document.finish(version))))
            .collect();
        let paths: Map = documents
            .iter()
            .map(|(path, document)| {
                let address = format!("/openapi/v3/{path}?hash={}", document.fingerprint);
                (path.clone(), json!({"serverRelativeURL": address}))
            })
            .collect();
        Self {
            documents,
            index: Page::new(json!({"paths": paths}).to_string().into()),
            v2: OnceLock::new(),
            v2_message: OnceLock::new(),
        }
    }

    /// What is at `/openapi/v3` (`path` empty) or below.
    pub(crate) fn find(&self, path: &str) -> Option<Page> {
        if path.is_empty() {
            Some(self.index.clone())
        } else {
            self.documents.get(path).cloned()
        }
    }

    /// What is below `/openapi/v3` as the message that clients in Go ask for. The index is none. Made for each who asks:
    /// few do, and those keep what they get.
    pub(crate) fn find_message(&self, path: &str) -> Option<Page> {
        let document: Value = serde_json::from_slice(&self.documents.get(path)?.bytes).ok()?;
        Some(Page::new(message::encode_v3(&document)))
    }

    /// Where the documents are, below `/openapi/v3/`.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.documents.keys().map(String::as_str)
    }

    /// What is at `/openapi/v2`; `table` is the one this was made of.
    pub(crate) fn v2(&self, table: &Table, version: &str) -> Page {
        let make = || Page::new(v2::document(table, version).to_string().into());
        self.v2.get_or_init(make).clone()
    }

    /// The same, as the message that clients in Go ask for.
    pub(crate) fn v2_message(&self, table: &Table, version: &str) -> Page {
        let make = || Page::new(message::encode_v2(&v2::document(table, version)));
        self.v2_message.get_or_init(make).clone()
    }
}

/// One document in the making.
#[derive(Default)]
struct Document {
    paths: Map,
    schemas: BTreeMap<String, Value>,
}

impl Document {
    fn add(&mut self, resource: &Resource, version: &Version, scale: Option<&Arc<Types>>) {
        let gvk =
            json!({"group": &*resource.group, "version": &*version.name, "kind": &*resource.kind});
        let name = self.add_schema(resource, version, &gvk);
        let base = format!("/{}", path_of(resource, version));
        let scoped = if resource.namespaced {
            format!("{base}/namespaces/{{namespace}}")
        } else {
            base.clone()
        };
        let collection = format!("{scoped}/{}", resource.plural);
        let object = format!("{collection}/{{name}}");
        let offered = |verbs: &[Verb]| offered(verbs, &version.verbs);
        let whole = [Verb::List, Verb::Create, Verb::DeleteCollection];
        self.add_path(&collection, &offered(&whole), &gvk, &name);
        let single = [Verb::Get, Verb::Update, Verb::Patch, Verb::Delete];
        self.add_path(&object, &offered(&single), &gvk, &name);
        for part in parts(version) {
            let path = format!("{object}/{}", part.name);
            let (gvk, name) = match &part.action {
                Action::Scale(_) => (scale_gvk(resource, &gvk), self.add_scale(scale)),
                _ => (gvk.clone(), name.clone()),
            };
            self.add_path(&path, &part.verbs, &gvk, &name);
        }
        if resource.namespaced {
            let everywhere = format!("{base}/{}", resource.plural);
            self.add_path(&everywhere, &offered(&[Verb::List]), &gvk, &name);
        }
    }

    /// Adds the schema of a `Scale`; returns the name it goes by.
    fn add_scale(&mut self, types: Option<&Arc<Types>>) -> String {
        if !self.schemas.contains_key(SCALE) {
            let id = types.and_then(|types| Some((types, types.id(SCALE)?)));
            let published = id.map(|(types, id)| (types, types.publish(id, OpenApi::V3)));
            let mut schema = json!({"type": "object"});
            if let Some((types, published)) = published {
                self.add_references(types, &published);
                schema = published;
            }
            self.schemas
                .insert(SCALE.to_owned(), of_kind(schema, &scale_kind()));
        }
        SCALE.to_owned()
    }

    /// Adds the kind's schema and every type it refers to; returns the name it goes by.
    fn add_schema(&mut self, resource: &Resource, version: &Version, gvk: &Value) -> String {
        let Some(schema) = &version.schema else {
            let name = type_name(resource, version);
            self.schemas.insert(
                name.clone(),
                json!({"type": "object", "x-kubernetes-group-version-kind": [gvk]}),
            );
            return name;
        };
        let name = named(schema).unwrap_or_else(|| type_name(resource, version));
        let published = of_kind(schema.publish(OpenApi::V3), gvk);
        self.add_references(schema.types(), &published);
        self.schemas.insert(name.clone(), published);
        name
    }

    fn add_references(&mut self, types: &Arc<Types>, published: &Value) {
        let mut waiting = references(published);
        while let Some(name) = waiting.pop() {
            if self.schemas.contains_key(&name) {
                continue;
            }
            let Some(id) = types.id(&name) else { continue };
            let published = types.publish(id, OpenApi::V3);
            waiting.extend(references(&published));
            self.schemas.insert(name, published);
        }
    }

    fn add_path(&mut self, path: &str, verbs: &[Verb], gvk: &Value, schema: &str) {
        let mut item: Map = verbs
            .iter()
            .map(|verb| (method(*verb).to_owned(), operation(*verb, gvk, schema)))
            .collect();
        if item.is_empty() {
            return;
        }
        let placeholders = path
            .split('/')
            .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
        let parameters: Vec<Value> = placeholders
            .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
            .collect();
        if !parameters.is_empty() {
            item.insert("parameters".to_owned(), Value::Array(parameters));
        }
        self.paths.insert(path.to_owned(), Value::Object(item));
    }

    fn finish(self, version: &str) -> Bytes {
        let schemas: Map = self.schemas.into_iter().collect();
        let document = json!({
            "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": version},
            "paths": self.paths, "components": {"schemas": schemas},
        });
        document.to_string().into()
    }
}

/// The name that `Scale` goes by.
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

/// The group, version and kind of a `Scale`.
fn scale_kind() -> Value {
    json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})
}

/// What the operations on the scale of an object are about. Upstream: of a custom kind they are about the kind itself.
fn scale_gvk(resource: &Resource, gvk: &Value) -> Value {
    match resource.rules.schema_duty() {
        SchemaDuty::Everything => gvk.clone(),
        _ => scale_kind(),
    }
}

/// The types of a table among which `Scale` is: those of the built-in kinds.
fn scale_types(table: &Table) -> Option<&Arc<Types>> {
    let versions = table.iter().flat_map(|resource| &resource.versions);
    let schemas = versions.filter_map(|version| version.schema.as_ref());
    schemas
        .map(Schema::types)
        .find(|types| types.id(SCALE).is_some())
}

/// The parts of an object that are described.
fn parts(version: &Version) -> impl Iterator<Item = &Subresource> {
    let parts = version.subresources.iter();
    parts.filter(|part| matches!(&*part.name, "status" | "scale"))
}

fn offered(verbs: &[Verb], all: &[Verb]) -> Vec<Verb> {
    let verbs = verbs.iter().filter(|verb| all.contains(verb));
    verbs.copied().collect()
}

/// A schema that says which kind it is of.
fn of_kind(mut schema: Value, gvk: &Value) -> Value {
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("x-kubernetes-group-version-kind".to_owned(), json!([gvk]));
    }
    schema
}

fn operation(verb: Verb, gvk: &Value, schema: &str) -> Value {
    let action = match verb {
        Verb::Update => "put",
        Verb::Create => "post",
        other => other.as_str(),
    };
    let writes = matches!(verb, Verb::Create | Verb::Update | Verb::Patch);
    let names: &[&str] = if writes {
        &["dryRun", "fieldManager", "fieldValidation"]
    } else {
        &[]
    };
    let parameters: Vec<Value> = names
        .iter()
        .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}))
        .collect();
    let content =
        json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}}});
    let mut operation = json!({
        "x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk,
        "responses": {"200": {"description": "OK", "content": content}},
    });
    // An empty list would be gone when a client in Go writes down what it read.
    if !parameters.is_empty()
        && let Some(fields) = operation.as_object_mut()
    {
        fields.insert("parameters".to_owned(), Value::Array(parameters));
    }
    if matches!(verb, Verb::Create | Verb::Update)
        && let Some(fields) = operation.as_object_mut()
    {
        fields.insert(
            "requestBody".to_owned(),
            json!({"content": content, "required": true}),
        );
    }
    operation
}

fn method(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "post",
        Verb::Update => "put",
        Verb::Patch => "patch",
        Verb::Delete | Verb::DeleteCollection => "delete",
        Verb::Get | Verb::List | Verb::Watch => "get",
    }
}

fn path_of(resource: &Resource, version: &Version) -> String {
    let root = if resource.group.is_empty() {
        "api"
    } else {
        "apis"
    };
    format!("{root}/{}", api_version(&resource.group, &version.name))
}

/// The name a schema's root has in its own table.
fn named(schema: &Schema) -> Option<String> {
    schema
        .types()
        .names()
        .find(|(_, id)| *id == schema.root_id())
        .map(|(name, _)| name.to_owned())
}

/// `io.karmada.policy.v1alpha1.PropagationPolicy`: the group backwards, the version, the kind.
fn type_name(resource: &Resource, version: &Version) -> String {
    let group: Vec<&str> = resource.group.split('.').rev().collect();
    format!("{}.{}.{}", group.join("."), version.name, resource.kind)
}

fn references(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(fields) => {
                let reference = fields.get("$ref").and_then(Value::as_str);
                found.extend(
                    reference
                        .and_then(|path| path.rsplit('/').next())
                        .map(str::to_owned),
                );
                waiting.extend(fields.values());
            }
            Value::Array(items) => waiting.extend(items),
            _ => {}
        }
    }
    found
}

/// FNV-1a.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

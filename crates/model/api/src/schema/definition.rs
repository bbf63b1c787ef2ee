//! CustomResourceDefinitions for the kinds of the registry.

use object::{GroupVersionKind, Map};
use serde_json::{Value, json};

use crate::registry::{Column, Published, RESOURCES, Resource, Subresources, Version};

/// The definitions of all kinds that the API this crate follows publishes as custom resources, by group and plural.
#[must_use]
pub fn crds() -> Vec<Value> {
    let published = RESOURCES
        .iter()
        .filter(|resource| resource.published != Published::Aggregated);
    published.map(|resource| definition(resource)).collect()
}

/// The schema of every kind in every version, those without a definition included.
#[must_use]
pub fn schemas() -> Vec<(GroupVersionKind, Value)> {
    let versions = |resource: &'static Resource| {
        resource.versions.iter().map(move |version| {
            let kind = GroupVersionKind::new(resource.group, version.name, resource.kind);
            (kind, (version.schema)())
        })
    };
    RESOURCES.iter().copied().flat_map(versions).collect()
}

/// The definition of one resource, with the schemas of all its versions.
#[must_use]
pub fn definition(resource: &Resource) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": resource.definition_name() },
        "spec": {
            "group": resource.group,
            "names": names(resource),
            "scope": resource.scope.as_str(),
            "versions": resource.versions.iter().map(version).collect::<Vec<_>>(),
        },
    })
}

fn names(resource: &Resource) -> Value {
    let mut names = Map::new();
    if !resource.categories.is_empty() {
        names.insert("categories".to_owned(), resource.categories.into());
    }
    names.insert("kind".to_owned(), resource.kind.into());
    if resource.published == Published::Definition {
        names.insert(
            "listKind".to_owned(),
            format!("{}List", resource.kind).into(),
        );
    }
    names.insert("plural".to_owned(), resource.plural.into());
    if !resource.short_names.is_empty() {
        names.insert("shortNames".to_owned(), resource.short_names.into());
    }
    names.insert("singular".to_owned(), resource.singular.into());
    Value::Object(names)
}

fn version(version: &Version) -> Value {
    let mut fields = Map::new();
    if !version.columns.is_empty() {
        let columns: Vec<Value> = version.columns.iter().map(column).collect();
        fields.insert("additionalPrinterColumns".to_owned(), columns.into());
    }
    fields.insert("name".to_owned(), version.name.into());
    fields.insert(
        "schema".to_owned(),
        json!({ "openAPIV3Schema": (version.schema)() }),
    );
    fields.insert("served".to_owned(), true.into());
    fields.insert("storage".to_owned(), version.storage.into());
    match version.subresources {
        Subresources::None => {}
        Subresources::Empty => {
            fields.insert("subresources".to_owned(), json!({}));
        }
        Subresources::Status | Subresources::StatusAndProxy => {
            fields.insert("subresources".to_owned(), json!({ "status": {} }));
        }
    }
    Value::Object(fields)
}

fn column(column: &Column) -> Value {
    let mut fields = Map::new();
    fields.insert("jsonPath".to_owned(), column.json_path.into());
    fields.insert("name".to_owned(), column.name.into());
    if column.wide {
        fields.insert("priority".to_owned(), 1.into());
    }
    fields.insert("type".to_owned(), column.r#type.into());
    Value::Object(fields)
}

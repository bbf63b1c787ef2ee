//! From the schema as written to the shared table.

use std::sync::Arc;

use object::field::{FieldError, FieldPath};

use super::props::{Additional, Props};
use crate::{
    builder::{BuildError, SchemaBuilder},
    meta,
    node::{Docs, ListKind, MapKind, Node, Property, Schema, SchemaId, Type},
    pattern::{Pattern, PatternError},
    rules::{Branch, Rules},
};

/// Why a schema that passed every check cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub(super) enum CompileError {
    #[error("cannot compile a pattern")]
    Pattern(#[from] PatternError),
    #[error("cannot build the table of types")]
    Table(#[from] BuildError),
}

/// The places of schemas with defaults, to check those.
pub(super) type Defaulted = Vec<(FieldPath, SchemaId)>;

pub(super) fn compile(
    props: &Props,
    path: &FieldPath,
) -> Result<(Schema, Defaulted), CompileError> {
    let mut compiler = Compiler {
        types: SchemaBuilder::new(),
        defaulted: Vec::new(),
        in_map: false,
    };
    let root = compiler.schema(props, path, true)?;
    let types = compiler.types.build()?;
    Ok((Schema::new(types, root), compiler.defaulted))
}

struct Compiler {
    types: SchemaBuilder,
    defaulted: Defaulted,
    /// Inside `additionalProperties`, where defaults are not looked at.
    in_map: bool,
}

impl Compiler {
    fn schema(
        &mut self,
        props: &Props,
        path: &FieldPath,
        is_root: bool,
    ) -> Result<SchemaId, CompileError> {
        let mut node = Node::of(type_of(props));
        node.nullable = props.nullable;
        node.preserve_unknown = props.preserves();
        node.embedded = props.embedded;
        node.description = text(&props.description);
        node.default = props.default.clone().map(Box::new);
        node.map = match props.map_type.as_deref() {
            Some("atomic") => MapKind::Atomic,
            Some(_) => MapKind::Granular,
            None => MapKind::Unstated,
        };
        node.list = match props.list_type.as_deref() {
            Some("map") => ListKind::Map(
                props
                    .list_map_keys
                    .iter()
                    .map(|key| Arc::from(key.as_str()))
                    .collect(),
            ),
            Some("set") => ListKind::Set,
            Some(_) => ListKind::Atomic,
            None => ListKind::Unstated,
        };
        let docs = Docs {
            title: text(&props.title),
            external: props.external_docs.clone(),
            example: props.example.clone(),
        };
        node.docs = (docs != Docs::default()).then(|| Box::new(docs));
        let rules = rules(props)?;
        node.rules = (rules != Rules::default()).then(|| Box::new(rules));

        let mut properties = Vec::with_capacity(props.properties.len() + 3);
        for (name, property) in &props.properties {
            let path = path.child("properties").key(name);
            let schema = match name.as_str() {
                "metadata" if is_root || props.embedded => self.metadata(property, &path)?,
                _ => self.schema(property, &path, false)?,
            };
            properties.push(Property::new(name.as_str(), schema));
        }
        if is_root || props.embedded {
            self.identity(&mut properties);
        }
        properties.sort_by(|a, b| a.name.cmp(&b.name));
        node.properties = properties.into();
        if let Some(item) = props.item() {
            node.items = Some(self.schema(item, &path.child("items"), false)?);
        }
        node.values = match &props.additional {
            Some(Additional::Schema(schema)) => {
                let outer = std::mem::replace(&mut self.in_map, true);
                let values = self.schema(schema, &path.child("additionalProperties"), false)?;
                self.in_map = outer;
                Some(values)
            }
            // Upstream: `true` admits any value, but nothing inside it is described, so that it is pruned empty.
            Some(Additional::Flag(true)) => Some(self.types.add(Node {
                nullable: true,
                ..Node::default()
            })),
            Some(Additional::Flag(false)) | None => None,
        };
        node.closed = props.additional == Some(Additional::Flag(false));
        let has_default = node.default.is_some() && !self.in_map;
        let id = self.types.add(node);
        if has_default {
            self.defaulted.push((path.clone(), id));
        }
        Ok(id)
    }

    /// Adds what every object has and its schema need not list.
    fn identity(&mut self, properties: &mut Vec<Property>) {
        let text = self.types.add(Node::of(Type::String));
        for (name, description) in [
            (
                "apiVersion",
                "APIVersion defines the group and version of the schema this object is written in.",
            ),
            ("kind", "The kind of resource this object represents."),
        ] {
            if !properties.iter().any(|property| &*property.name == name) {
                properties.push(Property::new(name, text).described(description));
            }
        }
        if !properties
            .iter()
            .any(|property| &*property.name == "metadata")
        {
            let metadata = meta::object_meta_id(&mut self.types);
            properties.push(Property::new("metadata", metadata).described(
                "Standard object's metadata: its name and what the server knows of it.",
            ));
        }
    }

    /// Metadata with the restrictions a schema puts on it.
    fn metadata(&mut self, props: &Props, path: &FieldPath) -> Result<SchemaId, CompileError> {
        let mut properties = meta::object_meta(&mut self.types);
        for (name, property) in &props.properties {
            let schema = self.schema(property, &path.child("properties").key(name), false)?;
            properties.retain(|known| *known.name != **name);
            properties.push(Property::new(name.as_str(), schema));
        }
        let mut node = Node::object(properties).with_rules(rules(props)?);
        node.description = text(&props.description);
        // The plain type is there too: it is what gets published.
        meta::object_meta_id(&mut self.types);
        Ok(self.types.add(node))
    }
}

fn type_of(props: &Props) -> Type {
    match props.ty.as_str() {
        _ if props.int_or_string => Type::IntOrString,
        "object" => Type::Object,
        "array" => Type::Array,
        "string" => Type::String,
        "integer" => Type::Integer,
        "number" => Type::Number,
        "boolean" => Type::Boolean,
        _ => Type::Any,
    }
}

fn text(text: &str) -> Option<Arc<str>> {
    (!text.is_empty()).then(|| Arc::from(text))
}

fn rules(props: &Props) -> Result<Rules, CompileError> {
    let branches = |branches: &[Props]| {
        branches
            .iter()
            .map(branch)
            .collect::<Result<Box<[Branch]>, _>>()
    };
    Ok(Rules {
        format: text(&props.format),
        pattern: if props.pattern.is_empty() {
            None
        } else {
            Some(Pattern::new(&props.pattern)?)
        },
        enumeration: props.enumeration.clone().into(),
        maximum: props.maximum,
        exclusive_maximum: props.exclusive_maximum,
        minimum: props.minimum,
        exclusive_minimum: props.exclusive_minimum,
        multiple_of: props.multiple_of,
        max_length: props.max_length,
        min_length: props.min_length,
        max_items: props.max_items,
        min_items: props.min_items,
        unique_items: props.unique_items,
        max_properties: props.max_properties,
        min_properties: props.min_properties,
        required: props
            .required
            .iter()
            .map(|name| Arc::from(name.as_str()))
            .collect(),
        all_of: branches(&props.all_of)?,
        any_of: branches(&props.any_of)?,
        one_of: branches(&props.one_of)?,
        not: props.not.as_deref().map(branch).transpose()?.map(Box::new),
        expressions: props.validations.clone().into(),
    })
}

fn branch(props: &Props) -> Result<Branch, CompileError> {
    let properties = props.properties.iter();
    Ok(Branch {
        rules: rules(props)?,
        ty: Some(type_of(props)).filter(|ty| *ty != Type::Any),
        properties: properties
            .map(|(name, props)| Ok((Arc::from(name.as_str()), branch(props)?)))
            .collect::<Result<_, CompileError>>()?,
        items: props.item().map(branch).transpose()?.map(Box::new),
    })
}

/// The error a failed compilation is reported as; every cause has been reported better before.
pub(super) fn refusal(path: &FieldPath, error: &CompileError) -> FieldError {
    FieldError::invalid(
        path.clone(),
        "",
        format!("error building validator: {error}"),
    )
}

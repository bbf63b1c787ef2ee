//! The catalog as a table of schemas, the form in which the server uses it.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use object::Value;
use schema::{
    ListKind, MapKind, Node, PatchStrategy, Property, SchemaId, Type, Types,
    builder::SchemaBuilder, rules::Rules,
};

use super::{Body, Catalog, Field, Merge, Patch, Scalar, TypeDef, TypeExpr, catalog};

/// The schemas of all built-in kinds, by published name (`io.k8s.api.apps.v1.Deployment`), built on first use and
/// shared from then on.
///
/// Defaults in it are the published ones, most of them zero values: what is set on writing is the business of
/// [`crate::defaults`].
#[must_use]
pub fn types() -> &'static Arc<Types> {
    static TYPES: LazyLock<Arc<Types>> = LazyLock::new(|| build(catalog()));
    &TYPES
}

/// Builds the schemas of a catalog anew; [`types`] does so once.
#[must_use]
pub fn build(catalog: &Catalog) -> Arc<Types> {
    let mut table = Table {
        catalog,
        builder: SchemaBuilder::new(),
        names: BTreeMap::new(),
    };
    for (name, def) in catalog.iter() {
        let node = table.node(def);
        table
            .builder
            .define(name, node)
            .expect("invariant: every type is defined once");
    }
    table
        .builder
        .build()
        .expect("invariant: every type that is referred to is defined")
}

struct Table<'c> {
    catalog: &'c Catalog,
    builder: SchemaBuilder,
    /// Field names recur: each is stored once.
    names: BTreeMap<&'static str, Arc<str>>,
}

impl Table<'_> {
    fn node(&mut self, def: &TypeDef<'static>) -> Node {
        let mut node = match &def.body {
            Body::Value(scalar) => scalar_node(*scalar),
            Body::Fields(fields) => {
                let properties: Vec<Property> =
                    fields.iter().map(|field| self.property(field)).collect();
                let required = fields
                    .iter()
                    .filter(|field| field.required)
                    .map(|field| field.name);
                Node::object(properties).with_rules(Rules::require(required))
            }
        };
        if def.atomic {
            node.map = MapKind::Atomic;
        }
        node.description = def.doc.as_deref().map(Arc::from);
        node
    }

    fn property(&mut self, field: &Field<'static>) -> Property {
        let name = Arc::clone(
            self.names
                .entry(field.name)
                .or_insert_with(|| Arc::from(field.name)),
        );
        let mut property = Property::new(name, self.field_type(field));
        property.description = field.doc.map(Arc::from);
        property.default = field.published_default().map(Box::new);
        property.unset = field.unset(self.catalog).map(Box::new);
        match &field.patch {
            Some(patch) => property.with_patch(patch_strategy(patch)),
            None => property,
        }
    }

    fn field_type(&mut self, field: &Field<'static>) -> SchemaId {
        let own_map = match field.merge {
            Merge::Granular => Some(MapKind::Granular),
            Merge::Atomic => Some(MapKind::Atomic),
            _ => None,
        };
        match (&field.ty, own_map) {
            (TypeExpr::List(items), _) => {
                let items = self.reference(items);
                self.builder.add(Node::list(items, list_kind(&field.merge)))
            }
            (TypeExpr::Map(values), Some(map)) => {
                let values = self.reference(values);
                self.builder.add(Node {
                    map,
                    ..Node::map(values)
                })
            }
            // The field merges otherwise than its type does elsewhere, so it needs a node of its own.
            (ty @ TypeExpr::Named { .. }, Some(map)) => {
                let def = self.catalog.named(ty).map(|id| self.catalog.def(id));
                let def = def.expect("invariant: every type that is referred to is defined");
                let node = Node {
                    map,
                    ..self.node(def)
                };
                self.builder.add(node)
            }
            (ty, _) => self.reference(ty),
        }
    }

    fn reference(&mut self, ty: &TypeExpr<'static>) -> SchemaId {
        match ty {
            TypeExpr::Scalar(scalar) => self.builder.add(scalar_node(*scalar)),
            TypeExpr::Choice(values) => {
                let rules = Rules::one_value_of(values.iter().copied().map(Value::from));
                self.builder.add(Node::of(Type::String).with_rules(rules))
            }
            TypeExpr::List(items) => {
                let items = self.reference(items);
                self.builder.add(Node::list(items, ListKind::Unstated))
            }
            TypeExpr::Map(values) => {
                let values = self.reference(values);
                self.builder.add(Node::map(values))
            }
            TypeExpr::Named { package, name } => {
                self.builder.reference(&format!("{package}.{name}"))
            }
        }
    }
}

fn list_kind(merge: &Merge<'_>) -> ListKind {
    match merge {
        Merge::Unstated | Merge::Granular => ListKind::Unstated,
        Merge::Atomic => ListKind::Atomic,
        Merge::Set => ListKind::Set,
        Merge::By(keys) => ListKind::Map(keys.iter().copied().map(Arc::from).collect()),
    }
}

fn patch_strategy(patch: &Patch<'_>) -> PatchStrategy {
    let words = [
        ("merge", patch.merge),
        ("retainKeys", patch.retain_keys),
        ("replace", patch.replace),
    ];
    let strategy: Vec<&str> = words
        .iter()
        .filter(|(_, set)| *set)
        .map(|(word, _)| *word)
        .collect();
    PatchStrategy::parse(&strategy.join(","), patch.key)
}

fn scalar_node(scalar: Scalar) -> Node {
    let formatted = |ty, format| Node::of(ty).with_rules(Rules::format(format));
    match scalar {
        Scalar::String => Node::of(Type::String),
        Scalar::Bool => Node::of(Type::Boolean),
        Scalar::Int32 => formatted(Type::Integer, "int32"),
        Scalar::Int64 => formatted(Type::Integer, "int64"),
        Scalar::Double => formatted(Type::Number, "double"),
        Scalar::Byte => formatted(Type::String, "byte"),
        Scalar::DateTime => formatted(Type::String, "date-time"),
        Scalar::Quantity => Node::of(Type::Quantity),
        Scalar::IntOrString => Node::of(Type::IntOrString),
        Scalar::Object => Node {
            preserve_unknown: true,
            ..Node::of(Type::Object)
        },
        Scalar::Any => Node::any(),
    }
}

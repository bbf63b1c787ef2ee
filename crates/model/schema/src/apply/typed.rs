//! Values seen through their schema: which are owned whole, which by their parts, and how parts are told apart.

use std::{collections::BTreeMap, sync::Arc};

use object::Value;

use super::{
    check::{go_syntax, go_text, go_type},
    compare::MANY_FIELDS,
    fieldset::FieldSet,
    path::PathElement,
};
use crate::node::{
    ListKind, MapKind, Node, PatchStrategy, Property, Schema, SchemaId, Type, Types,
};

/// What the schema says about one place.
#[derive(Clone, Copy)]
pub(super) struct Ty<'a> {
    types: &'a Types,
    shape: Shape<'a>,
}

#[derive(Clone, Copy)]
enum Shape<'a> {
    /// A node; `free` when something around it keeps unknown fields; `patch` when the field has a patch strategy.
    Node {
        node: &'a Node,
        free: bool,
        patch: Option<&'a PatchStrategy>,
    },
    /// Not described: objects are shared by field, everything else is owned whole.
    Deduced,
    /// Not described and owned whole.
    Raw,
}

/// How a value is treated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// An object.
    Map,
    /// A plain value.
    Scalar,
    /// A list.
    List,
}

/// How list elements are told apart.
#[derive(Clone, Copy)]
pub(super) enum Elements<'a> {
    /// They are not: the list is owned whole.
    Atomic,
    /// By themselves.
    Set,
    /// By these fields.
    Keyed(&'a [Arc<str>]),
    /// By this field, from a patch strategy.
    MergeKey(&'a Arc<str>),
}

impl<'a> Ty<'a> {
    /// The type of whole objects.
    pub(super) fn of(schema: &'a Schema) -> Self {
        Self::node(&schema.types, schema.root, false, None)
    }

    fn node(types: &'a Types, id: SchemaId, free: bool, patch: Option<&'a PatchStrategy>) -> Self {
        let node = types.node(id);
        let free = node.preserve_unknown || (free && types.name(id).is_none());
        Self {
            types,
            shape: Shape::Node { node, free, patch },
        }
    }

    fn with(self, shape: Shape<'a>) -> Self {
        Self { shape, ..self }
    }

    /// How `value` is treated here; an absent or odd value is treated as the schema would have it.
    pub(super) fn form(self, value: Option<&Value>) -> Form {
        let admits = |form: Form| match self.shape {
            Shape::Deduced | Shape::Raw => true,
            Shape::Node { node, .. } => match node.ty {
                Type::Any | Type::IntOrString => true,
                Type::Object => form == Form::Map,
                Type::Array => form == Form::List,
                _ => form == Form::Scalar,
            },
        };
        let natural = match value {
            None | Some(Value::Null) => None,
            Some(Value::Object(_)) => Some(Form::Map),
            Some(Value::Array(_)) => Some(Form::List),
            Some(_) => Some(Form::Scalar),
        };
        let order = [Form::Map, Form::Scalar, Form::List];
        natural
            .into_iter()
            .chain(order)
            .find(|form| admits(*form))
            .unwrap_or(Form::Scalar)
    }

    /// Whether the fields of an object here have one owner.
    pub(super) fn is_atomic_map(self) -> bool {
        match self.shape {
            Shape::Raw => true,
            Shape::Deduced => false,
            Shape::Node { node, .. } => node.map == MapKind::Atomic,
        }
    }

    /// How the elements of a list here are told apart.
    pub(super) fn elements(self) -> Elements<'a> {
        let Shape::Node { node, patch, .. } = self.shape else {
            return Elements::Atomic;
        };
        match (&node.list, patch.filter(|patch| patch.merge)) {
            (ListKind::Map(keys), _) => Elements::Keyed(keys),
            (ListKind::Set, _) => Elements::Set,
            (
                ListKind::Unstated,
                Some(PatchStrategy {
                    merge_key: Some(key),
                    ..
                }),
            ) => Elements::MergeKey(key),
            (ListKind::Unstated, Some(_)) => Elements::Set,
            (ListKind::Unstated | ListKind::Atomic, _) => Elements::Atomic,
        }
    }

    /// The type of list elements.
    pub(super) fn item(self) -> Self {
        match self.shape {
            Shape::Node { node, free, .. } => match node.items {
                Some(items) => Self::node(self.types, items, free, None),
                None => self.with(Shape::Raw),
            },
            Shape::Deduced | Shape::Raw => self.with(Shape::Raw),
        }
    }

    /// The property the schema lists under `name`.
    pub(super) fn property(self, name: &str) -> Option<&'a Property> {
        match self.shape {
            Shape::Node { node, .. } => node.property(name),
            Shape::Deduced | Shape::Raw => None,
        }
    }

    /// The path element of the field called `name`; those the schema lists share its text.
    pub(super) fn field_element(self, name: &str) -> PathElement {
        match self.property(name) {
            Some(property) => PathElement::Field(Arc::clone(&property.name)),
            None => PathElement::field(name),
        }
    }

    /// The type of the field called `name`; `None` if there may be no such field.
    pub(super) fn field(self, name: &str) -> Option<Self> {
        let Shape::Node { node, free, .. } = self.shape else {
            return Some(self);
        };
        if let Some(property) = node.property(name) {
            return Some(Self::node(
                self.types,
                property.schema,
                free,
                property.patch.as_deref(),
            ));
        }
        match node.values {
            Some(values) => Some(Self::node(self.types, values, free, None)),
            None if node.closed => None,
            None if free || node.properties.is_empty() => Some(self.with(Shape::Deduced)),
            None => None,
        }
    }

    /// Whether objects here have only fields that are not described.
    pub(super) fn is_free_map(self) -> bool {
        match self.shape {
            Shape::Deduced | Shape::Raw => true,
            Shape::Node { node, free, .. } => {
                node.properties.is_empty() && node.values.is_none() && !node.closed || {
                    let plain = |id| {
                        let values = self.types.node(id);
                        values.ty == Type::Any
                            && values.properties.is_empty()
                            && values.values.is_none()
                    };
                    free && node.properties.is_empty() && node.values.is_some_and(plain)
                }
            }
        }
    }

    /// The path element of a list element.
    pub(super) fn element(self, item: &Value) -> Result<PathElement, String> {
        match self.elements() {
            Elements::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            Elements::Set => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => {
                    Err("not supported: associative list with lists as elements".to_owned())
                }
                Value::Null => Err(
                    "associative list without keys has an element that's an explicit null"
                        .to_owned(),
                ),
                plain => Ok(PathElement::Value(Arc::new(plain.clone()))),
            },
            Elements::Keyed(keys) => self.keyed(item, keys),
            Elements::MergeKey(key) => self.keyed(item, std::slice::from_ref(key)),
        }
    }

    /// Whether a list element can be told apart: whether [`Ty::element`] has an answer.
    pub(super) fn has_element(self, item: &Value) -> bool {
        let keys = match self.elements() {
            Elements::Atomic => return false,
            Elements::Set => {
                return !matches!(item, Value::Object(_) | Value::Array(_) | Value::Null);
            }
            Elements::Keyed(keys) => keys,
            Elements::MergeKey(key) => std::slice::from_ref(key),
        };
        let Value::Object(fields) = item else {
            return false;
        };
        let has_default = |key: &str| {
            let property = self.item().property(key);
            property.is_some_and(|property| self.types.default_of(property).is_some())
        };
        keys.iter()
            .any(|key| fields.contains_key(&**key) || has_default(key))
    }

    fn keyed(self, item: &Value, keys: &[Arc<str>]) -> Result<PathElement, String> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => {
                return Err("associative list with keys may not have a null element".to_owned());
            }
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let ty = self.item();
        let default = |key: &str| {
            ty.property(key)
                .and_then(|property| self.types.default_of(property))
        };
        let part = |key: &Arc<str>| {
            let value = fields.get(&**key).or_else(|| default(key))?;
            Some((Arc::clone(key), value.clone()))
        };
        let parts: Vec<(Arc<str>, Value)> = keys.iter().filter_map(part).collect();
        if parts.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
                 values for any key fields)",
                keys.join(" ")
            ));
        }
        Ok(PathElement::key(parts))
    }

    /// What is wrong with a plain value here.
    pub(super) fn scalar_problem(self, value: Option<&Value>, side: &str) -> Option<String> {
        let value = value.filter(|value| !value.is_null())?;
        let ty = match self.shape {
            Shape::Deduced | Shape::Raw => Type::Any,
            Shape::Node { node, .. } => {
                let format = node
                    .rules
                    .as_deref()
                    .and_then(|rules| rules.format.as_deref());
                match node.ty {
                    // Upstream: strings with a format may come as other plain values.
                    Type::String if !matches!(format, None | Some("byte")) => Type::Any,
                    ty => ty,
                }
            }
        };
        match (ty, value) {
            (Type::Integer | Type::Number, Value::Number(_))
            | (Type::String, Value::String(_))
            | (Type::Boolean, Value::Bool(_)) => None,
            (Type::Integer | Type::Number, other) => Some(format!(
                "{side}expected numeric (int or float), got {}",
                go_type(other)
            )),
            (Type::String, other) => Some(format!(
                "{side}expected string, got &value.valueUnstructured{{Value:{}}}",
                go_syntax(other)
            )),
            (Type::Boolean, other) => Some(format!(
                "{side}expected boolean, got &{{{}}}",
                go_text(other)
            )),
            (_, Value::Object(_) | Value::Array(_)) => Some(format!(
                "{side}expected any scalar, got &{{{}}}",
                go_text(value)
            )),
            _ => None,
        }
    }
}

/// Every leaf and every list element of a value: what its author owns. Says also whether the value itself is one.
pub(super) fn fields_of(ty: Ty<'_>, value: &Value) -> (bool, FieldSet) {
    let mut set = FieldSet::new();
    match (ty.form(Some(value)), value) {
        (Form::Scalar, _) => return (true, set),
        (Form::Map, value) => {
            if ty.is_atomic_map() {
                return (true, set);
            }
            let Value::Object(fields) = value else {
                return (false, set);
            };
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            if fields.len() > MANY_FIELDS {
                fields.sort_unstable_by_key(|(name, _)| *name);
            }
            for (name, field) in fields {
                let Some(field_ty) = ty.field(name) else {
                    continue;
                };
                let element = ty.field_element(name);
                let (is_leaf, below) = fields_of(field_ty, field);
                let is_bare =
                    field.is_null() || field.as_object().is_some_and(object::Map::is_empty);
                if is_leaf || is_bare || ty.property(name).is_none() {
                    set.insert_member(element.clone());
                }
                set.insert_child(element, below);
            }
        }
        (Form::List, value) => {
            if matches!(ty.elements(), Elements::Atomic) {
                return (true, set);
            }
            let Value::Array(items) = value else {
                return (false, set);
            };
            // Repeated elements are owned together, as one.
            let mut elements: BTreeMap<PathElement, Option<&Value>> = BTreeMap::new();
            for item in items {
                if let Ok(element) = ty.element(item) {
                    elements
                        .entry(element)
                        .and_modify(|only| *only = None)
                        .or_insert(Some(item));
                }
            }
            for (element, only) in elements {
                if let Some(item) = only {
                    set.insert_child(element.clone(), fields_of(ty.item(), item).1);
                }
                set.insert_member(element);
            }
        }
    }
    (false, set)
}

/// The same set with the named fields around its paths: `.spec` for `.spec.replicas`.
pub(super) fn with_named_parents(ty: Option<Ty<'_>>, set: &FieldSet) -> FieldSet {
    let mut out = FieldSet {
        members: set.members.clone(),
        children: Vec::with_capacity(set.children.len()),
    };
    for (element, child) in &set.children {
        let below = match (element, ty) {
            (PathElement::Field(name), Some(ty)) => {
                if ty.form(None) == Form::Map && ty.property(name).is_some() {
                    out.insert_member(element.clone());
                }
                ty.field(name)
            }
            (PathElement::Key(_), Some(ty)) => Some(ty.item()),
            _ => None,
        };
        out.children
            .push((element.clone(), with_named_parents(below, child)));
    }
    out
}

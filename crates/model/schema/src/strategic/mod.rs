//! Strategic merge patches: patches that know which lists merge by key.
//!
//! A patch is merged field by field. Lists are replaced unless the schema gives them a merge strategy; then their
//! elements merge by key, or, for plain values, as a set. Directives inside the patch say more: `$patch` replaces or
//! deletes what it stands in, `$retainKeys` clears other fields, `$deleteFromPrimitiveList/…` takes values out of a
//! list, `$setElementOrder/…` orders one.

mod lists;
mod objects;

use object::{Map, Value};

use crate::{
    node::{Node, PatchStrategy, Schema, Types},
    trail::MAX_DEPTH,
};

/// Why a patch cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The object or the patch is not an object.
    #[error("invalid JSON document")]
    NotAnObject,
    /// `$patch` has a value that means nothing there.
    #[error("unknown patch type: {directive} in map: {place}")]
    Directive {
        /// The value.
        directive: String,
        /// The object it stands in.
        place: String,
    },
    /// `$patch: merge` inside a list.
    #[error("merging lists cannot yet be specified in the patch")]
    MergeInList,
    /// `$retainKeys` is no list, or misses a field the patch sets.
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    /// `$setElementOrder` is not a list, or names no field.
    #[error("invalid patch format of setElementOrder list")]
    ElementOrder,
    /// `$deleteFromPrimitiveList` names no field.
    #[error("invalid patch format of primitive list")]
    PrimitiveList,
    /// The patched list is ordered otherwise than its `$setElementOrder`.
    #[error("The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n")]
    OutOfOrder {
        /// The list.
        patch: String,
        /// The order.
        order: String,
    },
    /// An element of a list that merges by key has no key.
    #[error("map: {element} does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The element.
        element: String,
        /// The key.
        key: String,
    },
    /// A list of objects that should merge, but the schema names no key.
    #[error("cannot merge lists without merge key for {field}")]
    NoKeyDeclared {
        /// The list.
        field: String,
    },
    /// The elements of a list that merges are of different types.
    #[error("list element types are not identical: {elements}")]
    MixedList {
        /// The elements.
        elements: String,
    },
    /// Lists of lists do not merge.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// There is nothing in a list to be ordered.
    #[error("no elements in any of the given slices")]
    NothingToOrder,
    /// A value has another type than the directive needs.
    #[error("expected a {expected}, but received a {found}")]
    Type {
        /// What it should be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// The patch nests deeper than any object may.
    #[error("patch is nested too deeply")]
    Depth,
}

impl Schema {
    /// The object after a strategic merge patch.
    ///
    /// # Errors
    /// When the patch contradicts itself or the schema.
    pub fn merge_strategically(&self, object: Value, patch: Value) -> Result<Value, PatchError> {
        let (Value::Object(object), Value::Object(patch)) = (object, patch) else {
            return Err(PatchError::NotAnObject);
        };
        let place = Place {
            types: &self.types,
            node: Some(self.root()),
            depth: 0,
        };
        objects::merge(place, object, patch).map(Value::Object)
    }
}

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

/// Where in the object a merge is, and what the schema says about it.
#[derive(Clone, Copy)]
struct Place<'a> {
    types: &'a Types,
    node: Option<&'a Node>,
    depth: usize,
}

impl<'a> Place<'a> {
    /// The field called `name` and how it is patched.
    fn field(self, name: &str) -> Result<(Self, Option<&'a PatchStrategy>), PatchError> {
        let property = self.node.and_then(|node| node.property(name));
        let id = property
            .map(|property| property.schema)
            .or_else(|| self.node?.values);
        let place = self.below(id.map(|id| self.types.node(id)))?;
        Ok((
            place,
            property.and_then(|property| property.patch.as_deref()),
        ))
    }

    /// The elements of a list.
    fn item(self) -> Result<Self, PatchError> {
        let id = self.node.and_then(|node| node.items);
        self.below(id.map(|id| self.types.node(id)))
    }

    fn below(self, node: Option<&'a Node>) -> Result<Self, PatchError> {
        if self.depth > MAX_DEPTH {
            return Err(PatchError::Depth);
        }
        Ok(Self {
            node,
            depth: self.depth + 1,
            ..self
        })
    }
}

/// A value of the patch that nothing is there to merge with: without nulls and without directives. `None` if it is
/// nothing but a directive.
fn plain(value: Value) -> Option<Value> {
    without_directives(without_nulls(value))
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                kept.map(|(name, value)| (name, without_nulls(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let kept = fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(
            items.into_iter().filter_map(without_directives).collect(),
        )),
        other => Some(other),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn shown(fields: &Map) -> String {
    Value::Object(fields.clone()).to_string()
}

#[cfg(test)]
mod tests;

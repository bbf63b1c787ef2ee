//! Defaults of a schema held against its rules: what the server sets itself must not be what it would refuse.

use object::field::{FieldError, FieldPath};
use schema::{Schema, SchemaId};

use super::{Checking, Pair, Place, Rules};

impl Rules {
    /// Everything that does not hold for the defaults of the schema these rules were compiled from, which stands at `path`.
    #[must_use]
    pub fn check_defaults(&self, schema: &Schema, path: &FieldPath) -> Vec<FieldError> {
        let Some(root) = &self.root else {
            return Vec::new();
        };
        let mut checking = Checking {
            ratchets: false,
            ..Checking::new()
        };
        walk(&mut checking, schema, schema.root_id(), root, path);
        checking.errors
    }
}

fn walk(checking: &mut Checking, schema: &Schema, id: SchemaId, place: &Place, path: &FieldPath) {
    let node = schema.node(id);
    if let Some(default) = node.default.as_deref() {
        // Upstream: a default is its own past, so that rules about changes are looked at too.
        let pair = Pair {
            new: default,
            old: Some(default),
            within_unchanged: false,
        };
        checking.place(place, pair, &path.child("default"));
    }
    for property in &node.properties {
        if let Some(inner) = place.fields.get(&property.name) {
            let path = path.child("properties").key(&property.name);
            walk(checking, schema, property.schema, inner, &path);
        }
    }
    if let (Some(items), Some(inner)) = (node.items, place.items.as_deref()) {
        walk(checking, schema, items, inner, &path.child("items"));
    }
    if let (Some(values), Some(inner)) = (node.values, place.values.as_deref()) {
        let path = path.child("additionalProperties");
        walk(checking, schema, values, inner, &path);
    }
}

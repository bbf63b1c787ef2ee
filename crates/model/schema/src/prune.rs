//! Removing the fields a schema does not know, and saying which they were.

use object::{Map, Value};

use crate::{
    node::{Node, Schema, SchemaId, Types},
    trail::Trail,
};

/// The fields every object has, whether its schema lists them or not.
const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl Schema {
    /// Removes unknown fields from an object and returns their paths, sorted, as in `unknown field "spec.foo"`. Of very
    /// many only the first are named.
    ///
    /// `apiVersion`, `kind` and `metadata` of the object and of embedded objects stay; see [`Schema::coerce`] for
    /// what is inside metadata. Where the schema keeps unknown fields, only the parts it describes are pruned.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        self.prune_from(object, true)
    }

    /// The same for the metadata of an object whose schema describes it in full, as those of built-in kinds do.
    pub fn prune_metadata(&self, object: &mut Value) -> Vec<String> {
        let property = self.types.node(self.root).property("metadata");
        let (Some(property), Some(metadata)) = (property, object.get_mut("metadata")) else {
            return Vec::new();
        };
        let mut pruner = Pruner {
            types: &self.types,
            unknown: Named::default(),
        };
        let trail = Trail::ROOT.field("metadata");
        pruner.value(metadata, Some(property.schema), false, &trail);
        pruner.unknown.paths.sort();
        pruner.unknown.paths
    }

    /// The same for a part of an object, which is an object of its own only if its node says so.
    pub(crate) fn prune_part(&self, value: &mut Value) -> Vec<String> {
        self.prune_from(value, false)
    }

    fn prune_from(&self, value: &mut Value, is_object: bool) -> Vec<String> {
        let mut pruner = Pruner {
            types: &self.types,
            unknown: Named::default(),
        };
        pruner.value(value, Some(self.root), is_object, &Trail::ROOT);
        pruner.unknown.paths.sort();
        pruner.unknown.paths
    }
}

struct Pruner<'a> {
    types: &'a Types,
    unknown: Named,
}

/// The paths of what was removed. An object can have very many unknown fields under a long path, and saying which must not
/// cost more than a small multiple of its own size.
#[derive(Default)]
struct Named {
    paths: Vec<String>,
    bytes: usize,
}

impl Named {
    const MOST_PATHS: usize = 256;
    const MOST_BYTES: usize = 64 * 1024;

    fn note(&mut self, path: impl FnOnce() -> String) {
        if self.paths.len() < Self::MOST_PATHS && self.bytes < Self::MOST_BYTES {
            let path = path();
            self.bytes += path.len();
            self.paths.push(path);
        }
    }
}

impl Pruner<'_> {
    /// `embedded` is set where the value is an object of its own although its node does not say so: at the root.
    fn value(
        &mut self,
        value: &mut Value,
        schema: Option<SchemaId>,
        embedded: bool,
        trail: &Trail<'_>,
    ) {
        if trail.is_too_deep() {
            return;
        }
        let Some(id) = schema else {
            return self.undescribed(value, trail);
        };
        let node = self.types.node(id);
        match value {
            Value::Object(fields) => self.fields(fields, node, embedded || node.embedded, trail),
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let trail = trail.index(index);
                    match (node.preserve_unknown, node.items) {
                        (false, items) => self.value(item, items, false, &trail),
                        (true, Some(items)) => self.preserved(item, items, &trail),
                        (true, None) => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// Below a node that keeps unknown fields, list elements keep theirs too.
    fn preserved(&mut self, value: &mut Value, schema: SchemaId, trail: &Trail<'_>) {
        if trail.is_too_deep() {
            return;
        }
        let node = self.types.node(schema);
        match value {
            Value::Object(fields) => self.known_fields(fields, node, node.embedded, trail),
            Value::Array(items) => {
                let Some(schema) = node.items else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.preserved(item, schema, &trail.index(index));
                }
            }
            _ => {}
        }
    }

    fn fields(&mut self, fields: &mut Map, node: &Node, embedded: bool, trail: &Trail<'_>) {
        if node.preserve_unknown {
            return self.known_fields(fields, node, embedded, trail);
        }
        let is_unknown = |name: &str| {
            let is_identity = embedded && META_FIELDS.contains(&name);
            // Fields that may not be set at all are refused later, by name.
            !is_identity && !node.closed && node.values.is_none() && node.property(name).is_none()
        };
        // Most objects have nothing to prune: look before rebuilding the map.
        if fields.keys().any(|name| is_unknown(name)) {
            let unknown = &mut self.unknown;
            fields.retain(|name, _| {
                let drop = is_unknown(name);
                if drop {
                    unknown.note(|| trail.field(name).dotted());
                }
                !drop
            });
        }
        self.known_fields(fields, node, embedded, trail);
    }

    fn known_fields(&mut self, fields: &mut Map, node: &Node, embedded: bool, trail: &Trail<'_>) {
        for (name, value) in fields.iter_mut() {
            if embedded && META_FIELDS.contains(&name.as_str()) {
                continue;
            }
            if let Some(property) = node.property(name) {
                self.value(value, Some(property.schema), false, &trail.field(name));
            } else if node.values.is_some() || node.closed {
                self.value(value, node.values, false, &trail.key(name));
            }
        }
    }

    /// A list whose elements the schema does not describe keeps plain values; objects in it lose everything.
    fn undescribed(&mut self, value: &mut Value, trail: &Trail<'_>) {
        match value {
            Value::Object(fields) => {
                let names = std::mem::take(fields).into_iter();
                for (name, _) in names {
                    self.unknown.note(|| trail.field(&name).dotted());
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(item, None, false, &trail.index(index));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Malformed, crd};

    #[track_caller]
    fn check(spec: Value, object: Value, kept: Value, unknown: &[&str]) {
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        let schema = crd::read(&schema, &"s".into()).unwrap();
        let mut value = object;
        assert_eq!(schema.prune(&mut value), unknown);
        assert_eq!(value, kept);
        assert_eq!(
            schema.prune(&mut value),
            [""; 0],
            "pruning twice changes nothing"
        );
        assert_eq!(value, kept);
    }

    #[test]
    fn unknown_fields_go_and_are_named() {
        check(
            json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}}}}),
            json!({"kind": "K", "metadata": {"x": 1}, "foo": 1, "spec": {"bar": 1, "a": [{"b": "", "c": {}}, 1]}}),
            json!({"kind": "K", "metadata": {"x": 1}, "spec": {"a": [{"b": ""}, 1]}}),
            &["foo", "spec.a[0].c", "spec.bar"],
        );
    }

    #[test]
    fn kept_fields_are_pruned_where_they_are_described() {
        check(
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "object", "properties": {}}}}),
            json!({"spec": {"free": {"x": 1}, "a": {"x": 1}}}),
            json!({"spec": {"free": {"x": 1}, "a": {}}}),
            &["spec.a.x"],
        );
    }

    #[test]
    fn metadata_is_brought_into_shape() {
        let schema = crd::read(&json!({"type": "object"}), &"s".into()).unwrap();
        let mut object = json!({"metadata": {
            "name": "a", "labels": {}, "creationTimestamp": null, "foo": 1,
            "deletionTimestamp": "2024-01-01T02:00:00.7+02:00", "ownerReferences": [{"uid": "u", "x": 1}],
        }});
        let unknown = schema.coerce(&mut object, Malformed::Refuse).unwrap();
        assert_eq!(unknown, ["metadata.foo", "metadata.ownerReferences[0].x"]);
        let owner = json!({"uid": "u", "apiVersion": "", "kind": "", "name": ""});
        let expected = json!({"name": "a", "deletionTimestamp": "2024-01-01T00:00:00Z", "ownerReferences": [owner]});
        assert_eq!(object["metadata"], expected);
        let mut wrong = json!({"kind": "K", "metadata": {"name": 1, "uid": "u"}});
        assert_eq!(
            schema
                .coerce(&mut wrong.clone(), Malformed::Refuse)
                .unwrap_err()
                .to_string(),
            r#"metadata: Invalid value: {"name":1,"uid":"u"}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"#
        );
        schema.coerce(&mut wrong, Malformed::Drop).unwrap();
        assert_eq!(wrong, json!({"kind": "K", "metadata": {"uid": "u"}}));
    }
}

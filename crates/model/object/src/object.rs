//! An object of any kind, as its author wrote it.
//!
//! Templates belong to users: they are read through the accessors here and edited by path, never parsed into a
//! struct and written back, so that fields nobody here has heard of survive every trip, in their order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Map, Value,
    field::FieldPath,
    identity::{GroupVersionKind, ObjectKey},
    metadata::{ObjectMeta, OwnerReference},
    parse::{self, ShapeError},
    time::Time,
};

/// An object of any kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Object {
    fields: Map,
}

/// An edit through something that is not an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: is not an object, so nothing can be set below it")]
pub struct SetError {
    /// The value in the way.
    pub path: FieldPath,
}

impl Object {
    /// An object that says what it is and who it is, and nothing else.
    #[must_use]
    pub fn new(kind: &GroupVersionKind, key: &ObjectKey) -> Self {
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), Value::from(key.name.as_str()));
        if !key.namespace.is_empty() {
            metadata.insert("namespace".to_owned(), Value::from(key.namespace.as_str()));
        }
        let mut fields = Map::new();
        fields.insert("apiVersion".to_owned(), Value::from(kind.api_version()));
        fields.insert("kind".to_owned(), Value::from(kind.kind.as_str()));
        fields.insert("metadata".to_owned(), Value::Object(metadata));
        Self { fields }
    }

    /// From a value, which must be a JSON object.
    pub fn from_value(value: Value) -> Result<Self, ShapeError> {
        match value {
            Value::Object(fields) => Ok(Self { fields }),
            other => Err(ShapeError {
                path: FieldPath::root(),
                problem: format!("expected an object, found {}", type_name(&other)),
            }),
        }
    }

    /// All fields, in order.
    #[must_use]
    pub fn fields(&self) -> &Map {
        &self.fields
    }

    /// All fields, to edit in place; prefer [`set`](Self::set) and [`remove`](Self::remove).
    pub fn fields_mut(&mut self) -> &mut Map {
        &mut self.fields
    }

    /// The object as a plain value.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::Object(self.fields)
    }

    /// Reads the whole object as a type.
    pub fn read<'o, T: Deserialize<'o>>(&'o self) -> Result<T, ShapeError> {
        parse::shape(&self.fields)
    }

    /// The value at a path of field names.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter()
            .try_fold(self.fields.get(*first)?, |value, name| {
                value.as_object()?.get(*name)
            })
    }

    /// The text at a path of field names; `None` if it is missing or not text.
    #[must_use]
    pub fn text_at(&self, path: &[&str]) -> Option<&str> {
        self.at(path)?.as_str()
    }

    /// The integer at a path of field names; `None` if it is missing or not an integer.
    #[must_use]
    pub fn integer_at(&self, path: &[&str]) -> Option<i64> {
        self.at(path)?.as_i64()
    }

    /// Puts a value at a path of field names, making the objects on the way; nothing changes on an error.
    pub fn set(&mut self, path: &[&str], value: impl Into<Value>) -> Result<(), SetError> {
        let Some((last, parents)) = path.split_last() else {
            return Ok(());
        };
        self.check_path(parents)?;
        let mut fields = &mut self.fields;
        for name in parents {
            let next = fields
                .entry((*name).to_owned())
                .or_insert_with(|| Value::Object(Map::new()));
            if next.is_null() {
                *next = Value::Object(Map::new());
            }
            fields = next
                .as_object_mut()
                .expect("invariant: check_path found objects or nothing on the way");
        }
        fields.insert((*last).to_owned(), value.into());
        Ok(())
    }

    /// Takes the value at a path of field names away; the other fields keep their order.
    pub fn remove(&mut self, path: &[&str]) -> Option<Value> {
        let (last, parents) = path.split_last()?;
        let mut fields = &mut self.fields;
        for name in parents {
            fields = fields.get_mut(*name)?.as_object_mut()?;
        }
        fields.shift_remove(*last)
    }

    fn check_path(&self, parents: &[&str]) -> Result<(), SetError> {
        let mut fields = &self.fields;
        let mut path = FieldPath::root();
        for name in parents {
            path = path.child(name);
            match fields.get(*name) {
                None | Some(Value::Null) => return Ok(()),
                Some(Value::Object(next)) => fields = next,
                Some(_) => return Err(SetError { path }),
            }
        }
        Ok(())
    }
}

/// What the object says of itself. Missing or mistyped fields read as empty: validation, not reading, refuses them.
impl Object {
    /// Such as `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> &str {
        self.text_at(&["apiVersion"]).unwrap_or_default()
    }

    /// Such as `Deployment`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.text_at(&["kind"]).unwrap_or_default()
    }

    /// Group, version and kind; an `apiVersion` that does not parse counts as a version of the core group.
    #[must_use]
    pub fn group_version_kind(&self) -> GroupVersionKind {
        GroupVersionKind::from_api_version(self.api_version(), self.kind())
            .unwrap_or_else(|_| GroupVersionKind::new("", self.api_version(), self.kind()))
    }

    /// Unique in the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text_at(&["metadata", "name"]).unwrap_or_default()
    }

    /// Empty for cluster-scoped objects.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.text_at(&["metadata", "namespace"]).unwrap_or_default()
    }

    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey::namespaced(self.namespace(), self.name())
    }

    /// Distinguishes this object from others of the same name in time.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.text_at(&["metadata", "uid"]).unwrap_or_default()
    }

    /// The revision of the last change.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        self.text_at(&["metadata", "resourceVersion"])
            .unwrap_or_default()
    }

    /// Counts changes of the desired state.
    #[must_use]
    pub fn generation(&self) -> i64 {
        self.integer_at(&["metadata", "generation"])
            .unwrap_or_default()
    }

    /// The value of one label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.text_at(&["metadata", "labels", key])
    }

    /// The value of one annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.text_at(&["metadata", "annotations", key])
    }

    /// All labels.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<&str, &str> {
        self.texts_at(&["metadata", "labels"])
    }

    /// All annotations.
    #[must_use]
    pub fn annotations(&self) -> BTreeMap<&str, &str> {
        self.texts_at(&["metadata", "annotations"])
    }

    /// Who still has work to do before the object may go.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.at(&["metadata", "finalizers"])
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    }

    /// When deletion was asked for.
    #[must_use]
    pub fn deletion_timestamp(&self) -> Option<Time> {
        self.text_at(&["metadata", "deletionTimestamp"])?
            .parse()
            .ok()
    }

    /// Whether deletion has been asked for.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        self.at(&["metadata", "deletionTimestamp"])
            .is_some_and(|value| !value.is_null())
    }

    /// The owners that can be read; a malformed entry owns nothing.
    pub fn owner_references(&self) -> impl Iterator<Item = OwnerReference> {
        let list = self
            .at(&["metadata", "ownerReferences"])
            .and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(|owner| parse::shape(owner).ok())
    }

    /// The metadata as a value; fields [`ObjectMeta`] does not name are not in it.
    pub fn metadata(&self) -> Result<ObjectMeta, ShapeError> {
        match self.fields.get("metadata") {
            None | Some(Value::Null) => Ok(ObjectMeta::default()),
            Some(value) => parse::shape(value).map_err(|error| ShapeError {
                path: nested("metadata", &error.path),
                problem: error.problem,
            }),
        }
    }

    fn texts_at(&self, path: &[&str]) -> BTreeMap<&str, &str> {
        let map = self.at(path).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
            .collect()
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        object.into_value()
    }
}

fn nested(parent: &str, path: &FieldPath) -> FieldPath {
    match path.as_str() {
        "" => FieldPath::new(parent),
        below if below.starts_with('[') => FieldPath::from(format!("{parent}{below}").as_str()),
        below => FieldPath::new(parent).child(below),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    #[test]
    fn unknown_fields_and_their_order_survive() {
        let text = r#"{"zeta":1,"kind":"Thing","apiVersion":"x/v1","metadata":{"novel":{"b":1,"a":2},"name":"t"}}"#;
        let mut thing: Object = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&thing).unwrap(), text);
        thing.set(&["metadata", "labels", "a"], "b").unwrap();
        thing.remove(&["metadata", "novel", "b"]);
        thing.remove(&["zeta"]);
        let expected = r#"{"kind":"Thing","apiVersion":"x/v1","metadata":{"novel":{"a":2},"name":"t","labels":{"a":"b"}}}"#;
        assert_eq!(serde_json::to_string(&thing).unwrap(), expected);
    }

    #[test]
    fn accessors_read_what_is_there_and_forgive_what_is_not() {
        let pod = object(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "p", "namespace": "d", "uid": "u", "generation": 3, "resourceVersion": "7",
                "labels": {"a": "b", "bad": 1}, "finalizers": ["x", 2], "deletionTimestamp": "2026-01-02T03:04:05Z",
                "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "o"}, "bad"],
            },
        }));
        assert_eq!(
            pod.group_version_kind(),
            GroupVersionKind::new("", "v1", "Pod")
        );
        assert_eq!(pod.key().to_string(), "d/p");
        assert_eq!(
            (pod.uid(), pod.generation(), pod.resource_version()),
            ("u", 3, "7")
        );
        assert_eq!(pod.labels(), BTreeMap::from([("a", "b")]));
        assert_eq!(pod.finalizers().collect::<Vec<_>>(), ["x"]);
        assert_eq!(pod.owner_references().count(), 1);
        assert!(pod.is_terminating() && pod.deletion_timestamp().is_some());
        let empty = Object::default();
        assert_eq!(
            (empty.kind(), empty.name(), empty.label("a")),
            ("", "", None)
        );
        assert_eq!(empty.metadata().unwrap(), ObjectMeta::default());
    }

    #[test]
    fn setting_through_a_scalar_is_refused_and_changes_nothing() {
        let mut thing = object(json!({"spec": {"replicas": 1, "none": null}}));
        let error = thing.set(&["spec", "replicas", "x"], 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "spec.replicas: is not an object, so nothing can be set below it"
        );
        thing.set(&["spec", "none", "x"], 1).unwrap();
        assert_eq!(
            thing.into_value(),
            json!({"spec": {"replicas": 1, "none": {"x": 1}}})
        );
    }

    #[test]
    fn what_is_not_an_object_is_refused_by_name() {
        for (value, found) in [
            (json!([1]), "a list"),
            (json!("x"), "a string"),
            (json!(null), "null"),
        ] {
            let error = Object::from_value(value).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("<root>: expected an object, found {found}")
            );
        }
        let bad = object(json!({"metadata": {"labels": {"a": 1}}}));
        assert_eq!(
            bad.metadata().unwrap_err().to_string(),
            "metadata.labels.a: invalid type: integer `1`, expected a string"
        );
    }
}

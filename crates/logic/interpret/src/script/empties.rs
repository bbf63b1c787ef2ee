//! Which places of a document hold an empty object or an empty list.
//!
//! Lua has one kind of empty table. What a script was given and gives back unchanged must not turn from `{}` into `[]`,
//! or a member refuses it; so its place is looked up in what the script was given. Places are told apart by field names
//! alone: an element of a list may have moved.

use std::collections::BTreeMap;

use object::{Map, Value};

/// What an empty value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    Object,
    List,
}

/// The empty places of some documents.
#[derive(Default)]
pub(super) struct Empties<'a>(BTreeMap<Vec<&'a str>, Empty>);

impl Empty {
    pub(super) fn value(self) -> Value {
        match self {
            Self::Object => Value::Object(Map::new()),
            Self::List => Value::Array(Vec::new()),
        }
    }
}

impl<'a> Empties<'a> {
    /// Those of all these objects.
    pub(super) fn of(objects: impl Iterator<Item = &'a Map>) -> Self {
        let mut empties = Self::default();
        let mut path = Vec::new();
        for fields in objects {
            empties.add_fields(fields, &mut path);
        }
        empties
    }

    /// What is empty at that place.
    pub(super) fn at(&self, path: &[&str]) -> Option<Empty> {
        self.0.get(path).copied()
    }

    fn add_fields(&mut self, fields: &'a Map, path: &mut Vec<&'a str>) {
        for (name, value) in fields {
            path.push(name);
            self.add(value, path);
            path.pop();
        }
    }

    fn add(&mut self, value: &'a Value, path: &mut Vec<&'a str>) {
        match value {
            // Where a place has been both, it is an object.
            Value::Object(fields) if fields.is_empty() => {
                self.0.insert(path.clone(), Empty::Object);
            }
            Value::Array(elements) if elements.is_empty() => {
                self.0.entry(path.clone()).or_insert(Empty::List);
            }
            Value::Object(fields) => self.add_fields(fields, path),
            Value::Array(elements) => {
                for element in elements {
                    self.add(element, path);
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

    #[test]
    fn places_are_told_apart_by_names_alone() {
        let one =
            json!({"spec": {"a": {}, "b": [], "list": [{"c": {}}, {"c": {"x": 1}}], "both": []}});
        let other = json!({"spec": {"both": {}, "dotted.name": []}});
        let objects = [&one, &other].map(|value| value.as_object().unwrap());
        let empties = Empties::of(objects.into_iter());
        for (path, expected) in [
            (vec!["spec", "a"], Some(Empty::Object)),
            (vec!["spec", "b"], Some(Empty::List)),
            (vec!["spec", "list", "c"], Some(Empty::Object)),
            (vec!["spec", "both"], Some(Empty::Object)),
            (vec!["spec", "dotted.name"], Some(Empty::List)),
            (vec!["spec", "dotted", "name"], None),
            (vec!["spec"], None),
        ] {
            assert_eq!(empties.at(&path), expected, "{path:?}");
        }
    }
}

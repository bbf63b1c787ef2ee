//! `fieldsV1`: the form field sets have inside objects.
//!
//! Each field is a key of a JSON object, what is owned below it its value; `.` says that the field itself is owned
//! when something below it is too.

use object::{Map, Value};

use super::{
    fieldset::FieldSet,
    path::{PathElement, PathElementError},
};

/// How deep sets may nest: as deep as the objects they describe.
const MAX_DEPTH: usize = 300;

/// Why a value is no field set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// A set, or what is below a field, is not an object.
    #[error("field sets are objects")]
    Shape,
    /// It nests deeper than any object may.
    #[error("field set is nested too deeply")]
    Depth,
    /// A field name cannot be read.
    #[error(transparent)]
    Element(#[from] PathElementError),
}

impl FieldSet {
    /// The set as `fieldsV1`, in the order Kubernetes writes it.
    #[must_use]
    pub fn encode(&self) -> Value {
        Value::Object(self.encode_fields())
    }

    /// The fields of [`FieldSet::encode`].
    pub(super) fn encode_fields(&self) -> Map {
        self.encode_below(false)
    }

    fn encode_below(&self, is_owned: bool) -> Map {
        let mut fields = Map::with_capacity(self.members.len() + self.children.len() + 1);
        if is_owned {
            fields.insert(".".to_owned(), Value::Object(Map::new()));
        }
        let (mut members, mut children) = (
            self.members.iter().peekable(),
            self.children.iter().peekable(),
        );
        loop {
            let order = match (members.peek(), children.peek()) {
                (None, None) => return fields,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(member), Some((element, _))) => (*member).cmp(element),
            };
            let member = if order.is_le() { members.next() } else { None };
            match (member, if order.is_ge() { children.next() } else { None }) {
                (owned, Some((element, child))) => {
                    let below = child.encode_below(owned.is_some());
                    fields.insert(element.encode(), Value::Object(below));
                }
                (Some(member), None) => {
                    fields.insert(member.encode(), Value::Object(Map::new()));
                }
                (None, None) => return fields,
            }
        }
    }

    /// Reads `fieldsV1`. Elements of unknown types are left out: a newer server may know them.
    ///
    /// # Errors
    /// When the value has another shape.
    pub fn decode(value: &Value) -> Result<Self, CodecError> {
        Ok(decode_at(value, 0)?.1)
    }

    /// Reads the fields of a `fieldsV1`.
    pub(super) fn decode_fields(fields: &Map) -> Result<Self, CodecError> {
        Ok(decode_map(fields, 0)?.1)
    }
}

/// What is below a field, and whether the field itself is owned.
fn decode_at(value: &Value, depth: usize) -> Result<(bool, FieldSet), CodecError> {
    let Value::Object(fields) = value else {
        return Err(CodecError::Shape);
    };
    decode_map(fields, depth)
}

fn decode_map(fields: &Map, depth: usize) -> Result<(bool, FieldSet), CodecError> {
    if depth > MAX_DEPTH {
        return Err(CodecError::Depth);
    }
    let mut set = FieldSet::new();
    let mut is_owned = false;
    let mut elements = Vec::with_capacity(fields.len());
    for (name, below) in fields {
        if name == "." {
            is_owned = true;
            continue;
        }
        match PathElement::parse(name) {
            Err(PathElementError::Unknown { .. }) => {}
            element => elements.push((element?, below)),
        }
    }
    // Whoever sends entries may send them in any order; sets are built in theirs.
    if !elements.is_sorted_by(|(a, _), (b, _)| a <= b) {
        elements.sort_by(|(a, _), (b, _)| a.cmp(b));
    }
    for (element, below) in elements {
        let (member, child) = decode_at(below, depth + 1)?;
        if member {
            set.insert_member(element.clone());
        }
        set.insert_child(element, child);
    }
    let is_owned = is_owned || (set.members.is_empty() && set.children.is_empty());
    Ok((is_owned, set))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(fields: Value, paths: &[&str]) {
        let set = FieldSet::decode(&fields).unwrap();
        let shown: Vec<String> = (set.paths().iter())
            .map(|path| path.iter().map(ToString::to_string).collect::<String>())
            .collect();
        assert_eq!(shown, paths);
        assert_eq!(
            set.encode().to_string(),
            fields.to_string(),
            "written in the same order"
        );
    }

    #[test]
    fn sets_are_read_and_written_in_order() {
        check(json!({}), &[]);
        check(
            json!({
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:ports": {
                        "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}},
                        "k:{\"containerPort\":90,\"protocol\":\"TCP\"}": {},
                    },
                    "f:replicas": {},
                    "f:set": {"v:1": {}, "v:\"a\"": {}},
                },
            }),
            &[
                ".metadata.labels",
                ".metadata.labels.app",
                ".spec.replicas",
                r#".spec.ports[containerPort=80,protocol="TCP"]"#,
                r#".spec.ports[containerPort=90,protocol="TCP"]"#,
                r#".spec.ports[containerPort=80,protocol="TCP"].containerPort"#,
                ".spec.set[=1]",
                ".spec.set[=\"a\"]",
            ],
        );
    }

    #[test]
    fn unknown_elements_are_left_out_and_wrong_shapes_refused() {
        let set = FieldSet::decode(&json!({"f:a": {}, "z:b": {"f:c": {}}})).unwrap();
        assert_eq!(set.encode(), json!({"f:a": {}}));
        assert_eq!(FieldSet::decode(&json!([])), Err(CodecError::Shape));
        assert_eq!(FieldSet::decode(&json!({"f:a": 1})), Err(CodecError::Shape));
        assert!(matches!(
            FieldSet::decode(&json!({"a": {}})),
            Err(CodecError::Element(_))
        ));
        let mut deep = json!({});
        for _ in 0..1000 {
            deep = Value::Object([("f:a".to_owned(), deep)].into_iter().collect());
        }
        assert_eq!(FieldSet::decode(&deep), Err(CodecError::Depth));
    }
}

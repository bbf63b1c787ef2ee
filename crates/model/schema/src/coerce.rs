//! Bringing identity and metadata into the one form they have everywhere.
//!
//! `apiVersion` and `kind` are strings; metadata has the fields of every object's metadata and no others, empty ones
//! left out, times in seconds. This holds for the object and for objects embedded in it.

use object::{Map, Value, field::FieldError, time::Time};

use crate::{
    node::{Schema, SchemaId, Types},
    trail::Trail,
};

/// What to do with a field of the wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Refuse the object: what requests get.
    Refuse,
    /// Leave the field out: what objects get that are already stored.
    Drop,
}

impl Schema {
    /// Coerces an object and those embedded in it; returns the paths of unknown metadata fields, which are removed.
    ///
    /// # Errors
    /// The first field of the wrong type, unless those are dropped.
    pub fn coerce(
        &self,
        object: &mut Value,
        malformed: Malformed,
    ) -> Result<Vec<String>, Box<FieldError>> {
        self.coerce_from(object, true, malformed)
    }

    /// The same for the objects embedded in a value alone: the value itself is one only if its node says so.
    pub(crate) fn coerce_embedded(
        &self,
        value: &mut Value,
    ) -> Result<Vec<String>, Box<FieldError>> {
        self.coerce_from(value, false, Malformed::Refuse)
    }

    fn coerce_from(
        &self,
        value: &mut Value,
        is_object: bool,
        malformed: Malformed,
    ) -> Result<Vec<String>, Box<FieldError>> {
        let mut coercer = Coercer {
            types: &self.types,
            malformed,
            unknown: Vec::new(),
        };
        if self.types.has_embedded() {
            coercer.value(value, self.root, is_object, &Trail::ROOT)?;
        } else if let (true, Value::Object(fields)) = (is_object, value) {
            coercer.identity(fields, &Trail::ROOT)?;
        }
        coercer.unknown.sort();
        Ok(coercer.unknown)
    }
}

struct Coercer<'a> {
    types: &'a Types,
    malformed: Malformed,
    unknown: Vec<String>,
}

impl Coercer<'_> {
    fn value(
        &mut self,
        value: &mut Value,
        schema: SchemaId,
        is_object: bool,
        trail: &Trail<'_>,
    ) -> Result<(), Box<FieldError>> {
        if trail.is_too_deep() {
            return Ok(());
        }
        let node = self.types.node(schema);
        match value {
            Value::Object(fields) => {
                if is_object || node.embedded {
                    self.identity(fields, trail)?;
                }
                for (name, field) in fields.iter_mut() {
                    if let Some(property) = node.property(name) {
                        self.value(field, property.schema, false, &trail.field(name))?;
                    } else if let Some(values) = node.values {
                        self.value(field, values, false, &trail.key(name))?;
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = node.items else {
                    return Ok(());
                };
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(item, schema, false, &trail.index(index))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn identity(&mut self, fields: &mut Map, trail: &Trail<'_>) -> Result<(), Box<FieldError>> {
        for name in ["apiVersion", "kind"] {
            match fields.get(name) {
                None | Some(Value::String(_)) => {}
                Some(_) if self.malformed == Malformed::Drop => drop(fields.shift_remove(name)),
                Some(other) => {
                    let path = trail.field(name).path();
                    return Err(Box::new(FieldError::invalid(
                        path,
                        other.clone(),
                        "must be a string",
                    )));
                }
            }
        }
        let Some(metadata) = fields.get_mut("metadata") else {
            return Ok(());
        };
        let trail = trail.field("metadata");
        match metadata {
            Value::Object(metadata) => self.metadata(metadata, &trail),
            Value::Null => {
                *metadata = Value::Object(Map::new());
                Ok(())
            }
            _ if self.malformed == Malformed::Drop => Ok(()),
            other => {
                let detail = format!(
                    "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                    name_of(other)
                );
                Err(Box::new(FieldError::invalid(
                    trail.path(),
                    other.clone(),
                    detail,
                )))
            }
        }
    }

    fn metadata(&mut self, metadata: &mut Map, trail: &Trail<'_>) -> Result<(), Box<FieldError>> {
        // Nearly always it is, and then nothing has to be copied for a refusal that would show it.
        if is_settled(metadata, &FIELDS) {
            return Ok(());
        }
        let before = (self.malformed == Malformed::Refuse).then(|| metadata.clone());
        match (self.settle(metadata, trail), before) {
            (Some(problem), Some(before)) => Err(Box::new(FieldError::invalid(
                trail.path(),
                Value::Object(before),
                problem,
            ))),
            _ => Ok(()),
        }
    }

    /// Brings each field into its form, leaves out what has none, and says what was wrong first.
    fn settle(&mut self, metadata: &mut Map, trail: &Trail<'_>) -> Option<String> {
        let mut first_problem = None;
        metadata.retain(|name, value| {
            let Some((_, kind)) = FIELDS.iter().find(|(known, _)| known == name) else {
                self.unknown.push(trail.field(name).dotted());
                return false;
            };
            match normalise(
                value,
                *kind,
                &format!("ObjectMeta.{name}"),
                &trail.field(name),
                &mut self.unknown,
            ) {
                Ok(keep) => keep,
                Err(problem) => {
                    first_problem.get_or_insert(problem);
                    false
                }
            }
        });
        first_problem
    }
}

/// What a field of metadata holds.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Whole,
    Flag,
    Time,
    Raw,
    TextMap,
    TextList,
    Owners,
    Entries,
}

const FIELDS: [(&str, Kind); 15] = [
    ("name", Kind::Text),
    ("generateName", Kind::Text),
    ("namespace", Kind::Text),
    ("selfLink", Kind::Text),
    ("uid", Kind::Text),
    ("resourceVersion", Kind::Text),
    ("generation", Kind::Whole),
    ("creationTimestamp", Kind::Time),
    ("deletionTimestamp", Kind::Time),
    ("deletionGracePeriodSeconds", Kind::Whole),
    ("labels", Kind::TextMap),
    ("annotations", Kind::TextMap),
    ("ownerReferences", Kind::Owners),
    ("finalizers", Kind::TextList),
    ("managedFields", Kind::Entries),
];

const OWNER_FIELDS: [(&str, Kind); 6] = [
    ("apiVersion", Kind::Text),
    ("kind", Kind::Text),
    ("name", Kind::Text),
    ("uid", Kind::Text),
    ("controller", Kind::Flag),
    ("blockOwnerDeletion", Kind::Flag),
];

/// Upstream: an owner is always written with all four names.
const OWNER_NAMES: [&str; 4] = ["apiVersion", "kind", "name", "uid"];

const ENTRY_FIELDS: [(&str, Kind); 7] = [
    ("manager", Kind::Text),
    ("operation", Kind::Text),
    ("apiVersion", Kind::Text),
    ("time", Kind::Time),
    ("fieldsType", Kind::Text),
    ("fieldsV1", Kind::Raw),
    ("subresource", Kind::Text),
];

impl Kind {
    /// Whether a value of this kind would be left as it is.
    fn is_settled(self, value: &Value) -> bool {
        let all_are = |items: &[Value], fields: &[(&str, Kind)], always: &[&str]| {
            let is_one = |item: &Value| {
                let entry = item.as_object();
                entry.is_some_and(|entry| {
                    is_settled(entry, fields) && always.iter().all(|name| entry.contains_key(*name))
                })
            };
            !items.is_empty() && items.iter().all(is_one)
        };
        match (self, value) {
            (Self::Text, Value::String(text)) => !text.is_empty(),
            (Self::Whole, Value::Number(number)) => number.as_i64().is_some_and(|whole| whole != 0),
            (Self::Flag, Value::Bool(_)) | (Self::Raw, Value::Object(_)) => true,
            (Self::Time, Value::String(text)) => {
                let time = text.parse::<Time>();
                time.is_ok_and(|time| time.to_string() == *text)
            }
            (Self::TextMap, Value::Object(pairs)) => {
                !pairs.is_empty() && pairs.values().all(Value::is_string)
            }
            (Self::TextList, Value::Array(items)) => {
                !items.is_empty() && items.iter().all(Value::is_string)
            }
            (Self::Owners, Value::Array(items)) => all_are(items, &OWNER_FIELDS, &OWNER_NAMES),
            (Self::Entries, Value::Array(items)) => all_are(items, &ENTRY_FIELDS, &[]),
            _ => false,
        }
    }

    /// The Go type that error messages name.
    fn go_type(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Whole => "int64",
            Self::Flag => "bool",
            Self::Time => "v1.Time",
            Self::Raw => "v1.FieldsV1",
            Self::TextMap => "map[string]string",
            Self::TextList => "[]string",
            Self::Owners => "[]v1.OwnerReference",
            Self::Entries => "[]v1.ManagedFieldsEntry",
        }
    }
}

/// Whether all fields are known and in the form they get by [`normalise`].
fn is_settled(fields: &Map, known: &[(&str, Kind)]) -> bool {
    fields.iter().all(|(name, value)| {
        let field = known.iter().find(|(known, _)| known == name);
        field.is_some_and(|(_, kind)| kind.is_settled(value))
    })
}

/// Checks one field and says whether it stays: empty ones do not.
fn normalise(
    value: &mut Value,
    kind: Kind,
    name: &str,
    trail: &Trail<'_>,
    unknown: &mut Vec<String>,
) -> Result<bool, String> {
    let refuse = |value: &Value, ty: &str| {
        Err(format!(
            "json: cannot unmarshal {} into Go struct field {name} of type {ty}",
            name_of(value)
        ))
    };
    match (kind, &mut *value) {
        (_, Value::Null) => Ok(false),
        (Kind::Text, Value::String(text)) => Ok(!text.is_empty()),
        (Kind::Whole, Value::Number(number)) if number.is_i64() => {
            Ok(number.as_i64() != Some(0) || name.ends_with("deletionGracePeriodSeconds"))
        }
        (Kind::Flag, Value::Bool(_)) | (Kind::Raw, Value::Object(_)) => Ok(true),
        (Kind::Time, Value::String(text)) => {
            let time: Time = text.parse().map_err(|_| {
                format!(
                    "parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text:?}"
                )
            })?;
            let seconds = time.to_string();
            if *text != seconds {
                *text = seconds;
            }
            Ok(true)
        }
        (Kind::TextMap, Value::Object(pairs)) => {
            for value in pairs.values_mut() {
                match value {
                    Value::String(_) => {}
                    Value::Null => *value = Value::from(""),
                    other => return refuse(other, "string"),
                }
            }
            Ok(!pairs.is_empty())
        }
        (Kind::TextList, Value::Array(items)) => {
            match items.iter().find(|item| !item.is_string()) {
                Some(odd) => refuse(odd, "string"),
                None => Ok(!items.is_empty()),
            }
        }
        (Kind::Owners, Value::Array(items)) => {
            structs(items, &OWNER_FIELDS, "OwnerReference", name, trail, unknown)
        }
        (Kind::Entries, Value::Array(items)) => structs(
            items,
            &ENTRY_FIELDS,
            "ManagedFieldsEntry",
            name,
            trail,
            unknown,
        ),
        (kind, other) => refuse(other, kind.go_type()),
    }
}

/// A list of structs with these fields.
fn structs(
    items: &mut [Value],
    fields: &[(&str, Kind)],
    ty: &str,
    name: &str,
    trail: &Trail<'_>,
    unknown: &mut Vec<String>,
) -> Result<bool, String> {
    let parent = name.split_once('.').map_or(name, |(_, field)| field);
    for (index, item) in items.iter_mut().enumerate() {
        let trail = trail.index(index);
        let Value::Object(entry) = item else {
            let found = name_of(item);
            return Err(format!(
                "json: cannot unmarshal {found} into Go struct field {name} of type v1.{ty}"
            ));
        };
        let mut problem = None;
        entry.retain(|field, value| {
            let Some((_, kind)) = fields.iter().find(|(known, _)| known == field) else {
                unknown.push(trail.field(field).dotted());
                return false;
            };
            match normalise(
                value,
                *kind,
                &format!("{ty}.{parent}.{field}"),
                &trail.field(field),
                unknown,
            ) {
                Ok(keep) => keep,
                Err(text) => {
                    problem.get_or_insert(text);
                    false
                }
            }
        });
        if let Some(problem) = problem {
            return Err(problem);
        }
        if ty == "OwnerReference" {
            for field in OWNER_NAMES {
                entry.entry(field).or_insert_with(|| Value::from(""));
            }
        }
    }
    Ok(!items.is_empty())
}

/// What Go's decoder calls a JSON value.
fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection, prelude::*, sample};
    use serde_json::json;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let time = "2026-01-02T03:04:05Z";
        let owner =
            json!({"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u", "controller": true});
        let entry = json!({"manager": "a", "time": time, "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}});
        let values = vec![
            json!(null),
            json!(""),
            json!("a"),
            json!(0),
            json!(1),
            json!(1.5),
            json!(true),
            json!(time),
            json!("2026-01-02T03:04:05.5Z"),
            json!({}),
            json!({"a": "b"}),
            json!({"a": null}),
            json!([]),
            json!(["a"]),
            json!([1]),
            json!([owner]),
            json!([{"apiVersion": "v1", "kind": "A", "name": "a"}]),
            json!([owner, {"novel": 1}]),
            json!([entry]),
            json!([entry, {"time": "never"}]),
            json!([entry, {"time": time, "fieldsV1": null}]),
        ];
        sample::select(values)
    }

    fn metadata() -> impl Strategy<Value = Map> {
        let mut names: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
        names.push("novel");
        let name = sample::select(names).prop_map(str::to_owned);
        let fields = collection::vec((name, value()), 0..4);
        fields.prop_map(|fields| fields.into_iter().collect())
    }

    proptest! {
        #[test]
        fn what_is_settled_stays_as_it_is(mut metadata in metadata()) {
            let types = Types::default();
            let mut coercer = Coercer { types: &types, malformed: Malformed::Refuse, unknown: Vec::new() };
            let (was_settled, before) = (is_settled(&metadata, &FIELDS), metadata.clone());
            let problem = coercer.settle(&mut metadata, &Trail::ROOT.field("metadata"));
            let is_unchanged = problem.is_none() && coercer.unknown.is_empty() && metadata == before;
            prop_assert!(!was_settled || is_unchanged);
            // Whatever was brought into its form is settled, or each look would cost as much as the first; a grace period
            // of no seconds is the exception.
            if problem.is_none() && !metadata.contains_key("deletionGracePeriodSeconds") {
                prop_assert!(is_settled(&metadata, &FIELDS) || metadata.values().any(has_empty));
            }
        }
    }

    /// Names of owners that are there and empty.
    fn has_empty(value: &Value) -> bool {
        let items = value.as_array().into_iter().flatten();
        let mut fields = items.filter_map(Value::as_object).flat_map(Map::values);
        fields.any(|field| field.as_str() == Some(""))
    }
}

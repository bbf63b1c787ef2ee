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
        let mut first_problem = None;
        let before = (self.malformed == Malformed::Refuse).then(|| metadata.clone());
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
        match (first_problem, before) {
            (Some(problem), Some(before)) => Err(Box::new(FieldError::invalid(
                trail.path(),
                Value::Object(before),
                problem,
            ))),
            _ => Ok(()),
        }
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
        // Upstream: an owner is always written with all four names.
        if ty == "OwnerReference" {
            for field in ["apiVersion", "kind", "name", "uid"] {
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

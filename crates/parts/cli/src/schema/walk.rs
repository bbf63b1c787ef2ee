//! Finding the way through schemas: from a kind, field by field, to what is asked about.

use object::{GroupVersionKind, Value};

use crate::nearest::nearest;

/// Descriptions that lead to one another are followed so far.
const DEEPEST: usize = 32;

/// What was asked about.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Described {
    /// What it is called as a type: `string`, `[]Container`, `map[string]string`.
    pub(super) kind: String,
    /// In words.
    pub(super) description: String,
    /// The values it may have; empty for any.
    pub(super) values: Vec<String>,
    /// What is in it.
    pub(super) fields: Vec<Field>,
}

/// A field and what is in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) is_required: bool,
    pub(super) described: Described,
}

/// A field that is not there.
#[derive(Debug, PartialEq)]
pub(super) struct UnknownField {
    pub(super) field: String,
    /// The one that was probably meant.
    pub(super) near: Option<String>,
    /// How many fields of the way were found.
    depth: usize,
}

impl UnknownField {
    /// The part of a word up to which everything was found.
    pub(super) fn above(&self, word: &str) -> String {
        let parts: Vec<&str> = word.split('.').take(self.depth + 1).collect();
        parts.join(".")
    }
}

/// The schema of a kind among those of its group and version.
pub(super) fn find_kind<'s>(schemas: &'s Value, kind: &GroupVersionKind) -> Option<&'s Value> {
    let is_it = |one: &Value| {
        one["group"].as_str().unwrap_or_default() == kind.group
            && one["version"] == kind.version.as_str()
            && one["kind"] == kind.kind.as_str()
    };
    let kinds = |schema: &Value| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(is_it))
    };
    schemas.as_object()?.values().find(|schema| kinds(schema))
}

impl Described {
    /// Goes from a schema along fields.
    pub(super) fn walk(
        schemas: &Value,
        root: &Value,
        fields: &[String],
        depth: Depth,
    ) -> Result<Self, UnknownField> {
        let mut at = root;
        let mut said = None;
        for (depth, field) in fields.iter().enumerate() {
            let inside = content(schemas, at);
            let Some(next) = inside["properties"].get(field.as_str()) else {
                let known = inside["properties"].as_object().into_iter().flatten();
                let near = nearest(field, known.map(|(name, _)| name.as_str()));
                return Err(UnknownField {
                    field: field.clone(),
                    near: near.map(str::to_owned),
                    depth,
                });
            };
            // What a field says of itself counts more than what its type says.
            said = next["description"].as_str();
            at = next;
        }
        let mut described = describe(schemas, at, depth, &mut Vec::new());
        if let Some(said) = said {
            described.description = said.to_owned();
        }
        Ok(described)
    }
}

/// Describes a schema and what is in it; and what is in that, if `depth` says so. `above` are the types on the way here:
/// some contain themselves, and are not told again.
fn describe<'s>(
    schemas: &'s Value,
    schema: &'s Value,
    depth: Depth,
    above: &mut Vec<&'s str>,
) -> Described {
    let target = follow(schemas, schema);
    let text = |schema: &Value| schema["description"].as_str().map(str::to_owned);
    let values = target["enum"].as_array().into_iter().flatten();
    let mut described = Described {
        kind: type_name(schemas, schema, DEEPEST),
        description: text(schema).or_else(|| text(target)).unwrap_or_default(),
        values: values
            .map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            })
            .collect(),
        fields: Vec::new(),
    };
    let below = match depth {
        Depth::Nothing => return described,
        Depth::Fields => Depth::Nothing,
        Depth::All => Depth::All,
    };
    let inside = content(schemas, schema);
    let name = inner_reference(schemas, schema);
    if name.is_some_and(|name| above.contains(&name)) || above.len() > DEEPEST {
        return described;
    }
    above.push(name.unwrap_or_default());
    let required = inside["required"].as_array();
    let is_required =
        |name: &str| required.is_some_and(|all| all.iter().any(|field| field == name));
    for (name, schema) in inside["properties"].as_object().into_iter().flatten() {
        described.fields.push(Field {
            name: name.clone(),
            is_required: is_required(name),
            described: describe(schemas, schema, below, above),
        });
    }
    above.pop();
    described
}

/// How much is told of what is in a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Nothing.
    Nothing,
    /// Its fields.
    Fields,
    /// Its fields, theirs, and so on.
    All,
}

/// The name of the type that has the fields: that of a list's or map's items, if it is one.
fn inner_reference<'s>(schemas: &'s Value, schema: &'s Value) -> Option<&'s str> {
    let mut last = reference(schema);
    let mut at = follow(schemas, schema);
    for _ in 0..DEEPEST {
        let inner = at.get("items").or_else(|| at.get("additionalProperties"));
        let Some(inner) = inner.filter(|inner| inner.is_object()) else {
            return last;
        };
        last = reference(inner).or(last);
        at = follow(schemas, inner);
    }
    last
}

/// The name of the schema that another one refers to.
fn reference(schema: &Value) -> Option<&str> {
    let whole = schema.get("allOf").and_then(|parts| parts.get(0));
    let referred = schema.get("$ref").or_else(|| whole?.get("$ref"))?;
    referred.as_str()?.strip_prefix("#/components/schemas/")
}

/// The schema that is meant, wherever it stands.
fn follow<'s>(schemas: &'s Value, schema: &'s Value) -> &'s Value {
    let mut at = schema;
    for _ in 0..DEEPEST {
        match reference(at).and_then(|name| schemas.get(name)) {
            Some(next) => at = next,
            None => return at,
        }
    }
    at
}

/// The schema with the fields: that of a list's or map's items, if it is one.
fn content<'s>(schemas: &'s Value, schema: &'s Value) -> &'s Value {
    let mut at = follow(schemas, schema);
    for _ in 0..DEEPEST {
        let inner = at.get("items").or_else(|| at.get("additionalProperties"));
        match inner.filter(|inner| inner.is_object()) {
            Some(inner) => at = follow(schemas, inner),
            None => return at,
        }
    }
    at
}

/// What a schema is called as a type.
fn type_name(schemas: &Value, schema: &Value, room: usize) -> String {
    if room == 0 {
        return "Object".to_owned();
    }
    let target = follow(schemas, schema);
    let inner = |schema: &Value| type_name(schemas, schema, room - 1);
    match target["type"].as_str() {
        Some("array") => format!("[]{}", inner(&target["items"])),
        Some("object") | None if target["additionalProperties"].is_object() => {
            format!("map[string]{}", inner(&target["additionalProperties"]))
        }
        Some("object") | None => match reference(schema) {
            Some(name) => name.rsplit('.').next().unwrap_or(name).to_owned(),
            None if target["x-kubernetes-int-or-string"] == true => "IntOrString".to_owned(),
            None => "Object".to_owned(),
        },
        Some(word) => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schemas() -> Value {
        json!({
            "io.x.Thing": {
                "type": "object", "description": "A thing.", "required": ["spec"],
                "properties": {
                    "spec": {"allOf": [{"$ref": "#/components/schemas/io.x.ThingSpec"}], "description": "What is wanted."},
                    "again": {"$ref": "#/components/schemas/io.x.Thing"},
                },
                "x-kubernetes-group-version-kind": [{"group": "x.io", "version": "v1", "kind": "Thing"}],
            },
            "io.x.ThingSpec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "description": "How large."},
                    "mode": {"type": "string", "enum": ["A", "B"]},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/io.x.Part"}},
                    "marks": {"type": "object", "additionalProperties": {"type": "string"}},
                },
            },
            "io.x.Part": {"type": "object", "properties": {"name": {"type": "string"}}},
        })
    }

    #[test]
    fn fields_are_found_through_references_lists_and_maps() {
        let schemas = schemas();
        let kind = GroupVersionKind::from_api_version("x.io/v1", "Thing").unwrap();
        let root = find_kind(&schemas, &kind).unwrap();
        for (path, expected) in [
            ("", Ok(("Object", "A thing.", "again spec"))),
            (
                "spec",
                Ok(("ThingSpec", "What is wanted.", "marks mode parts size")),
            ),
            ("spec.size", Ok(("integer", "How large.", ""))),
            ("spec.parts", Ok(("[]Part", "", "name"))),
            ("spec.parts.name", Ok(("string", "", ""))),
            ("spec.marks", Ok(("map[string]string", "", ""))),
            ("again.again.spec.size", Ok(("integer", "How large.", ""))),
            ("spec.siez", Err(Some("size"))),
            ("nothing", Err(None)),
        ] {
            let fields: Vec<String> = path
                .split('.')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect();
            match (
                Described::walk(&schemas, root, &fields, Depth::Fields),
                expected,
            ) {
                (Ok(found), Ok((kind, description, names))) => {
                    assert_eq!(
                        (found.kind.as_str(), found.description.as_str()),
                        (kind, description),
                        "{path}"
                    );
                    let names: Vec<&str> =
                        names.split(' ').filter(|name| !name.is_empty()).collect();
                    let mut shown: Vec<&str> = found
                        .fields
                        .iter()
                        .map(|field| field.name.as_str())
                        .collect();
                    shown.sort_unstable();
                    assert_eq!(shown, names, "{path}");
                }
                (Err(unknown), Err(near)) => assert_eq!(unknown.near.as_deref(), near, "{path}"),
                (found, expected) => panic!("{path}: {found:?} instead of {expected:?}"),
            }
        }
        let whole = Described::walk(&schemas, root, &[], Depth::All).unwrap();
        let field = |name: &str| {
            whole
                .fields
                .iter()
                .find(|field| field.name == name)
                .unwrap()
        };
        assert!(field("spec").is_required && !field("again").is_required);
        assert_eq!(field("spec").described.fields.len(), 4);
        // A thing that contains a thing: once more, and no further.
        let again = &field("again").described;
        let further = again.fields.iter().find(|field| field.name == "again");
        assert!(further.is_none_or(|further| further.described.fields.is_empty()));
    }
}

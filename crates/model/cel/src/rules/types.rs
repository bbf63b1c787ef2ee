//! What expressions see of a schema: the type of the value at each place.

use std::sync::Arc;

use schema::{Schema, SchemaId};

use crate::ty::{Field, ObjectType, Type};

/// Words that cannot be names of fields in expressions.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The type of the value a node describes; `None` where expressions cannot look, because nothing is known.
pub(super) fn type_of(schema: &Schema, id: SchemaId, is_root: bool) -> Option<Type> {
    let node = schema.node(id);
    Some(match node.ty {
        schema::Type::Any => return None,
        schema::Type::IntOrString | schema::Type::Quantity => Type::Dyn,
        schema::Type::Boolean => Type::Bool,
        schema::Type::Integer => Type::Int,
        schema::Type::Number => Type::Double,
        schema::Type::String => {
            let format = node
                .rules
                .as_deref()
                .and_then(|rules| rules.format.as_deref());
            match format {
                Some("byte") => Type::Bytes,
                Some("duration") => Type::Duration,
                Some("date" | "date-time") => Type::Timestamp,
                _ => Type::String,
            }
        }
        schema::Type::Array => Type::list(type_of(schema, node.items?, false)?),
        schema::Type::Object => match node.values {
            Some(values) if node.properties.is_empty() => {
                Type::map_of(type_of(schema, values, false)?)
            }
            _ => object(schema, id, is_root || node.embedded),
        },
    })
}

fn object(schema: &Schema, id: SchemaId, whole: bool) -> Type {
    let mut fields = std::collections::BTreeMap::new();
    for property in &schema.node(id).properties {
        if whole && matches!(&*property.name, "metadata" | "apiVersion" | "kind") {
            continue;
        }
        let (Some(name), Some(ty)) = (
            escaped(&property.name),
            type_of(schema, property.schema, false),
        ) else {
            continue;
        };
        let field = Field {
            name: Arc::clone(&property.name),
            ty,
        };
        fields.insert(Arc::from(name), field);
    }
    if whole {
        // Upstream: of metadata only the name can be seen, wherever a whole object stands.
        let metadata = Type::object(
            "object.metadata",
            [("name", Type::String), ("generateName", Type::String)],
        );
        for (name, ty) in [
            ("apiVersion", Type::String),
            ("kind", Type::String),
            ("metadata", metadata),
        ] {
            let name: Arc<str> = name.into();
            fields.insert(Arc::clone(&name), Field { name, ty });
        }
    }
    Type::Object(Arc::new(ObjectType {
        name: "object".to_owned(),
        fields,
    }))
}

/// A field's name as expressions write it; `None` if they cannot.
pub(super) fn escaped(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let first = name.chars().next()?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    if first.is_ascii_digit() || !name.chars().all(allowed) {
        return None;
    }
    Some(
        name.replace("__", "__underscores__")
            .replace('.', "__dot__")
            .replace('-', "__dash__")
            .replace('/', "__slash__"),
    )
}

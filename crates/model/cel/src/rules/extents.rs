//! How large values may be that fit a schema, by its limits and by what one request can carry.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::Value;
use schema::rules::Rules;
use schema::{Node, Schema, SchemaId};

use super::types::escaped;
use crate::cost::Extent;

/// The largest request.
pub(super) const REQUEST: u64 = 3 * 1024 * 1024;
/// A character takes up to four bytes.
const CHARACTER: u64 = 4;
/// Texts of the formats for spans and moments are no longer than this, those of days have that length.
const MOMENT: u64 = 32;
const DAY: u64 = 12;

/// What is known of values a node describes; `None` where expressions cannot look.
pub(super) fn extent_of(schema: &Schema, id: SchemaId, is_whole: bool) -> Option<Extent> {
    let node = schema.node(id);
    let nothing = Rules::default();
    let rules = node.rules.as_deref().unwrap_or(&nothing);
    let plain = |most, bytes| Extent {
        most,
        bytes,
        ..Extent::default()
    };
    Some(match node.ty {
        schema::Type::Any => return None,
        schema::Type::IntOrString | schema::Type::Quantity => plain(longest(rules), 1),
        schema::Type::Boolean => plain(0, 4),
        schema::Type::Integer | schema::Type::Number => plain(0, 1),
        schema::Type::String => match rules.format.as_deref() {
            Some("byte") => plain(count(rules.max_length).unwrap_or(REQUEST - 2), 2),
            Some("duration") => plain(MOMENT, 3),
            Some("date") => plain(DAY, DAY),
            Some("date-time") => plain(MOMENT, 21),
            _ => plain(longest(rules), 2),
        },
        schema::Type::Array => {
            let items = extent_of(schema, node.items?, false)?;
            // Brackets around, a comma behind each.
            let fitting = (REQUEST - 2) / (items.bytes + 1);
            Extent {
                most: count(rules.max_items).unwrap_or(fitting),
                bytes: 2,
                elements: Some(Box::new(items)),
                ..Extent::default()
            }
        }
        schema::Type::Object => match node.values {
            Some(values) if node.properties.is_empty() => {
                let values = extent_of(schema, values, false)?;
                // Brackets around, a key of two bytes, its quotes, a colon and a comma for each.
                let fitting = (REQUEST - 2) / (values.bytes + 6);
                Extent {
                    most: count(rules.max_properties).unwrap_or(fitting),
                    bytes: 2,
                    elements: Some(Box::new(values)),
                    // Upstream: nothing is known of keys, which counts as no size.
                    keys: Some(Box::new(plain(0, 2))),
                    ..Extent::default()
                }
            }
            _ => object(schema, node, rules, is_whole || node.embedded),
        },
    })
}

fn object(schema: &Schema, node: &Node, rules: &Rules, is_whole: bool) -> Extent {
    let mut fields = BTreeMap::new();
    let mut bytes = 2_u64;
    for property in &node.properties {
        if is_whole && matches!(&*property.name, "metadata" | "apiVersion" | "kind") {
            continue;
        }
        let Some(extent) = extent_of(schema, property.schema, false) else {
            continue;
        };
        let is_required = rules.required.contains(&property.name);
        // What has a default need not be sent.
        if is_required && schema.node(property.schema).default.is_none() {
            let own = property.name.len() as u64 + 4;
            bytes = bytes.saturating_add(own).saturating_add(extent.bytes);
        }
        if let Some(name) = escaped(&property.name) {
            fields.insert(Arc::from(name), extent);
        }
    }
    if is_whole {
        let text = || Extent {
            most: REQUEST - 2,
            bytes: 2,
            ..Extent::default()
        };
        let metadata = Extent {
            bytes: 2,
            fields: ["name", "generateName"]
                .map(|name| (Arc::from(name), text()))
                .into(),
            ..Extent::default()
        };
        fields.insert("apiVersion".into(), text());
        fields.insert("kind".into(), text());
        fields.insert("metadata".into(), metadata);
    }
    Extent {
        bytes,
        fields,
        ..Extent::default()
    }
}

/// The longest text: as long as is said, as the longest of those that are allowed, or as a request.
fn longest(rules: &Rules) -> u64 {
    if let Some(most) = count(rules.max_length) {
        return most.saturating_mul(CHARACTER);
    }
    let named = rules.enumeration.iter().filter_map(Value::as_str);
    match rules.enumeration.is_empty() {
        true => REQUEST - 2,
        false => named.map(|text| text.len() as u64).max().unwrap_or(0),
    }
}

/// A limit as a number; a negative one is none at all.
pub(super) fn count(limit: Option<i64>) -> Option<u64> {
    limit.map(|limit| u64::try_from(limit).unwrap_or(0))
}

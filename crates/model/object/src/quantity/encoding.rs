//! Quantities in JSON and YAML: written as the canonical text, read from a text or a number.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

use crate::quantity::Quantity;

/// What a text must look like to get past a CRD schema. It admits fractional exponents, which parsing then refuses.
pub const PATTERN: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.canonical_text())
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity such as \"500m\" or \"4Gi\", or a number")
    }

    // Upstream: space around the text is forgiven in documents, though nowhere else.
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
        Quantity::from_str(text.trim()).map_err(E::custom)
    }

    // Numbers go through their text, so that `1000` counts as written the same whether quoted or not.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Quantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i128<E: de::Error>(self, number: i128) -> Result<Quantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u128<E: de::Error>(self, number: u128) -> Result<Quantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity, E> {
        if !number.is_finite() {
            return Err(E::invalid_value(de::Unexpected::Float(number), &self));
        }
        // The shortest decimal that names this float: what the author wrote, for up to 15 digits.
        self.visit_str(&number.to_string())
    }

    // Upstream: an explicit null is nothing at all.
    fn visit_unit<E: de::Error>(self) -> Result<Quantity, E> {
        Ok(Quantity::ZERO)
    }
}

impl JsonSchema for Quantity {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
            "pattern": PATTERN,
            "x-kubernetes-int-or-string": true,
        })
    }
}

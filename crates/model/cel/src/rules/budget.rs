//! What the rules of a definition may cost at most, judged when it is written.

use object::field::{FieldError, FieldPath};
use schema::{Schema, SchemaId};

use super::extents::{REQUEST, count, extent_of};
use super::types::escaped;
use super::{Place, Rules};
use crate::cost::Extent;

/// What one expression may cost for all values it is about. Upstream: the same.
const EXPRESSION: u64 = 10_000_000;
/// What all expressions of a schema may cost together. Upstream: the same.
const SCHEMA: u64 = 100_000_000;
/// How many of the most expensive are named when all together are too expensive.
const NAMED: usize = 4;

/// Which limits expressions are held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expressions {
    /// Each by itself, and all together.
    New,
    /// All together: they are stored already, and each was let in before.
    Stored,
}

impl Rules {
    /// Everything that is too expensive about the rules of a schema that stands at `path`, which they were compiled
    /// from.
    #[must_use]
    pub fn check_costs(
        &self,
        schema: &Schema,
        path: &FieldPath,
        expressions: Expressions,
    ) -> Vec<FieldError> {
        let Some(root) = &self.root else {
            return Vec::new();
        };
        let mut judge = Judge {
            schema,
            expressions,
            errors: Vec::new(),
            total: 0,
            dear: Vec::new(),
        };
        let extent = extent_of(schema, schema.root_id(), true);
        let at = At {
            id: schema.root_id(),
            extent: extent.as_ref(),
            times: Some(1),
        };
        judge.place(root, at, path);
        judge.finish(path)
    }
}

/// Where rules stand.
#[derive(Clone, Copy)]
struct At<'e> {
    id: SchemaId,
    extent: Option<&'e Extent>,
    /// How many values there may be at this place; `None` if no limit is set somewhere around it.
    times: Option<u64>,
}

struct Judge<'s> {
    schema: &'s Schema,
    expressions: Expressions,
    errors: Vec<FieldError>,
    total: u64,
    /// The most expensive, the first most of all.
    dear: Vec<(FieldPath, u64)>,
}

impl Judge<'_> {
    fn place(&mut self, place: &Place, at: At<'_>, path: &FieldPath) {
        let node = self.schema.node(at.id);
        let own = match at.extent {
            Some(_) => None,
            // Its name cannot be written in expressions above; those here see it nevertheless.
            None => extent_of(self.schema, at.id, node.embedded),
        };
        let extent = at.extent.or(own.as_ref());
        if let Some(extent) = extent {
            self.rules(place, extent, at.times, path);
        }
        let rules = node.rules.as_deref();
        let inside = |limit: Option<i64>| Some(at.times?.saturating_mul(count(limit)?));
        for property in &node.properties {
            let Some(below) = place.fields.get(&property.name) else {
                continue;
            };
            let name = escaped(&property.name);
            let fields = extent.map(|extent| &extent.fields);
            let at = At {
                id: property.schema,
                extent: fields.and_then(|fields| fields.get(name?.as_str())),
                times: match node.values {
                    None => at.times,
                    Some(_) => inside(rules.and_then(|rules| rules.max_properties)),
                },
            };
            let path = path.child("properties").key(&property.name);
            self.place(below, at, &path);
        }
        let elements = extent.and_then(|extent| extent.elements.as_deref());
        if let (Some(below), Some(id)) = (&place.values, node.values) {
            let at = At {
                id,
                extent: elements,
                times: inside(rules.and_then(|rules| rules.max_properties)),
            };
            self.place(below, at, &path.child("additionalProperties"));
        }
        if let (Some(below), Some(id)) = (&place.items, node.items) {
            let at = At {
                id,
                extent: elements,
                times: inside(rules.and_then(|rules| rules.max_items)),
            };
            self.place(below, at, &path.child("items"));
        }
    }

    fn rules(&mut self, place: &Place, extent: &Extent, times: Option<u64>, path: &FieldPath) {
        let times = times.unwrap_or(REQUEST / (extent.bytes + 1));
        for (position, rule) in place.rules.iter().enumerate() {
            let path = path.child("x-kubernetes-validations").index(position);
            let cost = rule.program.most(extent).saturating_mul(times);
            self.note(path.child("rule"), cost, "estimated rule cost");
            if let Some(message) = &rule.message {
                let cost = message.most(extent);
                self.note(
                    path.child("messageExpression"),
                    cost,
                    "estimated messageExpression cost",
                );
            }
        }
    }

    fn note(&mut self, path: FieldPath, cost: u64, what: &str) {
        if cost > EXPRESSION && self.expressions == Expressions::New {
            let detail = excess(what, cost, EXPRESSION);
            self.errors
                .push(FieldError::forbidden(path.clone(), detail));
        }
        self.total = self.total.saturating_add(cost);
        if cost >= SCHEMA / 100 {
            let place = self.dear.partition_point(|(_, known)| *known >= cost);
            self.dear.insert(place, (path, cost));
            self.dear.truncate(NAMED);
        }
    }

    fn finish(mut self, path: &FieldPath) -> Vec<FieldError> {
        if self.total > SCHEMA {
            for (path, _) in self.dear {
                let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
                self.errors.push(FieldError::forbidden(path, detail));
            }
            let what =
                "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
            let detail = excess(what, self.total, SCHEMA);
            self.errors
                .push(FieldError::forbidden(path.clone(), detail));
        }
        self.errors
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a factor for people, of two digits"
)]
fn excess(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

#[cfg(test)]
mod tests;

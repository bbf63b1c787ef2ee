//! What a kind's schema says about its objects: which fields exist, what they may hold, how edits to them combine.
//!
//! Stands between `object`, which knows objects of any kind, and `serve`, which answers requests: built-in kinds,
//! users' custom resources and the kinds of simulated members all become a [`Schema`] and take one path from there
//! (docs/adr/0005-schema-crate.md).
//!
//! Entry points, in the order a write meets them: [`crd::read`] and [`builder::SchemaBuilder`] make a [`Schema`];
//! [`Schema::merge_strategically`] and [`apply::Write::apply`] turn a patch into an object; [`Schema::coerce`],
//! [`Schema::prune`] and [`Schema::apply_defaults`] bring it into shape; [`Schema::validate`] and
//! [`Schema::validate_update`] say what is wrong with it; [`apply::Write::update`] records who owns its fields.
//! [`Schema::publish`] writes the schema itself for clients; [`wire`] reads and writes objects in protobuf.
//!
//! Invariants: a schema is immutable once built; no function here panics on any object or schema; every walk over an
//! object is bounded by that object's depth, never by the recursion of a type; errors have Kubernetes' texts.
//!
//! Non-goals: evaluating CEL (rules are kept as text), decisions that need more than one object, storage.

pub mod builder;
pub mod node;
pub mod pattern;
pub mod rules;

pub mod crd;
mod meta;

mod coerce;
mod defaults;
mod nulls;
mod prune;
mod validate;

pub mod apply;
pub mod strategic;

pub mod publish;

pub mod wire;

mod canonical;
mod trail;

pub use crate::{
    coerce::Malformed,
    meta::OBJECT_META,
    node::{ListKind, MapKind, Node, PatchStrategy, Property, Schema, SchemaId, Type, Types},
    validate::matches_format,
};

#[cfg(test)]
mod properties;

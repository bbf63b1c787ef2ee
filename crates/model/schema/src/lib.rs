//! What a kind's schema says about its objects: which fields exist, what they may hold, how edits to them combine.
//!
//! Stands between `object`, which knows objects of any kind, and `serve`, which answers requests: built-in kinds,
//! users' custom resources and the kinds of simulated members all become a [`Schema`] and take one path from there
//! (docs/adr/0005-schema-crate.md).
//!
//! Entry points: [`builder::SchemaBuilder`] makes a [`Schema`].
//!
//! Invariants: a schema is immutable once built; no function here panics on any object or schema; every walk over an
//! object is bounded by that object's depth, never by the recursion of a type.
//!
//! Non-goals: evaluating CEL (rules are kept as text), decisions that need more than one object, storage.

pub mod apply;
pub mod builder;
mod canonical;
mod coerce;
pub mod crd;
mod defaults;
mod meta;
pub mod node;
pub mod pattern;
mod prune;
pub mod publish;
pub mod rules;
pub mod strategic;
mod trail;
mod validate;

pub use crate::coerce::Malformed;
pub use crate::meta::OBJECT_META;
pub use crate::node::{
    ListKind, MapKind, Node, PatchStrategy, Property, Schema, SchemaId, Type, Types,
};

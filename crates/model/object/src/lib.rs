//! What every Kubernetes object is made of: identity, metadata, and the small value types the APIs share.
//!
//! Everything above stands on this crate: `api` builds the multi-cluster kinds from its values, `logic` reads
//! templates through [`Object`], `serve` matches selectors and applies patches with it.
//!
//! Entry points: [`Object`] for an object of any kind, [`parse`] to read one from untrusted bytes,
//! [`quantity::Quantity`], [`selector`], [`patch`] and [`jsonpath`].
//!
//! Invariants: an object keeps the fields it does not know and the order its author gave them; no function here
//! panics on any input, reads a clock, or touches a file or a socket.
//!
//! Non-goals: schemas of particular kinds (`api`), storage and transport (`infra`).

pub mod base64;
pub mod condition;
pub mod duration;
mod excerpt;
pub mod field;
pub mod identity;
pub mod int_or_string;
pub mod jsonpath;
pub mod metadata;
pub mod names;
pub mod object;
pub mod packing;
pub mod parse;
pub mod patch;
pub mod quantity;
pub mod resource_type;
pub mod selector;
pub mod strict;
pub mod time;

pub use crate::{
    identity::{GroupKind, GroupVersion, GroupVersionKind, GroupVersionResource, ObjectKey},
    metadata::{ObjectMeta, OwnerReference},
    object::Object,
    resource_type::ResourceType,
};
/// A JSON value; objects keep the order of their fields.
pub use serde_json::Value;
/// The fields of a JSON object, in order.
pub type Map = serde_json::Map<String, Value>;

//! The multi-cluster kinds as values: their fields, names, versions and schemas.
//!
//! Sits on `object` and below everything that decides or serves: `logic` computes with these types, `parts` reads and
//! writes them, the API server publishes their schemas.
//!
//! Entry points: one module for each API group ([`policy`], [`work`], [`cluster`] and so on); [`read`] between dynamic
//! objects and types; [`registry`] for what is served under which names; [`schema`] for CRDs; [`admission`] for what is
//! filled in and what is refused when an object is written; [`names`] and [`well_known`] for the texts that controllers
//! and users agree on; [`twins`] where namespaced and cluster-wide kinds are one; [`affinity`] for which clusters are meant,
//! [`selection`] for which templates;
//! [`manifest`] for what of a template goes to members.
//!
//! Invariants:
//! - A field is written exactly as Go clients write it, and read as forgivingly: an absent field and one that is `null`
//!   mean zero. A `null` among the elements of a list or the values of a map is an error with its path.
//! - Where the schema lists the values of a field, the type is an enum, because admission has refused all others;
//!   reading another value fails and names the field. Where the schema leaves the field open, it is a `String` with
//!   its known values as constants in a module beside the type, and any text is read and kept.
//! - Types know fewer fields than objects may have. Whoever changes an object does so with [`read::edit`], which
//!   leaves alone what the type does not know.
//!
//! Non-goals: templates and other Kubernetes kinds (they stay dynamic), storage, HTTP.

pub mod kind;
pub mod read;
pub mod registry;
pub mod twins;

pub mod affinity;
pub mod manifest;
pub mod selection;

pub mod apps;
pub mod autoscaling;
pub mod cluster;
pub mod config;
pub mod multicluster;
pub mod networking;
pub mod policy;
pub mod remedy;
pub mod search;
pub mod work;

pub mod kubernetes;

pub mod names;
pub mod well_known;

pub mod schema;

pub mod admission;
mod wire;

pub use crate::kind::{Kind, TypeName};

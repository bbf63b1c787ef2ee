//! The kinds every Kubernetes API has, and kinds that come as definitions, made into resources that `serve` can serve.
//!
//! The control plane and simulated members fill their tables from here: [`builtin_resources`] for what Kubernetes brings
//! along ([`template_resources`] where nothing runs), [`Compiled`] and [`resource_of_definition`] for custom kinds. [`calls`] answers for parts of built-in objects that do something.
//!
//! Invariants: every resource made here has a schema; nothing here knows the multi-cluster kinds.
//!
//! Non-goals: what an object means to a controller; who may touch it.

mod builtin_rules;
pub mod calls;
mod columns;
mod compiled;
mod conversion;
mod definition;
mod ending;

pub use builtin_rules::{builtin_names, builtin_resources, template_resources};
pub use columns::PathColumns;
pub use compiled::Compiled;
pub use definition::{DefinitionError, resource_of_definition, resource_with_webhooks};
pub use ending::{DEFINITIONS, refuse_without_future};

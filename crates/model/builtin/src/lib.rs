//! Kubernetes' built-in kinds as data, so that one schema-driven server serves them all.
//!
//! Stands beside `api`, which has the multi-cluster kinds, and below `serve`, which knows no kind by name: the server
//! asks here what kinds there are, what their objects look like, what they are filled up with, whether they are
//! valid, and what a table of them shows. Adding a kind, or a field, is adding lines of text
//! (docs/adr/0006-built-in-kinds-as-data.md).
//!
//! Entry points: [`kinds::kinds`] for the table of kinds, [`types::types`] for their schemas,
//! [`defaults::apply_defaults`], [`columns::row`], [`convert`] for kinds that are stored as another, [`scale`] for the
//! size of workloads, and [`strategy`] for what happens to an object that is created or updated.
//!
//! Invariants: the embedded text is read once, on first use, and is well-formed (tested); no function panics on any
//! object; nothing here reads a clock.
//!
//! Non-goals: decisions that need other objects or the network (allocating cluster addresses and node ports, checking
//! that a service account exists, signing), storage, and anything kubelets and controllers do.

pub mod columns;
pub mod convert;
pub mod defaults;
pub mod kinds;
mod path;
pub mod scale;
pub mod strategy;
pub mod types;

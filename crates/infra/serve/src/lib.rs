//! A Kubernetes API for whatever resources it is given: verbs, watch streams, tables, discovery, admission hooks.
//!
//! Requests come in as HTTP (from a socket or from inside the process) and end in the store; answers come from memory. The
//! control plane and simulated members are this crate with different tables of resources.
//!
//! Entry points: [`server::Server::open`] and [`server::Server::answer`]; [`resource::Table`] says what is served.
//!
//! Invariants: an object is encoded once, when it is written; a reader never waits for a writer; whoever was answered reads
//! what was written; bad input changes nothing and is answered with a `Status` that names the field.
//!
//! Non-goals: knowing any kind by name; deciding who somebody is or what they may do (the caller does, before
//! [`server::Server::answer`]); sockets and TLS (`listen`).

pub mod body;
pub mod cache;
pub mod call;
pub mod compression;
mod connecting;
pub mod conversion;
pub mod discovery;
pub mod encoding;
mod feed;
pub mod handler;
pub mod head;
mod health;
pub mod intake;
pub mod lifecycle;
pub mod listing;
mod measure;
mod metadata;
pub mod negotiate;
mod openapi;
pub mod options;
pub mod output;
mod ownership;
mod paths;
mod pipeline;
mod recent;
pub mod record;
pub mod resource;
pub mod scaling;
pub mod select;
pub mod server;
pub mod status;
pub mod target;
mod verbs;
mod warning;
pub mod watching;
pub mod webhook;

pub use pipeline::mistyped;

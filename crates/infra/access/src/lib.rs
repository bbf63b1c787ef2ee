//! Who is asking, and whether they may: the gate in front of `serve`, for the control plane and for simulated members.
//!
//! A request comes with a certificate, a token or nothing. [`access::Access`] makes a user of that, lets the user act as
//! somebody else if asked to, and holds what they attempt against the roles in the server's own cache.
//!
//! Entry points: [`access::Access::new`] and [`access::Access::admit`] in front of a server; [`reviews::insert`] and
//! [`token_request::insert`] for what is asked of it; [`creation::CreationCheck`] and
//! [`escalation::EscalationCheck`] among its admission, and [`access::Access::answers`] for expressions that ask who may do
//! what; [`bootstrap::ensure`] at its start and
//! [`account_chores::follow`] and [`root_authority::follow`] while it runs.
//!
//! Invariants: nobody is served without a name; a decision is as current as the cache; a rule is parsed when it changes
//! and not when it is applied; nobody gives away what they do not have; no token, key or secret is ever logged or part of
//! an error.
//!
//! Non-goals: knowing any kind beyond those Kubernetes' access control stands on; sockets and TLS (`listen`).

pub mod access;
pub mod account_chores;
pub mod attempt;
pub mod audit;
pub mod authenticate;
pub mod bootstrap;
pub mod bootstrap_token;
pub mod certificates;
pub mod client_authority;
pub mod cluster_info;
pub mod creation;
pub mod escalation;
pub mod fairness;
pub mod following;
pub mod impersonate;
pub mod issuer;
mod key_set;
pub mod keys;
pub mod names;
pub mod oidc;
pub mod policy;
mod questions;
pub mod reviews;
pub mod roles;
pub mod root_authority;
pub mod rule;
pub mod service_account;
mod subprotocol;
pub mod token_request;
pub mod token_use;
pub mod turns;

pub use access::{Access, Admitted, Options, Refused};

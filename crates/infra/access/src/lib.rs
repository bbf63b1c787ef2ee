//! Who is asking, and whether they may: the gate in front of `serve`, for the control plane and for simulated members.
//!
//! A request comes with a certificate, a token or nothing. [`access::Access`] makes a user of that, lets the user act as
//! somebody else if asked to, and holds what they attempt against the roles in the server's own cache.
//!
//! Entry points: [`access::Access::new`] and [`access::Access::admit`].
//!
//! Invariants: nobody is served without a name; a decision is as current as the cache; a rule is parsed when it changes
//! and not when it is applied; no token, key or secret is ever logged or part of an error.
//!
//! Non-goals: knowing any kind beyond those Kubernetes' access control stands on; sockets and TLS (`listen`).

pub mod access;
pub mod attempt;
pub mod authenticate;
pub mod bootstrap_token;
pub mod impersonate;
pub mod keys;
pub mod names;
pub mod policy;
pub mod rule;
pub mod service_account;

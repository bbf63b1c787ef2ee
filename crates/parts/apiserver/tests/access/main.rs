//! Who may do what against the whole API server: identities, verbs, resources and scopes, from rules written down here.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod agents;
mod audit;
mod certificates;
mod errands;
mod escalation;
mod matrix;
mod parameters;
mod proxies;
mod reviews;
mod tokens;
mod world;

//! Who may do what against the whole API server: identities, verbs, resources and scopes, from rules written down here.

mod audit;
mod certificates;
mod escalation;
mod matrix;
mod reviews;
mod tokens;
mod world;

//! From a template to its members and back: what the propagation of templates promises, seen from outside.
//!
//! A test whose name begins with `a` and a number is the acceptance check of that number in the behaviour that is
//! published; one that begins with `p` and a number is the pitfall of that number. `c` and a
//! number is a check of what is published about members, as in the tests of these.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod service;
mod spot;
mod stage;

mod autoscaling;
mod bad_input;
mod causes;
mod claims;
mod clockwork;
mod clusters;
mod conversions;
mod costs;
mod crash;
mod definitions;
mod deletion;
mod dependencies;
mod history;
mod interpretation;
mod kinds;
mod lazy;
mod members;
mod mixtures;
mod names;
mod namespaces;
mod operators;
mod orphans;
mod ownership;
mod quotas;
mod refusals;
mod rendering;
mod statuses;
mod steps;
mod versions;
mod webhooks;

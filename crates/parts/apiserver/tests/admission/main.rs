//! Admission that users configure: webhooks behind real TLS, and policies written as expressions.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod deletions;
mod errands;
mod hook;
mod limits;
mod parts;
mod policies;
mod questions;
mod quotas;
mod streams;
mod webhooks;
#[path = "../access/world.rs"]
#[expect(dead_code, reason = "the tests of access use more of it")]
mod world;

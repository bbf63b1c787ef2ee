//! The loops that face a member, between two whole API servers in one process, in virtual time.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

extern crate karavel_member as member;

mod api;
mod applying;
mod joining;
mod reporting;
mod world;

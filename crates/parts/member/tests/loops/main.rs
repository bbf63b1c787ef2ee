//! The loops that face a member, between two whole API servers in one process, in virtual time.

extern crate karavel_member as member;

mod api;
mod applying;
mod joining;
mod reporting;
mod world;

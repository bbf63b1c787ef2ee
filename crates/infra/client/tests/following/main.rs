//! Caches against a server that does all the things servers do.

#![expect(clippy::unwrap_used, reason = "tests")]

mod follower;
mod script;

mod readers;
mod streams;
mod trouble;

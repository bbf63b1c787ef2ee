//! What protects a server, seen from outside: certificates, encryption at rest, replicas, other issuers, its end.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod bodies;
mod certificates;
mod ending;
mod files;
mod heads;
mod issuer;
mod replicas;
mod secrets;
mod served;
mod stopping;

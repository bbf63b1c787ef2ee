//! The contract of the API on etcd: the tests of the embedded store, and what only several servers on one store can show.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod backing;
mod replicas;

#[path = "../contract/api.rs"]
mod api;
#[path = "../contract/deleting.rs"]
mod deleting;
#[path = "../contract/reading.rs"]
mod reading;
#[path = "../contract/watching.rs"]
mod watching;
#[path = "../contract/writing.rs"]
mod writing;

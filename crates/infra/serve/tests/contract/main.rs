//! The contract of the API, seen as a client sees it: requests in, answers out, on a real store in a directory.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod api;
mod backing;
mod deleting;
mod reading;
mod watching;
mod writing;

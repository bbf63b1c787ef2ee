//! Users' own kinds through a whole server in the process: rules, versions, conversion, hostile requests.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod answering;
mod api;
mod converting;
mod hostile;
mod owning;
mod ruling;

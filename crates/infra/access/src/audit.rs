//! What was asked and what came of it, as JSON lines: nothing, the facts, or the bodies too, by rule.
//!
//! A request is written about when it came ([`Stage::RequestReceived`]) and when it was answered
//! ([`Stage::ResponseComplete`]); one whose answer goes on and on also when the answer began
//! ([`Stage::ResponseStarted`]). The rules of an audit policy say how much is written: the first that fits counts. Bodies
//! that are secrets by nature (Secrets, tokens) are never written, whatever the rules say.

mod event;
mod log;
mod policy;
mod secrecy;

pub use event::{Event, Stage};
pub use log::{AuditLog, LogOptions};
pub use policy::{AuditPolicy, AuditPolicyError, Extent, Level};

/// What whoever answers a request wants the log to say of it; put among the extensions of the answer.
#[derive(Clone, Debug)]
pub struct Remark {
    /// The annotation.
    pub name: &'static str,
    /// What it says.
    pub value: String,
}

//! What users let be asked before an object is stored: limit ranges, quotas, admission webhooks, and policies written as
//! expressions.
//!
//! Stands among the admission of a `serve` server, after the product's own rules. The configurations are objects of that
//! server; they are compiled when they change and not when a request comes.
//!
//! Entry points: [`LimitRanges`], [`Webhooks`], [`ValidatingPolicies`] and, last, [`Quotas`] among the admission of a server; [`Caller`] for whoever else calls webhooks;
//! [`notes::gather`] around a request, for what the audit log is to say of it.
//!
//! Invariants: no call holds a lock or a transaction of the store; every call has a deadline and a limit on its answer;
//! configurations of admission are never sent to anybody, so that a bad one can always be taken away again.
//!
//! Non-goals: the product's own rules (`api`), who may do what (`access`).

mod amounts;
mod caller;
mod endpoint;
mod expression;
mod following;
mod limits;
mod matching;
pub mod notes;
mod pod;
mod policies;
mod quota;
mod review;
mod trust;
mod webhook;
mod webhooks;

pub use amounts::{Amounts, read as read_amounts};
pub use caller::{CallError, Caller};
pub use endpoint::{Endpoint, EndpointError};
pub use expression::Authority;
pub use limits::{LimitRanges, fill_in, problems};
pub use policies::{ValidatingPolicies, policy_status};
pub use quota::{Measured, Quota, Quotas, measure, resource_of};
pub use trust::judge;
pub use webhooks::Webhooks;

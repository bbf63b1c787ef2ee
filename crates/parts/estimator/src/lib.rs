//! Answers schedulers how much still fits into one member, from its nodes.
//!
//! A cluster's own report adds its nodes up, so a scheduler cannot see that ten nodes with half a processor left take no
//! pod that wants a whole one. An estimator follows the nodes and pods of one member ([`Ledger`]) and answers from them,
//! over the reference's gRPC protocol ([`serve`]) or to a scheduler in the same process ([`Ledger::answer`]). It also
//! says which pods of a Deployment found no node, for the descheduler.
//!
//! Entry points: [`Ledger::start`], then [`serve`].
//!
//! Invariants: nothing is answered from half a list; of nodes and pods only what is counted is kept; a question for
//! another cluster is refused; a question costs no call to the member, but for the ReplicaSets of the Deployment whose
//! pods are asked for.
//!
//! Non-goals: choosing clusters; writing anything anywhere.

mod answer;
mod feed;
mod ledger;
mod ledgers;
pub mod metrics;
mod port;
mod service;
mod tls;

pub use crate::{
    answer::Refusal,
    ledger::{Ledger, Settings},
    ledgers::{Connecting, Ledgers, Way},
    port::{BindError, Port, Serving, serve, serve_probes},
    tls::{Tls, TlsError},
};

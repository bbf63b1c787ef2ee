//! Keeps keys and bytes, durably and in one order.
//!
//! Every change to any key takes the next [`Revision`]. A reader asks for the newest state or that of an earlier
//! revision; a watcher follows the changes after one. `serve` stands on this crate and is its only user above.
//!
//! Begin with [`Store`], which is what callers hold; then [`Txn`] for writing, [`Query`] for reading, [`Watch`] for
//! following. [`embedded`] has what concerns a store in a directory alone: opening, backup, restore. [`etcd`] has what
//! concerns a store in an etcd alone: how it is reached, regular compaction. [`memory`] is for simulations and tests: it
//! keeps nothing beyond the process. [`sealed`] encrypts values on their way to any of them.
//!
//! What holds for every implementation:
//! - A transaction happens whole, at one revision, or not at all.
//! - An acknowledged write survives the process and the machine (not in [`memory`]).
//! - A read sees every write acknowledged before it began.
//! - A watcher receives every change after its revision once and in order, or is told that it cannot.
//! - Values are shared, never copied, on their way out.
//!
//! Not here: what the bytes mean. The crate knows nothing of Kubernetes.

pub mod embedded;
mod entry;
mod error;
pub mod etcd;
mod key;
pub mod memory;
mod query;
pub mod sealed;
mod status;
mod store;
mod txn;

pub use entry::{Changes, Entry, Event};
pub use error::{Cause, CommitError, CompactError, ReadError, RenewError, WatchError};
pub use key::{Key, KeyError, MAX_KEY_BYTES, Revision};
pub use query::{Page, Query, Span};
pub use status::{Notice, Status};
pub use store::{Store, Watch};
pub use txn::{
    Check, Committed, Conflict, Expect, MAX_TTL, MAX_TXN_BYTES, MAX_TXN_OPS, Op, Outcome, Txn,
    TxnError,
};

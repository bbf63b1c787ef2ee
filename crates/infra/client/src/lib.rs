//! One client for any Kubernetes API: calls, discovery and shared caches, in the process or over TCP.
//!
//! Controllers, the scheduler, the loops that face a member and the command line all speak through [`Client`]. Inside the
//! control plane's process it is wired to the API server's own service: no socket, no TLS, the same code path and the same
//! authorization. [`Caches`] follows kinds by list and watch: one watch for all who ask, and each object once, as text until
//! somebody looks at it.
//!
//! Entry points: [`Client::in_process`], [`Client::from_kubeconfig`], [`Caches::follow`].
//!
//! Invariants: every call has a deadline and every client a limit of calls at once; an object is decoded into
//! [`object::Object`] and nothing else; a cache invents no deletion from a list that was not finished; [`CompleteView`]
//! exists only while a cache has seen everything.
//!
//! Non-goals: deciding when to call again after a failure (`control`); serving (`serve`).

mod ask;
mod cache;
mod call;
mod discovery;
mod door;
mod error;
mod follow;
mod kubeconfig;
mod options;
mod query;
mod remote;
mod skim;
mod transport;
mod watch;
mod way;

pub use crate::cache::{Cache, Caches, Change, CompleteView, Detail, Scope, Subscription, Trouble};
pub use crate::call::{Client, Deleted, List, Version};
pub use crate::discovery::{Discovered, Discovery, FailedGroup};
pub use crate::door::Door;
pub use crate::error::{CallError, Refusal};
pub use crate::kubeconfig::{
    Address, ConfigError, Endpoint, Identity, Impersonate, KubeconfigSource,
};
pub use crate::options::{DeleteOptions, ListOptions, PatchKind, WatchOptions, WriteOptions};
pub use crate::transport::{AnswerBody, BoxError};
pub use crate::watch::{WatchEvent, WatchStream};
pub use crate::way::ProxyError;
/// The client underneath, for what is not an object: proxying, upgrades, logs.
pub use kube;
/// The body of a request.
pub use kube::client::Body;

//! The control plane's API server: Kubernetes' kinds as templates, the multi-cluster kinds, and who may use them.
//!
//! It puts a table of resources on `serve`, a TLS listener in front of it and a store behind it, and keeps the
//! files a client needs in the data directory.
//!
//! Entry points: [`ApiServer::start`] and [`ApiServer::run`].
//!
//! Invariants: nobody is served without a name; only health and version are open to the nameless;
//! the data directory's keys are readable by their owner alone.
//!
//! Non-goals: what the multi-cluster kinds do (`controllers`, `scheduler`, `member`).

mod access;
mod admission;
mod definitions;
mod kubeconfig;
mod multicluster;
mod namespaces;
mod server;
mod snapshot;
mod surroundings;

pub use server::{ApiServer, Options, StartError, Storage};
pub use store::embedded::OpenError as StoreError;
pub use store::etcd::{Options as EtcdOptions, Tls as EtcdTls, User as EtcdUser};

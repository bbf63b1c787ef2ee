//! The control plane's API server: Kubernetes' kinds as templates, the multi-cluster kinds, and who may use them.
//!
//! It puts a table of resources on `serve`, a TLS listener in front of it and a store behind it, and keeps the
//! files a client needs in the data directory.
//!
//! Entry points: [`ApiServer::start`] and [`ApiServer::run`]; [`Handle`] for the parts of this process that use the API.
//!
//! Invariants: nobody is served without a name; everybody, also inside the process, may do what roles give them and no
//! more; the data directory's keys are readable by their owner alone.
//!
//! Non-goals: what the multi-cluster kinds do (`controllers`, `scheduler`, `member`).

mod admission;
mod agents;
mod arrival;
mod audit;
mod certificates;
mod chores;
mod definitions;
mod errands;
mod form;
mod front;
mod identity;
mod issuers;
mod kubeconfig;
mod multicluster;
mod namespaces;
mod own_service;
mod policies;
mod quotas;
mod redaction;
mod registrations;
mod roles;
mod sealing;
mod security;
mod sending;
mod server;
mod sharing;
mod snapshot;
mod surroundings;

pub use audit::Audit;
pub use definitions::built_in;
pub use front::{Handle, InProcess};
pub use sealing::SealingError;
pub use security::{AuthorityFiles, Encryption, Issuer, Lifetimes, Security, audit_policy};
pub use server::{ApiServer, Extensions, Inside, Options, StartError, Storage, encryptable};
pub use sharing::SharingError;
pub use store::Store;
pub use store::embedded::OpenError as StoreError;
pub use store::etcd::{Options as EtcdOptions, Tls as EtcdTls, User as EtcdUser};

//! The chores that keep an API server tidy, as Kubernetes' controller manager does them.
//!
//! Objects go with their owners, namespaces and definitions take their content along, roles are put together from others,
//! and what has had its time is taken away. All of it speaks through `client`, so it runs over the control plane and over
//! simulated members alike.
//!
//! Entry points: [`start`], [`Chores`].
//!
//! Invariants: each chore is a pure `plan` and a thin shell; an object is deleted for want of owners only after each of
//! them was found absent by asking the server; owners are orphaned or waited for only while every kind is wholly known; a
//! definition takes nothing along but objects that it alone let be served.
//!
//! Non-goals: accounts and their tokens (`access`), certificates (`apiserver`), anything about clusters.

mod aggregation;
mod definition;
mod finished;
mod garbage;
pub mod inventory;
mod namespace;
mod requests;
mod resources;
mod tokens;

use std::collections::BTreeSet;

use client::Caches;
use control::Cx;
use runtime::Spawner;

use crate::inventory::Inventory;

/// Which chores are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chores {
    /// Objects go with their owners.
    pub garbage: bool,
    /// Namespaces take their content along.
    pub namespaces: bool,
    /// How the names of namespaces begin that nobody but the product writes to: they are taken apart at once. Empty if there
    /// are none.
    pub own_namespaces: &'static str,
    /// Definitions take their objects along.
    pub definitions: bool,
    /// Roles are put together from others.
    pub roles: bool,
    /// Finished jobs go after their time.
    pub finished_jobs: bool,
    /// Old certificate requests go.
    pub certificate_requests: bool,
    /// Expired bootstrap tokens go.
    pub bootstrap_tokens: bool,
}

impl Default for Chores {
    fn default() -> Self {
        Self {
            garbage: true,
            namespaces: true,
            own_namespaces: "",
            definitions: true,
            roles: true,
            finished_jobs: true,
            certificate_requests: true,
            bootstrap_tokens: true,
        }
    }
}

/// The group and name of every kind that a server has by itself, whatever definitions say.
pub type BuiltIn = BTreeSet<(&'static str, &'static str)>;

/// Starts the chores; they run until the spawner's tasks are stopped. What the server has by itself is asked for and not
/// found out: what can be read there, others can write.
pub fn start(
    chores: Chores,
    built_in: &'static BuiltIn,
    caches: &Caches,
    cx: &Cx,
    spawner: &Spawner,
) {
    if chores.garbage {
        let inventory = Inventory::new(caches.clone());
        garbage::start(&inventory, cx, spawner);
    }
    if chores.namespaces {
        namespace::start(chores.own_namespaces, caches, cx, spawner);
    }
    if chores.definitions {
        definition::start(built_in, caches, cx, spawner);
    }
    if chores.roles {
        aggregation::start(caches, cx, spawner);
    }
    if chores.finished_jobs {
        finished::start(caches, cx, spawner);
    }
    if chores.certificate_requests {
        requests::start(caches, cx, spawner);
    }
    if chores.bootstrap_tokens {
        tokens::start(caches, cx, spawner);
    }
}

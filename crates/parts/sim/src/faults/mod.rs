//! Trouble on command: what is wrong with a member right now.
//!
//! A [`Faults`] is shared by the member's front door, which cuts off, delays and fails calls, and by its engine, which
//! loses nodes and fails pods. Faults are set by the process that runs the member or over HTTP; they are not stored, so
//! a restart heals everything.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::outage;

mod document;

pub use document::FaultError;
pub(crate) use document::There;

/// What is wrong with a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultState {
    /// Nobody reaches the API.
    pub cut_off: bool,
    /// Every call takes this much longer.
    pub delay: Duration,
    /// How many of a hundred calls fail with an internal error.
    pub fail_percent: u8,
    /// Nodes whose kubelets are silent.
    pub lost_nodes: BTreeSet<String>,
    /// Nodes that take no pods: all their room is said to be taken.
    pub full_nodes: BTreeSet<String>,
    /// Workloads whose pods crash as soon as they run, as `namespace/name` of what controls the pods or of its owner.
    pub failing_workloads: BTreeSet<String>,
    /// API groups whose server does not answer: announced as stale, and not served.
    pub dropped_groups: BTreeSet<String>,
    /// Nodes beyond those the member was made with.
    pub extra_nodes: usize,
}

/// What is wrong with a member, for all who must know. Clones are the same.
#[derive(Clone, Debug)]
pub struct Faults {
    state: Arc<Mutex<FaultState>>,
    changes: watch::Sender<u64>,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            state: Arc::default(),
            changes: watch::Sender::new(0),
        }
    }
}

impl Faults {
    /// What is wrong now.
    #[must_use]
    pub fn state(&self) -> FaultState {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Changes what is wrong.
    pub fn change(&self, change: impl FnOnce(&mut FaultState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changes.send_modify(|count| *count += 1);
    }

    /// Nothing is wrong any more.
    pub fn heal(&self) {
        self.change(|state| *state = FaultState::default());
    }

    /// Cuts the API off, or lets calls through again.
    pub fn cut_off(&self, cut: bool) {
        self.change(|state| state.cut_off = cut);
    }

    /// Silences a node's kubelet, or lets it speak again.
    pub fn lose_node(&self, node: &str, lost: bool) {
        self.change(|state| {
            if lost {
                state.lost_nodes.insert(node.to_owned());
            } else {
                state.lost_nodes.remove(node);
            }
        });
    }

    /// Returns when the API is not cut off.
    pub(crate) async fn connected(&self) {
        if !self.state().cut_off {
            return;
        }
        let mut changes = self.watch();
        while self.state().cut_off {
            // The sender is in `self`, so there is always somebody who may change it.
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns when the group is dropped that a path is about.
    pub(crate) async fn dropped(&self, path: &str) {
        let mut changes = self.watch();
        while !outage::is_about(path, &self.state().dropped_groups) {
            // The sender is in `self`, so there is always somebody who may change it.
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Wakes whoever waits on it after every change.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

//! Taking replicas back from clusters that cannot run them.

use std::sync::Arc;

/// A target as the descheduler looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The cluster.
    pub cluster: Arc<str>,
    /// Replicas it was given.
    pub replicas: i32,
    /// Replicas that are ready there; `None` if it did not report any.
    pub ready: Option<i32>,
}

impl Observed {
    /// Whether the cluster is worth asking how many pods it cannot place: some are not ready.
    #[must_use]
    pub fn is_undesired(&self) -> bool {
        self.ready.is_none_or(|ready| ready < self.replicas)
    }

    /// The replicas to leave there when so many pods cannot be placed.
    ///
    /// Ready replicas are never taken, and a number that cannot be true changes nothing.
    #[must_use]
    pub fn remaining(&self, unschedulable: i32) -> i32 {
        if unschedulable <= 0 || unschedulable > self.replicas {
            return self.replicas;
        }
        let rest = self.replicas - unschedulable;
        match self.ready {
            Some(ready) if rest < ready && ready <= self.replicas => ready,
            _ => rest,
        }
    }
}

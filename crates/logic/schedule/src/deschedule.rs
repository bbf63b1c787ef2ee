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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::check;

    #[test]
    fn the_descheduler_takes_back_what_cannot_run() {
        let observed = |replicas, ready| Observed {
            cluster: "m1".into(),
            replicas,
            ready,
        };
        assert_eq!(observed(5, Some(4)).remaining(2), 4);
        assert_eq!(observed(5, Some(0)).remaining(2), 3);
        assert_eq!(observed(5, None).remaining(5), 0);
        assert_eq!(observed(5, Some(2)).remaining(6), 5);
        assert_eq!(observed(5, Some(3)).remaining(2), 3);
        assert!(!observed(5, Some(5)).is_undesired());
        assert!(observed(5, Some(4)).is_undesired() && observed(5, None).is_undesired());
        check(&[(
            "clusters m1=0 m2=10; now m1=3 m2=1; replicas 6; mode dynamic",
            "m1=3 m2=3",
        )]);
    }
}

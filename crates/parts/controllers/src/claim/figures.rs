//! How often policies are brought to bear on templates, and how long that takes.

use std::time::Duration;

use policy::{Decision, Outcome, decide::ReleaseCause};
use telemetry::metrics::{Metric, Registry};

/// What a decision means for the figures; by default, nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bearing {
    /// Whether a policy is brought to bear on the template.
    is_applied: bool,
    /// Whether it takes the template over from another.
    is_preempting: bool,
    /// Whether all that was needed for it is known.
    is_answered: bool,
}

impl Bearing {
    pub(super) fn of(decision: &Decision<'_>, is_answered: bool) -> Self {
        let release = decision.release.as_ref();
        Self {
            is_applied: matches!(decision.outcome, Outcome::Applied(_)),
            is_preempting: release.is_some_and(|end| end.cause == ReleaseCause::Preempted),
            is_answered,
        }
    }

    /// Counts what came of it.
    pub(super) fn count(self, metrics: &Registry, took: Duration, is_written: bool) {
        let result = match is_written && self.is_answered {
            true => ["success"],
            false => ["error"],
        };
        if self.is_applied {
            metrics.add(Metric::PolicyApplyAttemptsTotal, &result, 1.0);
            metrics.observe(Metric::ResourceApplyPolicyDurationSeconds, &result, took);
        }
        if self.is_preempting {
            metrics.add(Metric::PolicyPreemptionTotal, &result, 1.0);
        }
    }
}

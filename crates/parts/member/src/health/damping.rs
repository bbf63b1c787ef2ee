//! Keeps a cluster's Ready condition from flapping with every probe.

use std::time::Duration;

use object::condition::{Condition, ConditionStatus};
use object::time::Time;

/// How long a new state must last before it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Before a cluster counts as ready again.
    pub success: Duration,
    /// Before a cluster counts as not ready any more.
    pub failure: Duration,
}

/// Upstream: `--cluster-success-threshold` and `--cluster-failure-threshold`.
impl Default for Thresholds {
    fn default() -> Self {
        Self {
            success: Duration::from_secs(30),
            failure: Duration::from_secs(30),
        }
    }
}

/// What the last probes said, and since when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damping {
    seen: Option<(ConditionStatus, Time)>,
}

impl Damping {
    /// The condition to believe: the observed one, or the stored one while the observed has not lasted long enough.
    ///
    /// A state lasts from when the look at the member `begun` that found it first, which is long before `now` where the
    /// member did not answer. The first observation is believed at once, so that a restart does not hide what happened
    /// meanwhile.
    pub(crate) fn settle(
        &mut self,
        stored: Option<&Condition>,
        observed: Condition,
        thresholds: Thresholds,
        begun: Time,
        now: Time,
    ) -> Condition {
        let Some((status, since)) = self.seen else {
            self.seen = Some((observed.status, begun));
            return observed;
        };
        let since = if status == observed.status {
            since
        } else {
            begun
        };
        self.seen = Some((observed.status, since));
        let Some(stored) = stored else {
            return observed;
        };
        if stored.is_true() == observed.is_true() {
            return observed;
        }
        let threshold = if observed.is_true() {
            thresholds.success
        } else {
            thresholds.failure
        };
        let lasted = u64::try_from(now.seconds_since(since)).unwrap_or_default();
        if lasted < threshold.as_secs() {
            return stored.clone();
        }
        observed
    }
}

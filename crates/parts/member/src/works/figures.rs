//! What is made, changed and deleted in members, as figures.

use intent::Action;
use object::Object;
use telemetry::metrics::{Metric, Registry};

/// An action whose end is counted. Upstream: the same names and labels.
pub(super) struct Counted {
    metric: Metric,
    api_version: String,
    kind: String,
    /// The last label, where there is one.
    how: Option<&'static str>,
}

impl Counted {
    /// What an action is counted as. `was_there` says whether an object had been brought to the member before.
    pub(super) fn of(action: &Action, was_there: impl FnOnce(&Object) -> bool) -> Self {
        let (metric, how) = match action {
            Action::Create { object, .. } => {
                let again = if was_there(object) { "true" } else { "false" };
                (Metric::CreateResourceToCluster, Some(again))
            }
            Action::Delete { .. } => (Metric::DeleteResourceFromCluster, None),
            _ => (Metric::UpdateResourceToCluster, Some("updated")),
        };
        let kind = action.kind();
        Self {
            metric,
            api_version: kind.group_version().to_string(),
            kind: kind.kind.clone(),
            how,
        }
    }

    pub(super) fn add(&self, metrics: &Registry, cluster: &str, succeeded: bool) {
        let result = if succeeded { "success" } else { "error" };
        let mut labels = vec![result, &self.api_version, &self.kind, cluster];
        let is_update = self.metric == Metric::UpdateResourceToCluster;
        labels.extend(self.how.map(|how| match is_update && !succeeded {
            true => "none",
            false => how,
        }));
        metrics.add(self.metric, &labels, 1.0);
    }
}

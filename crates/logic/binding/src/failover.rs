//! State of a copy that failed, handed to the copy that replaces it.

use std::collections::BTreeMap;

use api::work::v1alpha2::ResourceBindingSpec;

use crate::targets::{is_direct, targets};

/// The labels that the copy in `cluster` gets from the copy it replaces (`StatefulFailoverInjection`): when it is the
/// only one, the last move was a direct one, and it was not there before that.
#[must_use]
pub fn inherited_labels<'b>(
    binding: &'b ResourceBindingSpec,
    cluster: &str,
) -> Option<&'b BTreeMap<String, String>> {
    let task = binding.graceful_eviction_tasks.last()?;
    let is_only = targets(binding).len() == 1;
    let was_there = task
        .clusters_before_failover
        .iter()
        .any(|before| before == cluster);
    (is_only && is_direct(task.purge_mode) && !was_there && !task.preserved_label_state.is_empty())
        .then_some(&task.preserved_label_state)
}

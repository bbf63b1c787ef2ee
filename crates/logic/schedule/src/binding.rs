//! What a decision asks of a binding, namespaced or cluster-wide.

pub use api::twins::BindingView;

/// How urgent it is; the greater goes first.
#[must_use]
pub fn priority(binding: &BindingView<'_>) -> i32 {
    binding
        .spec
        .schedule_priority
        .as_ref()
        .map_or(0, |priority| priority.priority)
}

/// Whether somebody asked for a fresh decision since the last one.
///
/// A binding that was never scheduled has nothing to forget.
#[must_use]
pub fn is_fresh_wanted(binding: &BindingView<'_>) -> bool {
    let asked = binding.spec.reschedule_triggered_at;
    asked
        .zip(binding.status.last_scheduled_time)
        .is_some_and(|(asked, last)| asked > last)
}

/// Whether replicas are counted for it: sets of several components, and what has none, go whole.
#[must_use]
pub fn is_counted(binding: &BindingView<'_>) -> bool {
    let spec = binding.spec;
    (spec.replicas > 0 || spec.replica_requirements.is_some()) && spec.components.len() <= 1
}

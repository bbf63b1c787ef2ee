//! Tells the authors of policies which of their selectors can select nothing, because nobody serves the kind.
//!
//! Reads:  policies, and which kinds are served.
//! Writes: an event on the policy for each such selector, when the policy changes, when a kind it selects goes, and again
//!         as long as it is so: a policy has no status, and events are kept for an hour. Nothing is refused: the kind may
//!         come with its definition later.

use std::time::Duration;

use client::Change;
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use intent::{Action, EventKind, ObjectRef, Plan};
use object::{GroupVersionKind, Object, Value};
use policy::PolicyId;
use runtime::Spawner;

use super::id;
use crate::{change::is_more_than_status, templates::Serving, views::Views};

/// The reason of the event.
const REASON: &str = "SelectorMatchesNothing";
/// How long after it was told it is told again: often enough that there always is an event, which are kept for an hour.
const AGAIN: Duration = Duration::from_secs(30 * 60);

/// The controller.
#[derive(Debug)]
pub struct UnservedKinds {
    views: Views,
}

impl UnservedKinds {
    /// Starts the controller.
    pub fn start(views: &Views, spawner: &Spawner, cx: &Cx) {
        let controller = Self {
            views: views.clone(),
        };
        let controller = Controller::new("policies of unserved kinds", controller)
            .watch(&views.rulebook.namespaced, keys)
            .watch(&views.rulebook.cluster, keys);
        let (queue, rulebook) = (controller.queue(), views.rulebook.clone());
        views.templates.on_unserved(move |gone| {
            let policies = rulebook.namespaced.list().into_iter();
            for policy in policies.chain(rulebook.cluster.list()) {
                if selectors(&policy).any(|(_, kind)| gone.contains(&kind.group_kind())) {
                    queue.add(id(&policy.key()));
                }
            }
        });
        controller.run(spawner, cx.clone());
    }
}

impl Reconcile for UnservedKinds {
    type Key = PolicyId;

    async fn reconcile(&self, key: &PolicyId, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        if let Some(policy) = self.views.rulebook.object(key) {
            let plan = plan(&policy, |kind| self.views.templates.serving(kind));
            cx.carry_out(&plan).await?;
            if !plan.is_empty() {
                return Ok(Wake::After(AGAIN));
            }
        }
        Ok(Wake::OnChange)
    }
}

/// One event for each selector of a kind that nobody serves or that is never propagated.
#[must_use]
pub fn plan(policy: &Object, serving: impl Fn(&GroupVersionKind) -> Serving) -> Plan {
    let mut plan = Plan::default();
    if policy.is_terminating() {
        return plan;
    }
    for (position, kind) in selectors(policy) {
        let group = if kind.group.is_empty() {
            "the core group"
        } else {
            kind.group.as_str()
        };
        let problem = match serving(&kind) {
            Serving::Served | Serving::Unknown => continue,
            Serving::Exempt => format!("{} of {group} is never propagated", kind.kind),
            Serving::Unserved => format!("no kind {} is served in {group}", kind.kind),
        };
        let message = format!("spec.resourceSelectors[{position}]: {problem}");
        plan.push(Action::report(
            ObjectRef::of(policy),
            EventKind::Warning,
            REASON,
            message,
        ));
    }
    plan
}

/// The kinds that a policy selects, with the positions of their selectors.
fn selectors(policy: &Object) -> impl Iterator<Item = (usize, GroupVersionKind)> {
    let selectors = policy
        .at(&["spec", "resourceSelectors"])
        .and_then(Value::as_array);
    let positions = selectors.into_iter().flatten().enumerate();
    positions.filter_map(|(position, selector)| {
        let text = |field: &str| selector.get(field).and_then(Value::as_str);
        let version = text("apiVersion").unwrap_or_default();
        let kind = GroupVersionKind::from_api_version(version, text("kind").unwrap_or_default());
        Some((position, kind.ok()?))
    })
}

fn keys(change: &Change) -> Option<PolicyId> {
    let policy = change.after.as_ref()?;
    is_more_than_status(change.before.as_ref(), change.after.as_ref()).then(|| id(&policy.key()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::{one, told};

    #[test]
    fn a_selector_of_nothing_is_told_with_its_place() {
        let policy = one(
            "{kind: PropagationPolicy, metadata: {name: p, namespace: test}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: acme.io/v1, kind: Gadget}, {apiVersion: v1, kind: Event}, {kind: Odd, apiVersion: a/b/c}]}}",
        );
        let plan = plan(&policy, |kind| match kind.kind.as_str() {
            "Gadget" => Serving::Unserved,
            "Event" => Serving::Exempt,
            _ => Serving::Served,
        });
        assert_eq!(
            told(&plan),
            "report PropagationPolicy test/p Warning SelectorMatchesNothing: spec.resourceSelectors[1]: no kind Gadget is served in acme.io\n\
             report PropagationPolicy test/p Warning SelectorMatchesNothing: spec.resourceSelectors[2]: Event of the core group is never propagated"
        );
    }
}

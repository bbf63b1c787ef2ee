//! Lets a policy that is being deleted go once nothing carries its claim any more.
//!
//! Reads:  policies, and the claims on templates and bindings.
//! Writes: the finalizer of policies; takes the claim off bindings whose template is gone, which nobody else would.
//! Keeps:  no claim outlives its policy, and nothing else of what the policy brought about is touched.

pub mod plan;
#[cfg(test)]
mod tests;
pub mod unserved;

use std::sync::Arc;

use api::{
    policy::{ClusterPropagationPolicy, PropagationPolicy},
    well_known::finalizers,
};
use client::Change;
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{Object, ObjectKey, ResourceType};
use policy::{Holder, PolicyId};
use runtime::Spawner;

use self::plan::{Inputs, Tie, plan};
use crate::{bindings::template_of, kinds, views::Views};

/// The controller.
#[derive(Debug)]
pub struct PolicyReleaser {
    views: Views,
}

impl PolicyReleaser {
    /// Starts the controller.
    pub fn start(views: &Views, spawner: &Spawner, cx: &Cx) {
        let releaser = Self {
            views: views.clone(),
        };
        let book = views.rulebook.clone();
        let going = move |change: &Change| {
            let claims = book.claims();
            keys_of_holder(change, |id| {
                claims
                    .policy(id)
                    .is_some_and(|policy| policy.is_terminating)
            })
        };
        let controller = Controller::new("policies", releaser)
            .watch(&views.rulebook.namespaced, keys_of_policy)
            .watch(&views.rulebook.cluster, keys_of_policy)
            .watch(&views.bindings.namespaced, going.clone())
            .watch(&views.bindings.cluster, going.clone());
        let queue = controller.queue();
        views.templates.on_change(move |_, change| {
            if let Some(key) = going(change) {
                queue.add(key);
            }
        });
        controller.run(spawner, cx.clone());
    }

    fn tie(&self, binding: &Object) -> Tie {
        let template = template_of(binding).and_then(|key| self.views.templates.find(&key));
        let exemptions = self.views.templates.exemptions();
        match template {
            Some(found) if exemptions.check(&found.object).is_none() => Tie::Template,
            _ => Tie::Loose,
        }
    }
}

impl Reconcile for PolicyReleaser {
    type Key = PolicyId;

    async fn reconcile(&self, id: &PolicyId, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        let claims = self.views.rulebook.claims();
        let object = self.views.rulebook.object(id);
        let (Some(policy), Some(object)) = (claims.policy(id), object) else {
            return Ok(Wake::OnChange);
        };
        let views = &self.views;
        let exemptions = views.templates.exemptions();
        let templates = views.templates.are_all_in_view().then(|| {
            let held = views.templates.held_by(&policy.permanent_id);
            held.iter()
                .filter(|(_, template)| exemptions.check(template).is_none())
                .count()
        });
        let held: Vec<Arc<Object>> = views.bindings.held_by(&policy.permanent_id);
        let bindings: Vec<(&Object, Tie)> = held
            .iter()
            .map(|binding| (&**binding, self.tie(binding)))
            .collect();
        let (resource, finalizer) = kind_of(id);
        let plan = plan(&Inputs {
            resource: &resource,
            object: &object,
            finalizer,
            policy,
            templates,
            bindings: views.bindings.are_all_in_view().then_some(&bindings),
        });
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

/// A policy that is being deleted.
#[must_use]
pub fn keys_of_policy(change: &Change) -> Option<PolicyId> {
    let policy = change.after.as_ref()?;
    policy.is_terminating().then(|| id(&policy.key()))
}

/// The policy that was being deleted and whose claim something no longer carries.
#[must_use]
pub fn keys_of_holder(change: &Change, is_going: impl Fn(&PolicyId) -> bool) -> Option<PolicyId> {
    let before = Holder::of(change.before.as_ref()?)?;
    let after = change.after.as_ref().and_then(|after| Holder::of(after));
    (after.as_ref() != Some(&before) && is_going(&before.policy)).then_some(before.policy)
}

fn id(key: &ObjectKey) -> PolicyId {
    PolicyId {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    }
}

fn kind_of(id: &PolicyId) -> (ResourceType, &'static str) {
    if id.namespace.is_empty() {
        (
            kinds::of::<ClusterPropagationPolicy>(),
            finalizers::CLUSTER_PROPAGATION_POLICY,
        )
    } else {
        (
            kinds::of::<PropagationPolicy>(),
            finalizers::PROPAGATION_POLICY,
        )
    }
}

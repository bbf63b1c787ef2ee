//! Lets the autoscalers of members own replicas: their targets are marked, and templates follow what became of them.
//!
//! Reads:  HorizontalPodAutoscalers of the control plane, the templates they scale, bindings.
//! Writes: the label `resourcetemplate.karmada.io/retain-replicas` of templates, under a field manager of its own;
//!         `spec.replicas` of Deployments that carry it and are divided among clusters.
//! Keeps:  a label that somebody else put there stays; replicas are taken over only once every cluster has reported on the
//!         last decision.

mod keys;
pub mod plan;
#[cfg(test)]
mod tests;

use client::{Cache, Caches, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{ObjectKey, ResourceType};
use runtime::Spawner;

use crate::{
    templates::{TemplateKey, Templates},
    views::Views,
};

/// The index of autoscalers by what they scale.
const BY_TARGET: &str = "target";

/// Marks what autoscalers scale.
#[derive(Debug)]
pub struct Marker {
    autoscalers: Cache,
    templates: Templates,
}

/// Brings replicas of Deployments up to date with what members have.
#[derive(Debug)]
pub struct Syncer {
    views: Views,
}

impl Marker {
    /// Starts the controller.
    pub fn start(views: &Views, caches: &Caches, spawner: &Spawner, cx: &Cx) {
        let autoscalers = caches.follow(&autoscaler_kind(), Scope::all());
        autoscalers.index_by(BY_TARGET, |autoscaler| {
            let target = keys::target(autoscaler);
            target
                .map(|target| keys::entry(&target))
                .into_iter()
                .collect()
        });
        let marker = Self {
            autoscalers: autoscalers.clone(),
            templates: views.templates.clone(),
        };
        let controller = Controller::new("hpaScaleTargetMarker", marker)
            .watch(&autoscalers, keys::of_autoscaler);
        let queue = controller.queue();
        views.templates.on_change(move |kind, change| {
            if let Some(key) = keys::of_target(kind, change, |entry| {
                !autoscalers.indexed(BY_TARGET, entry).is_empty()
            }) {
                queue.add(key);
            }
        });
        controller.run(spawner, cx.clone());
    }
}

impl Reconcile for Marker {
    type Key = TemplateKey;

    async fn reconcile(&self, key: &TemplateKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.templates.in_view().await;
        let Some(target) = self.templates.find(key) else {
            return Ok(Wake::OnChange); // Marked when it comes.
        };
        let autoscalers = self.autoscalers.indexed(BY_TARGET, &keys::entry(key));
        let is_scaled = autoscalers
            .iter()
            .any(|autoscaler| !autoscaler.is_terminating() && plan::is_propagated(autoscaler));
        let plan = plan::mark(&target.resource, &target.object, is_scaled);
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

impl Syncer {
    /// Starts the controller.
    pub fn start(views: &Views, spawner: &Spawner, cx: &Cx) {
        let syncer = Self {
            views: views.clone(),
        };
        let controller = Controller::new("deploymentReplicasSyncer", syncer)
            .watch(&views.bindings.namespaced, keys::of_binding);
        let queue = controller.queue();
        views.templates.on_change(move |kind, change| {
            if let Some(key) = keys::of_deployment(kind, change) {
                queue.add(key);
            }
        });
        controller.run(spawner, cx.clone());
    }
}

impl Reconcile for Syncer {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        let template = TemplateKey {
            kind: keys::deployment(),
            key: key.clone(),
        };
        let Some(found) = self.views.templates.find(&template) else {
            return Ok(Wake::OnChange);
        };
        let bindings = self.views.bindings.of_template(&template);
        let Some(binding) = bindings.first() else {
            return Ok(Wake::OnChange);
        };
        let plan = plan::follow(&found.resource, &found.object, binding);
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

fn autoscaler_kind() -> ResourceType {
    ResourceType::namespaced(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    )
}

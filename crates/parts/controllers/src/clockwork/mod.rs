//! Scales by the clock, as CronFederatedHPAs say.
//!
//! Reads:  CronFederatedHPAs, and what they scale: FederatedHPAs and templates.
//! Writes: the bounds of FederatedHPAs; `spec.replicas` of other targets by way of their scale; the status of
//!         CronFederatedHPAs.
//! Keeps:  a rule acts once for each of its times; a time that passed while nobody looked is left out.

pub mod plan;
#[cfg(test)]
mod tests;

use api::{
    autoscaling::{CronFederatedHPA, FederatedHPA},
    read::read,
};
use client::{Cache, Caches, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{GroupKind, ObjectKey};
use runtime::Spawner;
use telemetry::chain;

use self::plan::{Run, Target};
use crate::{
    change::is_more_than_status,
    kinds,
    templates::{TemplateKey, Templates},
};

/// The controller.
#[derive(Debug)]
pub struct Clockwork {
    crons: Cache,
    autoscalers: Cache,
    templates: Templates,
}

impl Clockwork {
    /// Starts the controller.
    pub fn start(templates: &Templates, caches: &Caches, spawner: &Spawner, cx: &Cx) {
        let crons = caches.follow(&kinds::of::<CronFederatedHPA>(), Scope::all());
        let autoscalers = caches.follow(&kinds::of::<FederatedHPA>(), Scope::all());
        let clockwork = Self {
            crons: crons.clone(),
            autoscalers: autoscalers.clone(),
            templates: templates.clone(),
        };
        Controller::new("cronFederatedHorizontalPodAutoscaler", clockwork)
            .needs(&autoscalers)
            .watch(&crons, |change| {
                is_more_than_status(change.before.as_ref(), change.after.as_ref())
                    .then(|| change.key())
            })
            .run(spawner, cx.clone());
    }

    /// Does what a rule that is due says; why not, if it could not be done.
    async fn run(
        &self,
        cron: &CronFederatedHPA,
        run: &plan::Due<'_>,
        cx: &Cx,
    ) -> Result<(), String> {
        let reference = &cron.spec.scale_target_ref;
        let group = match reference.api_version.split_once('/') {
            Some((group, _)) => group,
            None => "",
        };
        let key = ObjectKey::namespaced(cron.metadata.namespace.as_str(), reference.name.as_str());
        let is_ours = group == kinds::of::<FederatedHPA>().kind.group;
        let (autoscaler, template);
        let target = if is_ours && reference.kind == "FederatedHPA" {
            autoscaler = self.autoscalers.get(&key);
            autoscaler.as_deref().map(Target::Autoscaler)
        } else if is_ours {
            return Err(plan::unsupported(reference));
        } else {
            let kind = GroupKind::new(group, reference.kind.as_str());
            template = self.templates.find(&TemplateKey { kind, key });
            template.as_ref().map(|found| Target::Template {
                resource: &found.resource,
                object: &found.object,
            })
        };
        let Some(target) = target else {
            return Err(plan::missing(reference));
        };
        let plan = plan::scale(run.rule, &target);
        let done = cx.carry_out(&plan).await;
        done.map_err(|error| chain(&error).to_string())
    }
}

impl Reconcile for Clockwork {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.templates.synced().await;
        let Some(object) = self.crons.get(key) else {
            return Ok(Wake::OnChange);
        };
        if object.is_terminating() {
            return Ok(Wake::OnChange);
        }
        let cron: CronFederatedHPA =
            read(&object).map_err(|error| ReconcileError::Terminal(error.to_string()))?;
        let now = cx.now();
        let mut runs = Vec::new();
        for due in plan::due(&cron, now) {
            let outcome = self.run(&cron, &due, cx).await;
            runs.push(Run { due, outcome });
        }
        let plan = plan::tell(&object, &cron, &runs, now);
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

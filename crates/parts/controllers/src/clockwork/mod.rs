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
    views::UNTIL_IN_VIEW,
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

    /// Whether what is to be scaled may be there although it is not in view.
    fn is_unseen(&self, cron: &CronFederatedHPA) -> bool {
        let (group, key) = target(cron);
        let kind = GroupKind::new(group, cron.spec.scale_target_ref.kind.as_str());
        self.templates.is_unseen(&TemplateKey { kind, key })
    }

    /// Does what a rule that is due says; why not, if it could not be done.
    async fn run(
        &self,
        cron: &CronFederatedHPA,
        run: &plan::Due<'_>,
        cx: &Cx,
    ) -> Result<(), String> {
        let reference = &cron.spec.scale_target_ref;
        let (group, key) = target(cron);
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

/// The group and the name of what is to be scaled.
fn target(cron: &CronFederatedHPA) -> (&str, ObjectKey) {
    let reference = &cron.spec.scale_target_ref;
    let version = reference.api_version.as_str();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let namespace = cron.metadata.namespace.as_str();
    (
        group,
        ObjectKey::namespaced(namespace, reference.name.as_str()),
    )
}

impl Reconcile for Clockwork {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.templates.in_view().await;
        let Some(object) = self.crons.get(key) else {
            return Ok(Wake::OnChange);
        };
        if object.is_terminating() {
            return Ok(Wake::OnChange);
        }
        let cron: CronFederatedHPA =
            read(&object).map_err(|error| ReconcileError::Terminal(error.to_string()))?;
        let now = cx.now();
        let due = plan::due(&cron, now);
        if !due.is_empty() && self.is_unseen(&cron) {
            return Ok(UNTIL_IN_VIEW);
        }
        let mut runs = Vec::new();
        for due in due {
            let outcome = self.run(&cron, &due, cx).await;
            runs.push(Run { due, outcome });
        }
        let plan = plan::tell(&object, &cron, &runs, now);
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

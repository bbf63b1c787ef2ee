//! Decides which policy a template belongs to, and keeps its binding saying what that policy says.
//!
//! Reads:  all templates, the policies, the names of override policies, bindings, priority classes; asks the interpreter
//!         what a template needs.
//! Writes: the claim on templates (labels and annotations of the policy, the note of a lazy one); the metadata and the
//!         spec of bindings, but for what the scheduler, evictions and dependents own; deletes the binding of a template
//!         that is gone; the bindings' condition `PolicyApplied` once a change of a template could not be taken up.
//! Keeps:  a template has at most one claim, and its binding carries the same one.

mod figures;
pub mod keys;
pub mod plan;
mod rivals;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use api::well_known::events::template::{
    APPLY_POLICY_FAILED, GET_COMPONENTS_FAILED, GET_REPLICAS_FAILED,
};
use binding::{Lookups, terms};
use client::{Cache, Caches, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use intent::Plan;
use interpret::{InterpretError, Operation};
use object::{Object, ObjectKey, ResourceType};
use policy::{Decision, Inputs, Outcome, Policy, Preemption, decide};
use runtime::Spawner;
use telemetry::chain;
use telemetry::metrics::Metric;
use tokio::time::Instant;

use self::{figures::Bearing, rivals::Rivals};
use crate::{
    answers::{Answers, IN_THE_BACKGROUND, unanswered},
    bindings::template_of,
    setback::Setback,
    templates::{Absence, Found, TemplateKey},
    views::{UNTIL_IN_VIEW, Views},
};

/// What is switched on or off.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether policies may take templates over (`PropagationPolicyPreemption`).
    pub preemption: Preemption,
    /// Whether priority classes are looked up (`PriorityBasedScheduling`).
    pub priorities: bool,
    /// Whether groups of workloads are heeded (`WorkloadAffinity`).
    pub workload_groups: bool,
    /// How many templates are looked at at once.
    pub workers: usize,
}

/// The controller.
#[derive(Debug)]
pub struct Claims {
    views: Views,
    answers: Answers,
    options: Options,
    priority_classes: Cache,
    /// Templates that could not be interpreted. Other rules may be able to, and where there is no binding nothing else
    /// would have them looked at again.
    unanswered: Arc<Mutex<BTreeSet<TemplateKey>>>,
    rivals: Arc<Rivals>,
}

impl Claims {
    /// Starts the controller.
    pub fn start(
        views: &Views,
        answers: &Answers,
        options: Options,
        caches: &Caches,
        spawner: &Spawner,
        cx: &Cx,
    ) {
        let priority_classes = caches.follow(&priority_class_kind(), Scope::all());
        let claims = Self {
            views: views.clone(),
            answers: answers.clone(),
            options,
            priority_classes: priority_classes.clone(),
            unanswered: Arc::default(),
            rivals: Arc::default(),
        };
        let rivals = Arc::clone(&claims.rivals);
        let unanswered = Arc::clone(&claims.unanswered);
        let (bindings, templates) = (&views.bindings, &views.templates);
        let of_binding = |templates: &crate::templates::Templates| {
            let (templates, rivals) = (templates.clone(), Arc::clone(&rivals));
            move |change: &client::Change| {
                let mut keys = keys::of_binding(change, |kind| templates.kinds_spelled(kind));
                if change.after.is_none() {
                    keys.extend(rivals.of(&change.key()));
                }
                keys
            }
        };
        let rules = views.clone();
        let controller = Controller::new("claim", claims)
            .urgent()
            .workers(options.workers)
            .watch(&bindings.namespaced, of_binding(templates))
            .watch(&bindings.cluster, of_binding(templates))
            .watch(&priority_classes, move |change| {
                let name = change.key().name;
                let policies = rules.rulebook.claims();
                keys::of_reach(&keys::of_priority_class(&policies, &name), &rules.templates)
            });
        let queue = controller.queue();
        views.templates.on_change(move |kind, change| {
            if let Some(key) = keys::of_template(kind, change) {
                queue.add(key);
            }
        });
        let queue = controller.queue();
        let again = move |template: &TemplateKey| queue.add(template.clone());
        views.templates.on_other_versions(again);
        let (queue, templates) = (controller.queue(), views.templates.clone());
        let rulebook = views.rulebook.clone();
        views.rulebook.on_amendment(move |amendment| {
            let reach = keys::of_amendment(amendment, || rulebook.claims());
            for key in keys::of_reach(&reach, &templates) {
                queue.add(key);
            }
        });
        let queue = controller.queue();
        answers.whenever_rules_change(spawner, move || {
            for key in lock(&unanswered).iter() {
                queue.add(key.clone());
            }
        });
        let queue = controller.queue();
        answers.on_new_rules(&views.bindings, spawner, move |binding| {
            if let Some(key) = template_of(binding) {
                queue.add_with(key, Instant::now(), IN_THE_BACKGROUND);
            }
        });
        controller.run(spawner, cx.clone());
    }

    /// A template in the version in which the policy means it that is to have it; the one the server likes best where
    /// none is. `None` while its kind is not in view in that version.
    fn as_meant(&self, key: &TemplateKey, liked_best: Found) -> Option<Found> {
        if liked_best.other_versions.is_empty() {
            return Some(liked_best);
        }
        let binding = self.views.bindings.get(&terms::key(&liked_best.object));
        let (policies, overrides) = self.rules();
        let inputs = self.inputs(&liked_best, binding.as_deref(), &policies, &overrides);
        let chosen = decide(&inputs).claim.chosen;
        let version = chosen
            .and_then(|chosen| chosen.policy.version_meant(&inputs.template))
            .filter(|version| *version != liked_best.resource.kind.version);
        let Some(version) = version else {
            return Some(liked_best);
        };
        let found = self.views.templates.find_in(version, key)?;
        // Of two that bore the same name one after the other, each view may have another.
        (found.object.uid() == liked_best.object.uid()).then_some(found)
    }

    /// The policies, and the names of those that override.
    fn rules(&self) -> (Arc<policy::Index>, Arc<BTreeSet<ObjectKey>>) {
        let rulebook = &self.views.rulebook;
        (rulebook.claims(), rulebook.override_keys())
    }

    fn inputs<'a>(
        &'a self,
        found: &'a Found,
        binding: Option<&'a Object>,
        policies: &'a policy::Index,
        overrides: &'a BTreeSet<ObjectKey>,
    ) -> Inputs<'a> {
        Inputs {
            template: found.as_template(),
            binding,
            policies,
            overrides,
            exemptions: self.views.templates.exemptions(),
            preemption: self.options.preemption,
        }
    }

    /// What is to be done for a template, and why it has to be looked at again if something could not be learnt.
    async fn decide(
        &self,
        key: &TemplateKey,
        found: &Found,
        binding: Option<&Object>,
        cx: &Cx,
    ) -> (Plan, Option<ReconcileError>, Bearing) {
        let template = &*found.object;
        let (policies, overrides) = self.rules();
        let begun = Instant::now();
        let decision = decide(&self.inputs(found, binding, &policies, &overrides));
        let matching = Metric::ResourceMatchPolicyDurationSeconds;
        cx.metrics.observe(matching, &[], begun.elapsed());
        let mut again = None;
        let lookups = self.look_up(template, &decision, &mut again).await;
        if lookups.is_err() {
            lock(&self.unanswered).insert(key.clone());
        } else {
            lock(&self.unanswered).remove(key);
        }
        let is_another = |binding: &Object| terms::check_owner(binding, template).is_err();
        let is_rival = binding.is_some_and(is_another);
        self.rivals.note(key, is_rival);
        let mut plan = plan::plan(&plan::Inputs {
            resource: &found.resource,
            template,
            binding,
            decision: &decision,
            lookups: lookups.as_ref(),
            now: cx.now(),
        });
        if is_rival && self.views.bindings.get(&terms::key(template)).is_none() {
            // It went before it was known that somebody waits for that.
            plan.wake = UNTIL_IN_VIEW;
        }
        (plan, again, Bearing::of(&decision, lookups.is_ok()))
    }

    /// What the binding needs beside the template and the policy.
    async fn look_up(
        &self,
        template: &Object,
        decision: &Decision<'_>,
        again: &mut Option<ReconcileError>,
    ) -> Result<Lookups, Setback> {
        let Outcome::Applied(policy) = &decision.outcome else {
            return Ok(Lookups::default());
        };
        let needs = self.answers.needs(template).await.map_err(|error| {
            let failure = failure(&error);
            *again = Some(unanswered(template, error));
            failure
        })?;
        Ok(Lookups {
            needs,
            priority: self.priority(policy)?,
            workload_groups: self.options.workload_groups,
        })
    }

    fn priority(&self, policy: &Policy) -> Result<Option<i32>, Setback> {
        let Some(priority) = &policy.spec.schedule_priority else {
            return Ok(None);
        };
        if !self.options.priorities {
            return Ok(None);
        }
        let name = priority.priority_class_name.as_str();
        let class = self.priority_classes.get(&ObjectKey::cluster(name));
        let value = class
            .and_then(|class| class.integer_at(&["value"]))
            .and_then(|value| i32::try_from(value).ok());
        match value {
            Some(value) => Ok(Some(value)),
            None => Err(Setback {
                reason: APPLY_POLICY_FAILED,
                message: format!("the priority class {name:?} does not exist"),
            }),
        }
    }

    /// The plan for the bindings of a template that is not found.
    async fn plan_gone(&self, key: &TemplateKey, cx: &Cx) -> Result<Plan, ReconcileError> {
        let mut plan = Plan::default();
        let templates = &self.views.templates;
        for binding in self.views.bindings.of_template(key) {
            let mut absence = templates.absence(key);
            if let (Absence::Gone, Some(owner)) = (absence, terms::controller(&binding))
                && !templates.is_gone(key, &owner.uid, &cx.client).await?
            {
                // It came back, and is about to be seen.
                absence = Absence::Unseen;
            }
            plan.merge(plan::plan_gone(&binding, absence));
        }
        Ok(plan)
    }
}

impl Reconcile for Claims {
    type Key = TemplateKey;

    async fn reconcile(&self, key: &TemplateKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        let begun = Instant::now();
        let template = match self.views.templates.find(key) {
            Some(liked_best) => match self.as_meant(key, liked_best) {
                Some(found) => Some(found),
                // It is about to be seen.
                None => return Ok(Wake::OnChange),
            },
            None => None,
        };
        let (plan, again, bearing) = match &template {
            Some(found) => {
                let binding = self.views.bindings.get(&terms::key(&found.object));
                let binding = binding.as_deref();
                let is_in_question =
                    binding.is_some_and(|binding| plan::is_in_question(&found.object, binding));
                if is_in_question && !found.is_there_to_stay(&cx.client).await? {
                    // What became of the template is about to be seen.
                    return Ok(Wake::OnChange);
                }
                self.decide(key, found, binding, cx).await
            }
            None => {
                lock(&self.unanswered).remove(key);
                self.rivals.note(key, false);
                (self.plan_gone(key, cx).await?, None, Bearing::default())
            }
        };
        let carried = cx.carry_out(&plan).await;
        bearing.count(&cx.metrics, begun.elapsed(), carried.is_ok());
        if let (Err(error), Some(found)) = (&carried, &template)
            && let Some(refusal) = error
                .source
                .refusal()
                .filter(|_| error.source.is_forbidden() || error.source.is_terminal())
        {
            // What admission has against the binding is for the author of the template to know.
            let plan = plan::plan_refused(&found.object, &refusal.message);
            cx.carry_out(&plan).await?;
        }
        carried?;
        again.map_or(Ok(plan.wake), Err)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind it is whole between any two lines.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failure(error: &InterpretError) -> Setback {
    let is_about_components = matches!(
        error,
        InterpretError::Rule { operation, .. }
        | InterpretError::NoRule { operation, .. }
        | InterpretError::Webhook { operation, .. } if *operation == Operation::InterpretComponent
    );
    Setback {
        reason: if is_about_components {
            GET_COMPONENTS_FAILED
        } else {
            GET_REPLICAS_FAILED
        },
        message: chain(error).to_string(),
    }
}

fn priority_class_kind() -> ResourceType {
    ResourceType::cluster(
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
    )
}

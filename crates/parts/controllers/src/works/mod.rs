//! Turns a scheduled binding into one `Work` for each target cluster.
//!
//! Reads:  bindings, their templates, the override policies, clusters, works; asks the interpreter for templates with other
//!         numbers of replicas, and the server itself for a binding and its works before a Job's completions are given away.
//! Writes: metadata and spec of works made from bindings, and deletes them; the binding's finalizer, and its condition
//!         `Rendered` once a cluster cannot get what it should.
//! Keeps:  exactly one work for each target, none for any other cluster; a work that is there says what its binding speaks
//!         of, not what the author has changed since and the binding does not know yet. No cluster runs more or less because
//!         its share is not decided yet.

mod completions;
pub mod keys;
pub mod leaving;
pub mod plan;
#[cfg(test)]
mod tests;
mod undecided;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use api::work::v1alpha1::Work;
use binding::{Needs, targets, work};
use client::CallError;
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use futures_util::future::join_all;
use object::{Object, ObjectKey};
use overrides::Template;
use policy::Holder;
use runtime::Spawner;
use telemetry::chain;
use telemetry::metrics::Metric;
use tokio::time::Instant;

use self::{
    completions::are_to_be_given,
    plan::{Decision, Inputs, Works},
    undecided::Undecided,
};
use crate::{
    answers::{Answers, IN_THE_BACKGROUND, unanswered},
    binding_view::{self, Binding},
    bindings::{binding_of, misplacement, template_of},
    kinds,
    rulebook::Amendment,
    templates::Found,
    views::{UNTIL_IN_VIEW, Views, ending},
};

/// What is switched on or off.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether a copy that replaces a failed one gets state from it (`StatefulFailoverInjection`).
    pub hands_state_over: bool,
    /// How many bindings are looked at at once.
    pub workers: usize,
}

/// The controller.
#[derive(Debug)]
pub struct WorkMaker {
    views: Views,
    answers: Answers,
    options: Options,
}

impl WorkMaker {
    /// Starts the controller.
    pub fn start(views: &Views, answers: &Answers, options: Options, spawner: &Spawner, cx: &Cx) {
        let maker = Self {
            views: views.clone(),
            answers: answers.clone(),
            options,
        };
        let (bindings, wanting) = (views.bindings.clone(), views.bindings.clone());
        let controller = Controller::new("binding", maker)
            .urgent()
            .workers(options.workers)
            .telling(|metrics, _, took, succeeded| {
                let result = if succeeded { "success" } else { "error" };
                metrics.observe(Metric::BindingSyncWorkDurationSeconds, &[result], took);
            })
            .watch(&views.bindings.namespaced, keys::of_binding)
            .watch(&views.bindings.cluster, keys::of_binding)
            .watch(&views.bindings.works, move |change| {
                keys::of_work(change, |binding, cluster| wanting.wants(binding, cluster))
            })
            .watch(&views.clusters, move |change| {
                keys::of_cluster(change, |cluster| bindings.on_cluster(cluster))
            });
        let (queue, bindings) = (controller.queue(), views.bindings.clone());
        views.templates.on_change(move |kind, change| {
            for key in
                keys::of_template(kind, change, |template| bindings.keys_of_template(template))
            {
                queue.add(key);
            }
        });
        let (queue, bindings) = (controller.queue(), views.bindings.clone());
        views.templates.on_other_versions(move |template| {
            for key in bindings.keys_of_template(template) {
                queue.add(key);
            }
        });
        let (queue, everything) = (controller.queue(), views.clone());
        views.rulebook.on_amendment(move |amendment| {
            let Amendment::Overrides(before, after) = amendment else {
                return;
            };
            for binding in everything.bindings.all() {
                let template = template_of(&binding);
                let found = template.and_then(|key| everything.templates.find(&key));
                if found.is_some_and(|found| {
                    keys::is_overridden(before.as_deref(), after.as_deref(), &found)
                }) {
                    queue.add(binding.key());
                }
            }
        });
        let queue = controller.queue();
        answers.on_new_rules(&views.bindings, spawner, move |binding| {
            queue.add_with(binding.key(), Instant::now(), IN_THE_BACKGROUND);
        });
        controller.run(spawner, cx.clone());
    }

    /// What is to be done for a binding, and why it has to be looked at again if something could not be learnt.
    async fn decide(
        &self,
        key: &ObjectKey,
        object: &Object,
        cx: &Cx,
    ) -> Result<(Decision, Option<ReconcileError>), ReconcileError> {
        let binding =
            Binding::read(object).map_err(|error| ReconcileError::Terminal(error.to_string()))?;
        let template = self.template(object, &binding);
        let (undecided, unlearnt) = self.undecided(key, &binding, template.as_ref()).await;
        let (revised, unrevised) = self.revise(&binding, template.as_ref(), &undecided).await;
        let again = unlearnt.or(unrevised);
        let goals = targets::targets(&binding.spec);
        let names = goals.iter().map(|target| target.name.as_str());
        let clusters = self.views.members.named(names.clone());
        let (mut owned, view) = self.views.bindings.works_of(key);
        if let Some(template) = &template
            && are_to_be_given(
                &template.object,
                &binding.spec,
                owned.iter().map(Arc::as_ref),
            )
        {
            if !is_as_seen(object, cx).await? {
                let mut decision = Decision::default();
                decision.news.wake = UNTIL_IN_VIEW;
                return Ok((decision, None));
            }
            owned = ask_for_works(key, template, names.clone(), owned, cx).await?;
        }
        let namesakes = self.namesakes(key, template.as_ref(), names);
        let overrides = self.views.rulebook.overrides();
        let templates = &self.views.templates;
        let misplacement = misplacement(object, |kind| templates.is_cluster_wide(kind));
        let decision = plan::plan(&Inputs {
            binding: object,
            view: binding.view(),
            policy_preserves: self.policy_preserves(object),
            misplacement: misplacement.as_deref(),
            template: template.as_ref().map(|found| Template {
                object: &found.object,
                other_versions: &found.other_versions,
            }),
            revised: &revised,
            undecided: &undecided,
            overrides: &overrides,
            clusters: &clusters,
            works: Works {
                owned: owned.iter().map(Arc::as_ref).collect(),
                namesakes: namesakes.iter().map(Arc::as_ref).collect(),
                are_all: view.is_some(),
            },
            hands_state_over: self.options.hands_state_over,
            now: cx.now(),
        });
        Ok((decision, again))
    }

    /// The binding's own template; one of the same name that came later is another's.
    fn template(&self, object: &Object, binding: &Binding) -> Option<Found> {
        let found = self.views.templates.of_binding(object)?;
        let uid = binding.spec.resource.uid.as_str();
        (uid.is_empty() || uid == found.object.uid()).then_some(found)
    }

    /// Whether the policy that holds a binding says that what it leaves stays. What a lazy one says is not meant for what
    /// it holds already.
    fn policy_preserves(&self, binding: &Object) -> bool {
        let claims = self.views.rulebook.claims();
        let holder = Holder::of(binding);
        let policy = holder.and_then(|holder| {
            let policy = claims.policy(&holder.policy)?;
            (holder.is(policy) && !policy.is_lazy()).then_some(policy)
        });
        policy.is_some_and(|policy| policy.spec.preserve_resources_on_deletion == Some(true))
    }

    /// The clusters whose shares of the replicas are still to be decided, with what they have by now.
    async fn undecided(
        &self,
        key: &ObjectKey,
        binding: &Binding,
        template: Option<&Found>,
    ) -> (Undecided, Option<ReconcileError>) {
        let (mut undecided, mut again) = (Undecided::new(), None);
        let clusters = undecided::clusters(&binding.view());
        // Where no number is written, none can be wrong.
        let is_revised = template.is_some_and(|found| self.answers.revises(&found.object));
        if clusters.is_empty() || !is_revised {
            return (undecided, again);
        }
        let (owned, _) = self.views.bindings.works_of(key);
        let owned: Vec<&Object> = owned.iter().map(Arc::as_ref).collect();
        for cluster in clusters {
            let mut replicas = None;
            if let Some(manifest) = undecided::manifest(&owned, cluster) {
                match self.answers.needs(&manifest).await {
                    Ok(Needs::Replicas { count, .. }) => replicas = Some(count),
                    Ok(Needs::Unknown | Needs::Components(_)) => {}
                    Err(error) => drop(again.get_or_insert(unanswered(&manifest, error))),
                }
            }
            undecided.insert(cluster.to_owned(), replicas);
        }
        (undecided, again)
    }

    /// The template with each number of replicas that a target has.
    async fn revise(
        &self,
        binding: &Binding,
        template: Option<&Found>,
        undecided: &Undecided,
    ) -> (
        BTreeMap<i32, Result<Object, String>>,
        Option<ReconcileError>,
    ) {
        let (mut revised, mut again) = (BTreeMap::new(), None);
        let Some(template) = template.filter(|_| binding.spec.is_workload()) else {
            return (revised, again);
        };
        let numbers: BTreeSet<i32> = targets::targets(&binding.spec)
            .into_iter()
            .filter_map(|target| undecided::replicas(undecided, target))
            .collect();
        for replicas in numbers {
            match self.answers.revise(&template.object, replicas).await {
                Ok(None) => {}
                Ok(Some(object)) => drop(revised.insert(replicas, Ok(object))),
                Err(error) => {
                    revised.insert(replicas, Err(chain(&error).to_string()));
                    again.get_or_insert(unanswered(&template.object, error));
                }
            }
        }
        (revised, again)
    }

    /// The works of others that have the names of works this binding wants.
    fn namesakes<'n>(
        &self,
        key: &ObjectKey,
        template: Option<&Found>,
        clusters: impl Iterator<Item = &'n str>,
    ) -> Vec<Arc<Object>> {
        let Some(template) = template else {
            return Vec::new();
        };
        clusters
            .filter_map(|cluster| {
                let name = work::key(&template.object, cluster);
                self.views.bindings.works.get(&name)
            })
            .filter(|work| binding_of(work).as_ref() != Some(key))
            .collect()
    }

    fn decide_gone(&self, key: &ObjectKey) -> Decision {
        let mut decision = Decision::default();
        if self.views.bindings.is_gone(key) {
            let (owned, view) = self.views.bindings.works_of(key);
            let works = Works {
                owned: owned.iter().map(Arc::as_ref).collect(),
                namesakes: Vec::new(),
                are_all: view.is_some(),
            };
            let is_undecided = !works.are_all;
            decision.plans.extend(leaving::plan_gone(key, &works));
            if is_undecided {
                decision.news.wake = UNTIL_IN_VIEW;
            }
        } else {
            decision.news.wake = UNTIL_IN_VIEW;
        }
        decision
    }
}

/// Asks the server itself whether a binding says what it says in view. If not, what became of it is about to be seen.
async fn is_as_seen(binding: &Object, cx: &Cx) -> Result<bool, CallError> {
    let resource = binding_view::resource(binding.namespace());
    match cx.client.get_metadata(&resource, &binding.key()).await {
        Ok(now) => Ok(now.uid() == binding.uid() && now.generation() == binding.generation()),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// The works of a binding: those of the clusters as the server itself has them, and of those in view the others.
async fn ask_for_works(
    key: &ObjectKey,
    template: &Found,
    clusters: impl Iterator<Item = &str>,
    mut seen: Vec<Arc<Object>>,
    cx: &Cx,
) -> Result<Vec<Arc<Object>>, CallError> {
    let resource = kinds::of::<Work>();
    let names: BTreeSet<ObjectKey> = clusters
        .map(|cluster| work::key(&template.object, cluster))
        .collect();
    let asking = names.iter().map(|name| cx.client.get(&resource, name));
    let answers = join_all(asking).await;
    seen.retain(|work| !names.contains(&work.key()));
    for answer in answers {
        match answer {
            Ok(work) if binding_of(&work).as_ref() == Some(key) => seen.push(Arc::new(work)),
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(seen)
}

impl Reconcile for WorkMaker {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        let binding = self.views.bindings.get(key);
        let (decision, again) = match &binding {
            Some(binding) => self.decide(key, binding, cx).await?,
            None => (self.decide_gone(key), None),
        };
        let carried = join_all(decision.plans.iter().map(|plan| cx.carry_out(plan))).await;
        // All have been tried; the first that failed is told.
        if let Some(error) = carried.into_iter().find_map(Result::err) {
            if let Some(binding) = binding.as_deref().filter(|_| !error.is_stale()) {
                let failed = plan::plan_failed(binding, &chain(&error).to_string());
                cx.carry_out(&failed).await?;
            }
            return ending(decision.news.wake, Some(error.into()));
        }
        cx.carry_out(&decision.news).await?;
        // What was refused stays refused until somebody changes something, and then the binding is looked at again.
        let refused = again.or(decision.refusal.map(ReconcileError::Terminal));
        ending(decision.news.wake, refused)
    }
}

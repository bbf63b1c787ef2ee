//! Which works are made, changed and deleted for a binding.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error as _,
    sync::Arc,
};

use api::{
    cluster::Cluster,
    names,
    policy::{ClusterOverridePolicy, OverridePolicy},
    twins::BindingView,
    well_known::{conditions, events},
    work::v1alpha1::Work,
    work::v1alpha2::TargetCluster,
};
use binding::{Draft, completions, failover, targets, work, work::WorkError};
use intent::{Action, EventKind, ObjectRef, Part, Plan};
use object::{Object, ObjectKey, Value, patch, time::Time};
use overrides::{ClusterFacts, OverrideError, Overrides, PolicyId, Template};
use policy::activation::speaks_of;
use schedule::trigger::awaits_decision;

use crate::{
    kinds,
    setback::{self, Setback},
    views::UNTIL_IN_VIEW,
    works::{
        completions::Completions,
        leaving,
        undecided::{self, Undecided},
    },
};

/// How many clusters a condition tells of; events tell of all.
const NAMED_CLUSTERS: usize = 5;

/// Everything the decision may look at.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// The binding.
    pub binding: &'a Object,
    /// The same, read.
    pub view: BindingView<'a>,
    /// Whether the policy that holds the binding says by now that what it leaves stays, be it that the binding does not
    /// say so yet.
    pub policy_preserves: bool,
    /// Why the binding cannot be for what it names.
    pub misplacement: Option<&'a str>,
    /// The template; `None` once its author has deleted it.
    pub template: Option<Template<'a>>,
    /// The template with the replicas of each target that needs a revision, as the interpreter made it.
    pub revised: &'a BTreeMap<i32, Result<Object, String>>,
    /// The clusters whose shares nobody has decided about yet, with the replicas that they go on with; `None` leaves a
    /// cluster alone.
    pub undecided: &'a Undecided,
    /// All override policies.
    pub overrides: &'a Overrides,
    /// The clusters there are, of those the binding names.
    pub clusters: &'a BTreeMap<String, Arc<Cluster>>,
    /// The works there are.
    pub works: Works<'a>,
    /// Whether labels of a copy that failed go to the copy that replaces it (`StatefulFailoverInjection`).
    pub hands_state_over: bool,
    /// Now.
    pub now: Time,
}

/// The works a decision knows of.
#[derive(Clone, Debug, Default)]
pub struct Works<'a> {
    /// Those that carry the binding's permanent id. Where completions of a Job are to be shared, those of its clusters as
    /// the server has them, and as they are in view elsewhere.
    pub owned: Vec<&'a Object>,
    /// Those of others that have the name of a work this binding wants.
    pub namesakes: Vec<&'a Object>,
    /// Whether these are all: only then may one be found to be too many.
    pub are_all: bool,
}

/// What is to be done: each plan whatever becomes of the others, and the last once all have succeeded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Deletions; and the writes for each cluster, so that one that cannot be reached holds no other back.
    pub plans: Vec<Plan>,
    /// What to tell when all of that is done.
    pub news: Plan,
    /// Which clusters do not get what they should until somebody changes something, and why.
    pub refusal: Option<String>,
}

/// A cluster that gets nothing, and why.
struct Refusal {
    reason: &'static str,
    message: String,
    /// The policy that is to blame, if one is.
    policy: Option<Box<ObjectRef>>,
    /// Whether it stays so until somebody changes something, and is not over by itself in a moment.
    lasts: bool,
}

/// A work as it should be.
struct Drafted<'w> {
    /// As it is, if it is there.
    existing: Option<&'w Object>,
    draft: Object,
    /// Whether override policies had a say in it.
    is_overridden: bool,
}

/// What is to be done for a binding.
#[must_use]
pub fn plan(inputs: &Inputs<'_>) -> Decision {
    let mut news = Plan::default();
    if !inputs.works.are_all {
        news.wake = UNTIL_IN_VIEW;
    }
    if inputs.binding.is_terminating() {
        return Decision {
            plans: leaving::release(inputs),
            news,
            ..Decision::default()
        };
    }
    if let Some(problem) = inputs.misplacement {
        return inputs.refuse_all(problem);
    }
    let mut decision = Decision {
        plans: leaving::remove_orphans(inputs),
        news,
        ..Decision::default()
    };
    let Some(template) = inputs.template else {
        return decision;
    };
    let is_spoken_of = speaks_of(inputs.binding, template.object);
    let mut written = 0_usize;
    let mut overridden: Vec<&str> = Vec::new();
    let mut is_whole = true;
    let mut refused: Vec<(&str, Refusal)> = Vec::new();
    let completions = inputs.completions(&template);
    for (target, share) in inputs.shares(completions.as_ref()) {
        let drafted = inputs.draft(&template, target, share);
        if !is_spoken_of && inputs.keeps(target, &drafted) {
            is_whole &= drafted.is_ok();
            continue;
        }
        let mut plan = Plan::default();
        let is_overridden = drafted.as_ref().is_ok_and(|draft| draft.is_overridden);
        match drafted.map(|drafted| write(drafted.existing, drafted.draft)) {
            Ok(None) => continue,
            Ok(Some(action)) => {
                written += 1;
                overridden.extend(is_overridden.then_some(target.name.as_str()));
                plan.push(action);
            }
            Err(refusal) => {
                is_whole = false;
                inputs.refuse(&mut plan, &template, target, &refusal);
                if refusal.lasts {
                    refused.push((&target.name, refusal));
                }
            }
        }
        decision.plans.push(plan);
    }
    let missing = completions.as_ref().and_then(Completions::missing);
    if let Some(missing) = &missing {
        is_whole = false;
        decision.plans.push(inputs.warn_of(&template, missing));
    }
    let setback = setback_of(&refused, missing);
    // Clusters that keep what they have say nothing about whether the rest can be rendered.
    if is_spoken_of || setback.is_some() || (written > 0 && is_whole) {
        let told = inputs.tell_rendered(setback.as_ref());
        decision.plans.extend(told);
    }
    decision.refusal = setback.map(|setback| setback.message);
    // Works of some clusters alone are no success.
    if written > 0 && is_whole {
        decision.news.push(Action::report(
            ObjectRef::of(template.object),
            EventKind::Normal,
            events::binding::SYNC_WORK_SUCCEED,
            format!("works of {} are up to date", inputs.view.key()),
        ));
    }
    let kept = completions.as_ref().and_then(Completions::kept);
    if let Some(kept) = kept.filter(|_| written > 0) {
        decision.news.push(Action::report(
            ObjectRef::of(template.object),
            EventKind::Normal,
            events::template::COMPLETIONS_KEPT,
            kept,
        ));
    }
    if !overridden.is_empty() {
        decision.news.push(Action::report(
            ObjectRef::of(template.object),
            EventKind::Progress,
            events::template::APPLY_OVERRIDE_POLICY_SUCCEED,
            format!("overridden for {}", overridden.join(", ")),
        ));
    }
    decision
}

/// What is told when works could not be written.
#[must_use]
pub fn plan_failed(binding: &Object, message: &str) -> Plan {
    let mut plan = Plan::default();
    plan.push(Action::report(
        ObjectRef::of(binding),
        EventKind::Warning,
        events::binding::SYNC_WORK_FAILED,
        message,
    ));
    plan
}

impl Inputs<'_> {
    /// Tells why nothing is made for the binding. Works that carry its name stay: they may have been made for the binding
    /// that what it names belongs to.
    fn refuse_all(&self, problem: &str) -> Decision {
        let mut told = Plan::default();
        told.problem(self.view.key().to_string(), problem);
        told.push(Action::report(
            ObjectRef::of(self.binding),
            EventKind::Warning,
            events::binding::SYNC_WORK_FAILED,
            problem,
        ));
        let setback = Setback {
            reason: events::binding::SYNC_WORK_FAILED,
            message: problem.to_owned(),
        };
        let mut plans = vec![told];
        plans.extend(self.tell_rendered(Some(&setback)));
        Decision {
            plans,
            refusal: Some(setback.message),
            ..Decision::default()
        }
    }

    /// How a Job's completions are shared; `None` where each cluster gets what the template says.
    fn completions(&self, template: &Template<'_>) -> Option<Completions<'_>> {
        let works = self.works.owned.iter().copied();
        Completions::of(template.object, self.view.spec, works)
    }

    /// The targets that get a work now, each with its share of a Job's completions if those are shared.
    fn shares(&self, completions: Option<&Completions<'_>>) -> Vec<(&TargetCluster, Option<i64>)> {
        let held_back = targets::held_back(self.view.spec, &self.clusters_with_work());
        let share = |cluster: &str| completions?.shares.get(cluster).copied();
        targets::targets(self.view.spec)
            .into_iter()
            .filter(|target| !held_back.contains(&target.name.as_str()))
            .filter(|target| undecided::replicas(self.undecided, target).is_some())
            .map(|target| (target, share(&target.name)))
            .collect()
    }

    /// The clusters that have a work of the binding, be it one that goes.
    fn clusters_with_work(&self) -> BTreeSet<&str> {
        let spaces = self.works.owned.iter().map(|work| work.namespace());
        spaces
            .filter_map(names::cluster_of_execution_space)
            .collect()
    }

    /// Whether a cluster keeps the work it has while nobody speaks for the template as it is now.
    fn keeps(&self, target: &TargetCluster, drafted: &Result<Drafted<'_>, Refusal>) -> bool {
        let held = live(&self.works.owned).find(|work| {
            names::cluster_of_execution_space(work.namespace()) == Some(target.name.as_str())
        });
        let draft = drafted.as_ref().ok().map(|drafted| &drafted.draft);
        let is_revised = self.revision(target).is_some();
        held.is_some_and(|held| work::is_kept(held, draft, is_revised))
    }

    /// The template with the replicas that a target gets now, if its kind needs a revision for that.
    fn revision(&self, target: &TargetCluster) -> Option<&Result<Object, String>> {
        let replicas = undecided::replicas(self.undecided, target)?;
        self.revised.get(&replicas)
    }

    /// The work for a target as it should be.
    fn draft(
        &self,
        template: &Template<'_>,
        target: &TargetCluster,
        share: Option<i64>,
    ) -> Result<Drafted<'_>, Refusal> {
        let Some(cluster) = self.clusters.get(&target.name) else {
            let message = "the cluster does not exist".to_owned();
            return Err(Refusal::passing(message));
        };
        let revised = match self.revision(target) {
            None => template.object,
            Some(Ok(revised)) => revised,
            Some(Err(message)) => return Err(Refusal::sync(message.clone())),
        };
        let shared = match share {
            None => None,
            Some(share) => Some(
                completions::with_completions(revised.clone(), share)
                    .map_err(|error| Refusal::sync(error.to_string()))?,
            ),
        };
        let rendered = overrides::render(
            self.overrides,
            &Template {
                object: shared.as_ref().unwrap_or(revised),
                other_versions: template.other_versions,
            },
            &ClusterFacts::from(&**cluster),
        )
        .map_err(|error| Refusal {
            reason: events::template::APPLY_OVERRIDE_POLICY_FAILED,
            message: sentence(&error),
            policy: self.reference(&error.policy).map(Box::new),
            lasts: true,
        })?;
        let key = work::key(&rendered.object, &target.name);
        let existing = self
            .works
            .owned
            .iter()
            .chain(&self.works.namesakes)
            .copied()
            .find(|work| work.namespace() == key.namespace && work.name() == key.name);
        let inherited_labels = self
            .hands_state_over
            .then(|| failover::inherited_labels(self.view.spec, &target.name))
            .flatten();
        let applied_overrides = rendered.annotations();
        let is_overridden = !applied_overrides.is_empty();
        let draft = binding::draft(Draft {
            binding: self.view,
            template: template.object,
            cluster: &target.name,
            share,
            applied_overrides,
            rendered: rendered.object,
            inherited_labels,
            // Read only where it matters: it is a document inside a text.
            awaits_decision: existing.is_some_and(work::holds_back) && awaits_decision(&self.view),
            existing,
        })
        .map_err(|error| match error {
            WorkError::Terminating(_) => Refusal::passing(error.to_string()),
            WorkError::Metadata { .. } => Refusal::sync(error.to_string()),
        })?;
        Ok(Drafted {
            existing,
            draft,
            is_overridden,
        })
    }

    fn refuse(
        &self,
        plan: &mut Plan,
        template: &Template<'_>,
        target: &TargetCluster,
        refusal: &Refusal,
    ) {
        let message = format!("{}: {}", target.name, refusal.message);
        plan.problem(&target.name, &refusal.message);
        for about in [template.object, self.binding] {
            plan.push(Action::report(
                ObjectRef::of(about),
                EventKind::Warning,
                refusal.reason,
                &message,
            ));
        }
        // Whoever wrote the policy may not be who wrote the template.
        if let Some(policy) = &refusal.policy {
            let about = format!("{} {}", template.object.kind(), template.object.key());
            plan.push(Action::report(
                ObjectRef::clone(policy),
                EventKind::Warning,
                refusal.reason,
                format!("{about} in {message}"),
            ));
        }
    }

    /// Tells of what the whole lacks, whichever cluster might have it.
    fn warn_of(&self, template: &Template<'_>, setback: &Setback) -> Plan {
        let mut plan = Plan::default();
        for about in [template.object, self.binding] {
            plan.push(Action::report(
                ObjectRef::of(about),
                EventKind::Warning,
                setback.reason,
                &setback.message,
            ));
        }
        plan
    }

    /// Keeps the condition that says whether every cluster gets what it should.
    fn tell_rendered(&self, setback: Option<&Setback>) -> Option<Plan> {
        let rendered = conditions::binding::RENDERED;
        let status = self.view.status;
        let action = setback::tell(self.binding, status, rendered, setback, self.now)?;
        let mut plan = Plan::default();
        plan.push(action);
        Some(plan)
    }

    /// The override policy of that name, as events name it.
    fn reference(&self, id: &PolicyId) -> Option<ObjectRef> {
        let policy = self.overrides.policy(id)?;
        let kind = if id.namespace.is_empty() {
            kinds::of::<ClusterOverridePolicy>().kind
        } else {
            kinds::of::<OverridePolicy>().kind
        };
        Some(ObjectRef {
            kind,
            key: ObjectKey::namespaced(&id.namespace, &id.name),
            uid: policy.uid.clone(),
            revision: String::new(),
        })
    }
}

impl Refusal {
    fn sync(message: String) -> Self {
        Self {
            reason: events::binding::SYNC_WORK_FAILED,
            message,
            policy: None,
            lasts: true,
        }
    }

    fn passing(message: String) -> Self {
        Self {
            lasts: false,
            ..Self::sync(message)
        }
    }
}

/// What clusters were refused, and what none of them has, in few words.
fn setback_of(refused: &[(&str, Refusal)], missing: Option<Setback>) -> Option<Setback> {
    let Some((_, first)) = refused.first() else {
        return missing;
    };
    let shown = refused.iter().take(NAMED_CLUSTERS);
    let mut messages: Vec<String> = shown
        .map(|(cluster, refusal)| format!("{cluster}: {}", refusal.message))
        .collect();
    if refused.len() > NAMED_CLUSTERS {
        let more = refused.len() - NAMED_CLUSTERS;
        messages.push(format!("and {more} more clusters"));
    }
    messages.extend(missing.map(|missing| missing.message));
    Some(Setback {
        reason: first.reason,
        message: messages.join("; "),
    })
}

/// What makes the draft of the existing work; `None` if they are the same.
fn write(existing: Option<&Object>, draft: Object) -> Option<Action> {
    let resource = kinds::of::<Work>();
    let Some(existing) = existing else {
        return Some(Action::Create {
            resource,
            object: draft,
        });
    };
    if *existing == draft {
        return None;
    }
    // A merge patch carries no null inside a list, which the pruned token of a service account is.
    if has_null(draft.at(&["spec", "workload", "manifests"])) {
        return Some(Action::Replace {
            resource,
            object: draft,
            part: Part::Object,
        });
    }
    let before = Value::Object(existing.fields().clone());
    let change = patch::diff(&before, &draft.into_value());
    // Members write the status of works all the time. What is ours is ours alone, so the revision need not match.
    Some(Action::Patch {
        resource,
        key: existing.key(),
        uid: Some(existing.uid().to_owned()),
        revision: None,
        patch: change,
        part: Part::Object,
    })
}

fn has_null(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Null) => true,
        Some(Value::Array(items)) => items.iter().any(|item| has_null(Some(item))),
        Some(Value::Object(fields)) => fields.values().any(|field| has_null(Some(field))),
        _ => false,
    }
}

pub(super) fn live<'w>(works: &[&'w Object]) -> impl Iterator<Item = &'w Object> {
    works.iter().copied().filter(|work| !work.is_terminating())
}

/// An error with its causes.
fn sentence(error: &OverrideError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

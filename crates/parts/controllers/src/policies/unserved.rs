//! Tells the authors of policies which of their selectors can select nothing: nobody serves the kind, or not in that
//! version, or it has no namespace and the policy or the selector has one, or that namespace or that one object is never
//! propagated. And which kinds cannot be listed, so that what is propagated of them waits, or the end of a policy does.
//!
//! Reads:  policies of all kinds, which kinds are served and listed, and what operators left out.
//! Writes: an event on the policy for each such selector, when the policy changes, when a kind it selects goes, and again
//!         as long as it is so: a policy has no status, and events are kept for an hour. Nothing is refused: the kind may
//!         come with its definition later, and what may be over in a moment is told only if it is not.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use client::{Cache, Change};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use intent::{Action, EventKind, ObjectRef, Plan};
use object::{GroupVersionKind, Object, ObjectKey, Value};
use policy::{
    Exemptions,
    exemption::{Exemption, is_server_owned},
};
use runtime::Spawner;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    change::is_more_than_status,
    templates::{Serving, Unlisted},
    views::Views,
};

/// The reason of the event about a selector of nothing.
const MATCHES_NOTHING: &str = "SelectorMatchesNothing";
/// The reason of the event about a kind that cannot be listed.
const LIST_FAILED: &str = "ListTemplatesFailed";
/// How long what may be over in a moment is waited for: a definition that came together with the policy is not served yet.
const MOMENT: Duration = Duration::from_secs(5);
/// How long after it was told it is told again: often enough that there always is an event, which are kept for an hour.
const AGAIN: Duration = Duration::from_secs(30 * 60);

/// The controller, of policies that claim or of those that override.
#[derive(Debug)]
pub struct UnservedKinds {
    views: Views,
    namespaced: Cache,
    cluster: Cache,
    /// Since when policies are looked at of which there may be something to tell.
    since: Mutex<HashMap<ObjectKey, Instant>>,
}

impl UnservedKinds {
    /// Starts the controller for policies that claim and the one for those that override.
    pub fn start(views: &Views, spawner: &Spawner, cx: &Cx) {
        let book = &views.rulebook;
        for (name, namespaced, cluster) in [
            (
                "policies of unserved kinds",
                &book.namespaced,
                &book.cluster,
            ),
            (
                "override policies of unserved kinds",
                &book.overrides,
                &book.cluster_overrides,
            ),
        ] {
            let controller = Self {
                views: views.clone(),
                namespaced: namespaced.clone(),
                cluster: cluster.clone(),
                since: Mutex::default(),
            };
            controller.follow(name, spawner, cx);
        }
    }

    fn follow(self, name: &'static str, spawner: &Spawner, cx: &Cx) {
        let (views, caches) = (
            self.views.clone(),
            [self.namespaced.clone(), self.cluster.clone()],
        );
        let controller = Controller::new(name, self)
            .watch(&caches[0], keys)
            .watch(&caches[1], keys);
        let queue = controller.queue();
        views.templates.on_unserved(move |gone| {
            for policy in caches.iter().flat_map(Cache::list) {
                let mut kinds = selectors(&policy).filter_map(|selector| selector.kind.ok());
                // One that is to go waits for all kinds.
                if policy.is_terminating() || kinds.any(|kind| gone.contains(&kind.group_kind())) {
                    queue.add(policy.key());
                }
            }
        });
        controller.run(spawner, cx.clone());
    }
}

impl Reconcile for UnservedKinds {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        let cache = match key.namespace.is_empty() {
            true => &self.cluster,
            false => &self.namespaced,
        };
        let Some(policy) = cache.get(key) else {
            self.forget(key);
            return Ok(Wake::OnChange);
        };
        let templates = &self.views.templates;
        let plan = plan(&Inputs {
            policy: &policy,
            exemptions: templates.exemptions(),
            serving: &|kind| templates.serving(kind),
            unlisted: &templates.unlisted(),
            waited: self.waited(key),
        });
        if !plan.actions.is_empty() || plan.wake == Wake::OnChange {
            self.forget(key);
        }
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

impl UnservedKinds {
    /// How long it is since a policy was looked at first, of those of which nothing was told since.
    fn waited(&self, key: &ObjectKey) -> Duration {
        let mut since = self.since();
        let since = since.entry(key.clone()).or_insert_with(Instant::now);
        since.elapsed()
    }

    fn forget(&self, key: &ObjectKey) {
        self.since().remove(key);
    }

    fn since(&self) -> MutexGuard<'_, HashMap<ObjectKey, Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everything the decision may look at.
pub struct Inputs<'a> {
    /// The policy.
    pub policy: &'a Object,
    /// What is never propagated.
    pub exemptions: &'a Exemptions,
    /// Whether objects of a kind may be templates.
    pub serving: &'a dyn Fn(&GroupVersionKind) -> Serving,
    /// The kinds that cannot be listed.
    pub unlisted: &'a [Unlisted],
    /// How long what may be over in a moment has been waited for.
    pub waited: Duration,
}

/// Something that the author of a policy should know.
struct Problem {
    reason: &'static str,
    text: String,
    /// Whether it may be over in a moment, without anybody changing the policy.
    may_pass: bool,
}

impl Problem {
    fn lasting(text: String) -> Self {
        Self {
            reason: MATCHES_NOTHING,
            text,
            may_pass: false,
        }
    }

    fn passing(text: String) -> Self {
        Self {
            may_pass: true,
            ..Self::lasting(text)
        }
    }

    fn unlisted(Unlisted { kind, cause, .. }: &Unlisted, consequence: &str) -> Self {
        let group = group(kind);
        let (name, version) = (&kind.kind, &kind.version);
        let text = format!(
            "{name} of {group} cannot be listed in {version:?}, and {consequence}: {cause}"
        );
        Self {
            reason: LIST_FAILED,
            ..Self::passing(text)
        }
    }
}

/// One event for each selector that can select nothing, whatever templates there are, or of which that is not known.
#[must_use]
pub fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let problems = inputs.problems();
    if problems.is_empty() {
        return plan;
    }
    let left = MOMENT.saturating_sub(inputs.waited);
    if problems.iter().any(|problem| problem.may_pass) && !left.is_zero() {
        plan.wake = Wake::After(left);
        return plan;
    }
    for problem in problems {
        plan.push(Action::report(
            ObjectRef::of(inputs.policy),
            EventKind::Warning,
            problem.reason,
            problem.text,
        ));
    }
    plan.wake = Wake::After(AGAIN);
    plan
}

impl Inputs<'_> {
    fn problems(&self) -> Vec<Problem> {
        if self.policy.is_terminating() {
            let consequence = |unlisted: &Unlisted| match unlisted.is_liked_best {
                true => "it is not known whether this policy still holds any of them",
                false => "no other policy can have of them what this one holds",
            };
            let unlisted = self.unlisted.iter();
            return unlisted
                .map(|unlisted| Problem::unlisted(unlisted, consequence(unlisted)))
                .collect();
        }
        let selectors = selectors(self.policy);
        let problems = selectors.filter_map(|selector| {
            let problem = self.problem(&selector)?;
            let text = format!(
                "spec.resourceSelectors[{}]: {}",
                selector.position, problem.text
            );
            Some(Problem { text, ..problem })
        });
        problems.collect()
    }

    /// Why nothing is selected there.
    fn problem(&self, selector: &Selector<'_>) -> Option<Problem> {
        let kind = match &selector.kind {
            Ok(kind) => kind,
            Err(version) => {
                return Some(Problem::lasting(format!(
                    "apiVersion {version:?} is neither a version nor a group and a version"
                )));
            }
        };
        let (name, version, group) = (&kind.kind, &kind.version, group(kind));
        let (Place::OfPolicy(namespace) | Place::OfSelector(namespace)) = selector.place;
        match (self.serving)(kind) {
            Serving::Unknown => None,
            Serving::Unlisted(unlisted) => {
                let consequence = "what is propagated of it stays as it is";
                Some(Problem::unlisted(&unlisted, consequence))
            }
            Serving::Namespaced => match self.exemptions.check_namespace(namespace) {
                Some(exemption) => Some(Problem::lasting(format!(
                    "nothing in {namespace} is ever propagated: {exemption}"
                ))),
                None => selector.of_the_server(kind, namespace),
            },
            Serving::ClusterWide if namespace.is_empty() => selector.of_the_server(kind, ""),
            Serving::ClusterWide => {
                let who = match selector.place {
                    Place::OfPolicy(_) => "policy",
                    Place::OfSelector(_) => "selector",
                };
                Some(Problem::lasting(format!(
                    "{name} of {group} has no namespace, and this {who} selects only what is in {namespace}"
                )))
            }
            Serving::Exempt => Some(Problem::lasting(format!(
                "{name} of {group} is never propagated"
            ))),
            Serving::InOtherVersions(versions) => Some(Problem::passing(format!(
                "{name} of {group} is not served in {version:?}, but in {}",
                versions.join(", ")
            ))),
            Serving::Unserved => Some(Problem::passing(format!(
                "no kind {name} is served in {group}"
            ))),
        }
    }
}

fn group(kind: &GroupVersionKind) -> &str {
    match kind.group.as_str() {
        "" => "the core group",
        group => group,
    }
}

/// A selector of a policy, as far as it matters here.
struct Selector<'a> {
    position: usize,
    /// What it selects, or what stands where its API version should.
    kind: Result<GroupVersionKind, &'a str>,
    /// The one object it selects, if it does so by name.
    name: &'a str,
    place: Place<'a>,
}

impl Selector<'_> {
    /// That the one object which it selects is none that is ever propagated.
    fn of_the_server(&self, kind: &GroupVersionKind, namespace: &str) -> Option<Problem> {
        let named = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind,
            "metadata": {"namespace": namespace, "name": self.name},
        });
        let is_never = Object::from_value(named).is_ok_and(|named| is_server_owned(&named));
        is_never.then(|| {
            Problem::lasting(format!(
                "{} {} is never propagated: {}",
                kind.kind,
                self.name,
                Exemption::ServerOwned
            ))
        })
    }
}

/// The namespace that is selected from, and who says so.
#[derive(Clone, Copy)]
enum Place<'a> {
    OfPolicy(&'a str),
    /// Of a selector of a cluster-wide policy; empty for everywhere.
    OfSelector(&'a str),
}

fn selectors(policy: &Object) -> impl Iterator<Item = Selector<'_>> {
    let selectors = policy
        .at(&["spec", "resourceSelectors"])
        .and_then(Value::as_array);
    let positions = selectors.into_iter().flatten().enumerate();
    positions.map(|(position, selector)| {
        let text = |field: &str| selector.get(field).and_then(Value::as_str);
        let version = text("apiVersion").unwrap_or_default();
        let kind = GroupVersionKind::from_api_version(version, text("kind").unwrap_or_default());
        Selector {
            position,
            kind: kind.map_err(|_| version),
            name: text("name").unwrap_or_default(),
            place: match policy.namespace() {
                "" => Place::OfSelector(text("namespace").unwrap_or_default()),
                namespace => Place::OfPolicy(namespace),
            },
        }
    })
}

fn keys(change: &Change) -> Option<ObjectKey> {
    let policy = change.after.as_ref()?;
    is_more_than_status(change.before.as_ref(), change.after.as_ref()).then(|| policy.key())
}

#[cfg(test)]
mod tests;

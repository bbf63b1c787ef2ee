//! Tells the authors of policies which of their selectors can select nothing: nobody serves the kind, or not in that
//! version, or it has no namespace and the policy or the selector has one, or that namespace is never propagated.
//!
//! Reads:  policies of all kinds, which kinds are served, and what operators left out.
//! Writes: an event on the policy for each such selector, when the policy changes, when a kind it selects goes, and again
//!         as long as it is so: a policy has no status, and events are kept for an hour. Nothing is refused: the kind may
//!         come with its definition later.

use std::time::Duration;

use client::{Cache, Change};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use intent::{Action, EventKind, ObjectRef, Plan};
use object::{GroupVersionKind, Object, ObjectKey, Value};
use policy::Exemptions;
use runtime::Spawner;

use crate::{change::is_more_than_status, templates::Serving, views::Views};

/// The reason of the event.
const REASON: &str = "SelectorMatchesNothing";
/// How long after it was told it is told again: often enough that there always is an event, which are kept for an hour.
const AGAIN: Duration = Duration::from_secs(30 * 60);

/// The controller, of policies that claim or of those that override.
#[derive(Debug)]
pub struct UnservedKinds {
    views: Views,
    namespaced: Cache,
    cluster: Cache,
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
                if kinds.any(|kind| gone.contains(&kind.group_kind())) {
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
        if let Some(policy) = cache.get(key) {
            let templates = &self.views.templates;
            let plan = plan(&policy, templates.exemptions(), |kind| {
                templates.serving(kind)
            });
            cx.carry_out(&plan).await?;
            if !plan.is_empty() {
                return Ok(Wake::After(AGAIN));
            }
        }
        Ok(Wake::OnChange)
    }
}

/// One event for each selector that can select nothing, whatever templates there are.
#[must_use]
pub fn plan(
    policy: &Object,
    exemptions: &Exemptions,
    serving: impl Fn(&GroupVersionKind) -> Serving,
) -> Plan {
    let mut plan = Plan::default();
    if policy.is_terminating() {
        return plan;
    }
    for selector in selectors(policy) {
        let problem = match &selector.kind {
            Ok(kind) => problem(kind, &serving(kind), selector.place, exemptions),
            Err(version) => Some(format!(
                "apiVersion {version:?} is neither a version nor a group and a version"
            )),
        };
        let Some(problem) = problem else {
            continue;
        };
        let message = format!("spec.resourceSelectors[{}]: {problem}", selector.position);
        plan.push(Action::report(
            ObjectRef::of(policy),
            EventKind::Warning,
            REASON,
            message,
        ));
    }
    plan
}

/// Why nothing of a kind is selected there.
fn problem(
    kind: &GroupVersionKind,
    serving: &Serving,
    place: Place<'_>,
    exemptions: &Exemptions,
) -> Option<String> {
    let (name, version) = (&kind.kind, &kind.version);
    let group = if kind.group.is_empty() {
        "the core group"
    } else {
        kind.group.as_str()
    };
    match serving {
        Serving::Unknown => None,
        Serving::Namespaced => {
            let (Place::OfPolicy(namespace) | Place::OfSelector(namespace)) = place;
            let exemption = exemptions.check_namespace(namespace)?;
            Some(format!(
                "nothing in {namespace} is ever propagated: {exemption}"
            ))
        }
        Serving::ClusterWide => {
            let (who, namespace) = match place {
                Place::OfPolicy(namespace) => ("policy", namespace),
                Place::OfSelector(namespace) => ("selector", namespace),
            };
            (!namespace.is_empty()).then(|| {
                format!(
                    "{name} of {group} has no namespace, and this {who} selects only what is in {namespace}"
                )
            })
        }
        Serving::Exempt => Some(format!("{name} of {group} is never propagated")),
        Serving::InOtherVersions(versions) => Some(format!(
            "{name} of {group} is not served in {version:?}, but in {}",
            versions.join(", ")
        )),
        Serving::Unserved => Some(format!("no kind {name} is served in {group}")),
    }
}

/// A selector of a policy, as far as it matters here.
struct Selector<'a> {
    position: usize,
    /// What it selects, or what stands where its API version should.
    kind: Result<GroupVersionKind, &'a str>,
    place: Place<'a>,
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
mod tests {
    use super::*;
    use crate::told::{one, told};

    #[test]
    fn a_selector_of_nothing_is_told_with_its_place() {
        let policy = |metadata: &str| {
            one(&format!(
                "{{kind: PropagationPolicy, metadata: {metadata}, spec: {{resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment}}, {{apiVersion: acme.io/v1, kind: Gadget}}, {{apiVersion: v1, kind: Event}}, {{kind: Odd, apiVersion: a/b/c}}, {{apiVersion: acme.io/v7, kind: Widget}}, {{apiVersion: acme.io/v1, kind: Node}}]}}}}"
            ))
        };
        let plan = |metadata: &str| {
            let exemptions = Exemptions::default();
            let plan = plan(&policy(metadata), &exemptions, |kind| {
                match kind.kind.as_str() {
                    "Gadget" => Serving::Unserved,
                    "Event" => Serving::Exempt,
                    "Widget" => {
                        Serving::InOtherVersions(vec!["v1".to_owned(), "v1beta1".to_owned()])
                    }
                    "Node" => Serving::ClusterWide,
                    _ => Serving::Namespaced,
                }
            });
            told(&plan).replace("Warning SelectorMatchesNothing: spec.resourceSelectors", "")
        };
        let of_all = [
            "[1]: no kind Gadget is served in acme.io",
            "[2]: Event of the core group is never propagated",
            "[3]: apiVersion \"a/b/c\" is neither a version nor a group and a version",
            "[4]: Widget of acme.io is not served in \"v7\", but in v1, v1beta1",
        ];
        let lines = |policy: &str, problems: &[&str]| {
            let line = |problem: &&str| format!("report PropagationPolicy {policy} {problem}");
            problems.iter().map(line).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(plan("{name: p}"), lines("p", &of_all));
        let mut in_namespace = of_all.to_vec();
        in_namespace.push(
            "[5]: Node of acme.io has no namespace, and this policy selects only what is in test",
        );
        assert_eq!(
            plan("{name: p, namespace: test}"),
            lines("test/p", &in_namespace)
        );
    }

    #[test]
    fn a_namespace_where_nothing_is_selected_is_told() {
        let exemptions = Exemptions::parse("", ["kube-.*"]).unwrap();
        let check = |policy: &str, kind: &str, namespace: &str, expected: &str| {
            let policy = one(&format!(
                "{{kind: Policy, metadata: {{name: p, namespace: '{policy}'}}, spec: {{resourceSelectors: [{{apiVersion: v1, kind: {kind}, namespace: '{namespace}', name: foo}}]}}}}"
            ));
            let plan = plan(&policy, &exemptions, |kind| match kind.kind.as_str() {
                "Node" => Serving::ClusterWide,
                _ => Serving::Namespaced,
            });
            let told = told(&plan);
            let found = told
                .split_once("[0]: ")
                .map_or(told.as_str(), |found| found.1);
            assert_eq!(found, expected, "{kind} in {namespace:?}");
        };
        for (policy, kind, namespace, expected) in [
            ("", "Node", "", "nothing"),
            (
                "",
                "Node",
                "dep",
                "Node of the core group has no namespace, and this selector selects only what is in dep",
            ),
            // Whatever it is that a namespaced policy is defaulted with.
            (
                "dep",
                "Node",
                "dep",
                "Node of the core group has no namespace, and this policy selects only what is in dep",
            ),
            ("", "Secret", "", "nothing"),
            ("", "Secret", "dep", "nothing"),
            (
                "",
                "Secret",
                "karmada-system",
                "nothing in karmada-system is ever propagated: the namespace belongs to the control plane",
            ),
            (
                "",
                "Secret",
                "kube-system",
                "nothing in kube-system is ever propagated: the namespace is left out by \"kube-.*\"",
            ),
            (
                "karmada-system",
                "Secret",
                "",
                "nothing in karmada-system is ever propagated: the namespace belongs to the control plane",
            ),
        ] {
            check(policy, kind, namespace, expected);
        }
    }
}

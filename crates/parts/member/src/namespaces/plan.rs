//! Which clusters get a namespace, and what it says there.

use std::sync::Arc;

use api::cluster::Cluster;
use api::names::is_reserved_namespace;
use api::well_known::annotations::{CLUSTER_RESOURCE_BINDING_NAME, TEMPLATE_UID};
use api::well_known::labels::SKIP_AUTO_PROPAGATION;
use intent::Plan;
use object::Object;
use overrides::{ClusterFacts, Overrides, Template, render};
use regex::Regex;

use crate::sending::{Sending, Standing, is_lost, send};

/// Which namespaces are never sent, whatever they say themselves. Upstream: `--skipped-propagating-namespaces`.
#[derive(Clone, Debug)]
pub struct Skipped {
    patterns: Vec<Regex>,
}

impl Skipped {
    /// Those whose whole name matches one of the expressions.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<Self, regex::Error> {
        let anchored = patterns
            .into_iter()
            .map(|pattern| Regex::new(&format!("^(?:{pattern})$")));
        Ok(Self {
            patterns: anchored.collect::<Result<_, _>>()?,
        })
    }

    /// All of them: nobody sends any.
    #[must_use]
    pub fn all() -> Self {
        Self::new([".*"]).expect("invariant: the expression is right")
    }

    /// Whether a namespace is never sent.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        name == "default"
            || is_reserved_namespace(name)
            || self.patterns.iter().any(|pattern| pattern.is_match(name))
    }
}

impl Default for Skipped {
    fn default() -> Self {
        Self::new(["kube-.*"]).expect("invariant: the expression is right")
    }
}

/// A cluster and the work that is there for the namespace.
pub(super) struct Target {
    pub(super) cluster: Arc<Object>,
    pub(super) work: Option<Arc<Object>>,
}

/// What is to be done for one namespace: one work in each cluster, none for those that opted out. Works that are there stay
/// when a namespace opts out later. One that is missing is made also while the namespace is on its way out: the cluster may
/// have it from a work that went before, and nobody else would take it away.
pub(super) fn plan(
    namespace: &Object,
    targets: &[Target],
    overrides: &Overrides,
    skipped: &Skipped,
    standing: Standing,
) -> Plan {
    let mut plan = Plan::default();
    let has_opted_out = namespace
        .label(SKIP_AUTO_PROPAGATION)
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    if skipped.contains(namespace.name()) || has_opted_out || is_leaving_all(namespace) {
        return plan;
    }
    let template = Template::new(namespace);
    // What is on its way out is not brought any more, only taken away: it does not matter what it says.
    let is_overridden =
        standing != Standing::Ending && !overrides.matches("", &template).is_empty();
    for target in targets {
        // Whoever wrote a policy for it says what it is there; two who write one work would undo each other.
        if target.work.as_deref().is_some_and(is_of_binding) {
            continue;
        }
        let (mut object, annotations) = if is_overridden {
            // A cluster is read only for rules that may ask about it: the list of its kinds is long.
            let cluster: Cluster = match api::read::read(&target.cluster) {
                Ok(cluster) => cluster,
                Err(error) => {
                    plan.problem(target.cluster.name(), error.to_string());
                    continue;
                }
            };
            match render(overrides, &template, &ClusterFacts::from(&cluster)) {
                Ok(rendered) => {
                    let notes = rendered.annotations();
                    (rendered.object, notes.into_iter().collect())
                }
                // One bad rule must not hold the other clusters back.
                Err(error) => {
                    plan.problem(target.cluster.name(), error.to_string());
                    continue;
                }
            }
        } else {
            (namespace.clone(), Vec::new())
        };
        // What goes wrong with it in a member is told on it, and a member that comes back knows it by that.
        if let Err(error) = object.set(&["metadata", "annotations", TEMPLATE_UID], namespace.uid())
        {
            plan.problem(target.cluster.name(), error.to_string());
            continue;
        }
        let sending = Sending {
            cluster: target.cluster.name(),
            owner: namespace,
            object,
            annotations,
            existing: target.work.as_deref(),
            standing,
        };
        match send(sending) {
            Ok(action) => plan.extend(action),
            Err(error) => plan.problem(target.cluster.name(), error.to_string()),
        }
    }
    plan
}

/// What is known of a namespace, beside whether the server itself has just said that it stays.
pub(super) fn standing(namespace: &Object, is_sure: bool) -> Standing {
    match (namespace.is_terminating(), is_sure) {
        (true, _) => Standing::Ending,
        (false, true) => Standing::Sure,
        (false, false) => Standing::Seen,
    }
}

/// Whether a namespace has a work that has lost its owner, and would stay in the cluster when the namespace goes.
pub(super) fn has_lost(targets: &[Target]) -> bool {
    let mut works = targets.iter().filter_map(|target| target.work.as_deref());
    works.any(|work| is_lost(work) && !is_of_binding(work))
}

/// Whether a namespace that is going sees to its works itself: it leaves them behind, or waits until they are gone, and would
/// wait for ever for those that come.
fn is_leaving_all(namespace: &Object) -> bool {
    let sees_to_all = |name: &str| matches!(name, "orphan" | "foregroundDeletion");
    namespace.is_terminating() && namespace.finalizers().any(sees_to_all)
}

/// Whether a work is made from a binding.
fn is_of_binding(work: &Object) -> bool {
    work.annotation(CLUSTER_RESOURCE_BINDING_NAME).is_some()
}

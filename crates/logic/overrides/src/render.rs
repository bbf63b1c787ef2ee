//! An object for one cluster: all rules in force, applied in order.

use std::{collections::BTreeMap, mem, sync::Arc};

use api::{
    affinity::Mismatch,
    policy::Overriders,
    well_known::annotations::{APPLIED_CLUSTER_OVERRIDES, APPLIED_OVERRIDES},
};
use object::{Object, Value};
use serde_json::json;

use crate::{
    change::{Change, changes},
    cluster::ClusterFacts,
    collection::Overrides,
    escape,
    identity::Identity,
    overrider::{document, image, keys, plaintext, words},
    policy::{Policy, PolicyId, Rule, RulePlace},
    problem::{Fault, OverrideError, Overrider},
    rights::Rights,
    template::Template,
};

/// An object as a cluster is to get it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The object.
    pub object: Object,
    /// The rules that were applied, in order.
    pub applied: Vec<Applied>,
}

/// A rule that was applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The policy.
    pub policy: PolicyId,
    /// The rule of the policy.
    pub rule: RulePlace,
    /// What it says.
    pub overriders: Arc<Overriders>,
}

/// One rule on the way, as an explanation tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The policy.
    pub policy: PolicyId,
    /// The rule of the policy.
    pub rule: RulePlace,
    /// What became of it.
    pub effect: Effect,
}

/// What became of a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// It is not for this cluster.
    Skipped(Mismatch),
    /// It was applied: what each of its overriders changed. Those that changed nothing are not in it.
    Applied(Vec<(Overrider, Vec<Change>)>),
}

/// The object for a cluster, or the first rule that does not fit it.
///
/// ClusterOverridePolicies go first, then the OverridePolicies of the object's namespace, which therefore have the last
/// word; those are chosen by the object as the former left it.
pub fn render(
    overrides: &Overrides,
    template: &Template<'_>,
    cluster: &ClusterFacts<'_>,
) -> Result<Rendered, Box<OverrideError>> {
    Rendering::new(template, cluster, None).run(overrides)
}

/// The same, with all rules on the way. An error ends the way; the steps before it are told all the same.
pub fn explain(
    overrides: &Overrides,
    template: &Template<'_>,
    cluster: &ClusterFacts<'_>,
) -> (Vec<Step>, Result<Rendered, Box<OverrideError>>) {
    let mut steps = Vec::new();
    let result = Rendering::new(template, cluster, Some(&mut steps)).run(overrides);
    (steps, result)
}

impl Rendered {
    /// The annotations of the work that say which policies were applied; none for a kind of policy that was not.
    #[must_use]
    pub fn annotations(&self) -> BTreeMap<&'static str, String> {
        let (cluster, namespaced): (Vec<&Applied>, Vec<&Applied>) = self
            .applied
            .iter()
            .partition(|applied| applied.policy.namespace.is_empty());
        [
            (APPLIED_CLUSTER_OVERRIDES, cluster),
            (APPLIED_OVERRIDES, namespaced),
        ]
        .into_iter()
        .filter(|(_, applied)| !applied.is_empty())
        .map(|(key, applied)| (key, record(applied)))
        .collect()
    }
}

/// One entry for each rule, by the names of the policies.
fn record(mut applied: Vec<&Applied>) -> String {
    applied.sort_by(|a, b| a.policy.name.cmp(&b.policy.name));
    let entries = applied.iter().map(|applied| {
        let overriders = serde_json::to_value(&*applied.overriders)
            .expect("invariant: overriders came from JSON");
        json!({"policyName": applied.policy.name, "overriders": overriders})
    });
    escape::to_json(&entries.collect())
}

struct Rendering<'a> {
    object: Object,
    /// What the template is. Every rule keeps it: whoever may write an override may not therefore write other objects.
    identity: Identity<'a>,
    /// What it lets people do, which every rule keeps for the same reason.
    rights: Rights<'a>,
    other_versions: &'a [String],
    cluster: &'a ClusterFacts<'a>,
    applied: Vec<Applied>,
    steps: Option<&'a mut Vec<Step>>,
}

impl<'a> Rendering<'a> {
    fn new(
        template: &Template<'a>,
        cluster: &'a ClusterFacts<'a>,
        steps: Option<&'a mut Vec<Step>>,
    ) -> Self {
        Self {
            object: template.object.clone(),
            identity: Identity::of(template.object),
            rights: Rights::of(template.object),
            other_versions: template.other_versions,
            cluster,
            applied: Vec::new(),
            steps,
        }
    }

    fn run(mut self, overrides: &Overrides) -> Result<Rendered, Box<OverrideError>> {
        for found in overrides.matches("", &self.template()) {
            self.apply(found.policy)?;
        }
        let namespace = self.object.namespace().to_owned();
        if !namespace.is_empty() {
            for found in overrides.matches(&namespace, &self.template()) {
                self.apply(found.policy)?;
            }
        }
        Ok(Rendered {
            object: self.object,
            applied: self.applied,
        })
    }

    /// The object as it is by now.
    fn template(&self) -> Template<'_> {
        Template {
            object: &self.object,
            other_versions: self.other_versions,
        }
    }

    fn apply(&mut self, policy: &Policy) -> Result<(), Box<OverrideError>> {
        for rule in &policy.rules {
            if let Err(mismatch) = rule.check(self.cluster) {
                self.tell(policy, rule, || Effect::Skipped(mismatch));
                continue;
            }
            let mut document = mem::take(&mut self.object).into_value();
            let mut told = Vec::new();
            let wants_changes = self.steps.is_some();
            for overrider in ORDER
                .into_iter()
                .filter(|sort| has_any(*sort, &rule.overriders))
            {
                let before = wants_changes.then(|| document.clone());
                let fault = apply_all(&mut document, overrider, &rule.overriders).and_then(|()| {
                    let kept = self.identity.check(&document);
                    kept.and_then(|()| self.rights.check(&document))
                        .map_err(|fault| (None, fault))
                });
                if let Err((position, fault)) = fault {
                    return Err(Box::new(OverrideError {
                        policy: policy.id.clone(),
                        rule: rule.place,
                        overrider,
                        position,
                        path: fault.path,
                        source: fault.problem,
                    }));
                }
                if let Some(before) = before {
                    let changes = changes(&before, &document);
                    if !changes.is_empty() {
                        told.push((overrider, changes));
                    }
                }
            }
            self.object = Object::from_value(document)
                .expect("invariant: overriders keep the document an object");
            self.tell(policy, rule, || Effect::Applied(told));
            self.applied.push(Applied {
                policy: policy.id.clone(),
                rule: rule.place,
                overriders: Arc::clone(&rule.overriders),
            });
        }
        Ok(())
    }

    fn tell(&mut self, policy: &Policy, rule: &Rule, effect: impl FnOnce() -> Effect) {
        if let Some(steps) = &mut self.steps {
            steps.push(Step {
                policy: policy.id.clone(),
                rule: rule.place,
                effect: effect(),
            });
        }
    }
}

/// Whatever order a rule writes them in.
const ORDER: [Overrider; 7] = [
    Overrider::Image,
    Overrider::Command,
    Overrider::Args,
    Overrider::Labels,
    Overrider::Annotations,
    Overrider::Field,
    Overrider::Plaintext,
];

fn has_any(overrider: Overrider, rule: &Overriders) -> bool {
    !match overrider {
        Overrider::Image => rule.image_overrider.is_empty(),
        Overrider::Command => rule.command_overrider.is_empty(),
        Overrider::Args => rule.args_overrider.is_empty(),
        Overrider::Labels => rule.labels_overrider.is_empty(),
        Overrider::Annotations => rule.annotations_overrider.is_empty(),
        Overrider::Field => rule.field_overrider.is_empty(),
        Overrider::Plaintext => rule.plaintext.is_empty(),
    }
}

/// Applies all entries of one sort; a fault comes with the position of its entry.
fn apply_all(
    document: &mut Value,
    overrider: Overrider,
    rule: &Overriders,
) -> Result<(), plaintext::EntryFault> {
    match overrider {
        Overrider::Image => each(&rule.image_overrider, |change| {
            image::apply(document, change)
        }),
        Overrider::Command => each(&rule.command_overrider, |change| {
            words::apply(document, "command", change)
        }),
        Overrider::Args => each(&rule.args_overrider, |change| {
            words::apply(document, "args", change)
        }),
        Overrider::Labels => each(&rule.labels_overrider, |change| {
            keys::apply(document, "labels", change)
        }),
        Overrider::Annotations => each(&rule.annotations_overrider, |change| {
            keys::apply(document, "annotations", change)
        }),
        Overrider::Field => each(&rule.field_overrider, |change| {
            document::apply(document, change)
        }),
        Overrider::Plaintext => plaintext::apply(document, &rule.plaintext),
    }
}

fn each<T>(
    entries: &[T],
    mut apply: impl FnMut(&T) -> Result<(), Fault>,
) -> Result<(), plaintext::EntryFault> {
    for (position, entry) in entries.iter().enumerate() {
        apply(entry).map_err(|fault| (Some(position), fault))?;
    }
    Ok(())
}

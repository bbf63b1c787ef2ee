//! All policies, arranged so that a template meets only those that may select it.
//!
//! A policy is filed once for each of its selectors: under the namespace it can see, the kind, and then the name or
//! one label that a template must have. What asks for neither (every template of a kind, or labels by other means
//! than equality) is tried for every template of the kind.

use std::{collections::BTreeMap, sync::Arc};

use object::Value;

use crate::{
    policy::{Policy, PolicyId},
    selector::{Selector, Specificity, Which},
    template::Template,
};

/// All policies of both kinds.
#[derive(Clone, Debug, Default)]
pub struct Index {
    policies: BTreeMap<PolicyId, Arc<Policy>>,
    /// By the policy's namespace (empty for ClusterPropagationPolicies), the kind, and its group.
    drawers: BTreeMap<String, BTreeMap<String, BTreeMap<String, Drawer>>>,
    /// By the namespace of a policy and the name of an override policy that it waits for.
    awaiting: BTreeMap<String, BTreeMap<String, Vec<PolicyId>>>,
}

/// A policy that selects a template.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match<'i> {
    /// The policy.
    pub policy: &'i Policy,
    /// How closely it describes the template.
    pub specificity: Specificity,
}

/// The selectors for one kind that policies of one namespace have.
#[derive(Clone, Debug, Default)]
struct Drawer {
    by_name: BTreeMap<String, Vec<Entry>>,
    by_label: BTreeMap<String, BTreeMap<String, Vec<Entry>>>,
    rest: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    policy: Arc<Policy>,
    /// Its position among the policy's selectors.
    selector: usize,
}

/// Where in a drawer a selector is filed.
enum Place<'s> {
    Name(&'s str),
    Label(&'s str, &'s str),
    Rest,
}

impl Index {
    /// The policy of that name.
    #[must_use]
    pub fn policy(&self, id: &PolicyId) -> Option<&Policy> {
        self.policies.get(id).map(Arc::as_ref)
    }

    /// All policies, by namespace and name.
    pub fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.policies.values().map(Arc::as_ref)
    }

    /// Files a policy, in place of the one of the same name; that one is returned.
    pub fn insert(&mut self, policy: Policy) -> Option<Arc<Policy>> {
        let former = self.remove(&policy.id);
        let policy = Arc::new(policy);
        let kinds = self.drawers.entry(policy.id.namespace.clone()).or_default();
        for (position, selector) in policy.selectors.iter().enumerate() {
            let Some(place) = place(selector) else {
                continue;
            };
            let drawer = kinds
                .entry(selector.kind.clone())
                .or_default()
                .entry(selector.group.clone())
                .or_default();
            drawer.entries_mut(&place).push(Entry {
                policy: Arc::clone(&policy),
                selector: position,
            });
        }
        let awaiting = self
            .awaiting
            .entry(policy.id.namespace.clone())
            .or_default();
        for name in &policy.spec.dependent_overrides {
            awaiting
                .entry(name.clone())
                .or_default()
                .push(policy.id.clone());
        }
        self.policies.insert(policy.id.clone(), policy);
        former
    }

    /// Takes a policy out and returns it.
    pub fn remove(&mut self, id: &PolicyId) -> Option<Arc<Policy>> {
        let policy = self.policies.remove(id)?;
        if let Some(kinds) = self.drawers.get_mut(&id.namespace) {
            for selector in &policy.selectors {
                remove_selector(kinds, selector, id);
            }
            if kinds.is_empty() {
                self.drawers.remove(&id.namespace);
            }
        }
        if let Some(awaiting) = self.awaiting.get_mut(&id.namespace) {
            for name in &policy.spec.dependent_overrides {
                if let Some(waiting) = awaiting.get_mut(name) {
                    waiting.retain(|waiting| waiting != id);
                }
            }
            awaiting.retain(|_, waiting| !waiting.is_empty());
            if awaiting.is_empty() {
                self.awaiting.remove(&id.namespace);
            }
        }
        Some(policy)
    }

    /// The policies that select a template, terminating ones among them, each once, by namespace and name.
    #[must_use]
    pub fn matches(&self, template: &Template<'_>) -> Vec<Match<'_>> {
        let mut found = Vec::new();
        let namespace = template.object.namespace();
        self.collect("", template, &mut found);
        if !namespace.is_empty() {
            self.collect(namespace, template, &mut found);
        }
        // The best match of each policy first, so that it is the one that stays.
        found.sort_unstable_by(|a: &Match<'_>, b: &Match<'_>| {
            (&a.policy.id, b.specificity).cmp(&(&b.policy.id, a.specificity))
        });
        found.dedup_by(|a, b| a.policy.id == b.policy.id);
        found
    }

    /// The policies that wait for an override policy of that namespace (empty for ClusterOverridePolicies) and name.
    pub fn awaiting(&self, namespace: &str, name: &str) -> impl Iterator<Item = &Policy> {
        self.awaiting
            .get(namespace)
            .and_then(|names| names.get(name))
            .into_iter()
            .flatten()
            .filter_map(|id| self.policy(id))
    }

    fn collect<'i>(&'i self, namespace: &str, template: &Template<'_>, found: &mut Vec<Match<'i>>) {
        let drawer = self
            .drawers
            .get(namespace)
            .and_then(|kinds| kinds.get(template.object.kind()))
            .and_then(|groups| groups.get(template.group()));
        let Some(drawer) = drawer else {
            return;
        };
        let named = drawer.by_name.get(template.object.name());
        let labels = template
            .object
            .at(&["metadata", "labels"])
            .and_then(Value::as_object);
        let labelled = labels.into_iter().flatten().filter_map(|(key, value)| {
            if drawer.by_label.is_empty() {
                return None;
            }
            drawer.by_label.get(key)?.get(value.as_str()?)
        });
        let candidates = named
            .into_iter()
            .chain(labelled)
            .chain([&drawer.rest])
            .flatten();
        found.extend(candidates.filter_map(|entry| entry.select(template)));
    }
}

impl FromIterator<Policy> for Index {
    fn from_iter<I: IntoIterator<Item = Policy>>(policies: I) -> Self {
        let mut index = Self::default();
        for policy in policies {
            index.insert(policy);
        }
        index
    }
}

impl Entry {
    fn select(&self, template: &Template<'_>) -> Option<Match<'_>> {
        let specificity = self.policy.selectors.get(self.selector)?.select(template)?;
        Some(Match {
            policy: &self.policy,
            specificity,
        })
    }
}

impl Drawer {
    fn entries_mut(&mut self, place: &Place<'_>) -> &mut Vec<Entry> {
        match place {
            Place::Name(name) => self.by_name.entry((*name).to_owned()).or_default(),
            Place::Label(key, value) => self
                .by_label
                .entry((*key).to_owned())
                .or_default()
                .entry((*value).to_owned())
                .or_default(),
            Place::Rest => &mut self.rest,
        }
    }

    fn forget(&mut self, place: &Place<'_>, id: &PolicyId) {
        let keep = |entry: &Entry| entry.policy.id != *id;
        match place {
            Place::Rest => self.rest.retain(keep),
            Place::Name(name) => {
                retain_in(&mut self.by_name, name, keep);
            }
            Place::Label(key, value) => {
                if let Some(values) = self.by_label.get_mut(*key) {
                    retain_in(values, value, keep);
                    if values.is_empty() {
                        self.by_label.remove(*key);
                    }
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.by_name.is_empty() && self.by_label.is_empty() && self.rest.is_empty()
    }
}

/// Where a selector is filed; `None` if it selects nothing.
fn place(selector: &Selector) -> Option<Place<'_>> {
    match &selector.which {
        Which::Name(name) => Some(Place::Name(name)),
        Which::All => Some(Place::Rest),
        Which::Nothing(_) => None,
        Which::Labels(labels) => {
            let exact = labels.requirements().iter().find_map(|requirement| {
                let key = requirement.key();
                Some(Place::Label(key, labels.exact_value(key)?))
            });
            Some(exact.unwrap_or(Place::Rest))
        }
    }
}

fn remove_selector(
    kinds: &mut BTreeMap<String, BTreeMap<String, Drawer>>,
    selector: &Selector,
    id: &PolicyId,
) {
    let Some(place) = place(selector) else {
        return;
    };
    let Some(groups) = kinds.get_mut(&selector.kind) else {
        return;
    };
    if let Some(drawer) = groups.get_mut(&selector.group) {
        drawer.forget(&place, id);
        if drawer.is_empty() {
            groups.remove(&selector.group);
        }
    }
    if groups.is_empty() {
        kinds.remove(&selector.kind);
    }
}

fn retain_in(lists: &mut BTreeMap<String, Vec<Entry>>, key: &str, keep: impl Fn(&Entry) -> bool) {
    if let Some(entries) = lists.get_mut(key) {
        entries.retain(keep);
        if entries.is_empty() {
            lists.remove(key);
        }
    }
}

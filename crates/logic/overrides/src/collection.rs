//! All override policies, arranged so that a template meets only those of its namespace and kind.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    policy::{Policy, PolicyId},
    template::{Specificity, Template},
};

/// All override policies of both kinds.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// By the policy's namespace; ClusterOverridePolicies are under the empty one.
    shelves: BTreeMap<String, Shelf>,
}

/// A policy that is about a template.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match<'o> {
    /// The policy.
    pub policy: &'o Policy,
    /// How closely it describes the template.
    pub specificity: Specificity,
}

#[derive(Clone, Debug, Default)]
struct Shelf {
    policies: BTreeMap<String, Arc<Policy>>,
    /// Policies with selectors, under every kind they name, each once.
    by_kind: BTreeMap<String, Vec<Arc<Policy>>>,
    /// Policies without selectors.
    for_all: Vec<Arc<Policy>>,
}

impl Overrides {
    /// The policy of that name.
    #[must_use]
    pub fn policy(&self, id: &PolicyId) -> Option<&Policy> {
        self.shelves
            .get(&id.namespace)?
            .policies
            .get(&id.name)
            .map(Arc::as_ref)
    }

    /// All policies, by namespace and name.
    pub fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.shelves
            .values()
            .flat_map(|shelf| shelf.policies.values().map(Arc::as_ref))
    }

    /// Puts a policy in, in place of the one of the same name; that one is returned.
    pub fn insert(&mut self, policy: Policy) -> Option<Arc<Policy>> {
        let former = self.remove(&policy.id);
        let policy = Arc::new(policy);
        let shelf = self.shelves.entry(policy.id.namespace.clone()).or_default();
        if policy.selectors.is_empty() {
            shelf.for_all.push(Arc::clone(&policy));
        }
        for selector in &policy.selectors {
            let of_kind = shelf.by_kind.entry(selector.kind.clone()).or_default();
            if !of_kind.iter().any(|filed| filed.id == policy.id) {
                of_kind.push(Arc::clone(&policy));
            }
        }
        shelf.policies.insert(policy.id.name.clone(), policy);
        former
    }

    /// Takes a policy out and returns it.
    pub fn remove(&mut self, id: &PolicyId) -> Option<Arc<Policy>> {
        let shelf = self.shelves.get_mut(&id.namespace)?;
        let policy = shelf.policies.remove(&id.name)?;
        shelf.for_all.retain(|filed| filed.id != *id);
        shelf.by_kind.retain(|_, of_kind| {
            of_kind.retain(|filed| filed.id != *id);
            !of_kind.is_empty()
        });
        if shelf.policies.is_empty() {
            self.shelves.remove(&id.namespace);
        }
        Some(policy)
    }

    /// The policies of one namespace (empty for ClusterOverridePolicies) that are about a template, in the order in which
    /// they are applied: the closer they describe it the later, and by name.
    #[must_use]
    pub fn matches(&self, namespace: &str, template: &Template<'_>) -> Vec<Match<'_>> {
        let Some(shelf) = self.shelves.get(namespace) else {
            return Vec::new();
        };
        let of_kind = shelf.by_kind.get(template.object.kind());
        let mut found: Vec<Match<'_>> = of_kind
            .into_iter()
            .flatten()
            .chain(&shelf.for_all)
            .filter_map(|policy| {
                Some(Match {
                    policy,
                    specificity: policy.select(template)?,
                })
            })
            .collect();
        found.sort_unstable_by(|a, b| {
            (a.specificity, &a.policy.id.name).cmp(&(b.specificity, &b.policy.id.name))
        });
        found
    }
}

impl FromIterator<Policy> for Overrides {
    fn from_iter<I: IntoIterator<Item = Policy>>(policies: I) -> Self {
        let mut overrides = Self::default();
        for policy in policies {
            overrides.insert(policy);
        }
        overrides
    }
}

/// Whether a change of an override policy (`before` is `None` when it was created, `after` when it was deleted) is about
/// a template, so that its works are to be rendered anew.
#[must_use]
pub fn concerns(before: Option<&Policy>, after: Option<&Policy>, template: &Template<'_>) -> bool {
    if before == after {
        return false;
    }
    before
        .into_iter()
        .chain(after)
        .any(|policy| policy.select(template).is_some())
}

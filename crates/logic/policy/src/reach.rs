//! Whom a change wakes: the templates that a policy, or an override policy that others wait for, is about.

use crate::{
    holder::Holder,
    index::Index,
    policy::Policy,
    selector::Selector,
    template::{Template, TemplateKey},
};

/// The templates a change is about, described so that a cache can look them up instead of trying them all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reach {
    /// Templates that one of these selects. The namespace is that of the policy, to which its selectors are limited;
    /// empty means no limit.
    pub selected: Vec<(String, Selector)>,
    /// Templates that one of these holds.
    pub held: Vec<Holder>,
}

impl Reach {
    /// Of a policy that was created (`before` is `None`), changed, or deleted (`after` is `None`).
    ///
    /// What the policy selected before counts too: it may have kept others waiting.
    #[must_use]
    pub fn of_policy(before: Option<&Policy>, after: Option<&Policy>) -> Self {
        let is_same = before
            .zip(after)
            .is_some_and(|(before, after)| before.says_the_same(after));
        let mut reach = Self::default();
        if !is_same {
            before.into_iter().chain(after).for_each(|policy| {
                reach.add(policy);
            });
        }
        reach
    }

    /// Of an override policy that was created or deleted; the namespace is empty for a ClusterOverridePolicy. Changes
    /// of an override policy concern works, not claims.
    #[must_use]
    pub fn of_override(policies: &Index, namespace: &str, name: &str) -> Self {
        let mut reach = Self::default();
        for policy in policies.awaiting(namespace, name) {
            reach.add(policy);
        }
        reach
    }

    /// Whether nothing is concerned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.selected.is_empty() && self.held.is_empty()
    }

    /// Whether the template is concerned.
    #[must_use]
    pub fn covers(&self, template: &Template<'_>) -> bool {
        let is_selected = self.selected.iter().any(|(namespace, selector)| {
            (namespace.is_empty() || namespace == template.object.namespace())
                && selector.select(template).is_some()
        });
        is_selected
            || (!self.held.is_empty()
                && Holder::of(template.object).is_some_and(|holder| self.held.contains(&holder)))
    }

    fn add(&mut self, policy: &Policy) {
        for selector in &policy.selectors {
            let selected = (policy.id.namespace.clone(), selector.clone());
            if !self.selected.contains(&selected) {
                self.selected.push(selected);
            }
        }
        let holder = Holder::from(policy);
        if !self.held.contains(&holder) {
            self.held.push(holder);
        }
    }
}

/// The templates among those given that the change is about.
pub fn keys_for<'t>(
    reach: &Reach,
    templates: impl IntoIterator<Item = Template<'t>>,
) -> Vec<TemplateKey> {
    if reach.is_empty() {
        return Vec::new();
    }
    templates
        .into_iter()
        .filter(|template| reach.covers(template))
        .map(|template| TemplateKey::from(&template))
        .collect()
}

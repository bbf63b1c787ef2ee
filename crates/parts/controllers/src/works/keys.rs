//! Whom a change wakes: the bindings whose works have to be looked at.

use std::collections::BTreeSet;

use client::Change;
use object::{GroupKind, ObjectKey};
use overrides::Template;
use policy::activation::{Origin, origin};

use crate::{
    bindings::{binding_of, cluster_of, clusters_of},
    change::is_more_than_status,
    members::traits,
    templates::{Found, TemplateKey},
};

/// A binding itself, unless only its status changed, or it is new and has no clusters yet. Works that it has nevertheless
/// call for it themselves.
#[must_use]
pub fn of_binding(change: &Change) -> Option<ObjectKey> {
    if let (None, Some(binding)) = (&change.before, &change.after)
        && !binding.is_terminating()
        && clusters_of(binding).is_empty()
    {
        return None;
    }
    is_more_than_status(change.before.as_ref(), change.after.as_ref()).then(|| change.key())
}

/// The binding of a work that went or was changed by somebody, or that came and is not wanted. One that came and is wanted
/// was made for its binding just now, or is looked at together with it.
#[must_use]
pub fn of_work(change: &Change, is_wanted: impl Fn(&ObjectKey, &str) -> bool) -> Vec<ObjectKey> {
    if !is_more_than_status(change.before.as_ref(), change.after.as_ref()) {
        return Vec::new();
    }
    if let (None, Some(work)) = (&change.before, &change.after)
        && let (Some(binding), Some(cluster)) = (binding_of(work), cluster_of(work))
        && !work.is_terminating()
        && is_wanted(&binding, cluster)
    {
        return Vec::new();
    }
    let keys: BTreeSet<ObjectKey> = change
        .states()
        .filter_map(|work| binding_of(work))
        .collect();
    keys.into_iter().collect()
}

/// The bindings that go to a cluster of which something changed that override rules ask about.
#[must_use]
pub fn of_cluster(change: &Change, on_cluster: impl Fn(&str) -> Vec<ObjectKey>) -> Vec<ObjectKey> {
    let same = match (&change.before, &change.after) {
        (Some(before), Some(after)) => traits(before) == traits(after),
        _ => false,
    };
    if same {
        return Vec::new();
    }
    on_cluster(&change.key().name)
}

/// The bindings of a template that came, or of which only our own labels and annotations changed. What its author changes
/// reaches them through the binding, which may have to be scheduled first.
#[must_use]
pub fn of_template(
    kind: &GroupKind,
    change: &Change,
    of_template: impl Fn(&TemplateKey) -> Vec<ObjectKey>,
) -> Vec<ObjectKey> {
    let concerns = match (&change.before, &change.after) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(before), Some(after)) => origin(before, after) == Origin::Control,
    };
    if !concerns {
        return Vec::new();
    }
    let key = TemplateKey {
        kind: kind.clone(),
        key: change.key(),
    };
    of_template(&key)
}

/// Whether a change of an override policy is about a template.
#[must_use]
pub fn is_overridden(
    before: Option<&overrides::Policy>,
    after: Option<&overrides::Policy>,
    template: &Found,
) -> bool {
    let template = Template {
        object: &template.object,
        other_versions: &template.other_versions,
    };
    overrides::concerns(before, after, &template)
}

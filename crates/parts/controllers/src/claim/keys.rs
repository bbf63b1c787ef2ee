//! Whom a change wakes: the templates that have to be looked at.

use std::{collections::BTreeSet, sync::Arc};

use client::Change;
use object::GroupKind;
use policy::{Index, Reach};

use crate::{
    bindings::template_of,
    change::{is_more_than_placement, is_more_than_status},
    rulebook::Amendment,
    templates::{TemplateKey, Templates},
};

/// A template itself, unless only its status changed.
#[must_use]
pub fn of_template(kind: &GroupKind, change: &Change) -> Option<TemplateKey> {
    is_more_than_status(change.before.as_ref(), change.after.as_ref()).then(|| TemplateKey {
        kind: kind.clone(),
        key: change.key(),
    })
}

/// The template of a binding, unless only its status or what others decide changed. A binding that is gone makes room for templates of other
/// kinds that spell its name the same way.
#[must_use]
pub fn of_binding(
    change: &Change,
    kinds_spelled: impl Fn(&str) -> Vec<GroupKind>,
) -> Vec<TemplateKey> {
    if !is_more_than_placement(change.before.as_ref(), change.after.as_ref()) {
        return Vec::new();
    }
    let mut keys: BTreeSet<TemplateKey> = change
        .states()
        .filter_map(|binding| template_of(binding))
        .collect();
    if change.after.is_none() {
        let namesakes: Vec<TemplateKey> = keys
            .iter()
            .flat_map(|gone| {
                let kinds = kinds_spelled(&gone.kind.kind).into_iter();
                kinds.map(|kind| TemplateKey {
                    kind,
                    key: gone.key.clone(),
                })
            })
            .collect();
        keys.extend(namesakes);
    }
    keys.into_iter().collect()
}

/// What a change of a policy is about.
#[must_use]
pub fn of_amendment(amendment: &Amendment, policies: impl FnOnce() -> Arc<Index>) -> Reach {
    match amendment {
        Amendment::Claims(before, after) => Reach::of_policy(before.as_deref(), after.as_deref()),
        // Only whether an override policy is there concerns claims; what it says concerns works.
        Amendment::Overrides(Some(_), Some(_)) | Amendment::Overrides(None, None) => {
            Reach::default()
        }
        Amendment::Overrides(Some(policy), None) | Amendment::Overrides(None, Some(policy)) => {
            Reach::of_override(&policies(), &policy.id.namespace, &policy.id.name)
        }
    }
}

/// What a change of a priority class is about: what the policies that name it say.
#[must_use]
pub fn of_priority_class(policies: &Index, name: &str) -> Reach {
    let mut reach = Reach::default();
    for policy in policies.policies() {
        let names_it = policy
            .spec
            .schedule_priority
            .as_ref()
            .is_some_and(|priority| priority.priority_class_name == name);
        if names_it {
            let one = Reach::of_policy(None, Some(policy));
            reach.selected.extend(one.selected);
            reach.held.extend(one.held);
        }
    }
    reach
}

/// The templates that a change is about, looked up.
#[must_use]
pub fn of_reach(reach: &Reach, templates: &Templates) -> Vec<TemplateKey> {
    let selected = reach
        .selected
        .iter()
        .flat_map(|(namespace, selector)| templates.selected(namespace, selector));
    let held = reach.held.iter().flat_map(|holder| {
        let held = templates.held_by(&holder.permanent_id).into_iter();
        held.map(|(kind, object)| TemplateKey {
            kind,
            key: object.key(),
        })
    });
    let keys: BTreeSet<TemplateKey> = selected.chain(held).collect();
    keys.into_iter().collect()
}

//! Whom a change wakes: bindings that refer to others, and objects that are referred to.

use std::{collections::BTreeSet, sync::Arc};

use api::well_known::{finalizers::DEPENDENCIES_DISTRIBUTOR, labels::DEPENDED_BY_PREFIX};
use client::Change;
use object::{GroupKind, GroupVersionKind, Object, ObjectKey, Value};

use crate::{
    bindings::named_by,
    change::is_more_than_status,
    dependencies::reference::{self, DependencyKey},
    templates::TemplateKey,
};

/// The binding itself if it refers to others or did; and those whose snapshots it carries or carried, because they may be
/// waiting to go.
#[must_use]
pub fn referrers_of_binding(change: &Change) -> Vec<ObjectKey> {
    if !is_more_than_status(change.before.as_ref(), change.after.as_ref()) {
        return Vec::new();
    }
    let mut keys = BTreeSet::new();
    if change.states().any(|binding| may_refer(binding)) {
        keys.insert(change.key());
    }
    let lost = snapshots(change.before.as_ref());
    let kept = snapshots(change.after.as_ref());
    keys.extend(lost.difference(&kept).cloned());
    keys.into_iter().collect()
}

/// The bindings of a template that changed and that refer to others.
#[must_use]
pub fn referrers_of_template(
    kind: &GroupKind,
    change: &Change,
    referring: impl Fn(&TemplateKey) -> Vec<ObjectKey>,
) -> Vec<ObjectKey> {
    if change.after.is_none() || !is_more_than_status(change.before.as_ref(), change.after.as_ref())
    {
        return Vec::new();
    }
    let key = TemplateKey {
        kind: kind.clone(),
        key: change.key(),
    };
    referring(&key)
}

/// What a binding refers or referred to, if that or its clusters changed; and its own template if it is or was itself
/// listed by others.
#[must_use]
pub fn attachments_of_binding(
    change: &Change,
    of_kind: impl Fn(&GroupKind, &str) -> Vec<Arc<Object>>,
) -> Vec<DependencyKey> {
    if !is_more_than_status(change.before.as_ref(), change.after.as_ref()) {
        return Vec::new();
    }
    let mut keys = BTreeSet::new();
    for binding in change.states() {
        keys.extend(reference::named_by(binding));
        for reference in reference::noted_on(binding) {
            if !reference.name.is_empty() || !reference::is_at_home(&reference, binding) {
                continue;
            }
            let group = reference
                .api_version
                .split_once('/')
                .map_or("", |(group, _)| group);
            let kind = GroupKind::new(group, reference.kind.as_str());
            for object in of_kind(&kind, &reference.namespace) {
                keys.insert(DependencyKey {
                    namespace: binding.namespace().to_owned(),
                    group: kind.group.clone(),
                    kind: kind.kind.clone(),
                    object: object.key(),
                });
            }
        }
        if is_listed(binding) {
            keys.extend(own_key(binding));
        }
    }
    keys.into_iter().collect()
}

/// An object that bindings refer to, once for each of their namespaces.
#[must_use]
pub fn attachments_of_object(
    kind: &GroupKind,
    change: &Change,
    referring: impl Fn(&str) -> Vec<Arc<Object>>,
) -> Vec<DependencyKey> {
    if !is_more_than_status(change.before.as_ref(), change.after.as_ref()) {
        return Vec::new();
    }
    let object = TemplateKey {
        kind: kind.clone(),
        key: change.key(),
    };
    attachments_of(&object, referring)
}

/// An object, once for each namespace of the bindings that refer to it.
#[must_use]
pub fn attachments_of(
    object: &TemplateKey,
    referring: impl Fn(&str) -> Vec<Arc<Object>>,
) -> Vec<DependencyKey> {
    let TemplateKey { kind, key } = object;
    let versionless = GroupVersionKind::new(&*kind.group, "", &*kind.kind);
    let keys: BTreeSet<DependencyKey> = reference::entries_for(&versionless, key)
        .iter()
        .flat_map(|entry| referring(entry))
        .map(|binding| DependencyKey {
            namespace: binding.namespace().to_owned(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            object: key.clone(),
        })
        .collect();
    keys.into_iter().collect()
}

/// Whether the binding may have to note references, or have its note or finalizer taken away.
pub(crate) fn may_refer(binding: &Object) -> bool {
    binding.at(&["spec", "propagateDeps"]) == Some(&Value::Bool(true))
        || binding
            .finalizers()
            .any(|found| found == DEPENDENCIES_DISTRIBUTOR)
}

/// Whether others list the binding's template among what they refer to.
fn is_listed(binding: &Object) -> bool {
    binding
        .labels()
        .keys()
        .any(|label| label.starts_with(DEPENDED_BY_PREFIX))
}

fn own_key(binding: &Object) -> Option<DependencyKey> {
    // Also what it cannot be for: whoever is listed there waits to be forgotten.
    let template = named_by(binding)?;
    Some(DependencyKey {
        namespace: binding.namespace().to_owned(),
        group: template.kind.group,
        kind: template.kind.kind,
        object: template.key,
    })
}

fn snapshots(binding: Option<&Arc<Object>>) -> BTreeSet<ObjectKey> {
    binding
        .and_then(|binding| binding.at(&["spec", "requiredBy"]))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|snapshot| {
            let text = |field: &str| snapshot.get(field).and_then(Value::as_str);
            let namespace = text("namespace").unwrap_or_default();
            Some(ObjectKey::namespaced(namespace, text("name")?))
        })
        .collect()
}

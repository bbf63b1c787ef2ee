//! What a binding's template refers to, as the binding notes it.

use api::{config::DependentObjectReference, well_known::annotations::DEPENDENCIES};
use binding::dependencies::{self, group_of};
use object::{GroupVersionKind, Object, ObjectKey};
use policy::exemption::is_server_owned;

use crate::binding_view::Binding;

/// What stands for the name in the key of a reference by labels.
const ANY: &str = "*";

/// Names an object that something refers to, whatever version it was named in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DependencyKey {
    /// The namespace of the bindings that refer to it, in which its own binding is.
    pub namespace: String,
    /// The group of its kind.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Which object.
    pub object: ObjectKey,
}

/// The references that a binding notes; none if it notes none that can be read.
#[must_use]
pub fn noted_on(binding: &Object) -> Vec<DependentObjectReference> {
    binding
        .annotation(DEPENDENCIES)
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// Whether what is referred to is where the binding is.
#[must_use]
pub fn is_at_home(reference: &DependentObjectReference, binding: &Object) -> bool {
    dependencies::is_at_home(reference, binding.namespace())
}

/// The entries under which a binding is found by what it refers to; none unless it is to stay and wants that on its
/// clusters.
#[must_use]
pub fn entries(binding: &Object) -> Vec<String> {
    let is_referrer = || {
        let read = Binding::read(binding);
        read.is_ok_and(|read| dependencies::is_referrer(&read.spec))
    };
    // Most bindings note nothing and need not be read.
    if binding.annotation(DEPENDENCIES).is_none() || binding.is_terminating() || !is_referrer() {
        return Vec::new();
    }
    let mut entries: Vec<String> = noted_on(binding)
        .iter()
        .filter(|reference| is_at_home(reference, binding))
        .map(|reference| {
            let group = group_of(reference);
            let name = if reference.name.is_empty() {
                ANY
            } else {
                &reference.name
            };
            entry(group, &reference.kind, &reference.namespace, name)
        })
        .collect();
    entries.sort_unstable();
    entries.dedup();
    entries
}

/// The entries under which those are found that may refer to an object: by its name, and by labels.
#[must_use]
pub fn entries_for(kind: &GroupVersionKind, object: &ObjectKey) -> [String; 2] {
    let entry = |name: &str| entry(&kind.group, &kind.kind, &object.namespace, name);
    [entry(&object.name), entry(ANY)]
}

/// The versions in which a binding's note names the object, or labels that the object has, in the order of the note; none
/// if it does not. What every server makes for itself is there already wherever it is referred to.
#[must_use]
pub fn versions_named(binding: &Object, kind: &GroupVersionKind, object: &Object) -> Vec<String> {
    if is_server_owned(object) {
        return Vec::new();
    }
    let namespace = binding.namespace();
    let noted = noted_on(binding).into_iter();
    noted
        .filter(|reference| dependencies::means(reference, namespace, kind, object))
        .map(|reference| dependencies::version_of(&reference).to_owned())
        .collect()
}

/// The objects that a binding names; those it finds by labels are not among them.
#[must_use]
pub fn named_by(binding: &Object) -> Vec<DependencyKey> {
    noted_on(binding)
        .into_iter()
        .filter(|reference| !reference.name.is_empty() && is_at_home(reference, binding))
        .map(|reference| DependencyKey {
            namespace: binding.namespace().to_owned(),
            group: group_of(&reference).to_owned(),
            kind: reference.kind,
            object: ObjectKey::namespaced(reference.namespace, reference.name),
        })
        .collect()
}

fn entry(group: &str, kind: &str, namespace: &str, name: &str) -> String {
    format!("{group}/{kind}/{namespace}/{name}")
}

//! What a template brings along: which objects its references mean, and what their bindings say.
//!
//! The controllers that write it and whoever foretells it decide by these functions alike.

use api::{
    config::DependentObjectReference,
    policy::ConflictResolution,
    work::v1alpha2::{BindingSnapshot, ObjectReference, ResourceBindingSpec, TargetCluster},
};
use object::{GroupVersionKind, Object, ObjectKey, field::FieldPath, selector::Selector};

use crate::targets;

/// What those who refer to an object want of its binding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wishes {
    /// Whether what others have put into a cluster is taken over.
    pub conflict_resolution: Option<ConflictResolution>,
    /// Whether clusters keep it when it is withdrawn.
    pub preserve: Option<bool>,
    /// What they disagree about, in words.
    pub disagreement: Option<String>,
}

/// Whether a binding wants what its template refers to on its clusters: it is somewhere, and its policy says so.
#[must_use]
pub fn is_referrer(spec: &ResourceBindingSpec) -> bool {
    spec.propagate_deps && (!spec.clusters.is_empty() || targets::left(spec).next().is_some())
}

/// Whether what is referred to is in the namespace of the binding. Nothing else is sent after a template: a binding is for
/// objects of its own namespace alone, and so is what it brings along.
#[must_use]
pub fn is_at_home(reference: &DependentObjectReference, namespace: &str) -> bool {
    reference.namespace == namespace
}

/// Whether a reference of a binding in a namespace means an object: by its name, or by labels that it has. The version
/// of the kind says how it goes along, not whether.
#[must_use]
pub fn means(
    reference: &DependentObjectReference,
    namespace: &str,
    kind: &GroupVersionKind,
    object: &Object,
) -> bool {
    let fits = group_of(reference) == kind.group
        && reference.kind == kind.kind
        && is_at_home(reference, namespace)
        && reference.namespace == object.namespace();
    fits && match &reference.label_selector {
        _ if !reference.name.is_empty() => reference.name == object.name(),
        None => false,
        Some(labels) => labels
            .compile(&FieldPath::new("labelSelector"))
            .is_ok_and(|labels: Selector| labels.matches(|key| object.label(key))),
    }
}

/// The group of the kind that is referred to.
#[must_use]
pub fn group_of(reference: &DependentObjectReference) -> &str {
    let (group, _) = reference
        .api_version
        .split_once('/')
        .unwrap_or(("", &reference.api_version));
    group
}

/// The version of the kind that a reference names.
#[must_use]
pub fn version_of(reference: &DependentObjectReference) -> &str {
    let api_version = reference.api_version.as_str();
    api_version
        .rsplit_once('/')
        .map_or(api_version, |(_, version)| version)
}

/// The version in which an object goes along: of those that references name, in the order of who refers to it, the one its
/// binding is in already if that is among them, else the first. What is served in none of them stays in the one it is in;
/// `None` where that is not served either, and the one that the server likes best is as good as any.
#[must_use]
pub fn version<'v>(
    named: &[&'v str],
    current: Option<&'v str>,
    is_served: impl Fn(&str) -> bool,
) -> Option<&'v str> {
    let current = current.filter(|current| is_served(current));
    let mut served = named.iter().copied().filter(|named| is_served(named));
    let stays = current.filter(|current| named.contains(current));
    stays.or_else(|| served.next()).or(current)
}

/// What the binding of an object notes of one that refers to it: where it is to be, and where it still is until another copy
/// has taken over. What a copy needs goes with the copy and not before.
///
/// Upstream: only where it is to be.
#[must_use]
pub fn snapshot(key: &ObjectKey, spec: &ResourceBindingSpec) -> BindingSnapshot {
    let mut clusters = spec.clusters.clone();
    for task in targets::left(spec) {
        if clusters.iter().all(|known| known.name != task.from_cluster) {
            clusters.push(TargetCluster {
                name: task.from_cluster.clone(),
                replicas: task.replicas.unwrap_or_default(),
            });
        }
    }
    BindingSnapshot {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        clusters,
    }
}

/// The object that a binding is about.
#[must_use]
pub fn resource(dependency: &Object) -> ObjectReference {
    ObjectReference {
        api_version: dependency.api_version().to_owned(),
        kind: dependency.kind().to_owned(),
        namespace: dependency.namespace().to_owned(),
        name: dependency.name().to_owned(),
        uid: dependency.uid().to_owned(),
        resource_version: dependency.resource_version().to_owned(),
    }
}

/// Whoever wants more has it: overwriting before aborting, keeping before deleting. Nobody wants anything of an object
/// that nobody refers to.
#[must_use]
pub fn wishes<'s>(referrers: impl IntoIterator<Item = &'s ResourceBindingSpec>) -> Wishes {
    let (mut all, mut overwriting, mut preserving) = (0_usize, 0, 0);
    for spec in referrers {
        all += 1;
        overwriting += usize::from(spec.conflict_resolution == Some(ConflictResolution::Overwrite));
        preserving += usize::from(spec.preserve_resources_on_deletion == Some(true));
    }
    let mut disagreements = Vec::new();
    // Upstream: who watches for these events looks for just these words.
    for (words, number) in [
        (
            "ConflictResolution conflicted (Overwrite vs Abort)",
            overwriting,
        ),
        (
            "PreserveResourcesOnDeletion conflicted (true vs false)",
            preserving,
        ),
    ] {
        if number != 0 && number != all {
            disagreements.push(words);
        }
    }
    Wishes {
        // Where nobody refers to it: what the schema fills in where nothing is said.
        conflict_resolution: Some(match overwriting > 0 {
            true => ConflictResolution::Overwrite,
            false => ConflictResolution::Abort,
        }),
        preserve: (all > 0).then_some(preserving > 0),
        disagreement: (!disagreements.is_empty()).then(|| {
            format!(
                "the bindings that refer to this one disagree, and whoever wants more has it: {}",
                disagreements.join("; ")
            )
        }),
    }
}

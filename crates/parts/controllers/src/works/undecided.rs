//! The clusters whose share of the replicas nobody has decided about yet.
//!
//! A template becomes a workload while it runs when somebody teaches the control plane how to count replicas of its kind.
//! The binding says so in one write and the scheduler divides them in another. In between its clusters have no shares, and
//! to read that as none would stop what runs in all of them.

use std::collections::{BTreeMap, BTreeSet};

use api::{
    names, twins::BindingView, well_known::annotations::APPLIED_PLACEMENT,
    work::v1alpha2::TargetCluster,
};
use object::Object;
use schedule::intake::Glance;

use crate::works::plan::live;

/// By cluster the replicas that it goes on with until its share is decided; `None` if nothing is known of them, so that
/// its work, be there one or not, is left alone.
pub(super) type Undecided = BTreeMap<String, Option<i32>>;

/// The clusters that were chosen before there were replicas to be divided, while a decision about these is to come.
///
/// Where one cluster has a share, a share of none is what was decided too. One that the scheduler never decided about has
/// its clusters from somebody else, and what they say counts.
///
/// Upstream: they get none for a moment, or for as long as the scheduler finds no place for them.
pub(super) fn clusters<'b>(binding: &BindingView<'b>) -> BTreeSet<&'b str> {
    let spec = binding.spec;
    let glance = Glance::from(binding);
    let was_decided = glance.observed_generation > 0
        || binding.metadata.annotations.contains_key(APPLIED_PLACEMENT);
    let is_to_come = was_decided && glance.is_wanted() && !glance.is_decided();
    let is_shared = spec.clusters.iter().any(|target| target.replicas != 0);
    if spec.replicas <= 0 || is_shared || !is_to_come {
        return BTreeSet::new();
    }
    let names = spec.clusters.iter().map(|target| target.name.as_str());
    names.collect()
}

/// What a cluster has by now, of the works of a binding.
pub(super) fn manifest(works: &[&Object], cluster: &str) -> Option<Object> {
    let mut works = live(works);
    let work =
        works.find(|work| names::cluster_of_execution_space(work.namespace()) == Some(cluster))?;
    let manifest = work.at(&["spec", "workload", "manifests"])?.get(0)?;
    Object::from_value(manifest.clone()).ok()
}

/// The replicas that a target gets now: its share, or what it has as long as that is not decided; `None` if its work is to
/// be left alone.
pub(super) fn replicas(undecided: &Undecided, target: &TargetCluster) -> Option<i32> {
    match undecided.get(&target.name) {
        Some(present) => *present,
        None => Some(target.replicas),
    }
}

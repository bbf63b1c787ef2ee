//! Clusters that a division goes without because they do not serve the template's kind yet.
//!
//! A custom object often comes together with its definition, and members do not begin to serve it all at once. A
//! binding that is divided by weights notes who could not take part for that reason and no other; when one of those
//! serves the kind, replicas are divided anew. Nothing else that happens to a cluster tears a settled division up.
//!
//! The note is part of the binding, so whoever looks at it later, after a restart too, comes to the same answer.
//!
//! Upstream: has no such note; what was divided among the first members stays with them.

use crate::{
    binding::{BindingView, is_counted},
    cluster::Snapshot,
    cycle::Cycle,
    diagnosis::{Attempt, FilterRefusal},
    placement::Strategy,
    reason::Reason,
};

/// The annotation of a binding that names the clusters, with commas in between. Ours alone.
pub const ANNOTATION: &str = "karavel.io/clusters-without-kind";

/// How many clusters are noted at most, the first by name: 100 names of 48 characters are a small part of what an
/// object may be annotated with. When one of them comes, those after them move up.
const NOTED: usize = 100;

/// Whether a cluster that the binding waits for serves its kind now.
pub(crate) fn has_come(binding: &BindingView<'_>, clusters: &Snapshot) -> bool {
    let resource = &binding.spec.resource;
    noted(binding).any(|name| {
        let cluster = clusters.position(name).and_then(|at| clusters.at(at));
        cluster.is_some_and(|cluster| {
            !cluster.is_deleting && cluster.apis.has(&resource.api_version, &resource.kind)
        })
    })
}

/// Whether the binding waits for the cluster called `name`.
pub(crate) fn is_noted(binding: &BindingView<'_>, name: &str) -> bool {
    noted(binding).any(|noted| noted == name)
}

/// The note to make about a decision that succeeded with `attempt`; empty if there is nothing to wait for.
///
/// Copies go to newcomers anyway, and what is gathered on few clusters is where it shall be.
pub(crate) fn note(cycle: &Cycle<'_>, attempt: &Attempt) -> String {
    let is_weighted = matches!(
        cycle.inputs.placement.strategy,
        Strategy::StaticWeight(_) | Strategy::DynamicWeight
    );
    if !is_weighted || attempt.refusals.is_empty() || !is_counted(cycle.binding()) {
        return String::new();
    }
    let refused = attempt.refusals.chunk_by(|a, b| a.cluster == b.cluster);
    let waiting = refused.filter_map(|refusals| match refusals {
        [
            FilterRefusal {
                cluster,
                reason: Reason::ApiMissing,
                ..
            },
        ] => cycle.inputs.clusters.at(*cluster),
        _ => None,
    });
    let names: Vec<&str> = waiting.take(NOTED).map(|cluster| &*cluster.name).collect();
    names.join(",")
}

fn noted<'a>(binding: &BindingView<'a>) -> impl Iterator<Item = &'a str> {
    let note = binding.metadata.annotations.get(ANNOTATION);
    let names = note.map_or("", String::as_str).split(',');
    names.filter(|name| !name.is_empty())
}

//! What kinds with `spec.replicas` and `spec.template` have in common.

use api::config::DependentObjectReference;
use object::Object;

use crate::{
    error::RuleError,
    native::{Options, put},
    node::Node,
    pod,
    rules::Replicas,
};

const REPLICAS: [&str; 2] = ["spec", "replicas"];

/// Where most workloads have their pod spec.
pub(crate) const POD_SPEC: [&str; 3] = ["spec", "template", "spec"];

/// As many as the template says; none if it says nothing, because a server that knows the kind would have said it.
pub(crate) fn replicas(template: &Object, options: Options) -> Result<Replicas, RuleError> {
    let root = Node::of(template);
    Ok(Replicas {
        replicas: root.at(&REPLICAS)?.count()?.unwrap_or_default(),
        requirements: pod::requirements(root.at(&POD_SPEC)?, options)?,
    })
}

/// Sets the number of replicas.
pub(crate) fn revise(template: Object, replicas: i32) -> Result<Object, RuleError> {
    revise_at(template, &REPLICAS, replicas)
}

/// Sets a number that is there; a template that leaves it to others goes on doing so.
pub(crate) fn revise_at(
    mut template: Object,
    path: &[&str],
    replicas: i32,
) -> Result<Object, RuleError> {
    if Node::of(&template).at(path)?.integer()?.is_some() {
        put(&mut template, path, replicas)?;
    }
    Ok(template)
}

/// What the pods refer to.
pub(crate) fn dependencies(template: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
    dependencies_at(template, &POD_SPEC)
}

/// What the pods refer to whose spec is at `path`.
pub(crate) fn dependencies_at(
    template: &Object,
    path: &[&str],
) -> Result<Vec<DependentObjectReference>, RuleError> {
    pod::references(Node::of(template).at(path)?, template.namespace())
}

/// Whether the status is about the latest generation.
pub(crate) fn is_observed(root: Node<'_, '_>) -> Result<bool, RuleError> {
    let latest = root.at(&["metadata", "generation"])?.integer()?;
    let observed = root.at(&["status", "observedGeneration"])?.integer()?;
    Ok(observed.unwrap_or_default() == latest.unwrap_or_default())
}

/// Whether the latest generation is running in full: all replicas are of it, and all of those are available.
pub(crate) fn is_rolled_out(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    if !is_observed(root)? {
        return Ok(false);
    }
    let updated = status_count(root, "updatedReplicas")?;
    let available = status_count(root, "availableReplicas")?;
    let wanted = root.at(&REPLICAS)?.integer()?;
    Ok(wanted.is_none_or(|wanted| updated >= wanted) && available >= updated)
}

/// A number in the status; zero if it is not there.
pub(crate) fn status_count(root: Node<'_, '_>, name: &str) -> Result<i64, RuleError> {
    Ok(root.at(&["status", name])?.integer()?.unwrap_or_default())
}

//! Argo's Workflow.

use api::config::DependentObjectReference;
use object::Object;

use crate::{
    error::RuleError,
    native::Options,
    node::Node,
    pod::{self, core},
    rules::Replicas,
    table::{KindRules, put},
};

pub(super) const RULES: KindRules = KindRules {
    replicas: Some(replicas),
    revise: Some(revise),
    retain: Some(retain),
    is_healthy: Some(is_healthy),
    dependencies: Some(dependencies),
    ..KindRules::of("argoproj.io/v1alpha1", "Workflow")
};

const PARALLELISM: [&str; 2] = ["spec", "parallelism"];

/// As many pods as may run at once. What each step requests is not known before it runs; where it may run is.
fn replicas(template: &Object, options: Options) -> Result<Replicas, RuleError> {
    let root = Node::of(template);
    Ok(Replicas {
        replicas: root.at(&PARALLELISM)?.count()?.unwrap_or(1),
        requirements: pod::requirements(root.at(&["spec"])?, options)?,
    })
}

fn revise(mut template: Object, replicas: i32) -> Result<Object, RuleError> {
    put(&mut template, &PARALLELISM, replicas)?;
    Ok(template)
}

/// Leaves to the member whether the workflow is halted, and the status, which it has no subresource for.
fn retain(mut desired: Object, observed: &Object) -> Result<Object, RuleError> {
    for path in [["spec", "suspend"].as_slice(), &["status"]] {
        if let Some(value) = Node::of(observed).at(path)?.raw() {
            put(&mut desired, path, value.clone())?;
        }
    }
    Ok(desired)
}

fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    let phase = root.at(&["status", "phase"])?;
    Ok(!matches!(phase.text_or_empty()?, "" | "Error" | "Failed"))
}

/// Volumes, accounts and secrets that all steps share, and the claims that are made for them.
fn dependencies(template: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
    let root = Node::of(template);
    let namespace = template.namespace();
    let spec = root.at(&["spec"])?;
    let mut references = pod::references(spec, namespace)?;
    let executor = spec.at(&["executor", "serviceAccountName"])?;
    let account = executor.text_or_empty()?;
    if !account.is_empty() {
        references.push(core("ServiceAccount", namespace, account));
    }
    for claim in spec.at(&["volumeClaimTemplates"])?.list()? {
        let name = claim.at(&["metadata", "name"])?.text_or_empty()?;
        if !name.is_empty() {
            references.push(core("PersistentVolumeClaim", namespace, name));
        }
    }
    Ok(references)
}

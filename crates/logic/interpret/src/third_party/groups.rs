//! Templates with several kinds of pod: how many of each, and what one needs.

use api::{
    config::DependentObjectReference,
    work::v1alpha2::{Component, ComponentReplicaRequirements},
};

use crate::{error::RuleError, native::Options, node::Node, pod};

/// A component of pods from a template.
pub(super) fn component(
    name: &str,
    replicas: i32,
    template: Node<'_, '_>,
    options: Options,
) -> Result<Component, RuleError> {
    let needs = pod::requirements(template.at(&["spec"])?, options)?;
    Ok(Component {
        name: name.to_owned(),
        replicas,
        replica_requirements: needs.map(|needs| ComponentReplicaRequirements {
            node_claim: needs.node_claim,
            resource_request: needs.resource_request,
            priority_class_name: needs.priority_class_name,
        }),
    })
}

/// A number of replicas, which some operators let users write as text; `default` where nothing is said.
pub(super) fn replicas(node: Node<'_, '_>, default: i32) -> Result<i32, RuleError> {
    if let Ok(Some(text)) = node.text() {
        if text.is_empty() {
            return Ok(default);
        }
        return text
            .parse()
            .ok()
            .filter(|count| *count >= 0)
            .ok_or_else(|| node.wrong(format!("{text:?} is no number of replicas")));
    }
    Ok(node.count()?.unwrap_or(default))
}

/// What the pods of a template refer to.
pub(super) fn references(
    template: Node<'_, '_>,
    namespace: &str,
) -> Result<Vec<DependentObjectReference>, RuleError> {
    pod::references(template.at(&["spec"])?, namespace)
}

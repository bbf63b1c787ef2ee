//! What a pod needs from a cluster: resources, and nodes it may run on.

use api::work::v1alpha2::{NodeClaim, ReplicaRequirements};
use object::parse;

use crate::{error::RuleError, native::Options, node::Node, pod::requests::requests};

/// What one pod of this spec needs, or `None` if it can run anywhere.
pub(crate) fn requirements(
    spec: Node<'_, '_>,
    options: Options,
) -> Result<Option<ReplicaRequirements>, RuleError> {
    let node_claim = node_claim(spec)?;
    let resource_request = requests(spec)?;
    if node_claim.is_none() && resource_request.is_empty() {
        return Ok(None);
    }
    let priority_class_name = if options.resource_quota_estimate {
        spec.at(&["priorityClassName"])?.text_or_empty()?.to_owned()
    } else {
        String::new()
    };
    Ok(Some(ReplicaRequirements {
        node_claim,
        resource_request,
        namespace: String::new(),
        priority_class_name,
    }))
}

fn node_claim(spec: Node<'_, '_>) -> Result<Option<NodeClaim>, RuleError> {
    const REQUIRED_AFFINITY: [&str; 3] = [
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
    ];
    let claim = NodeClaim {
        hard_node_affinity: spec.at(&REQUIRED_AFFINITY)?.read(parse::shape)?,
        node_selector: spec
            .at(&["nodeSelector"])?
            .read(parse::shape)?
            .unwrap_or_default(),
        tolerations: spec
            .at(&["tolerations"])?
            .read(parse::shape)?
            .unwrap_or_default(),
    };
    Ok((claim != NodeClaim::default()).then_some(claim))
}

//! Messages from what bindings say.

use std::collections::BTreeMap;

use api::work::v1alpha2 as work;
use object::quantity::Quantity;

use crate::{
    kubernetes,
    message::{Component, ComponentRequirements, NodeClaim, ObjectReference, ReplicaRequirements},
};

impl ReplicaRequirements {
    /// What one replica of a binding needs.
    #[must_use]
    pub fn of(needs: &work::ReplicaRequirements) -> Self {
        let request = requests(&needs.resource_request);
        Self {
            node_claim: needs.node_claim.as_ref().map(NodeClaim::of),
            request_bytes: request.clone(),
            request,
            namespace: needs.namespace.clone(),
            priority_class: needs.priority_class_name.clone(),
        }
    }
}

impl Component {
    /// A component of a binding.
    #[must_use]
    pub fn of(component: &work::Component) -> Self {
        let needs = component.replica_requirements.as_ref().map(|needs| {
            let request = requests(&needs.resource_request);
            ComponentRequirements {
                node_claim: needs.node_claim.as_ref().map(NodeClaim::of),
                request_bytes: request.clone(),
                request,
                priority_class: needs.priority_class_name.clone(),
            }
        });
        Self {
            name: component.name.clone(),
            requirements: needs,
            replicas: component.replicas,
        }
    }

    /// A component of which only amounts are known, each written as a quantity.
    #[must_use]
    pub fn of_amounts(
        amounts: impl IntoIterator<Item = (String, String)>,
        priority_class: &str,
        replicas: i32,
    ) -> Self {
        let encode = |(name, text)| (name, kubernetes::quantity(text));
        let request: BTreeMap<String, Vec<u8>> = amounts.into_iter().map(encode).collect();
        Self {
            name: String::new(),
            requirements: Some(ComponentRequirements {
                node_claim: None,
                request_bytes: request.clone(),
                request,
                priority_class: priority_class.to_owned(),
            }),
            replicas,
        }
    }
}

impl NodeClaim {
    /// Which nodes a replica can run on.
    #[must_use]
    pub fn of(claim: &work::NodeClaim) -> Self {
        let affinity = claim.hard_node_affinity.as_ref();
        let affinity = affinity.map(kubernetes::node_selector);
        let tolerations = claim.tolerations.iter().map(kubernetes::toleration);
        let tolerations: Vec<Vec<u8>> = tolerations.collect();
        Self {
            affinity_bytes: affinity.clone().unwrap_or_default(),
            affinity,
            selector: claim.node_selector.clone(),
            tolerations_bytes: tolerations.clone(),
            tolerations,
        }
    }
}

impl ObjectReference {
    /// The template of a binding.
    #[must_use]
    pub fn of(resource: &work::ObjectReference) -> Self {
        Self {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            namespace: resource.namespace.clone(),
            name: resource.name.clone(),
        }
    }
}

fn requests<'a>(
    list: impl IntoIterator<Item = (&'a String, &'a Quantity)>,
) -> BTreeMap<String, Vec<u8>> {
    let encode = |(name, quantity): (&String, &Quantity)| {
        (name.clone(), kubernetes::quantity(quantity.to_string()))
    };
    list.into_iter().map(encode).collect()
}

//! What messages say, in the words of bindings.

use std::collections::BTreeMap;

use api::{kubernetes::ResourceList, work::v1alpha2 as work};

use crate::{
    kubernetes::{self, DecodeError},
    message::{Component, NodeClaim, ReplicaRequirements},
};

/// A field of a message that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{field} cannot be read")]
pub struct ReadError {
    field: String,
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl ReadError {
    fn at(field: impl Into<String>) -> impl FnOnce(DecodeError) -> Self {
        let field = field.into();
        move |source| Self {
            field,
            source: Box::new(source),
        }
    }
}

impl ReplicaRequirements {
    /// What one replica needs.
    pub fn read(&self) -> Result<work::ReplicaRequirements, ReadError> {
        Ok(work::ReplicaRequirements {
            node_claim: self.node_claim.as_ref().map(NodeClaim::read).transpose()?,
            resource_request: request(&self.request, &self.request_bytes)?,
            namespace: self.namespace.clone(),
            priority_class_name: self.priority_class.clone(),
        })
    }
}

impl Component {
    /// The component.
    pub fn read(&self) -> Result<work::Component, ReadError> {
        let needs = self.requirements.as_ref().map(|needs| {
            Ok::<_, ReadError>(work::ComponentReplicaRequirements {
                node_claim: needs.node_claim.as_ref().map(NodeClaim::read).transpose()?,
                resource_request: request(&needs.request, &needs.request_bytes)?,
                priority_class_name: needs.priority_class.clone(),
            })
        });
        Ok(work::Component {
            name: self.name.clone(),
            replicas: self.replicas,
            replica_requirements: needs.transpose()?,
        })
    }
}

impl NodeClaim {
    /// Which nodes a replica can run on.
    pub fn read(&self) -> Result<work::NodeClaim, ReadError> {
        let affinity = match (&self.affinity_bytes[..], &self.affinity) {
            ([], None) => None,
            ([], Some(typed)) => Some(&typed[..]),
            (bytes, _) => Some(bytes),
        };
        let affinity = affinity.map(kubernetes::read_node_selector).transpose();
        let tolerations = if self.tolerations_bytes.is_empty() {
            &self.tolerations
        } else {
            &self.tolerations_bytes
        };
        let toleration = |(index, bytes): (usize, &Vec<u8>)| {
            kubernetes::read_toleration(bytes)
                .map_err(ReadError::at(format!("nodeClaim.tolerations[{index}]")))
        };
        Ok(work::NodeClaim {
            hard_node_affinity: affinity.map_err(ReadError::at("nodeClaim.nodeAffinity"))?,
            node_selector: self.selector.clone(),
            tolerations: tolerations
                .iter()
                .enumerate()
                .map(toleration)
                .collect::<Result<_, _>>()?,
        })
    }
}

/// The quantities in the newer field, or in the older one if there are none.
fn request(
    typed: &BTreeMap<String, Vec<u8>>,
    bytes: &BTreeMap<String, Vec<u8>>,
) -> Result<ResourceList, ReadError> {
    let entries = if bytes.is_empty() { typed } else { bytes };
    let read = |(name, bytes): (&String, &Vec<u8>)| {
        let quantity = kubernetes::read_quantity(bytes)
            .map_err(ReadError::at(format!("resourceRequest[{name}]")))?;
        Ok((name.clone(), quantity))
    };
    entries.iter().map(read).collect()
}

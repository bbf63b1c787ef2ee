//! The messages of the estimators' protocol, written by hand.
//!
//! Names, tags and types are those of the reference's `estimator.proto`. Fields that hold Kubernetes' own messages are
//! bytes here: on the wire a message inside another is its length and its bytes, so the older typed fields and the newer
//! fields of bytes carry the same, and a writer fills both with one encoding.

use std::collections::BTreeMap;

use api::{
    kubernetes::scheduling::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Toleration},
    work::v1alpha2 as work,
};
use estimate::{Assumed, Component as Promised, Resource};
use object::quantity::Quantity;
use prost::Message as _;

/// Where calls go.
pub(crate) mod path {
    pub(crate) const MAX_REPLICAS: &str =
        "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator/MaxAvailableReplicas";
    pub(crate) const MAX_SETS: &str =
        "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator/MaxAvailableComponentSets";
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct MaxReplicasRequest {
    #[prost(string, tag = "1")]
    pub(crate) cluster: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) requirements: Option<ReplicaRequirements>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) assumed: Vec<AssumedWorkload>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct MaxSetsRequest {
    #[prost(string, tag = "1")]
    pub(crate) cluster: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) components: Vec<Component>,
    #[prost(string, tag = "3")]
    pub(crate) namespace: String,
    #[prost(message, repeated, tag = "4")]
    pub(crate) assumed: Vec<AssumedWorkload>,
}

/// The answer to either question: how many.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Count {
    #[prost(int32, tag = "1")]
    pub(crate) count: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ReplicaRequirements {
    #[prost(message, optional, tag = "1")]
    pub(crate) node_claim: Option<NodeClaim>,
    #[prost(btree_map = "string, bytes", tag = "2")]
    pub(crate) request: BTreeMap<String, Vec<u8>>,
    #[prost(string, tag = "3")]
    pub(crate) namespace: String,
    #[prost(string, tag = "4")]
    pub(crate) priority_class: String,
    #[prost(btree_map = "string, bytes", tag = "5")]
    pub(crate) request_bytes: BTreeMap<String, Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ComponentRequirements {
    #[prost(message, optional, tag = "1")]
    pub(crate) node_claim: Option<NodeClaim>,
    #[prost(btree_map = "string, bytes", tag = "2")]
    pub(crate) request: BTreeMap<String, Vec<u8>>,
    #[prost(string, tag = "3")]
    pub(crate) priority_class: String,
    #[prost(btree_map = "string, bytes", tag = "4")]
    pub(crate) request_bytes: BTreeMap<String, Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Component {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) requirements: Option<ComponentRequirements>,
    #[prost(int32, tag = "3")]
    pub(crate) replicas: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct AssumedWorkload {
    #[prost(string, tag = "1")]
    pub(crate) namespace: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) components: Vec<Component>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct NodeClaim {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(crate) affinity: Option<Vec<u8>>,
    #[prost(btree_map = "string, string", tag = "2")]
    pub(crate) selector: BTreeMap<String, String>,
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub(crate) tolerations: Vec<Vec<u8>>,
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) affinity_bytes: Vec<u8>,
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub(crate) tolerations_bytes: Vec<Vec<u8>>,
}

/// Kubernetes' own messages, of which only the bytes travel.
mod kubernetes {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Quantity {
        #[prost(string, optional, tag = "1")]
        pub(super) text: Option<String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct NodeSelector {
        #[prost(message, repeated, tag = "1")]
        pub(super) terms: Vec<NodeSelectorTerm>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct NodeSelectorTerm {
        #[prost(message, repeated, tag = "1")]
        pub(super) expressions: Vec<NodeSelectorRequirement>,
        #[prost(message, repeated, tag = "2")]
        pub(super) fields: Vec<NodeSelectorRequirement>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct NodeSelectorRequirement {
        #[prost(string, optional, tag = "1")]
        pub(super) key: Option<String>,
        #[prost(string, optional, tag = "2")]
        pub(super) operator: Option<String>,
        #[prost(string, repeated, tag = "3")]
        pub(super) values: Vec<String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Toleration {
        #[prost(string, optional, tag = "1")]
        pub(super) key: Option<String>,
        #[prost(string, optional, tag = "2")]
        pub(super) operator: Option<String>,
        #[prost(string, optional, tag = "3")]
        pub(super) value: Option<String>,
        #[prost(string, optional, tag = "4")]
        pub(super) effect: Option<String>,
        #[prost(int64, optional, tag = "5")]
        pub(super) seconds: Option<i64>,
    }
}

/// What one replica of a binding needs.
pub(crate) fn requirements(needs: &work::ReplicaRequirements) -> ReplicaRequirements {
    let request = requests(&needs.resource_request);
    ReplicaRequirements {
        node_claim: needs.node_claim.as_ref().map(claim),
        request_bytes: request.clone(),
        request,
        namespace: needs.namespace.clone(),
        priority_class: needs.priority_class_name.clone(),
    }
}

/// A component of a binding.
pub(crate) fn component(component: &work::Component) -> Component {
    let needs = component.replica_requirements.as_ref().map(|needs| {
        let request = requests(&needs.resource_request);
        ComponentRequirements {
            node_claim: needs.node_claim.as_ref().map(claim),
            request_bytes: request.clone(),
            request,
            priority_class: needs.priority_class_name.clone(),
        }
    });
    Component {
        name: component.name.clone(),
        requirements: needs,
        replicas: component.replicas,
    }
}

/// What was promised on a cluster.
pub(crate) fn assumed(assumed: &Assumed) -> Vec<AssumedWorkload> {
    let component = |promised: &Promised| {
        let amounts = promised.request.iter().map(|(resource, amount)| {
            let text = match resource {
                Resource::Cpu => format!("{amount}m"),
                _ => amount.to_string(),
            };
            (resource.as_str().to_owned(), encoded(text))
        });
        let request: BTreeMap<String, Vec<u8>> = amounts.collect();
        Component {
            name: String::new(),
            requirements: Some(ComponentRequirements {
                node_claim: None,
                request_bytes: request.clone(),
                request,
                priority_class: promised.priority_class.clone(),
            }),
            replicas: i32::try_from(promised.replicas).unwrap_or(i32::MAX),
        }
    };
    let workloads = assumed.workloads().iter();
    workloads
        .map(|workload| AssumedWorkload {
            namespace: workload.namespace.clone(),
            components: workload.components.iter().map(component).collect(),
        })
        .collect()
}

fn requests<'a>(
    list: impl IntoIterator<Item = (&'a String, &'a Quantity)>,
) -> BTreeMap<String, Vec<u8>> {
    let entry =
        |(name, quantity): (&String, &Quantity)| (name.clone(), encoded(quantity.to_string()));
    list.into_iter().map(entry).collect()
}

fn encoded(quantity: String) -> Vec<u8> {
    let text = Some(quantity);
    kubernetes::Quantity { text }.encode_to_vec()
}

fn claim(claim: &work::NodeClaim) -> NodeClaim {
    let affinity = claim.hard_node_affinity.as_ref().map(node_selector);
    let tolerations: Vec<Vec<u8>> = claim.tolerations.iter().map(toleration).collect();
    NodeClaim {
        affinity_bytes: affinity.clone().unwrap_or_default(),
        affinity,
        selector: claim.node_selector.clone().into_iter().collect(),
        tolerations_bytes: tolerations.clone(),
        tolerations,
    }
}

fn node_selector(selector: &NodeSelector) -> Vec<u8> {
    let requirement = |from: &NodeSelectorRequirement| kubernetes::NodeSelectorRequirement {
        key: Some(from.key.clone()),
        operator: Some(from.operator.clone()),
        values: from.values.clone(),
    };
    let term = |term: &NodeSelectorTerm| kubernetes::NodeSelectorTerm {
        expressions: term.match_expressions.iter().map(requirement).collect(),
        fields: term.match_fields.iter().map(requirement).collect(),
    };
    let terms = selector.node_selector_terms.iter().map(term).collect();
    kubernetes::NodeSelector { terms }.encode_to_vec()
}

fn toleration(from: &Toleration) -> Vec<u8> {
    // Kubernetes writes texts also when they are empty; absent ones are left out there by pointers, which these are not.
    kubernetes::Toleration {
        key: Some(from.key.clone()),
        operator: Some(from.operator.clone()),
        value: Some(from.value.clone()),
        effect: Some(from.effect.clone()),
        seconds: from.toleration_seconds,
    }
    .encode_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_written_in_both_forms_of_the_protocol() {
        let needs: work::ReplicaRequirements = serde_json::from_value(serde_json::json!({
            "resourceRequest": {"cpu": "250m"}, "namespace": "shop", "priorityClassName": "high",
            "nodeClaim": {
                "nodeSelector": {"disk": "ssd"},
                "tolerations": [{"key": "gpu", "operator": "Exists"}],
            },
        }))
        .unwrap();
        let request = MaxReplicasRequest {
            cluster: "m1".to_owned(),
            requirements: Some(requirements(&needs)),
            assumed: Vec::new(),
        };
        let quantity = b"\x0a\x04250m";
        let entry = [b"\x0a\x03cpu\x12\x06".as_slice(), quantity].concat();
        let toleration = b"\x0a\x03gpu\x12\x06Exists\x1a\x00\x22\x00";
        let claim = [
            b"\x12\x0b\x0a\x04disk\x12\x03ssd".as_slice(),
            b"\x1a\x11",
            toleration,
            b"\x2a\x11",
            toleration,
        ]
        .concat();
        let expected = [
            b"\x0a\x02m1\x12".as_slice(),
            &[u8::try_from(2 + claim.len() + 2 * (2 + entry.len()) + 6 + 6).unwrap()],
            &[0x0a, u8::try_from(claim.len()).unwrap()],
            &claim,
            &[0x12, u8::try_from(entry.len()).unwrap()],
            &entry,
            b"\x1a\x04shop\x22\x04high",
            &[0x2a, u8::try_from(entry.len()).unwrap()],
            &entry,
        ]
        .concat();
        assert_eq!(request.encode_to_vec(), expected);
    }

    #[test]
    fn an_answer_is_one_number() {
        assert_eq!(Count::decode(b"\x08\x07".as_slice()).unwrap().count, 7);
        let nobody_knows = [
            0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
        ];
        assert_eq!(Count::decode(nobody_knows.as_slice()).unwrap().count, -1);
    }
}

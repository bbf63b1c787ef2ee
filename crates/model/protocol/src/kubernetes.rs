//! Kubernetes' own messages, of which only the bytes travel.

use api::kubernetes::scheduling as core;
use object::quantity::Quantity;
use prost::Message as _;

#[derive(Clone, PartialEq, prost::Message)]
struct QuantityMessage {
    #[prost(string, optional, tag = "1")]
    text: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct NodeSelector {
    #[prost(message, repeated, tag = "1")]
    terms: Vec<NodeSelectorTerm>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct NodeSelectorTerm {
    #[prost(message, repeated, tag = "1")]
    expressions: Vec<NodeSelectorRequirement>,
    #[prost(message, repeated, tag = "2")]
    fields: Vec<NodeSelectorRequirement>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct NodeSelectorRequirement {
    #[prost(string, optional, tag = "1")]
    key: Option<String>,
    #[prost(string, optional, tag = "2")]
    operator: Option<String>,
    #[prost(string, repeated, tag = "3")]
    values: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Toleration {
    #[prost(string, optional, tag = "1")]
    key: Option<String>,
    #[prost(string, optional, tag = "2")]
    operator: Option<String>,
    #[prost(string, optional, tag = "3")]
    value: Option<String>,
    #[prost(string, optional, tag = "4")]
    effect: Option<String>,
    #[prost(int64, optional, tag = "5")]
    seconds: Option<i64>,
}

/// Why bytes are none of Kubernetes' messages.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecodeError {
    #[error("cannot be decoded")]
    Bytes(#[from] prost::DecodeError),
    #[error("{text:?} is not a quantity")]
    Quantity { text: String },
}

/// A quantity as Kubernetes encodes it, given as it is written.
pub(crate) fn quantity(text: String) -> Vec<u8> {
    QuantityMessage { text: Some(text) }.encode_to_vec()
}

pub(crate) fn read_quantity(bytes: &[u8]) -> Result<Quantity, DecodeError> {
    let text = QuantityMessage::decode(bytes)?.text.unwrap_or_default();
    if text.is_empty() {
        return Ok(Quantity::ZERO);
    }
    text.parse().map_err(|_| DecodeError::Quantity { text })
}

pub(crate) fn node_selector(selector: &core::NodeSelector) -> Vec<u8> {
    let requirement = |from: &core::NodeSelectorRequirement| NodeSelectorRequirement {
        key: Some(from.key.clone()),
        operator: Some(from.operator.clone()),
        values: from.values.clone(),
    };
    let term = |term: &core::NodeSelectorTerm| NodeSelectorTerm {
        expressions: term.match_expressions.iter().map(requirement).collect(),
        fields: term.match_fields.iter().map(requirement).collect(),
    };
    let terms = selector.node_selector_terms.iter().map(term).collect();
    NodeSelector { terms }.encode_to_vec()
}

pub(crate) fn read_node_selector(bytes: &[u8]) -> Result<core::NodeSelector, DecodeError> {
    let requirement = |from: NodeSelectorRequirement| core::NodeSelectorRequirement {
        key: from.key.unwrap_or_default(),
        operator: from.operator.unwrap_or_default(),
        values: from.values,
    };
    let term = |term: NodeSelectorTerm| core::NodeSelectorTerm {
        match_expressions: term.expressions.into_iter().map(requirement).collect(),
        match_fields: term.fields.into_iter().map(requirement).collect(),
    };
    let selector = NodeSelector::decode(bytes)?;
    Ok(core::NodeSelector {
        node_selector_terms: selector.terms.into_iter().map(term).collect(),
    })
}

pub(crate) fn toleration(from: &core::Toleration) -> Vec<u8> {
    // Kubernetes writes texts also when they are empty; absent ones are left out there by pointers, which these are not.
    Toleration {
        key: Some(from.key.clone()),
        operator: Some(from.operator.clone()),
        value: Some(from.value.clone()),
        effect: Some(from.effect.clone()),
        seconds: from.toleration_seconds,
    }
    .encode_to_vec()
}

pub(crate) fn read_toleration(bytes: &[u8]) -> Result<core::Toleration, DecodeError> {
    let from = Toleration::decode(bytes)?;
    Ok(core::Toleration {
        key: from.key.unwrap_or_default(),
        operator: from.operator.unwrap_or_default(),
        value: from.value.unwrap_or_default(),
        effect: from.effect.unwrap_or_default(),
        toleration_seconds: from.seconds,
    })
}

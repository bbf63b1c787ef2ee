//! The messages, field by field as on the wire.
//!
//! Fields that hold Kubernetes' own messages are bytes here: on the wire a message inside another is its length and its
//! bytes, so the older typed fields and the newer fields of bytes carry the same.

use std::collections::BTreeMap;

/// How many replicas fit into a cluster?
#[derive(Clone, PartialEq, prost::Message)]
pub struct MaxReplicasRequest {
    /// The cluster that is meant; an estimator answers for one.
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// What each replica needs; absent if nothing is known of it.
    #[prost(message, optional, tag = "2")]
    pub requirements: Option<ReplicaRequirements>,
    /// What was given to others on that cluster and may not run yet.
    #[prost(message, repeated, tag = "3")]
    pub assumed: Vec<AssumedWorkload>,
}

/// How many whole sets of components fit into a cluster?
#[derive(Clone, PartialEq, prost::Message)]
pub struct MaxSetsRequest {
    /// The cluster that is meant.
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// One set.
    #[prost(message, repeated, tag = "2")]
    pub components: Vec<Component>,
    /// The namespace it runs in.
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// What was given to others on that cluster and may not run yet.
    #[prost(message, repeated, tag = "4")]
    pub assumed: Vec<AssumedWorkload>,
}

/// How many pods of a workload found no node for so long?
#[derive(Clone, PartialEq, prost::Message)]
pub struct UnschedulableRequest {
    /// The cluster that is meant.
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// The workload.
    #[prost(message, optional, tag = "2")]
    pub resource: Option<ObjectReference>,
    /// How long at least, in nanoseconds.
    #[prost(int64, tag = "3")]
    pub threshold_nanos: i64,
}

/// The answer to every question: how many.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Count {
    /// −1 is "no opinion".
    #[prost(int32, tag = "1")]
    pub count: i32,
}

/// What one replica needs.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ReplicaRequirements {
    /// Which nodes it can run on.
    #[prost(message, optional, tag = "1")]
    pub node_claim: Option<NodeClaim>,
    /// The resources it requests, in the older form.
    #[prost(btree_map = "string, bytes", tag = "2")]
    pub request: BTreeMap<String, Vec<u8>>,
    /// The namespace it runs in.
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// Its priority class.
    #[prost(string, tag = "4")]
    pub priority_class: String,
    /// The resources it requests.
    #[prost(btree_map = "string, bytes", tag = "5")]
    pub request_bytes: BTreeMap<String, Vec<u8>>,
}

/// What one replica of a component needs.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ComponentRequirements {
    /// Which nodes it can run on.
    #[prost(message, optional, tag = "1")]
    pub node_claim: Option<NodeClaim>,
    /// The resources it requests, in the older form.
    #[prost(btree_map = "string, bytes", tag = "2")]
    pub request: BTreeMap<String, Vec<u8>>,
    /// Its priority class.
    #[prost(string, tag = "3")]
    pub priority_class: String,
    /// The resources it requests.
    #[prost(btree_map = "string, bytes", tag = "4")]
    pub request_bytes: BTreeMap<String, Vec<u8>>,
}

/// One kind of pod within a set.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Component {
    /// Its name within the set.
    #[prost(string, tag = "1")]
    pub name: String,
    /// What one replica of it needs.
    #[prost(message, optional, tag = "2")]
    pub requirements: Option<ComponentRequirements>,
    /// How many of it a set has.
    #[prost(int32, tag = "3")]
    pub replicas: i32,
}

/// What was given to somebody shortly before.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AssumedWorkload {
    /// The namespace it runs in.
    #[prost(string, tag = "1")]
    pub namespace: String,
    /// Its pods.
    #[prost(message, repeated, tag = "2")]
    pub components: Vec<Component>,
}

/// Which nodes a pod can run on.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeClaim {
    /// The required node affinity, in the older form.
    #[prost(bytes = "vec", optional, tag = "1")]
    pub affinity: Option<Vec<u8>>,
    /// Labels a node must carry.
    #[prost(btree_map = "string, string", tag = "2")]
    pub selector: BTreeMap<String, String>,
    /// Taints that are put up with, in the older form.
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub tolerations: Vec<Vec<u8>>,
    /// The required node affinity.
    #[prost(bytes = "vec", tag = "4")]
    pub affinity_bytes: Vec<u8>,
    /// Taints that are put up with.
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub tolerations_bytes: Vec<Vec<u8>>,
}

/// An object by its names.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ObjectReference {
    /// Such as `apps/v1`.
    #[prost(string, tag = "1")]
    pub api_version: String,
    /// Such as `Deployment`.
    #[prost(string, tag = "2")]
    pub kind: String,
    /// Empty for objects without one.
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// Its name.
    #[prost(string, tag = "4")]
    pub name: String,
}

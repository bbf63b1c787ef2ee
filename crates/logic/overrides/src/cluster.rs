//! Clusters as override rules look at them.

use std::collections::BTreeMap;

use api::cluster::Cluster;

/// What a rule may ask about a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterFacts<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its labels.
    pub labels: &'a BTreeMap<String, String>,
    /// Who runs it; empty if not said.
    pub provider: &'a str,
    /// Where it is; empty if not said.
    pub region: &'a str,
    /// The failure domains it spans.
    pub zones: &'a [String],
}

impl<'a> From<&'a Cluster> for ClusterFacts<'a> {
    fn from(cluster: &'a Cluster) -> Self {
        Self {
            name: &cluster.metadata.name,
            labels: &cluster.metadata.labels,
            provider: &cluster.spec.provider,
            region: &cluster.spec.region,
            zones: &cluster.spec.zones,
        }
    }
}

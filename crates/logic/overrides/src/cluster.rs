//! Clusters as override rules look at them.

use std::collections::BTreeMap;

use api::{affinity::ClusterTraits, cluster::Cluster};

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

impl ClusterTraits for ClusterFacts<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    fn provider(&self) -> &str {
        self.provider
    }

    fn region(&self) -> &str {
        self.region
    }

    fn has_zone_of(&self, zones: &[String]) -> bool {
        self.zones.iter().any(|zone| zones.contains(zone))
    }

    fn has_zones(&self) -> bool {
        !self.zones.is_empty()
    }
}

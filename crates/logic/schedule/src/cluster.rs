//! Clusters as decisions look at them: prepared once when a cluster changes, shared by all decisions until it does.

use std::{collections::BTreeSet, sync::Arc};

use api::{
    affinity::ClusterTraits,
    cluster::{ApiEnablement, Cluster},
    kubernetes::scheduling::Taint,
};
use estimate::Capacity;
use object::metadata::ObjectMeta;

/// What a decision may look at in a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterFacts {
    /// Its name.
    pub name: Arc<str>,
    /// Its labels, sorted by key.
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    /// Who runs it; empty if not said.
    pub provider: Arc<str>,
    /// Where it is; empty if not said.
    pub region: Arc<str>,
    /// The failure domains it spans.
    pub zones: Vec<Arc<str>>,
    /// Its taints, in the order of its spec.
    pub taints: Vec<Arc<Taint>>,
    /// The kinds it serves.
    pub apis: Arc<ApiSet>,
    /// What is left in it.
    pub capacity: Capacity,
    /// Whether it is about to go. Such a cluster gets nothing and loses what it has.
    pub is_deleting: bool,
}

impl ClusterFacts {
    /// The facts about `cluster`. What clusters have in common is kept once, in `pool`.
    #[must_use]
    pub fn of(cluster: &Cluster, pool: &mut Pool) -> Self {
        let ObjectMeta {
            name,
            labels,
            deletion_timestamp,
            ..
        } = &cluster.metadata;
        let labels = labels.iter();
        Self {
            name: name.as_str().into(),
            labels: labels
                .map(|(key, value)| (pool.text(key), pool.text(value)))
                .collect(),
            provider: pool.text(&cluster.spec.provider),
            region: pool.text(&cluster.spec.region),
            zones: cluster
                .spec
                .zones
                .iter()
                .map(|zone| pool.text(zone))
                .collect(),
            taints: cluster.spec.taints.iter().cloned().map(Arc::new).collect(),
            apis: pool.apis(ApiSet::of(&cluster.status.api_enablements)),
            capacity: Capacity::of(cluster),
            is_deleting: deletion_timestamp.is_some(),
        }
    }

    /// The value of a label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        // Clusters carry a handful of labels; a scan of neighbours beats a search.
        self.labels
            .iter()
            .find(|(name, _)| **name == *key)
            .map(|(_, value)| &**value)
    }
}

impl ClusterTraits for ClusterFacts {
    fn name(&self) -> &str {
        &self.name
    }

    fn label(&self, key: &str) -> Option<&str> {
        Self::label(self, key)
    }

    fn provider(&self) -> &str {
        &self.provider
    }

    fn region(&self) -> &str {
        &self.region
    }

    fn has_zone_of(&self, zones: &[String]) -> bool {
        self.zones
            .iter()
            .any(|zone| zones.iter().any(|wanted| **wanted == **zone))
    }

    fn has_zones(&self) -> bool {
        !self.zones.is_empty()
    }
}

/// The kinds a cluster serves.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApiSet {
    // Invariant: sorted, without duplicates.
    kinds: Vec<(Box<str>, Box<str>)>,
}

impl ApiSet {
    /// The kinds in the status of a cluster.
    #[must_use]
    pub fn of(enablements: &[ApiEnablement]) -> Self {
        let kinds: BTreeSet<(Box<str>, Box<str>)> = enablements
            .iter()
            .flat_map(|served| {
                served
                    .resources
                    .iter()
                    .map(move |resource| (served, resource))
            })
            .map(|(served, resource)| {
                (
                    served.group_version.as_str().into(),
                    resource.kind.as_str().into(),
                )
            })
            .collect();
        Self {
            kinds: kinds.into_iter().collect(),
        }
    }

    /// Whether `kind` of `group_version` is served.
    #[must_use]
    pub fn has(&self, group_version: &str, kind: &str) -> bool {
        self.kinds
            .binary_search_by(|(served, name)| (&**served, &**name).cmp(&(group_version, kind)))
            .is_ok()
    }
}

/// One copy of what clusters have in common: label texts, regions, sets of kinds.
///
/// A fleet is mostly clusters of a few versions with the same labels. Shared, these texts stay in the processor's
/// cache while a decision walks through thousands of clusters.
#[derive(Debug, Default)]
pub struct Pool {
    apis: Shared<ApiSet>,
    texts: Shared<str>,
}

impl Pool {
    /// The pool's copy of `set`.
    pub fn apis(&mut self, set: ApiSet) -> Arc<ApiSet> {
        self.apis
            .find(&set)
            .unwrap_or_else(|| self.apis.add(Arc::new(set)))
    }

    /// The pool's copy of `text`.
    pub fn text(&mut self, text: &str) -> Arc<str> {
        self.texts
            .find(text)
            .unwrap_or_else(|| self.texts.add(text.into()))
    }
}

#[derive(Debug)]
struct Shared<T: Ord + ?Sized> {
    values: BTreeSet<Arc<T>>,
    /// How many values were left after the last sweep.
    swept: usize,
}

impl<T: Ord + ?Sized> Default for Shared<T> {
    fn default() -> Self {
        Self {
            values: BTreeSet::new(),
            swept: 0,
        }
    }
}

impl<T: Ord + ?Sized> Shared<T> {
    fn find(&self, value: &T) -> Option<Arc<T>> {
        self.values.get(value).cloned()
    }

    fn add(&mut self, value: Arc<T>) -> Arc<T> {
        // What no cluster has any more goes when as much that is new has come, so upkeep costs little.
        if self.values.len() > 2 * self.swept + 64 {
            self.values.retain(|value| Arc::strong_count(value) > 1);
            self.swept = self.values.len();
        }
        self.values.insert(Arc::clone(&value));
        value
    }
}

/// All clusters at one moment. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    // Invariant: sorted by name, each once. A position therefore orders as the name does.
    clusters: Arc<[Arc<ClusterFacts>]>,
    names: Arc<[Arc<str>]>,
}

impl Snapshot {
    /// The clusters given, in any order; of two with one name the later counts.
    #[must_use]
    pub fn new(clusters: impl IntoIterator<Item = Arc<ClusterFacts>>) -> Self {
        let mut clusters: Vec<_> = clusters.into_iter().collect();
        clusters.sort_by(|a, b| a.name.cmp(&b.name));
        clusters.reverse();
        clusters.dedup_by(|a, b| a.name == b.name);
        clusters.reverse();
        Self {
            names: clusters
                .iter()
                .map(|cluster| Arc::clone(&cluster.name))
                .collect(),
            clusters: clusters.into(),
        }
    }

    /// The names of the clusters alone, in their order: for those who keep positions longer than clusters.
    #[must_use]
    pub fn names(&self) -> &Arc<[Arc<str>]> {
        &self.names
    }

    /// How many clusters there are, those about to go included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// The clusters by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ClusterFacts> {
        self.clusters.iter().map(|cluster| &**cluster)
    }

    /// The cluster at `position`.
    #[must_use]
    pub fn at(&self, position: usize) -> Option<&ClusterFacts> {
        self.clusters.get(position).map(|cluster| &**cluster)
    }

    /// The name of the cluster at `position`; empty for a position that does not exist.
    #[must_use]
    pub fn name(&self, position: usize) -> Arc<str> {
        self.clusters
            .get(position)
            .map_or_else(|| "".into(), |cluster| Arc::clone(&cluster.name))
    }

    /// Finds many names; quickest when they come in order, as most lists of targets do.
    #[must_use]
    pub fn finder(&self) -> Finder<'_> {
        Finder {
            clusters: self,
            expected: 0,
        }
    }

    /// Where the cluster called `name` stands.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.clusters
            .binary_search_by(|cluster| (*cluster.name).cmp(name))
            .ok()
    }
}

/// Finds clusters by name, one after another.
#[derive(Clone, Debug)]
pub struct Finder<'a> {
    clusters: &'a Snapshot,
    /// The position after the last one found.
    expected: usize,
}

impl Finder<'_> {
    /// Where the cluster called `name` stands.
    pub fn find(&mut self, name: &str) -> Option<usize> {
        let is_next = self
            .clusters
            .at(self.expected)
            .is_some_and(|cluster| *cluster.name == *name);
        let position = if is_next {
            self.expected
        } else {
            self.clusters.position(name)?
        };
        self.expected = position + 1;
        Some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::world::cluster;

    #[test]
    fn clusters_are_found_by_name_and_share_what_they_have_in_common() {
        let mut pool = Pool::default();
        let facts: Vec<Arc<ClusterFacts>> = ["c", "a", "b"]
            .map(|name| Arc::new(ClusterFacts::of(&cluster(name, 1), &mut pool)))
            .into();
        assert!(Arc::ptr_eq(&facts[0].apis, &facts[1].apis));
        assert!(
            facts[0].apis.has("apps/v1", "Deployment") && !facts[0].apis.has("v1", "Deployment")
        );
        let snapshot = Snapshot::new(facts);
        let names: Vec<&str> = snapshot.iter().map(|cluster| &*cluster.name).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let mut finder = snapshot.finder();
        let found: Vec<_> = ["a", "b", "x", "c", "a"]
            .map(|name| finder.find(name))
            .into();
        assert_eq!(found, [Some(0), Some(1), None, Some(2), Some(0)]);
        let mut roomier = (*Arc::new(ClusterFacts::of(&cluster("a", 1), &mut pool))).clone();
        roomier.is_deleting = true;
        let replaced = Snapshot::new(snapshot.iter().cloned().chain([roomier]).map(Arc::new));
        assert_eq!(
            (replaced.len(), replaced.at(0).unwrap().is_deleting),
            (3, true)
        );
    }
}

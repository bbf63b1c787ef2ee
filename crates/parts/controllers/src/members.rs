//! What is asked about members again and again.
//!
//! A cluster says what it serves, and so is large; every binding asks about the clusters it names. So what they ask is read
//! once from each change, and kept.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

use api::{
    cluster::{Cluster, ClusterSpec},
    kubernetes::scheduling::Taint,
    well_known::conditions::cluster::{CLUSTER_NOT_REACHABLE, READY},
};
use client::{Cache, Change, Subscription};
use object::{Object, ObjectMeta, Value};

/// The members there are; clones are the same.
#[derive(Clone, Debug)]
pub struct Members {
    known: Known,
    _told: Arc<Subscription>,
}

type Known = Arc<RwLock<HashMap<String, Arc<Member>>>>;

/// What is asked about a member.
#[derive(Debug)]
struct Member {
    traits: Arc<Cluster>,
    is_silent: bool,
    /// `None` if it is on its way out.
    taints: Option<Vec<Taint>>,
}

impl Members {
    /// Reads what comes and changes from now on. Whoever is told of a change after this finds what it says.
    pub(crate) fn follow(clusters: &Cache) -> Self {
        let known = Known::default();
        let noting = Arc::clone(&known);
        let told = clusters.on_change(move |change| note(&noting, change));
        Self {
            known,
            _told: Arc::new(told),
        }
    }

    /// What override rules may ask about the clusters of these names, of those that exist.
    #[must_use]
    pub fn named<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> BTreeMap<String, Arc<Cluster>> {
        let known = |name: &'n str| Some((name.to_owned(), Arc::clone(&self.find(name)?.traits)));
        names.into_iter().filter_map(known).collect()
    }

    /// Whether a member has fallen silent.
    #[must_use]
    pub fn is_silent(&self, name: &str) -> bool {
        self.find(name).is_some_and(|member| member.is_silent)
    }

    /// The taints of the clusters of these names, of those that exist and are to stay.
    #[must_use]
    pub fn taints<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> BTreeMap<String, Vec<Taint>> {
        let known = |name: &'n str| Some((name.to_owned(), self.find(name)?.taints.clone()?));
        names.into_iter().filter_map(known).collect()
    }

    fn find(&self, name: &str) -> Option<Arc<Member>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(name).cloned()
    }
}

fn note(known: &Known, change: &Change) {
    let member = change.after.as_deref().map(Member::of);
    let name = change.object().name().to_owned();
    let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
    match member {
        Some(member) => known.insert(name, Arc::new(member)),
        None => known.remove(&name),
    };
}

impl Member {
    fn of(cluster: &Object) -> Self {
        let taints = cluster.at(&["spec", "taints"]).and_then(Value::as_array);
        let taints = taints.into_iter().flatten();
        let taints = taints.filter_map(|taint| object::parse::shape(taint).ok());
        Self {
            traits: Arc::new(traits(cluster)),
            is_silent: is_silent(cluster),
            taints: (!cluster.is_terminating()).then(|| taints.collect()),
        }
    }
}

/// Whether a member has fallen silent, and its works say what it last said.
#[must_use]
pub fn is_silent(cluster: &Object) -> bool {
    let conditions = cluster
        .at(&["status", "conditions"])
        .and_then(Value::as_array);
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition.get("type").is_some_and(|name| name == READY));
    let Some(ready) = ready else {
        return false; // Nobody has reported yet.
    };
    let text = |field: &str| ready.get(field).and_then(Value::as_str).unwrap_or_default();
    text("status") == "Unknown" || text("reason") == CLUSTER_NOT_REACHABLE
}

/// What override rules may ask about a cluster; its status is large and none of their business.
#[must_use]
pub fn traits(cluster: &Object) -> Cluster {
    let text = |field: &str| {
        cluster
            .text_at(&["spec", field])
            .unwrap_or_default()
            .to_owned()
    };
    let zones = cluster
        .at(&["spec", "zones"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let labels = cluster.labels();
    Cluster {
        metadata: ObjectMeta {
            name: cluster.name().to_owned(),
            labels: labels
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
            ..ObjectMeta::default()
        },
        spec: ClusterSpec {
            provider: text("provider"),
            region: text("region"),
            zones: zones.map(str::to_owned).collect(),
            ..ClusterSpec::default()
        },
        ..Cluster::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::one;

    /// What is known of `m1` after it was told of: its region, whether it is silent, and how many taints it has.
    fn told(known: &Known, metadata: &str, ready: &str) -> (String, bool, Option<usize>) {
        let cluster = format!(
            "{{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {{name: m1{metadata}}}, \
             spec: {{region: north, taints: [{{key: k, effect: NoSchedule}}]}}, \
             status: {{conditions: [{{type: Ready, status: '{ready}'}}]}}}}"
        );
        let change = Change {
            before: None,
            after: Some(Arc::new(one(&cluster))),
        };
        note(known, &change);
        let member = Arc::clone(&known.read().unwrap()["m1"]);
        let taints = member.taints.as_ref().map(Vec::len);
        (member.traits.spec.region.clone(), member.is_silent, taints)
    }

    #[test]
    fn members_are_as_the_last_change_said() {
        let known = Known::default();
        let north = || "north".to_owned();
        assert_eq!(told(&known, "", "True"), (north(), false, Some(1)));
        assert_eq!(told(&known, "", "Unknown"), (north(), true, Some(1)));
        let going = ", deletionTimestamp: '2026-01-02T03:04:05Z'";
        assert_eq!(told(&known, going, "True"), (north(), false, None));
        let gone = Change {
            before: Some(Arc::new(one("{kind: Cluster, metadata: {name: m1}}"))),
            after: None,
        };
        note(&known, &gone);
        assert!(known.read().unwrap().is_empty());
    }
}

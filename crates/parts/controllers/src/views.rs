//! What the controllers look at, followed once for all of them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use api::{
    cluster::{Cluster, ClusterSpec},
    well_known::conditions::cluster::{CLUSTER_NOT_REACHABLE, READY},
};
use client::{Cache, Caches, Scope};
use control::ReconcileError;
use intent::Wake;
use object::{Object, ObjectKey, ObjectMeta, Value};
use policy::Exemptions;
use runtime::Spawner;

use crate::{bindings::Bindings, kinds, rulebook::Rulebook, templates::Templates};

/// How soon something is looked at again that could not be decided because not everything was in view: that all of it is
/// again is told to nobody.
pub(crate) const UNTIL_IN_VIEW: Wake = Wake::After(Duration::from_secs(2));

/// How a look ends: with what went wrong, or when to look again. What will not be better until somebody changes it holds
/// nothing up that is looked at again for another reason.
pub(crate) fn ending(wake: Wake, error: Option<ReconcileError>) -> Result<Wake, ReconcileError> {
    match error {
        Some(error) if wake == Wake::OnChange || !error.is_terminal() => Err(error),
        _ => Ok(wake),
    }
}

/// What the controllers look at; clones are the same.
#[derive(Clone, Debug)]
pub struct Views {
    /// The templates of all kinds.
    pub templates: Templates,
    /// The bindings and their works.
    pub bindings: Bindings,
    /// The policies.
    pub rulebook: Rulebook,
    /// The members.
    pub clusters: Cache,
    is_ready: Arc<AtomicBool>,
}

impl Views {
    /// Follows all of it.
    #[must_use]
    pub fn follow(caches: &Caches, exemptions: Exemptions, spawner: &Spawner) -> Self {
        Self {
            templates: Templates::follow(caches, exemptions, spawner),
            bindings: Bindings::follow(caches),
            rulebook: Rulebook::follow(caches),
            clusters: caches.follow(&kinds::of::<Cluster>(), Scope::all()),
            is_ready: Arc::default(),
        }
    }

    /// Waits until all of it has been seen once. At once afterwards.
    pub async fn ready(&self) {
        if self.is_ready.load(Ordering::Acquire) {
            return;
        }
        self.rulebook.synced().await;
        for cache in [
            &self.bindings.namespaced,
            &self.bindings.cluster,
            &self.bindings.works,
            &self.clusters,
        ] {
            cache.synced().await;
        }
        self.templates.synced().await;
        self.is_ready.store(true, Ordering::Release);
    }

    /// What override rules may ask about the clusters of these names, of those that exist.
    #[must_use]
    pub fn clusters_named<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> BTreeMap<String, Cluster> {
        names
            .into_iter()
            .filter_map(|name| {
                let cluster = self.clusters.get(&ObjectKey::cluster(name))?;
                Some((name.to_owned(), traits(&cluster)))
            })
            .collect()
    }

    /// Whether a member has fallen silent.
    #[must_use]
    pub fn is_silent(&self, cluster: &str) -> bool {
        self.clusters
            .get(&ObjectKey::cluster(cluster))
            .is_some_and(|cluster| is_silent(&cluster))
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

    #[test]
    fn what_was_not_in_view_is_looked_at_whatever_else_went_wrong() {
        let for_good = || ReconcileError::Terminal("refused".to_owned());
        let for_now = || ReconcileError::Failed {
            doing: "cannot ask".to_owned(),
            source: "away".into(),
        };
        for (wake, error, expected) in [
            (Wake::OnChange, None, Ok(Wake::OnChange)),
            (UNTIL_IN_VIEW, None, Ok(UNTIL_IN_VIEW)),
            (Wake::OnChange, Some(for_good()), Err("refused")),
            (UNTIL_IN_VIEW, Some(for_good()), Ok(UNTIL_IN_VIEW)),
            // This is tried again anyway.
            (UNTIL_IN_VIEW, Some(for_now()), Err("cannot ask")),
        ] {
            let ended = ending(wake, error).map_err(|error| error.to_string());
            assert_eq!(ended, expected.map_err(str::to_owned));
        }
    }
}

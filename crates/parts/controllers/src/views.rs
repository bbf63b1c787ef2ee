//! What the controllers look at, followed once for all of them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use api::cluster::Cluster;
use client::{Cache, Caches, Scope};
use control::ReconcileError;
use intent::Wake;
use policy::Exemptions;
use runtime::Spawner;

use crate::{
    bindings::Bindings, kinds, members::Members, rulebook::Rulebook, templates::Templates,
};

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
    /// The clusters.
    pub clusters: Cache,
    /// What is asked about them.
    pub members: Members,
    is_ready: Arc<AtomicBool>,
}

impl Views {
    /// Follows all of it.
    #[must_use]
    pub fn follow(caches: &Caches, exemptions: Exemptions, spawner: &Spawner) -> Self {
        let clusters = caches.follow(&kinds::of::<Cluster>(), Scope::all());
        Self {
            // Before anybody else is told of clusters.
            members: Members::follow(&clusters),
            templates: Templates::follow(caches, exemptions, spawner),
            bindings: Bindings::follow(caches),
            rulebook: Rulebook::follow(caches),
            clusters,
            is_ready: Arc::default(),
        }
    }

    /// Waits until all of it has been seen once, but for templates of kinds that cannot be listed. At once afterwards.
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
        self.templates.discovered().await;
        for binding in self.bindings.all() {
            self.templates.follow_for(&binding);
        }
        self.templates.in_view().await;
        self.is_ready.store(true, Ordering::Release);
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

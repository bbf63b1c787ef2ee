//! Kinds that cannot be listed, such as in a version that a webhook converts to while that is away.
//!
//! Whatever is decided about their templates waits, and nothing else does.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use client::Cache;
use futures_util::future::join_all;
use object::{GroupKind, GroupVersionKind};

use super::{
    Templates,
    followed::{Followed, InVersion},
};

/// How long a kind that cannot be listed is waited for: a server that has just started refuses many things for a moment.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long it is so before it is told.
const UNTIL_TOLD: Duration = Duration::from_secs(5);

/// A kind that cannot be listed in a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unlisted {
    /// The kind, in that version.
    pub kind: GroupVersionKind,
    /// Whether that is the version the server likes best, by which it is known who claims what.
    pub is_liked_best: bool,
    /// Why not.
    pub cause: Arc<str>,
}

impl Unlisted {
    /// What cannot be listed of a kind, if that is so.
    pub(super) fn of(followed: &InVersion, is_liked_best: bool) -> Option<Self> {
        Some(Self {
            kind: followed.resource.kind.clone(),
            is_liked_best,
            cause: followed.cache.trouble()?.cause,
        })
    }
}

impl Templates {
    /// Waits until what is served is known and all of it is in view, but for what cannot be listed.
    ///
    /// Of a kind that is not in view nothing is [found](Self::find), and nothing is [gone](super::Absence::Gone).
    pub async fn in_view(&self) {
        self.discovered().await;
        let caches = self.lock().caches();
        join_all(caches.iter().map(|(_, cache)| listed(cache))).await;
    }

    /// All that cannot be listed, in whatever version.
    #[must_use]
    pub fn unlisted(&self) -> Vec<Unlisted> {
        let state = self.lock();
        let kinds = state.kinds.values();
        kinds.flat_map(Followed::all_unlisted).collect()
    }

    /// Tells of kinds that cannot be listed, each once until that is over.
    pub(super) async fn tell_of_unlisted(&self) {
        let mut troubles = self.inner.caches.troubles();
        let mut told: BTreeSet<GroupVersionKind> = BTreeSet::new();
        // The sender lives as long as the caches.
        while troubles.changed().await.is_ok() {
            tokio::time::sleep(UNTIL_TOLD).await;
            let all = self.unlisted();
            let now: BTreeSet<GroupVersionKind> =
                all.iter().map(|unlisted| unlisted.kind.clone()).collect();
            let news: Vec<&Unlisted> = all
                .iter()
                .filter(|unlisted| !told.contains(&unlisted.kind))
                .collect();
            for Unlisted { kind, cause, .. } in &news {
                tracing::warn!(%kind, error = %cause, "templates cannot be listed; what is propagated of them waits");
            }
            for kind in told.difference(&now) {
                tracing::info!(%kind, "templates are listed again");
            }
            let kinds: Vec<GroupKind> = news.iter().map(|new| new.kind.group_kind()).collect();
            if !kinds.is_empty() {
                let mourners = self.lock().mourners.clone();
                mourners.iter().for_each(|mourner| mourner(&kinds));
            }
            told = now;
        }
    }
}

/// Waits until a cache is in view, or is known not to come into view soon.
async fn listed(cache: &Cache) {
    tokio::select! {
        biased;
        () = cache.synced() => {}
        () = cache.in_trouble_for(PATIENCE) => {}
    }
}

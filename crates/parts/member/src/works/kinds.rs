//! Where the kinds of manifests are found in a member.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client::{CallError, Client, Discovery};
use object::{GroupVersionKind, ResourceType};
use tokio::time::Instant;

use crate::works::atlas::Atlas;

/// How long an answer that lacks a kind is believed: long enough that a missing definition is not asked for with every
/// retry of every work.
const BELIEVED: Duration = Duration::from_secs(3);

/// What a member serves, as it last said.
pub(crate) struct Kinds {
    client: Client,
    atlas: Arc<Atlas>,
    known: Mutex<Known>,
    /// One asks, the others wait for its answer: held across the call on purpose.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    discovery: Option<Arc<Discovery>>,
    asked: Option<Instant>,
}

/// Why the place of a kind is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KindError {
    /// The member does not serve it.
    #[error("no matches for kind \"{}\" in version \"{}\"", .0.kind, .0.group_version())]
    NotServed(GroupVersionKind),
    /// The member did not say.
    #[error("the cluster does not say what {} has", .0.group_version())]
    Unknown(GroupVersionKind),
    /// The member could not be asked.
    #[error("cannot ask the cluster for its kinds")]
    Call(#[from] CallError),
}

impl Kinds {
    pub(crate) fn new(client: Client, atlas: Arc<Atlas>) -> Self {
        Self {
            client,
            atlas,
            known: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }
    }

    /// Where a kind is found; asks again if it is missing and the last answer is not new.
    pub(crate) async fn find(&self, kind: &GroupVersionKind) -> Result<ResourceType, KindError> {
        let discovery = match self.current() {
            Some(discovery) => discovery,
            None => self.ask_after(None).await?,
        };
        if let Some(found) = discovery.find(kind) {
            return Ok(found.resource.clone());
        }
        let asked = self.lock().asked;
        let is_new = asked.is_some_and(|asked| asked.elapsed() < BELIEVED);
        let discovery = if is_new {
            discovery
        } else {
            self.ask_after(asked).await?
        };
        match discovery.find(kind) {
            Some(found) => Ok(found.resource.clone()),
            None if discovery.lacks(kind) => Err(KindError::NotServed(kind.clone())),
            None => Err(KindError::Unknown(kind.clone())),
        }
    }

    /// What the member last said that it serves, if it has said so.
    pub(crate) fn current(&self) -> Option<Arc<Discovery>> {
        self.lock().discovery.clone()
    }

    /// Asks the member, whatever it said before.
    pub(crate) async fn ask(&self) -> Result<Arc<Discovery>, CallError> {
        let asked = self.lock().asked;
        self.ask_after(asked).await
    }

    /// Asks the member, unless somebody has since `seen`.
    async fn ask_after(&self, seen: Option<Instant>) -> Result<Arc<Discovery>, CallError> {
        let _asking = self.asking.lock().await;
        {
            let known = self.lock();
            if let (Some(discovery), true) = (&known.discovery, known.asked > seen) {
                return Ok(Arc::clone(discovery));
            }
        }
        let discovery = self.atlas.hold(self.client.discover().await?);
        let mut known = self.lock();
        known.asked = Some(Instant::now());
        known.discovery = Some(Arc::clone(&discovery));
        Ok(discovery)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // Nothing that runs under the lock leaves it half changed.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

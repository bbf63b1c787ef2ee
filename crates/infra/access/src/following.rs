//! Following the server's cache from inside, and writing back as the server itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use object::Value;
use serve::cache::{self, Collection, Place};
use serve::server::Server;
use tokio::sync::watch;

use crate::names;

/// How many changes are taken at once.
const BATCH: usize = 256;

/// A collection and how far it has been read.
pub struct Follower {
    /// What is followed.
    pub collection: Arc<Collection>,
    arrivals: watch::Receiver<u64>,
    place: Option<Place>,
}

impl Follower {
    /// Follows a resource of a server.
    #[must_use]
    pub fn new(server: &Server, group: &str, plural: &str) -> Self {
        let collection = server.cache().collection(&cache::name_of(group, plural));
        Self {
            arrivals: collection.arrivals(),
            collection,
            place: None,
        }
    }

    /// Objects that changed since the last look; all of them at the first one, or if there were too many.
    pub fn changed_keys(&mut self) -> BTreeSet<String> {
        self.arrivals.mark_unchanged();
        let mut keys = BTreeSet::new();
        while let Some(place) = self.place {
            let Ok((changes, next)) = self.collection.changes(place, BATCH) else {
                self.place = None;
                break;
            };
            self.place = Some(next);
            for record in changes
                .iter()
                .filter_map(|change| change.current.as_ref().or(change.previous.as_ref()))
            {
                keys.insert(record.key().to_owned());
            }
            if changes.len() < BATCH {
                return keys;
            }
        }
        let (snapshot, place) = self.collection.begin();
        self.place = Some(place);
        keys.extend(
            snapshot
                .objects
                .values()
                .map(|record| record.key().to_owned()),
        );
        keys
    }

    /// Everything in a namespace.
    #[must_use]
    pub fn keys_in(&self, namespace: &str) -> Vec<String> {
        let snapshot = self.collection.snapshot();
        let records = snapshot.objects.in_namespace(namespace);
        records.map(|record| record.key().to_owned()).collect()
    }

    /// Waits for the next change.
    pub async fn changed(&mut self) {
        if self.arrivals.changed().await.is_err() {
            // The cache is gone, and this process with it.
            std::future::pending::<()>().await;
        }
    }
}

/// Writes as the server itself. Whoever was quicker wins: the next change tells what is left to do.
pub async fn write(server: &Server, method: Method, path: &str, object: &Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(Full::new(Bytes::from(object.to_string())));
    let Ok(request) = request else { return };
    let code = server.answer(names::apiserver(), request).await.status();
    let is_expected = code.is_success()
        || matches!(
            code,
            StatusCode::CONFLICT | StatusCode::NOT_FOUND | StatusCode::FORBIDDEN
        );
    if !is_expected {
        tracing::warn!(path, %code, "not written");
    }
}

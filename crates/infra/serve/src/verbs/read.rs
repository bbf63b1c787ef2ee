//! Get, list and watch: all from memory, in the state the client will accept.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use http::{Response, StatusCode};
use store::{Notice, Query, Revision};
use tokio::time::Instant;

use crate::body::{self, Body};
use crate::cache::{self, Change, Collection, Snapshot};
use crate::call::Call;
use crate::conversion::{convert_records, selectable};
use crate::listing::{self, Continuation};
use crate::negotiate::{Answer, Encoding};
use crate::options::{Freshness, ListOptions};
use crate::output::{Include, ListMeta, Output};
use crate::record::Record;
use crate::select::Selection;
use crate::server::Server;
use crate::status::Status;
use crate::watching::{Beginning, Watching};

/// How long a reader waits for a revision that has not arrived.
const FRESH_WAIT: Duration = Duration::from_secs(3);
/// How long a watch lasts if the client does not say.
const WATCH_TIMEOUT: Duration = Duration::from_secs(45 * 60);
/// The longest watch a client may ask for.
const WATCH_LIMIT: Duration = Duration::from_secs(24 * 3600);

impl Server {
    /// One object.
    pub(crate) async fn get(
        &self,
        call: &Call,
        freshness: Freshness,
        answer: Answer,
        include: Include,
    ) -> Result<Response<Body>, Status> {
        self.be_fresh(freshness).await?;
        let record = self
            .find(call)
            .ok_or_else(|| Status::not_found(call.subject()))?;
        let record = self.in_asked_version(call, record).await?;
        Ok(self.show(call, &record, StatusCode::OK, answer, include))
    }

    /// A collection, or a page of it.
    pub(crate) async fn list(
        &self,
        call: &Call,
        options: &ListOptions,
        answer: Answer,
        include: Include,
    ) -> Result<Response<Body>, Status> {
        let selection = Selection::new(&call.served, &call.target, options)?;
        let collection = self.cache.collection(&call.served.resource.collection);
        let continuation = match options.continues.as_str() {
            "" => None,
            token => Some(Continuation::parse(token)?),
        };
        let (snapshot, revision) = self
            .state_for(&collection, options.freshness, continuation.as_ref())
            .await?;
        let snapshot = selectable(&call.served, &selection, snapshot, &*self.surroundings).await?;
        let after = continuation
            .as_ref()
            .map(|continuation| continuation.after.as_str());
        let listed = listing::page(&snapshot, &selection, &call.served, after, options.limit);
        // Whoever came too late reads one page of the newest state, and the others of the same.
        let begun = match &continuation {
            Some(Continuation {
                revision: Some(_),
                begun,
                ..
            }) => *begun,
            _ => self.surroundings.now().unix_seconds(),
        };
        let continues = listed.last.as_ref().map(|last| {
            Continuation {
                revision: Some(revision),
                begun,
                after: last.to_string(),
            }
            .token()
        });
        let meta = ListMeta {
            revision,
            continues: continues.unwrap_or_default(),
            remaining: listed.remaining,
        };
        let records = convert_records(&call.served, listed.records, &*self.surroundings).await?;
        let output = self.output(call, answer, include);
        let bytes = output.list(records.iter().map(|record| &**record), &meta);
        Ok(body::document(
            StatusCode::OK,
            answer.encoding,
            bytes.into(),
        ))
    }

    /// What changes in a collection.
    pub(crate) async fn watch(
        &self,
        call: &Call,
        options: &ListOptions,
        answer: Answer,
        include: Include,
    ) -> Result<Response<Body>, Status> {
        let selection = Selection::new(&call.served, &call.target, options)?;
        let collection = self.cache.collection(&call.served.resource.collection);
        let beginning = match (options.freshness, options.initial_events) {
            (freshness, true) => {
                self.be_fresh(freshness).await?;
                Beginning::Everything {
                    marked: options.bookmarks,
                }
            }
            (Freshness::Newest | Freshness::Any, false) => Beginning::Everything { marked: false },
            (Freshness::NotOlderThan(revision) | Freshness::Exactly(revision), false) => {
                self.resume(call, &collection, Revision(revision)).await
            }
        };
        let lasting = options.timeout.unwrap_or(WATCH_TIMEOUT).min(WATCH_LIMIT);
        let watching = Watching {
            collection,
            cache: Arc::clone(&self.cache),
            selection,
            output: self.output(call, answer, include),
            encoding: answer.encoding,
            bookmarks: options.bookmarks,
            deadline: Instant::now() + lasting,
            surroundings: Arc::clone(&self.surroundings),
            tables: self.tables(),
            knows_columns: AtomicBool::new(false),
        };
        let mut response = Response::new(Body::Stream(Box::pin(watching.start(beginning))));
        let media = http::HeaderValue::from_static(match answer.encoding {
            Encoding::Protobuf(_) => "application/vnd.kubernetes.protobuf;stream=watch",
            _ => "application/json",
        });
        response
            .headers_mut()
            .insert(http::header::CONTENT_TYPE, media);
        Ok(response)
    }

    /// One object as it is now.
    pub(crate) fn find(&self, call: &Call) -> Option<Arc<Record>> {
        let key = cache::object_key(&call.target.namespace, &call.target.name);
        self.cache
            .collection(&call.served.resource.collection)
            .find(&key)
    }

    /// An object as the client wants to see it.
    pub(crate) fn show(
        &self,
        call: &Call,
        record: &Record,
        code: StatusCode,
        answer: Answer,
        include: Include,
    ) -> Response<Body> {
        let mut out = Vec::new();
        self.output(call, answer, include)
            .write(record, record.revision(), &mut out);
        body::document(code, answer.encoding, out.into())
    }

    pub(crate) fn output(&self, call: &Call, answer: Answer, include: Include) -> Output {
        Output {
            served: call.served.clone(),
            shape: answer.shape,
            include,
            now: self.surroundings.now(),
        }
    }

    /// Waits until the cache is as fresh as the client demands.
    async fn be_fresh(&self, freshness: Freshness) -> Result<(), Status> {
        let wanted = match freshness {
            Freshness::Any => return Ok(()),
            Freshness::Newest => self.newest().await?,
            Freshness::NotOlderThan(revision) | Freshness::Exactly(revision) => Revision(revision),
        };
        let fresh = self.feed.wait_for_any(&self.cache, wanted, FRESH_WAIT);
        if fresh.await {
            return Ok(());
        }
        Err(Status::ahead(wanted.0, self.cache.revision().0))
    }

    /// The state a list is taken from, and the revision it is said to be of.
    async fn state_for(
        &self,
        collection: &Collection,
        freshness: Freshness,
        continuation: Option<&Continuation>,
    ) -> Result<(Snapshot, Revision), Status> {
        if let Some(continuation) = continuation
            && let Some(revision) = continuation.revision
        {
            // Tokens are the clients' to write: one may name a revision nobody has reached.
            self.be_fresh(Freshness::NotOlderThan(revision.0)).await?;
            let now = self.surroundings.now().unix_seconds();
            let snapshot = listing::earlier_state(collection, revision, continuation, now)?;
            return Ok((snapshot, revision));
        }
        self.be_fresh(freshness).await?;
        if let Freshness::Exactly(revision) = freshness {
            let revision = Revision(revision);
            let snapshot = collection.snapshot_at(revision).map_err(|error| {
                Status::expired(format!(
                    "too old resource version: {revision} ({})",
                    error.oldest
                ))
            })?;
            return Ok((snapshot, revision));
        }
        // Invariant: the revision is read first. The snapshot may then hold more than it says, never less, so a watch from
        // this revision misses nothing; what it brings twice is an object already in the list.
        let revision = self.cache.revision();
        let snapshot = collection.snapshot();
        let revision = revision.max(snapshot.revision);
        Ok((snapshot, revision))
    }

    /// Begins a watch after a revision: from the ring if that reaches back so far, otherwise from the store's history.
    async fn resume(
        &self,
        call: &Call,
        collection: &Arc<Collection>,
        after: Revision,
    ) -> Beginning {
        if collection.place_after(after).is_ok() {
            return Beginning::After(after);
        }
        match self.recover(call, collection, after).await {
            Some(beginning) => beginning,
            None => Beginning::After(after), // The stream then says that this is too old.
        }
    }

    /// Reads the changes between a revision and the beginning of the ring from the store.
    async fn recover(
        &self,
        call: &Call,
        collection: &Arc<Collection>,
        after: Revision,
    ) -> Option<Beginning> {
        let prefix = format!("{}{}/", cache::ROOT, call.served.resource.collection);
        let reached = self.cache.revision();
        // The state at the beginning gives each change the object before it.
        let state = self
            .store
            .range(&Query::prefix(prefix.clone()).at(after))
            .await
            .ok()?;
        let mut known: std::collections::BTreeMap<bytes::Bytes, Arc<Record>> =
            std::collections::BTreeMap::new();
        for entry in state.entries {
            known.insert(
                entry.key.as_bytes().clone(),
                Arc::new(Record::new(entry).ok()?),
            );
        }
        let mut watch = self.store.watch(prefix, after).await.ok()?;
        watch.request_progress();
        let mut changes = Vec::new();
        loop {
            match tokio::time::timeout(FRESH_WAIT, watch.next())
                .await
                .ok()?
                .ok()?
            {
                Notice::Progress(revision) if revision >= reached => break,
                Notice::Progress(_) => {}
                Notice::Changes(batch) if batch.revision > reached => break,
                Notice::Changes(batch) => {
                    for event in batch.events.iter() {
                        let key = event.key.as_bytes().clone();
                        let current = match &event.current {
                            Some(entry) => Some(Arc::new(Record::new(Arc::clone(entry)).ok()?)),
                            None => None,
                        };
                        let previous = match &current {
                            Some(record) => known.insert(key, Arc::clone(record)),
                            None => known.remove(&key),
                        };
                        changes.push(Arc::new(Change::new(batch.revision, current, previous)));
                    }
                }
            }
        }
        let place = collection.place_after(reached).ok()?;
        Some(Beginning::Recovered(changes, place))
    }
}

//! Watches: a stream of what changes, as each client selects and wants to see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use schema::wire::watch_frame;
use serde_json::{Value, json};
use store::Revision;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::cache::{Cache, Change, Collection, FrameForm, Place};
use crate::conversion::{convert_records, settled};
use crate::negotiate::{Encoding, Shape, Wire};
use crate::output::{Heading, Output};
use crate::record::Record;
use crate::resource::Table;
use crate::select::Selection;
use crate::server::Surroundings;
use crate::status::Status;

/// How often a watcher that asked for it hears how far it has come.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
/// How many changes are taken from the ring at once.
const BATCH: usize = 256;

/// One client's watch.
pub struct Watching {
    /// Where it watches.
    pub collection: Arc<Collection>,
    /// For bookmarks: how far everything has come.
    pub cache: Arc<Cache>,
    /// What it is about.
    pub selection: Selection,
    /// How it is shown.
    pub output: Output,
    /// How events become bytes: lines of JSON, or messages with their lengths.
    pub encoding: Encoding,
    /// Whether bookmarks are wanted.
    pub bookmarks: bool,
    /// When it ends.
    pub deadline: Instant,
    /// For conversions that take time.
    pub surroundings: Arc<dyn Surroundings>,
    /// What is served: the watch ends when its resource is another one, and when that is gone, once all that happened to its
    /// objects is told. Upstream: what objects look like in a version, and whether there is such a version at all, is told
    /// to whoever asks again.
    pub tables: watch::Receiver<Arc<Table>>,
    /// Whether the client knows the columns of its tables. Upstream: the first event tells them.
    pub knows_columns: AtomicBool,
}

/// How a watch begins.
pub enum Beginning {
    /// With everything there is; then, if wanted, a bookmark that says so.
    Everything {
        /// Whether the end of the beginning is marked.
        marked: bool,
    },
    /// With what changed after a revision.
    After(Revision),
    /// With changes recovered from the store, then from a place in the ring.
    Recovered(Vec<Arc<Change>>, Place),
}

/// What a change means to one watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Added,
    Modified,
    Deleted,
}

impl Meaning {
    fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

struct Running {
    watching: Watching,
    place: Place,
    arrivals: watch::Receiver<u64>,
    /// Bytes ready to go out before anything new is looked at.
    pending: Option<Bytes>,
    /// Changes that go out before anything new, once they are converted; then, if wanted, the mark at their end.
    first: Option<(Vec<Arc<Change>>, Option<Revision>)>,
    next_bookmark: Instant,
    /// The last revision the client heard of.
    told: Revision,
    /// Nothing happens any more: it is over once all that did is told.
    is_last: bool,
    over: bool,
}

/// What has become of a resource that is watched.
enum Fate {
    /// It is served as it was.
    Same,
    /// It looks different now: what is told has to be told anew.
    Another,
    /// It is served no more.
    Gone,
}

impl Watching {
    /// Starts the stream.
    pub fn start(mut self, beginning: Beginning) -> impl Stream<Item = Bytes> + Send + 'static {
        let arrivals = self.collection.arrivals();
        let mut out = Vec::new();
        let mut over = false;
        let converts = self.converts();
        let mut first = None;
        // It may have changed since the request came in.
        self.tables.mark_changed();
        let (place, told) = match beginning {
            Beginning::Everything { marked } if converts => {
                let (snapshot, place) = self.collection.begin();
                let added = |record: &Arc<Record>| {
                    Arc::new(Change::new(
                        record.revision(),
                        Some(Arc::clone(record)),
                        None,
                    ))
                };
                let changes = snapshot.objects.values().map(added).collect();
                first = Some((changes, marked.then_some(snapshot.revision)));
                (place, snapshot.revision)
            }
            Beginning::Recovered(changes, place) if converts => {
                let last = changes.last();
                let told = last.map_or(Revision::ZERO, |change| change.revision);
                first = Some((changes, None));
                (place, told)
            }
            Beginning::Everything { marked } => {
                let (snapshot, place) = self.collection.begin();
                let served = &self.output.served;
                let records = snapshot.objects.values().cloned();
                for record in records
                    .map(|record| settled(served, record))
                    .filter(|record| self.selection.includes(served, record))
                {
                    self.write(Meaning::Added, &record, record.revision(), &mut out);
                }
                if marked {
                    self.write_bookmark(snapshot.revision, true, &mut out);
                }
                (place, snapshot.revision)
            }
            Beginning::After(revision) => match self.collection.place_after(revision) {
                Ok(place) => (place, revision),
                Err(error) => {
                    let expired = Status::expired(format!(
                        "too old resource version: {revision} ({})",
                        error.oldest
                    ));
                    self.write_event("ERROR", &expired.to_value(), &mut out);
                    over = true;
                    (self.collection.begin().1, revision)
                }
            },
            Beginning::Recovered(changes, place) => {
                let told = changes
                    .last()
                    .map_or(Revision::ZERO, |change| change.revision);
                for change in changes {
                    self.write_change(&self.settled(change), &mut out);
                }
                (place, told)
            }
        };
        let running = Running {
            place,
            arrivals,
            pending: (!out.is_empty()).then(|| out.into()),
            first,
            next_bookmark: Instant::now() + BOOKMARK_PERIOD,
            told,
            is_last: false,
            over,
            watching: self,
        };
        futures_util::stream::unfold(running, Running::next)
    }

    /// What has become of the resource, if what is served has changed.
    fn fate(&mut self) -> Fate {
        // Without a server nothing changes any more.
        if !self.tables.has_changed().unwrap_or(false) {
            return Fate::Same;
        }
        let table = self.tables.borrow_and_update();
        let resource = &self.output.served.resource;
        match table.has(resource) {
            true => Fate::Same,
            false if table.serves(&resource.group, &resource.plural) => Fate::Another,
            false => Fate::Gone,
        }
    }

    /// Whether events have to be converted before they are shown.
    fn converts(&self) -> bool {
        self.output.served.resource.rules.converter().is_some()
    }

    /// A change whose objects have the defaults that their kind has got since they were written, so that a selection is
    /// held against what clients read; the same one, whose frames others share, where they lack none.
    fn settled(&self, change: Arc<Change>) -> Arc<Change> {
        let served = &self.output.served;
        if served.resource.rules.defaults_since() == 0 {
            return change;
        }
        let settle =
            |record: &Option<Arc<Record>>| record.clone().map(|record| settled(served, record));
        let (previous, current) = (settle(&change.previous), settle(&change.current));
        let is_same = |one: &Option<Arc<Record>>, other: &Option<Arc<Record>>| {
            one.as_ref().map(Arc::as_ptr) == other.as_ref().map(Arc::as_ptr)
        };
        if is_same(&previous, &change.previous) && is_same(&current, &change.current) {
            return change;
        }
        Arc::new(Change::new(change.revision, current, previous))
    }

    /// Changes with their objects in the version that is watched.
    async fn converted(&self, changes: Vec<Arc<Change>>) -> Result<Vec<Arc<Change>>, Status> {
        if !self.converts() {
            let changes = changes.into_iter().map(|change| self.settled(change));
            return Ok(changes.collect());
        }
        let mut made = Vec::with_capacity(changes.len());
        for change in changes {
            let both = [&change.previous, &change.current];
            let records = both.into_iter().flatten().cloned().collect();
            let served = &self.output.served;
            let mut records = convert_records(served, records, &*self.surroundings)
                .await?
                .into_iter();
            let previous = change.previous.as_ref().and_then(|_| records.next());
            let current = change.current.as_ref().and_then(|_| records.next());
            made.push(Arc::new(Change::new(change.revision, current, previous)));
        }
        Ok(made)
    }

    /// What a change means here; `None` if it is none of this watcher's business.
    fn meaning<'c>(&self, change: &'c Change) -> Option<(Meaning, &'c Arc<Record>)> {
        let concerns = |record: &Option<Arc<Record>>| {
            record
                .as_ref()
                .is_some_and(|record| self.selection.includes(&self.output.served, record))
        };
        match (concerns(&change.previous), concerns(&change.current)) {
            (false, false) => None,
            (false, true) => Some((Meaning::Added, change.current.as_ref()?)),
            (true, true) => Some((Meaning::Modified, change.current.as_ref()?)),
            // Upstream: the last state the watcher could see, with the revision at which it went.
            (true, false) => Some((Meaning::Deleted, change.previous.as_ref()?)),
        }
    }

    /// In which form this watcher's events are those of others, too: encoded once, shared by all.
    fn shared_form(&self) -> Option<FrameForm> {
        if !self.selection.is_everything() {
            return None;
        }
        match self.encoding {
            Encoding::Protobuf(_) => self.output.is_plain().then_some(FrameForm::Protobuf),
            _ if self.output.is_plain() => Some(FrameForm::Json),
            _ => self.output.is_bare().then_some(FrameForm::Metadata),
        }
    }

    fn write_change(&self, change: &Change, out: &mut Vec<u8>) {
        if let Some(frame) = self.frame(change) {
            out.extend_from_slice(&frame);
        }
    }

    /// A change as this watcher is told it; `None` if it is none of its business.
    fn frame(&self, change: &Change) -> Option<Bytes> {
        let (meaning, record) = self.meaning(change)?;
        let make = || {
            let mut frame = Vec::new();
            self.write(meaning, record, change.revision, &mut frame);
            Bytes::from(frame)
        };
        Some(match self.shared_form() {
            Some(form) => change.frame(form, |_| make()),
            None => make(),
        })
    }

    fn write(&self, meaning: Meaning, record: &Record, revision: Revision, out: &mut Vec<u8>) {
        if let Encoding::Protobuf(wire) = self.encoding {
            let mut json = Vec::new();
            self.output.write(record, revision, &mut json);
            write_message(wire, meaning.as_str(), &json, out);
            return;
        }
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(meaning.as_str().as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        if self.output.shape == Shape::Table {
            let heading = match self.knows_columns.swap(true, Ordering::Relaxed) {
                true => Heading::None,
                false => Heading::Columns,
            };
            self.output.write_row(record, revision, heading, out);
        } else {
            self.output.write(record, revision, out);
        }
        out.extend_from_slice(b"}\n");
    }

    fn write_bookmark(&self, revision: Revision, initial_end: bool, out: &mut Vec<u8>) {
        let mut metadata =
            json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
        if initial_end && let Some(fields) = metadata.as_object_mut() {
            fields.insert(
                "annotations".to_owned(),
                json!({"k8s.io/initial-events-end": "true"}),
            );
        }
        let (kind, api_version) = match self.output.shape {
            Shape::Metadata => ("PartialObjectMetadata", "meta.k8s.io/v1".to_owned()),
            _ => (
                &*self.output.served.resource.kind,
                self.output.served.api_version(),
            ),
        };
        let mut object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        if self.output.shape == Shape::Table {
            object = self.output.row_of(object, revision);
        }
        self.write_event("BOOKMARK", &object, out);
    }

    fn write_event(&self, kind: &str, object: &Value, out: &mut Vec<u8>) {
        if let Encoding::Protobuf(wire) = self.encoding {
            write_message(wire, kind, object.to_string().as_bytes(), out);
            return;
        }
        out.extend_from_slice(
            json!({"type": kind, "object": object})
                .to_string()
                .as_bytes(),
        );
        out.push(b'\n');
    }
}

impl Running {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if let Some(bytes) = self.pending.take() {
            return Some((bytes, self));
        }
        if let Some((changes, marked)) = self.first.take() {
            let mut out = Vec::new();
            self.write_changes(changes, &mut out).await;
            if let Some(revision) = marked.filter(|_| !self.over) {
                self.watching.write_bookmark(revision, true, &mut out);
            }
            if !out.is_empty() {
                return Some((out.into(), self));
            }
        }
        while !self.over {
            match self.watching.fate() {
                Fate::Same => {}
                Fate::Another => {
                    self.over = true;
                    break;
                }
                Fate::Gone => self.is_last = true,
            }
            self.arrivals.mark_unchanged();
            match self.watching.collection.changes(self.place, BATCH) {
                Err(_) => {
                    let mut out = Vec::new();
                    let expired = Status::expired(
                        "The watch fell too far behind; list again and watch from there.",
                    );
                    self.watching
                        .write_event("ERROR", &expired.to_value(), &mut out);
                    self.over = true;
                    return Some((out.into(), self));
                }
                Ok((changes, place)) if !changes.is_empty() => {
                    self.place = place;
                    // Rows of tables tell ages, which are those of the moment they are told.
                    self.watching.output.now = self.watching.surroundings.now();
                    if let [change] = changes.as_slice()
                        && !self.watching.converts()
                    {
                        self.told = change.revision;
                        let change = self.watching.settled(Arc::clone(change));
                        match self.watching.frame(&change) {
                            Some(frame) => return Some((frame, self)),
                            None => continue,
                        }
                    }
                    let mut out = Vec::new();
                    self.write_changes(changes, &mut out).await;
                    if !out.is_empty() {
                        return Some((out.into(), self));
                    }
                }
                Ok(_) if self.is_last => self.over = true,
                Ok(_) => {
                    let wake = self.next_bookmark.min(self.watching.deadline);
                    let news = async {
                        tokio::select! {
                            _ = self.arrivals.changed() => {}
                            Ok(()) = self.watching.tables.changed() => self.watching.tables.mark_changed(),
                        }
                    };
                    let arrived = tokio::time::timeout_at(wake, news).await;
                    if arrived.is_err()
                        && let Some(bytes) = self.tick()
                    {
                        return Some((bytes, self));
                    }
                }
            }
        }
        None
    }

    /// Changes as the client sees them. One that cannot be converted ends the watch: the client lists again.
    async fn write_changes(&mut self, changes: Vec<Arc<Change>>, out: &mut Vec<u8>) {
        match self.watching.converted(changes).await {
            Ok(changes) => {
                for change in &changes {
                    self.watching.write_change(change, out);
                    self.told = change.revision.max(self.told);
                }
            }
            Err(status) => {
                self.watching.write_event("ERROR", &status.to_value(), out);
                self.over = true;
            }
        }
    }

    /// What is due when nothing has changed for a while.
    fn tick(&mut self) -> Option<Bytes> {
        let now = Instant::now();
        self.over = now >= self.watching.deadline;
        self.next_bookmark = now + BOOKMARK_PERIOD;
        // Invariant: the revision is read before the ring is looked at. A change enters the ring before the cache reaches
        // its revision, so an empty look means that everything up to `reached` has gone out.
        let reached = self.watching.cache.revision();
        let all_out = self
            .watching
            .collection
            .changes(self.place, 1)
            .is_ok_and(|(changes, _)| changes.is_empty());
        if !self.watching.bookmarks || reached <= self.told || !all_out {
            return None;
        }
        self.told = reached;
        let mut out = Vec::new();
        self.watching.write_bookmark(reached, false, &mut out);
        Some(out.into())
    }
}

/// One event as a message. What cannot be written is told as an error, which makes the client list again.
fn write_message(wire: Wire, kind: &str, json: &[u8], out: &mut Vec<u8>) {
    let body = wire.0.encode(json);
    match body {
        Ok(body) => watch_frame(kind, &body, out),
        Err(error) => {
            tracing::error!(%error, "an event cannot be encoded");
            let status = Status::internal("an event cannot be encoded", None).to_value();
            if let Ok(body) = wire.0.encode(status.to_string().as_bytes()) {
                watch_frame("ERROR", &body, out);
            }
        }
    }
}

//! Events: what happened to an object, told to whoever looks at it.
//!
//! Reconciles put events into a table and go on; one task writes them. The same event again only counts, a source that
//! talks too much about one object is cut short, and a full table drops and counts: nothing here holds a reconcile up.
//!
//! News wait a moment, so that what several members say of one object is one write, and they give way: the writer rests for
//! a multiple of what writes took, and writes several at once, which a store puts on disk together, only while that is
//! quick. So a server with much to do writes few of them and an idle one all. Warnings go first and do not rest. Of steps
//! that went as they should, so many are told a second and no more.
//!
//! Upstream: core/v1 Events with a source component, named `{object}.{time in hexadecimal}`, counted by patching.

mod pace;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client::{CallError, Client, PatchKind, WriteOptions};
use futures_util::future::join_all;
use intent::{EventKind, ObjectRef, Part};
use object::time::Time;
use object::{Object, ObjectKey, ResourceType};
use runtime::{Clock, Spawner};
use serde_json::json;
use telemetry::chain;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use self::pace::Pace;
use self::table::{Entry, Note, Table};

/// The reason of the event on what was deleted; its message is the cause.
///
/// An object goes once. Several may have asked for it, and a deletion that was asked for already is no news: the event is
/// named after the object's uid, so that there is one whoever writes it, and it tells the cause of whoever came first.
pub(crate) const DELETED: &str = "Deleted";

/// How long the first of several events waits for others like it.
const GATHERING: Duration = Duration::from_millis(250);

/// Takes events from reconciles; clones write through the same table.
#[derive(Clone)]
pub struct Recorder {
    shared: Option<Arc<Shared>>,
    component: Option<Arc<str>>,
}

/// Where a recorder's events go.
#[derive(Clone, Debug)]
pub struct EventSink {
    /// Writes them.
    pub client: Client,
    /// Who they come from: `source.component`.
    pub component: &'static str,
    /// Where events about cluster-scoped objects are kept. Upstream: `default`.
    pub namespace: &'static str,
}

struct Shared {
    table: Mutex<Table>,
    clock: Clock,
    changed: Notify,
}

impl Recorder {
    /// Writes events from a task of its own.
    #[must_use]
    pub fn start(sink: EventSink, clock: Clock, spawner: &Spawner) -> Self {
        let shared = Arc::new(Shared {
            table: Mutex::new(Table::new(clock.now())),
            clock,
            changed: Notify::new(),
        });
        let writer = Arc::clone(&shared);
        spawner.spawn(format!("events of {}", sink.component), |stop| async move {
            let mut pace = Pace::default();
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = writer.changed.notified() => {}
                }
                let writing = async {
                    sleep(GATHERING).await;
                    writer.write(&sink, &mut pace).await;
                };
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = writing => {}
                }
            }
        });
        Self {
            shared: Some(shared),
            component: None,
        }
    }

    /// The same, with events that come from `component`, whoever writes them.
    #[must_use]
    pub fn speaking_as(&self, component: &str) -> Self {
        Self {
            shared: self.shared.clone(),
            component: Some(component.into()),
        }
    }

    /// Writes nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self {
            shared: None,
            component: None,
        }
    }

    /// Notes what happened to an object. Returns at once.
    pub fn record(&self, about: &ObjectRef, kind: EventKind, reason: &str, message: &str) {
        let Some(shared) = &self.shared else {
            return;
        };
        let note = Note {
            about: about.clone(),
            kind,
            reason: reason.to_owned(),
            message: shortened(message),
            component: self.component.clone(),
        };
        let now = shared.clock.now();
        if shared.lock().add(note, now) {
            shared.changed.notify_one();
        }
    }

    /// How many events were left out because there were too many.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared
            .as_ref()
            .map_or(0, |shared| shared.lock().dropped)
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Table> {
        // Nothing that runs under the lock leaves it half changed.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what has to be written, some at a time.
    async fn write(&self, sink: &EventSink, pace: &mut Pace) {
        loop {
            let entries = self.lock().next_few(pace.together);
            if entries.is_empty() {
                return;
            }
            let begun = Instant::now();
            join_all(entries.iter().map(|entry| self.write_one(sink, entry))).await;
            let are_news = |entry: &Entry| entry.note.kind != EventKind::Warning;
            if entries.iter().all(are_news) {
                sleep(pace.after(begun.elapsed())).await;
            }
        }
    }

    /// Writes an event. One that cannot be written is logged and forgotten: the next one counts it.
    async fn write_one(&self, sink: &EventSink, entry: &Entry) {
        match write(sink, entry).await {
            Ok(key) => self.lock().written(&entry.note, key),
            Err(error) => {
                tracing::debug!(error = %chain(&error), reason = entry.note.reason, "event not written");
                self.lock().lost(&entry.note);
            }
        }
    }
}

fn events() -> ResourceType {
    ResourceType::namespaced("", "v1", "Event", "events")
}

/// Counts an event that is there, or makes it.
async fn write(sink: &EventSink, entry: &Entry) -> Result<ObjectKey, CallError> {
    let options = WriteOptions::by(sink.component);
    if let Some(key) = &entry.stored {
        let patch = json!({"count": entry.count, "lastTimestamp": entry.last});
        let patched = sink
            .client
            .patch_unread(
                &events(),
                key,
                PatchKind::Merge,
                &patch,
                &Part::Object,
                &options,
            )
            .await;
        match patched {
            Ok(()) => return Ok(key.clone()),
            // It has expired in the meantime: a new one, then.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    let event = new_event(sink, entry);
    let created = sink.client.create_unread(&events(), &event, &options).await;
    match created {
        Err(error) if entry.note.is_last() && error.is_already_exists() => {}
        other => other?,
    }
    Ok(event.key())
}

fn new_event(sink: &EventSink, entry: &Entry) -> Object {
    let note = &entry.note;
    let about = &note.about;
    let namespace = match about.key.namespace.as_str() {
        "" => sink.namespace,
        namespace => namespace,
    };
    let suffix = match note.is_last() {
        true => about.uid.clone(),
        false => format!("{:016x}", entry.serial),
    };
    let component = note.component.as_deref().unwrap_or(sink.component);
    let key = ObjectKey::namespaced(namespace, event_name(&about.key.name, &suffix));
    let mut event = Object::new(&events().kind, &key);
    let involved = json!({
        "kind": about.kind.kind, "apiVersion": about.kind.api_version(), "namespace": about.key.namespace,
        "name": about.key.name, "uid": about.uid, "resourceVersion": about.revision,
    });
    let fields = event.fields_mut();
    for (name, value) in [
        ("involvedObject", without_empty(involved)),
        ("reason", note.reason.as_str().into()),
        ("message", note.message.as_str().into()),
        ("source", json!({"component": component})),
        ("firstTimestamp", time(entry.first)),
        ("lastTimestamp", time(entry.last)),
        ("count", entry.count.into()),
        ("type", note.kind.as_str().into()),
        ("eventTime", object::Value::Null),
        ("reportingComponent", component.into()),
        ("reportingInstance", "".into()),
    ] {
        fields.insert(name.to_owned(), value);
    }
    event
}

fn time(time: Time) -> object::Value {
    time.to_string().into()
}

fn without_empty(value: object::Value) -> object::Value {
    let object::Value::Object(fields) = value else {
        return value;
    };
    fields
        .into_iter()
        .filter(|(_, value)| value.as_str() != Some(""))
        .collect()
}

/// The object's name, and what tells its events apart: a number that grows with time, or the uid of an object that went.
/// Object names may be as long as event names, and those of some kinds have signs that names of events cannot have.
fn event_name(object: &str, suffix: &str) -> String {
    const LONGEST: usize = 253;
    let mut end = object.len().min(LONGEST.saturating_sub(suffix.len() + 1));
    while !object.is_char_boundary(end) {
        end -= 1;
    }
    let stem = object.get(..end).unwrap_or_default().to_lowercase();
    let words: Vec<String> = stem
        .split('.')
        .map(|word| {
            let plain = |sign: char| match sign.is_ascii_alphanumeric() {
                true => sign,
                false => '-',
            };
            let word: String = word.chars().map(plain).collect();
            word.trim_matches('-').to_owned()
        })
        .filter(|word| !word.is_empty())
        .collect();
    match words.is_empty() {
        true => format!("event.{suffix}"),
        false => format!("{}.{suffix}", words.join(".")),
    }
}

/// Upstream: a message has at most 1,024 bytes.
fn shortened(message: &str) -> String {
    const LONGEST: usize = 1_024;
    if message.len() <= LONGEST {
        return message.to_owned();
    }
    let mut end = LONGEST - 3;
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}...", message.get(..end).unwrap_or_default())
}

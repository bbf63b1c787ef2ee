//! Events: what happened to an object, for whoever looks at it. The same again is counted, not written anew; what is old
//! goes.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use http::Method;
use object::time::Time;
use object::{Object, Value};
use serde_json::json;
use serve::server::Server;

use crate::engine::action::{Action, Report, Target, Writer};
use crate::engine::carry::{Carried, Media, send};
use crate::engine::kind::group_of;
use crate::read;

/// Who tells of something, as Kubernetes names its components.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) component: &'static str,
    /// The node of a kubelet; empty for everybody else.
    pub(crate) host: &'a str,
}

/// Writes events and knows those it wrote.
pub(crate) struct Recorder {
    is_on: bool,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    told: BTreeMap<u64, Told>,
    /// What was told, the oldest first.
    order: VecDeque<u64>,
    /// Tells events of one moment apart.
    number: u64,
    /// When old events were last looked for.
    swept: Option<Time>,
}

#[derive(Clone)]
struct Told {
    path: String,
    count: i64,
}

/// As many events as are known at a time. One that is forgotten and happens again is a new one.
const MOST_KNOWN: usize = 4096;
/// Kubernetes keeps events for an hour.
const LIFE: i64 = 3600;
/// Seconds between two looks for old ones.
const SWEEP: i64 = 300;
const COLLECTION: &str = "core/events";

impl Recorder {
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            known: Mutex::default(),
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Writes an event, or counts one more of the same.
    pub(crate) async fn publish(&self, server: &Server, report: &Report, source: Source<'_>) {
        if !self.is_on {
            return;
        }
        let now = server.now();
        let fingerprint = fingerprint(report, source);
        if let Some(told) = self.again(fingerprint) {
            let patch = json!({"count": told.count, "lastTimestamp": now.to_string()});
            let (path, media) = (&told.path, Media::MergePatch);
            let carried = send(server, Method::PATCH, path, media, &patch, report.by).await;
            if carried == Carried::Done {
                return;
            }
        }
        let namespace = match read::text(&report.about, "namespace") {
            "" => "default",
            namespace => namespace,
        };
        let collection = format!("/api/v1/namespaces/{namespace}/events");
        let name = self.name(read::text(&report.about, "name"), now);
        self.note(fingerprint, format!("{collection}/{name}"));
        let event = event(report, source, namespace, &name, now);
        let media = Media::Json;
        send(server, Method::POST, &collection, media, &event, report.by).await;
    }

    /// Deletions of events that nobody needs any more; nothing if they were looked for a short while ago.
    pub(crate) fn sweep(&self, server: &Server, now: Time) -> Vec<Action> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_on
            || known
                .swept
                .is_some_and(|last| now < last.plus_seconds(SWEEP))
        {
            return Vec::new();
        }
        known.swept = Some(now);
        drop(known);
        let snapshot = server.cache().collection(COLLECTION).snapshot();
        let old = snapshot.objects.values().filter_map(|record| {
            let event = Object::from_value(record.value()).ok()?;
            let last = ["lastTimestamp", "eventTime", "firstTimestamp"]
                .iter()
                .find_map(|field| event.text_at(&[field])?.parse::<Time>().ok())
                .unwrap_or_else(|| read::created(&event));
            let (namespace, name) = (event.namespace(), event.name());
            (now >= last.plus_seconds(LIFE)).then(|| Action::Delete {
                of: Target {
                    path: format!("/api/v1/namespaces/{namespace}/events/{name}"),
                    uid: event.uid().to_owned(),
                    revision: None,
                },
                grace: None,
                propagation: None,
                by: Writer::Controllers,
            })
        });
        old.collect()
    }

    /// Counts an event on that was told before.
    fn again(&self, fingerprint: u64) -> Option<Told> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let told = known.told.get_mut(&fingerprint)?;
        told.count = told.count.saturating_add(1);
        Some(told.clone())
    }

    /// A name as Kubernetes makes them: the object's, and a number that grows with time, so that names sort by it.
    fn name(&self, object: &str, now: Time) -> String {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.number = (known.number + 1) % 1_000_000_000;
        let nanos = now.unix_seconds().saturating_mul(1_000_000_000);
        let number = u64::try_from(nanos)
            .unwrap_or(0)
            .saturating_add(known.number);
        format!("{object}.{number:x}")
    }

    fn note(&self, fingerprint: u64, path: String) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known
            .told
            .insert(fingerprint, Told { path, count: 1 })
            .is_none()
        {
            known.order.push_back(fingerprint);
        }
        if known.order.len() > MOST_KNOWN
            && let Some(oldest) = known.order.pop_front()
        {
            known.told.remove(&oldest);
        }
    }
}

fn event(report: &Report, source: Source<'_>, namespace: &str, name: &str, now: Time) -> Value {
    let mut from = json!({"component": source.component});
    if let (Some(fields), false) = (from.as_object_mut(), source.host.is_empty()) {
        fields.insert("host".to_owned(), json!(source.host));
    }
    let now = now.to_string();
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": report.about, "reason": report.reason, "message": report.message,
        "type": if report.warning { "Warning" } else { "Normal" },
        "source": from, "reportingComponent": source.component, "reportingInstance": source.host,
        "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    })
}

/// Tells events apart; the same event twice has the same one.
fn fingerprint(report: &Report, source: Source<'_>) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    // An object without a uid, such as a node to its kubelet, is known by its name.
    let about = &report.about;
    for field in ["uid", "kind", "namespace", "name"] {
        read::text(about, field).hash(&mut hasher);
    }
    group_of(read::text(about, "apiVersion")).hash(&mut hasher);
    (
        report.reason,
        &report.message,
        source.component,
        source.host,
    )
        .hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &str, message: &str) -> Report {
        Report {
            about: json!({"kind": "Pod", "name": name, "uid": name}),
            warning: false,
            reason: "Pulled",
            message: message.to_owned(),
            by: Writer::Kubelet,
        }
    }

    #[test]
    fn the_same_is_counted_and_names_sort_by_time() {
        let recorder = Recorder::new(true);
        let source = Source {
            component: "kubelet",
            host: "n1",
        };
        let one = fingerprint(&report("a", "x"), source);
        assert_ne!(one, fingerprint(&report("a", "y"), source));
        assert_ne!(one, fingerprint(&report("b", "x"), source));
        assert!(recorder.again(one).is_none());
        recorder.note(one, "/p".to_owned());
        assert_eq!(recorder.again(one).map(|told| told.count), Some(2));
        let at = Time::from_unix_seconds;
        let names: Vec<String> = [10, 10, 11]
            .into_iter()
            .map(|second| recorder.name("a", at(1_800_000_000 + second)))
            .collect();
        assert!(names.is_sorted(), "{names:?}");
    }

    #[test]
    fn what_is_known_is_bounded() {
        let recorder = Recorder::new(true);
        for number in 0..(MOST_KNOWN as u64 + 10) {
            recorder.note(number, String::new());
        }
        let known = recorder.known.lock().unwrap();
        assert_eq!(
            (known.told.len(), known.order.len()),
            (MOST_KNOWN, MOST_KNOWN)
        );
        assert!(!known.told.contains_key(&0));
    }
}

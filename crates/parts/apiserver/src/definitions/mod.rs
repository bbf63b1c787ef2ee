//! Users' own kinds: follows the CustomResourceDefinitions and serves what they describe.

mod ending;
mod names;
mod overlap;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ::admission::Endpoint;
use access::names::apiserver;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use kinds::{Compiled, DEFINITIONS};
use object::Value;
use runtime::CancellationToken;
use serde_json::json;
use serve::resource::{Resource, Table};
use serve::server::Server;
use serve::webhook::{Caller, Calling};
use tokio::sync::watch;
use tokio::time::Instant;

use self::names::{Refusal, TakenNames, in_turn};

pub(crate) use self::ending::EndingDefinitions;
pub use self::overlap::built_in;

/// How long a new definition waits for the finalizer of whoever takes its objects along, before it is served and said to
/// be established: whoever waits for that and then writes must not find that it has changed once more.
const MARKING: Duration = Duration::from_millis(50);

/// Serves `base` and every definition there is, as they come and go, and announces each table.
pub(crate) async fn follow(
    server: Arc<Server>,
    base: Table,
    caller: Arc<dyn Caller>,
    tables: watch::Sender<bool>,
    stop: CancellationToken,
) {
    let collection = server.cache().collection(DEFINITIONS);
    let mut arrivals = collection.arrivals();
    let mut marks = Marks::default();
    let mut compiled = Compiled::default();
    loop {
        arrivals.mark_unchanged();
        let definitions: Vec<Value> = collection
            .snapshot()
            .objects
            .values()
            .map(|record| record.value())
            .collect();
        let now = Instant::now();
        marks.look(&definitions, now);
        compiled.keep(definitions.iter());
        let mut table = base.clone();
        let mut verdicts = Vec::new();
        let mut taken = TakenNames::of(&base);
        for definition in in_turn(definitions) {
            let claimed = taken.claim(&definition);
            if marks.is_awaited(&definition, now) {
                continue;
            }
            match claimed.and_then(|()| judge(&base, &definition, &mut compiled, &caller)) {
                Ok(resource) => {
                    if let Some(resource) = resource {
                        table.insert(resource);
                    }
                    verdicts.push((definition, Ok(())));
                }
                Err(why) => verdicts.push((definition, Err(why))),
            }
        }
        // Served before it is said to be: whoever waits for the condition may use the kind at once.
        server.set_table(table);
        tables.send_replace(true);
        for (definition, verdict) in verdicts {
            report(&server, definition, verdict).await;
        }
        let given_up = async {
            match marks.next(now) {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            changed = arrivals.changed() => if changed.is_err() { return },
            () = given_up => {}
        }
    }
}

/// The new definitions that nobody has marked yet: by uid, until when that is waited for. Each has a time of its own, so
/// that one is not held back by those that come after it.
#[derive(Default)]
struct Marks(BTreeMap<String, Instant>);

impl Marks {
    /// Looks at all definitions there are.
    fn look(&mut self, definitions: &[Value], now: Instant) {
        let known = std::mem::take(&mut self.0);
        let unmarked = definitions.iter().filter(|one| is_unmarked(one));
        let uids = unmarked.filter_map(|one| one["metadata"]["uid"].as_str());
        let until = |uid: &str| known.get(uid).copied().unwrap_or(now + MARKING);
        self.0 = uids.map(|uid| (uid.to_owned(), until(uid))).collect();
    }

    fn is_awaited(&self, definition: &Value, now: Instant) -> bool {
        let uid = definition["metadata"]["uid"].as_str();
        let until = uid.and_then(|uid| self.0.get(uid));
        until.is_some_and(|until| *until > now)
    }

    /// When the next one is waited for no longer.
    fn next(&self, now: Instant) -> Option<Instant> {
        self.0.values().copied().filter(|until| *until > now).min()
    }
}

/// Whether a definition is new, and nobody has said yet that its objects are to go first.
fn is_unmarked(definition: &Value) -> bool {
    let metadata = &definition["metadata"];
    let conditions = definition["status"]["conditions"].as_array();
    conditions.is_none_or(Vec::is_empty)
        && metadata.get("finalizers").is_none()
        && metadata.get("deletionTimestamp").is_none()
}

/// What a definition adds to what is served.
fn judge(
    base: &Table,
    definition: &Value,
    compiled: &mut Compiled,
    caller: &Arc<dyn Caller>,
) -> Result<Option<Arc<Resource>>, Refusal> {
    let resource = compiled.resource(definition, Some(caller));
    let resource = resource.map_err(|error| Refusal::unserved(error.to_string()))?;
    Ok(overlap::adds(base, &resource)?.then_some(resource))
}

/// Every version objects were ever stored in, as far as nobody has taken it off the list.
fn stored_versions(definition: &Value) -> Value {
    let listed = definition["status"]["storedVersions"].as_array();
    let mut stored = listed.cloned().unwrap_or_default();
    let versions = definition["spec"]["versions"].as_array();
    for version in versions.into_iter().flatten() {
        if version["storage"] == true && !stored.contains(&version["name"]) {
            stored.push(version["name"].clone());
        }
    }
    Value::Array(stored)
}

/// Calls the webhooks of definitions as those of admission are called.
pub(crate) struct Conversions(pub(crate) ::admission::Caller);

impl Caller for Conversions {
    fn post<'a>(&'a self, config: &'a Value, document: Bytes, limit: Duration) -> Calling<'a> {
        Box::pin(async move {
            let endpoint = Endpoint::from_config(config).map_err(|error| error.to_string())?;
            let answer = self.0.post(&endpoint, document, limit).await;
            answer.map_err(|error| error.to_string())
        })
    }
}

/// Writes the conditions clients wait for, if they are not there already.
async fn report(server: &Server, mut definition: Value, verdict: Result<(), Refusal>) {
    let mut accepted = definition["spec"]["names"].clone();
    let (names, established) = match verdict {
        Ok(()) => (
            ("True", "NoConflicts", "no conflicts found".to_owned()),
            (
                "True",
                "InitialNamesAccepted",
                "the initial names have been accepted".to_owned(),
            ),
        ),
        Err(refusal) => {
            if let Some(fields) = accepted.as_object_mut() {
                fields.retain(|name, _| !refusal.fields.contains(&name.as_str()));
            }
            (
                ("False", refusal.names, refusal.message),
                ("False", refusal.established, refusal.shown),
            )
        }
    };
    let is_said = |kind: &str, (status, reason, message): &(&str, &str, String)| {
        let conditions = definition["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|condition| {
            condition["type"] == kind
                && condition["status"] == *status
                && (*status == "True" || condition["reason"] == *reason)
                && (*status == "True" || condition["message"] == message.as_str())
        })
    };
    let stored = stored_versions(&definition);
    if is_said("NamesAccepted", &names)
        && is_said("Established", &established)
        && definition["status"]["storedVersions"] == stored
    {
        return;
    }
    let now = server.now().to_string();
    let condition = |kind: &str, (status, reason, message): &(&str, &str, String)| {
        json!({
            "type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message,
        })
    };
    definition["status"] = json!({
        "conditions": [condition("NamesAccepted", &names), condition("Established", &established)],
        "acceptedNames": accepted,
        "storedVersions": stored,
    });
    let name = definition["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}/status");
    let Ok(request) = Request::put(path).body(Full::new(Bytes::from(definition.to_string())))
    else {
        return;
    };
    let response = server.answer(apiserver(), request).await;
    if !response.status().is_success() && response.status() != http::StatusCode::CONFLICT {
        tracing::warn!(name, status = %response.status(), "status of a definition not written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_waits_for_its_mark_no_longer_for_those_that_come_after_it() {
        let begun = Instant::now();
        let new = |uid: &str| json!({"metadata": {"uid": uid}});
        let marked = |uid: &str| json!({"metadata": {"uid": uid, "finalizers": ["f"]}});
        let mut marks = Marks::default();
        for (milliseconds, definitions, awaited, next) in [
            (0, vec![new("a")], "a", Some(50)),
            (20, vec![new("a"), new("b")], "a b", Some(50)),
            (40, vec![new("a"), marked("b"), new("c")], "a c", Some(50)),
            (50, vec![new("a"), marked("b"), new("c")], "c", Some(90)),
            (60, vec![new("a"), new("c"), new("d")], "c d", Some(90)),
            (110, vec![new("a"), new("c"), new("d")], "", None),
        ] {
            let after = |milliseconds| begun + Duration::from_millis(milliseconds);
            let now = after(milliseconds);
            marks.look(&definitions, now);
            let waiting = definitions.iter().filter(|one| marks.is_awaited(one, now));
            let waiting = waiting.filter_map(|one| one["metadata"]["uid"].as_str());
            let waiting: Vec<&str> = waiting.collect();
            assert_eq!(waiting.join(" "), awaited, "{milliseconds}");
            assert_eq!(marks.next(now), next.map(after), "{milliseconds}");
        }
    }
}

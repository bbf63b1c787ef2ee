//! Users' own kinds: follows the CustomResourceDefinitions and serves what they describe.

use std::sync::Arc;
use std::time::Duration;

use ::admission::Endpoint;
use access::names;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use kinds::resource_with_webhooks;
use object::Value;
use runtime::CancellationToken;
use serde_json::json;
use serve::resource::Table;
use serve::server::Server;
use serve::webhook::{Caller, Calling};

const COLLECTION: &str = "apiextensions.k8s.io/customresourcedefinitions";

/// Serves `base` and every definition there is, as they come and go.
pub(crate) async fn follow(
    server: Arc<Server>,
    base: Table,
    caller: Arc<dyn Caller>,
    stop: CancellationToken,
) {
    let collection = server.cache().collection(COLLECTION);
    let mut arrivals = collection.arrivals();
    loop {
        arrivals.mark_unchanged();
        let definitions: Vec<Value> = collection
            .snapshot()
            .objects
            .values()
            .map(|record| record.value())
            .collect();
        let mut table = base.clone();
        let mut verdicts = Vec::new();
        for definition in definitions {
            let verdict = judge(&base, &definition, &caller);
            match verdict {
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
        for (definition, verdict) in verdicts {
            report(&server, definition, verdict).await;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = arrivals.changed() => if changed.is_err() { return },
        }
    }
}

/// What a definition adds to what is served. One of a kind that is built in is as good as its word: the kind is served,
/// and the definition changes nothing about it.
fn judge(
    base: &Table,
    definition: &Value,
    caller: &Arc<dyn Caller>,
) -> Result<Option<serve::resource::Resource>, String> {
    let resource =
        resource_with_webhooks(definition, Some(caller)).map_err(|error| error.to_string())?;
    let taken = base
        .iter()
        .any(|known| known.group == resource.group && known.plural == resource.plural);
    Ok((!taken).then_some(resource))
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
async fn report(server: &Server, mut definition: Value, verdict: Result<(), String>) {
    let accepted = verdict.is_ok();
    let message = verdict
        .err()
        .unwrap_or_else(|| "the initial names have been accepted".to_owned());
    let status_word = if accepted { "True" } else { "False" };
    let is_said = definition["status"]["conditions"]
        .as_array()
        .is_some_and(|conditions| {
            conditions.iter().any(|condition| {
                condition["type"] == "Established"
                    && condition["status"] == status_word
                    && (accepted || condition["message"] == message.as_str())
            })
        });
    let stored = stored_versions(&definition);
    if is_said && definition["status"]["storedVersions"] == stored {
        return;
    }
    let now = server.now().to_string();
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status_word, "lastTransitionTime": now, "reason": reason, "message": message,
        })
    };
    let (names, established) = if accepted {
        ("NoConflicts", "InitialNamesAccepted")
    } else {
        ("NotServed", "NotServed")
    };
    let shown = if accepted {
        "the kind is served"
    } else {
        message.as_str()
    };
    definition["status"] = json!({
        "conditions": [
            condition("NamesAccepted", names, if accepted { "no conflicts found" } else { &message }),
            condition("Established", established, shown),
        ],
        "acceptedNames": definition["spec"]["names"],
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
    let response = server.answer(names::apiserver(), request).await;
    if !response.status().is_success() && response.status() != http::StatusCode::CONFLICT {
        tracing::warn!(name, status = %response.status(), "status of a definition not written");
    }
}

//! Users' own kinds: follows the CustomResourceDefinitions and serves what they describe.

use std::sync::Arc;

use access::names;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use kinds::resource_of_definition;
use object::Value;
use runtime::CancellationToken;
use serde_json::json;
use serve::resource::Table;
use serve::server::Server;

const COLLECTION: &str = "apiextensions.k8s.io/customresourcedefinitions";

/// Serves `base` and every definition there is, as they come and go.
pub(crate) async fn follow(server: Arc<Server>, base: Table, stop: CancellationToken) {
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
            let verdict = judge(&base, &definition);
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
fn judge(base: &Table, definition: &Value) -> Result<Option<serve::resource::Resource>, String> {
    let resource = resource_of_definition(definition).map_err(|error| error.to_string())?;
    let taken = base
        .iter()
        .any(|known| known.group == resource.group && known.plural == resource.plural);
    Ok((!taken).then_some(resource))
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
    if is_said {
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
    let stored: Vec<Value> = definition["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
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

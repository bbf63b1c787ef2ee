//! `serviceaccounts/token`: a token for an account, for whom, for how long and bound to what the caller says.

use std::sync::Arc;

use http::StatusCode;
use object::Value;
use object::field::{FieldError, FieldPath};
use serde_json::json;
use serve::body;
use serve::cache;
use serve::call::Call;
use serve::handler::{Asked, Handler, Handlers, Outcome};
use serve::server::Server;
use serve::status::{Status, Subject};

use crate::access::Access;
use crate::reviews::{read_document, sent};
use crate::service_account::{BoundTo, Grant};

/// How long a token lasts if nothing is said.
const DEFAULT_SECONDS: i64 = 3600;
/// The shortest time a token may last.
const LEAST_SECONDS: i64 = 600;
/// The longest time a token may last: what a claim in seconds can say.
const MOST_SECONDS: i64 = 1 << 32;

struct TokenRequests {
    access: Arc<Access>,
}

/// Answers token requests from now on.
pub fn insert(handlers: &mut Handlers, access: &Arc<Access>) {
    let requests = TokenRequests {
        access: Arc::clone(access),
    };
    handlers.insert("", "serviceaccounts", "token", Arc::new(requests));
}

impl Handler for TokenRequests {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, asked: Asked) -> Outcome<'a> {
        Box::pin(async move {
            let encoding = asked.answer.encoding;
            let request = read_document(call, sent(asked).await?)?;
            let done = self.issue(server, call, request)?;
            Ok(body::value(StatusCode::CREATED, encoding, &done))
        })
    }
}

impl TokenRequests {
    fn issue(&self, server: &Server, call: &Call, mut request: Value) -> Result<Value, Status> {
        let (namespace, name) = (call.target.namespace.as_str(), call.target.name.as_str());
        check_place(call, &request)?;
        let account = self
            .access
            .accounts()
            .account(namespace, name)
            .ok_or_else(|| Status::not_found(call.subject()))?;
        let uid = account.head().uid.to_string();
        let asked_uid = text(&request["metadata"], "uid");
        if !asked_uid.is_empty() && asked_uid != uid {
            let why = format!(
                "the UID in the token request ({asked_uid}) does not match the UID of the service account ({uid})"
            );
            return Err(Status::conflict(subject(name), &why));
        }
        let spec = read_spec(&request, self.access.authenticators().audiences())?;
        let bound = match request["spec"].get("boundObjectRef") {
            Some(reference) if reference.is_object() => bind(server, call, reference)?,
            _ => Vec::new(),
        };
        let now = server.now();
        let grant = Grant {
            namespace,
            name,
            uid: &uid,
            audiences: &spec.audiences,
            now,
            seconds: spec.seconds,
            bound: &bound,
        };
        let token = self
            .access
            .accounts()
            .issue(&grant)
            .ok_or_else(|| Status::internal("the token cannot be signed", None))?;
        request["metadata"]["name"] = json!(name);
        request["metadata"]["namespace"] = json!(namespace);
        request["metadata"]["uid"] = json!(uid);
        request["metadata"]["creationTimestamp"] = json!(now.to_string());
        request["spec"]["audiences"] = json!(spec.audiences);
        request["spec"]["expirationSeconds"] = json!(spec.seconds);
        request["status"] = json!({
            "token": token, "expirationTimestamp": now.plus_seconds(spec.seconds).to_string(),
        });
        Ok(request)
    }
}

struct Spec {
    audiences: Vec<String>,
    seconds: i64,
}

/// A token request, for refusals.
fn subject(name: &str) -> Subject<'_> {
    Subject {
        group: "authentication.k8s.io",
        resource: "TokenRequest",
        name,
    }
}

fn check_place(call: &Call, request: &Value) -> Result<(), Status> {
    let mut errors = Vec::new();
    for (field, expected, why) in [
        (
            "name",
            &call.target.name,
            "must match the service account name if specified",
        ),
        (
            "namespace",
            &call.target.namespace,
            "must match the service account namespace if specified",
        ),
    ] {
        let found = text(&request["metadata"], field);
        if !found.is_empty() && found != expected {
            let path = FieldPath::from(format!("metadata.{field}").as_str());
            errors.push(FieldError::invalid(path, found, why));
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(subject(&call.target.name), &errors))
}

fn read_spec(request: &Value, own_audiences: &[String]) -> Result<Spec, Status> {
    let spec = &request["spec"];
    let audiences: Vec<String> = spec["audiences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    let seconds = spec["expirationSeconds"]
        .as_i64()
        .unwrap_or(DEFAULT_SECONDS);
    let why = if seconds < LEAST_SECONDS {
        "may not specify a duration less than 10 minutes"
    } else if seconds > MOST_SECONDS {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        let audiences = if audiences.is_empty() {
            own_audiences.to_vec()
        } else {
            audiences
        };
        return Ok(Spec { audiences, seconds });
    };
    let error = FieldError::invalid(FieldPath::from("spec.expirationSeconds"), seconds, why);
    Err(Status::invalid(subject(""), &[error]))
}

/// What a token is to end with.
fn bind(server: &Server, call: &Call, reference: &Value) -> Result<Vec<BoundTo>, Status> {
    let (kind, name) = (text(reference, "kind"), text(reference, "name"));
    let api_version = text(reference, "apiVersion");
    let (plural, claim) = match (api_version, kind) {
        ("v1" | "", "Pod") => ("pods", "pod"),
        ("v1" | "", "Secret") => ("secrets", "secret"),
        ("v1" | "", "Node") => ("nodes", "node"),
        _ => {
            return Err(Status::bad_request(format!(
                "cannot bind token to object of type {api_version}, Kind={kind}"
            )));
        }
    };
    let namespace = if plural == "nodes" {
        ""
    } else {
        call.target.namespace.as_str()
    };
    let bound_to = Subject {
        group: "",
        resource: plural,
        name,
    };
    let collection = server.cache().collection(&cache::name_of("", plural));
    let record = collection
        .find(&cache::object_key(namespace, name))
        .ok_or_else(|| Status::not_found(bound_to))?;
    let uid = record.head().uid.to_string();
    let asked = text(reference, "uid");
    if !asked.is_empty() && asked != uid {
        let why = format!(
            "the UID in the bound object reference ({asked}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(Status::conflict(
            Subject {
                resource: kind,
                ..bound_to
            },
            &why,
        ));
    }
    let mut bound = vec![BoundTo {
        claim,
        name: name.to_owned(),
        uid,
    }];
    if claim == "pod" {
        let pod = record.value();
        if text(&pod["spec"], "serviceAccountName") != call.target.name {
            return Err(Status::bad_request(format!(
                "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                call.target.name
            )));
        }
        bound.extend(node_of(server, &pod));
    }
    Ok(bound)
}

/// The node a pod is on: told with the token, as far as it is known.
fn node_of(server: &Server, pod: &Value) -> Option<BoundTo> {
    let name = pod["spec"]["nodeName"].as_str()?;
    let nodes = server.cache().collection(&cache::name_of("", "nodes"));
    let uid = nodes.find(name).map(|node| node.head().uid.to_string());
    Some(BoundTo {
        claim: "node",
        name: name.to_owned(),
        uid: uid.unwrap_or_default(),
    })
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

//! `serviceaccounts/token`: a token for an account, for whom, for how long and bound to what the caller says.

use std::sync::Arc;

use http::StatusCode;
use object::Value;
use object::field::{FieldError, FieldPath};
use serde_json::json;
use serve::body;
use serve::cache;
use serve::call::Call;
use serve::handler::{Asked, Handler, Handlers, Outcome, warned};
use serve::server::Server;
use serve::status::{Status, Subject};

use crate::access::Access;
use crate::audit::Remark;
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
            let mut request = read_document(call, sent(asked).await?)?;
            check_types(&request)?;
            fill_in(&mut request);
            let mut warnings = server.mutate_sent(call, &mut request).await?;
            self.prepare(server, call, &mut request)?;
            let judged = server.validate_sent(call, &request).await;
            warnings.extend(judged.map_err(|status| status.with_warnings(&warnings))?);
            let id = self.issue(server, call, &mut request)?;
            let mut response = body::value(StatusCode::CREATED, encoding, &request);
            response.extensions_mut().insert(Remark {
                name: "authentication.kubernetes.io/issued-credential-id",
                value: id,
            });
            Ok(warned(response, &warnings))
        })
    }
}

impl TokenRequests {
    /// Checks a request and completes it with what is known of the account.
    fn prepare(&self, server: &Server, call: &Call, request: &mut Value) -> Result<(), Status> {
        let (namespace, name) = (call.target.namespace.as_str(), call.target.name.as_str());
        // Whoever changed it may have taken something away.
        fill_in(request);
        check_place(call, request)?;
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
        if audiences(request).is_empty() {
            request["spec"]["audiences"] = json!(self.access.authenticators().audiences());
        }
        request["metadata"]["name"] = json!(name);
        request["metadata"]["namespace"] = json!(namespace);
        request["metadata"]["uid"] = json!(uid);
        request["metadata"]["creationTimestamp"] = json!(server.now().to_string());
        request["status"] = json!({"token": "", "expirationTimestamp": null});
        check_spec(request)
    }

    /// Signs a token and puts it into the request; gives its id.
    fn issue(&self, server: &Server, call: &Call, request: &mut Value) -> Result<String, Status> {
        let bound = match request["spec"].get("boundObjectRef") {
            Some(reference) if reference.is_object() => bind(server, call, reference)?,
            _ => Vec::new(),
        };
        let now = server.now();
        let (audiences, seconds) = (audiences(request), seconds(request));
        let grant = Grant {
            namespace: &call.target.namespace,
            name: &call.target.name,
            uid: text(&request["metadata"], "uid"),
            audiences: &audiences,
            now,
            seconds,
            bound: &bound,
        };
        let issued = self.access.accounts().issue(&grant);
        let (token, id) =
            issued.ok_or_else(|| Status::internal("the token cannot be signed", None))?;
        request["status"] = json!({
            "token": token, "expirationTimestamp": now.plus_seconds(seconds).to_string(),
        });
        Ok(id)
    }
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

/// Refuses what is no request for a token. Upstream: such a body cannot be decoded.
fn check_types(request: &Value) -> Result<(), Status> {
    let spec = &request["spec"];
    let is_list = |value: &Value| {
        let list = value.as_array();
        list.is_some_and(|list| list.iter().all(Value::is_string))
    };
    let fields: [(&str, &str, &Value, bool); 4] = [
        ("spec", "an object", spec, spec.is_object()),
        (
            "spec.audiences",
            "a list of strings",
            &spec["audiences"],
            is_list(&spec["audiences"]),
        ),
        (
            "spec.expirationSeconds",
            "an integer",
            &spec["expirationSeconds"],
            spec["expirationSeconds"].is_i64(),
        ),
        (
            "spec.boundObjectRef",
            "an object",
            &spec["boundObjectRef"],
            spec["boundObjectRef"].is_object(),
        ),
    ];
    let wrong = fields
        .iter()
        .find(|(_, _, value, fits)| !value.is_null() && !fits);
    match wrong {
        None => Ok(()),
        Some((field, wanted, ..)) => Err(Status::bad_request(format!(
            "TokenRequest in version \"v1\" cannot be handled as a TokenRequest: {field}: must be {wanted}"
        ))),
    }
}

/// Sets what the author left out, as other objects have it by the time admission sees them.
fn fill_in(request: &mut Value) {
    if !request["spec"].is_object() {
        request["spec"] = json!({});
    }
    if request["spec"]["expirationSeconds"].is_null() {
        request["spec"]["expirationSeconds"] = json!(DEFAULT_SECONDS);
    }
}

fn audiences(request: &Value) -> Vec<String> {
    let audiences = request["spec"]["audiences"].as_array();
    let audiences = audiences.into_iter().flatten().filter_map(Value::as_str);
    audiences.map(str::to_owned).collect()
}

fn seconds(request: &Value) -> i64 {
    let seconds = request["spec"]["expirationSeconds"].as_i64();
    seconds.unwrap_or(DEFAULT_SECONDS)
}

fn check_spec(request: &Value) -> Result<(), Status> {
    let seconds = seconds(request);
    let why = if seconds < LEAST_SECONDS {
        "may not specify a duration less than 10 minutes"
    } else if seconds > MOST_SECONDS {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(());
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

//! `pods/binding`, and the older `bindings` that names the pod in its document: places a pod on a node.

use http::{Response, StatusCode};
use object::Value;
use object::time::Time;
use serde_json::json;
use serve::body::{self, Body};
use serve::call::Call;
use serve::handler::{Asked, Handler, Outcome, warned};
use serve::intake;
use serve::server::Server;
use serve::status::{Status, Subject};

use super::document::{self, Form};
use super::text;

const FORM: Form = Form {
    api_version: "v1",
    older: "v1",
    kind: "Binding",
};

/// Answers bindings.
pub(super) struct Binding;

impl Handler for Binding {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, asked: Asked) -> Outcome<'a> {
        Box::pin(bind(server, call, asked))
    }
}

async fn bind(server: &Server, call: &Call, asked: Asked) -> Result<Response<Body>, Status> {
    let encoding = asked.answer.encoding;
    let (content, bytes) = asked.document().await?;
    let (mut binding, _) = intake::decode(content, &bytes)?;
    check_document(call, &mut binding)?;
    // Upstream: admission is asked about the binding alone, and not about the pod that it changes.
    let mut warnings = server.mutate_sent(call, &mut binding).await?;
    let (node, uid) = (
        text(&binding, "/target/name").to_owned(),
        text(&binding, "/metadata/uid").to_owned(),
    );
    if node.is_empty() {
        let status = Status::bad_request("target.name: Required value");
        return Err(status.with_warnings(&warnings));
    }
    let judged = server.validate_sent(call, &binding).await;
    warnings.extend(judged.map_err(|status| status.with_warnings(&warnings))?);
    let now = server.now();
    let aimed = aimed_at_pod(server, call, text(&binding, "/metadata/name"))?;
    server
        .change(&aimed, &|pod| place(&aimed, pod, &node, &uid, now))
        .await
        .map_err(|status| status.with_warnings(&warnings))?;
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    });
    let response = body::value(StatusCode::CREATED, encoding, &status);
    Ok(warned(response, &warnings))
}

/// Checks that a document is a binding of the pod of the call, and completes it.
fn check_document(call: &Call, binding: &mut Value) -> Result<(), Status> {
    document::complete(call, binding, &FORM)?;
    let named = text(binding, "/metadata/name");
    match (named, call.target.name.as_str()) {
        ("", "") => Err(Status::bad_request(
            "metadata.name: Required value: the pod to bind",
        )),
        ("", name) => {
            binding["metadata"]["name"] = json!(name);
            Ok(())
        }
        (named, name) if !name.is_empty() && named != name => Err(Status::bad_request(
            "name in URL does not match name in Binding object",
        )),
        _ => Ok(()),
    }
}

/// What a refusal is about. Upstream: the part, where others name the object.
fn subject(call: &Call) -> Subject<'_> {
    Subject {
        group: "",
        resource: "pods/binding",
        name: &call.target.name,
    }
}

/// The call as one on the part of a pod, wherever the pod's name was.
fn aimed_at_pod(server: &Server, call: &Call, named: &str) -> Result<Call, Status> {
    let mut aimed = call.clone();
    if call.target.resource == "pods" {
        return Ok(aimed);
    }
    let pods = server.table().find("", "v1", "pods");
    aimed.served = pods.ok_or_else(Status::unknown_path)?;
    aimed.target.resource = "pods".to_owned();
    aimed.target.subresource = "binding".to_owned();
    aimed.target.name = named.to_owned();
    Ok(aimed)
}

fn place(call: &Call, pod: &Value, node: &str, uid: &str, now: Time) -> Result<Value, Status> {
    let metadata = pod.get("metadata").unwrap_or(&Value::Null);
    if !uid.is_empty() && text(metadata, "/uid") != uid {
        let why = format!("Precondition failed: UID in precondition: {uid}");
        return Err(Status::conflict(subject(call), &why));
    }
    let present = text(pod, "/spec/nodeName");
    if !present.is_empty() {
        let why = format!(
            "pod {} is already assigned to node {present:?}",
            call.target.name
        );
        return Err(Status::conflict(subject(call), &why));
    }
    if metadata.get("deletionTimestamp").is_some() {
        let why = format!(
            "pod {} is being deleted, cannot be assigned to a host",
            call.target.name
        );
        return Err(Status::conflict(subject(call), &why));
    }
    let mut placed = pod.clone();
    if let Some(spec) = placed.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("nodeName".to_owned(), json!(node));
    }
    let mut conditions = pod
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let condition = json!({
        "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now.to_string(),
    });
    let known = conditions
        .iter_mut()
        .find(|known| text(known, "/type") == "PodScheduled");
    match known {
        Some(known) if text(known, "/status") == "True" => {}
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
    let status = placed
        .as_object_mut()
        .map(|fields| fields.entry("status").or_insert_with(|| json!({})));
    if let Some(status) = status.and_then(Value::as_object_mut) {
        status.insert("conditions".to_owned(), conditions.into());
    }
    Ok(placed)
}

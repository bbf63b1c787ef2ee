//! Carrying actions out: requests to the member's own server, through everything a client's go through.

use std::hash::{Hash, Hasher};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use object::Value;
use serde_json::json;
use serve::call::User;
use serve::server::Server;

use crate::engine::action::{Action, Report, Target, Writer};
use crate::engine::kind::Kind;

/// What came of an action.
#[derive(Debug, PartialEq)]
pub(crate) enum Carried {
    /// It is so now.
    Done,
    /// Somebody else wrote meanwhile: look again.
    Outrun,
    /// The server does not want it.
    Refused(String),
}

/// The user in whose name the engine writes.
pub(crate) fn engine_user() -> User {
    User {
        name: "system:kube-controller-manager".to_owned(),
        groups: vec!["system:masters".to_owned()],
        ..User::default()
    }
}

/// Does one thing.
pub(crate) async fn carry(server: &Server, action: &Action, events: bool) -> Carried {
    match action {
        Action::Create { kind, object, by } => {
            let namespace = object
                .get("metadata")
                .and_then(|metadata| metadata.get("namespace"))
                .and_then(Value::as_str)
                .unwrap_or_default();
            let path = kind.collection_path(namespace);
            send(server, Method::POST, &path, Media::Json, object, *by).await
        }
        Action::Status { of, status, by } => {
            let revision = of.revision.as_deref().unwrap_or_default();
            let patch = json!([
                {"op": "test", "path": "/metadata/uid", "value": of.uid},
                {"op": "test", "path": "/metadata/resourceVersion", "value": revision},
                {"op": "add", "path": "/status", "value": status},
            ]);
            let path = format!("{}/status", of.path);
            send(server, Method::PATCH, &path, Media::JsonPatch, &patch, *by).await
        }
        Action::Merge { of, patch, by } => {
            let patch = guarded(of, patch.clone());
            send(
                server,
                Method::PATCH,
                &of.path,
                Media::MergePatch,
                &patch,
                *by,
            )
            .await
        }
        Action::Put { path, object, by } => {
            send(server, Method::PUT, path, Media::Json, object, *by).await
        }
        Action::Bind { of, node } => {
            let binding = json!({
                "apiVersion": "v1", "kind": "Binding", "metadata": {"uid": of.uid},
                "target": {"apiVersion": "v1", "kind": "Node", "name": node},
            });
            let path = format!("{}/binding", of.path);
            let by = Writer::Scheduler;
            send(server, Method::POST, &path, Media::Json, &binding, by).await
        }
        Action::Delete {
            of,
            grace,
            propagation,
            by,
        } => {
            let mut options = json!({"preconditions": {"uid": of.uid}});
            if let Some(fields) = options.as_object_mut() {
                if let Some(seconds) = grace {
                    fields.insert("gracePeriodSeconds".to_owned(), json!(seconds));
                }
                if let Some(policy) = propagation {
                    fields.insert("propagationPolicy".to_owned(), json!(policy));
                }
            }
            match send(server, Method::DELETE, &of.path, Media::Json, &options, *by).await {
                // Gone already, or another one of the name: as wanted.
                Carried::Outrun => Carried::Done,
                other => other,
            }
        }
        Action::Report(report) if events => {
            publish(server, report).await;
            Carried::Done
        }
        Action::Report(_) => Carried::Done,
    }
}

/// A merge patch that fails on any other object or state than the one looked at.
fn guarded(of: &Target, mut patch: Value) -> Value {
    let metadata = patch
        .as_object_mut()
        .map(|fields| fields.entry("metadata").or_insert_with(|| json!({})));
    if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
        metadata.insert("uid".to_owned(), json!(of.uid));
        if let Some(revision) = &of.revision {
            metadata.insert("resourceVersion".to_owned(), json!(revision));
        }
    }
    patch
}

/// How a body is to be read.
#[derive(Clone, Copy)]
enum Media {
    Json,
    JsonPatch,
    MergePatch,
}

impl Media {
    fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::JsonPatch => "application/json-patch+json",
            Self::MergePatch => "application/merge-patch+json",
        }
    }
}

async fn send(
    server: &Server,
    method: Method,
    path: &str,
    media: Media,
    body: &Value,
    by: Writer,
) -> Carried {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, media.as_str())
        .header(http::header::USER_AGENT, by.agent())
        .body(Full::new(Bytes::from(body.to_string())));
    let Ok(request) = request else {
        return Carried::Refused(format!("{path} is no path"));
    };
    let response = server.answer(engine_user(), request).await;
    let code = response.status();
    if code.is_success() {
        return Carried::Done;
    }
    let bytes = match response.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(never) => match never {},
    };
    let status: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let message = status
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let outrun = matches!(code, StatusCode::CONFLICT | StatusCode::NOT_FOUND)
        || matches!(media, Media::JsonPatch) && code == StatusCode::UNPROCESSABLE_ENTITY;
    if outrun {
        return Carried::Outrun;
    }
    tracing::debug!(path, %code, message, "write of the simulation refused");
    Carried::Refused(message)
}

/// Writes an event, or counts one more of the same.
async fn publish(server: &Server, report: &Report) {
    let text = |name: &str| {
        let field = report.about.get(name).and_then(Value::as_str);
        field.unwrap_or_default().to_owned()
    };
    let namespace = Some(text("namespace"))
        .filter(|namespace| !namespace.is_empty())
        .unwrap_or_else(|| "default".to_owned());
    let name = format!("{}.{:016x}", text("name"), fingerprint(report));
    let now = server.now().to_string();
    let collection = server.cache().collection("core/events");
    let known = collection.find(&serve::cache::object_key(&namespace, &name));
    let path = format!("/api/v1/namespaces/{namespace}/events");
    if let Some(record) = known {
        let count = record
            .value()
            .get("count")
            .and_then(Value::as_i64)
            .unwrap_or(1);
        let patch = json!({"count": count.saturating_add(1), "lastTimestamp": now});
        let path = format!("{path}/{name}");
        send(
            server,
            Method::PATCH,
            &path,
            Media::MergePatch,
            &patch,
            report.by,
        )
        .await;
        return;
    }
    let event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": report.about, "reason": report.reason, "message": report.message,
        "type": if report.warning { "Warning" } else { "Normal" },
        "source": {"component": report.by.agent()}, "reportingComponent": report.by.agent(), "reportingInstance": "",
        "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    });
    send(server, Method::POST, &path, Media::Json, &event, report.by).await;
}

/// Tells events about one object apart; the same event twice has the same one.
fn fingerprint(report: &Report) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    report
        .about
        .get("uid")
        .map(Value::to_string)
        .hash(&mut hasher);
    report.reason.hash(&mut hasher);
    report.message.hash(&mut hasher);
    hasher.finish()
}

/// Whether a kind's objects can be written by the engine: used by the member to make what every cluster has.
pub(crate) async fn create(server: &Server, kind: Kind, object: Value) -> Carried {
    let by = Writer::Controllers;
    carry(server, &Action::Create { kind, object, by }, false).await
}

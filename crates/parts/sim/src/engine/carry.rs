//! Carrying actions out: requests to the member's own server, through everything a client's go through.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use object::Value;
use serde_json::json;
use serve::body::Body;
use serve::call::User;
use serve::server::Server;

use crate::engine::action::{Action, Report, Target, Writer};
use crate::engine::events::{Recorder, Source};
use crate::engine::kind::Kind;
use crate::read;

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

/// Does one thing, and tells of it through the recorder.
pub(crate) async fn carry(
    server: &Server,
    action: &Action,
    recorder: &Recorder,
    source: Source<'_>,
) -> Carried {
    match action {
        Action::Create {
            kind,
            object,
            by,
            tells,
        } => {
            let namespace = object
                .get("metadata")
                .and_then(|metadata| metadata.get("namespace"))
                .and_then(Value::as_str)
                .unwrap_or_default();
            let path = kind.collection_path(namespace);
            let sent = ask(server, Method::POST, &path, Media::Json, object, *by).await;
            match (sent, tells.as_deref().filter(|_| recorder.is_on())) {
                (Ok(made), Some(report)) => {
                    let made = body_of(made).await;
                    let name = made.get("metadata").map_or("", |of| read::text(of, "name"));
                    let mut report = report.clone();
                    report.message.push_str(name);
                    recorder.publish(server, &report, source).await;
                    Carried::Done
                }
                (Ok(_), None) => Carried::Done,
                (Err(Carried::Refused(why)), Some(report)) => {
                    let report = Report {
                        warning: true,
                        reason: "FailedCreate",
                        message: format!("Error creating: {why}"),
                        ..report.clone()
                    };
                    recorder.publish(server, &report, source).await;
                    Carried::Refused(why)
                }
                (Err(carried), _) => carried,
            }
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
        Action::Report(report) => {
            recorder.publish(server, report, source).await;
            Carried::Done
        }
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
pub(super) enum Media {
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

/// Sends a request and says what came of it.
pub(super) async fn send(
    server: &Server,
    method: Method,
    path: &str,
    media: Media,
    body: &Value,
    by: Writer,
) -> Carried {
    match ask(server, method, path, media, body, by).await {
        Ok(_) => Carried::Done,
        Err(carried) => carried,
    }
}

/// Sends a request; the answer, or what came of it if it is a refusal.
async fn ask(
    server: &Server,
    method: Method,
    path: &str,
    media: Media,
    body: &Value,
    by: Writer,
) -> Result<Response<Body>, Carried> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, media.as_str())
        .header(http::header::USER_AGENT, by.agent())
        .body(Full::new(Bytes::from(body.to_string())));
    let Ok(request) = request else {
        return Err(Carried::Refused(format!("{path} is no path")));
    };
    let response = server.answer(engine_user(), request).await;
    let code = response.status();
    if code.is_success() {
        return Ok(response);
    }
    let status = body_of(response).await;
    let message = read::text(&status, "message").to_owned();
    let outrun = matches!(code, StatusCode::CONFLICT | StatusCode::NOT_FOUND)
        || matches!(media, Media::JsonPatch) && code == StatusCode::UNPROCESSABLE_ENTITY;
    if outrun {
        return Err(Carried::Outrun);
    }
    tracing::debug!(path, %code, message, "write of the simulation refused");
    Err(Carried::Refused(message))
}

async fn body_of(response: Response<Body>) -> Value {
    let bytes = match response.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(never) => match never {},
    };
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Whether a kind's objects can be written by the engine: used by the member to make what every cluster has.
pub(crate) async fn create(server: &Server, kind: Kind, object: Value) -> Carried {
    let action = Action::Create {
        kind,
        object,
        by: Writer::Controllers,
        tells: None,
    };
    let source = Source {
        component: "",
        host: "",
    };
    carry(server, &action, &Recorder::new(false), source).await
}

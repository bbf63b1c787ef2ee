//! A server that says what a script tells it to, request by request.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use karavel_client::{Body, BoxError};
use serde_json::{Value, json};
use tower_service::Service;

/// The server; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Script {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    answers: VecDeque<Answer>,
    asked: Vec<String>,
}

/// One answer.
pub(crate) struct Answer {
    code: u16,
    chunks: Vec<Chunk>,
    end: End,
}

enum Chunk {
    Say(String),
    Pause(Duration),
}

#[derive(Clone, Copy)]
enum End {
    Close,
    Break,
    Hang,
}

impl Script {
    /// The next request that nothing is planned for is answered like this.
    pub(crate) fn then(&self, answer: Answer) -> &Self {
        self.state.lock().unwrap().answers.push_back(answer);
        self
    }

    /// What was asked so far: the queries, without what is always the same.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.state.lock().unwrap().asked.clone()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state.lock().unwrap().answers.is_empty()
    }
}

impl Answer {
    fn new(code: u16) -> Self {
        Self {
            code,
            chunks: Vec::new(),
            end: End::Close,
        }
    }

    pub(crate) fn watch() -> Self {
        Self::new(200)
    }

    pub(crate) fn list(revision: u64, objects: &[Value]) -> Self {
        Self::page(revision, "", objects)
    }

    pub(crate) fn page(revision: u64, next: &str, objects: &[Value]) -> Self {
        let list = json!({"kind": "PodList", "apiVersion": "v1", "items": objects,
                          "metadata": {"resourceVersion": revision.to_string(), "continue": next}});
        Self::new(200).say(list.to_string())
    }

    pub(crate) fn refuse(code: u16, reason: &str) -> Self {
        Self::new(code).say(status(code, reason).to_string())
    }

    fn say(mut self, text: String) -> Self {
        self.chunks.push(Chunk::Say(text));
        self
    }

    pub(crate) fn event(self, r#type: &str, object: &Value) -> Self {
        self.say(format!("{}\n", json!({"type": r#type, "object": object})))
    }

    pub(crate) fn added(self, object: &Value) -> Self {
        self.event("ADDED", object)
    }

    pub(crate) fn bookmark(self, revision: u64) -> Self {
        let object = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": revision.to_string()}});
        self.event("BOOKMARK", &object)
    }

    pub(crate) fn initial_end(self, revision: u64) -> Self {
        let object = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {
            "resourceVersion": revision.to_string(), "annotations": {"k8s.io/initial-events-end": "true"}}});
        self.event("BOOKMARK", &object)
    }

    pub(crate) fn error(self, code: u16, reason: &str) -> Self {
        self.event("ERROR", &status(code, reason))
    }

    pub(crate) fn garbage(self, text: &str) -> Self {
        self.say(text.to_owned())
    }

    pub(crate) fn pause(mut self, seconds: u64) -> Self {
        self.chunks.push(Chunk::Pause(Duration::from_secs(seconds)));
        self
    }

    /// The connection breaks.
    pub(crate) fn breaking(self) -> Self {
        Self {
            end: End::Break,
            ..self
        }
    }

    /// Nothing more is said, ever.
    pub(crate) fn hanging(self) -> Self {
        Self {
            end: End::Hang,
            ..self
        }
    }

    fn into_response(self) -> Response<UnsyncBoxBody<Bytes, BoxError>> {
        let end = self.end;
        let said = stream::iter(self.chunks).then(|chunk| async move {
            match chunk {
                Chunk::Say(text) => Some(Ok(Frame::data(Bytes::from(text)))),
                Chunk::Pause(span) => {
                    tokio::time::sleep(span).await;
                    None
                }
            }
        });
        let said = said.filter_map(std::future::ready);
        let last = stream::once(async move {
            match end {
                End::Close => None,
                End::Break => Some(Err(BoxError::from("connection reset"))),
                End::Hang => std::future::pending().await,
            }
        });
        let body = StreamBody::new(said.chain(last.filter_map(std::future::ready)));
        let mut response = Response::new(body.boxed_unsync());
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap();
        response
    }
}

impl Service<Request<Body>> for Script {
    type Response = Response<UnsyncBoxBody<Bytes, BoxError>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut state = self.state.lock().unwrap();
        state.asked.push(shortened(request.uri().query()));
        let answer = state.answers.pop_front();
        // A script that has ended leaves the last watch open.
        let answer = answer.unwrap_or_else(|| Answer::watch().hanging());
        Box::pin(async move { Ok(answer.into_response()) })
    }
}

fn shortened(query: Option<&str>) -> String {
    let constant = [
        "allowWatchBookmarks=true",
        "resourceVersionMatch=NotOlderThan",
        "timeoutSeconds=300",
    ];
    let parts = query.unwrap_or_default().split('&');
    let parts: Vec<&str> = parts.filter(|part| !constant.contains(part)).collect();
    parts.join(" ")
}

fn status(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason})
}

//! The network between the control plane and its members, without one.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use client::{Client, Endpoint, Identity};
use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Frame;
use member::connect::{Connect, Connecting, Dial};
use serve::body::Body;
use tokio::time::Sleep;
use tower_service::Service;

use crate::member::administrator;

/// All ways to members; clones are the same.
#[derive(Clone, Default)]
pub struct Wires {
    members: Arc<Mutex<BTreeMap<String, Wire>>>,
}

/// The way to one member.
#[derive(Clone)]
pub(crate) struct Wire {
    member: sim::Member,
    /// Why no connection comes about, if none does.
    refusal: Arc<Mutex<Option<String>>>,
    /// Paths that are answered on the way, and with which status.
    answers: Arc<Mutex<BTreeMap<String, StatusCode>>>,
    /// What has come through: method, path and query of each call.
    seen: Arc<Mutex<Option<Vec<String>>>>,
    /// Who answers in the member's place, and takes whatever credentials are shown.
    another: Arc<Mutex<Option<sim::Member>>>,
}

impl Wires {
    /// Puts a member at an address.
    pub(crate) fn add(&self, address: &str, member: &sim::Member) -> Wire {
        let wire = Wire {
            member: member.clone(),
            refusal: Arc::default(),
            answers: Arc::default(),
            seen: Arc::default(),
            another: Arc::default(),
        };
        self.lock().insert(address.to_owned(), wire.clone());
        wire
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Wire>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wire {
    /// Lets every call fail before it reaches the member, as when its certificate has expired; `None` mends it.
    pub(crate) fn refuse(&self, why: Option<&str>) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = why.map(str::to_owned);
    }

    /// Answers calls of a path and all below it with a status, in the place of the member; `None` lets them through.
    pub(crate) fn answer(&self, path: &str, status: Option<StatusCode>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        match status {
            Some(status) => answers.insert(path.to_owned(), status),
            None => answers.remove(path),
        };
    }

    /// Lets another cluster answer in the member's place, one that takes whatever credentials are shown; `None` the member
    /// itself.
    pub(crate) fn lead_to(&self, another: Option<&sim::Member>) {
        *self.another.lock().unwrap_or_else(PoisonError::into_inner) = another.cloned();
    }

    fn another(&self) -> Option<sim::Member> {
        let another = self.another.lock();
        another.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins to note the calls that come through; what was noted until now.
    pub(crate) fn note(&self) -> Vec<String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.replace(Vec::new()).unwrap_or_default()
    }

    /// What a call gets in the place of the member's answer.
    fn answered(&self, request: &mut Request<client::Body>) -> Option<Response<Body>> {
        if let Some(seen) = &mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner) {
            seen.push(format!("{} {}", request.method(), request.uri()));
        }
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let path = request.uri().path();
        let below = |known: &&String| {
            let rest = path.strip_prefix(known.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(known) = answers.keys().find(below) {
            let mut response = Response::new(Body::Whole(Bytes::new()));
            *response.status_mut() = answers.get(known).copied().unwrap_or_default();
            return Some(response);
        }
        // Who is to miss a group must ask for groups one by one.
        if path == "/apis" && answers.keys().any(|known| known.starts_with("/apis/")) {
            let plain = HeaderValue::from_static("application/json");
            request.headers_mut().insert(ACCEPT, plain);
        }
        None
    }

    fn refusal(&self) -> Option<String> {
        self.refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn is_down(&self) -> bool {
        self.member.faults().state().cut_off || self.refusal().is_some()
    }
}

impl Connect for Wires {
    fn connect<'a>(&'a self, _: &'a str, endpoint: &'a Endpoint) -> Connecting<'a> {
        Box::pin(async move {
            let Some(wire) = self.lock().get(&endpoint.server).cloned() else {
                return Err(format!("there is nobody at {}", endpoint.server).into());
            };
            let authorization = match &endpoint.identity {
                Identity::Token(token) => Some(HeaderValue::from_str(&format!("Bearer {token}"))?),
                _ => None,
            };
            let caller = Caller {
                wire,
                authorization,
            };
            let Dial { deadline, calls } = Dial::default();
            Ok(Client::in_process(caller).limited(deadline, calls))
        })
    }
}

/// Calls a member with somebody's token.
#[derive(Clone)]
struct Caller {
    wire: Wire,
    authorization: Option<HeaderValue>,
}

/// A connection that does not come about.
#[derive(Debug)]
struct Broken(String);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

impl Service<Request<client::Body>> for Caller {
    type Response = Response<Carried>;
    type Error = Broken;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Broken>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<client::Body>) -> Self::Future {
        let Self {
            wire,
            authorization,
        } = self.clone();
        Box::pin(async move {
            if let Some(why) = wire.refusal() {
                return Err(Broken(why));
            }
            if let Some(value) = authorization {
                request.headers_mut().entry(AUTHORIZATION).or_insert(value);
            }
            let response = match (wire.answered(&mut request), wire.another()) {
                (Some(response), _) => response,
                (None, None) => wire.member.answer_stranger(request).await,
                (None, Some(another)) => {
                    request.headers_mut().remove(AUTHORIZATION);
                    another.answer(administrator(), request).await
                }
            };
            Ok(response.map(|body| Carried {
                body,
                wire,
                probing: None,
            }))
        })
    }
}

/// What a member answers, as it comes through its wire: nothing while that is cut, and never more after it was mended.
struct Carried {
    body: Body,
    wire: Wire,
    /// Wakes while the wire is down; a cut says nothing to whoever waits.
    probing: Option<Pin<Box<Sleep>>>,
}

/// How often a stream over a cut wire is looked at.
const PROBE: Duration = Duration::from_secs(5);

impl http_body::Body for Carried {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if self.probing.is_none() && !self.wire.is_down() {
            let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
            return Poll::Ready(frame.map(|frame| frame.map_err(impossible)));
        }
        loop {
            let probe = self
                .probing
                .get_or_insert_with(|| Box::pin(tokio::time::sleep(PROBE)));
            std::task::ready!(probe.as_mut().poll(context));
            if !self.wire.is_down() {
                // What was under way when the wire was cut is lost.
                return Poll::Ready(Some(Err(Broken("connection reset by peer".to_owned()))));
            }
            self.probing = None;
        }
    }
}

fn impossible(never: Infallible) -> Broken {
    match never {}
}

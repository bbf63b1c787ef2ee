//! A small API for the tests of this crate: objects in a map, with revisions, conflicts and merge patches.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use client::{Body, Client};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use object::{Object, Value};
use serde_json::json;
use tower_service::Service;

/// The API; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Api {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    revision: u64,
    /// What was asked, as `METHOD path`.
    log: Vec<String>,
    /// Requests are answered like this while it is set.
    refuse: Option<(u16, Value)>,
    /// Requests are not answered.
    hang: bool,
}

impl Api {
    pub(crate) fn client(&self) -> Client {
        Client::in_process(self.clone())
    }

    pub(crate) fn put(&self, path: &str, mut object: Value) {
        let mut state = self.state.lock().unwrap();
        state.revision += 1;
        object["metadata"]["resourceVersion"] = state.revision.to_string().into();
        state.objects.insert(path.to_owned(), object);
    }

    pub(crate) fn get(&self, path: &str) -> Option<Object> {
        let state = self.state.lock().unwrap();
        let value = state.objects.get(path).cloned()?;
        Some(Object::from_value(value).unwrap())
    }

    pub(crate) fn below(&self, path: &str) -> Vec<Object> {
        let state = self.state.lock().unwrap();
        let found = state
            .objects
            .iter()
            .filter(|(key, _)| key.starts_with(path));
        found
            .map(|(_, value)| Object::from_value(value.clone()).unwrap())
            .collect()
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.state.lock().unwrap().log.clone()
    }

    pub(crate) fn refuse(&self, answer: Option<(u16, Value)>) {
        self.state.lock().unwrap().refuse = answer;
    }

    pub(crate) fn hang(&self, hang: bool) {
        self.state.lock().unwrap().hang = hang;
    }
}

impl State {
    fn answer(&mut self, method: &Method, path: &str, body: &[u8]) -> (u16, Value) {
        self.log.push(format!("{method} {path}"));
        if let Some(refusal) = &self.refuse {
            return refusal.clone();
        }
        let sent: Value = serde_json::from_slice(body).unwrap_or_default();
        let found = self.objects.get(path).cloned();
        match (method.as_str(), found) {
            ("POST", _) => {
                let name = sent["metadata"]["name"].as_str().unwrap_or_default();
                let path = format!("{path}/{name}");
                if self.objects.contains_key(&path) {
                    return status(409, "AlreadyExists");
                }
                (201, self.store(path, sent))
            }
            (_, None) => status(404, "NotFound"),
            ("GET", Some(found)) => (200, found),
            ("DELETE", Some(found)) => {
                let wanted = &sent["preconditions"]["uid"];
                if !wanted.is_null() && *wanted != found["metadata"]["uid"] {
                    return status(409, "Conflict");
                }
                self.objects.remove(path);
                (
                    200,
                    json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}),
                )
            }
            ("PUT", Some(found)) => {
                if sent["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"] {
                    return status(409, "Conflict");
                }
                (200, self.store(path.to_owned(), sent))
            }
            ("PATCH", Some(mut found)) => {
                for name in ["uid", "resourceVersion"] {
                    let wanted = &sent["metadata"][name];
                    if !wanted.is_null() && *wanted != found["metadata"][name] {
                        return status(409, "Conflict");
                    }
                }
                found = object::patch::merge(&found, &sent);
                (200, self.store(path.to_owned(), found))
            }
            _ => status(405, "MethodNotAllowed"),
        }
    }

    fn store(&mut self, path: String, mut object: Value) -> Value {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        self.objects.insert(path, object.clone());
        object
    }
}

impl Service<Request<Body>> for Api {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let api = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            if api.state.lock().unwrap().hang {
                std::future::pending::<()>().await;
            }
            let path = parts.uri.path();
            let (code, value) = api.state.lock().unwrap().answer(&parts.method, path, &body);
            let mut response = Response::new(Full::from(value.to_string()));
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            Ok(response)
        })
    }
}

pub(crate) fn status(code: u16, reason: &str) -> (u16, Value) {
    let value = json!({"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": reason});
    (code, value)
}

//! `clusters/*/proxy/…`: one request for whichever member has the object, or a list of what all members have.
//!
//! Keeps:  who has an object is asked by reading alone, whatever the request is; a request that changes something goes to
//!         one member or to none, and to none while a member does not say whether it has the object; who is left out of a
//!         list is named in a warning; nobody is waited for longer than [`PATIENCE`].

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use client::Body as ClientBody;
use futures_util::future::join_all;
use http::header::{ACCEPT, CONTENT_TYPE, WARNING};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use object::Value;
use serve::body::{self, Body};
use serve::call::{Call, User};
use serve::handler::Asked;
use serve::negotiate::Encoding;
use serve::server::Server;
use serve::status::Status;
use serve::target::{ResourceTarget, Target, Verb};

use crate::proxy::{Proxy, head};

/// The name that stands for all clusters.
pub(super) const ALL: &str = "*";
/// How long one member may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest list that is taken from one member.
const LONGEST_LIST: usize = 256 * 1024 * 1024;
/// What everybody who is somebody may read of the control plane itself.
const OPEN: [&str; 7] = [
    "/api", "/apis", "/version", "/openapi", "/healthz", "/livez", "/readyz",
];
/// Parts of objects that cannot be read: whether the object is there is asked of the object.
const UNREADABLE: [&str; 9] = [
    "exec",
    "attach",
    "portforward",
    "log",
    "proxy",
    "ephemeralcontainers",
    "eviction",
    "binding",
    "token",
];

impl Proxy {
    pub(super) async fn carry_to_all(
        &self,
        server: &Server,
        call: &Call,
        mut asked: Asked,
        path: &str,
    ) -> Result<Response<Body>, Status> {
        let uri = asked.parts.uri.clone();
        let (target, watches) =
            Target::parse(path).map_err(|error| Status::bad_request(error.to_string()))?;
        let Target::Resource(target) = target else {
            if !is_open(path) || asked.parts.method != Method::GET {
                return Err(Status::unknown_path());
            }
            asked.parts.uri = head::uri(path, uri.query()).map_err(unforwardable)?;
            let request = Request::from_parts(asked.parts, asked.body);
            return Ok(Box::pin(server.answer(call.user.clone(), request)).await);
        };
        if !target.name.is_empty() {
            let place = self.find(&call.user, &asked.parts, path, &target).await?;
            return self.carry_to(&place, path, call, asked).await;
        }
        let watches = watches || is_watch(uri.query().unwrap_or_default());
        let verb = Verb::of(&asked.parts.method, &target, watches);
        if verb != Some(Verb::List) {
            let verb = verb.map_or("", Verb::as_str);
            return Err(Status {
                message: format!("Request verb {verb} is not support"),
                ..Status::method_not_allowed()
            });
        }
        self.list(&call.user, &asked.parts, path).await
    }

    /// The one cluster that has an object.
    async fn find(
        &self,
        user: &User,
        parts: &Parts,
        path: &str,
        target: &ResourceTarget,
    ) -> Result<String, Status> {
        let object = object_path(path, target);
        let names = self.cluster_names();
        let asking = names.iter().map(|name| {
            let reading = self.read(name, user, parts, &object, None);
            async move { Presence::of(reading.await) }
        });
        let found: Vec<Presence> = join_all(asking).await;
        let runs = matches!(
            target.subresource.as_str(),
            "exec" | "attach" | "portforward"
        );
        let is_read = parts.method == Method::GET && !runs;
        let silent = names.iter().zip(&found);
        let silent: Vec<&str> = silent
            .filter(|(_, presence)| **presence == Presence::Unknown)
            .map(|(name, _)| name.as_str())
            .collect();
        if !is_read && !silent.is_empty() {
            let silent = silent.join(",");
            return Err(Status::unavailable(
                format!(
                    "cannot tell whether the resource is in one cluster only: no answer from {silent}; name the cluster instead of *"
                ),
                None,
            ));
        }
        let has = found.iter().map(|presence| *presence == Presence::There);
        let mut places = names.iter().zip(has).filter(|(_, has)| *has);
        let Some((first, _)) = places.next() else {
            return Err(missing(
                "resource not found or don't have permission to get it",
            ));
        };
        let others: Vec<&str> = places.map(|(name, _)| name.as_str()).collect();
        if others.is_empty() {
            return Ok(first.clone());
        }
        Err(Status {
            code: StatusCode::CONFLICT.as_u16(),
            reason: "Conflict".into(),
            message: format!(
                "conflict resource, exist in more than one cluster: {first},{}",
                others.join(",")
            ),
            ..Status::unknown_path()
        })
    }

    /// What all members list, one after the other.
    async fn list(&self, user: &User, parts: &Parts, path: &str) -> Result<Response<Body>, Status> {
        let names = self.cluster_names();
        let query = parts.uri.query().and_then(whole_list);
        let asking = names
            .iter()
            .map(|name| self.read(name, user, parts, path, query.as_deref()));
        let mut whole: Option<Value> = None;
        let mut left_out = Vec::new();
        for (name, answered) in names.iter().zip(join_all(asking).await) {
            let Ok((StatusCode::OK, bytes)) = answered else {
                if Presence::of(answered) == Presence::Unknown {
                    left_out.push(name.as_str());
                }
                continue;
            };
            let Ok(mut list) = serde_json::from_slice::<Value>(&bytes) else {
                continue;
            };
            let Some(whole) = &mut whole else {
                // The revision of one member means nothing to the others.
                if let Some(metadata) = list.get_mut("metadata").and_then(Value::as_object_mut) {
                    metadata.retain(|name, _| name == "selfLink");
                }
                whole = Some(list);
                continue;
            };
            for name in ["items", "rows"] {
                let more = list.get_mut(name).and_then(Value::as_array_mut);
                let known = whole.get_mut(name).and_then(Value::as_array_mut);
                if let (Some(known), Some(more)) = (known, more) {
                    known.append(more);
                }
            }
        }
        let Some(list) = whole else {
            return Err(missing("not found"));
        };
        let mut response = body::value(StatusCode::OK, Encoding::Json, &list);
        if !left_out.is_empty() {
            let warning = format!("299 - \"no answer from {}: left out\"", left_out.join(", "));
            if let Ok(warning) = HeaderValue::from_str(&warning) {
                response.headers_mut().insert(WARNING, warning);
            }
        }
        Ok(response)
    }

    /// Reads something of a member as the user, who does not wait forever.
    async fn read(
        &self,
        cluster: &str,
        user: &User,
        parts: &Parts,
        path: &str,
        query: Option<&str>,
    ) -> Result<(StatusCode, Bytes), Status> {
        let reading = self.read_to_end(cluster, user, parts, path, query);
        tokio::time::timeout(PATIENCE, reading)
            .await
            .unwrap_or_else(|_| Err(Status::unavailable("no answer in time", None)))
    }

    async fn read_to_end(
        &self,
        cluster: &str,
        user: &User,
        parts: &Parts,
        path: &str,
        query: Option<&str>,
    ) -> Result<(StatusCode, Bytes), Status> {
        let mut request = Request::new(ClientBody::empty());
        *request.uri_mut() = head::uri(path, query).map_err(unforwardable)?;
        let mut headers = head::forwarded(&parts.headers, false);
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, readable(&parts.headers));
        *request.headers_mut() = headers;
        let response = self.ask(cluster, user, request).await?;
        let status = response.status();
        let (mut body, mut bytes) = (response.into_body(), BytesMut::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Status::unavailable(error.to_string(), None))?;
            let data = frame.into_data().unwrap_or_default();
            if bytes.len().saturating_add(data.len()) > LONGEST_LIST {
                return Err(Status::too_large(LONGEST_LIST));
            }
            bytes.extend_from_slice(&data);
        }
        Ok((status, bytes.freeze()))
    }

    fn cluster_names(&self) -> Vec<String> {
        let keys = self.clusters.keys_in_namespace("").into_iter();
        keys.map(|key| key.name).collect()
    }
}

/// What a member's answer says of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    There,
    /// It is not there, or the user may not see it.
    Absent,
    /// The member did not say.
    Unknown,
}

impl Presence {
    fn of(answered: Result<(StatusCode, Bytes), Status>) -> Self {
        match answered {
            Ok((StatusCode::OK, _)) => Self::There,
            Ok((StatusCode::NOT_FOUND | StatusCode::FORBIDDEN, _)) => Self::Absent,
            Err(status) if matches!(status.code, 403 | 404) => Self::Absent,
            Ok(_) | Err(_) => Self::Unknown,
        }
    }
}

/// A query without what would cut each member's list short: the pieces could not be put together again.
fn whole_list(query: &str) -> Option<String> {
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !matches!(pair.split('=').next(), Some("limit" | "continue")))
        .collect();
    (!kept.is_empty()).then(|| kept.join("&"))
}

/// The path of the object itself, where the part that is asked for cannot be read.
fn object_path(path: &str, target: &ResourceTarget) -> String {
    if !UNREADABLE.contains(&target.subresource.as_str()) {
        return path.to_owned();
    }
    let part = format!("/{}", target.subresource);
    let whole = format!("/{}{part}", target.name);
    let end = path.rfind(&whole).map(|at| at + whole.len() - part.len());
    let object = end.and_then(|end| path.get(..end));
    object.unwrap_or(path).to_owned()
}

/// What the client accepts, as far as it can be put together from several answers.
fn readable(headers: &http::HeaderMap) -> HeaderValue {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let kinds: Vec<&str> = accepted
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|kind| kind.starts_with("application/json"))
        .collect();
    HeaderValue::from_str(&kinds.join(","))
        .ok()
        .filter(|value| !value.is_empty())
        .unwrap_or(HeaderValue::from_static("application/json"))
}

fn is_open(path: &str) -> bool {
    OPEN.iter().any(|open| {
        path.strip_prefix(open)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn is_watch(query: &str) -> bool {
    query
        .split('&')
        .any(|pair| matches!(pair, "watch" | "watch=1" | "watch=true"))
}

fn missing(message: &str) -> Status {
    Status {
        message: message.to_owned(),
        ..Status::unknown_path()
    }
}

fn unforwardable(error: http::uri::InvalidUri) -> Status {
    Status::bad_request(format!("the path cannot be forwarded: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_looked_for_by_its_object() {
        for (path, expected) in [
            (
                "/api/v1/namespaces/a/pods/p/exec",
                "/api/v1/namespaces/a/pods/p",
            ),
            (
                "/api/v1/namespaces/a/pods/exec/exec",
                "/api/v1/namespaces/a/pods/exec",
            ),
            (
                "/api/v1/namespaces/a/services/s/proxy/x/y",
                "/api/v1/namespaces/a/services/s",
            ),
            (
                "/api/v1/namespaces/a/pods/p/status",
                "/api/v1/namespaces/a/pods/p/status",
            ),
            ("/api/v1/nodes/n", "/api/v1/nodes/n"),
        ] {
            let Ok((Target::Resource(target), _)) = Target::parse(path) else {
                panic!("{path} is a resource");
            };
            assert_eq!(object_path(path, &target), expected);
        }
    }

    #[test]
    fn lists_are_asked_for_whole() {
        let check = |query: &str, expected: Option<&str>| {
            assert_eq!(whole_list(query).as_deref(), expected, "{query}");
        };
        check("limit=500", None);
        check(
            "limit=5&labelSelector=a%3Db&continue=x",
            Some("labelSelector=a%3Db"),
        );
        check("fieldSelector=limit%3D1", Some("fieldSelector=limit%3D1"));
    }

    #[test]
    fn only_what_can_be_put_together_is_asked_for() {
        let check = |accept: &str, expected: &str| {
            let mut headers = http::HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            assert_eq!(readable(&headers), expected, "{accept}");
        };
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        check(
            &format!("{table},application/json"),
            &format!("{table},application/json"),
        );
        check("application/vnd.kubernetes.protobuf", "application/json");
        check("*/*", "application/json");
    }
}

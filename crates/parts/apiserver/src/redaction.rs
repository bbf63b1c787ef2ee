//! What of a cluster is shown only to those who could have written it.
//!
//! `spec.proxyHeader` is sent to the proxy in front of a member and may hold its password, and so may `spec.proxyURL`.
//! Upstream: everybody who reads clusters reads them. Here whoever may neither update nor patch the cluster sees which
//! headers there are and not what they say, and the URL without its user, whatever the answer is to. Whoever may do one of
//! both writes these fields, and could have the server copy them to where everybody reads them.

use access::Access;
use access::attempt::{Attempt, What};
use access::policy::Decision;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{Request, Response};
use http_body_util::Full;
use object::Value;
use serve::body::Body;
use serve::call::User;
use serve::intake;
use serve::negotiate::Content;
use serve::status::Status;

use crate::arrival;
use crate::roles::COMPONENTS;

/// The headers that are kept back.
const FIELD: &str = "proxyHeader";
/// The URL whose user is kept back.
const URL: &str = "proxyURL";
/// What stands in the place of what is kept back.
const HIDDEN: &str = "<redacted>";
/// Where `kubectl apply` keeps what was written, whole.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Where all of that is in a cluster, as JSON patches point to it.
const PLACES: [&str; 3] = [
    "/spec/proxyHeader",
    "/spec/proxyURL",
    "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
];

/// Whether an answer to this must be gone over before the user sees it.
pub(crate) fn concerns(access: &Access, user: &User, attempt: &Attempt) -> bool {
    let What::Resource(target) = &attempt.what else {
        return false;
    };
    if target.group != "cluster.karmada.io" || target.resource != "clusters" {
        return false;
    }
    if !matches!(&*target.subresource, "" | "status") {
        return false;
    }
    // The parts of this process reach members through those proxies.
    if user.groups.iter().any(|group| group == COMPONENTS) {
        return false;
    }
    let mut target = target.clone();
    target.subresource.clear();
    ["update", "patch"].into_iter().all(|verb| {
        let writing = Attempt::on(verb, target.clone());
        matches!(access.decide(user, &writing), Decision::Denied(_))
    })
}

/// Whether a request may have the server itself take from an object what is kept back: no other patch takes anything.
pub(crate) fn may_take<B>(request: &Request<B>) -> bool {
    let content = request.headers().get(CONTENT_TYPE);
    content.is_some_and(|content| {
        let content = content.as_bytes().to_ascii_lowercase();
        content
            .trim_ascii_start()
            .starts_with(b"application/json-patch")
    })
}

/// The request, unless its patch takes or tests what its user may not see.
pub(crate) async fn taking_nothing<B>(
    attempt: &Attempt,
    user: &User,
    request: Request<B>,
) -> Result<Request<Full<Bytes>>, Status>
where
    B: http_body::Body + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let bytes = arrival::whole(body).await?;
    if takes(&bytes) {
        let why = "the patch takes or tests a field that is not shown to who may not write it";
        return Err(attempt.forbidden(user, why));
    }
    Ok(Request::from_parts(head, Full::new(bytes)))
}

/// Whether a JSON patch copies, moves or tests what is kept back, or what that is a part of. One that cannot be read is
/// refused elsewhere.
fn takes(patch: &[u8]) -> bool {
    // Read as whoever applies it will read it.
    let Ok((operations, _)) = intake::decode(Content::JsonPatch, patch) else {
        return false;
    };
    let mut operations = operations.as_array().into_iter().flatten();
    operations.any(|operation| {
        let from = match operation.get("op").and_then(Value::as_str) {
            Some("copy" | "move") => operation.get("from"),
            Some("test") => operation.get("path"),
            _ => None,
        };
        from.and_then(Value::as_str).is_some_and(|from| {
            PLACES
                .iter()
                .any(|place| is_within(from, place) || is_within(place, from))
        })
    })
}

/// Whether a pointer points to a place or into it.
fn is_within(pointer: &str, place: &str) -> bool {
    let rest = pointer.strip_prefix(place.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// An answer in JSON without what is kept back.
pub(crate) fn redacted(response: Response<Body>) -> Response<Body> {
    // A refusal says nothing of what such objects hold.
    if !response.status().is_success() {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let body = match body {
        Body::Whole(bytes) => {
            let bytes = go_over(bytes);
            head.headers.remove(CONTENT_LENGTH);
            Body::Whole(bytes)
        }
        // One event a line; a line may come in pieces.
        Body::Stream(chunks) => {
            let lines = chunks.scan(BytesMut::new(), |rest, chunk| {
                rest.extend_from_slice(&chunk);
                let end = rest.iter().rposition(|byte| *byte == b'\n');
                let whole = end.map_or_else(BytesMut::new, |end| rest.split_to(end + 1));
                std::future::ready(Some(go_over_lines(whole.freeze())))
            });
            Body::Stream(Box::pin(lines))
        }
    };
    Response::from_parts(head, body)
}

fn go_over_lines(bytes: Bytes) -> Bytes {
    if !mentions(&bytes) {
        return bytes;
    }
    let mut all = BytesMut::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        all.extend_from_slice(&go_over(Bytes::copy_from_slice(line)));
        if all.last() != Some(&b'\n') {
            all.extend_from_slice(b"\n");
        }
    }
    all.freeze()
}

/// A document without what is kept back. One that cannot be read is not shown at all.
fn go_over(bytes: Bytes) -> Bytes {
    if !mentions(&bytes) {
        return bytes;
    }
    let Ok(mut document) = serde_json::from_slice::<Value>(&bytes) else {
        return Bytes::new();
    };
    hide(&mut document);
    document.to_string().into()
}

fn hide(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match (name.as_str(), field) {
                    (FIELD, Value::Object(headers)) => {
                        headers.values_mut().for_each(|text| *text = HIDDEN.into());
                    }
                    (LAST_APPLIED, Value::String(text)) => *text = hidden_text(text),
                    (URL, Value::String(text)) => *text = without_user(text),
                    // One of the columns of a table is the URL.
                    ("cells", Value::Array(cells)) => {
                        for cell in cells {
                            if let Value::String(text) = cell {
                                *text = without_user(text);
                            }
                        }
                    }
                    (_, field) => hide(field),
                }
            }
        }
        _ => {}
    }
}

fn hidden_text(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut document) => {
            hide(&mut document);
            document.to_string()
        }
        Err(_) => HIDDEN.to_owned(),
    }
}

/// A URL without its user and password; any other text as it is.
fn without_user(text: &str) -> String {
    let hidden = text.split_once("://").and_then(|(scheme, rest)| {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (_, host) = authority.rsplit_once('@')?;
        Some(format!("{scheme}://{HIDDEN}@{host}{path}"))
    });
    hidden.unwrap_or_else(|| text.to_owned())
}

/// Whether a document may have something to keep back; most have not, and go out as they are.
fn mentions(bytes: &[u8]) -> bool {
    let has = |text: &str| {
        let mut windows = bytes.windows(text.len());
        windows.any(|window| window == text.as_bytes())
    };
    bytes.contains(&b'@') || has(FIELD) || has(LAST_APPLIED)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::BodyExt as _;
    use serde_json::json;

    use super::*;

    fn cluster(value: &str) -> Value {
        let url = format!("http://{value}@p:1/x@y");
        let spec = json!({"proxyURL": url, "proxyHeader": {"X-Key": value}});
        let applied = json!({"kind": "Cluster", "spec": spec}).to_string();
        json!({"kind": "Cluster", "metadata": {"name": "m", "annotations": {LAST_APPLIED: applied}}, "spec": spec})
    }

    async fn shown(body: Body) -> String {
        let response = redacted(Response::new(body));
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn values_of_headers_are_hidden_wherever_they_stand() {
        let hidden = cluster(HIDDEN);
        let whole = cluster("secret").to_string();
        assert_eq!(shown(Body::Whole(whole.into())).await, hidden.to_string());
        let list = |one: Value| json!({"items": [one, {"metadata": {"name": "plain"}}]});
        let whole = list(cluster("secret")).to_string();
        assert_eq!(
            shown(Body::Whole(whole.into())).await,
            list(hidden).to_string()
        );
        let table = |url: &str| json!({"rows": [{"cells": ["m", url, 1, "a@b"]}]}).to_string();
        let rows = shown(Body::Whole(table("socks5://ann:secret@p:1").into())).await;
        assert_eq!(rows, table("socks5://<redacted>@p:1"));
        let plain = "{\"kind\":  \"Cluster\"}";
        assert_eq!(shown(Body::Whole(plain.into())).await, plain);
        let broken = "{\"proxyHeader\": {\"X\": \"secret";
        assert_eq!(shown(Body::Whole(broken.into())).await, "");
    }

    #[tokio::test]
    async fn events_are_gone_over_however_they_are_cut() {
        let event = |one: Value| format!("{}\n", json!({"type": "ADDED", "object": one}));
        let sent = event(cluster("secret")) + &event(json!({"kind": "Cluster"}));
        let expected = event(cluster(HIDDEN)) + &event(json!({"kind": "Cluster"}));
        for size in [1, 7, 100, 10_000] {
            let pieces: Vec<Bytes> = sent
                .as_bytes()
                .chunks(size)
                .map(Bytes::copy_from_slice)
                .collect();
            let body = Body::Stream(Box::pin(stream::iter(pieces)));
            assert_eq!(shown(body).await, expected, "pieces of {size}");
        }
    }

    #[test]
    fn a_patch_takes_what_it_copies_moves_or_tests_and_all_of_it() {
        let applied = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
        for (operation, from, expected) in [
            ("copy", "/spec/proxyHeader/X-Key", true),
            ("copy", "/spec/proxyHeader", true),
            ("copy", "/spec/proxyURL", true),
            ("copy", "/spec", true),
            ("copy", "/spec/", true),
            ("copy", "", true),
            ("move", "/metadata/annotations", true),
            ("test", applied, true),
            ("test", "/spec/proxyHeader/X-Key", true),
            ("test", "/spec/proxyHeaders", false),
            ("test", "/metadata/resourceVersion", false),
            ("copy", "/status/kubernetesVersion", false),
            ("add", "/spec/proxyHeader", false),
        ] {
            let operation = match operation {
                "copy" | "move" => json!({"op": operation, "from": from, "path": "/status/x"}),
                _ => json!({"op": operation, "path": from, "value": "x"}),
            };
            let patch = json!([{"op": "remove", "path": "/status/y"}, operation]).to_string();
            assert_eq!(takes(patch.as_bytes()), expected, "{patch}");
        }
        assert!(!takes(b"{"));
    }
}

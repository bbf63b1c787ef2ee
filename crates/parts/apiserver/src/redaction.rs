//! What of a cluster is shown only to those who could have written it.
//!
//! `spec.proxyHeader` is sent to the proxy in front of a member and may hold its password. Upstream: everybody who reads
//! clusters reads it. Here whoever may not update the cluster sees which headers there are and not what they say.

use access::Access;
use access::attempt::{Attempt, What};
use access::policy::Decision;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, UPGRADE};
use http::{Response, StatusCode};
use object::Value;
use serve::body::Body;
use serve::call::User;

use crate::roles::COMPONENTS;

/// The field that is kept back.
const FIELD: &str = "proxyHeader";
/// What stands in the place of each of its values.
const HIDDEN: &str = "<redacted>";
/// Where `kubectl apply` keeps what was written, whole.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether an answer to this must be gone over before the user sees it.
pub(crate) fn concerns(access: &Access, user: &User, attempt: &Attempt) -> bool {
    let What::Resource(target) = &attempt.what else {
        return false;
    };
    let is_read = matches!(&*attempt.verb, "get" | "list" | "watch");
    if target.group != "cluster.karmada.io" || target.resource != "clusters" || !is_read {
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
    let writing = Attempt::on("update", target);
    matches!(access.decide(user, &writing), Decision::Denied(_))
}

/// Asks for an answer that can be gone over: as JSON, neither packed nor over another protocol.
pub(crate) fn plainly(headers: &mut HeaderMap) {
    headers.remove(ACCEPT_ENCODING);
    headers.remove(UPGRADE);
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let kinds: Vec<&str> = accepted
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|kind| kind.starts_with("application/json"))
        .collect();
    let kinds = HeaderValue::from_str(&kinds.join(",")).ok();
    let kinds = kinds.filter(|kinds| !kinds.is_empty());
    headers.insert(
        ACCEPT,
        kinds.unwrap_or(HeaderValue::from_static("application/json")),
    );
}

/// The answer without what is kept back.
pub(crate) fn redacted(response: Response<Body>) -> Response<Body> {
    if response.status() != StatusCode::OK {
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
                    (LAST_APPLIED, Value::String(text)) if text.contains(FIELD) => {
                        *text = hidden_text(text);
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

fn mentions(bytes: &[u8]) -> bool {
    bytes
        .windows(FIELD.len())
        .any(|window| window == FIELD.as_bytes())
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::BodyExt as _;
    use serde_json::json;

    use super::*;

    fn cluster(value: &str) -> Value {
        let spec = json!({"proxyURL": "http://p", "proxyHeader": {"X-Key": value}});
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
    fn what_cannot_be_gone_over_is_not_asked_for() {
        for (accept, expected) in [
            ("application/yaml", "application/json"),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/yaml",
                "application/json;as=Table;v=v1;g=meta.k8s.io",
            ),
            ("*/*", "application/json"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
            plainly(&mut headers);
            assert_eq!(headers.get(ACCEPT).unwrap(), expected);
            assert!(!headers.contains_key(ACCEPT_ENCODING));
        }
    }
}

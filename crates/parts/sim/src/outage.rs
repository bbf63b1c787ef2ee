//! An API group whose server does not answer, as an aggregating API server shows it: the group is still announced, marked as
//! stale, and whatever is asked of it is unavailable.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderValue, Request, Response, StatusCode};
use object::Value;
use serve::body::Body;

/// What Kubernetes says for a server that it cannot reach: text, and no object.
const UNAVAILABLE: &[u8] = b"service unavailable\n";

/// What a request gets that is about one of these groups; `None` if it is about another, or about what groups there are.
pub(crate) fn refusal(path: &str, dropped: &BTreeSet<String>) -> Option<Response<Body>> {
    if !is_about(path, dropped) {
        return None;
    }
    let mut response = Response::new(Body::Whole(Bytes::from_static(UNAVAILABLE)));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    Some(response)
}

/// Whether a path leads to a version of one of these groups.
pub(crate) fn is_about(path: &str, dropped: &BTreeSet<String>) -> bool {
    let mut parts = path.trim_matches('/').split('/');
    let group = match parts.next() {
        Some("api") => "",
        Some("apis") => parts.next().unwrap_or_default(),
        _ => return false,
    };
    // The root of a group is answered by whoever aggregates.
    parts.next().is_some_and(|version| !version.is_empty()) && dropped.contains(group)
}

/// Has a request for all groups answered so that [`mark`] can read what comes.
pub(crate) fn unpack<B>(request: &mut Request<B>, dropped: &BTreeSet<String>) {
    if lists_groups(request.uri().path()) && !dropped.is_empty() {
        request.headers_mut().remove(ACCEPT_ENCODING);
        request.headers_mut().remove(IF_NONE_MATCH);
    }
}

/// Whether a path is one of those where all groups are told.
pub(crate) fn lists_groups(path: &str) -> bool {
    matches!(path.trim_end_matches('/'), "/api" | "/apis")
}

/// Marks these groups as stale where an answer tells how fresh each of them is.
pub(crate) fn mark(response: Response<Body>, dropped: &BTreeSet<String>) -> Response<Body> {
    if dropped.is_empty() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Body::Whole(bytes) = body else {
        return Response::from_parts(parts, body);
    };
    let Some(marked) = marked(&bytes, dropped) else {
        return Response::from_parts(parts, Body::Whole(bytes));
    };
    // It names what was there before.
    parts.headers.remove(ETAG);
    Response::from_parts(parts, Body::Whole(marked.into()))
}

fn marked(bytes: &[u8], dropped: &BTreeSet<String>) -> Option<Vec<u8>> {
    let mut list: Value = serde_json::from_slice(bytes).ok()?;
    if list.get("kind")? != "APIGroupDiscoveryList" {
        return None;
    }
    for group in list.get_mut("items")?.as_array_mut()? {
        let name = group.pointer("/metadata/name").and_then(Value::as_str);
        if !dropped.contains(name.unwrap_or_default()) {
            continue;
        }
        let versions = group.get_mut("versions").and_then(Value::as_array_mut);
        for version in versions.into_iter().flatten() {
            if let Some(fields) = version.as_object_mut() {
                fields.insert("freshness".to_owned(), Value::from("Stale"));
            }
        }
    }
    serde_json::to_vec(&list).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_dropped_group_serves_is_unavailable() {
        let dropped: BTreeSet<String> = ["batch".to_owned()].into();
        for (path, expected) in [
            ("/apis/batch/v1", true),
            ("/apis/batch/v1/namespaces/default/jobs", true),
            ("/apis/batch", false),
            ("/apis", false),
            ("/apis/apps/v1", false),
            ("/api/v1/pods", false),
            ("/healthz", false),
        ] {
            assert_eq!(is_about(path, &dropped), expected, "{path}");
        }
        let core: BTreeSet<String> = [String::new()].into();
        assert!(is_about("/api/v1/pods", &core) && !is_about("/api", &core));
    }

    #[test]
    fn a_dropped_group_is_announced_as_stale() {
        let group = |name: &str, freshness: &str| json!({"metadata": {"name": name}, "versions": [{"version": "v1", "freshness": freshness}]});
        let list = |groups: [Value; 2]| json!({"kind": "APIGroupDiscoveryList", "items": groups});
        let before = list([group("apps", "Current"), group("batch", "Current")]);
        let dropped: BTreeSet<String> = ["batch".to_owned()].into();
        let marked = marked(before.to_string().as_bytes(), &dropped).unwrap();
        let after: Value = serde_json::from_slice(&marked).unwrap();
        assert_eq!(
            after,
            list([group("apps", "Current"), group("batch", "Stale")])
        );
        let legacy = json!({"kind": "APIGroupList", "groups": []}).to_string();
        assert!(super::marked(legacy.as_bytes(), &dropped).is_none());
    }
}

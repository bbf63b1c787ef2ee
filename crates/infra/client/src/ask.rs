//! One request before it is sent, and its answer before anybody looks at it.

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{Method, Response};
use http_body_util::BodyExt as _;
use intent::Part;
use object::{Object, ObjectKey, ResourceType, Value};
use serde::Deserialize;

use crate::call::List;
use crate::error::{CallError, refusal};
use crate::transport::AnswerBody;

/// The media type of most that is said and asked for.
pub(crate) const JSON: &str = "application/json";

/// One request, before it is sent. Prints as method and path, without the query, which may hold a long token.
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) accept: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) body: Bytes,
}

impl Ask {
    pub(crate) fn new(method: Method, path: String) -> Self {
        Self {
            method,
            path,
            accept: JSON,
            media_type: JSON,
            body: Bytes::new(),
        }
    }

    /// Whether it is about an object without a name: the path is then that of all objects of the kind, and what was meant for
    /// one would befall them all.
    pub(crate) fn is_about_no_object(&self) -> bool {
        let path = self.path.split('?').next().unwrap_or_default();
        path.ends_with('/') || path.contains("//")
    }

    pub(crate) fn accepting(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    pub(crate) fn saying(self, media_type: &'static str, body: Bytes) -> Self {
        Self {
            media_type,
            body,
            ..self
        }
    }
}

impl std::fmt::Display for Ask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.split('?').next().unwrap_or_default();
        write!(f, "{} {path}", self.method)
    }
}

pub(crate) fn part_path(resource: &ResourceType, key: &ObjectKey, part: &Part) -> String {
    let mut path = resource.object_path(key);
    if let Some(name) = part.subresource() {
        path.push('/');
        path.push_str(name);
    }
    path
}

pub(crate) fn encode(object: &Object) -> Bytes {
    let bytes = serde_json::to_vec(object);
    bytes
        .expect("invariant: an object has text keys only and so is JSON")
        .into()
}

pub(crate) fn decode<T: for<'de> Deserialize<'de>>(
    request: &str,
    bytes: &[u8],
) -> Result<T, CallError> {
    serde_json::from_slice(bytes).map_err(|source| CallError::Unreadable {
        request: request.to_owned(),
        source: source.into(),
    })
}

pub(crate) async fn collect(ask: &Ask, body: AnswerBody) -> Result<Bytes, CallError> {
    let collected = body.collect().await;
    let collected = collected.map_err(|source| CallError::Unreachable {
        request: ask.to_string(),
        source,
    })?;
    Ok(collected.to_bytes())
}

pub(crate) async fn accept_or_refuse(
    ask: &Ask,
    response: Response<AnswerBody>,
) -> Result<Response<AnswerBody>, CallError> {
    if response.status().is_success() {
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let body = collect(ask, body).await?;
    let retry_after = parts.headers.get(RETRY_AFTER);
    Err(refusal(
        ask.to_string(),
        parts.status.as_u16(),
        retry_after,
        &body,
    ))
}

/// What is needed of a list around its items.
#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(default = "Option::default")]
    items: Option<Vec<Object>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMeta {
    resource_version: String,
    #[serde(deserialize_with = "object::metadata::null_is_default")]
    r#continue: String,
}

pub(crate) fn read_list(bytes: &[u8], resource: &ResourceType) -> Result<List, serde_json::Error> {
    let list: Envelope = serde_json::from_slice(bytes)?;
    let items = list.items.unwrap_or_default();
    Ok(List {
        items: items
            .into_iter()
            .map(|item| with_kind(item, resource))
            .collect(),
        resource_version: list.metadata.resource_version,
        continue_token: list.metadata.r#continue,
    })
}

/// Servers leave the kind out of a list's items, and call bare metadata by a kind of its own; here every object says what
/// it is.
pub(crate) fn with_kind(mut object: Object, resource: &ResourceType) -> Object {
    let is_bare = object.kind() == "PartialObjectMetadata"
        && object.api_version().starts_with("meta.k8s.io/");
    if !is_bare && !object.kind().is_empty() && !object.api_version().is_empty() {
        return object;
    }
    let fields = object.fields_mut();
    let kind = Value::from(resource.kind.kind.as_str());
    fields.shift_insert(0, "kind".to_owned(), kind);
    let api_version = Value::from(resource.kind.api_version());
    fields.shift_insert(0, "apiVersion".to_owned(), api_version);
    object
}

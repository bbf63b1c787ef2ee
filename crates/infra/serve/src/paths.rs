//! What is no resource: discovery, descriptions of the API, figures, the server's version.

use std::sync::Arc;

use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, VARY};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::body::{self, Body};
use crate::discovery;
use crate::health;
use crate::negotiate::{Answer, Encoding, Shape};
use crate::openapi::{Page, Published};
use crate::options::Params;
use crate::resource::Table;
use crate::server::Server;
use crate::status::Status;

/// The form in which older clients in Go ask for OpenAPI v2.
const V2_MESSAGE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/// The same as they write it: no media type has an `@`, so that an answer must not be called so.
const V2_MESSAGE_ASKED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// OpenAPI v3 in the same way.
const V3_MESSAGE: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
const V3_MESSAGE_ASKED: &str = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";

impl Server {
    /// Answers for a path that is not a resource's.
    pub(crate) fn path(
        &self,
        parts: &Parts,
        path: &str,
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Err(Status::method_not_allowed());
        }
        let table = self.table();
        let segments: Vec<&str> = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .collect();
        let value = match (segments.as_slice(), answer.shape) {
            (["api" | "apis"], Shape::Discovery(version)) => {
                let document = discovery::aggregated(&table, segments == ["api"], version);
                let page = Page::new(document.to_string().into());
                let mut response = described(&parts.headers, Encoding::Json, page);
                let media = HeaderValue::from_static(version.media_type());
                response.headers_mut().insert(CONTENT_TYPE, media);
                return Ok(response);
            }
            ([], _) => Some(self.all_paths(&table)),
            (["api"], _) => Some(discovery::core_versions(&table, &self.about.address)),
            (["apis"], _) => Some(discovery::group_list(&table)),
            (["apis", group], _) => discovery::group(&table, group),
            (["api", version], _) => discovery::resource_list(&table, "", version),
            (["apis", group, version], _) => discovery::resource_list(&table, group, version),
            (["openapi", "v2"], _) if wants(&parts.headers, [V2_MESSAGE, V2_MESSAGE_ASKED]) => {
                let known = self.published(&table);
                let page = known.1.v2_message(&known.0, &self.about.version);
                let mut response = described(&parts.headers, Encoding::Json, page);
                let media = HeaderValue::from_static(V2_MESSAGE);
                response.headers_mut().insert(CONTENT_TYPE, media);
                return Ok(response);
            }
            (["openapi", "v2"], _) => {
                let known = self.published(&table);
                let page = known.1.v2(&known.0, &self.about.version);
                return Ok(described(&parts.headers, answer.encoding, page));
            }
            (["openapi", "v3", below @ ..], _) => {
                let below = below.join("/");
                let page = self.published(&table).1.find(&below);
                let page = page.ok_or_else(Status::unknown_path)?;
                let asked = Params::parse(parts.uri.query().unwrap_or_default())?;
                let asked = asked.text("hash");
                if !asked.is_empty() && asked != page.fingerprint {
                    return Ok(moved(&below, &page.fingerprint));
                }
                let message = match wants_v3_message(&parts.headers, path) {
                    true => self.published(&table).1.find_message(&below),
                    false => None,
                };
                let is_message = message.is_some();
                let page = message.unwrap_or(page);
                let mut response = described(&parts.headers, answer.encoding, page);
                if is_message {
                    let media = HeaderValue::from_static(V3_MESSAGE);
                    response.headers_mut().insert(CONTENT_TYPE, media);
                }
                if !asked.is_empty() {
                    // What has its fingerprint in its address never changes.
                    let forever = HeaderValue::from_static("public, immutable, max-age=31536000");
                    response.headers_mut().insert(CACHE_CONTROL, forever);
                }
                return Ok(response);
            }
            (["metrics"], _) => {
                let mut response = body::text(StatusCode::OK, self.metrics.text());
                let media = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                response.headers_mut().insert(CONTENT_TYPE, media);
                return Ok(response);
            }
            // People look at this one.
            (["version"], _) => {
                let version = self.version();
                return Ok(body::value(StatusCode::OK, Encoding::Pretty, &version));
            }
            _ => None,
        };
        let value = value.ok_or_else(Status::unknown_path)?;
        Ok(body::value(StatusCode::OK, answer.encoding, &value))
    }

    /// What may be asked for besides resources.
    fn all_paths(&self, table: &Table) -> Value {
        const OWN: [&str; 3] = ["/metrics", "/openapi/v2", "/version"];
        let documents = self.published(&self.table());
        let documents = documents
            .1
            .paths()
            .map(|path| format!("/openapi/v3/{path}"));
        let mut paths: Vec<String> = OWN.iter().map(|path| (*path).to_owned()).collect();
        paths.extend(health::paths(self.handlers.checks()));
        paths.extend(documents);
        paths.push("/openapi/v3".to_owned());
        paths.extend(discovery::paths(table));
        paths.sort();
        json!({"paths": paths})
    }

    /// The description of what is served, made once for each table.
    fn published(&self, table: &Arc<Table>) -> Arc<(Arc<Table>, Published)> {
        if let Some(known) = &*self.published.load()
            && Arc::ptr_eq(&known.0, table)
        {
            return Arc::clone(known);
        }
        let published = Published::of(table, &self.about.version);
        let published = Arc::new((Arc::clone(table), published));
        self.published.store(Some(Arc::clone(&published)));
        published
    }

    fn version(&self) -> Value {
        let mut numbers = self.about.version.trim_start_matches('v').split('.');
        json!({
            "major": numbers.next().unwrap_or_default(), "minor": numbers.next().unwrap_or_default(),
            "gitVersion": self.about.version, "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "", "compiler": "rustc", "platform": "linux/amd64",
        })
    }
}

/// Whether a client asks for a document of OpenAPI v3 as a message.
pub(crate) fn wants_v3_message(headers: &HeaderMap, path: &str) -> bool {
    path.starts_with("/openapi/v3") && wants(headers, [V3_MESSAGE, V3_MESSAGE_ASKED])
}

/// Whether a client asks for one of these forms and for nothing it would rather have.
fn wants(headers: &HeaderMap, forms: [&str; 2]) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let first = accepted.unwrap_or_default().trim_start();
    forms.iter().any(|form| first.starts_with(form))
}

/// A document, or word that the client has it already.
fn described(headers: &HeaderMap, encoding: Encoding, page: Page) -> Response<Body> {
    let tag = format!("\"{}\"", page.fingerprint);
    let known = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|given| given.trim() == "*" || given.trim().trim_start_matches("W/") == tag);
    let mut response = if known {
        let mut response = Response::new(Body::Whole(bytes::Bytes::new()));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        body::document(StatusCode::OK, encoding, page.bytes)
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("Accept"));
    response
}

/// Points from an outdated address to the present one.
fn moved(below: &str, fingerprint: &str) -> Response<Body> {
    let mut response = Response::new(Body::Whole(bytes::Bytes::new()));
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    let address = format!("/openapi/v3/{below}?hash={fingerprint}");
    if let Ok(address) = HeaderValue::from_str(&address) {
        response.headers_mut().insert(LOCATION, address);
    }
    response
}

//! What others need to verify service-account tokens without asking: who issues them, and the public keys.

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use serde_json::json;
use serve::body::{self, Body};
use serve::negotiate::Encoding;

use crate::access::Access;

/// Where the issuer is described.
const CONFIGURATION: &str = "/.well-known/openid-configuration";
/// Where the public keys are.
const KEYS: &str = "/openid/v1/jwks";

/// The answer to a request for one of the issuer's documents; `None` for any other request. `address` is where clients
/// find this server, `host:port`.
#[must_use]
pub fn document(
    access: &Access,
    method: &Method,
    path: &str,
    address: &str,
) -> Option<Response<Body>> {
    if *method != Method::GET {
        return None;
    }
    let accounts = access.accounts();
    let (value, media) = match path {
        CONFIGURATION => (
            json!({
                "issuer": accounts.issuer(), "jwks_uri": format!("https://{address}{KEYS}"),
                "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": accounts.keys().algorithms(),
            }),
            "application/json",
        ),
        KEYS => (accounts.keys().key_set(), "application/jwk-set+json"),
        _ => return None,
    };
    let mut response = body::value(StatusCode::OK, Encoding::Json, &value);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=3600"),
    );
    Some(response)
}

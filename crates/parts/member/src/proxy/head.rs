//! The head of a request on its way to a member.

use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::{InvalidUri, Uri};
use serve::call::User;

/// Said between two neighbours, not between the ends.
const HOP_BY_HOP: [HeaderName; 5] = [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
/// More of those, that have no name in the library.
const HOP_BY_HOP_TEXTS: [&str; 4] = [
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
];
/// Every header that says whom to act as.
const IMPERSONATE: &str = "impersonate-";
/// Groups that a member gives by itself.
const GIVEN: [&str; 2] = ["system:authenticated", "system:unauthenticated"];

/// What follows `clusters/NAME/proxy` in a path, as it was written; empty if nothing does.
pub(super) fn path_below<'u>(uri: &'u Uri, cluster: &str) -> Option<&'u str> {
    let start = format!("/clusters/{cluster}/proxy");
    let path = uri.path();
    let at = path.find(&start)?;
    let rest = path.get(at + start.len()..)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// The path and query to ask of the member.
pub(super) fn uri(path: &str, query: Option<&str>) -> Result<Uri, InvalidUri> {
    let path = if path.is_empty() { "/" } else { path };
    match query {
        Some(query) => format!("{path}?{query}").parse(),
        None => path.parse(),
    }
}

/// Whether another protocol is asked for.
pub(super) fn is_upgrade(headers: &HeaderMap) -> bool {
    let asks = |value: &HeaderValue| {
        let text = value.to_str().unwrap_or_default();
        text.split(',')
            .any(|word| word.trim().eq_ignore_ascii_case("upgrade"))
    };
    headers.contains_key(UPGRADE) && headers.get_all(CONNECTION).iter().any(asks)
}

/// The headers that go on to the member: not who was asking, nor whom to act as, nor what is between neighbours.
pub(super) fn forwarded(headers: &HeaderMap, is_upgrade: bool) -> HeaderMap {
    let mut next = HeaderMap::with_capacity(headers.len() + 4);
    for (name, value) in headers {
        let is_ended = *name == AUTHORIZATION
            || *name == HOST
            || *name == CONTENT_LENGTH
            || name.as_str().starts_with(IMPERSONATE)
            || is_hop_by_hop(name);
        if !is_ended {
            next.append(name.clone(), value.clone());
        }
    }
    if is_upgrade {
        next.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        for value in headers.get_all(UPGRADE) {
            next.append(UPGRADE, value.clone());
        }
    }
    next
}

/// The headers that come back.
pub(super) fn returned(headers: &HeaderMap) -> HeaderMap {
    let mut next = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if !is_hop_by_hop(name) {
            next.append(name.clone(), value.clone());
        }
    }
    next
}

/// Asks in the name of the user, with the credentials of the account that may.
pub(super) fn act_as(headers: &mut HeaderMap, user: &User, token: &str) -> Result<(), String> {
    if user.name.is_empty() {
        return Err("no user found for request".to_owned());
    }
    let text = |what: &str, text: &str| {
        HeaderValue::from_str(text).map_err(|_| format!("the {what} cannot be sent in a header"))
    };
    headers.insert("impersonate-user", text("user's name", &user.name)?);
    for group in user
        .groups
        .iter()
        .filter(|group| !GIVEN.contains(&group.as_str()))
    {
        headers.append("impersonate-group", text("name of a group", group)?);
    }
    let mut authorization = text("token", &format!("Bearer {token}"))?;
    authorization.set_sensitive(true);
    headers.insert(AUTHORIZATION, authorization);
    Ok(())
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    HOP_BY_HOP.contains(name) || HOP_BY_HOP_TEXTS.contains(&name.as_str())
}

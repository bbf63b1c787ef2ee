//! The head of a request on its way to a member.

use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::{InvalidUri, Uri};
use serve::call::User;
use serve::target::Target;

use crate::proxy::all::ALL;

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
/// Groups that a member gives by itself, and the one that is not asked for: nobody in the member could restrict it. What
/// the administrator may do there stands in a binding of the member's.
const KEPT: [&str; 3] = [
    "system:authenticated",
    "system:unauthenticated",
    "system:masters",
];
/// What the name of a service account as a user begins with; its namespace follows.
const ACCOUNT: &str = "system:serviceaccount:";
/// The group of all service accounts; that of those in one namespace begins with it.
const ACCOUNTS: &str = "system:serviceaccounts";

/// What follows `clusters/NAME/proxy` in a path, as it was written; empty if nothing does.
pub(super) fn path_below<'u>(uri: &'u Uri, cluster: &str) -> Option<&'u str> {
    const CLUSTERS: &str = "/clusters/";
    let path = uri.path();
    let at = path.find(CLUSTERS)?;
    let (name, _) = path.get(at + CLUSTERS.len()..)?.split_once('/')?;
    // The one name that may be written in another way.
    let is_all = cluster == ALL && name.eq_ignore_ascii_case("%2a");
    if name != cluster && !is_all {
        return None;
    }
    let below = path.get(at + CLUSTERS.len() + name.len()..)?;
    let rest = below.strip_prefix("/proxy")?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Whether a path of a member leads to a connection in which everything can be done: into a pod, or through to what it
/// listens to.
pub(super) fn leads_inside(path: &str, is_upgrade: bool) -> bool {
    let Ok((Target::Resource(target), _)) = Target::parse(path) else {
        return false;
    };
    match target.subresource.as_str() {
        "exec" | "attach" | "portforward" => true,
        "proxy" => is_upgrade,
        _ => false,
    }
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
    for group in groups(user) {
        headers.append("impersonate-group", text("name of a group", group)?);
    }
    let mut authorization = text("token", &format!("Bearer {token}"))?;
    authorization.set_sensitive(true);
    headers.insert(AUTHORIZATION, authorization);
    Ok(())
}

/// The groups to ask for. Those that every service account has need not be: a member knows them if none is asked for.
fn groups(user: &User) -> Vec<&str> {
    let kept = |group: &&str| !KEPT.contains(group);
    let all: Vec<&str> = user
        .groups
        .iter()
        .map(String::as_str)
        .filter(kept)
        .collect();
    let namespace = user
        .name
        .strip_prefix(ACCOUNT)
        .and_then(|rest| rest.split_once(':'))
        .map(|(namespace, _)| namespace);
    let is_usual = |group: &&str| {
        *group == ACCOUNTS
            || group
                .strip_prefix(ACCOUNTS)
                .and_then(|rest| rest.strip_prefix(':'))
                == namespace
    };
    match namespace.is_some() && all.iter().all(is_usual) {
        true => Vec::new(),
        false => all,
    }
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    HOP_BY_HOP.contains(name) || HOP_BY_HOP_TEXTS.contains(&name.as_str())
}

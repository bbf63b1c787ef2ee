//! Acting as somebody else: `Impersonate-User`, `-Group`, `-Uid` and `-Extra-*`, each of which roles must give.

use std::borrow::Cow;
use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use serve::call::User;
use serve::status::Status;
use serve::target::ResourceTarget;

use crate::attempt::{Attempt, What};
use crate::names::{self, ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED};

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";
const PREFIX: &str = "impersonate-";

/// Whom a request wants to act as, and what the one who asks must be given for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impersonation {
    /// Who it acts as.
    pub user: User,
    /// All of these must be given.
    pub attempts: Vec<Attempt>,
}

/// Whom a request wants to act as; `None` if it does not.
pub fn read(headers: &HeaderMap) -> Result<Option<Impersonation>, Status> {
    if !headers.keys().any(|name| name.as_str().starts_with(PREFIX)) {
        return Ok(None);
    }
    let name = first(headers, USER)?;
    let groups = texts(headers, GROUP)?;
    let uid = first(headers, UID)?;
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for header in headers.keys() {
        let Some(key) = header.as_str().strip_prefix(EXTRA) else {
            continue;
        };
        let key = percent_decode_str(key)
            .decode_utf8()
            .map_or_else(|_| key.to_owned(), Cow::into_owned);
        extra
            .entry(key)
            .or_default()
            .extend(texts(headers, header.as_str())?);
    }
    if name.is_empty() {
        if groups.is_empty() && uid.is_empty() && extra.is_empty() {
            return Ok(None);
        }
        // Upstream: told as trouble of the server, which it is not; clients know it so.
        return Err(Status::internal(
            "requested to act with groups, a uid or extras without impersonating a user",
            None,
        ));
    }
    let attempts = attempts(&name, &groups, &uid, &extra);
    Ok(Some(Impersonation {
        user: acting_user(name, groups, uid, extra),
        attempts,
    }))
}

/// Takes the headers away, so that nobody further on acts on them again.
pub fn strip(headers: &mut HeaderMap) {
    let found: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with(PREFIX))
        .cloned()
        .collect();
    for name in found {
        headers.remove(name);
    }
}

fn attempts(
    name: &str,
    groups: &[String],
    uid: &str,
    extra: &BTreeMap<String, Vec<String>>,
) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    match names::split_service_account(name) {
        Some((namespace, name)) => attempts.push(attempt("", namespace, "serviceaccounts", name)),
        None => attempts.push(attempt("", "", "users", name)),
    }
    for group in groups {
        attempts.push(attempt("", "", "groups", group));
    }
    if !uid.is_empty() {
        attempts.push(attempt("authentication.k8s.io", "", "uids", uid));
    }
    for (key, values) in extra {
        for value in values {
            let mut one = attempt("authentication.k8s.io", "", "userextras", value);
            if let What::Resource(target) = &mut one.what {
                target.subresource.clone_from(key);
            }
            attempts.push(one);
        }
    }
    attempts
}

fn attempt(group: &str, namespace: &str, resource: &str, name: &str) -> Attempt {
    let target = ResourceTarget {
        group: group.to_owned(),
        version: "v1".to_owned(),
        namespace: namespace.to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..ResourceTarget::default()
    };
    Attempt::on("impersonate", target)
}

fn acting_user(
    name: String,
    mut groups: Vec<String>,
    uid: String,
    extra: BTreeMap<String, Vec<String>>,
) -> User {
    if groups.is_empty()
        && let Some((namespace, _)) = names::split_service_account(&name)
    {
        groups = names::service_account_groups(namespace);
    }
    let everybody = if name == ANONYMOUS {
        UNAUTHENTICATED
    } else {
        AUTHENTICATED
    };
    let is_there = groups
        .iter()
        .any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED);
    if !is_there {
        groups.push(everybody.to_owned());
    }
    User {
        name,
        uid,
        groups,
        extra,
    }
}

/// What a header says that is meant to be there once. Upstream: of several the first counts, also where it is empty.
fn first(headers: &HeaderMap, name: &str) -> Result<String, Status> {
    let value = headers.get(name);
    value.map_or_else(|| Ok(String::new()), |value| text(name, value))
}

fn text(name: &str, value: &HeaderValue) -> Result<String, Status> {
    std::str::from_utf8(value.as_bytes())
        .map(str::to_owned)
        .map_err(|_| Status::bad_request(format!("header {name} is not valid UTF-8")))
}

fn texts(headers: &HeaderMap, name: &str) -> Result<Vec<String>, Status> {
    headers
        .get_all(name)
        .iter()
        .map(|value| text(name, value))
        .filter(|text| text.as_ref().map_or(true, |text| !text.is_empty()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pairs: &[(&'static str, &'static str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        match read(&headers) {
            Err(status) => format!("{}: {}", status.code, status.message),
            Ok(None) => "nobody".to_owned(),
            Ok(Some(Impersonation { user, attempts })) => {
                let needs: Vec<String> = attempts
                    .iter()
                    .map(|attempt| match &attempt.what {
                        What::Resource(target) => format!(
                            "{}/{}/{} {}",
                            target.group, target.resource, target.subresource, target.name
                        ),
                        What::Path(path) => path.clone(),
                    })
                    .collect();
                format!(
                    "{} {} {:?} {:?} needs {}",
                    user.name,
                    user.uid,
                    user.groups,
                    user.extra,
                    needs.join(", ")
                )
            }
        }
    }

    #[test]
    fn headers_say_whom_to_act_as_and_what_that_needs() {
        for (headers, expected) in [
            (&[][..], "nobody"),
            (
                &[("impersonate-user", "ann")],
                "ann  [\"system:authenticated\"] {} needs /users/ ann",
            ),
            (
                &[
                    ("impersonate-user", "ann"),
                    ("impersonate-group", "ops"),
                    ("impersonate-group", "dev"),
                ],
                "ann  [\"ops\", \"dev\", \"system:authenticated\"] {} needs /users/ ann, /groups/ ops, /groups/ dev",
            ),
            (
                &[("impersonate-user", "system:serviceaccount:shop:till")],
                "system:serviceaccount:shop:till  [\"system:serviceaccounts\", \"system:serviceaccounts:shop\", \"system:authenticated\"] {} needs /serviceaccounts/ till",
            ),
            (
                &[
                    ("impersonate-user", "ann"),
                    ("impersonate-uid", "7"),
                    ("impersonate-extra-example.com%2fteam", "red"),
                ],
                "ann 7 [\"system:authenticated\"] {\"example.com/team\": [\"red\"]} needs /users/ ann, authentication.k8s.io/uids/ 7, authentication.k8s.io/userextras/example.com/team red",
            ),
            (
                &[("impersonate-user", "system:anonymous")],
                "system:anonymous  [\"system:unauthenticated\"] {} needs /users/ system:anonymous",
            ),
            (
                &[("impersonate-group", "ops")],
                "500: Internal error occurred: requested to act with groups, a uid or extras without impersonating a user",
            ),
            (&[("impersonate-user", "")], "nobody"),
            (
                &[
                    ("impersonate-user", "ann"),
                    ("impersonate-user", "root"),
                    ("impersonate-uid", "7"),
                    ("impersonate-uid", "8"),
                ],
                "ann 7 [\"system:authenticated\"] {} needs /users/ ann, authentication.k8s.io/uids/ 7",
            ),
            (
                &[("impersonate-user", ""), ("impersonate-user", "root")],
                "nobody",
            ),
        ] {
            assert_eq!(shown(headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn the_headers_go_no_further() {
        let mut headers = HeaderMap::new();
        headers.insert("impersonate-user", HeaderValue::from_static("ann"));
        headers.append("impersonate-group", HeaderValue::from_static("a"));
        headers.append("impersonate-group", HeaderValue::from_static("b"));
        headers.insert("impersonate-extra-x", HeaderValue::from_static("y"));
        headers.insert("accept", HeaderValue::from_static("*/*"));
        strip(&mut headers);
        assert_eq!(headers.len(), 1);
    }
}

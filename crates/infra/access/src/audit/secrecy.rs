//! Which bodies are never written, whatever the rules say.
//!
//! Where a request was sent says what it was meant for, what is in its body says what it is: a Secret sent to the wrong
//! place is still a secret. So both are looked at.

use std::collections::BTreeSet;

use object::Value;

use crate::attempt::{Attempt, What};

/// The kinds whose objects are secrets by nature, in lower case: a kind in the wrong case is refused, but is in the body.
const KINDS: [&str; 3] = ["secret", "tokenreview", "tokenrequest"];

/// What is kept out of the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Secrecy {
    /// Further resources whose bodies are secrets, by group and plural.
    resources: BTreeSet<(String, String)>,
    /// Their kinds, in lower case.
    kinds: BTreeSet<String>,
}

impl Secrecy {
    pub(super) fn add(&mut self, (group, plural, kind): (&str, &str, &str)) {
        self.resources.insert((group.to_owned(), plural.to_owned()));
        self.kinds.insert(kind.to_ascii_lowercase());
    }

    /// Whether nothing of the bodies of a request may be written, by where it was sent.
    pub(super) fn covers(&self, attempt: &Attempt) -> bool {
        let What::Resource(target) = &attempt.what else {
            return false;
        };
        let is_named = |(group, plural): &(String, String)| {
            *group == target.group && *plural == target.resource
        };
        // What goes through a proxy is a call on another API, whose resources and encodings are not known here.
        matches!(
            (target.resource.as_str(), target.subresource.as_str()),
            ("secrets" | "tokenreviews", _) | ("serviceaccounts", "token") | (_, "proxy")
        ) || self.resources.iter().any(is_named)
    }

    /// The bodies of a request and its answer, without those that may not be written.
    pub(super) fn strip(
        &self,
        request: Option<Value>,
        response: Option<Value>,
        code: u16,
    ) -> (Option<Value>, Option<Value>) {
        // What was not taken for anything may have been meant as anything.
        let is_kept = |body: &Value| !self.is_in(body) && (code < 400 || says_its_kind(body));
        // A refusal may quote what it refuses.
        let is_quotable = !request.as_ref().is_some_and(|body| self.is_in(body));
        (
            request.filter(is_kept),
            response.filter(|body| is_quotable && is_kept(body)),
        )
    }

    /// Whether a body is a secret, or a list or table of objects one of which is.
    fn is_in(&self, body: &Value) -> bool {
        let is_secret = kind(body).is_some_and(|kind| {
            let kind = kind.to_ascii_lowercase();
            let single = kind.strip_suffix("list").unwrap_or(&kind);
            KINDS.contains(&single) || self.kinds.contains(single)
        });
        is_secret || parts(body).any(|part| self.is_in(part))
    }
}

fn kind(body: &Value) -> Option<&str> {
    body.get("kind").and_then(Value::as_str)
}

fn says_its_kind(body: &Value) -> bool {
    kind(body).is_some_and(|kind| !kind.is_empty()) && parts(body).all(says_its_kind)
}

/// The objects in a list, a table, or a bare array.
fn parts(body: &Value) -> impl Iterator<Item = &Value> {
    let items = body.get("items").and_then(Value::as_array);
    let rows = body.get("rows").and_then(Value::as_array);
    let shown = rows
        .into_iter()
        .flatten()
        .filter_map(|row| row.get("object"));
    let bare = body.as_array().into_iter().flatten();
    items.into_iter().flatten().chain(shown).chain(bare)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bodies_are_written_by_what_they_say_they_are() {
        let mut secrecy = Secrecy::default();
        secrecy.add(("work.karmada.io", "works", "Work"));
        let map = json!({"kind": "ConfigMap", "data": {"k": "v"}});
        let secret = json!({"kind": "Secret", "data": {"k": "v"}});
        let status = json!({"kind": "Status", "message": "v"});
        let bare = json!({"data": {"k": "v"}});
        for (request, response, code, expected) in [
            (&map, &map, 201, "both"),
            (&bare, &map, 201, "both"),
            (&map, &status, 409, "both"),
            (&bare, &status, 404, "response"),
            (&bare, &bare, 400, "neither"),
            (&secret, &status, 400, "neither"),
            (&secret, &status, 200, "neither"),
            (&map, &secret, 200, "request"),
            (&json!({"kind": "secret"}), &status, 400, "neither"),
            (&json!({"kind": "TokenRequest"}), &status, 404, "neither"),
            (&json!({"kind": "TokenReview"}), &status, 404, "neither"),
            (&json!({"kind": "Work"}), &status, 404, "neither"),
            (
                &json!({"kind": "SecretList", "items": [bare]}),
                &status,
                400,
                "neither",
            ),
            (
                &json!({"kind": "List", "items": [map, secret]}),
                &status,
                400,
                "neither",
            ),
            (
                &json!({"kind": "List", "items": [map, {"kind": "List", "items": [secret]}]}),
                &status,
                400,
                "neither",
            ),
            (
                &json!({"kind": "List", "items": [map]}),
                &status,
                400,
                "both",
            ),
            (
                &json!({"kind": "List", "items": [map, bare]}),
                &status,
                400,
                "response",
            ),
            (&json!([secret]), &status, 400, "neither"),
            (
                &map,
                &json!({"kind": "Table", "rows": [{"object": secret}]}),
                200,
                "request",
            ),
            // A reference to a secret is none.
            (
                &json!({"kind": "Event", "involvedObject": {"kind": "Secret"}}),
                &map,
                201,
                "both",
            ),
            (
                &json!([{"op": "remove", "path": "/data/k"}]),
                &map,
                200,
                "both",
            ),
        ] {
            let kept = secrecy.strip(Some(request.clone()), Some(response.clone()), code);
            let found = match kept {
                (Some(_), Some(_)) => "both",
                (Some(_), None) => "request",
                (None, Some(_)) => "response",
                (None, None) => "neither",
            };
            assert_eq!(found, expected, "{request} {response} {code}");
        }
    }
}

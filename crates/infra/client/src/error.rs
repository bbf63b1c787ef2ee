//! Why a call did not give what it was to.

use std::time::Duration;

use object::Value;

use crate::transport::BoxError;

/// Why a call did not give what it was to.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server answered, with a refusal.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The server could not be reached, or the connection broke.
    #[error("{request}: the server cannot be reached")]
    Unreachable {
        /// Method and path.
        request: String,
        /// What happened on the way.
        source: BoxError,
    },
    /// The server did not answer in time. Whether it did what was asked is not known.
    #[error("{request}: no answer within {deadline:?}")]
    Late {
        /// Method and path.
        request: String,
        /// How long was waited.
        deadline: Duration,
    },
    /// The server answered something that is not what was asked for.
    #[error("{request}: the answer cannot be read")]
    Unreadable {
        /// Method and path.
        request: String,
        /// What is wrong with it.
        source: BoxError,
    },
    /// The request itself cannot be written down.
    #[error("{request}: the request cannot be sent")]
    Unsendable {
        /// Method and path.
        request: String,
        /// What is wrong with it.
        source: BoxError,
    },
}

/// A server's refusal: `metav1.Status` as far as anybody looks at it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{request}: {message}")]
pub struct Refusal {
    /// Method and path.
    pub request: String,
    /// The HTTP status.
    pub code: u16,
    /// One word for programs, such as `NotFound`; empty if the server gave none.
    pub reason: String,
    /// For people.
    pub message: String,
    /// `details` of the status: name, group, kind, uid, causes; null if there are none.
    pub details: Value,
    /// How long the server asks to be left alone.
    pub retry_after: Option<Duration>,
}

impl CallError {
    /// The server's refusal, if that is what it was.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The HTTP status; 0 if there was no answer.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.refusal().map_or(0, |refusal| refusal.code)
    }

    /// The word for programs; empty if there was no answer.
    #[must_use]
    pub fn reason(&self) -> &str {
        self.refusal().map_or("", |refusal| refusal.reason.as_str())
    }

    /// How long the server asks to be left alone.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.refusal()?.retry_after
    }

    /// There is no such object, or no such kind.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code() == 404
    }

    /// The server means that there is no object of this name, not that there is no such path: a kind that is away answers
    /// 404 too, and so does a proxy on the way, and neither names the object.
    #[must_use]
    pub fn is_absence_of(&self, name: &str) -> bool {
        let refusal = self.refusal().filter(|refusal| refusal.code == 404);
        refusal.is_some_and(|refusal| refusal.details["name"] == *name)
    }

    /// Somebody changed the object in between, or it is not the one that was meant. Not: it exists already.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.code() == 409 && self.reason() != "AlreadyExists"
    }

    /// An object of that name is there already.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.code() == 409 && self.reason() == "AlreadyExists"
    }

    /// The revision asked for is no longer known.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.code() == 410
    }

    /// The caller may not do that.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self.code(), 401 | 403)
    }

    /// The object is not valid.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.code() == 422
    }

    /// The server has too much to do, or a part of it is missing at the moment.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        matches!(self.code(), 429 | 503 | 504)
    }

    /// Nothing is known about what the server thinks: it could not be reached or did not answer in time.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Late { .. })
    }

    /// The object that a patch or replacement named is not the one that is there.
    #[must_use]
    pub fn is_wrong_uid(&self) -> bool {
        // Upstream: a uid in a patch that differs from the stored one is an invalid change of an immutable field.
        let names_uid =
            |cause: &Value| cause.get("field").and_then(Value::as_str) == Some("metadata.uid");
        let Some(refusal) = self.refusal() else {
            return false;
        };
        let causes = refusal.details.get("causes").and_then(Value::as_array);
        refusal.code == 422 && causes.is_some_and(|causes| causes.iter().any(names_uid))
    }

    /// The same call will fail in the same way until somebody changes what is asked.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Refused(refusal) => {
                matches!(refusal.code, 400 | 405 | 406 | 413 | 415 | 422) && !self.is_wrong_uid()
            }
            Self::Unsendable { .. } => true,
            Self::Unreachable { .. } | Self::Late { .. } | Self::Unreadable { .. } => false,
        }
    }
}

/// Reads a refusal from the body of an answer, which may be anything when a proxy is in the way.
pub(crate) fn refusal(
    request: String,
    code: u16,
    retry_after: Option<&http::HeaderValue>,
    body: &[u8],
) -> CallError {
    let status: Option<Value> = serde_json::from_slice(body).ok();
    let status =
        status.filter(|status| status.get("kind").and_then(Value::as_str) == Some("Status"));
    let header = retry_after
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    match status {
        Some(status) => from_status(request, code, header, &status),
        None => CallError::Refused(Box::new(Refusal {
            message: plain_message(code, body),
            request,
            code,
            reason: String::new(),
            details: Value::Null,
            retry_after: header,
        })),
    }
}

/// What a server says of a body that is larger than it takes, said before it is sent.
pub(crate) fn too_large(request: String, limit: usize) -> CallError {
    CallError::Refused(Box::new(Refusal {
        request,
        code: 413,
        reason: "RequestEntityTooLarge".to_owned(),
        message: format!("Request entity too large: limit is {limit}"),
        details: Value::Null,
        retry_after: None,
    }))
}

/// From a `Status` object.
pub(crate) fn from_status(
    request: String,
    code: u16,
    retry_after: Option<Duration>,
    status: &Value,
) -> CallError {
    let text = |name: &str| {
        let value = status.get(name).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    let written = status.get("code").and_then(Value::as_u64);
    let details = status.get("details").cloned().unwrap_or_default();
    let seconds = details.get("retryAfterSeconds").and_then(Value::as_u64);
    CallError::Refused(Box::new(Refusal {
        request,
        code: written
            .and_then(|code| u16::try_from(code).ok())
            .unwrap_or(code),
        reason: text("reason"),
        message: text("message"),
        retry_after: retry_after.or(seconds.map(Duration::from_secs)),
        details,
    }))
}

/// A line of what a server that does not speak the API said.
fn plain_message(code: u16, body: &[u8]) -> String {
    let start = String::from_utf8_lossy(&body[..body.len().min(512)]);
    let line = start.lines().map(str::trim).find(|line| !line.is_empty());
    match line {
        Some(line) => format!("the server answered {code}: {line}"),
        None => format!("the server answered {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: u16, body: &str) -> CallError {
        refusal("GET /x".to_owned(), code, None, body.as_bytes())
    }

    #[test]
    fn refusals_are_told_apart() {
        let exists = answer(
            409,
            r#"{"kind":"Status","reason":"AlreadyExists","message":"m"}"#,
        );
        assert!(exists.is_already_exists() && !exists.is_conflict());
        let conflict = answer(
            409,
            r#"{"kind":"Status","reason":"Conflict","message":"m"}"#,
        );
        assert!(conflict.is_conflict() && !conflict.is_already_exists() && !conflict.is_terminal());
        let invalid = answer(422, r#"{"kind":"Status","reason":"Invalid","message":"m"}"#);
        assert!(invalid.is_terminal());
        let other = answer(
            422,
            r#"{"kind":"Status","details":{"causes":[{"field":"metadata.uid"}]}}"#,
        );
        assert!(other.is_wrong_uid() && !other.is_terminal());
        let busy = answer(
            429,
            r#"{"kind":"Status","details":{"retryAfterSeconds":3}}"#,
        );
        assert_eq!(busy.retry_after(), Some(Duration::from_secs(3)));
    }

    #[test]
    fn only_who_names_an_object_says_that_it_is_not_there() {
        let named =
            r#"{"kind":"Status","reason":"NotFound","details":{"name":"a","kind":"things"}}"#;
        let gone = answer(404, named);
        assert!(gone.is_absence_of("a") && !gone.is_absence_of("b"));
        let kind = r#"{"kind":"Status","reason":"NotFound","details":{}}"#;
        for other in [
            answer(404, kind),
            answer(404, "404 page not found"),
            answer(403, named),
        ] {
            assert!(!other.is_absence_of("a"), "{other}");
        }
    }

    #[test]
    fn a_proxys_page_is_shown_in_one_line() {
        let error = answer(502, "\n<html>bad gateway</html>\nmore");
        assert_eq!(
            error.to_string(),
            "GET /x: the server answered 502: <html>bad gateway</html>"
        );
        assert_eq!(
            answer(502, "").to_string(),
            "GET /x: the server answered 502"
        );
        assert!(!error.is_terminal() && error.reason().is_empty());
    }
}

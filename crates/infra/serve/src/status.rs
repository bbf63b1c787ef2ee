//! Answers that are not objects: `metav1.Status`, with the reasons, codes and texts clients know.

use std::borrow::Cow;

use object::field::{self, FieldError, FieldPath};
use serde_json::{Value, json};

/// A refusal or a report, as clients read it.
///
/// It has two faces: what is here may be shown to the client; the cause, if there is one worth keeping, is for the log.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`; a webhook that refuses may give one of its own.
    pub reason: Cow<'static, str>,
    /// What happened, to what, and where possible what to do.
    pub message: String,
    /// What it is about.
    pub details: Box<Details>,
    /// What else the client should know, for `Warning` headers.
    pub warnings: Vec<String>,
    /// Why, for the log alone.
    #[source]
    pub cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What a [`Status`] is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The resource, or for invalid objects the kind.
    pub kind: String,
    /// The object's uid.
    pub uid: String,
    /// Each thing that is wrong.
    pub causes: Vec<Cause>,
    /// When to try again; zero if the client may choose.
    pub retry_after_seconds: u32,
    /// From where a list whose state is gone may go on in the present one; mostly empty.
    pub continues: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// Such as `FieldValueInvalid` or `FieldManagerConflict`.
    pub reason: String,
    /// In words.
    pub message: String,
    /// The field's path.
    pub field: String,
}

/// A resource and one object in it, for the texts below.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Empty for the core group.
    pub group: &'a str,
    /// The plural, such as `deployments`; for [`Status::invalid`] the kind.
    pub resource: &'a str,
    /// The object's name.
    pub name: &'a str,
}

impl Subject<'_> {
    fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }

    fn details(&self) -> Box<Details> {
        Box::new(Details {
            name: self.name.to_owned(),
            group: self.group.to_owned(),
            kind: self.resource.to_owned(),
            ..Details::default()
        })
    }
}

impl Status {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: Cow::Borrowed(reason),
            message: message.into(),
            details: Box::default(),
            warnings: Vec::new(),
            cause: None,
        }
    }

    /// The same refusal, with what the client was to be told before it came to that.
    #[must_use]
    pub fn with_warnings(mut self, warnings: &[String]) -> Self {
        self.warnings.splice(0..0, warnings.iter().cloned());
        self
    }

    /// No such object.
    #[must_use]
    pub fn not_found(subject: Subject<'_>) -> Self {
        let message = format!("{} {:?} not found", subject.qualified(), subject.name);
        Self {
            details: subject.details(),
            ..Self::new(404, "NotFound", message)
        }
    }

    /// No such path, group, version or resource.
    #[must_use]
    pub fn unknown_path() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    /// The name is taken.
    #[must_use]
    pub fn already_exists(subject: Subject<'_>) -> Self {
        let message = format!("{} {:?} already exists", subject.qualified(), subject.name);
        Self {
            details: subject.details(),
            ..Self::new(409, "AlreadyExists", message)
        }
    }

    /// The object is not what the client thought it was.
    #[must_use]
    pub fn conflict(subject: Subject<'_>, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {:?}: {why}",
            subject.qualified(),
            subject.name
        );
        Self {
            details: subject.details(),
            ..Self::new(409, "Conflict", message)
        }
    }

    /// The client's revision is not the current one.
    #[must_use]
    pub fn stale(subject: Subject<'_>) -> Self {
        Self::conflict(
            subject,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// Fields owned by others would change.
    #[must_use]
    pub fn apply_conflict(message: String, causes: Vec<Cause>) -> Self {
        let details = Box::new(Details {
            causes,
            ..Details::default()
        });
        Self {
            details,
            ..Self::new(409, "Conflict", message)
        }
    }

    /// The object breaks its kind's rules. `subject.resource` is the kind.
    #[must_use]
    pub fn invalid(subject: Subject<'_>, errors: &[FieldError]) -> Self {
        let message = format!(
            "{} {:?} is invalid: {}",
            subject.qualified(),
            subject.name,
            field::join(errors)
        );
        let mut details = subject.details();
        details.causes = errors
            .iter()
            .map(|error| Cause {
                reason: error.kind.reason().to_owned(),
                message: error.body(),
                field: error.path.to_string(),
            })
            .collect();
        Self {
            details,
            ..Self::new(422, "Invalid", message)
        }
    }

    /// The request itself makes no sense.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The object does not say which one it is, as it must where the path says it too.
    #[must_use]
    pub fn unnamed(name: &str) -> Self {
        Self::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))
    }

    /// Nobody knows who is asking.
    #[must_use]
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// Whoever is asking may not do this.
    #[must_use]
    pub fn forbidden(subject: Subject<'_>, why: &str) -> Self {
        let message = match (subject.resource, subject.name) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{} is forbidden: {why}", subject.qualified()),
            (_, name) => format!("{} {name:?} is forbidden: {why}", subject.qualified()),
        };
        Self {
            details: subject.details(),
            ..Self::new(403, "Forbidden", message)
        }
    }

    /// The path exists, but not for this method.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// None of the media types the client accepts can be produced.
    #[must_use]
    pub fn not_acceptable(producible: &[&str]) -> Self {
        let message = format!(
            "only the following media types are accepted: {}",
            producible.join(", ")
        );
        Self::new(406, "NotAcceptable", message)
    }

    /// The body is of a type the server does not read here.
    #[must_use]
    pub fn unsupported_media_type(readable: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            readable.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// The body is larger than allowed.
    #[must_use]
    pub fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// The object is larger than the store takes.
    #[must_use]
    pub fn oversized(message: impl Into<String>) -> Self {
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// A patch makes something of the object that is none of its kind. Upstream: the field is `patch`, its value what came
    /// of it; `shown` is that, or what stands for it.
    #[must_use]
    pub fn bad_patch(shown: String, why: impl Into<String>) -> Self {
        let nothing = Subject {
            group: "",
            resource: "",
            name: "",
        };
        let error = FieldError::invalid(FieldPath::new("patch"), shown, why);
        Self::invalid(nothing, &[error])
    }

    /// The request is understood and cannot be carried out. Like the servers that clients know, this names no object;
    /// unlike them, it says why.
    #[must_use]
    pub fn unprocessable(why: impl std::fmt::Display) -> Self {
        let message =
            format!("the server rejected our request due to an error in our request: {why}");
        Self::new(422, "Invalid", message)
    }

    /// What is declared does not fit the kind's fields. Upstream: an error of the server's, without a reason.
    #[must_use]
    pub fn untypable(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// The revision asked for is no longer kept.
    #[must_use]
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// The revision asked for has not been reached.
    #[must_use]
    pub fn ahead(asked: u64, current: u64) -> Self {
        let mut status = Self::new(
            504,
            "Timeout",
            format!("Timeout: Too large resource version: {asked}, current: {current}"),
        );
        status.details.causes.push(Cause {
            reason: "ResourceVersionTooLarge".to_owned(),
            message: "Too large resource version".to_owned(),
            field: String::new(),
        });
        status.details.retry_after_seconds = 1;
        status
    }

    /// The server is asked to do too much at once.
    #[must_use]
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        let mut status = Self::new(429, "TooManyRequests", message);
        status.details.retry_after_seconds = retry_after_seconds;
        status
    }

    /// Something failed that is not the client's fault; the cause goes to the log, not to the client.
    #[must_use]
    pub fn internal(
        message: impl Into<String>,
        cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let message = format!("Internal error occurred: {}", message.into());
        Self {
            cause,
            ..Self::new(500, "InternalError", message)
        }
    }

    /// The store cannot take or give data now.
    #[must_use]
    pub fn unavailable(
        message: impl Into<String>,
        cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            cause,
            ..Self::new(503, "ServiceUnavailable", message)
        }
    }

    /// The answer to a deletion that is complete.
    #[must_use]
    pub fn deleted(subject: Subject<'_>, uid: &str) -> Value {
        let mut details = subject.details();
        uid.clone_into(&mut details.uid);
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details.to_value(),
        })
    }

    /// The wire form.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message,
        });
        if !self.reason.is_empty() {
            status["reason"] = Value::from(&*self.reason);
        }
        // Clients tell apart what is about an object and what is about the request.
        if *self.details != Details::default() || matches!(&*self.reason, "Invalid" | "NotFound") {
            status["details"] = self.details.to_value();
        }
        if !self.details.continues.is_empty() {
            status["metadata"]["continue"] = Value::from(self.details.continues.as_str());
        }
        status["code"] = Value::from(self.code);
        status
    }
}

impl Details {
    fn to_value(&self) -> Value {
        let mut fields = object::Map::new();
        let mut put = |name: &str, value: Value, present: bool| {
            if present {
                fields.insert(name.to_owned(), value);
            }
        };
        put("name", json!(self.name), !self.name.is_empty());
        put("group", json!(self.group), !self.group.is_empty());
        put("kind", json!(self.kind), !self.kind.is_empty());
        put("uid", json!(self.uid), !self.uid.is_empty());
        put(
            "causes",
            self.causes.iter().map(Cause::to_value).collect(),
            !self.causes.is_empty(),
        );
        put(
            "retryAfterSeconds",
            json!(self.retry_after_seconds),
            self.retry_after_seconds > 0,
        );
        Value::Object(fields)
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut fields = object::Map::new();
        for (name, text) in [
            ("reason", &self.reason),
            ("message", &self.message),
            ("field", &self.field),
        ] {
            if !text.is_empty() {
                fields.insert(name.to_owned(), json!(text));
            }
        }
        Value::Object(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEB: Subject<'static> = Subject {
        group: "apps",
        resource: "deployments",
        name: "web",
    };

    #[test]
    fn texts_are_the_ones_clients_know() {
        for (status, code, reason, message) in [
            (
                Status::not_found(WEB),
                404,
                "NotFound",
                "deployments.apps \"web\" not found",
            ),
            (
                Status::already_exists(WEB),
                409,
                "AlreadyExists",
                "deployments.apps \"web\" already exists",
            ),
            (
                Status::stale(WEB),
                409,
                "Conflict",
                "Operation cannot be fulfilled on deployments.apps \"web\": the object has been modified; please apply \
                 your changes to the latest version and try again",
            ),
            (
                Status::forbidden(WEB, "User \"a\" cannot get it"),
                403,
                "Forbidden",
                "deployments.apps \"web\" is forbidden: User \"a\" cannot get it",
            ),
            (
                Status::internal("x", None),
                500,
                "InternalError",
                "Internal error occurred: x",
            ),
        ] {
            assert_eq!(
                (status.code, &*status.reason, status.message.as_str()),
                (code, reason, message)
            );
        }
    }

    #[test]
    fn an_invalid_object_lists_each_field_as_a_cause() {
        let kind = Subject {
            group: "apps",
            resource: "Deployment",
            name: "web",
        };
        let errors = [
            FieldError::required(FieldPath::from("spec.selector"), ""),
            FieldError::invalid(
                FieldPath::from("spec.replicas"),
                -1,
                "must be greater than or equal to 0",
            ),
        ];
        assert_eq!(
            Status::invalid(kind, &errors).to_value(),
            json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "Deployment.apps \"web\" is invalid: [spec.selector: Required value, \
                            spec.replicas: Invalid value: -1: must be greater than or equal to 0]",
                "reason": "Invalid",
                "details": {"name": "web", "group": "apps", "kind": "Deployment", "causes": [
                    {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.selector"},
                    {"reason": "FieldValueInvalid",
                     "message": "Invalid value: -1: must be greater than or equal to 0", "field": "spec.replicas"},
                ]},
                "code": 422,
            })
        );
    }
}

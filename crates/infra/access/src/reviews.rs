//! Questions about access that are asked like objects and never stored: who am I, whose token is this, who may do what.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use object::field::{FieldError, FieldPath};
use object::{Map, Value};
use serde_json::json;
use serve::body::{self, Body};
use serve::call::{Call, User};
use serve::handler::{Asked, Handler, Handlers, Outcome, warned};
use serve::intake;
use serve::negotiate::Content;
use serve::server::Server;
use serve::status::Status;
use serve::target::ResourceTarget;

use crate::access::Access;
use crate::attempt::{Attempt, What};
use crate::policy::Decision;
use crate::rule::Rule;

/// Answers one kind of review.
struct Reviewer {
    access: Arc<Access>,
    question: Question,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    WhoAmI,
    WhoseToken,
    MayThey,
    MayTheyHere,
    MayI,
    WhatMayI,
}

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// Answers the reviews from now on.
pub fn insert(handlers: &mut Handlers, access: &Arc<Access>) {
    for (group, resource, question) in [
        (AUTHENTICATION, "selfsubjectreviews", Question::WhoAmI),
        (AUTHENTICATION, "tokenreviews", Question::WhoseToken),
        (AUTHORIZATION, "subjectaccessreviews", Question::MayThey),
        (
            AUTHORIZATION,
            "localsubjectaccessreviews",
            Question::MayTheyHere,
        ),
        (AUTHORIZATION, "selfsubjectaccessreviews", Question::MayI),
        (AUTHORIZATION, "selfsubjectrulesreviews", Question::WhatMayI),
    ] {
        let reviewer = Reviewer {
            access: Arc::clone(access),
            question,
        };
        handlers.insert(group, resource, "", Arc::new(reviewer));
    }
}

impl Handler for Reviewer {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, asked: Asked) -> Outcome<'a> {
        Box::pin(async move {
            let encoding = asked.answer.encoding;
            let document: Reading<(Content, Bytes)> = Box::pin(asked.document());
            let (content, bytes) = document.await?;
            let taken = intake::object(call, content, &bytes)?;
            server.check_sent(call, &taken.object)?;
            let (mut review, mut warnings) = (read_document(call, taken.object)?, taken.warnings);
            warnings.extend(server.mutate_sent(call, &mut review).await?);
            self.check(call, &review)?;
            let judged = server.validate_sent(call, &review).await;
            warnings.extend(judged.map_err(|status| status.with_warnings(&warnings))?);
            let status = self.review(call, &review);
            if let Some(fields) = review.as_object_mut() {
                fields.insert("status".to_owned(), status);
            }
            let response: Response<Body> = body::value(StatusCode::CREATED, encoding, &review);
            Ok(warned(response, &warnings))
        })
    }
}

impl Reviewer {
    /// Refuses a question that is none.
    fn check(&self, call: &Call, review: &Value) -> Result<(), Status> {
        let spec = review.get("spec").unwrap_or(&Value::Null);
        match self.question {
            Question::WhoAmI => Ok(()),
            Question::WhoseToken if text(spec, "token").is_empty() => Err(Status::bad_request(
                "token is required for TokenReview in authentication",
            )),
            Question::WhoseToken => Ok(()),
            Question::WhatMayI if text(spec, "namespace").is_empty() => {
                Err(Status::bad_request("no namespace on request"))
            }
            Question::WhatMayI => Ok(()),
            Question::MayI => {
                let mut errors = problems(spec);
                errors.extend(selector_problems(spec));
                errors.extend(name_problems(review, false));
                refuse_wrong(call, errors)
            }
            Question::MayThey | Question::MayTheyHere => {
                let is_here = self.question == Question::MayTheyHere;
                let mut errors = problems(spec);
                errors.extend(user_problems(spec));
                errors.extend(selector_problems(spec));
                errors.extend(name_problems(review, is_here));
                if self.question == Question::MayTheyHere {
                    errors.extend(place_problems(spec, &call.target.namespace));
                }
                refuse_wrong(call, errors)
            }
        }
    }

    fn review(&self, call: &Call, review: &Value) -> Value {
        let spec = review.get("spec").unwrap_or(&Value::Null);
        match self.question {
            Question::WhoAmI => json!({"userInfo": user_info(&call.user)}),
            Question::WhoseToken => self.whose_token(spec),
            Question::WhatMayI => self.what_may_i(&call.user, spec),
            Question::MayI => self.verdict(&call.user, spec),
            Question::MayThey | Question::MayTheyHere => self.verdict(&named_user(spec), spec),
        }
    }

    fn whose_token(&self, spec: &Value) -> Value {
        let token = text(spec, "token");
        let asked: Vec<String> = texts(spec.get("audiences"));
        let authenticators = self.access.authenticators();
        let audiences = if asked.is_empty() {
            authenticators.audiences()
        } else {
            &asked
        };
        match authenticators.token(token, audiences) {
            Ok(Some(known)) if !known.audiences.is_empty() => json!({
                "authenticated": true, "user": user_info(&known.user), "audiences": known.audiences,
            }),
            Ok(_) => json!({"authenticated": false, "user": {}}),
            Err(error) => json!({"authenticated": false, "user": {}, "error": error.to_string()}),
        }
    }

    fn what_may_i(&self, user: &User, spec: &Value) -> Value {
        let namespace = text(spec, "namespace");
        let given = self.access.policy().rules().given(user, namespace);
        let (urls, resources): (Vec<Rule>, Vec<Rule>) =
            given.into_iter().partition(|rule| !rule.urls.is_empty());
        let shown = |rules: &[Rule]| -> Value { rules.iter().map(Rule::to_value).collect() };
        json!({
            "resourceRules": shown(&resources), "nonResourceRules": shown(&urls), "incomplete": false,
        })
    }

    fn verdict(&self, user: &User, spec: &Value) -> Value {
        let decision = self.access.decide(user, &attempt(spec));
        let mut status = Map::new();
        status.insert("allowed".to_owned(), decision.is_allowed().into());
        let reason = match &decision {
            Decision::Denied(why) => why.clone(),
            allowed => allowed.reason(),
        };
        if !reason.is_empty() {
            status.insert("reason".to_owned(), reason.into());
        }
        Value::Object(status)
    }
}

/// A user as reviews and webhooks are told of one.
#[must_use]
pub fn user_info(user: &User) -> Value {
    let mut info = Map::new();
    info.insert("username".to_owned(), user.name.as_str().into());
    if !user.uid.is_empty() {
        info.insert("uid".to_owned(), user.uid.as_str().into());
    }
    if !user.groups.is_empty() {
        info.insert("groups".to_owned(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        info.insert("extra".to_owned(), json!(user.extra));
    }
    Value::Object(info)
}

/// Something read from a body, boxed where the compiler can still see that it may move between threads.
type Reading<T> = Pin<Box<dyn Future<Output = Result<T, Status>> + Send>>;

/// The document that came with a call.
pub(crate) fn sent(asked: Asked) -> Reading<Value> {
    let document: Reading<(Content, Bytes)> = Box::pin(asked.document());
    Box::pin(async move {
        let (content, bytes) = document.await?;
        Ok(intake::decode(content, &bytes)?.0)
    })
}

/// A document of the kind a call is about. What it leaves out of its type is filled in, and it has metadata: admission
/// may rely on both.
pub(crate) fn read_document(call: &Call, mut document: Value) -> Result<Value, Status> {
    let part = call
        .served
        .subresource(&call.target.subresource)
        .and_then(|part| part.kind.as_ref());
    let (api_version, kind) = match part {
        Some((group, version, kind)) if !group.is_empty() => {
            (format!("{group}/{version}"), kind.to_string())
        }
        Some((_, version, kind)) => (version.to_string(), kind.to_string()),
        None => (
            call.served.api_version(),
            call.served.resource.kind.to_string(),
        ),
    };
    let Some(fields) = document.as_object_mut() else {
        return Err(Status::bad_request("the body is not an object"));
    };
    for (field, expected) in [("apiVersion", api_version), ("kind", kind)] {
        match fields.get(field).and_then(Value::as_str) {
            None | Some("") => {
                fields.insert(field.to_owned(), expected.into());
            }
            Some(found) if found == expected => {}
            Some(found) => {
                return Err(Status::bad_request(format!(
                    "the {field} of the object ({found}) does not match the one expected here ({expected})"
                )));
            }
        }
    }
    if !fields.get("metadata").is_some_and(Value::is_object) {
        fields.insert("metadata".to_owned(), json!({}));
    }
    Ok(document)
}

fn attempt(spec: &Value) -> Attempt {
    if let Some(wanted) = spec
        .get("nonResourceAttributes")
        .filter(|wanted| wanted.is_object())
    {
        return Attempt {
            verb: Cow::Owned(text(wanted, "verb").to_owned()),
            what: What::Path(text(wanted, "path").to_owned()),
        };
    }
    let wanted = spec.get("resourceAttributes").unwrap_or(&Value::Null);
    let field = |name: &str| text(wanted, name).to_owned();
    Attempt {
        verb: Cow::Owned(field("verb")),
        what: What::Resource(ResourceTarget {
            group: field("group"),
            version: field("version"),
            namespace: field("namespace"),
            resource: field("resource"),
            name: field("name"),
            subresource: field("subresource"),
            rest: String::new(),
        }),
    }
}

fn named_user(spec: &Value) -> User {
    let extra = spec.get("extra").and_then(Value::as_object);
    User {
        name: text(spec, "user").to_owned(),
        uid: text(spec, "uid").to_owned(),
        groups: texts(spec.get("groups")),
        extra: extra
            .into_iter()
            .flatten()
            .map(|(key, values)| (key.clone(), texts(Some(values))))
            .collect(),
    }
}

fn problems(spec: &Value) -> Vec<FieldError> {
    let is_there = |field: &str| spec.get(field).is_some_and(Value::is_object);
    match (
        is_there("resourceAttributes"),
        is_there("nonResourceAttributes"),
    ) {
        (true, true) => vec![FieldError::invalid(
            FieldPath::from("spec.nonResourceAttributes"),
            spec["nonResourceAttributes"].clone(),
            "cannot be specified in combination with resourceAttributes",
        )],
        (false, false) => vec![FieldError::invalid(
            FieldPath::from("spec.resourceAttributes"),
            Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )],
        _ => Vec::new(),
    }
}

fn user_problems(spec: &Value) -> Option<FieldError> {
    let is_named = !text(spec, "user").is_empty() || !texts(spec.get("groups")).is_empty();
    (!is_named).then(|| {
        FieldError::invalid(
            FieldPath::from("spec.user"),
            "",
            "at least one of user or group must be specified",
        )
    })
}

/// What is wrong with selectors: each says what it chooses, and once.
fn selector_problems(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for sort in ["fieldSelector", "labelSelector"] {
        let Some(selector) = spec.pointer(&format!("/resourceAttributes/{sort}")) else {
            continue;
        };
        if !selector.is_object() {
            continue;
        }
        let path = format!("spec.resourceAttributes.{sort}");
        let at = |field: &str| FieldPath::from(format!("{path}.{field}").as_str());
        let raw = text(selector, "rawSelector");
        let listed = selector.get("requirements").and_then(Value::as_array);
        match (raw.is_empty(), listed.is_none_or(Vec::is_empty)) {
            (false, false) => {
                let why = "may not specified at the same time as requirements";
                errors.push(FieldError::invalid(at("rawSelector"), raw, why));
            }
            (true, true) => {
                let why =
                    format!("when {path} is specified, requirements or rawSelector is required");
                errors.push(FieldError::required(at("requirements"), why));
            }
            _ => {}
        }
    }
    errors
}

/// A question has no name.
fn name_problems(review: &Value, is_here: bool) -> Option<FieldError> {
    let metadata = review.get("metadata").and_then(Value::as_object)?;
    let says_nothing = |value: &Value| {
        value.is_null()
            || *value == ""
            || value.as_object().is_some_and(Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty)
    };
    let mut said = metadata.iter().filter(|(field, value)| {
        let is_meant = *field == "managedFields" || (is_here && *field == "namespace");
        !is_meant && !says_nothing(value)
    });
    let why = match is_here {
        true => "must be empty except for namespace",
        false => "must be empty",
    };
    said.next()?;
    let shown = Value::Object(metadata.clone());
    Some(FieldError::invalid(FieldPath::from("metadata"), shown, why))
}

fn place_problems(spec: &Value, namespace: &str) -> Option<FieldError> {
    if let Some(wanted) = spec
        .get("nonResourceAttributes")
        .filter(|wanted| wanted.is_object())
    {
        return Some(FieldError::invalid(
            FieldPath::from("spec.nonResourceAttributes"),
            wanted.clone(),
            "disallowed on this kind of request",
        ));
    }
    let wanted = spec.get("resourceAttributes")?;
    (text(wanted, "namespace") != namespace).then(|| {
        FieldError::invalid(
            FieldPath::from("spec.resourceAttributes.namespace"),
            text(wanted, "namespace"),
            "must match metadata.namespace",
        )
    })
}

fn refuse_wrong(call: &Call, errors: Vec<FieldError>) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(call.kind_subject(""), &errors))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let values = value.and_then(Value::as_array);
    values
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

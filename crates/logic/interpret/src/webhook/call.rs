//! One question to a service, and its answer.

use std::{fmt, sync::Arc};

use api::config::{
    JSON_PATCH, RequestKind, ResourceInterpreterContext, ResourceInterpreterRequest,
    ResourceInterpreterResponse,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use object::{
    Object,
    field::FieldPath,
    parse::parse_json,
    patch::{JsonPatch, Replace},
};

use crate::{
    error::{InterpretError, RuleError},
    identity,
    interpreter::Layer,
    kind::KindRef,
    operation::Operation,
    webhook::{Hook, Question, courier::identify},
};

/// A question that a service answers.
pub struct WebhookCall<T> {
    /// The service.
    pub hook: Arc<Hook>,
    /// What it is asked.
    pub operation: Operation,
    request: ResourceInterpreterRequest,
    interpret: Interpret<T>,
}

/// Makes an answer of a response that is complete.
type Interpret<T> = Box<dyn Fn(ResourceInterpreterResponse) -> Result<T, Flaw> + Send + Sync>;

/// A field of an answer that is missing or wrong.
pub(crate) struct Flaw {
    field: FieldPath,
    problem: String,
}

/// What is wrong with a service's answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookProblem {
    /// It understands no version of the question that we can write.
    #[error("webhook {hook} does not accept {VERSION} of ResourceInterpreterContext")]
    Version {
        /// The service.
        hook: String,
    },
    /// The call itself failed, in the caller's words.
    #[error("webhook {hook} could not be called: {problem}")]
    Call {
        /// The service.
        hook: String,
        /// What went wrong.
        problem: String,
    },
    /// It says that it failed.
    #[error("webhook {hook} failed with code {code}: {message}")]
    Refused {
        /// The service.
        hook: String,
        /// Its code.
        code: i32,
        /// Its message.
        message: String,
    },
    /// A part of its answer is missing or wrong.
    #[error("the answer of webhook {hook} cannot be used: {field}: {problem}")]
    Answer {
        /// The service.
        hook: String,
        /// The field of the answer.
        field: FieldPath,
        /// What is wrong with it.
        problem: String,
    },
}

/// The version of the question that we write.
const VERSION: &str = "v1alpha1";

impl<T> fmt::Debug for WebhookCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookCall")
            .field("hook", &self.hook.id())
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

impl<T> WebhookCall<T> {
    pub(crate) fn new(
        hook: &Arc<Hook>,
        operation: Operation,
        object: &Object,
        change: impl FnOnce(&mut ResourceInterpreterRequest),
        interpret: impl Fn(ResourceInterpreterResponse) -> Result<T, Flaw> + Send + Sync + 'static,
    ) -> Self {
        let kind = KindRef::of(object);
        let mut request = ResourceInterpreterRequest {
            kind: RequestKind {
                group: kind.group().to_owned(),
                version: kind.version().to_owned(),
                kind: kind.kind.to_owned(),
            },
            name: object.name().to_owned(),
            namespace: object.namespace().to_owned(),
            operation: operation.as_str().to_owned(),
            object: object.clone().into_value(),
            desired_replicas: Some(0),
            ..ResourceInterpreterRequest::default()
        };
        change(&mut request);
        Self {
            hook: Arc::clone(hook),
            operation,
            request,
            interpret: Box::new(interpret),
        }
    }

    /// What to send. The id must be one that no other question has.
    pub fn context(&self, uid: &str) -> Result<ResourceInterpreterContext, InterpretError> {
        if !self.hook.understands(VERSION) {
            let hook = self.hook.id();
            return Err(self.error(WebhookProblem::Version { hook }));
        }
        let mut request = self.request.clone();
        uid.clone_into(&mut request.uid);
        Ok(ResourceInterpreterContext {
            request: Some(request),
            ..ResourceInterpreterContext::default()
        })
    }

    /// The question with an id of its own, as it is posted.
    pub fn question(&self) -> Result<Question, InterpretError> {
        let encode = |context: &ResourceInterpreterContext| {
            serde_json::to_vec(context).map_err(|error| self.failed(error))
        };
        let nameless = encode(&self.context("")?)?;
        let uid = identify([self.hook.id().as_bytes(), &nameless]);
        let RequestKind { group, kind, .. } = &self.request.kind;
        let (namespace, name) = (&self.request.namespace, &self.request.name);
        Ok(Question {
            hook: Arc::clone(&self.hook),
            operation: self.operation,
            about: format!("{kind}.{group} {namespace}/{name}"),
            body: encode(&self.context(&uid)?)?,
            uid,
        })
    }

    /// What the bytes that came back for the question of that id say.
    pub fn read_bytes(&self, uid: &str, bytes: &[u8]) -> Result<T, InterpretError> {
        let wrong = |problem: String| self.unusable("the body", problem);
        let parsed = parse_json(bytes).map_err(|error| wrong(error.to_string()))?;
        let context =
            serde_json::from_value(parsed.value).map_err(|error| wrong(error.to_string()))?;
        self.read(uid, context)
    }

    /// What the service's answer to the question of that id says.
    pub fn read(
        &self,
        uid: &str,
        context: ResourceInterpreterContext,
    ) -> Result<T, InterpretError> {
        let Some(response) = context.response else {
            return Err(self.unusable("response", "is missing"));
        };
        if response.uid != uid {
            let problem = format!("is {:?}, and the question had {uid:?}", response.uid);
            return Err(self.unusable("response.uid", problem));
        }
        if !response.successful {
            let Some(status) = response.status else {
                let problem = "is required where successful is false";
                return Err(self.unusable("response.status", problem));
            };
            return Err(self.error(WebhookProblem::Refused {
                hook: self.hook.id(),
                code: status.code,
                message: status.message,
            }));
        }
        (self.interpret)(response).map_err(|flaw| self.unusable(flaw.field, flaw.problem))
    }

    /// The error that the service could not be asked.
    pub fn failed(&self, problem: impl fmt::Display) -> InterpretError {
        self.error(WebhookProblem::Call {
            hook: self.hook.id(),
            problem: problem.to_string(),
        })
    }

    fn unusable(&self, field: impl Into<FieldPath>, problem: impl Into<String>) -> InterpretError {
        self.error(WebhookProblem::Answer {
            hook: self.hook.id(),
            field: field.into(),
            problem: problem.into(),
        })
    }

    fn error(&self, problem: WebhookProblem) -> InterpretError {
        let RequestKind {
            group,
            version,
            kind,
        } = &self.request.kind;
        let api_version = match group.as_str() {
            "" => version.clone(),
            group => format!("{group}/{version}"),
        };
        let kind = KindRef {
            api_version: &api_version,
            kind,
        };
        InterpretError::Rule {
            layer: Layer::Webhook,
            operation: self.operation,
            kind: kind.to_string(),
            source: RuleError::Webhook(Box::new(problem)),
        }
    }
}

impl Flaw {
    pub(crate) fn new(field: impl Into<FieldPath>, problem: impl fmt::Display) -> Self {
        Self {
            field: field.into(),
            problem: problem.to_string(),
        }
    }
}

/// The field of an answer that its operation cannot do without.
pub(crate) fn required<T>(field: &'static str, value: Option<T>) -> Result<T, Flaw> {
    value.ok_or_else(|| Flaw::new(field, "is required"))
}

/// The object with the changes of an answer, or as it was. It must still be the one that was asked about.
pub(crate) fn patched(
    object: &Object,
    response: &ResourceInterpreterResponse,
) -> Result<Object, Flaw> {
    let patch = response.patch.as_deref().unwrap_or_default();
    match (patch, response.patch_type.as_deref()) {
        ("", None) => return Ok(object.clone()),
        ("", Some(_)) => return Err(Flaw::new("response.patch", "is required beside patchType")),
        (_, Some(JSON_PATCH)) => {}
        (_, None) => return Err(Flaw::new("response.patchType", "is required beside patch")),
        (_, Some(other)) => {
            let problem = format!("{other:?} is not {JSON_PATCH}");
            return Err(Flaw::new("response.patchType", problem));
        }
    }
    let wrong = |problem: String| Flaw::new("response.patch", problem);
    let bytes = BASE64_STANDARD
        .decode(patch)
        .map_err(|error| wrong(error.to_string()))?;
    let parsed = parse_json(&bytes).map_err(|error| wrong(error.to_string()))?;
    let patch = JsonPatch::decode(&parsed.value).map_err(|error| wrong(error.to_string()))?;
    let before = object.clone().into_value();
    let after = patch
        .apply(&before, Replace::Existing)
        .map_err(|error| wrong(error.to_string()))?;
    let after = Object::from_value(after).map_err(|error| wrong(error.to_string()))?;
    match identity::changed(object, &after) {
        Some((field, problem)) => Err(wrong(format!("{field} {problem}"))),
        None => Ok(after),
    }
}

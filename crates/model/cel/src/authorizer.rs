//! Questions about permissions that expressions put: `authorizer.group('apps').resource('deployments').check('get')`.

use std::fmt;
use std::sync::Arc;

use crate::evaluate::Fault;
use crate::ty::Opaque;

/// Whoever knows what the asking user, or a service account, may do.
pub trait Authorizer: Send + Sync {
    /// Whether it is allowed. It may not wait for anything outside the process.
    fn decide(&self, question: &Question) -> Decision;
}

/// What somebody wants to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The service account asked about; `None` for the user whose request it is.
    pub service_account: Option<(Arc<str>, Arc<str>)>,
    /// The verb.
    pub verb: Arc<str>,
    /// The path; `None` for a resource.
    pub path: Option<Arc<str>>,
    /// The API group.
    pub group: Arc<str>,
    /// The resource.
    pub resource: Arc<str>,
    /// The subresource, or empty.
    pub subresource: Arc<str>,
    /// The namespace, or empty.
    pub namespace: Arc<str>,
    /// The object's name, or empty.
    pub name: Arc<str>,
    /// The field selector, or empty.
    pub field_selector: Arc<str>,
    /// The label selector, or empty.
    pub label_selector: Arc<str>,
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// What kept the question from being answered, if anything did.
    pub error: Option<String>,
}

/// A question as far as it has been put.
#[derive(Clone)]
pub struct Check<'a> {
    pub(crate) authorizer: &'a dyn Authorizer,
    pub(crate) stage: Opaque,
    pub(crate) question: Question,
}

impl fmt::Debug for Check<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Check({:?})", self.question)
    }
}

impl<'a> Check<'a> {
    pub(crate) fn new(authorizer: &'a dyn Authorizer) -> Self {
        Self {
            authorizer,
            stage: Opaque::Authorizer,
            question: Question::default(),
        }
    }

    pub(crate) fn type_name(&self) -> &'static str {
        self.stage.name()
    }

    /// The question with one thing more said.
    pub(crate) fn with(
        &self,
        from: Opaque,
        to: Opaque,
        say: impl FnOnce(&mut Question),
    ) -> Result<Self, Fault> {
        if self.stage != from {
            return Err(Fault::no_overload());
        }
        let mut next = self.clone();
        next.stage = to;
        say(&mut next.question);
        Ok(next)
    }

    /// The answer.
    pub(crate) fn decide(&self, verb: &str) -> Decision {
        let mut question = self.question.clone();
        question.verb = verb.into();
        self.authorizer.decide(&question)
    }
}

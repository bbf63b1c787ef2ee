//! Expressions of conditions and policies: compiled with their configuration, run within a budget, about one request.

use std::sync::{Arc, LazyLock};

use cel::{Authorizer, CALL_LIMIT, Decision, Environment, Inputs, Program, Question};
use object::Value;
use serve::cache::Cache;
use serve::call::User;

use crate::matching::{self, Asked};
use crate::review::{self, Shown};

/// What all conditions of one webhook or policy may cost together. Upstream: the same.
const CONDITIONS_BUDGET: u64 = 2_500_000;
/// What all expressions of one policy may cost together for one binding. Upstream: the same.
const POLICY_BUDGET: u64 = 10_000_000;

/// What conditions of webhooks may speak of.
static CONDITION: LazyLock<Arc<Environment>> = LazyLock::new(|| Arc::new(Environment::admission()));

/// Knows what users may do, for expressions that ask.
pub trait Authority: Send + Sync {
    /// Whether a user may do something.
    fn decide(&self, user: &User, question: &Question) -> Decision;
}

impl<F: Fn(&User, &Question) -> Decision + Send + Sync> Authority for F {
    fn decide(&self, user: &User, question: &Question) -> Decision {
        self(user, question)
    }
}

/// Questions of one user.
struct AsUser<'a> {
    user: &'a User,
    authority: Option<&'a Arc<dyn Authority>>,
}

/// Conditions that must all hold, by name.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    programs: Vec<(String, Program)>,
}

/// What expressions about one request may look at.
pub(crate) struct Scene<'a> {
    request: Value,
    object: Option<&'a Value>,
    old: Option<&'a Value>,
    namespace: Option<Value>,
    user: AsUser<'a>,
    resource: Question,
}

/// What is left to spend.
pub(crate) struct Budget(u64);

impl Budget {
    pub(crate) fn for_conditions() -> Self {
        Self(CONDITIONS_BUDGET)
    }

    pub(crate) fn for_policy() -> Self {
        Self(POLICY_BUDGET)
    }

    /// Runs a program on what is left.
    pub(crate) fn run<T>(
        &mut self,
        program: &Program,
        inputs: &Inputs<'_>,
        read: impl FnOnce(&cel::Value<'_>) -> Option<T>,
        expected: &str,
    ) -> Result<T, String> {
        let limit = CALL_LIMIT.min(self.0);
        let (outcome, cost) = program.run(inputs, limit, |outcome| {
            let value = outcome.value.map_err(|fault| fault.to_string());
            let value = value.and_then(|value| {
                read(&value).ok_or_else(|| format!("the expression does not give {expected}"))
            });
            (value, outcome.cost)
        });
        self.0 = self.0.saturating_sub(cost);
        outcome
    }

    pub(crate) fn holds(&mut self, program: &Program, inputs: &Inputs<'_>) -> Result<bool, String> {
        let read = |value: &cel::Value<'_>| value.as_bool();
        self.run(program, inputs, read, "a bool")
    }
}

impl Conditions {
    /// Reads `matchConditions`.
    ///
    /// # Errors
    /// The place of each condition that cannot be compiled, and why.
    pub(crate) fn read(
        value: Option<&Value>,
        environment: &Arc<Environment>,
    ) -> Result<Self, Vec<(usize, String)>> {
        let list = value.and_then(Value::as_array);
        let (mut programs, mut problems) = (Vec::new(), Vec::new());
        for (place, condition) in list.into_iter().flatten().enumerate() {
            let text = |field: &str| condition.get(field).and_then(Value::as_str);
            match Program::compile(text("expression").unwrap_or_default(), environment) {
                Ok(program) if program.may_give(&cel::Type::Bool) => {
                    programs.push((text("name").unwrap_or_default().to_owned(), program));
                }
                Ok(_) => problems.push((place, "must evaluate to bool".to_owned())),
                Err(error) => problems.push((place, format!("compilation failed: {error}"))),
            }
        }
        if problems.is_empty() {
            return Ok(Self { programs });
        }
        Err(problems)
    }

    /// Those of a webhook.
    pub(crate) fn of_webhook(value: Option<&Value>) -> Result<Self, Vec<(usize, String)>> {
        Self::read(value, &CONDITION)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// Whether all of them hold. Upstream: one that is false settles it, whatever trouble others have.
    pub(crate) fn hold(&self, inputs: &Inputs<'_>) -> Result<bool, String> {
        let mut budget = Budget::for_conditions();
        let mut trouble = Vec::new();
        for (name, program) in &self.programs {
            match budget.holds(program, inputs) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(why) => trouble.push(format!("match condition {name:?}: {why}")),
            }
        }
        if trouble.is_empty() {
            return Ok(true);
        }
        Err(trouble.join("; "))
    }
}

impl<'a> Scene<'a> {
    /// A request, with its objects as the asker sees them.
    pub(crate) fn new(
        asked: &Asked<'a>,
        version: &str,
        (old, object): (Option<&'a Value>, Option<&'a Value>),
        cache: &Cache,
        authority: Option<&'a Arc<dyn Authority>>,
    ) -> Self {
        let shown = Shown {
            uid: "",
            version,
            old: None,
            new: None,
        };
        let target = &asked.call.target;
        let in_namespace = !asked.is_namespace() && !asked.namespace().is_empty();
        let namespace = in_namespace
            .then(|| matching::namespace(cache, asked.namespace()))
            .flatten();
        Self {
            request: review::request(asked, &shown),
            object,
            old,
            namespace: namespace.map(|record| record.value()),
            user: AsUser {
                user: &asked.call.user,
                authority,
            },
            resource: Question {
                group: target.group.as_str().into(),
                resource: target.resource.as_str().into(),
                subresource: target.subresource.as_str().into(),
                namespace: asked.namespace().into(),
                name: asked.name().into(),
                ..Question::default()
            },
        }
    }

    /// What programs are given.
    pub(crate) fn inputs(&self) -> Inputs<'_> {
        Inputs::new()
            .json_or_null("object", self.object)
            .json_or_null("oldObject", self.old)
            .json("request", &self.request)
            .json_or_null("namespaceObject", self.namespace.as_ref())
            .authorizer(&self.user, self.resource.clone())
    }
}

impl Authorizer for AsUser<'_> {
    fn decide(&self, question: &Question) -> Decision {
        let Some(authority) = self.authority else {
            return Decision {
                error: Some("nobody can say what users may do here".to_owned()),
                ..Decision::default()
            };
        };
        let Some((namespace, name)) = &question.service_account else {
            return authority.decide(self.user, question);
        };
        let account = User {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".to_owned(),
            ],
            ..User::default()
        };
        authority.decide(&account, question)
    }
}

//! Policies written as expressions: `ValidatingAdmissionPolicy`, put into force by its bindings.
//!
//! Everything happens in the process and without waiting: the configurations are compiled when they change, parameters
//! come from the server's own cache.

mod judging;
mod leave;
mod read;
mod typing;

use std::sync::{Arc, OnceLock, Weak};

use object::Value;
use object::field::{FieldError, FieldPath};
use serve::cache::Cache;
use serve::call::{Admission, Call, Verdict, at_once};
use serve::server::Server;
use serve::status::Status;

use crate::expression::{Authority, Conditions};
use crate::following::{Compiled, GROUP};
use crate::matching::Asked;
use read::{Bindings, Policies, Policy};
pub use typing::policy_status;

/// The policies of a server, as an admission of it.
#[derive(Default)]
pub struct ValidatingPolicies {
    /// Set once the server is open, before it answers anybody.
    followed: OnceLock<Followed>,
}

struct Followed {
    cache: Arc<Cache>,
    /// Where parameters' kinds are found.
    server: Weak<Server>,
    authority: Arc<dyn Authority>,
    policies: Compiled<Policies>,
    bindings: Compiled<Bindings>,
}

impl ValidatingPolicies {
    /// Follows a server's policies from now on; `authority` answers expressions that ask what users may do.
    pub fn look_into(&self, server: &Arc<Server>, authority: Arc<dyn Authority>) {
        let cache = server.cache();
        let followed = Followed {
            cache: Arc::clone(cache),
            server: Arc::downgrade(server),
            authority,
            policies: Compiled::new(cache, "validatingadmissionpolicies", Policies::compile),
            bindings: Compiled::new(
                cache,
                "validatingadmissionpolicybindings",
                Bindings::compile,
            ),
        };
        drop(self.followed.set(followed));
    }

    /// Parameters are refused when a policy or a binding is written: later nobody knows who wrote it.
    fn check_reading(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<(), Status> {
        let (Some(followed), Some(new)) = (self.followed.get(), new) else {
            return Ok(());
        };
        if !call.target.subresource.is_empty() {
            return Ok(());
        }
        match followed.refuse_reading(call, old, new) {
            Some(error) => Err(invalid(call, new, &[error])),
            None => Ok(()),
        }
    }
}

impl Admission for ValidatingPolicies {
    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let asked = Asked::new(call, old, new);
        if !asked.is_open() {
            let verdict =
                check_expressions(call, old, new).and_then(|()| self.check_reading(call, old, new));
            return at_once(verdict.map(|()| Vec::new()));
        }
        let Some(followed) = self.followed.get() else {
            return at_once(Ok(Vec::new()));
        };
        let bindings = followed.bindings.current();
        if bindings.all.is_empty() || is_question(call) {
            return at_once(Ok(Vec::new()));
        }
        at_once(followed.judge(&bindings, &asked))
    }

    fn connect<'a>(&'a self, call: &'a Call, options: &'a Value) -> Verdict<'a> {
        let Some(followed) = self.followed.get() else {
            return at_once(Ok(Vec::new()));
        };
        let bindings = followed.bindings.current();
        at_once(followed.judge(&bindings, &Asked::connecting(call, options)))
    }
}

/// Whether a call asks who somebody is or what they may do. Upstream: no policy is asked about those, because whoever
/// could not ask could do nothing; webhooks are.
fn is_question(call: &Call) -> bool {
    matches!(
        call.target.group.as_str(),
        "authentication.k8s.io" | "authorization.k8s.io"
    ) && call.target.resource.ends_with("reviews")
}

/// Expressions are refused when they are written, not when they are needed.
fn check_expressions(call: &Call, old: Option<&Value>, new: Option<&Value>) -> Result<(), Status> {
    let Some(new) = new.filter(|_| call.target.subresource.is_empty()) else {
        return Ok(());
    };
    debug_assert_eq!(call.target.group, GROUP, "only configurations get here");
    let errors = match call.target.resource.as_str() {
        "validatingadmissionpolicies" => Policy::problems(old, new),
        "mutatingwebhookconfigurations" | "validatingwebhookconfigurations" => {
            webhook_conditions(new)
        }
        _ => Vec::new(),
    };
    if errors.is_empty() {
        return Ok(());
    }
    Err(invalid(call, new, &errors))
}

fn invalid(call: &Call, new: &Value, errors: &[FieldError]) -> Status {
    let name = new.get("metadata").and_then(|m| m.get("name")?.as_str());
    Status::invalid(call.kind_subject(name.unwrap_or_default()), errors)
}

fn webhook_conditions(configuration: &Value) -> Vec<FieldError> {
    let webhooks = configuration.get("webhooks").and_then(Value::as_array);
    let mut errors = Vec::new();
    for (place, webhook) in webhooks.into_iter().flatten().enumerate() {
        let problems = Conditions::of_webhook(webhook.get("matchConditions"));
        for (condition, why) in problems.err().unwrap_or_default() {
            let path = FieldPath::new("webhooks")
                .index(place)
                .child("matchConditions")
                .index(condition)
                .child("expression");
            let shown = read::shown_at(configuration, &path);
            errors.push(FieldError::invalid(path, shown, why));
        }
    }
    errors
}

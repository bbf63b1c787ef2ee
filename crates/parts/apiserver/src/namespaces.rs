//! Nothing is created in a namespace that is not there, or is going; some namespaces never go.

use std::sync::{Arc, OnceLock};

use object::Value;
use serve::cache::{self, Cache};
use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::status::{Cause, Status, Subject};

/// What every API relies on: whoever deleted these would lose the accounts, tokens and leases kept there, and the server
/// could not make new ones while they go. Upstream: the same three.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Keeps new objects out of namespaces that do not exist or are being deleted, and keeps the namespaces that must stay.
#[derive(Default)]
pub(crate) struct NamespaceLifecycle {
    /// Where namespaces are found; set once the server is open, before it answers anybody.
    cache: OnceLock<Arc<Cache>>,
}

impl NamespaceLifecycle {
    pub(crate) fn look_into(&self, cache: &Arc<Cache>) {
        drop(self.cache.set(Arc::clone(cache)));
    }

    fn check(&self, call: &Call, new: Option<&Value>) -> Result<(), Status> {
        let name = call.target.namespace.as_str();
        let Some(cache) = self.cache.get() else {
            return Ok(());
        };
        // Upstream: whether somebody may do something in a namespace can be asked whatever becomes of it.
        let is_question = call.target.resource == "localsubjectaccessreviews";
        if !call.served.resource.namespaced || name.is_empty() || is_question {
            return Ok(());
        }
        let namespace = cache
            .collection(&cache::name_of("", "namespaces"))
            .find(name);
        let Some(namespace) = namespace else {
            return Err(Status::not_found(Subject {
                group: "",
                resource: "namespaces",
                name,
            }));
        };
        if !namespace.head().terminating {
            return Ok(());
        }
        let why = format!(
            "unable to create new content in namespace {name} because it is being terminated"
        );
        let subject = new.map_or_else(|| call.subject(), |new| call.subject_of(new));
        let mut status = Status::forbidden(subject, &why);
        status.details.causes.push(Cause {
            reason: "NamespaceTerminating".to_owned(),
            message: format!("namespace {name} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
        Err(status)
    }
}

impl Admission for NamespaceLifecycle {
    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        // Before anybody else has work with an object that cannot be.
        let verdict = if proposal.old.is_none() {
            self.check(call, proposal.new.as_deref())
        } else {
            Ok(())
        };
        at_once(verdict.map(|()| Vec::new()))
    }

    fn validate<'a>(
        &'a self,
        call: &'a Call,
        _: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let verdict = if new.is_none() {
            check_deletion(call)
        } else {
            Ok(())
        };
        at_once(verdict.map(|()| Vec::new()))
    }
}

fn check_deletion(call: &Call) -> Result<(), Status> {
    let target = &call.target;
    let is_namespace = target.group.is_empty() && target.resource == "namespaces";
    if !is_namespace || !IMMORTAL.contains(&target.name.as_str()) {
        return Ok(());
    }
    Err(Status::forbidden(
        call.subject(),
        "this namespace may not be deleted",
    ))
}

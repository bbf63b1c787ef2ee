//! What a cluster checks and fills in before anything is written.

mod account;
mod behaviour;
mod claim;
mod definition;
mod namespace;
mod pod;
mod priority;
mod services;

use std::sync::{Arc, OnceLock};

use object::Value;
use serve::cache::Cache;
use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::status::{Status, Subject};

pub(crate) use claim::{DEFAULT_CLASS, PROTECTION};
pub(crate) use definition::CLEANUP;
pub(crate) use services::ServiceAddresses;

/// Namespaces that are there, what every pod gets, claims and their classes. Comes after the limit ranges.
#[derive(Default)]
pub(crate) struct ClusterAdmission {
    /// Set once the server is open, before it answers anybody.
    cache: OnceLock<Arc<Cache>>,
}

impl ClusterAdmission {
    pub(crate) fn look_into(&self, cache: &Arc<Cache>) {
        drop(self.cache.set(Arc::clone(cache)));
    }

    fn change(&self, call: &Call, new: &mut Value, cache: &Cache) -> Result<(), Status> {
        namespace::check(call, cache)?;
        kinds::refuse_without_future(call, cache)?;
        definition::hold(call, new);
        if is_of(call, "persistentvolumeclaims") {
            claim::protect(new);
            claim::complete(new, cache);
        }
        Ok(())
    }

    /// A new pod in a namespace that is there.
    async fn change_pod(&self, call: &Call, pod: &mut Value, cache: &Cache) -> Result<(), Status> {
        account::settle(call, pod, cache).await?;
        priority::resolve(call, pod, cache)?;
        pod::give_patience(pod);
        pod::tell_gates(pod);
        Ok(())
    }
}

impl Admission for ClusterAdmission {
    fn changes(&self, _: &Call) -> bool {
        true
    }

    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        let Some(new) = proposal.new else {
            return at_once(Ok(Vec::new()));
        };
        let warnings = behaviour::warnings(call, new);
        let Some(cache) = self.cache.get().filter(|_| proposal.old.is_none()) else {
            return at_once(Ok(warnings));
        };
        if let Err(status) = self.change(call, new, cache) {
            return at_once(Err(status));
        }
        if !is_of(call, "pods") {
            return at_once(Ok(warnings));
        }
        Box::pin(async move {
            self.change_pod(call, new, cache).await?;
            Ok(warnings)
        })
    }

    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let (Some(cache), Some(new)) = (self.cache.get(), new) else {
            return at_once(Ok(Vec::new()));
        };
        let verdict = match old {
            Some(old) if is_of(call, "persistentvolumeclaims") => {
                claim::check_growth(call, old, new, cache)
            }
            _ => priority::check(call, new, cache),
        };
        at_once(verdict.map(|()| Vec::new()))
    }
}

/// Whether a call is about whole objects of a resource of the core group.
fn is_of(call: &Call, resource: &str) -> bool {
    let target = &call.target;
    target.group.is_empty() && target.resource == resource && target.subresource.is_empty()
}

/// Refuses an object, which may have got its name from the server.
fn refuse(call: &Call, object: &Value, why: &str) -> Status {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    let subject = Subject {
        name: name.unwrap_or_default(),
        ..call.subject()
    };
    Status::forbidden(subject, why)
}

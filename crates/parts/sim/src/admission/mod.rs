//! What a cluster checks and fills in before anything is written.

mod claim;
mod definition;
mod namespace;
mod pod;
mod quota;
mod service;

use std::sync::{Arc, OnceLock};

use object::Value;
use runtime::Clock;
use serve::cache::Cache;
use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::status::Status;

pub(crate) use claim::DEFAULT_CLASS;
pub(crate) use definition::CLEANUP;

/// Namespaces that are there, addresses of services, what every pod gets.
pub(crate) struct ClusterAdmission {
    /// Set once the server is open, before it answers anybody.
    cache: OnceLock<Arc<Cache>>,
    addresses: service::Addresses,
    in_flight: quota::InFlight,
    clock: Clock,
}

impl ClusterAdmission {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            cache: OnceLock::new(),
            addresses: service::Addresses::default(),
            in_flight: quota::InFlight::default(),
            clock,
        }
    }

    pub(crate) fn look_into(&self, cache: &Arc<Cache>) {
        self.addresses.learn(cache);
        drop(self.cache.set(Arc::clone(cache)));
    }

    fn change(&self, call: &Call, proposal: Proposal<'_>) -> Result<(), Status> {
        let Some(cache) = self.cache.get() else {
            return Ok(());
        };
        let Some(new) = proposal.new else {
            return Ok(());
        };
        if proposal.old.is_none() {
            namespace::check(call, cache)?;
            definition::hold(call, new);
        }
        if !call.target.subresource.is_empty() || !call.target.group.is_empty() {
            return Ok(());
        }
        match call.target.resource.as_str() {
            "pods" if proposal.old.is_none() => pod::complete(new),
            "persistentvolumeclaims" if proposal.old.is_none() => claim::complete(new, cache),
            "services" => self.addresses.assign(call, proposal.old, new)?,
            _ => {}
        }
        Ok(())
    }
}

impl Admission for ClusterAdmission {
    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        at_once(self.change(call, proposal).map(|()| Vec::new()))
    }

    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        if new.is_none() && call.target.group.is_empty() && call.target.resource == "services" {
            self.addresses.release(old);
        }
        let is_new = old.is_none() && call.target.subresource.is_empty();
        let verdict = match (new, self.cache.get()) {
            (Some(new), Some(cache)) if is_new => {
                quota::check(call, cache, &self.in_flight, new, self.clock.now())
            }
            _ => Ok(()),
        };
        at_once(verdict.map(|()| Vec::new()))
    }
}

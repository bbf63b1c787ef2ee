//! What a cluster checks and fills in before anything is written.

mod behaviour;
mod claim;
mod definition;
mod namespace;
mod pod;
mod service;

use std::sync::{Arc, OnceLock};

use object::Value;
use runtime::Clock;
use serve::cache::Cache;
use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::status::Status;

pub(crate) use claim::{DEFAULT_CLASS, PROTECTION};
pub(crate) use definition::CLEANUP;

/// Namespaces that are there, addresses of services, what every pod gets. Comes after the limit ranges.
pub(crate) struct ClusterAdmission {
    /// Set once the server is open, before it answers anybody.
    cache: OnceLock<Arc<Cache>>,
    addresses: service::Addresses,
    clock: Clock,
}

impl ClusterAdmission {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            cache: OnceLock::new(),
            addresses: service::Addresses::default(),
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
            "pods" if proposal.old.is_none() => {
                pod::complete(new);
                let ranges = cache.collection("core/limitranges").snapshot();
                if !ranges.objects.is_empty() {
                    // What they filled in decides the class of service.
                    let version = &call.served.version().name;
                    let rules = &call.served.resource.rules;
                    rules.prepare_create(version, new, self.clock.now());
                }
            }
            "persistentvolumeclaims" if proposal.old.is_none() => {
                claim::protect(new);
                claim::complete(new, cache);
            }
            "services" => self.addresses.assign(call, proposal.old, new)?,
            _ => {}
        }
        Ok(())
    }
}

impl Admission for ClusterAdmission {
    fn mutate<'a>(&'a self, call: &'a Call, mut proposal: Proposal<'a>) -> Verdict<'a> {
        let warnings = proposal
            .new
            .as_deref_mut()
            .map_or_else(Vec::new, |new| behaviour::warnings(call, new));
        at_once(self.change(call, proposal).map(|()| warnings))
    }

    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let is_service = call.target.group.is_empty() && call.target.resource == "services";
        if let (Some(old), true, false) = (old, is_service, call.options.dry_run) {
            self.addresses.release(old, new);
        }
        at_once(Ok(Vec::new()))
    }
}

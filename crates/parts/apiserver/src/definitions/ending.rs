//! Nothing is created of a kind whose definition is going: it would be taken along, although its writer was told that it is
//! stored.

use std::sync::{Arc, OnceLock};

use object::Value;
use serve::cache::Cache;
use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::resource::SchemaDuty;
use serve::status::{Details, Status};

use super::{COLLECTION, built_in};

/// Keeps new objects away from definitions that are being deleted.
#[derive(Default)]
pub(crate) struct EndingDefinitions {
    /// Where definitions are found; set once the server is open, before it answers anybody.
    cache: OnceLock<Arc<Cache>>,
}

impl EndingDefinitions {
    pub(crate) fn look_into(&self, cache: &Arc<Cache>) {
        drop(self.cache.set(Arc::clone(cache)));
    }

    fn check(&self, call: &Call) -> Result<(), Status> {
        let resource = &call.served.resource;
        // Kubernetes' own kinds have no definitions, and most of what is created is of these.
        if resource.rules.schema_duty() == SchemaDuty::Shape {
            return Ok(());
        }
        let Some(cache) = self.cache.get() else {
            return Ok(());
        };
        let name = format!("{}.{}", resource.plural, resource.group);
        let definition = cache.collection(COLLECTION).find(&name);
        let is_ending = definition.is_some_and(|definition| definition.head().terminating);
        // A kind that is served without its definition outlives it.
        if !is_ending || built_in().contains(&(&*resource.group, &*resource.plural)) {
            return Ok(());
        }
        Err(Status {
            message: "create not allowed while custom resource definition is terminating"
                .to_owned(),
            details: Box::new(Details {
                group: call.target.group.clone(),
                kind: call.target.resource.clone(),
                ..Details::default()
            }),
            ..Status::method_not_allowed()
        })
    }
}

impl Admission for EndingDefinitions {
    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        // Before anybody else has work with an object that cannot be.
        let verdict = match proposal.old {
            None if proposal.new.is_some() => self.check(call),
            _ => Ok(()),
        };
        at_once(verdict.map(|()| Vec::new()))
    }

    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        // Once more: webhooks that were asked to change the object may have taken their time.
        let verdict = match (old, new) {
            (None, Some(_)) => self.check(call),
            _ => Ok(()),
        };
        at_once(verdict.map(|()| Vec::new()))
    }
}

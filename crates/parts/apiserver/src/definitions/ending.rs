//! Nothing is created of a kind whose definition is going: it would be taken along, although its writer was told that it is
//! stored.

use std::sync::{Arc, OnceLock};

use kinds::refuse_without_future;
use object::Value;
use serve::cache::Cache;
use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::status::Status;

use super::built_in;

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
        let Some(cache) = self.cache.get() else {
            return Ok(());
        };
        let resource = &call.served.resource;
        let is_built_in = || built_in().contains(&(&*resource.group, &*resource.plural));
        match refuse_without_future(call, cache) {
            // A kind that is served without its definition outlives it.
            Err(_) if is_built_in() => Ok(()),
            verdict => verdict,
        }
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

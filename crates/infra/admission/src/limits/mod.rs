//! Limit ranges: what pods and claims are given in a namespace if they do not say, and what they may not exceed.
//!
//! Only pods and claims that are created here are looked at; what a Deployment's pods will be given is decided where they
//! run, by the limit ranges of that cluster.

mod fill;
mod judge;

use std::sync::{Arc, OnceLock};

use object::Value;
use serve::cache::{self, Cache};
use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::server::Surroundings;
use serve::status::{Status, Subject};

pub use fill::fill_in;
pub use judge::problems;

/// Fills in and checks what pods and claims ask for.
pub struct LimitRanges {
    /// Where limit ranges are found; set once the server is open, before it answers anybody.
    cache: OnceLock<Arc<Cache>>,
    surroundings: Arc<dyn Surroundings>,
}

impl LimitRanges {
    /// Limit ranges by a server's time.
    #[must_use]
    pub fn new(surroundings: Arc<dyn Surroundings>) -> Self {
        Self {
            cache: OnceLock::new(),
            surroundings,
        }
    }

    /// Takes the limit ranges from a server's cache.
    pub fn look_into(&self, cache: &Arc<Cache>) {
        drop(self.cache.set(Arc::clone(cache)));
    }

    /// The items of each limit range in the namespace of a call that they are about.
    fn ranges(&self, call: &Call, old: Option<&Value>) -> Vec<Vec<Value>> {
        let target = &call.target;
        // Upstream: what a pod asks for does not change, so only a claim is looked at again.
        let is_meant = target.group.is_empty()
            && target.subresource.is_empty()
            && match target.resource.as_str() {
                "pods" => old.is_none(),
                "persistentvolumeclaims" => true,
                _ => false,
            };
        let Some(cache) = self.cache.get().filter(|_| is_meant) else {
            return Vec::new();
        };
        let ranges = cache.collection(&cache::name_of("", "limitranges"));
        let snapshot = ranges.snapshot();
        let here = snapshot.objects.in_namespace(&target.namespace);
        here.map(|record| {
            let range = record.value();
            let items = range
                .pointer("/spec/limits")
                .and_then(Value::as_array)
                .cloned();
            items.unwrap_or_default()
        })
        .collect()
    }
}

impl Admission for LimitRanges {
    fn changes(&self, call: &Call) -> bool {
        call.target.resource == "pods"
    }

    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        if let Some(new) = proposal.new
            && call.target.resource == "pods"
        {
            let ranges = self.ranges(call, proposal.old);
            for items in &ranges {
                fill_in(new, items);
            }
            // What is filled in decides the class of service, which the pod was given before.
            if !ranges.is_empty() {
                let (served, now) = (&call.served, self.surroundings.now());
                let version = &served.version().name;
                served.resource.rules.prepare_create(version, new, now);
            }
        }
        at_once(Ok(Vec::new()))
    }

    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let Some(new) = new else {
            return at_once(Ok(Vec::new()));
        };
        for items in self.ranges(call, old) {
            let problems = problems(&call.target.resource, new, &items);
            let why = match problems.as_slice() {
                [] => continue,
                [one] => one.clone(),
                several => format!("[{}]", several.join(", ")),
            };
            let name = new.pointer("/metadata/name").and_then(Value::as_str);
            let subject = Subject {
                name: name.unwrap_or_default(),
                ..call.subject()
            };
            return at_once(Err(Status::forbidden(subject, &why)));
        }
        at_once(Ok(Vec::new()))
    }
}

//! The multi-cluster kinds' own admission: what they are filled up with, and what is refused.

use std::sync::{Arc, OnceLock};

use api::admission::{self, AdmissionRules, Operation, Reach, Refusal, Request};
use api::well_known::feature_gates::FeatureGates;
use object::time::Time;
use object::{GroupVersionKind, Object, Value};
use serve::cache::{self, Cache};
use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::server::Surroundings;
use serve::status::{Cause, Details, Status};

use crate::surroundings::Machine;

/// Calls the rules of `api` for every multi-cluster kind, and protects what must not be deleted.
pub(crate) struct MultiClusterAdmission {
    gates: FeatureGates,
    /// Where related objects are found; set once the server is open, before it answers anybody.
    machine: Machine,
    cache: OnceLock<Arc<Cache>>,
}

impl MultiClusterAdmission {
    pub(crate) fn new(gates: FeatureGates, machine: Machine) -> Self {
        Self {
            gates,
            machine,
            cache: OnceLock::new(),
        }
    }

    pub(crate) fn look_into(&self, cache: &Arc<Cache>) {
        drop(self.cache.set(Arc::clone(cache)));
    }

    /// The rules for a call; none for kinds without rules, for writes to the status, and for versions objects are not
    /// stored in.
    fn rules(&self, call: &Call) -> Option<&'static dyn AdmissionRules> {
        if !call.target.subresource.is_empty() || !call.served.is_stored_form() {
            return None;
        }
        let resource = &call.served.resource;
        admission::rules(&GroupVersionKind::new(
            &*resource.group,
            &*call.target.version,
            &*resource.kind,
        ))
    }

    fn with_request<T>(
        &self,
        call: &Call,
        is_new: bool,
        rules: &dyn AdmissionRules,
        then: impl FnOnce(&Request<'_>) -> T,
    ) -> T {
        let now: Time = self.machine.now();
        let fresh_id = || self.machine.uid();
        let is_time_zone = |name: &str| jiff::tz::TimeZone::get(name).is_ok();
        let check_script =
            |text: &str| interpret::script::check(text).map_err(|error| error.to_string());
        let mut request = Request {
            operation: if is_new {
                Operation::Create
            } else {
                Operation::Update
            },
            namespace: &call.target.namespace,
            gates: &self.gates,
            allow_no_execute: false,
            now,
            fresh_id: &fresh_id,
            is_time_zone: &is_time_zone,
            check_script: &check_script,
            related: &[],
        };
        let related = self.related(&request, rules);
        let related: Vec<&Object> = related.iter().collect();
        request.related = &related;
        then(&request)
    }

    fn related(&self, request: &Request<'_>, rules: &dyn AdmissionRules) -> Vec<Object> {
        let (Some(related), Some(cache)) = (rules.related(request), self.cache.get()) else {
            return Vec::new();
        };
        let collection = cache.collection(&cache::name_of(
            related.resource.group,
            related.resource.plural,
        ));
        let here =
            |namespace: &str| related.reach == Reach::Everywhere || namespace == request.namespace;
        let snapshot = collection.snapshot();
        let records = snapshot
            .objects
            .values()
            .filter(|record| here(&record.head().namespace));
        records
            .filter_map(|record| Object::from_value(record.value()).ok())
            .collect()
    }

    fn change(&self, call: &Call, old: Option<&Value>, new: &mut Value) -> Result<(), Status> {
        let Some(rules) = self.rules(call) else {
            return Ok(());
        };
        let old = old.and_then(|old| Object::from_value(old.clone()).ok());
        let Ok(object) = Object::from_value(std::mem::take(new)) else {
            return Ok(());
        };
        let changed = self.with_request(call, old.is_none(), rules, |request| {
            rules
                .mutate(request, old.as_ref(), object)
                .and_then(|object| rules.finish(request, object))
        });
        *new = changed.map_err(refuse)?.into_value();
        Ok(())
    }

    fn judge(&self, call: &Call, old: Option<&Value>, new: Option<&Value>) -> Result<(), Status> {
        let old = old.and_then(|old| Object::from_value(old.clone()).ok());
        let Some(new) = new else {
            return old.map_or(Ok(()), |old| {
                admission::check_deletion(&old).map(drop).map_err(refuse)
            });
        };
        let Some(rules) = self.rules(call) else {
            return Ok(());
        };
        let Ok(new) = Object::from_value(new.clone()) else {
            return Ok(());
        };
        let verdict = self.with_request(call, old.is_none(), rules, |request| {
            rules.validate(request, old.as_ref(), &new)
        });
        verdict.map(drop).map_err(refuse)
    }
}

impl Admission for MultiClusterAdmission {
    fn changes(&self, call: &Call) -> bool {
        self.rules(call).is_some()
    }

    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        let Some(new) = proposal.new else {
            return at_once(Ok(Vec::new()));
        };
        at_once(self.change(call, proposal.old, new).map(|()| Vec::new()))
    }

    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        at_once(self.judge(call, old, new).map(|()| Vec::new()))
    }
}

/// A refusal in the server's words.
fn refuse(refusal: Refusal) -> Status {
    let causes = refusal.errors().iter().map(|error| Cause {
        reason: error.kind.reason().to_owned(),
        message: error.body(),
        field: error.path.to_string(),
    });
    let details = Box::new(Details {
        causes: causes.collect(),
        ..Details::default()
    });
    Status {
        code: refusal.code(),
        reason: refusal.reason(),
        message: refusal.to_string(),
        details,
        warnings: Vec::new(),
        cause: None,
    }
}

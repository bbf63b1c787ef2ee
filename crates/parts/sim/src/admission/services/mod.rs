//! Addresses and node ports of services: each service has its own, from ranges that are the same as in clusters made by
//! kubeadm.
//!
//! Upstream keeps what is given out in objects of its own and repairs them now and then. Here the services themselves say
//! it, and what was let through and has not arrived is remembered for a while: an address is free as soon as nobody has
//! it, and nothing has to be repaired.

mod asked;
mod ledger;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use object::field::{FieldError, FieldPath};
use object::{Map, Value};
use serde_json::json;
use serve::cache::{self, Cache};
use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::server::Surroundings;
use serve::status::Status;

use asked::{asked_by, has_ports, kind_of};
use ledger::{Claim, Ledger};

/// How long something stays promised to a service that does not arrive. A write takes no longer.
const PROMISE_SECONDS: i64 = 5;

/// Gives services what they lack, and refuses them what others have.
pub(crate) struct ServiceAddresses {
    /// Where services are found; set once the server is open, before it answers anybody.
    cache: OnceLock<Arc<Cache>>,
    surroundings: Arc<dyn Surroundings>,
    ledger: Mutex<Ledger>,
}

impl ServiceAddresses {
    /// Promises last by a server's time.
    pub(crate) fn new(surroundings: Arc<dyn Surroundings>) -> Self {
        Self {
            cache: OnceLock::new(),
            surroundings,
            ledger: Mutex::default(),
        }
    }

    /// Takes the services from a server's cache.
    pub(crate) fn look_into(&self, cache: &Arc<Cache>) {
        drop(self.cache.set(Arc::clone(cache)));
    }

    /// What is given out by now; `None` as long as nobody knows.
    fn ledger(&self) -> Option<MutexGuard<'_, Ledger>> {
        let services = self
            .cache
            .get()?
            .collection(&cache::name_of("", "services"));
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.follow(&services, self.surroundings.now());
        Some(ledger)
    }

    fn assign(&self, call: &Call, service: &mut Value) -> Result<(), Status> {
        if kind_of(service) == "ExternalName" {
            return Ok(());
        }
        let key = key_of(call, service);
        let Some(mut ledger) = self.ledger() else {
            return Ok(());
        };
        let has_ports = has_ports(service);
        let is_probed = asked::is_probed(service);
        let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else {
            return Ok(());
        };
        let promise = |ledger: &mut Ledger, claim| {
            if !call.options.dry_run {
                let until = self.surroundings.now().plus_seconds(PROMISE_SECONDS);
                ledger.promise(claim, &key, until);
            }
        };
        if text(spec, "clusterIP").is_empty() && !has_addresses(spec) {
            let address = ledger
                .free_address()
                .ok_or_else(|| full("failed to allocate a serviceIP: range is full"))?;
            promise(&mut ledger, Claim::Address(address));
            spec.insert("clusterIP".to_owned(), json!(address.to_string()));
        }
        if let (Some(address), false) = (spec.get("clusterIP").cloned(), has_addresses(spec)) {
            spec.insert("clusterIPs".to_owned(), json!([address]));
        }
        spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
        spec.entry("ipFamilyPolicy")
            .or_insert_with(|| json!("SingleStack"));
        let mut take = |number: i64| {
            let port = ledger
                .free_port(&key, number)
                .ok_or_else(|| full("failed to allocate a nodePort: range is full"))?;
            promise(&mut ledger, Claim::Port(port));
            Ok::<_, Status>(i64::from(port))
        };
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        // Upstream: a port for several protocols is the same one on the nodes.
        let mut given: BTreeMap<i64, i64> = BTreeMap::new();
        for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
            let number = port.get("port").and_then(Value::as_i64).unwrap_or(0);
            if has_ports && lacks(port, "nodePort") {
                let known = given.get(&number).copied();
                let on_nodes = known.map_or_else(|| take(number), Ok)?;
                port.insert("nodePort".to_owned(), json!(on_nodes));
            }
            let on_nodes = port.get("nodePort").and_then(Value::as_i64);
            given.extend(on_nodes.map(|on_nodes| (number, on_nodes)));
        }
        if is_probed && lacks(spec, "healthCheckNodePort") {
            spec.insert("healthCheckNodePort".to_owned(), json!(take(0)?));
        }
        Ok(())
    }

    /// Refuses what no service can have here, or another one has. What the service has already is its own.
    fn check(&self, call: &Call, old: Option<&Value>, new: &Value) -> Result<(), Status> {
        let key = key_of(call, new);
        let Some(mut ledger) = self.ledger() else {
            return Ok(());
        };
        let kept: Vec<Claim> = old
            .map(asked_by)
            .into_iter()
            .flatten()
            .filter_map(|asked| asked.claim())
            .collect();
        let mut errors = unserved(new);
        let mut taken = Vec::new();
        for asked in asked_by(new) {
            match asked.claim() {
                Some(claim) if kept.contains(&claim) => {}
                Some(claim) if ledger.is_free(claim, &key) => taken.push(claim),
                Some(_) => errors.push(asked.is_taken()),
                None => errors.push(asked.is_outside()),
            }
        }
        if !errors.is_empty() {
            let name = name_of(new);
            return Err(Status::invalid(call.kind_subject(name), &errors));
        }
        if !call.options.dry_run {
            let until = self.surroundings.now().plus_seconds(PROMISE_SECONDS);
            for claim in taken {
                ledger.promise(claim, &key, until);
            }
        }
        Ok(())
    }
}

impl Admission for ServiceAddresses {
    fn changes(&self, call: &Call) -> bool {
        is_meant(call)
    }

    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        let verdict = match proposal.new.filter(|_| is_meant(call)) {
            Some(service) => self.assign(call, service),
            None => Ok(()),
        };
        at_once(verdict.map(|()| Vec::new()))
    }

    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let verdict = match new.filter(|_| is_meant(call)) {
            Some(service) => self.check(call, old, service),
            None => Ok(()),
        };
        at_once(verdict.map(|()| Vec::new()))
    }
}

/// Families of addresses that a service wants and nobody has here.
fn unserved(service: &Value) -> Vec<FieldError> {
    let spec = FieldPath::new("spec");
    let mut errors = Vec::new();
    let families = service
        .pointer("/spec/ipFamilies")
        .and_then(Value::as_array);
    for (place, family) in families.into_iter().flatten().enumerate() {
        if family != "IPv4" {
            let path = spec.child("ipFamilies").index(place);
            errors.push(FieldError::invalid(
                path,
                family.clone(),
                "not configured on this cluster",
            ));
        }
    }
    let policy = service.pointer("/spec/ipFamilyPolicy");
    if let Some(policy) = policy.filter(|policy| *policy == "RequireDualStack") {
        let why = "this cluster is not configured for dual-stack services";
        errors.push(FieldError::invalid(
            spec.child("ipFamilyPolicy"),
            policy.clone(),
            why,
        ));
    }
    errors
}

fn is_meant(call: &Call) -> bool {
    let target = &call.target;
    target.group.is_empty() && target.resource == "services" && target.subresource.is_empty()
}

fn key_of(call: &Call, service: &Value) -> String {
    cache::object_key(&call.target.namespace, name_of(service))
}

fn name_of(service: &Value) -> &str {
    let name = service.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default()
}

fn text<'v>(fields: &'v Map, name: &str) -> &'v str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn lacks(fields: &Map, port: &str) -> bool {
    fields.get(port).and_then(Value::as_i64).unwrap_or(0) == 0
}

fn has_addresses(spec: &Map) -> bool {
    let list = spec.get("clusterIPs").and_then(Value::as_array);
    list.is_some_and(|list| !list.is_empty())
}

fn full(why: &str) -> Status {
    Status::internal(why, None)
}

//! Addresses and node ports of services: given when a service is made, taken back when it goes.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};

use object::Value;
use serde_json::json;
use serve::cache::Cache;
use serve::call::Call;
use serve::status::Status;

use crate::read;

/// The network services have their addresses from: 10.96.0.0/12, as kubeadm's clusters.
const NETWORK: u32 = 0x0a60_0000;
/// Addresses from here on are given out; those before are for whoever asks for one by number.
const FIRST: u32 = NETWORK + 0x100;
const LAST: u32 = NETWORK + 0x000f_fffe;
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;

/// What is given out.
#[derive(Default)]
pub(crate) struct Addresses {
    given: Mutex<Given>,
}

#[derive(Default)]
struct Given {
    addresses: BTreeSet<u32>,
    ports: BTreeSet<i64>,
    /// Where the search for a free address begins, so that one just freed is not given out at once.
    next: u32,
}

impl Addresses {
    /// Learns what services have.
    pub(crate) fn learn(&self, cache: &Cache) {
        let snapshot = cache.collection("core/services").snapshot();
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        for record in snapshot.objects.values() {
            given.note(&record.value());
        }
    }

    /// Gives a service what it lacks.
    pub(crate) fn assign(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: &mut Value,
    ) -> Result<(), Status> {
        let kind = new
            .pointer("/spec/type")
            .and_then(Value::as_str)
            .unwrap_or("ClusterIP")
            .to_owned();
        if kind == "ExternalName" || call.options.dry_run {
            return Ok(());
        }
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = old
            .and_then(|old| old.pointer("/spec/clusterIP"))
            .and_then(Value::as_str)
            .filter(|kept| !kept.is_empty())
            .map(str::to_owned);
        let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) else {
            return Ok(());
        };
        let asked = spec
            .get("clusterIP")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let address = match (asked.as_str(), kept) {
            ("", Some(kept)) => kept,
            ("", None) => given.take_address().ok_or_else(|| {
                Status::internal("failed to allocate a serviceIP: range is full", None)
            })?,
            ("None", _) => asked,
            (asked, kept) if kept.as_deref() == Some(asked) => asked.to_owned(),
            (asked, _) => given.claim(call, asked)?,
        };
        spec.insert("clusterIP".to_owned(), json!(address));
        spec.insert("clusterIPs".to_owned(), json!([address]));
        spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
        spec.entry("ipFamilyPolicy")
            .or_insert_with(|| json!("SingleStack"));
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
            for port in ports.into_iter().flatten() {
                let known = port.get("nodePort").and_then(Value::as_i64).unwrap_or(0);
                let number = if known == 0 {
                    given.take_port()
                } else {
                    given.ports.insert(known);
                    Some(known)
                };
                if let (Some(fields), Some(number)) = (port.as_object_mut(), number) {
                    fields.insert("nodePort".to_owned(), json!(number));
                }
            }
        }
        Ok(())
    }

    /// Takes back what a service had and has no longer: all of it when it goes, some when it becomes one of another type.
    pub(crate) fn release(&self, old: &Value, new: Option<&Value>) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = address_of(old)
            && new.and_then(address_of) != Some(number)
        {
            given.addresses.remove(&number);
        }
        let kept = new.map(ports_of).unwrap_or_default();
        for port in ports_of(old).iter().filter(|port| !kept.contains(port)) {
            given.ports.remove(port);
        }
    }
}

impl Given {
    fn note(&mut self, service: &Value) {
        self.addresses.extend(address_of(service));
        self.ports.extend(ports_of(service));
    }

    fn take_address(&mut self) -> Option<String> {
        let start = self.next.clamp(FIRST, LAST);
        let free = (start..=LAST)
            .chain(FIRST..start)
            .find(|number| !self.addresses.contains(number))?;
        self.addresses.insert(free);
        self.next = free.saturating_add(1);
        Some(Ipv4Addr::from(free).to_string())
    }

    fn claim(&mut self, call: &Call, asked: &str) -> Result<String, Status> {
        let number: Option<u32> = asked.parse::<Ipv4Addr>().ok().map(Into::into);
        if let Some(number) = number
            && !self.addresses.insert(number)
        {
            let why = "failed to allocate IP: provided IP is already allocated";
            let error = object::field::FieldError::invalid(
                object::field::FieldPath::new("spec").child("clusterIPs"),
                asked,
                why,
            );
            return Err(Status::invalid(
                call.kind_subject(&call.target.name),
                &[error],
            ));
        }
        Ok(asked.to_owned())
    }

    fn take_port(&mut self) -> Option<i64> {
        let free = NODE_PORTS
            .into_iter()
            .find(|port| !self.ports.contains(port))?;
        self.ports.insert(free);
        Some(free)
    }
}

fn address_of(service: &Value) -> Option<u32> {
    let text = service.pointer("/spec/clusterIP")?.as_str()?;
    text.parse::<Ipv4Addr>().ok().map(Into::into)
}

fn ports_of(service: &Value) -> Vec<i64> {
    let spec = service.get("spec").unwrap_or(&Value::Null);
    read::items(spec, "ports")
        .iter()
        .filter_map(|port| port.get("nodePort")?.as_i64())
        .collect()
}

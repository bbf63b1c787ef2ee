//! Where load balancers can be reached, for Services and Ingresses.

use std::collections::BTreeMap;

use api::work::v1alpha2::AggregatedStatusItem;
use object::{Map, Object, Value};

use crate::{error::RuleError, native::reported, node::Node};

/// What tells points of entry apart, in the order they are listed in: those with a name first, and those with a mode
/// before those without.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'v> {
    is_nameless: bool,
    hostname: &'v str,
    address: &'v str,
    has_no_mode: bool,
    mode: &'v str,
}

/// One point of entry as some member reported it, and its ports in all members, in the order they are listed in.
type Entry<'v> = (Map, BTreeMap<PortKey<'v>, Value>);

/// Port, protocol and error.
type PortKey<'v> = (i64, &'v str, Option<&'v str>);

/// A status that has nothing but the points of entry of all members, each once.
pub(super) fn aggregate(items: &[AggregatedStatusItem]) -> Result<Option<Value>, RuleError> {
    let mut entries: BTreeMap<Key<'_>, Entry<'_>> = BTreeMap::new();
    for (_, status) in reported(items) {
        for entry in status.at(&["loadBalancer", "ingress"])?.list()? {
            let (fields, ports) = entries.entry(key(entry)?).or_default();
            if fields.is_empty() {
                *fields = entry.fields()?.cloned().unwrap_or_default();
            }
            for port in entry.at(&["ports"])?.list()? {
                let value = port.raw().cloned().unwrap_or_default();
                ports.insert(port_key(port)?, value);
            }
        }
    }
    let listed = entries.into_values().map(|(mut fields, ports)| {
        if !ports.is_empty() {
            let ports = ports.into_values().collect();
            fields.insert("ports".to_owned(), Value::Array(ports));
        }
        Value::Object(fields)
    });
    let listed: Vec<Value> = listed.collect();
    let mut balancer = Map::new();
    if !listed.is_empty() {
        balancer.insert("ingress".to_owned(), Value::Array(listed));
    }
    let status = [("loadBalancer".to_owned(), Value::Object(balancer))];
    Ok(Some(Value::Object(Map::from_iter(status))))
}

/// Whether the object has a point of entry with a name or an address.
pub(super) fn is_reachable(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    for entry in root.at(&["status", "loadBalancer", "ingress"])?.list()? {
        let hostname = entry.at(&["hostname"])?.text_or_empty()?;
        if !hostname.is_empty() || !entry.at(&["ip"])?.text_or_empty()?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn key<'v>(entry: Node<'v, '_>) -> Result<Key<'v>, RuleError> {
    let hostname = entry.at(&["hostname"])?.text_or_empty()?;
    let mode = entry.at(&["ipMode"])?.text()?;
    Ok(Key {
        is_nameless: hostname.is_empty(),
        hostname,
        address: entry.at(&["ip"])?.text_or_empty()?,
        has_no_mode: mode.is_none(),
        mode: mode.unwrap_or_default(),
    })
}

fn port_key<'v>(port: Node<'v, '_>) -> Result<PortKey<'v>, RuleError> {
    Ok((
        port.at(&["port"])?.integer()?.unwrap_or_default(),
        port.at(&["protocol"])?.text_or_empty()?,
        port.at(&["error"])?.text()?,
    ))
}

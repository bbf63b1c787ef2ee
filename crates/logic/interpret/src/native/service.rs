//! Service.

use api::work::v1alpha2::AggregatedStatusItem;
use object::{Map, Object, Value};

use crate::{
    error::RuleError,
    native::{KindRules, entry_points, put},
    node::Node,
};

pub(super) const RULES: KindRules = KindRules {
    retain: Some(retain),
    aggregate: Some(aggregate),
    reflect: Some(reflect),
    is_healthy: Some(is_healthy),
    ..KindRules::of("v1", "Service")
};

/// Only a service of this type has a status worth telling.
fn has_load_balancer(object: &Object) -> Result<bool, RuleError> {
    let root = Node::of(object);
    Ok(root.at(&["spec", "type"])?.text()? == Some("LoadBalancer"))
}

/// The addresses and the port for health checks are given out by the member, and fixed from then on.
fn retain(mut desired: Object, observed: &Object) -> Result<Object, RuleError> {
    let root = Node::of(observed);
    let port = root.at(&["spec", "healthCheckNodePort"])?.integer()?;
    if let Some(port) = port.filter(|port| *port > 0) {
        put(&mut desired, &["spec", "healthCheckNodePort"], port)?;
    }
    let address = root.at(&["spec", "clusterIP"])?.text_or_empty()?;
    if address.is_empty() {
        return Ok(desired);
    }
    put(&mut desired, &["spec", "clusterIP"], address)?;
    // The list goes with the address: a server takes one without the other for unset, and the object would look
    // changed at every comparison. A list that the template gives is its author's.
    let addresses = root.at(&["spec", "clusterIPs"])?;
    if desired
        .at(&["spec", "clusterIPs"])
        .is_none_or(Value::is_null)
        && let Some(list) = addresses.raw()
    {
        put(&mut desired, &["spec", "clusterIPs"], list.clone())?;
    }
    Ok(desired)
}

fn reflect(observed: &Object) -> Result<Option<Value>, RuleError> {
    let root = Node::of(observed);
    let status = root.at(&["status"])?;
    if !has_load_balancer(observed)? || status.fields()?.is_none() {
        return Ok(None);
    }
    let balancer = status.at(&["loadBalancer"])?;
    let balancer = balancer.fields()?.cloned().unwrap_or_default();
    let reflected = [("loadBalancer".to_owned(), Value::Object(balancer))];
    Ok(Some(Value::Object(Map::from_iter(reflected))))
}

fn aggregate(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    if has_load_balancer(template)? {
        return entry_points::aggregate(items);
    }
    // Upstream: the status stays as it is, which tells of addresses that are no longer there.
    let root = Node::of(template);
    let former = root.at(&["status", "loadBalancer", "ingress"])?;
    if former.list()?.next().is_some() {
        entry_points::aggregate(&[])
    } else {
        Ok(None)
    }
}

/// It can be reached, if that is for somebody outside the cluster to bring about.
fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    if !has_load_balancer(observed)? {
        return Ok(true);
    }
    entry_points::is_reachable(observed)
}

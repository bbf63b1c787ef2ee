//! What one object costs of one resource a quota names.

use object::Object;
use object::quantity::{Format, Quantity};

use crate::controllers::scheduler::{Amounts, limits_of, requests_of};
use crate::read;

/// What an object costs of a resource, in thousandths for processors and in whole units for everything else.
pub(crate) fn cost(resource: &str, group: &str, plural: &str, object: &Object) -> i64 {
    let counted = resource.strip_prefix("count/").unwrap_or(resource);
    let own_name = if group.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}.{group}")
    };
    if plural == "pods" && group.is_empty() {
        // Upstream: pods that have ended cost nothing but their place in `count/pods`.
        if resource == "count/pods" {
            return 1;
        }
        if read::has_ended(object) {
            return 0;
        }
        if resource == "pods" {
            return 1;
        }
        if let Some(name) = resource.strip_prefix("limits.") {
            return limits_of(object).get(name);
        }
        let name = resource.strip_prefix("requests.").unwrap_or(resource);
        return requests_of(object).get(name);
    }
    if counted == own_name {
        return 1;
    }
    match (plural, resource) {
        ("services", "services.loadbalancers") => {
            i64::from(object.text_at(&["spec", "type"]) == Some("LoadBalancer"))
        }
        ("services", "services.nodeports") => i64::from(matches!(
            object.text_at(&["spec", "type"]),
            Some("NodePort" | "LoadBalancer")
        )),
        ("persistentvolumeclaims", "requests.storage") => {
            Amounts::read(object.at(&["spec", "resources", "requests"])).get("storage")
        }
        _ => 0,
    }
}

/// An amount of a resource as quotas write it.
pub(crate) fn format(resource: &str, amount: i64) -> String {
    if resource.ends_with("cpu") {
        return Quantity::from_millis(amount, Format::DecimalSI).to_string();
    }
    if resource.ends_with("memory") || resource.ends_with("storage") {
        return Quantity::from_units(amount, Format::BinarySI).to_string();
    }
    amount.to_string()
}

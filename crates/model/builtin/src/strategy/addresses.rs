//! The addresses a service says it has: one field for the first, another for all, and the families they are of.
//!
//! What a service does not say is not given to it here: addresses, ports on nodes and the family of a service without an
//! address are a cluster's to give, and templates go to clusters that each have their own.

use std::net::IpAddr;

use object::{Map, Value, field::FieldError};
use serde_json::json;

use super::spot::{Errors, Spot};
use super::words::ip_address;

/// Brings the fields of a service's spec into agreement, as far as they follow from what it says. `before` is what is
/// stored.
pub(super) fn agree(before: Option<&Value>, spec: &mut Map) {
    if text(spec.get("type")) == "ExternalName" {
        return;
    }
    agree_on_all(before, spec);
    let families: Vec<Value> = list(spec.get("clusterIPs"))
        .iter()
        .map_while(|address| family(text(Some(address))))
        .map(Value::from)
        .collect();
    if families.is_empty() {
        return;
    }
    if spec.get("ipFamilyPolicy").is_none_or(Value::is_null) {
        spec.insert("ipFamilyPolicy".to_owned(), json!("SingleStack"));
    }
    let known = list(spec.get("ipFamilies")).len();
    let named = spec.entry("ipFamilies").or_insert(Value::Null);
    if named.is_null() {
        *named = json!([]);
    }
    if let Some(named) = named.as_array_mut() {
        named.extend(families.into_iter().skip(known));
    }
}

/// Clients that know of one address only speak of the first; the list follows them.
fn agree_on_all(before: Option<&Value>, spec: &mut Map) {
    let first = text(spec.get("clusterIP")).to_owned();
    let all = list(spec.get("clusterIPs"));
    if all.is_empty() && !first.is_empty() {
        spec.insert("clusterIPs".to_owned(), json!([first]));
        return;
    }
    let Some(before) = before else {
        // Upstream: the first does not follow from the list.
        return;
    };
    let is_new = text(before.get("clusterIP")) != first;
    if !is_new || all != list(before.get("clusterIPs")) {
        return;
    }
    if first.is_empty() {
        spec.shift_remove("clusterIPs");
    } else {
        spec.insert("clusterIPs".to_owned(), json!([first]));
    }
}

/// What is wrong with the addresses of a service that is reached inside a cluster.
pub(super) fn check(spec: &Spot<'_>, errors: &mut Errors) {
    let (one, all) = (spec.field("clusterIP"), spec.field("clusterIPs"));
    let count = all.len();
    match (one.is_empty(), all.elements().next()) {
        (false, None) if one.text() != "None" => ip_address(&one, errors),
        (false, Some(first)) if first.text() != one.text() => {
            errors.push(all.invalid("first value must match `clusterIP`"));
        }
        (true, Some(_)) => {
            errors.push(all.invalid("must be empty when `clusterIP` is not specified"));
        }
        _ => {}
    }
    let told = errors.len();
    for (place, address) in all.elements().enumerate() {
        match (address.text(), place) {
            ("None", 0) if count > 1 => {
                errors.push(all.invalid("'None' must be the first and only value"));
            }
            ("None", 0) => {}
            _ => ip_address(&address, errors),
        }
    }
    let is_readable = errors.len() == told;
    if count > 2 {
        errors.push(all.invalid("may only hold up to 2 values"));
    }
    if !is_readable {
        return;
    }
    let families: Vec<&str> = all
        .elements()
        .filter_map(|address| family(address.text()))
        .collect();
    if let [first, second, ..] = families.as_slice()
        && (first == second || count > 2)
    {
        errors.push(all.invalid("may specify no more than one IP for each IP family"));
    }
    let named = spec.field("ipFamilies");
    for (place, (address, family)) in all.elements().zip(&families).enumerate() {
        let expected = named.elements().nth(place).map(|name| name.text());
        if let Some(expected @ ("IPv4" | "IPv6")) = expected
            && expected != *family
        {
            errors.push(address.invalid(format!(
                "expected an {expected} value as indicated by `ipFamilies[{place}]`"
            )));
        }
    }
    check_policy(spec, count, named.len(), errors);
}

fn check_policy(spec: &Spot<'_>, addresses: usize, families: usize, errors: &mut Errors) {
    let policy = spec.field("ipFamilyPolicy");
    if policy.text() != "SingleStack" {
        return;
    }
    // Two families may follow from two addresses.
    let what = match (addresses, families) {
        (2, _) => "cluster IPs",
        (_, 2) => "IP families",
        _ => return,
    };
    let detail = format!(
        "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
    );
    errors.push(FieldError::invalid(
        policy.path(),
        policy.value.clone(),
        detail,
    ));
}

/// The family of an address; `None` for what is no address.
fn family(address: &str) -> Option<&'static str> {
    match address.parse().ok()? {
        IpAddr::V4(_) => Some("IPv4"),
        IpAddr::V6(_) => Some("IPv6"),
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

fn list(value: Option<&Value>) -> &[Value] {
    let list = value.and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

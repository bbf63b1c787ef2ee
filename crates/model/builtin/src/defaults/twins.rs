//! Fields that say the same under two names, one for clients of an earlier time: whichever was written, both are shown.

use object::{Map, Value};
use serde_json::json;

use super::{plan::is_zero, rules::text};

/// The account a pod acts as. Where the names differ, the newer one counts.
pub(super) fn account(spec: &mut Map) {
    let newer = text(spec, "serviceAccountName");
    let name = if newer.is_empty() {
        text(spec, "serviceAccount")
    } else {
        newer
    };
    if name.is_empty() {
        return;
    }
    let name = Value::from(name);
    spec.insert("serviceAccountName".to_owned(), name.clone());
    spec.insert("serviceAccount".to_owned(), name);
}

/// The addresses of a pod. Upstream: those of its node are told by its kubelet, and not filled in.
pub(super) fn addresses(status: &mut Map) {
    let first = |address: &Value| address.get("ip").and_then(Value::as_str).map(str::to_owned);
    agree(status, "podIP", "podIPs", first, |ip| json!({"ip": ip}));
}

/// The networks that a node's pods are in.
pub(super) fn networks(spec: &mut Map) {
    let first = |network: &Value| network.as_str().map(str::to_owned);
    agree(spec, "podCIDR", "podCIDRs", first, |network| json!(network));
}

/// Makes the list begin with the one. Where they differ, the one counts: its author may not know the list.
fn agree(
    fields: &mut Map,
    one: &str,
    all: &str,
    read: impl Fn(&Value) -> Option<String>,
    written: impl Fn(&str) -> Value,
) {
    let first = fields.get(all).and_then(|list| list.get(0)).and_then(read);
    let only = text(fields, one).to_owned();
    // What is no list is a mistake, which validation must get to see.
    if fields.get(all).is_some_and(|list| !is_zero(list)) && first.is_none() {
        return;
    }
    match first {
        Some(first) if only.is_empty() => fields.insert(one.to_owned(), Value::from(first)),
        _ if only.is_empty() => None,
        Some(first) if first == only => None,
        _ => fields.insert(all.to_owned(), json!([written(&only)])),
    };
}

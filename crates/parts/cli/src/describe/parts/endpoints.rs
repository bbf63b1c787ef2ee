//! Who is behind a service, in one line.

use object::{Object, Value};

use crate::describe::values::{field, items, plain, text};

/// So many are named, the others counted.
const NAMED: usize = 3;

/// The label by which slices say whose they are.
pub(in crate::describe) const SERVICE: &str = "kubernetes.io/service-name";

/// Those who are ready to be asked at a port of a service.
pub(in crate::describe) fn behind<'o>(
    slices: impl IntoIterator<Item = &'o Object>,
    port_name: &str,
) -> String {
    let mut slices = slices.into_iter().peekable();
    if slices.peek().is_none() {
        return "<none>".to_owned();
    }
    let mut all = Vec::new();
    for slice in slices {
        let ports = items(field(slice, "ports")).iter();
        for port in ports.filter(|port| text(&port["name"]) == port_name) {
            let ready = items(field(slice, "endpoints"))
                .iter()
                .filter(|one| is_ready(one));
            let addresses = ready.flat_map(|one| items(&one["addresses"]));
            all.extend(addresses.map(|address| joined(text(address), &port["port"])));
        }
    }
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    match (all.join(","), more) {
        (named, 0) => named,
        (named, more) => format!("{named} + {more} more..."),
    }
}

/// Whoever says nothing is ready.
fn is_ready(endpoint: &Value) -> bool {
    endpoint["conditions"]["ready"].as_bool() != Some(false)
}

fn joined(address: &str, port: &Value) -> String {
    match address.contains(':') {
        true => format!("[{address}]:{}", plain(port)),
        false => format!("{address}:{}", plain(port)),
    }
}

/// Where a balancer before it is reached.
pub(in crate::describe) fn balancers(status: &Value) -> Vec<String> {
    let points = items(&status["loadBalancer"]["ingress"]).iter();
    let point = |point: &Value| match text(&point["ip"]) {
        "" => text(&point["hostname"]).to_owned(),
        address => match text(&point["ipMode"]) {
            "" => address.to_owned(),
            mode => format!("{address} ({mode})"),
        },
    };
    points.map(point).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn three_are_named_and_the_others_counted() {
        let slice = |ready: bool, addresses: &[&str]| {
            let endpoint = json!({"addresses": addresses, "conditions": {"ready": ready}});
            let ports = json!([{"name": "http", "port": 80}]);
            let slice = json!({"kind": "EndpointSlice", "endpoints": [endpoint], "ports": ports});
            Object::from_value(slice).unwrap()
        };
        for (slices, port, expected) in [
            (vec![], "http", "<none>"),
            (vec![slice(true, &["a"])], "other", ""),
            (vec![slice(false, &["a"])], "http", ""),
            (
                vec![slice(true, &["a", "fd::1"])],
                "http",
                "a:80,[fd::1]:80",
            ),
            (
                vec![slice(true, &["a", "b"]), slice(true, &["c", "d", "e"])],
                "http",
                "a:80,b:80,c:80 + 2 more...",
            ),
        ] {
            assert_eq!(behind(&slices, port), expected);
        }
    }
}

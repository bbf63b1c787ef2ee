//! The ports of a node that pods take for themselves.

use object::{Object, Value};

use crate::read;

/// The address that stands for all of a node's.
const EVERY_ADDRESS: &str = "0.0.0.0";

/// A port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostPort<'a> {
    number: i64,
    protocol: &'a str,
    address: &'a str,
}

impl HostPort<'_> {
    /// Whether one node cannot give both.
    pub(crate) fn clashes_with(&self, other: &Self) -> bool {
        let shares_address = self.address == other.address
            || self.address == EVERY_ADDRESS
            || other.address == EVERY_ADDRESS;
        shares_address && self.number == other.number && self.protocol == other.protocol
    }
}

/// The ports of its node that a pod wants while it runs; what is over before it runs wants none.
pub(crate) fn ports_of(pod: &Object) -> impl Iterator<Item = HostPort<'_>> {
    let sidecars = read::list(pod, &["spec", "initContainers"])
        .iter()
        .filter(|container| read::text(container, "restartPolicy") == "Always");
    let containers = read::list(pod, &["spec", "containers"]).iter();
    containers
        .chain(sidecars)
        .flat_map(|container| read::items(container, "ports"))
        .filter_map(|port| {
            let number = port.get("hostPort").and_then(Value::as_i64)?;
            (number > 0).then_some(HostPort {
                number,
                protocol: or(read::text(port, "protocol"), "TCP"),
                address: or(read::text(port, "hostIP"), EVERY_ADDRESS),
            })
        })
}

fn or<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.is_empty() { default } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(one: &Value, other: &Value) -> bool {
        let pod = |port: &Value| {
            let spec = json!({"containers": [{"name": "c", "ports": [port]}]});
            Object::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
        };
        let (one, other) = (pod(one), pod(other));
        ports_of(&one).any(|port| ports_of(&other).any(|taken| taken.clashes_with(&port)))
    }

    #[test]
    fn ports_clash_when_number_protocol_and_address_meet() {
        for (one, other, clashes) in [
            (json!({"hostPort": 80}), json!({"hostPort": 80}), true),
            (json!({"hostPort": 80}), json!({"hostPort": 81}), false),
            (
                json!({"containerPort": 80}),
                json!({"containerPort": 80}),
                false,
            ),
            (json!({"hostPort": 0}), json!({"hostPort": 0}), false),
            (
                json!({"hostPort": 53, "protocol": "UDP"}),
                json!({"hostPort": 53}),
                false,
            ),
            (
                json!({"hostPort": 80, "hostIP": "10.0.0.1"}),
                json!({"hostPort": 80, "hostIP": "10.0.0.2"}),
                false,
            ),
            (
                json!({"hostPort": 80, "hostIP": "10.0.0.1"}),
                json!({"hostPort": 80}),
                true,
            ),
        ] {
            assert_eq!(check(&one, &other), clashes, "{one} {other}");
            assert_eq!(check(&other, &one), clashes, "{other} {one}");
        }
    }
}

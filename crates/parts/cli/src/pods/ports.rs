//! Ports by number or by name, here and in a pod, also where a service stands before it.

use object::{Object, Value};

use crate::failure::Failure;

/// Names of ports are no longer than this.
const LONGEST_NAME: usize = 15;
/// A service without an address of its own leads straight to its pods.
const HEADLESS: &str = "None";
/// What ports speak that say nothing else.
const TCP: &str = "TCP";
const UDP: &str = "UDP";

/// A port here and one in a pod, or of the service before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPair {
    local: Local,
    remote: Remote,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Local {
    /// Any that is free.
    Any,
    /// That which is named there.
    Same,
    Number(u16),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Remote {
    Number(u16),
    Name(String),
}

impl PortPair {
    /// Reads `[LOCAL:]REMOTE`; an empty `LOCAL` is any port. `REMOTE` may be a name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (local, remote) = match text.split_once(':') {
            None => (Local::Same, text),
            Some(("" | "0", remote)) => (Local::Any, remote),
            Some((local, remote)) => (Local::Number(number(local)?), remote),
        };
        let remote = match is_name(remote) {
            true => Remote::Name(remote.to_owned()),
            false => Remote::Number(number(remote)?),
        };
        Ok(Self { local, remote })
    }

    /// The numbers of both: of the port here, any if 0, and of the pod's.
    pub(super) fn resolve(
        &self,
        service: Option<&Object>,
        pod: &Object,
    ) -> Result<(u16, u16), Failure> {
        let (named, remote) = match service {
            None => {
                let port = match &self.remote {
                    Remote::Number(port) => *port,
                    Remote::Name(name) => container_port(pod, name)?,
                };
                self.check_protocol(&container_ports(pod), "containerPort", port)?;
                (port, port)
            }
            Some(service) => {
                let entry = service_port(service, &self.remote)?;
                let port = port_at(entry, "port");
                self.check_protocol(&service_ports(service), "port", port)?;
                (port, target_port(service, entry, pod)?)
            }
        };
        let local = match self.local {
            Local::Any => 0,
            Local::Same => named,
            Local::Number(port) => port,
        };
        Ok((local, remote))
    }

    /// Refuses a port that is there for datagrams alone, which cannot be carried.
    fn check_protocol(&self, ports: &[&Value], field: &str, port: u16) -> Result<(), Failure> {
        let speaks = |protocol: &str| {
            let mut same = ports.iter().filter(|entry| port_at(entry, field) == port);
            same.any(|entry| entry["protocol"].as_str().unwrap_or(TCP) == protocol)
        };
        if !speaks(UDP) || speaks(TCP) {
            return Ok(());
        }
        let named = match &self.remote {
            Remote::Number(number) => number.to_string(),
            Remote::Name(name) => name.clone(),
        };
        let others: Vec<&Value> = ports
            .iter()
            .filter(|entry| entry["protocol"].as_str().unwrap_or(TCP) == TCP)
            .copied()
            .collect();
        let hint = match others.is_empty() {
            true => "only ports that speak TCP can be reached, and it has none".to_owned(),
            false => format!("choose one that speaks TCP; {}", known(&others, field)),
        };
        Err(Failure::refused(
            format!("UDP protocol is not supported for {named}"),
            hint,
        ))
    }
}

fn number(text: &str) -> Result<u16, String> {
    let port = text.parse::<u16>().ok().filter(|port| *port > 0);
    port.ok_or_else(|| format!("{text:?} is no port"))
}

/// Names have a letter, so that none looks like a number.
fn is_name(text: &str) -> bool {
    let is_fine =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    text.len() <= LONGEST_NAME
        && text.chars().all(is_fine)
        && text.contains(|letter: char| letter.is_ascii_lowercase())
}

fn port_at(entry: &Value, field: &str) -> u16 {
    let number = entry[field].as_u64().unwrap_or_default();
    u16::try_from(number).unwrap_or_default()
}

fn list<'o>(object: &'o Object, path: &[&str]) -> &'o [Value] {
    let list = object.at(path).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// The ports of all containers of a pod.
fn container_ports(pod: &Object) -> Vec<&Value> {
    let lists = ["containers", "initContainers"];
    let containers = lists.iter().flat_map(|field| list(pod, &["spec", field]));
    let ports = containers.filter_map(|container| container["ports"].as_array());
    ports.flatten().collect()
}

fn service_ports(service: &Object) -> Vec<&Value> {
    list(service, &["spec", "ports"]).iter().collect()
}

/// The port of a container that has the name.
fn container_port(pod: &Object, name: &str) -> Result<u16, Failure> {
    let ports = container_ports(pod);
    let found = ports.iter().find(|port| port["name"] == name);
    found
        .map(|port| port_at(port, "containerPort"))
        .ok_or_else(|| {
            Failure::refused(
                format!("Pod '{}' does not have a named port '{name}'", pod.name()),
                known(&ports, "containerPort"),
            )
        })
}

/// What a service says of one of its ports.
fn service_port<'s>(service: &'s Object, wanted: &Remote) -> Result<&'s Value, Failure> {
    let ports = service_ports(service);
    let is_meant = |port: &&&Value| match wanted {
        Remote::Number(number) => port["port"] == *number,
        Remote::Name(name) => port["name"] == name.as_str(),
    };
    let found = ports.iter().find(is_meant).copied();
    found.ok_or_else(|| {
        let lacks = match wanted {
            Remote::Number(number) => format!("a service port {number}"),
            Remote::Name(name) => format!("a named port '{name}'"),
        };
        Failure::refused(
            format!("Service '{}' does not have {lacks}", service.name()),
            known(&ports, "port"),
        )
    })
}

/// The port of a pod that a service's port leads to.
fn target_port(service: &Object, entry: &Value, pod: &Object) -> Result<u16, Failure> {
    if service.text_at(&["spec", "clusterIP"]) == Some(HEADLESS) {
        return Ok(port_at(entry, "port"));
    }
    match &entry["targetPort"] {
        Value::String(name) => container_port(pod, name),
        _ => Ok(match port_at(entry, "targetPort") {
            0 => port_at(entry, "port"),
            port => port,
        }),
    }
}

/// The ports there are, as advice.
fn known(ports: &[&Value], field: &str) -> String {
    let shown = ports.iter().map(|port| match port["name"].as_str() {
        Some(name) => format!("{name} ({})", port_at(port, field)),
        None => port_at(port, field).to_string(),
    });
    let shown: Vec<String> = shown.collect();
    match shown.is_empty() {
        true => "name the port by its number".to_owned(),
        false => format!("it has: {}", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(cluster_ip: &str) -> Object {
        Object::from_value(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
            "spec": {"clusterIP": cluster_ip, "ports": [
                {"name": "http", "port": 80, "targetPort": "web"},
                {"name": "https", "port": 443, "targetPort": 8443},
                {"name": "plain", "port": 7000},
                {"name": "lost", "port": 9000, "targetPort": "nowhere"},
                {"name": "names", "port": 53, "protocol": "UDP"},
                {"name": "both", "port": 54, "protocol": "UDP"},
                {"name": "both-tcp", "port": 54, "protocol": "TCP"},
            ]},
        }))
        .unwrap()
    }

    fn pod() -> Object {
        Object::from_value(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {
                "containers": [{"name": "a"}, {"name": "b", "ports": [{"containerPort": 8080, "name": "web"}, {"containerPort": 9}, {"containerPort": 53, "name": "names", "protocol": "UDP"}]}],
                "initContainers": [{"name": "i", "ports": [{"containerPort": 7, "name": "early"}]}],
            },
        }))
        .unwrap()
    }

    #[test]
    fn ports_are_found_by_number_and_by_name() {
        let (plain, headless) = (service("10.0.0.1"), service("None"));
        for (service, text, expected) in [
            (None, "80", Ok((80, 80))),
            (None, "8080:80", Ok((8080, 80))),
            (None, ":80", Ok((0, 80))),
            (None, "0:80", Ok((0, 80))),
            (None, "web", Ok((8080, 8080))),
            (None, ":web", Ok((0, 8080))),
            (None, "80:web", Ok((80, 8080))),
            (None, "early", Ok((7, 7))),
            (
                None,
                "http",
                Err("Pod 'p' does not have a named port 'http'"),
            ),
            (Some(&plain), "80", Ok((80, 8080))),
            (Some(&plain), "http", Ok((80, 8080))),
            (Some(&plain), ":http", Ok((0, 8080))),
            (Some(&plain), "1:https", Ok((1, 8443))),
            (Some(&plain), "443", Ok((443, 8443))),
            (Some(&plain), "plain", Ok((7000, 7000))),
            (
                Some(&plain),
                "8080",
                Err("Service 's' does not have a service port 8080"),
            ),
            (
                Some(&plain),
                "web",
                Err("Service 's' does not have a named port 'web'"),
            ),
            (
                Some(&plain),
                "lost",
                Err("Pod 'p' does not have a named port 'nowhere'"),
            ),
            (None, "53", Err("UDP protocol is not supported for 53")),
            (
                None,
                "1:names",
                Err("UDP protocol is not supported for names"),
            ),
            (
                Some(&plain),
                "53",
                Err("UDP protocol is not supported for 53"),
            ),
            (
                Some(&plain),
                ":names",
                Err("UDP protocol is not supported for names"),
            ),
            (Some(&plain), "54", Ok((54, 54))),
            (Some(&headless), "80", Ok((80, 80))),
            (Some(&headless), ":http", Ok((0, 80))),
        ] {
            let pair = PortPair::parse(text).unwrap();
            let found = pair.resolve(service, &pod());
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(failure), Err(expected)) => {
                    assert_eq!(failure.to_string(), expected, "{text}");
                    let hint = failure.hint();
                    assert!(hint.contains("it has: "), "{hint}");
                    // What cannot be reached is no advice.
                    let is_of_names = hint.contains("names");
                    assert!(!expected.starts_with("UDP") || !is_of_names, "{hint}");
                }
                (found, expected) => panic!("{text}: {found:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_port_and_no_name_is_refused() {
        for text in [
            "80:",
            "0",
            "70000",
            "",
            ":",
            "HTTP",
            "a_b",
            "http:80",
            "1:2:3",
            "a-name-that-is-too-long",
        ] {
            assert!(PortPair::parse(text).is_err(), "{text}");
        }
    }
}

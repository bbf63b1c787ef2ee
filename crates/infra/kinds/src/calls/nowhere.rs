//! Calls to pods, services and nodes of a server without nodes: each is told what a Kubernetes server tells of a pod
//! nobody has placed and of a service nobody answers for.

use http::{Response, StatusCode};
use object::Value;
use serve::body::{self, Body};
use serve::call::Call;
use serve::handler::{Asked, Handler, Outcome};
use serve::options::Params;
use serve::server::Server;
use serve::status::{Status, Subject};

use super::text;

/// Answers for what runs nowhere.
pub(super) struct Nowhere;

impl Handler for Nowhere {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, asked: Asked) -> Outcome<'a> {
        Box::pin(async move { refuse(server, call, &asked) })
    }
}

fn refuse(server: &Server, call: &Call, asked: &Asked) -> Result<Response<Body>, Status> {
    let target = &call.target;
    // A port and a protocol may stand around the name of what is proxied to.
    let name = match target.subresource.as_str() {
        "proxy" => bare_name(&target.name),
        _ => &target.name,
    };
    let place = format!("core/{}", target.resource);
    let key = serve::cache::object_key(&target.namespace, name);
    let found = server.cache().collection(&place).find(&key);
    let subject = Subject {
        group: "",
        resource: &target.resource,
        name,
    };
    let object = found.ok_or_else(|| Status::not_found(subject))?.value();
    match (target.resource.as_str(), target.subresource.as_str()) {
        ("services", _) => {
            let why = format!("no endpoints available for service {name:?}");
            Err(Status::unavailable(why, None))
        }
        ("pods", "proxy") => Err(Status::bad_request("address not allowed")),
        ("pods", part) => {
            if part != "portforward" {
                let params = Params::parse(asked.parts.uri.query().unwrap_or_default())?;
                check_container(&object, name, params.text("container"))?;
            }
            let node = text(&object, "/spec/nodeName");
            if !node.is_empty() {
                return Err(Status::not_found(Subject {
                    group: "",
                    resource: "nodes",
                    name: node,
                }));
            }
            if part == "log" {
                // Upstream: nothing was said yet, which is no mistake.
                return Ok(body::text(StatusCode::NO_CONTENT, ""));
            }
            let why = format!("pod {name} does not have a host assigned");
            Err(Status::bad_request(why))
        }
        _ => Err(Status::bad_request(
            "the node cannot be reached from this server",
        )),
    }
}

/// The name in `name`, `name:port` and `protocol:name:port`.
fn bare_name(asked: &str) -> &str {
    let mut parts = asked.split(':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(name), Some(_)) => name,
        (Some(name), _, _) => name,
        _ => asked,
    }
}

/// Refuses a container the pod does not have, and none where there are several.
fn check_container(pod: &Value, name: &str, asked: &str) -> Result<(), Status> {
    let names = |field: &str| -> Vec<String> {
        let list = pod.pointer(&format!("/spec/{field}"));
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.map(|container| text(container, "/name").to_owned())
            .collect()
    };
    let (main, early, late) = (
        names("containers"),
        names("initContainers"),
        names("ephemeralContainers"),
    );
    if asked.is_empty() {
        let default = pod.pointer("/metadata/annotations/kubectl.kubernetes.io~1default-container");
        if main.len() == 1 || default.is_some_and(|default| main.iter().any(|one| default == one)) {
            return Ok(());
        }
        let mut why = format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            main.join(" ")
        );
        if !early.is_empty() {
            why.push_str(&format!(
                " or one of the init containers: [{}]",
                early.join(" ")
            ));
        }
        return Err(Status::bad_request(why));
    }
    if [main, early, late]
        .iter()
        .any(|names| names.iter().any(|one| one == asked))
    {
        return Ok(());
    }
    let why = format!("container {asked} is not valid for pod {name}");
    Err(Status::bad_request(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_between_protocols_and_ports() {
        for (asked, expected) in [
            ("web", "web"),
            ("web:80", "web"),
            ("https:web:443", "web"),
            ("https:web:", "web"),
            ("", ""),
        ] {
            assert_eq!(bare_name(asked), expected);
        }
    }
}

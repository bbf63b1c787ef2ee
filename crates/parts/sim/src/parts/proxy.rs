//! `pods/proxy`, `services/proxy` and `nodes/proxy`: calls that go on to what listens behind an object.
//!
//! Nothing runs in simulated containers, so every port of a running pod shows the page that forwarded ports show.

use http::{HeaderValue, Response, StatusCode, header};
use object::{Object, Value};
use serde_json::json;
use serve::body::Body;
use serve::cache;
use serve::call::Call;
use serve::handler::{Asked, Handler, Outcome};
use serve::server::Server;
use serve::status::{Status, Subject};

use crate::faults::Faults;
use crate::parts::kubelet;
use crate::parts::stream::page;
use crate::read;

/// Answers for what stands behind objects.
pub(crate) struct Proxy {
    pub(crate) faults: Faults,
}

/// What a call names: `name`, `name:port` or `scheme:name:port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Named<'a> {
    name: &'a str,
    port: &'a str,
}

impl Handler for Proxy {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, asked: Asked) -> Outcome<'a> {
        Box::pin(std::future::ready(self.forward(server, call, &asked)))
    }
}

impl Proxy {
    fn forward(
        &self,
        server: &Server,
        call: &Call,
        asked: &Asked,
    ) -> Result<Response<Body>, Status> {
        let named = split(&call.target.name).ok_or_else(|| {
            let (resource, name) = (&call.target.resource, &call.target.name);
            Status::bad_request(format!("invalid {resource} request {name:?}"))
        })?;
        let query = asked.parts.uri.query();
        let query = query.map_or_else(String::new, |query| format!("?{query}"));
        let path = format!("/{}{query}", call.target.rest);
        let (pod, port) = match call.target.resource.as_str() {
            "nodes" => return self.node(server, call, named),
            "services" => behind_service(server, call, named)?,
            _ => behind_pod(server, call, named)?,
        };
        let address = pod.text_at(&["status", "podIP"]).unwrap_or_default();
        if read::phase(&pod) != "Running" || address.is_empty() {
            let (name, phase) = (pod.name(), read::phase(&pod));
            return Err(unreachable(&format!(
                "pod {name} does not run: it is {phase}"
            )));
        }
        if self.faults.state().lost_nodes.contains(read::node_of(&pod)) {
            let why = format!("dial tcp {address}:{port}: connect: no route to host");
            return Err(unreachable(&why));
        }
        let method = asked.parts.method.as_str();
        Ok(plain(StatusCode::OK, page(method, &path, &pod, &port)))
    }

    /// What a kubelet says of itself and its pods.
    fn node(
        &self,
        server: &Server,
        call: &Call,
        named: Named<'_>,
    ) -> Result<Response<Body>, Status> {
        let name = named.name;
        let node = find(server, call, "nodes", name)?;
        if self.faults.state().lost_nodes.contains(name) {
            let address = kubelet::address(&node);
            let why = format!("dial tcp {address}: connect: no route to host");
            return Err(unreachable(&why));
        }
        Ok(match call.target.rest.trim_end_matches('/') {
            "healthz" => plain(StatusCode::OK, "ok".to_owned()),
            "pods" | "runningpods" => {
                let pods = server.cache().collection("core/pods").snapshot();
                let pods = pods.objects.values().map(|record| record.value());
                let here = pods.filter(|pod| pod.pointer("/spec/nodeName") == Some(&json!(name)));
                let list = json!({
                    "kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": here.collect::<Vec<_>>(),
                });
                let mut response = plain(StatusCode::OK, list.to_string());
                let media = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, media);
                response
            }
            _ => plain(StatusCode::NOT_FOUND, "404 page not found\n".to_owned()),
        })
    }
}

/// A pod, and the port that is meant: the first that it names if the call names none.
fn behind_pod(server: &Server, call: &Call, named: Named<'_>) -> Result<(Object, String), Status> {
    let pod = find(server, call, "pods", named.name)?;
    let mut containers = read::list(&pod, &["spec", "containers"]).iter();
    let first = containers.find_map(|container| {
        read::items(container, "ports")
            .first()?
            .get("containerPort")
    });
    let port = match named.port {
        "" => first.map_or_else(|| "80".to_owned(), Value::to_string),
        port => port.to_owned(),
    };
    Ok((pod, port))
}

/// A ready pod behind a service, and its port.
fn behind_service(
    server: &Server,
    call: &Call,
    named: Named<'_>,
) -> Result<(Object, String), Status> {
    let service = find(server, call, "services", named.name)?;
    let name = service.name();
    let ports = read::list(&service, &["spec", "ports"]);
    let port_name = match named.port.parse::<i64>() {
        Err(_) => named.port,
        Ok(number) => {
            let port = ports
                .iter()
                .find(|port| port.get("port") == Some(&json!(number)));
            let missing = || {
                Status::unavailable(
                    format!("no service port {number} found for service {name:?}"),
                    None,
                )
            };
            port.map(|port| read::text(port, "name"))
                .ok_or_else(missing)?
        }
    };
    let nobody =
        || Status::unavailable(format!("no endpoints available for service {name:?}"), None);
    let endpoints = find(server, call, "endpoints", name).map_err(|_| nobody())?;
    let found = read::list(&endpoints, &["subsets"])
        .iter()
        .find_map(|subset| {
            let mut ports = read::items(subset, "ports").iter();
            let port = ports.find(|port| read::text(port, "name") == port_name)?;
            let address = read::items(subset, "addresses").first()?;
            Some((address, port.get("port")?.to_string()))
        });
    let (address, port) = found.ok_or_else(nobody)?;
    let pod = address
        .get("targetRef")
        .map_or("", |pod| read::text(pod, "name"));
    let pod = find(server, call, "pods", pod).map_err(|_| {
        let ip = read::text(address, "ip");
        unreachable(&format!("dial tcp {ip}:{port}: connect: no route to host"))
    })?;
    Ok((pod, port))
}

/// An object of the core group in the namespace of a call.
fn find(server: &Server, call: &Call, resource: &str, name: &str) -> Result<Object, Status> {
    let key = cache::object_key(&call.target.namespace, name);
    let record = server
        .cache()
        .collection(&cache::name_of("", resource))
        .find(&key);
    let object = record.and_then(|record| Object::from_value(record.value()).ok());
    object.ok_or_else(|| {
        Status::not_found(Subject {
            group: "",
            resource,
            name,
        })
    })
}

fn split(text: &str) -> Option<Named<'_>> {
    let parts: Vec<&str> = text.split(':').collect();
    let (name, port) = match *parts.as_slice() {
        [name] => (name, ""),
        [name, port] | ["" | "http" | "https", name, port] => (name, port),
        _ => return None,
    };
    (!name.is_empty()).then_some(Named { name, port })
}

fn unreachable(why: &str) -> Status {
    Status::unavailable(format!("error trying to reach service: {why}"), None)
}

fn plain(code: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::Whole(text.into()));
    *response.status_mut() = code;
    let media = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_a_scheme_and_a_port() {
        for (text, wanted) in [
            ("web", Some(("web", ""))),
            ("web:80", Some(("web", "80"))),
            ("https:web:443", Some(("web", "443"))),
            ("https:web:", Some(("web", ""))),
            (":web:http", Some(("web", "http"))),
            ("ftp:web:21", None),
            (":80", None),
            ("a:b:c:d", None),
        ] {
            let named = split(text).map(|named| (named.name, named.port));
            assert_eq!(named, wanted, "{text}");
        }
    }
}

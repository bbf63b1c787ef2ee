//! `pods/exec`, `attach` and `portforward`: a connection that becomes something else.
//!
//! Exec and attach are carried by Kubernetes' channels over WebSocket or by streams of SPDY/3.1; forwarded ports by SPDY
//! inside a WebSocket, as today's kubectl wants it, by SPDY alone, or by channels.

mod forward;
mod keyboard;
mod session;
mod spdy;
mod websocket;

use std::time::Duration;

use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use object::Object;
use runtime::{Clock, Spawner};
use serve::body::Body;
use serve::call::Call;
use serve::handler::{Asked, Handler, Outcome};
use serve::options::Params;
use serve::server::Server;
use serve::status::Status;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

pub(crate) use forward::page;

use crate::faults::Faults;
use crate::parts::kubelet::{self, Errand};
use crate::parts::log;
use crate::read;
use crate::sessions::Sessions;
use session::{Own, Place, Purpose, Session, Streamed};
use spdy::{Connection, Streams as SpdyStreams, Wire};
use websocket::{Channels, PROTOCOLS};

/// SPDY inside a WebSocket.
const TUNNEL: &str = "SPDY/3.1+portforward.k8s.io";
/// What a connection is upgraded to that speaks SPDY without a WebSocket.
const SPDY: &str = "SPDY/3.1";
/// Where a client of SPDY says which versions of Kubernetes' protocol it speaks.
const STREAM_PROTOCOL: HeaderName = HeaderName::from_static("x-stream-protocol-version");
/// Versions spoken over SPDY, for commands and for ports.
const SPDY_COMMANDS: &str = "v4.channel.k8s.io";
const SPDY_PORTS: &str = "portforward.k8s.io";
/// A session that lasts longer is let go of.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// Answers for streams into containers.
pub(crate) struct Streams {
    pub(crate) clock: Clock,
    pub(crate) spawner: Spawner,
    pub(crate) faults: Faults,
    pub(crate) sessions: Sessions,
}

/// What is to be done on the connection.
enum Task {
    Session(Box<Session>),
    Forward { pod: Object, ports: Vec<u16> },
}

/// How it is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    /// Channels over WebSocket, in one of the versions spoken.
    Channels(&'static str),
    Tunnel,
    Spdy(&'static str),
}

impl Handler for Streams {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, asked: Asked) -> Outcome<'a> {
        Box::pin(std::future::ready(self.begin(server, call, asked)))
    }
}

impl Streams {
    fn begin(&self, server: &Server, call: &Call, asked: Asked) -> Result<Response<Body>, Status> {
        let params = Params::parse(asked.parts.uri.query().unwrap_or_default())?;
        let task = self.task(server, call, &params)?;
        let is_forward = matches!(task, Task::Forward { .. });
        let carrier = choose(&asked.parts.headers, is_forward)?;
        let response = switch(carrier, &asked.parts.headers)?;
        let upgrade: OnUpgrade = hyper::upgrade::on(Request::from_parts(asked.parts, ()));
        self.spawner
            .spawn_brief("stream into a container", |stop| async move {
                let served = async {
                    if let Ok(upgraded) = upgrade.await {
                        serve(task, carrier, upgraded).await;
                    }
                };
                tokio::select! {
                    () = stop.cancelled() => {}
                    _ = tokio::time::timeout(PATIENCE, served) => {}
                }
            });
        Ok(response)
    }

    fn task(&self, server: &Server, call: &Call, params: &Params) -> Result<Task, Status> {
        let key = serve::cache::object_key(&call.target.namespace, &call.target.name);
        let collection = server.cache().collection("core/pods");
        let pod = collection
            .find(&key)
            .and_then(|record| Object::from_value(record.value()).ok())
            .ok_or_else(|| Status::not_found(call.subject()))?;
        kubelet::reach(server, &self.faults, &pod, Errand::Stream)?;
        if call.target.subresource == "portforward" {
            let ports = params.texts("ports").iter();
            let ports = ports.flat_map(|list| list.split(','));
            let ports = ports.filter_map(|port| port.parse().ok()).collect();
            if read::phase(&pod) != "Running" {
                return Err(Status::bad_request(is_not_running(&pod)));
            }
            return Ok(Task::Forward { pod, ports });
        }
        let container = container(&pod, params.text("container"))?;
        let streamed = Streamed {
            stdin: params.flag("stdin")?,
            stdout: params.flag("stdout")?,
            stderr: params.flag("stderr")?,
            tty: params.flag("tty")?,
        };
        let purpose = if call.target.subresource == "exec" {
            let command = params.texts("command").to_vec();
            if command.is_empty() {
                return Err(Status::bad_request(
                    "you must specify at least 1 command for the container",
                ));
            }
            Purpose::Exec { command }
        } else if let Some(command) = own_command(&pod, &container).filter(|_| streamed.stdin) {
            Purpose::Own(Own {
                command,
                since: read::running_since(&pod, &container).unwrap_or_else(|| self.clock.now()),
                container,
                sessions: self.sessions.clone(),
            })
        } else {
            let told = log::follow(collection, key, &pod, container, &self.clock);
            Purpose::Attach {
                told: Box::pin(told),
            }
        };
        let place = Place {
            pod,
            clock: self.clock.clone(),
            streamed,
        };
        Ok(Task::Session(Box::new(Session { place, purpose })))
    }
}

async fn serve(task: Task, carrier: Carrier, upgraded: Upgraded) {
    match (task, carrier) {
        (Task::Session(session), Carrier::Channels(protocol)) => {
            let channels = Channels {
                socket: websocket::socket(upgraded).await,
                can_close: protocol == PROTOCOLS[0],
            };
            tokio::time::sleep(websocket::CLIENT_OPENS).await;
            session.serve(channels).await;
        }
        (Task::Session(session), carrier) => {
            let connection = connect(carrier, upgraded).await;
            if let Some(streams) = SpdyStreams::open(connection, session.place.streamed).await {
                session.serve(streams).await;
            }
        }
        (Task::Forward { pod, ports }, Carrier::Channels(_)) => {
            let socket = websocket::socket(upgraded).await;
            forward::over_channels(socket, &pod, &ports).await;
        }
        (Task::Forward { pod, .. }, carrier) => {
            forward::over_spdy(connect(carrier, upgraded).await, &pod).await;
        }
    }
}

async fn connect(carrier: Carrier, upgraded: Upgraded) -> Connection {
    let wire = if carrier == Carrier::Tunnel {
        Wire::Tunnel(Box::new(websocket::socket(upgraded).await))
    } else {
        Wire::Plain(TokioIo::new(upgraded))
    };
    Connection::new(wire)
}

/// The container that is meant, if it runs.
fn container(pod: &Object, named: &str) -> Result<String, Status> {
    let names: Vec<&str> = read::CONTAINERS
        .iter()
        .flat_map(|list| read::list(pod, &["spec", list]))
        .map(|container| read::text(container, "name"))
        .collect();
    let container = match named {
        "" => names.first().copied().unwrap_or_default(),
        name => name,
    };
    if !names.contains(&container) {
        let why = format!("container {container} is not valid for pod {}", pod.name());
        return Err(Status::bad_request(why));
    }
    let runs = read::running_since(pod, container).is_some();
    if !runs {
        let why = match read::phase(pod) {
            "Running" => format!("container not found ({container:?}): it does not run"),
            _ => is_not_running(pod),
        };
        return Err(Status::bad_request(why));
    }
    Ok(container.to_owned())
}

/// What a container runs that reads what is typed: its command, or a shell if it names none. `None` if it does not read.
fn own_command(pod: &Object, name: &str) -> Option<Vec<String>> {
    let container = read::CONTAINERS
        .iter()
        .flat_map(|list| read::list(pod, &["spec", list]))
        .find(|container| read::text(container, "name") == name)?;
    container.get("stdin")?.as_bool().filter(|reads| *reads)?;
    let words = ["command", "args"].iter();
    let words = words.flat_map(|field| read::items(container, field));
    let command: Vec<String> = words
        .filter_map(|word| Some(word.as_str()?.to_owned()))
        .collect();
    Some(if command.is_empty() {
        vec!["sh".to_owned()]
    } else {
        command
    })
}

fn is_not_running(pod: &Object) -> String {
    let (name, phase) = (pod.name(), read::phase(pod));
    format!("pod {name} does not run: it is {phase}")
}

/// How a client and this server understand each other.
fn choose(headers: &HeaderMap, is_forward: bool) -> Result<Carrier, Status> {
    let offered = |name: &HeaderName| -> Vec<&str> {
        headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|list| list.split(','))
            .map(str::trim)
            .collect()
    };
    let upgrades_to = |what: &str| {
        offered(&UPGRADE)
            .iter()
            .any(|offer| offer.eq_ignore_ascii_case(what))
    };
    let none = |offers: &[&str], spoken: &[&str]| {
        Status::bad_request(format!(
            "unable to upgrade: none of the protocols {offers:?} is spoken here, but {spoken:?}"
        ))
    };
    if upgrades_to("websocket") {
        let offers = offered(&SEC_WEBSOCKET_PROTOCOL);
        if is_forward && offers.contains(&TUNNEL) {
            return Ok(Carrier::Tunnel);
        }
        let known = PROTOCOLS.into_iter().find(|known| offers.contains(known));
        return known
            .map(Carrier::Channels)
            .ok_or_else(|| none(&offers, &PROTOCOLS));
    }
    if upgrades_to(SPDY) {
        let offers = offered(&STREAM_PROTOCOL);
        let spoken = if is_forward {
            SPDY_PORTS
        } else {
            SPDY_COMMANDS
        };
        return match offers.contains(&spoken) {
            true => Ok(Carrier::Spdy(spoken)),
            false => Err(none(&offers, &[spoken])),
        };
    }
    Err(Status::bad_request(
        "Upgrade request required: WebSocket and SPDY/3.1 are spoken here",
    ))
}

/// The answer that changes the protocol.
fn switch(carrier: Carrier, headers: &HeaderMap) -> Result<Response<Body>, Status> {
    let mut response = Response::new(Body::Whole(bytes::Bytes::new()));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answers = response.headers_mut();
    answers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    let protocol = match carrier {
        Carrier::Spdy(protocol) => {
            answers.insert(UPGRADE, HeaderValue::from_static(SPDY));
            answers.insert(STREAM_PROTOCOL, HeaderValue::from_static(protocol));
            return Ok(response);
        }
        Carrier::Channels(protocol) => protocol,
        Carrier::Tunnel => TUNNEL,
    };
    let key = headers
        .get(SEC_WEBSOCKET_KEY)
        .ok_or_else(|| Status::bad_request("Sec-WebSocket-Key: Required value"))?;
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()))
        .map_err(|_| Status::bad_request("Sec-WebSocket-Key: not understood"))?;
    answers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    answers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
    answers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carrier_is_chosen_that_both_know() {
        let socket = ("upgrade", "websocket");
        let spdy = ("upgrade", "SPDY/3.1");
        let versions = |list| ("sec-websocket-protocol", list);
        let streams = |list| ("x-stream-protocol-version", list);
        let v5 = Some(Carrier::Channels("v5.channel.k8s.io"));
        for (headers, is_forward, chosen) in [
            (
                vec![socket, versions("v4.channel.k8s.io, v5.channel.k8s.io")],
                false,
                v5,
            ),
            (vec![socket, versions("v5.channel.k8s.io")], true, v5),
            (vec![socket, versions(TUNNEL)], true, Some(Carrier::Tunnel)),
            (vec![socket, versions(TUNNEL)], false, None),
            (vec![socket], false, None),
            (
                vec![
                    spdy,
                    streams("v5.channel.k8s.io"),
                    streams("v4.channel.k8s.io"),
                ],
                false,
                Some(Carrier::Spdy("v4.channel.k8s.io")),
            ),
            (
                vec![spdy, streams("portforward.k8s.io")],
                true,
                Some(Carrier::Spdy("portforward.k8s.io")),
            ),
            (vec![spdy, streams("v1.channel.k8s.io")], false, None),
            (vec![], false, None),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in &headers {
                map.append(*name, HeaderValue::from_static(value));
            }
            assert_eq!(choose(&map, is_forward).ok(), chosen, "{headers:?}");
        }
    }
}

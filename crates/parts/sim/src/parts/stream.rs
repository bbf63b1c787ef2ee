//! `pods/exec`, `attach` and `portforward` over WebSocket: Kubernetes' channel protocol, versions 4 and 5.
//!
//! Every message begins with the number of its channel. A client that speaks SPDY is refused: today's kubectl asks for
//! WebSocket first for exec and attach.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use object::Object;
use runtime::{Clock, Spawner};
use serde_json::{Value, json};
use serve::body::Body;
use serve::call::Call;
use serve::handler::{Asked, Handler, Outcome};
use serve::options::Params;
use serve::server::Server;
use serve::status::Status;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use crate::parts::shell;
use crate::read;

/// Versions spoken, the best first.
const PROTOCOLS: [&str; 2] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
/// In version 5: the channel named by the next byte is closed.
const CLOSE: u8 = 255;
/// A client that says nothing for so long is let go of.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// Answers for streams into containers.
pub(crate) struct Streams {
    pub(crate) clock: Clock,
    pub(crate) spawner: Spawner,
}

/// What a client wants to do in a container.
struct Session {
    pod: Object,
    clock: Clock,
    purpose: Purpose,
    protocol: &'static str,
}

enum Purpose {
    Exec {
        command: Vec<String>,
        stdin: bool,
        tty: bool,
    },
    Attach {
        container: String,
        stdin: bool,
    },
    Forward {
        ports: Vec<u16>,
    },
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

impl Handler for Streams {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, asked: Asked) -> Outcome<'a> {
        Box::pin(std::future::ready(self.begin(server, call, asked)))
    }
}

impl Streams {
    fn begin(&self, server: &Server, call: &Call, asked: Asked) -> Result<Response<Body>, Status> {
        let params = Params::parse(asked.parts.uri.query().unwrap_or_default())?;
        let key = serve::cache::object_key(&call.target.namespace, &call.target.name);
        let pod = server
            .cache()
            .collection("core/pods")
            .find(&key)
            .and_then(|record| Object::from_value(record.value()).ok())
            .ok_or_else(|| Status::not_found(call.subject()))?;
        let purpose = purpose(&call.target.subresource, &params, &pod)?;
        let (accept, protocol) = handshake(&asked.parts.headers)?;
        let upgrade: OnUpgrade = hyper::upgrade::on(Request::from_parts(asked.parts, ()));
        let session = Session {
            pod,
            clock: self.clock.clone(),
            purpose,
            protocol,
        };
        self.spawner
            .spawn_brief("stream into a container", |stop| async move {
                let served = async {
                    let Ok(upgraded) = upgrade.await else { return };
                    let socket = WebSocketStream::from_raw_socket(
                        TokioIo::new(upgraded),
                        Role::Server,
                        None,
                    )
                    .await;
                    session.serve(socket).await;
                };
                tokio::select! {
                    () = stop.cancelled() => {}
                    _ = tokio::time::timeout(PATIENCE, served) => {}
                }
            });
        let mut response = Response::new(Body::Whole(bytes::Bytes::new()));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
        Ok(response)
    }
}

fn purpose(part: &str, params: &Params, pod: &Object) -> Result<Purpose, Status> {
    if read::phase(pod) != "Running" {
        let why = format!(
            "pod {} does not run: it is {}",
            pod.name(),
            read::phase(pod)
        );
        return Err(Status::bad_request(why));
    }
    let names: Vec<&str> = read::list(pod, &["spec", "containers"])
        .iter()
        .map(|container| read::text(container, "name"))
        .collect();
    let container = match params.text("container") {
        "" => names.first().copied().unwrap_or_default(),
        name => name,
    };
    if !names.contains(&container) {
        let why = format!("container {container} is not valid for pod {}", pod.name());
        return Err(Status::bad_request(why));
    }
    Ok(match part {
        "exec" => Purpose::Exec {
            command: params.texts("command").to_vec(),
            stdin: params.flag("stdin")?,
            tty: params.flag("tty")?,
        },
        "attach" => Purpose::Attach {
            container: container.to_owned(),
            stdin: params.flag("stdin")?,
        },
        _ => Purpose::Forward {
            ports: params
                .texts("ports")
                .iter()
                .flat_map(|list| list.split(','))
                .filter_map(|port| port.parse().ok())
                .collect(),
        },
    })
}

/// The key to answer with and the protocol both speak.
fn handshake(headers: &HeaderMap) -> Result<(HeaderValue, &'static str), Status> {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let is_socket = text(UPGRADE).is_some_and(|to| to.eq_ignore_ascii_case("websocket"));
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| is_socket);
    let key = key
        .ok_or_else(|| Status::bad_request("Upgrade request required: WebSocket is spoken here"))?;
    let offered: Vec<&str> = headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .collect();
    let protocol = PROTOCOLS.into_iter().find(|known| offered.contains(known));
    let protocol = protocol.ok_or_else(|| {
        Status::bad_request(format!(
            "none of the protocols {offered:?} is spoken here, but {PROTOCOLS:?}"
        ))
    })?;
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()))
        .map_err(|_| Status::bad_request("Sec-WebSocket-Key: not understood"))?;
    Ok((accept, protocol))
}

impl Session {
    async fn serve(self, mut socket: Socket) {
        match &self.purpose {
            Purpose::Exec {
                command,
                stdin,
                tty,
            } => {
                self.exec(&mut socket, command, *stdin, *tty).await;
            }
            Purpose::Attach { container, stdin } => {
                let hello = format!("{container} is well\r\n");
                send(&mut socket, STDOUT, hello.as_bytes()).await;
                if *stdin {
                    while self.input(&mut socket).await.is_some() {}
                }
                send(&mut socket, ERROR, success().as_bytes()).await;
            }
            Purpose::Forward { ports } => self.forward(&mut socket, ports).await,
        }
        // The client may have gone first.
        let goodbye = CloseFrame {
            code: CloseCode::Normal,
            reason: "".into(),
        };
        let _closed = socket.close(Some(goodbye)).await;
    }

    async fn exec(&self, socket: &mut Socket, command: &[String], stdin: bool, tty: bool) {
        let mut code = 0;
        if shell::is_shell(command) && stdin {
            code = self.shell(socket, tty).await;
        } else {
            let output = shell::run(command, &self.pod, self.clock.now());
            if !output.stdout.is_empty() {
                send(socket, STDOUT, output.stdout.as_bytes()).await;
            }
            if !output.stderr.is_empty() {
                let channel = if tty { STDOUT } else { STDERR };
                send(socket, channel, output.stderr.as_bytes()).await;
            }
            code += output.code;
        }
        let end = if code == 0 { success() } else { failure(code) };
        send(socket, ERROR, end.as_bytes()).await;
    }

    /// Answers line after line until the client has no more or says `exit`.
    async fn shell(&self, socket: &mut Socket, tty: bool) -> i32 {
        let mut pending = String::new();
        let mut code = 0;
        loop {
            if tty {
                send(socket, STDOUT, b"/ # ").await;
            }
            let line = loop {
                if let Some(end) = pending.find(['\n', '\r']) {
                    let rest = pending.split_off(end + 1);
                    break Some(std::mem::replace(&mut pending, rest));
                }
                match self.input(socket).await {
                    Some(text) => {
                        if tty {
                            send(socket, STDOUT, text.replace('\r', "\r\n").as_bytes()).await;
                        }
                        pending.push_str(&text);
                    }
                    None if pending.is_empty() => break None,
                    None => break Some(std::mem::take(&mut pending)),
                }
            };
            let Some(line) = line else { return code };
            let line = line.trim();
            let output = shell::run_line(line, &self.pod, self.clock.now());
            code = output.code;
            if line.split_whitespace().next() == Some("exit") {
                return code;
            }
            for (channel, text) in [(STDOUT, &output.stdout), (STDERR, &output.stderr)] {
                if !text.is_empty() {
                    let shown = if tty {
                        text.replace('\n', "\r\n")
                    } else {
                        text.clone()
                    };
                    let channel = if tty { STDOUT } else { channel };
                    send(socket, channel, shown.as_bytes()).await;
                }
            }
        }
    }

    /// The next text on standard input; `None` when there is no more.
    async fn input(&self, socket: &mut Socket) -> Option<String> {
        while let Some(Ok(message)) = socket.next().await {
            let data = match message {
                Message::Binary(data) => data.to_vec(),
                Message::Text(text) => text.as_bytes().to_vec(),
                Message::Close(_) => return None,
                _ => continue,
            };
            match data.split_first() {
                Some((&STDIN, text)) if !text.is_empty() => {
                    return Some(String::from_utf8_lossy(text).into_owned());
                }
                Some((&CLOSE, [STDIN])) if self.protocol == PROTOCOLS[0] => return None,
                _ => {}
            }
        }
        None
    }

    /// Every forwarded port answers whatever is sent to it with a small page.
    async fn forward(&self, socket: &mut Socket, ports: &[u16]) {
        // Each port has a channel for data and one for errors; both begin with the port's number.
        for (place, port) in (0_u8..).zip(ports.iter().take(64)) {
            for channel in [place * 2, place * 2 + 1] {
                send(socket, channel, &port.to_le_bytes()).await;
            }
        }
        while let Some(Ok(message)) = socket.next().await {
            let Message::Binary(data) = message else {
                if matches!(message, Message::Close(_)) {
                    return;
                }
                continue;
            };
            let Some((channel, data)) = data.split_first() else {
                continue;
            };
            if channel % 2 != 0 || data.is_empty() {
                continue;
            }
            let page = format!("pod {} answers\n", self.pod.name());
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{page}",
                page.len()
            );
            send(socket, *channel, answer.as_bytes()).await;
        }
    }
}

/// Sends one message; a client that has gone is noticed by whoever reads from it.
async fn send(socket: &mut Socket, channel: u8, data: &[u8]) {
    let mut message = Vec::with_capacity(data.len() + 1);
    message.push(channel);
    message.extend_from_slice(data);
    let _sent = socket.send(Message::Binary(message.into())).await;
}

fn success() -> String {
    json!({"metadata": {}, "status": "Success"}).to_string()
}

fn failure(code: i32) -> String {
    let status: Value = json!({
        "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
        "message": format!("command terminated with non-zero exit code: exit status {code}"),
        "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
    });
    status.to_string()
}

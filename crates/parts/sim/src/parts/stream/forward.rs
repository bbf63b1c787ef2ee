//! Forwarded ports: what is sent to a port of a pod is answered by a small web server, or echoed if it is no web request.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use object::Object;
use tokio_tungstenite::tungstenite::Message;

use crate::parts::stream::spdy::{Connection, Event, MOST_STREAMS, header};
use crate::parts::stream::websocket::{self, Socket};

/// A head of a request that is longer than this is none.
const LONGEST_HEAD: usize = 64 * 1024;

/// What one connection to a port has sent and not been answered for.
#[derive(Default)]
pub(crate) struct Caller {
    pending: Vec<u8>,
    /// Bytes of a request's body that are still to come.
    body: usize,
}

impl Caller {
    /// Takes what was sent and says what is answered.
    pub(crate) fn hear(&mut self, data: &[u8], pod: &Object, port: &str) -> Vec<u8> {
        self.pending.extend_from_slice(data);
        let mut answers = Vec::new();
        while !self.pending.is_empty() {
            let skipped = self.body.min(self.pending.len());
            self.pending.drain(..skipped);
            self.body -= skipped;
            if self.pending.is_empty() {
                break;
            }
            if !may_be_request(&self.pending) || self.pending.len() > LONGEST_HEAD {
                answers.append(&mut self.pending);
                break;
            }
            let Some(end) = find(&self.pending, b"\r\n\r\n") else {
                break;
            };
            let head: Vec<u8> = self.pending.drain(..end + 4).collect();
            let head = String::from_utf8_lossy(&head).into_owned();
            self.body = body_length(&head);
            answers.extend_from_slice(answer(&head, pod, port).as_bytes());
        }
        answers
    }
}

/// Whether bytes begin like a request of HTTP/1.
fn may_be_request(bytes: &[u8]) -> bool {
    const METHODS: [&[u8]; 7] = [
        b"GET ",
        b"HEAD ",
        b"POST ",
        b"PUT ",
        b"PATCH ",
        b"DELETE ",
        b"OPTIONS ",
    ];
    METHODS.iter().any(|method| {
        let length = method.len().min(bytes.len());
        bytes.get(..length) == method.get(..length)
    })
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|part| part == what)
}

fn body_length(head: &str) -> usize {
    let field = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim())
    });
    field.and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// The page every port shows.
pub(crate) fn page(method: &str, path: &str, pod: &Object, port: &str) -> String {
    let (name, namespace) = (pod.name(), pod.namespace());
    format!("pod {name} of namespace {namespace} answers {method} {path} on port {port}\n")
}

/// What a request is answered that came with a head.
fn answer(head: &str, pod: &Object, port: &str) -> String {
    let mut words = head.split_whitespace();
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default();
    let text = page(method, path, pod, port);
    let body = if method == "HEAD" { "" } else { text.as_str() };
    format!(
        "HTTP/1.1 200 OK\r\nserver: simulated\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\r\n{body}",
        text.len()
    )
}

/// One connection to a port: a stream for data and one for errors, with the same number.
struct Forwarded {
    request: String,
    port: String,
    is_error: bool,
    caller: Caller,
}

/// Serves the connections of a client that speaks SPDY until it goes.
pub(crate) async fn over_spdy(mut connection: Connection, pod: &Object) {
    let mut streams: BTreeMap<u32, Forwarded> = BTreeMap::new();
    while let Some(event) = connection.next().await {
        let (stream, ends) = match event {
            Event::Opened {
                stream,
                headers,
                ends,
            } => {
                if streams.len() >= MOST_STREAMS {
                    break;
                }
                connection.accept(stream);
                let forwarded = Forwarded {
                    request: header(&headers, "requestid").to_owned(),
                    port: header(&headers, "port").to_owned(),
                    is_error: header(&headers, "streamtype") == "error",
                    caller: Caller::default(),
                };
                let ends = ends && !forwarded.is_error;
                streams.insert(stream, forwarded);
                (stream, ends)
            }
            Event::Data { stream, data, ends } => {
                let Some(known) = streams.get_mut(&stream).filter(|known| !known.is_error) else {
                    continue;
                };
                let answer = known.caller.hear(&data, pod, &known.port);
                if !answer.is_empty() {
                    connection.send(stream, &answer, false).await;
                }
                (stream, ends)
            }
            Event::Reset { stream } => (stream, true),
        };
        if !ends {
            continue;
        }
        // No more comes: both streams of the connection end, the one for errors without one.
        let Some(ended) = streams.remove(&stream) else {
            continue;
        };
        connection.send(stream, &[], true).await;
        let twin = streams
            .iter()
            .find(|(_, other)| other.request == ended.request && other.port == ended.port)
            .map(|(twin, _)| *twin);
        if let Some(twin) = twin.filter(|_| !ended.is_error) {
            connection.send(twin, &[], true).await;
            streams.remove(&twin);
        }
    }
    connection.close().await;
}

/// Serves a client that has two channels for each port: one for data and one for errors.
pub(crate) async fn over_channels(mut socket: Socket, pod: &Object, ports: &[u16]) {
    let mut callers: BTreeMap<u8, (String, Caller)> = BTreeMap::new();
    for (place, port) in (0_u8..).zip(ports.iter().take(64)) {
        callers.insert(place * 2, (port.to_string(), Caller::default()));
        for channel in [place * 2, place * 2 + 1] {
            // Both begin with the port's number.
            websocket::send(&mut socket, channel, &port.to_le_bytes()).await;
        }
    }
    while let Some(Ok(message)) = socket.next().await {
        let data = match message {
            Message::Binary(data) => data,
            Message::Close(_) => break,
            _ => continue,
        };
        let Some((channel, data)) = data.split_first() else {
            continue;
        };
        let Some((port, caller)) = callers.get_mut(channel) else {
            continue;
        };
        let answer = caller.hear(data, pod, port);
        if !answer.is_empty() {
            websocket::send(&mut socket, *channel, &answer).await;
        }
    }
    websocket::close(&mut socket).await;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_are_answered_and_everything_else_is_echoed() {
        let pod = json!({"metadata": {"name": "web", "namespace": "shop"}});
        let pod = Object::from_value(pod).unwrap();
        for (sent, statuses, tail) in [
            (
                vec!["GET /a HTTP/1.1\r\nhost: x\r\n\r\n"],
                1,
                "answers GET /a on port 80\n",
            ),
            (
                vec!["GE", "T / HTTP/1.1\r\n", "\r\n"],
                1,
                "answers GET / on port 80\n",
            ),
            (vec!["HEAD / HTTP/1.1\r\n\r\n"], 1, "\r\n\r\n"),
            (
                vec![
                    "POST /b HTTP/1.1\r\nContent-Length: 4\r\n\r\nab",
                    "cdGET /c HTTP/1.1\r\n\r\n",
                ],
                2,
                "answers GET /c on port 80\n",
            ),
            (vec!["PING\r\n", "x"], 0, "PING\r\nx"),
            (vec!["GET / HTTP/1.1\r\n"], 0, ""),
        ] {
            let mut caller = Caller::default();
            let answers: Vec<u8> = sent
                .iter()
                .flat_map(|part| caller.hear(part.as_bytes(), &pod, "80"))
                .collect();
            let answers = String::from_utf8(answers).unwrap();
            assert_eq!(
                answers.matches("HTTP/1.1 200 OK").count(),
                statuses,
                "{sent:?}"
            );
            assert!(answers.ends_with(tail), "{sent:?}: {answers}");
        }
    }
}

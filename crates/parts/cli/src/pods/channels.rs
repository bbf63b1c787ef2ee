//! Several streams in one connection, as Kubernetes has them over WebSockets: every message begins with the number of
//! its channel.

use std::pin::Pin;

use client::kube;
use futures_util::stream::BoxStream;
use futures_util::{Sink, SinkExt as _, StreamExt as _};
use http::Request;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::failure::Failure;
use crate::reading::Place;

/// What is sent to end one channel, where the protocol can.
const CLOSE: u8 = 255;

/// The sending half.
pub(super) struct Sender {
    sink: Pin<Box<dyn Sink<Message, Error = tungstenite::Error> + Send>>,
    can_close: bool,
}

/// The receiving half.
pub(super) struct Receiver {
    stream: BoxStream<'static, Result<Message, tungstenite::Error>>,
}

/// Opens a connection to a path of a place's API.
pub(super) async fn open(place: &Place, path: &str) -> Result<(Sender, Receiver), Failure> {
    let request = Request::get(place.path(path)).body(Vec::new());
    let request = request.map_err(|error| {
        Failure::refused(
            format!("{path:?} cannot be asked for: {error}"),
            "check the names",
        )
    })?;
    let connected = place.control().raw().connect(request).await;
    let connection = connected.map_err(|error| refused(place, &error))?;
    let can_close = connection.supports_stream_close();
    let (sink, stream) = connection.into_stream().split();
    let sender = Sender {
        sink: Box::pin(sink),
        can_close,
    };
    let receiver = Receiver {
        stream: stream.boxed(),
    };
    Ok((sender, receiver))
}

fn refused(place: &Place, error: &kube::Error) -> Failure {
    if let kube::Error::Api(status) = error {
        let what = format!("cluster({}): {}", place.name, status.message);
        return match status.code {
            500.. => Failure::failed(what, "see the server's log"),
            _ => Failure::refused(what, "check the pod, the container and the cluster"),
        };
    }
    Failure::failed(
        format!("cluster({}): {}", place.name, telemetry::chain(error)),
        "`karavel clusters` shows which clusters are ready",
    )
}

impl Sender {
    /// Sends bytes into a channel.
    pub(super) async fn send(&mut self, channel: u8, bytes: &[u8]) -> Result<(), Failure> {
        let mut message = Vec::with_capacity(bytes.len() + 1);
        message.push(channel);
        message.extend_from_slice(bytes);
        let sent = self.sink.send(Message::Binary(message.into())).await;
        sent.map_err(|error| ended(&error))
    }

    /// Ends a channel, if the protocol can.
    pub(super) async fn close(&mut self, channel: u8) -> Result<(), Failure> {
        if !self.can_close {
            return Ok(());
        }
        let sent = self
            .sink
            .send(Message::Binary(vec![CLOSE, channel].into()))
            .await;
        sent.map_err(|error| ended(&error))
    }
}

impl Receiver {
    /// The next message of any channel; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Result<(u8, Vec<u8>), Failure>> {
        loop {
            let bytes = match self.stream.next().await? {
                Ok(Message::Binary(bytes)) => bytes.to_vec(),
                Ok(Message::Text(text)) => text.as_bytes().to_vec(),
                Ok(Message::Close(_)) => return None,
                Ok(_) => continue,
                Err(tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed) => {
                    return None;
                }
                Err(error) => return Some(Err(ended(&error))),
            };
            if let Some((channel, rest)) = bytes.split_first() {
                return Some(Ok((*channel, rest.to_vec())));
            }
        }
    }
}

fn ended(error: &tungstenite::Error) -> Failure {
    Failure::failed(
        format!("the connection ended early: {error}"),
        "`karavel clusters` shows which clusters are ready",
    )
}

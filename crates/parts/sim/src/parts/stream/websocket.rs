//! Kubernetes' channels over WebSocket, versions 4 and 5: every message begins with the number of its channel.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use crate::parts::stream::session::{Line, Output};

/// Versions spoken, the best first.
pub(crate) const PROTOCOLS: [&str; 2] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
/// In version 5: the channel named by the next byte is closed.
const CLOSE: u8 = 255;

/// How long a client has to open its channels. Nothing on the wire says when it has, and kubectl before 1.35 reads
/// while it opens them and throws away what comes for one that is not open yet. A real container takes longer to
/// start a command.
pub(crate) const CLIENT_OPENS: Duration = Duration::from_millis(50);

pub(crate) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// A WebSocket on a connection whose handshake is done.
pub(crate) async fn socket(upgraded: Upgraded) -> Socket {
    WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await
}

/// The channels of one session.
pub(crate) struct Channels {
    pub(crate) socket: Socket,
    /// Whether the client can say that a channel is closed.
    pub(crate) can_close: bool,
}

/// Sends one message on a channel; a client that has gone is noticed by whoever reads from it.
pub(crate) async fn send(socket: &mut Socket, channel: u8, data: &[u8]) {
    let mut message = Vec::with_capacity(data.len() + 1);
    message.push(channel);
    message.extend_from_slice(data);
    let _sent = socket.send(Message::Binary(message.into())).await;
}

/// Says goodbye. The client may have gone first.
pub(crate) async fn close(socket: &mut Socket) {
    let goodbye = CloseFrame {
        code: CloseCode::Normal,
        reason: "".into(),
    };
    let _closed = socket.close(Some(goodbye)).await;
}

impl Line for Channels {
    async fn say(&mut self, output: Output, data: &[u8]) {
        let channel = match output {
            Output::Stdout => STDOUT,
            Output::Stderr => STDERR,
        };
        send(&mut self.socket, channel, data).await;
    }

    async fn hear(&mut self) -> Option<Bytes> {
        while let Some(Ok(message)) = self.socket.next().await {
            let mut data = match message {
                Message::Binary(data) => data,
                Message::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
                Message::Close(_) => return None,
                _ => continue,
            };
            match data.split_first() {
                Some((&STDIN, text)) if !text.is_empty() => return Some(data.split_off(1)),
                Some((&CLOSE, [STDIN])) if self.can_close => return None,
                _ => {}
            }
        }
        None
    }

    async fn gone(&mut self) {
        while let Some(Ok(message)) = self.socket.next().await {
            if matches!(message, Message::Close(_)) {
                return;
            }
        }
    }

    async fn end(&mut self, status: &str) {
        send(&mut self.socket, ERROR, status.as_bytes()).await;
        close(&mut self.socket).await;
    }
}

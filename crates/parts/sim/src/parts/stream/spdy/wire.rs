//! What carries SPDY: the connection itself, or binary messages of a WebSocket on it.

use bytes::BytesMut;
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::Message;

use crate::parts::stream::websocket::{Socket, close};

/// Bytes in their order, both ways.
pub(crate) enum Wire {
    Plain(TokioIo<Upgraded>),
    Tunnel(Box<Socket>),
}

impl Wire {
    /// Appends what comes next; `false` when nothing comes any more. Nothing is lost if this is given up.
    pub(crate) async fn read(&mut self, into: &mut BytesMut) -> bool {
        match self {
            Self::Plain(connection) => connection.read_buf(into).await.is_ok_and(|count| count > 0),
            Self::Tunnel(socket) => loop {
                match socket.next().await {
                    Some(Ok(Message::Binary(data))) => {
                        into.extend_from_slice(&data);
                        return true;
                    }
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return false,
                    Some(Ok(_)) => {}
                }
            },
        }
    }

    /// Sends everything there is to send; `false` when nobody takes it any more.
    pub(crate) async fn write(&mut self, out: &mut BytesMut) -> bool {
        match self {
            Self::Plain(connection) => {
                while !out.is_empty() {
                    if !matches!(connection.write_buf(out).await, Ok(count) if count > 0) {
                        return false;
                    }
                }
                connection.flush().await.is_ok()
            }
            Self::Tunnel(_) if out.is_empty() => true,
            Self::Tunnel(socket) => {
                let message = Message::Binary(out.split().freeze());
                socket.send(message).await.is_ok()
            }
        }
    }

    /// Says goodbye. The client may have gone first.
    pub(crate) async fn close(&mut self) {
        match self {
            Self::Plain(connection) => drop(connection.shutdown().await),
            Self::Tunnel(socket) => close(socket).await,
        }
    }
}

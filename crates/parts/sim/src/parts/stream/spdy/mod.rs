//! SPDY/3.1: several streams on one connection.
//!
//! `kubectl port-forward` speaks it inside a WebSocket; clients from before WebSocket speak it for everything.

mod frame;
mod headers;
mod streams;
mod wire;

use bytes::{Bytes, BytesMut};

use frame::{Frame, FrameError};
use headers::{Header, Reader};
pub(crate) use streams::Streams;
pub(crate) use wire::Wire;

/// A connection, seen from the server.
pub(crate) struct Connection {
    wire: Wire,
    received: BytesMut,
    /// Frames that were not sent yet. Whoever asks for the next event sends them first.
    out: BytesMut,
    reader: Reader,
    has_replied: bool,
}

/// What a client does.
#[derive(Debug)]
pub(crate) enum Event {
    Opened {
        stream: u32,
        headers: Vec<Header>,
        ends: bool,
    },
    Data {
        stream: u32,
        data: Bytes,
        ends: bool,
    },
    Reset {
        stream: u32,
    },
}

/// Streams of one connection: a client that forwards many ports at once needs two for each connection to one.
pub(crate) const MOST_STREAMS: usize = 2_000;

impl Connection {
    pub(crate) fn new(wire: Wire) -> Self {
        Self {
            wire,
            received: BytesMut::new(),
            out: BytesMut::new(),
            reader: Reader::new(),
            has_replied: false,
        }
    }

    /// What the client does next; `None` when it is gone or no longer understood. Nothing is lost if this is given up.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if !self.wire.write(&mut self.out).await {
                return None;
            }
            match self.take() {
                Ok(Some(Frame::Open {
                    stream,
                    headers,
                    ends,
                })) => {
                    return Some(Event::Opened {
                        stream,
                        headers,
                        ends,
                    });
                }
                Ok(Some(Frame::Data { stream, data, ends })) => {
                    return Some(Event::Data { stream, data, ends });
                }
                Ok(Some(Frame::Reset { stream })) => return Some(Event::Reset { stream }),
                Ok(Some(Frame::Ping { number })) => frame::put_ping(&mut self.out, number),
                Ok(Some(Frame::Other)) => {}
                Ok(Some(Frame::Away)) => return None,
                Ok(None) => {
                    if !self.wire.read(&mut self.received).await {
                        return None;
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "a stream into a container is not understood");
                    return None;
                }
            }
        }
    }

    /// Says yes to a stream the client opened.
    pub(crate) fn accept(&mut self, stream: u32) {
        let is_first = !std::mem::replace(&mut self.has_replied, true);
        frame::put_reply(&mut self.out, stream, is_first);
    }

    /// Sends data on a stream; `ends` if nothing follows.
    pub(crate) async fn send(&mut self, stream: u32, data: &[u8], ends: bool) {
        frame::put_data(&mut self.out, stream, data, ends);
        // A client that has gone is noticed by whoever reads from it.
        let _sent = self.wire.write(&mut self.out).await;
    }

    pub(crate) async fn close(&mut self) {
        self.wire.close().await;
    }

    fn take(&mut self) -> Result<Option<Frame>, FrameError> {
        frame::take(&mut self.received, &mut self.reader)
    }
}

/// A header's value; empty if absent.
pub(crate) fn header<'h>(headers: &'h [Header], name: &str) -> &'h str {
    headers
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map_or("", |(_, value)| value)
}

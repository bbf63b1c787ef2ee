//! A backup of the running server, streamed to whoever may have it.

use std::io::{self, Write};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use serve::body::Body;
use store::embedded::Embedded;
use tokio::sync::mpsc;

/// Where it is asked for.
pub(crate) const PATH: &str = "/karavel/v1/backup";
/// Chunks on their way; when the client is slow the backup waits, and holds on to nothing but a snapshot meanwhile.
const CHUNKS: usize = 8;
/// Large enough that a chunk is worth a wake-up.
const CHUNK_BYTES: usize = 256 * 1024;

/// The answer. A backup cut short lacks its closing checksum, and `restore` refuses it.
pub(crate) fn stream(store: Embedded) -> Response<Body> {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    tokio::task::spawn_blocking(move || {
        let mut output = Chunks {
            sender,
            buffer: Vec::with_capacity(CHUNK_BYTES),
        };
        let done = store
            .backup(&mut output)
            .map_err(io::Error::other)
            .and_then(|_| output.flush());
        if let Err(error) = done {
            tracing::warn!(%error, "backup not completed");
        }
    });
    let chunks =
        futures_util::stream::unfold(receiver, |mut receiver: mpsc::Receiver<Bytes>| async {
            receiver.recv().await.map(|chunk| (chunk, receiver))
        });
    let mut response = Response::new(Body::Stream(Box::pin(chunks)));
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/octet-stream"),
    );
    response
}

struct Chunks {
    sender: mpsc::Sender<Bytes>,
    buffer: Vec<u8>,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = Bytes::from(std::mem::take(&mut self.buffer));
        self.sender
            .blocking_send(chunk)
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

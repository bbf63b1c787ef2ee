//! One connection, from the handshake to its end.
//!
//! It ends when the client wants it to, when the server stops, when nothing was asked for too long, and when its place is
//! needed. A watch is a request under way, however little it says; a connection that was upgraded is no longer one of
//! ours.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::EXPECT;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::arriving::Arriving;
use crate::ending::Ending;
use crate::listener::{Carrier, Limits};
use crate::peer::Peer;
use crate::places::Stay;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Among the extensions of a request: lets whoever answers it say that the client has shown who they are. They keep their
/// place when there are too few, from then on and not only once they have their answer, which may take long.
#[derive(Clone)]
pub struct Voucher(Arc<Stay>);

impl Voucher {
    /// The client has shown who they are.
    pub fn vouch(&self) {
        self.0.vouch();
    }

    /// Whether somebody said so.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.0.is_known()
    }
}

/// One that is about no connection.
impl Default for Voucher {
    fn default() -> Self {
        Self(Stay::new())
    }
}

/// What a conversation goes by.
pub(crate) struct Conversation<C> {
    pub(crate) peer: Peer,
    pub(crate) carrier: C,
    pub(crate) stay: Arc<Stay>,
    pub(crate) limits: Limits,
    pub(crate) stop: CancellationToken,
}

impl<C: Carrier> Conversation<C> {
    /// Answers what is asked, until the end.
    pub(crate) async fn hold<S, H, F, B>(self, stream: S, handler: H) -> Result<(), BoxError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        H: Fn(Request<Arriving>) -> F + Clone + Send + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let Self {
            peer,
            carrier,
            stay,
            limits,
            stop,
        } = self;
        let (asked, ending) = (Arc::clone(&stay), stop.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            let busy = asked.begin();
            let voucher = Voucher(Arc::clone(&asked));
            request.extensions_mut().insert(peer.clone());
            request.extensions_mut().insert(carrier.clone());
            request.extensions_mut().insert(voucher);
            // Whoever waits for leave to send has sent nothing yet.
            let waits = request.headers().contains_key(EXPECT);
            let (parts, body) = request.into_parts();
            let (body, rest) = Arriving::new(body);
            let answer = handler(Request::from_parts(parts, body));
            let ending = ending.clone();
            async move {
                let answer = answer.await;
                if !waits {
                    rest.drain().await;
                }
                Ok::<_, Infallible>(answer.map(|body| Ending::new(body, &ending, busy)))
            }
        });
        let builder = builder(&limits);
        let stream = TokioIo::new(stream);
        let mut connection = pin!(builder.serve_connection_with_upgrades(stream, service));
        let mut is_stopping = false;
        // Once it is to end: when it is cut off.
        let mut cut = None;
        loop {
            let over = async {
                match cut {
                    None => stay.is_idle_for(limits.head, limits.idle).await,
                    Some(cut) => tokio::time::sleep_until(cut).await,
                }
            };
            tokio::select! {
                ended = connection.as_mut() => return ended,
                () = stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    connection.as_mut().graceful_shutdown();
                    continue;
                }
                // A stranger may hold on to the connection as long as it is asked politely.
                () = stay.is_told_to_leave() => if !stay.is_known() { return Ok(()) },
                // Whatever began at the last moment is answered.
                () = over => if cut.is_some() && !stay.is_busy() { return Ok(()) },
            }
            connection.as_mut().graceful_shutdown();
            cut = Some(Instant::now() + limits.drain);
        }
    }
}

fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(limits.head_bytes.max(8192));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(u32::try_from(limits.head_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .keep_alive_timeout(Duration::from_secs(30));
    builder
}

#[cfg(test)]
mod tests;

//! The accept loop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::EXPECT;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::arriving::Arriving;
use crate::ending::Ending;
use crate::peer::{self, Peer};

/// What a client may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once; further ones wait in the kernel's queue.
    pub connections: usize,
    /// How long a handshake may take.
    pub handshake: Duration,
    /// How long the head of a request may take to arrive.
    pub head: Duration,
    /// How many requests one HTTP/2 connection may have under way.
    pub streams: u32,
    /// How large the head of a request may be, in bytes.
    pub head_bytes: usize,
    /// How long requests under way may take to end after shutdown begins.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(30),
            streams: 1_000,
            head_bytes: 64 * 1024,
            // Streams end at once; the rest are calls that take milliseconds.
            drain: Duration::from_secs(3),
        }
    }
}

/// A port that is listened on.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
}

/// Why a port cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else listens there.
    #[error(
        "{address} is in use by another process; stop it or choose another address with --listen"
    )]
    InUse {
        /// The address asked for.
        address: SocketAddr,
    },
    /// The address is not ours, or not allowed.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// What lets a connection go on. It is shown to whoever answers the connection's requests, among their extensions.
pub trait Carrier: Clone + Send + Sync + 'static {
    /// The connection, which goes on when the carrier lets it.
    fn carry<F: Future + Send>(&self, connection: F) -> impl Future<Output = F::Output> + Send;
}

/// Lets connections go on at once.
impl Carrier for () {
    fn carry<F: Future + Send>(&self, connection: F) -> impl Future<Output = F::Output> + Send {
        connection
    }
}

impl Listener {
    /// Listens on an address. Port 0 takes any free port; [`Listener::address`] tells which.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        let bound = async {
            let tcp = TcpListener::bind(address).await?;
            let address = tcp.local_addr()?;
            Ok::<_, io::Error>(Self { tcp, address })
        };
        bound.await.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::InUse { address },
            _ => BindError::Bind { address, source },
        })
    }

    /// Where clients find it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until told to stop; then ends streams at once and lets other requests under way finish.
    pub async fn serve<H, F, B>(
        self,
        tls: rustls::ServerConfig,
        limits: Limits,
        handler: H,
        stop: CancellationToken,
    ) where
        H: Fn(Request<Arriving>) -> F + Clone + Send + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.serve_carried(tls, limits, handler, || (), stop).await;
    }

    /// The same, with a carrier for each connection.
    pub async fn serve_carried<H, F, B, C>(
        self,
        tls: rustls::ServerConfig,
        limits: Limits,
        handler: H,
        carrier: impl Fn() -> C,
        stop: CancellationToken,
    ) where
        C: Carrier,
        H: Fn(Request<Arriving>) -> F + Clone + Send + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let places = Arc::new(Semaphore::new(limits.connections));
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => continue, // Nothing to learn from a connection that ended.
                accepted = accept(&self.tcp, &places) => accepted,
            };
            let (stream, address, place) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, or the client was gone already: the next one may do better.
                    tracing::warn!(%error, "connection not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let (acceptor, handler, watcher) =
                (acceptor.clone(), handler.clone(), graceful.watcher());
            let (ending, carrier) = (stop.clone(), carrier());
            connections.spawn(async move {
                let _place = place;
                let handshake =
                    tokio::time::timeout(limits.handshake, acceptor.accept(stream)).await;
                let Ok(Ok(stream)) = handshake else {
                    tracing::debug!(%address, "handshake failed");
                    return;
                };
                let shown = stream.get_ref().1.peer_certificates();
                let user = shown
                    .and_then(<[_]>::split_first)
                    .and_then(|(own, others)| {
                        peer::certified_user(own, others.iter().map(AsRef::as_ref))
                    });
                let peer = Peer { address, user };
                let shown = carrier.clone();
                let service = service_fn(move |mut request: Request<Incoming>| {
                    request.extensions_mut().insert(peer.clone());
                    request.extensions_mut().insert(shown.clone());
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
                        let answer = answer.map(|body| Ending::new(body, &ending));
                        Ok::<_, std::convert::Infallible>(answer)
                    }
                });
                let builder = builder(&limits);
                let connection = builder
                    .serve_connection_with_upgrades(TokioIo::new(stream), service)
                    .into_owned();
                if let Err(error) = carrier.carry(watcher.watch(connection)).await {
                    tracing::debug!(%address, error, "connection ended");
                }
            });
        }
        drop(self.tcp);
        if tokio::time::timeout(limits.drain, graceful.shutdown())
            .await
            .is_err()
        {
            tracing::warn!(
                connections = connections.len(),
                "connections cut off after the time to drain"
            );
        }
        connections.shutdown().await;
    }
}

async fn accept(
    tcp: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, address) = tcp.accept().await?;
    // Answers are written whole; waiting to fill a packet only delays them.
    stream.set_nodelay(true)?;
    Ok((stream, address, place))
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

//! The accept loop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::arriving::Arriving;
use crate::conversation::Conversation;
use crate::identity::Tls;
use crate::peer::Peer;
use crate::places::Places;

/// What a client may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once. Who has shown nothing makes room for newcomers, and so does who is idle; these wait if there
    /// is nobody like that.
    pub connections: usize,
    /// How long a handshake may take.
    pub handshake: Duration,
    /// How long the head of a request may take to arrive, from the moment it is waited for with HTTP/1, and that of the
    /// first one with HTTP/2.
    pub head: Duration,
    /// How long a connection with HTTP/2 may be without a request. Upstream: the same.
    pub idle: Duration,
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
            idle: Duration::from_secs(90),
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
    pub async fn serve<H, F, B>(self, tls: Tls, limits: Limits, handler: H, stop: CancellationToken)
    where
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
        tls: Tls,
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
        let Tls { config, trust } = tls;
        let acceptor = TlsAcceptor::from(config);
        let places = Places::new(limits.connections);
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => continue, // Nothing to learn from a connection that ended.
                accepted = accept(&self.tcp) => accepted,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // The client was gone already, and the next one may do better; or there is no room for it.
                    tracing::debug!(%error, "connection not accepted");
                    if tells_of_no_room(&error) {
                        places.make_room(&error.to_string());
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let place = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                place = places.enter() => place,
            };
            let (acceptor, handler, trust) =
                (acceptor.clone(), handler.clone(), Arc::clone(&trust));
            let (stop, carrier) = (stop.clone(), carrier());
            connections.spawn(async move {
                let stay = Arc::clone(&place.stay);
                let handshake = tokio::select! {
                    () = stop.cancelled() => return,
                    () = stay.is_told_to_leave() => return,
                    handshake = tokio::time::timeout(limits.handshake, acceptor.accept(stream)) => handshake,
                };
                let Ok(Ok(stream)) = handshake else {
                    tracing::debug!(%address, "handshake failed");
                    return;
                };
                let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
                let judged = trust.judge(shown, SystemTime::now());
                if let Err(error) = &judged {
                    tracing::debug!(%address, error, "client certificate not believed");
                }
                let peer = Peer {
                    address,
                    is_distrusted: judged.is_err(),
                    user: judged.ok().flatten(),
                };
                if peer.user.is_some() {
                    stay.vouch();
                }
                let conversation = Conversation {
                    peer,
                    carrier: carrier.clone(),
                    stay,
                    limits,
                    stop,
                };
                let held = carrier.carry(conversation.hold(stream, handler));
                if let Err(error) = held.await {
                    tracing::debug!(%address, error, "connection ended");
                }
                drop(place);
            });
        }
        drop(self.tcp);
        let ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(limits.drain, ended).await.is_err() {
            tracing::warn!(
                connections = connections.len(),
                "connections cut off after the time to drain"
            );
        }
        connections.shutdown().await;
    }
}

/// ENOMEM, ENFILE, EMFILE and ENOBUFS, as Linux numbers them.
const NO_ROOM: [i32; 4] = [12, 23, 24, 105];

/// Whether a connection was not taken because there are too many. Whatever else goes wrong, such as a network that is down
/// or a client that is gone, is not mended by closing others.
fn tells_of_no_room(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    number.is_some_and(|number| NO_ROOM.contains(&number))
}

async fn accept(tcp: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, address) = tcp.accept().await?;
    // Answers are written whole; waiting to fill a packet only delays them.
    stream.set_nodelay(true)?;
    // A listener for both families shows the older one's addresses within the newer one's.
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    Ok((stream, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_when_there_is_none_and_not_for_what_else_goes_wrong() {
        for (error, expected) in [
            (io::Error::from_raw_os_error(24), true), // Too many open files.
            (io::Error::from_raw_os_error(105), true), // No buffer space available.
            (io::Error::from_raw_os_error(1), false), // Forbidden by a firewall.
            (io::Error::from_raw_os_error(100), false), // The network is down.
            (io::Error::from_raw_os_error(103), false), // The client is gone.
            (io::ErrorKind::OutOfMemory.into(), false), // Not the system's word.
        ] {
            assert_eq!(tells_of_no_room(&error), expected, "{error}");
        }
    }
}

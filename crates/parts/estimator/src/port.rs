//! The ports: questions over HTTP/2, with or without TLS, and probes over HTTP.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto::Builder, graceful::GracefulShutdown},
};
use runtime::{CancellationToken, Spawner};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, info, warn};

use crate::{
    ledger::Ledger,
    service,
    tls::{Tls, TlsError},
};

/// Connections at once; further ones wait in the kernel's queue. One scheduler needs one.
const CONNECTIONS: usize = 1024;
/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long answers under way may take after the end is announced.
const DRAIN: Duration = Duration::from_secs(5);

/// An address that is listened on.
#[derive(Debug)]
pub struct Port {
    tcp: TcpListener,
    address: SocketAddr,
}

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct BindError {
    address: SocketAddr,
    source: io::Error,
}

/// How questions are taken.
#[derive(Clone, Debug, Default)]
pub struct Serving {
    /// Certificates; `None` speaks in the clear.
    pub tls: Option<Tls>,
}

impl Port {
    /// Listens on an address. Port 0 takes any free port; [`Port::address`] tells which.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        let failed = |source| BindError { address, source };
        let tcp = TcpListener::bind(address).await.map_err(failed)?;
        let address = tcp.local_addr().map_err(failed)?;
        Ok(Self { tcp, address })
    }

    /// Where callers find it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Takes questions for `ledger` on `port` until the spawner stops, once everything has been seen.
///
/// Until then callers wait in the kernel's queue: no answer is better than one from half a list.
pub fn serve(
    ledger: Ledger,
    port: Port,
    serving: &Serving,
    spawner: &Spawner,
) -> Result<(), TlsError> {
    let tls = serving.tls.as_ref().map(Tls::config).transpose()?;
    let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
    spawner.spawn("estimator answers", move |stop| async move {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = ledger.synced() => {}
        }
        info!(cluster = ledger.cluster(), address = %port.address, "estimator ready");
        let handler = move |request: Request<Incoming>| {
            let ledger = ledger.clone();
            async move { Ok::<_, Infallible>(service::answer(ledger, request).await) }
        };
        accept(port, acceptor, handler, stop).await;
    });
    Ok(())
}

/// Answers `/healthz`, `/readyz` and `/metrics` on `port` until the spawner stops.
pub fn serve_probes(ledger: Ledger, port: Port, spawner: &Spawner) {
    spawner.spawn("estimator probes", move |stop| async move {
        let handler = move |request: Request<Incoming>| {
            let answer = probe(&ledger, request.uri().path());
            async move { Ok::<_, Infallible>(answer) }
        };
        accept(port, None, handler, stop).await;
    });
}

fn probe(ledger: &Ledger, path: &str) -> Response<Full<Bytes>> {
    let (code, text) = match path {
        "/healthz" | "/livez" => (StatusCode::OK, "ok".to_owned()),
        "/readyz" if ledger.is_whole() => (StatusCode::OK, "ok".to_owned()),
        "/readyz" => {
            let text = "nodes and pods are not all known yet".to_owned();
            (StatusCode::SERVICE_UNAVAILABLE, text)
        }
        "/metrics" => (StatusCode::OK, ledger.metrics()),
        _ => (StatusCode::NOT_FOUND, "not found".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = code;
    response
}

async fn accept<H, F, B>(
    port: Port,
    acceptor: Option<TlsAcceptor>,
    handler: H,
    stop: CancellationToken,
) where
    H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        let accepting = async {
            let place = Arc::clone(&places).acquire_owned().await;
            let place = place.map_err(io::Error::other)?;
            let (stream, address) = port.tcp.accept().await?;
            stream.set_nodelay(true)?;
            Ok::<_, io::Error>((stream, address, place))
        };
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => continue, // Nothing to learn from a connection that ended.
            accepted = accepting => accepted,
        };
        let (stream, address, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "connection not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (acceptor, handler, watcher) = (acceptor.clone(), handler.clone(), graceful.watcher());
        connections.spawn(async move {
            let _place = place;
            let service = service_fn(handler);
            let ended = match acceptor {
                None => {
                    let connection = builder();
                    let connection = connection.serve_connection(TokioIo::new(stream), service);
                    watcher.watch(connection.into_owned()).await
                }
                Some(acceptor) => {
                    let Some(stream) = handshake(&acceptor, stream, address).await else {
                        return;
                    };
                    let connection = builder();
                    let connection = connection.serve_connection(TokioIo::new(stream), service);
                    watcher.watch(connection.into_owned()).await
                }
            };
            if let Err(error) = ended {
                debug!(%address, error, "connection ended");
            }
        });
    }
    drop(port.tcp);
    drop(tokio::time::timeout(DRAIN, graceful.shutdown()).await);
    connections.shutdown().await;
}

async fn handshake(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    address: SocketAddr,
) -> Option<tokio_rustls::server::TlsStream<TcpStream>> {
    match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            debug!(%address, %error, "handshake failed");
            None
        }
        Err(_) => {
            debug!(%address, "handshake not finished in time");
            None
        }
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HANDSHAKE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .keep_alive_timeout(Duration::from_secs(30));
    builder
}

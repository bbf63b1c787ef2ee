//! Calls webhooks over HTTPS: connections kept open and shared, a deadline for each call, a limit on each answer.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use serve::cache::Cache;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::endpoint::{Address, Endpoint};
use crate::trust::{ConnectError, Trust, explain_call, explain_dial, explain_handshake};

/// The largest answer that is read: an object of the largest size, as a patch in base64, and some.
const ANSWER_LIMIT: usize = 8 * 1024 * 1024;
/// The most calls at once; further ones wait for their turn within their own deadline.
const CALLS_AT_ONCE: usize = 256;
/// The most places connections are kept open to; beyond that all of them are forgotten and opened anew.
const CLIENTS: usize = 256;
/// How long a connection nobody uses stays open.
const IDLE: Duration = Duration::from_secs(60);

/// Calls webhooks. Clones share connections and limits.
#[derive(Clone)]
pub struct Caller {
    inner: Arc<Inner>,
}

struct Inner {
    clients: Mutex<BTreeMap<ClientKey, Client<Connector, Full<Bytes>>>>,
    turns: Semaphore,
    /// Where services are found; set once the server is open.
    cache: OnceLock<Arc<Cache>>,
}

/// Where to, and whom to trust there.
type ClientKey = (Address, Vec<u8>);

/// Why a webhook gave no answer. The text never has any of what was sent.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The authorities cannot be used.
    #[error("caBundle has no usable certificate")]
    Authorities,
    /// No authorities are given, and the machine trusts none.
    #[error("caBundle is empty, and this machine trusts no authority")]
    Nobody,
    /// The name or path of the webhook cannot be called.
    #[error("the address cannot be called")]
    Address,
    /// It did not answer in time.
    #[error("context deadline exceeded")]
    Late,
    /// Nothing came of a call to this address.
    #[error("Post {address:?}: {why}")]
    Call {
        /// The address, with the path and how long somebody waited.
        address: String,
        /// What happened.
        why: Box<CallError>,
    },
    /// It cannot be reached, is not whom it should be, or hung up.
    #[error("{0}")]
    Unreachable(String),
    /// It answered with something else than success.
    #[error("the server answered with status {0}")]
    Refused(u16),
    /// The answer broke off or is too large.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
}

impl Default for Caller {
    fn default() -> Self {
        let inner = Inner {
            clients: Mutex::default(),
            turns: Semaphore::new(CALLS_AT_ONCE),
            cache: OnceLock::new(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }
}

impl Caller {
    /// Finds services in this cache from now on.
    pub fn look_into(&self, cache: &Arc<Cache>) {
        drop(self.inner.cache.set(Arc::clone(cache)));
    }

    /// Sends a JSON document and waits for the one that comes back.
    ///
    /// # Errors
    /// When there is none within `limit`, or the other side is not the one that was meant.
    pub async fn post(
        &self,
        endpoint: &Endpoint,
        document: Bytes,
        limit: Duration,
    ) -> Result<Bytes, CallError> {
        let address = self.resolve(endpoint);
        // Upstream: the webhook is told how long somebody waits for it.
        let mark = if address.path.contains('?') { '&' } else { '?' };
        let path = format!("{}{mark}timeout={}s", address.path, limit.as_secs().max(1));
        let uri = uri(&address, &path)?;
        let called = uri.to_string();
        let request = Request::post(uri).header(CONTENT_TYPE, "application/json");
        let answered = self.send(endpoint, address, request, document);
        let answered = tokio::time::timeout(limit, answered).await;
        match answered.unwrap_or(Err(CallError::Late)) {
            Err(why @ (CallError::Late | CallError::Unreachable(_))) => Err(CallError::Call {
                address: called,
                why: Box::new(why),
            }),
            other => other,
        }
    }

    /// Fetches a document.
    ///
    /// # Errors
    /// When there is none within `limit`, or the other side is not the one that was meant.
    pub async fn get(&self, endpoint: &Endpoint, limit: Duration) -> Result<Bytes, CallError> {
        let fetching = async {
            let address = self.resolve(endpoint);
            let request = Request::get(uri(&address, &address.path)?);
            self.send(endpoint, address, request, Bytes::new()).await
        };
        let fetched = tokio::time::timeout(limit, fetching);
        fetched.await.unwrap_or(Err(CallError::Late))
    }

    fn resolve(&self, endpoint: &Endpoint) -> Address {
        endpoint.resolve(self.inner.cache.get().map(|cache| &**cache))
    }

    async fn send(
        &self,
        endpoint: &Endpoint,
        address: Address,
        request: http::request::Builder,
        document: Bytes,
    ) -> Result<Bytes, CallError> {
        let _turn = self.inner.turns.acquire().await;
        let request = request
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, "karavel-admission")
            .body(Full::new(document))
            .map_err(|_| CallError::Address)?;
        let client = self.client(address, &endpoint.authorities)?;
        let unreachable =
            |error: hyper_util::client::legacy::Error| CallError::Unreachable(explain_call(&error));
        let response = client.request(request).await.map_err(unreachable)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_LIMIT)
            .collect()
            .await
            .map_err(|error| CallError::Unreadable(explain_call(&*error)))?;
        if !status.is_success() {
            return Err(CallError::Refused(status.as_u16()));
        }
        Ok(body.to_bytes())
    }

    /// The connections to one place, checked with these authorities.
    fn client(
        &self,
        address: Address,
        authorities: &[u8],
    ) -> Result<Client<Connector, Full<Bytes>>, CallError> {
        let place = Address {
            path: String::new(),
            ..address
        };
        let key = (place, authorities.to_vec());
        let mut clients = self
            .inner
            .clients
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        if clients.len() >= CLIENTS {
            clients.clear();
        }
        let connector = Connector::new(&key.0, authorities)?;
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .build(connector);
        clients.insert(key, client.clone());
        Ok(client)
    }
}

fn uri(address: &Address, path: &str) -> Result<Uri, CallError> {
    let host = match address.server_name.parse::<std::net::Ipv6Addr>() {
        Ok(ip) => format!("[{ip}]:{}", address.port),
        Err(_) => format!("{}:{}", address.server_name, address.port),
    };
    Uri::builder()
        .scheme("https")
        .authority(host)
        .path_and_query(path)
        .build()
        .map_err(|_| CallError::Address)
}

/// Opens connections to one place.
#[derive(Clone)]
struct Connector {
    host: String,
    port: u16,
    name: ServerName<'static>,
    tls: TlsConnector,
}

impl Connector {
    fn new(address: &Address, authorities: &[u8]) -> Result<Self, CallError> {
        let name =
            ServerName::try_from(address.server_name.clone()).map_err(|_| CallError::Address)?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let trust = Trust::new(authorities, &provider)?;
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| CallError::Authorities)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(trust))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            host: address.host.clone(),
            port: address.port,
            name,
            tls: TlsConnector::from(Arc::new(config)),
        })
    }
}

impl tower_service::Service<Uri> for Connector {
    type Response = Secured;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Secured, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self {
            host,
            port,
            name,
            tls,
        } = self.clone();
        Box::pin(async move {
            let dialled = |error: std::io::Error| explain_dial(&host, port, &error);
            let tcp = TcpStream::connect((host.as_str(), port))
                .await
                .map_err(dialled)?;
            tcp.set_nodelay(true).map_err(dialled)?;
            let secured = tls.connect(name, tcp).await;
            let secured =
                secured.map_err(|error| ConnectError::Handshake(explain_handshake(&error)))?;
            Ok(Secured(TokioIo::new(secured)))
        })
    }
}

/// An open connection.
struct Secured(TokioIo<TlsStream<TcpStream>>);

impl Connection for Secured {
    fn connected(&self) -> Connected {
        let negotiated = self.0.inner().get_ref().1.alpn_protocol();
        if negotiated == Some(b"h2") {
            Connected::new().negotiated_h2()
        } else {
            Connected::new()
        }
    }
}

impl hyper::rt::Read for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<Result<(), std::io::Error>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl hyper::rt::Write for Secured {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize, std::io::Error>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), std::io::Error>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), std::io::Error>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

//! A whole server on a port, and clients that reach it over TLS.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use karavel_apiserver::{ApiServer, Extensions, Handle, Options, Security, StartError, Storage};
use runtime::Tasks;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use serve::server::Surroundings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) handle: Handle,
    pub(crate) tasks: Tasks,
}

/// What a client shows and trusts, from a kubeconfig.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub(crate) authority: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Served {
    pub(crate) async fn start(
        directory: &Path,
        storage: Storage,
        security: Security,
    ) -> Result<Self, StartError> {
        Self::with(options(directory, storage, security)).await
    }

    pub(crate) async fn with(options: Options) -> Result<Self, StartError> {
        let server = ApiServer::start_with(options, Extensions::default()).await?;
        Self::run(server).await
    }

    /// One that goes by a clock of the test's own.
    pub(crate) async fn among(
        options: Options,
        surroundings: Arc<dyn Surroundings>,
    ) -> Result<Self, StartError> {
        let extensions = Extensions::default();
        let server = ApiServer::start_among(options, extensions, surroundings).await?;
        Self::run(server).await
    }

    async fn run(server: ApiServer) -> Result<Self, StartError> {
        let (address, handle) = (server.address(), server.handle());
        let mut tasks = Tasks::new();
        server.run(&mut tasks).await?;
        Ok(Self {
            address,
            handle,
            tasks,
        })
    }

    /// Stops it and waits for its end.
    pub(crate) async fn stop(self) {
        let Self { handle, tasks, .. } = self;
        drop(handle);
        tasks
            .run_until(std::future::ready(()), Duration::from_secs(30))
            .await;
    }

    /// Asks `METHOD /path` with a body and a token, on a connection of its own.
    pub(crate) async fn ask(
        &self,
        trusted: &str,
        token: &str,
        line: &str,
        body: &str,
    ) -> Result<(u16, String), std::io::Error> {
        let mut stream = connect(self.address, trusted, None, "localhost").await?;
        let token = match token {
            "" => String::new(),
            token => format!("Authorization: Bearer {token}\r\n"),
        };
        exchange(&mut stream, line, &token, body).await
    }
}

/// A server on any port.
pub(crate) fn options(directory: &Path, storage: Storage, security: Security) -> Options {
    Options {
        data_dir: directory.to_owned(),
        storage,
        listen: "127.0.0.1:0".parse().unwrap(),
        names: Vec::new(),
        security,
    }
}

impl Credentials {
    pub(crate) fn of(directory: &Path) -> Self {
        let text = std::fs::read_to_string(directory.join("kubeconfig")).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let user = &document["users"][0]["user"];
        let cluster = &document["clusters"][0]["cluster"];
        Self {
            authority: decode(&cluster["certificate-authority-data"]),
            certificate: decode(&user["client-certificate-data"]),
            key: decode(&user["client-key-data"]),
        }
    }
}

fn decode(value: &Value) -> String {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(value.as_str().unwrap());
    String::from_utf8(bytes.unwrap()).unwrap()
}

pub(crate) async fn connect(
    address: SocketAddr,
    trusted: &str,
    shown: Option<&Credentials>,
    host: &'static str,
) -> Result<TlsStream<TcpStream>, std::io::Error> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match shown {
        None => builder.with_no_client_auth(),
        Some(shown) => {
            let chain = vec![CertificateDer::from_pem_slice(shown.certificate.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(shown.key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    let tcp = TcpStream::connect(address).await?;
    let name = ServerName::try_from(host).unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
}

/// One request and its answer on a connection that stays open.
pub(crate) async fn exchange(
    stream: &mut TlsStream<TcpStream>,
    line: &str,
    headers: &str,
    body: &str,
) -> Result<(u16, String), std::io::Error> {
    let (code, _, body) = exchange_all(stream, line, headers, body).await?;
    Ok((code, body))
}

/// The same, with the head of the answer in lower case.
pub(crate) async fn exchange_all(
    stream: &mut TlsStream<TcpStream>,
    line: &str,
    headers: &str,
    body: &str,
) -> Result<(u16, String, String), std::io::Error> {
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut received = Vec::new();
    let early = || std::io::Error::other("the connection ended early");
    let head = loop {
        if let Some(end) = find(&received, b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut received).await? == 0 {
            return Err(early());
        }
    };
    let text = String::from_utf8_lossy(&received[..head]).to_ascii_lowercase();
    let code: u16 = text.split(' ').nth(1).unwrap().parse().unwrap();
    let length: usize = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.trim().parse().unwrap());
    while received.len() < head + length {
        if stream.read_buf(&mut received).await? == 0 {
            return Err(early());
        }
    }
    let body = String::from_utf8_lossy(&received[head..]).into_owned();
    Ok((code, text, body))
}

pub(crate) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

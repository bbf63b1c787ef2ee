//! How bytes get to a server: straight, or through a proxy on the way.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use object::base64;
use percent_encoding::percent_decode_str;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::transport::BoxError;

/// How long a connection to the server, with all there is on the way, may take to come about.
pub(crate) const CONNECT_DEADLINE: Duration = Duration::from_secs(10);
/// Where a SOCKS proxy listens that does not say.
const SOCKS_PORT: u16 = 1080;

/// Opens connections to a server.
#[derive(Clone)]
pub(crate) enum Way {
    /// Without anybody between.
    Straight(HttpConnector),
    /// Through an HTTP proxy that is asked to connect; it is spoken to with TLS if its URL says so.
    Tunnel(Tunnel<HttpsConnector<HttpConnector>>),
    /// Through a SOCKS proxy.
    Socks(SocksV5<HttpConnector>),
}

/// A proxy on the way, and what it wants to hear.
#[derive(Clone, Default)]
pub(crate) struct Proxy {
    /// Its URL, perhaps with a user and a password.
    pub(crate) url: String,
    /// What is said to it with the request to connect, and to nobody else.
    pub(crate) headers: Vec<(String, String)>,
}

/// Why a proxy cannot be used. None of its words repeats a secret.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// Its URL is none.
    #[error("its URL cannot be read")]
    Url,
    /// Its URL has another scheme.
    #[error("its URL begins with {0}:// and not with http, https or socks5")]
    Scheme(String),
    /// One of the headers for it cannot be sent.
    #[error("its header {0} cannot be sent")]
    Header(String),
}

impl Way {
    /// Straight to the server.
    pub(crate) fn straight() -> Self {
        Self::Straight(tcp())
    }

    /// Through a proxy, which is trusted as far as the server is.
    pub(crate) fn through(proxy: &Proxy, tls: ClientConfig) -> Result<Self, ProxyError> {
        let url: Uri = proxy.url.parse().map_err(|_| ProxyError::Url)?;
        let credentials = credentials(&url);
        match url.scheme_str() {
            Some("http" | "https") => {
                let connector = HttpsConnectorBuilder::new()
                    .with_tls_config(tls)
                    .https_or_http()
                    .enable_http1()
                    .wrap_connector(tcp());
                let mut tunnel = Tunnel::new(url, connector);
                if let Some((user, password)) = credentials {
                    let basic = base64::encode(format!("{user}:{password}").as_bytes());
                    let value = HeaderValue::from_str(&format!("Basic {basic}"));
                    tunnel = tunnel.with_auth(value.map_err(|_| ProxyError::Url)?);
                }
                if !proxy.headers.is_empty() {
                    tunnel = tunnel.with_headers(said(&proxy.headers)?);
                }
                Ok(Self::Tunnel(tunnel))
            }
            Some("socks5") => {
                let mut socks = SocksV5::new(with_port(url)?, tcp());
                if let Some((user, password)) = credentials {
                    socks = socks.with_auth(user, password);
                }
                Ok(Self::Socks(socks))
            }
            other => Err(ProxyError::Scheme(other.unwrap_or_default().to_owned())),
        }
    }
}

impl Service<Uri> for Way {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self {
            Self::Straight(connector) => connector.poll_ready(context).map_err(Into::into),
            Self::Tunnel(connector) => connector.poll_ready(context).map_err(Into::into),
            Self::Socks(connector) => connector.poll_ready(context).map_err(Into::into),
        }
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        match self {
            Self::Straight(connector) => {
                let connecting = connector.call(server);
                Box::pin(async move { Ok(MaybeHttpsStream::Http(connecting.await?)) })
            }
            Self::Tunnel(connector) => {
                let connecting = connector.call(server);
                Box::pin(in_time(async move { Ok(connecting.await?) }))
            }
            Self::Socks(connector) => {
                let connecting = connector.call(server);
                Box::pin(in_time(async move {
                    Ok(MaybeHttpsStream::Http(connecting.await?))
                }))
            }
        }
    }
}

/// A proxy may take a connection and then say nothing.
async fn in_time<T>(connecting: impl Future<Output = Result<T, BoxError>>) -> Result<T, BoxError> {
    match tokio::time::timeout(CONNECT_DEADLINE, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err("the proxy has not connected in time".into()),
    }
}

fn tcp() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_DEADLINE));
    connector
}

/// Headers as the proxy hears them. Upstream: a value with commas is several values.
fn said(headers: &[(String, String)]) -> Result<HeaderMap, ProxyError> {
    let mut map = HeaderMap::new();
    for (name, values) in headers {
        let refuse = || ProxyError::Header(name.clone());
        let header: HeaderName = name.parse().map_err(|_| refuse())?;
        for value in values.split(',') {
            let mut value = HeaderValue::from_str(value.trim()).map_err(|_| refuse())?;
            value.set_sensitive(true);
            map.append(header.clone(), value);
        }
    }
    Ok(map)
}

/// The user and the password in a URL.
fn credentials(url: &Uri) -> Option<(String, String)> {
    let (before, _) = url.authority()?.as_str().rsplit_once('@')?;
    let (user, password) = before.split_once(':').unwrap_or((before, ""));
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    Some((plain(user), plain(password)))
}

fn with_port(url: Uri) -> Result<Uri, ProxyError> {
    if url.port().is_some() {
        return Ok(url);
    }
    let host = url.host().ok_or(ProxyError::Url)?;
    let authority: Authority = format!("{host}:{SOCKS_PORT}")
        .parse()
        .map_err(|_| ProxyError::Url)?;
    Uri::builder()
        .scheme(url.scheme().cloned().unwrap_or(Scheme::HTTP))
        .authority(authority)
        .path_and_query(PathAndQuery::from_static("/"))
        .build()
        .map_err(|_| ProxyError::Url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_passwords_are_read_from_urls() {
        for (url, expected) in [
            ("http://proxy:3128", None),
            ("http://jane@proxy:3128", Some(("jane", ""))),
            ("socks5://jane:pa%40ss@proxy", Some(("jane", "pa@ss"))),
        ] {
            let found = credentials(&url.parse().unwrap());
            let expected = expected
                .map(|(user, password): (&str, &str)| (user.to_owned(), password.to_owned()));
            assert_eq!(found, expected, "{url}");
        }
    }

    #[test]
    fn a_value_with_commas_is_several_values() {
        let headers = [("X-Team".to_owned(), "a, b,c".to_owned())];
        let map = said(&headers).unwrap();
        let values: Vec<&str> = map
            .get_all("x-team")
            .iter()
            .map(|value| value.to_str().unwrap())
            .collect();
        assert_eq!(values, ["a", "b", "c"]);
    }

    #[test]
    fn what_cannot_be_used_is_named_without_secrets() {
        let proxy = |url: &str, headers: &[(&str, &str)]| Proxy {
            url: url.to_owned(),
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let tls = || {
            rustls::ClientConfig::builder_with_provider(
                rustls::crypto::aws_lc_rs::default_provider().into(),
            )
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth()
        };
        for (proxy, expected) in [
            (
                proxy("ftp://u:secret@p", &[]),
                "its URL begins with ftp:// and not with http, https or socks5",
            ),
            (proxy("http://", &[]), "its URL cannot be read"),
            (
                proxy("http://p", &[("X A", "secret")]),
                "its header X A cannot be sent",
            ),
            (proxy("http://p", &[("X-A", "secret\n")]), ""),
            (
                proxy("http://p", &[("X-A", "sec\u{1}ret")]),
                "its header X-A cannot be sent",
            ),
        ] {
            let refused = Way::through(&proxy, tls()).err();
            let said = refused.map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(said, expected);
        }
        assert!(matches!(
            with_port("socks5://p".parse().unwrap()).unwrap().port_u16(),
            Some(1080)
        ));
    }
}

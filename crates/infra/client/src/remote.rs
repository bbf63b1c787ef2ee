//! A server over the network: many calls over one connection, by HTTP/2 where the server speaks it, as API servers do.
//!
//! Whoever follows a dozen kinds of a server over HTTP/1 holds a dozen connections, and a control plane of a thousand
//! members runs out of them. What HTTP/2 cannot do is to become another protocol: whoever passes upgrades through asks for
//! that in the [`Endpoint`](crate::Endpoint), and has a connection for each call.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::uri::{Parts, PathAndQuery};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::BodyExt as _;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{self, Builder};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::Config;
use kube::client::{Body, ConfigExt as _};
use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::ServerName;
use tower_service::Service;

use crate::kubeconfig::ConfigError;
use crate::transport::{AnswerBody, BoxError};
use crate::way::{Proxy, Way};

/// How long a silent connection is believed: then the server is asked for a sign of life.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How long that sign may take.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);
/// How much of one answer a server may send before it is read: a page of a list comes in few round trips.
const STREAM_WINDOW: u32 = 256 * 1024;
/// The same for all answers together.
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// How many sessions of one server are remembered for faster handshakes; there is one connection, or a few.
const SESSIONS: usize = 4;

/// A server that is reached over the network.
pub(crate) struct Remote {
    caller: Caller,
    /// What it takes to make another, for whoever needs more than calls.
    config: Config,
    proxy: Option<Proxy>,
    judge: Option<Arc<dyn ServerCertVerifier>>,
    raw: OnceLock<kube::Client>,
}

/// Calls a server; clones share its connections.
#[derive(Clone)]
struct Caller {
    client: legacy::Client<HttpsConnector<Way>, Body>,
    server: Uri,
    authorization: Option<HeaderValue>,
}

/// What connections are for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Use {
    /// Calls and watches, all over one connection if the server can.
    Calls,
    /// Other protocols too, each on a connection of its own.
    Upgrades,
}

impl Remote {
    pub(crate) fn new(
        config: Config,
        authorization: Option<HeaderValue>,
        proxy: Option<Proxy>,
        judge: Option<Arc<dyn ServerCertVerifier>>,
        r#use: Use,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            caller: Caller::new(&config, authorization, proxy.as_ref(), judge.clone(), r#use)?,
            config,
            proxy,
            judge,
            raw: OnceLock::new(),
        })
    }

    pub(crate) async fn send(
        &self,
        request: Request<Body>,
    ) -> Result<Response<AnswerBody>, BoxError> {
        self.caller.send(request).await
    }

    /// A client of its own for whoever needs more than calls.
    pub(crate) fn raw(&self) -> kube::Client {
        let made = self.raw.get_or_init(|| {
            let authorization = self.caller.authorization.clone();
            let caller = Caller::new(
                &self.config,
                authorization,
                self.proxy.as_ref(),
                self.judge.clone(),
                Use::Upgrades,
            )
            .expect("invariant: the same configuration has made one before");
            kube::Client::new(caller, self.config.default_namespace.clone())
        });
        made.clone()
    }
}

impl Caller {
    fn new(
        config: &Config,
        authorization: Option<HeaderValue>,
        proxy: Option<&Proxy>,
        judge: Option<Arc<dyn ServerCertVerifier>>,
        r#use: Use,
    ) -> Result<Self, ConfigError> {
        let connect = |error| ConfigError::Connect(Box::new(error));
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Somebody else may be first; it is the same one then.
            let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        }
        let mut tls = config.rustls_client_config().map_err(connect)?;
        if let Some(judge) = judge {
            tls.dangerous().set_certificate_verifier(judge);
        }
        tls.resumption = Resumption::in_memory_sessions(SESSIONS);
        let way = match proxy {
            None => Way::straight(),
            Some(proxy) => Way::through(proxy, tls.clone()).map_err(ConfigError::Proxy)?,
        };
        let mut builder = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http();
        let name = config.tls_server_name.clone();
        if let Some(name) = name.and_then(|name| ServerName::try_from(name).ok()) {
            builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
        }
        let connector = match r#use {
            Use::Calls => builder.enable_all_versions().wrap_connector(way),
            Use::Upgrades => builder.enable_http1().wrap_connector(way),
        };
        let client = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(SIGN_OF_LIFE)
            .build(connector);
        Ok(Self {
            client,
            server: config.cluster_url.clone(),
            authorization,
        })
    }

    async fn send(&self, mut request: Request<Body>) -> Result<Response<AnswerBody>, BoxError> {
        *request.uri_mut() = below(&self.server, request.uri())?;
        if let Some(authorization) = &self.authorization {
            let headers = request.headers_mut();
            if !headers.contains_key(AUTHORIZATION) {
                headers.insert(AUTHORIZATION, authorization.clone());
            }
        }
        let response = self.client.request(request).await?;
        Ok(response.map(|body| body.map_err(BoxError::from).boxed_unsync()))
    }
}

impl Service<Request<Body>> for Caller {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let caller = self.clone();
        Box::pin(async move { caller.send(request).await })
    }
}

/// The URI of a path and query on a server, which may have a path of its own.
fn below(server: &Uri, asked: &Uri) -> Result<Uri, http::Error> {
    let mut parts = Parts::default();
    parts.scheme = server.scheme().cloned();
    parts.authority = server.authority().cloned();
    let own = server.path().trim_end_matches('/');
    let wanted = asked.path_and_query().map_or("/", PathAndQuery::as_str);
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{own}{wanted}"))?);
    Ok(Uri::from_parts(parts)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_below_that_of_the_server() {
        for (server, asked, expected) in [
            ("https://a:6443", "/api?x=1", "https://a:6443/api?x=1"),
            ("https://a:6443/", "/api", "https://a:6443/api"),
            (
                "https://a/k8s/c1/",
                "/apis/apps",
                "https://a/k8s/c1/apis/apps",
            ),
        ] {
            let found = below(&server.parse().unwrap(), &asked.parse().unwrap());
            assert_eq!(found.unwrap().to_string(), expected);
        }
    }
}

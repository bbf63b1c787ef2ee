//! Many calls over one connection: HTTP/2 where the server speaks it, as API servers do.
//!
//! Whoever follows a dozen kinds of a server over HTTP/1 holds a dozen connections, and a control plane of a thousand
//! members runs out of them. What HTTP/2 cannot do is to become another protocol: whoever passes upgrades through asks for
//! that in the [`Endpoint`](crate::Endpoint).

use std::sync::OnceLock;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::uri::{Parts, PathAndQuery};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::BodyExt as _;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Builder};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::Config;
use kube::client::{Body, ConfigExt as _};
use rustls::pki_types::ServerName;

use crate::kubeconfig::ConfigError;
use crate::transport::{AnswerBody, BoxError};

/// How long a silent connection is believed: then the server is asked for a sign of life.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How long that sign may take.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);

/// A server that is reached over one connection.
pub(crate) struct Multiplexed {
    client: legacy::Client<HttpsConnector<HttpConnector>, Body>,
    server: Uri,
    authorization: Option<HeaderValue>,
    config: Config,
    raw: OnceLock<kube::Client>,
}

impl Multiplexed {
    pub(crate) fn new(
        config: Config,
        authorization: Option<HeaderValue>,
    ) -> Result<Self, ConfigError> {
        let connect = |error| ConfigError::Connect(Box::new(error));
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Somebody else may be first; it is the same one then.
            let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        }
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(config.connect_timeout);
        let tls = config.rustls_client_config().map_err(connect)?;
        let mut builder = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http();
        let name = config.tls_server_name.clone();
        if let Some(name) = name.and_then(|name| ServerName::try_from(name).ok()) {
            builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
        }
        let connector = builder.enable_all_versions().wrap_connector(connector);
        let client = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .http2_adaptive_window(true)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(SIGN_OF_LIFE)
            .build(connector);
        Ok(Self {
            client,
            server: config.cluster_url.clone(),
            authorization,
            config,
            raw: OnceLock::new(),
        })
    }

    pub(crate) async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<Response<AnswerBody>, BoxError> {
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

    /// A client of its own for whoever needs more than calls.
    pub(crate) fn raw(&self) -> kube::Client {
        let made = self.raw.get_or_init(|| {
            kube::Client::try_from(self.config.clone())
                .expect("invariant: the same configuration has made a client before")
        });
        made.clone()
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

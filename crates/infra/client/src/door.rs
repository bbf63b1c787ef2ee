//! What it takes to open a connection of one's own to a server.
//!
//! [`crate::Client`] shares connections and decodes what comes; whoever measures a server wants neither.

use std::sync::Arc;

use http::{HeaderValue, Uri};
use kube::client::ConfigExt as _;
use rustls::ClientConfig;

use crate::kubeconfig::{ConfigError, KubeconfigSource};

/// A server's address and the means to be let in.
#[derive(Clone)]
pub struct Door {
    /// The server's URL.
    pub server: Uri,
    /// Whom to trust and what to show.
    pub tls: Arc<ClientConfig>,
    /// The name in the server's certificate, if it is not the host's.
    pub server_name: Option<String>,
    /// What stands in `Authorization`, marked as a secret.
    pub authorization: Option<HeaderValue>,
}

impl KubeconfigSource {
    /// How to reach the server by a client certificate, a token or as nobody. Plugins that fetch credentials are not run.
    pub async fn door(&self) -> Result<Door, ConfigError> {
        let config = self.config().await?;
        let tls = config
            .rustls_client_config()
            .map_err(|error| ConfigError::Connect(Box::new(error)))?;
        let token = config.auth_info.token.as_ref().and_then(bearer);
        Ok(Door {
            server: config.cluster_url,
            tls: Arc::new(tls),
            server_name: config.tls_server_name,
            authorization: token,
        })
    }
}

fn bearer(token: &impl secrecy::ExposeSecret<str>) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Secrets stay out of logs.
impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

//! How an etcd is reached, and why it may not be.

use std::fmt;
use std::time::Duration;

use super::trouble::EtcdError;

/// Where the etcd is and how to deal with it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The client URLs of the members, such as `https://10.0.0.1:2379`. The first that works is used until it does
    /// not, then the next; several replicas spread their load by naming them in different orders.
    pub endpoints: Vec<String>,
    /// Everything is kept below this, such as `/karavel` or `/registry`. A trailing slash makes no difference.
    pub prefix: String,
    /// How `https` endpoints are trusted and what we show them; required for those, refused for `http`.
    pub tls: Option<Tls>,
    /// Who we are, when authentication is enabled.
    pub user: Option<User>,
    /// How long a request may take altogether, with all attempts. A write that takes longer has an unknown outcome.
    pub timeout: Duration,
    /// How many requests may be under way at once; more wait for their turn.
    pub concurrency: usize,
    /// How many bytes of changes wait for the reader of a watch, give or take one message of etcd. A reader who is
    /// further behind has the rest read from etcd's history, which may meanwhile be compacted.
    pub watch_bytes: usize,
}

/// Certificates, as PEM text.
#[derive(Clone)]
pub struct Tls {
    /// Who may have signed the certificates of etcd's members; several certificates may follow each other.
    pub ca: String,
    /// Our certificate with its chain, and its key, if etcd asks clients for one.
    pub identity: Option<(String, String)>,
    /// The name in the members' certificates, if it is not the host of the endpoint.
    pub server_name: Option<String>,
}

/// A user of etcd's own authentication.
#[derive(Clone)]
pub struct User {
    /// The name.
    pub name: String,
    /// The password.
    pub password: String,
}

impl Options {
    /// One or more endpoints and a prefix, without TLS or user, and with the usual limits.
    pub fn new(
        endpoints: impl IntoIterator<Item = impl Into<String>>,
        prefix: impl Into<String>,
    ) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            prefix: prefix.into(),
            tls: None,
            user: None,
            // Longer than an election, so that a change of leader is usually ridden out.
            timeout: Duration::from_secs(10),
            concurrency: 512,
            watch_bytes: 16 * 1024 * 1024,
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Why a store in etcd was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nowhere to connect to.
    #[error("no etcd endpoint is given: name at least one, such as http://127.0.0.1:2379")]
    NoEndpoint,
    /// An endpoint is not a URL.
    #[error("etcd endpoint {endpoint:?} is not a URL such as https://10.0.0.1:2379")]
    Endpoint {
        /// What was given.
        endpoint: String,
    },
    /// An `https` endpoint without a way to trust it.
    #[error(
        "etcd endpoint {endpoint} uses TLS: give the certificate of the authority that signed etcd's"
    )]
    NoAuthority {
        /// The endpoint.
        endpoint: String,
    },
    /// Certificates for an `http` endpoint would silently not be used.
    #[error(
        "etcd endpoint {endpoint} does not use TLS although certificates are given: write https://"
    )]
    Plain {
        /// The endpoint.
        endpoint: String,
    },
    /// A certificate or key cannot be used.
    #[error("the certificates for etcd cannot be used")]
    Tls {
        /// What is wrong with them.
        source: tonic::transport::Error,
    },
    /// etcd could not be asked who it is.
    #[error("etcd cannot be used")]
    Etcd {
        /// What happened.
        source: EtcdError,
    },
    /// etcd is too old, or something else is at the other end.
    #[error("etcd at {endpoint} has version {version:?}: 3.4 or later is needed, upgrade it")]
    Version {
        /// Who said so.
        endpoint: String,
        /// The version it told.
        version: String,
    },
}

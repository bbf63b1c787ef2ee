//! From what a Cluster says to a client of its API.
//!
//! Reads:  the cluster's spec and the Secret it refers to.
//! Keeps:  credentials of one cluster are never sent to another cluster's endpoint.

mod endpoint;
mod secret;
#[cfg(test)]
mod tests;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use client::{BoxError, Client, Endpoint, KubeconfigSource};

pub use crate::connect::endpoint::{Link, LinkError, link, secret_key};
pub(crate) use crate::connect::endpoint::{
    identity, impersonator_token, is_own_secret, token as token_in, trust,
};

/// A client, or why there is none.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = Result<Client, BoxError>> + Send + 'a>>;

/// How members are reached.
pub trait Connect: Send + Sync {
    /// A client of the cluster's API. Nothing needs to have been sent yet.
    fn connect<'a>(&'a self, cluster: &'a str, endpoint: &'a Endpoint) -> Connecting<'a>;
}

/// Over the network, as the endpoint says.
#[derive(Clone, Copy, Debug)]
pub struct Dial {
    /// How long a call may take. Upstream: 32 s.
    pub deadline: Duration,
    /// How many calls to one member run at once.
    pub calls: usize,
}

impl Default for Dial {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(32),
            calls: 32,
        }
    }
}

impl Connect for Dial {
    fn connect<'a>(&'a self, _: &'a str, endpoint: &'a Endpoint) -> Connecting<'a> {
        Box::pin(async move {
            let source = KubeconfigSource::Endpoint(Box::new(endpoint.clone()));
            let client = Client::from_kubeconfig(&source).await?;
            Ok(client.limited(self.deadline, self.calls))
        })
    }
}

/// Always the same client, whatever the cluster says: beside the member, where the agent runs.
#[derive(Clone)]
pub struct Beside(pub Client);

impl Connect for Beside {
    fn connect<'a>(&'a self, _: &'a str, _: &'a Endpoint) -> Connecting<'a> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

impl fmt::Debug for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Beside").finish()
    }
}

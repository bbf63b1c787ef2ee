//! Calls to servers outside: what those who need one ask for, without knowing how the network is reached.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use object::Value;

/// A call under way: the answer's body, or why there is none.
pub type Calling<'a> = Pin<Box<dyn Future<Output = Result<Bytes, String>> + Send + 'a>>;

/// Whoever can call a webhook.
pub trait Caller: Send + Sync {
    /// Sends a JSON document to where a `clientConfig` says, and waits for the one that comes back.
    fn post<'a>(&'a self, config: &'a Value, document: Bytes, limit: Duration) -> Calling<'a>;
}

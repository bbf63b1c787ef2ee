//! The way into whichever control plane runs.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use apiserver::{Handle, InProcess};
use http::{Request, Response};
use serve::body::Body;
use tower_service::Service;

/// Answers as the control plane that runs at the moment does to its administrator; clones are the same door.
#[derive(Clone, Default)]
pub(crate) struct Door {
    inside: Arc<Mutex<Option<InProcess>>>,
}

/// There is nobody behind the door.
#[derive(Debug)]
pub(crate) struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the control plane does not run")
    }
}

impl std::error::Error for Closed {}

impl Door {
    pub(crate) fn open(&self, handle: &Handle) {
        let administrator = handle.as_user(access::names::apiserver());
        *self.inside.lock().unwrap_or_else(PoisonError::into_inner) = Some(administrator);
    }

    pub(crate) fn close(&self) {
        *self.inside.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Service<Request<client::Body>> for Door {
    type Response = Response<Body>;
    type Error = Closed;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Closed>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<client::Body>) -> Self::Future {
        let inside = self
            .inside
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        Box::pin(async move {
            let Some(mut inside) = inside else {
                return Err(Closed);
            };
            match inside.call(request).await {
                Ok(response) => Ok(response),
                Err(never) => match never {},
            }
        })
    }
}

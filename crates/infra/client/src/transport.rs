//! How a request reaches a server: over the network, or straight into its service.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::OnceLock;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use kube::client::Body;
use tower_service::Service;

use crate::remote::Remote;

/// An error of any kind.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// The body of an answer, as it comes.
pub type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;

type Answering = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, BoxError>> + Send>>;

pub(crate) enum Transport {
    /// Straight into a service of this process. The client on top of it is only made for who asks for it.
    InProcess {
        service: Box<dyn Answers>,
        raw: OnceLock<kube::Client>,
    },
    /// Through a client that somebody else has set up.
    Network(kube::Client),
    /// Over connections of our own.
    Remote(Box<Remote>),
}

/// A service whose types are forgotten.
pub(crate) trait Answers: Send + Sync {
    fn answer(&self, request: Request<Body>) -> Answering;
    fn kube(&self) -> kube::Client;
}

impl Transport {
    pub(crate) fn in_process<S, B>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self::InProcess {
            service: Box::new(InProcess(service)),
            raw: OnceLock::new(),
        }
    }

    pub(crate) async fn send(
        &self,
        request: Request<Body>,
    ) -> Result<Response<AnswerBody>, BoxError> {
        match self {
            Self::InProcess { service, .. } => service.answer(request).await,
            Self::Network(client) => {
                let response = client.send(request).await?;
                Ok(response.map(|body| body.map_err(BoxError::from).boxed_unsync()))
            }
            Self::Remote(server) => server.send(request).await,
        }
    }

    pub(crate) fn raw(&self) -> kube::Client {
        match self {
            Self::InProcess { service, raw } => raw.get_or_init(|| service.kube()).clone(),
            Self::Network(client) => client.clone(),
            Self::Remote(server) => server.raw(),
        }
    }
}

struct InProcess<S>(S);

impl<S, B> Answers for InProcess<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    fn answer(&self, request: Request<Body>) -> Answering {
        let mut service = self.0.clone();
        Box::pin(async move {
            poll_fn(|context| service.poll_ready(context))
                .await
                .map_err(Into::into)?;
            let response = service.call(request).await.map_err(Into::into)?;
            Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
        })
    }

    fn kube(&self) -> kube::Client {
        kube::Client::new(self.0.clone(), "default")
    }
}

//! A service outside of the control plane that answers questions in JSON over HTTPS, as webhooks do.

use std::future::Future;
use std::time::{Duration, SystemTime};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use listen::{Arriving, Authority, Limits, Listener, ServerIdentity, Subject};
use object::Value;
use runtime::Tasks;
use world::json;

/// The service.
pub(crate) struct Service {
    url: String,
    authority: String,
    // Dropping these ends the server and its files.
    _tasks: Tasks,
    _directory: tempfile::TempDir,
}

impl Service {
    /// Starts a service that answers so.
    pub(crate) async fn start<A, F>(answer: A) -> Self
    where
        A: Fn(Value) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Value> + Send,
    {
        let directory = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let authority = Authority::open(directory.path(), now).unwrap();
        let subject = Subject::Server {
            names: vec!["127.0.0.1".to_owned()],
        };
        let issued = authority.issue(&subject, Duration::from_secs(86_400), now);
        let identity = ServerIdentity::new(&issued.unwrap()).unwrap();
        let tls = identity.tls_config(authority.certificate_pem()).unwrap();
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).await;
        let listener = listener.unwrap();
        let url = format!("https://{}/ask", listener.address());
        let handler = move |request: Request<Arriving>| {
            let answer = answer.clone();
            async move {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let answer = answer(serde_json::from_slice(&body).unwrap()).await;
                Response::new(Full::<Bytes>::from(answer.to_string()))
            }
        };
        let mut tasks = Tasks::new();
        tasks.spawn("service", |stop| async move {
            listener.serve(tls, Limits::default(), handler, stop).await;
        });
        Self {
            url,
            authority: BASE64_STANDARD.encode(authority.certificate_pem()),
            _tasks: tasks,
            _directory: directory,
        }
    }

    /// Where it is and how it is known, as configurations of webhooks say it.
    pub(crate) fn client_config(&self) -> Value {
        json!({"url": self.url, "caBundle": self.authority})
    }
}

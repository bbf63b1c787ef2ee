//! A webhook: a real HTTPS server in this process that answers as a test wants.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use listen::{Arriving, Authority, Issued, Limits, Listener, ServerIdentity, Subject};
use object::Value;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use runtime::Tasks;
use serde_json::json;
use serve::encoding::base64;

/// The names webhooks have here.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "hook.ops.svc"];
const DAY: Duration = Duration::from_secs(24 * 3600);

/// What a webhook does when it is asked.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Says yes.
    Allow,
    /// Says no, with a code and a message.
    Deny(u16, &'static str),
    /// Says yes and changes the object.
    Patch(Value),
    /// Says yes, with these fields besides.
    With(Value),
    /// Answers with this document, whatever the review was.
    Raw(Value),
    /// Answers with a status and nothing else.
    Status(u16),
    /// Never answers.
    Hang,
    /// Hangs up in the middle of its answer.
    HangUp,
}

pub(crate) struct Hook {
    pub(crate) address: SocketAddr,
    /// In base64, as configurations have it.
    pub(crate) authority: String,
    seen: Arc<Mutex<Vec<Value>>>,
    // Dropping these ends the server.
    _tasks: Tasks,
}

impl Hook {
    /// Answers always the same.
    pub(crate) async fn always(reply: Reply) -> Self {
        Self::start(move |_| reply.clone()).await
    }

    pub(crate) async fn start(
        reply: impl Fn(&Value) -> Reply + Clone + Send + Sync + 'static,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let authority = Authority::open(directory.path(), now).unwrap();
        let names = NAMES.map(str::to_owned).to_vec();
        let issued = authority.issue(&Subject::Server { names }, DAY, now);
        Self::serve(&issued.unwrap(), authority.certificate_pem(), reply).await
    }

    /// Has one certificate, which is its own authority: what many operators make for their webhooks.
    pub(crate) async fn signed_by_itself(reply: Reply) -> Self {
        let mut params = CertificateParams::new(NAMES.map(str::to_owned).to_vec()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate_pem = params.self_signed(&key).unwrap().pem();
        let now = SystemTime::now();
        let issued = Issued {
            certificate_pem: certificate_pem.clone(),
            key_pem: key.serialize_pem(),
            renew_at: now + DAY,
            expires_at: now + DAY,
        };
        Self::serve(&issued, &certificate_pem, move |_| reply.clone()).await
    }

    async fn serve(
        issued: &Issued,
        authority: &str,
        reply: impl Fn(&Value) -> Reply + Clone + Send + Sync + 'static,
    ) -> Self {
        let identity = ServerIdentity::new(issued).unwrap();
        let tls = identity.tls_config(authority).unwrap();
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).await;
        let listener = listener.unwrap();
        let address = listener.address();
        let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
        let noting = Arc::clone(&seen);
        let handler = move |request: Request<Arriving>| {
            let (reply, seen) = (reply.clone(), Arc::clone(&noting));
            async move {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let review: Value = serde_json::from_slice(&body).unwrap();
                let answer = reply(&review);
                let uid = review["request"]["uid"].clone();
                seen.lock().unwrap().push(review);
                respond(answer, &uid).await
            }
        };
        let mut tasks = Tasks::new();
        tasks.spawn("webhook", |stop| async move {
            listener.serve(tls, Limits::default(), handler, stop).await;
        });
        Self {
            address,
            authority: base64(authority.as_bytes()),
            seen,
            _tasks: tasks,
        }
    }

    pub(crate) fn client(&self) -> Value {
        json!({"url": format!("https://{}/check", self.address), "caBundle": self.authority})
    }

    /// All reviews it was sent.
    pub(crate) fn seen(&self) -> Vec<Value> {
        self.seen.lock().unwrap().clone()
    }
}

async fn respond(reply: Reply, uid: &Value) -> Response<Full<Bytes>> {
    let review = |mut response: Value| {
        if response["uid"].is_null() {
            response["uid"] = uid.clone();
        }
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    };
    let document = match reply {
        Reply::Allow => review(json!({"allowed": true})),
        Reply::Deny(code, message) => {
            review(json!({"allowed": false, "status": {"code": code, "message": message}}))
        }
        Reply::Patch(patch) => review(json!({
            "allowed": true, "patchType": "JSONPatch", "patch": base64(patch.to_string().as_bytes()),
        })),
        Reply::With(fields) => {
            let mut response = json!({"allowed": true});
            for (name, value) in fields.as_object().unwrap() {
                response[name] = value.clone();
            }
            review(response)
        }
        Reply::Raw(document) => document,
        Reply::Status(code) => {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            return response;
        }
        Reply::Hang => std::future::pending::<Infallible>().await.into_value(),
        Reply::HangUp => {
            // More is promised than comes.
            let mut response = Response::new(Full::new(Bytes::from_static(b"{")));
            let length = http::HeaderValue::from_static("1000");
            response
                .headers_mut()
                .insert(http::header::CONTENT_LENGTH, length);
            return response;
        }
    };
    Response::new(Full::new(document.to_string().into()))
}

trait Never {
    fn into_value(self) -> Value;
}

impl Never for Infallible {
    fn into_value(self) -> Value {
        match self {}
    }
}

//! Bodies that come in drops, and bodies nobody wants.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use access::audit::{AuditLog, AuditPolicy, LogOptions};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use karavel_apiserver::{ApiServer, Audit, Extensions, Inside, Security, Storage};
use runtime::{Clock, Tasks};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use serve::call::User;
use store::Store;
use store::embedded::Retention;
use store::memory::Memory;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use tokio_rustls::TlsConnector;
use tower_service::Service;

use crate::served::{Credentials, Served};

/// One byte every ten seconds, without an end.
struct Dripping(Pin<Box<Sleep>>);

impl http_body::Body for Dripping {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        ready!(self.0.as_mut().poll(context));
        let next = Instant::now() + Duration::from_secs(10);
        self.0.as_mut().reset(next);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b" ")))))
    }
}

fn master() -> User {
    User {
        name: "root".to_owned(),
        groups: vec!["system:masters".to_owned()],
        ..User::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_comes_in_drops_is_cut_off_after_a_minute() {
    for level in ["None", "RequestResponse"] {
        let directory = tempfile::tempdir().unwrap();
        let options = LogOptions {
            path: directory.path().join("audit.log"),
            largest: 1 << 20,
            kept: None,
            oldest: None,
        };
        let (log, writer) = AuditLog::open(options).unwrap();
        // It ends with the last of those who write to it.
        drop(std::thread::spawn(writer));
        let policy = AuditPolicy::read(&json!({"rules": [{"level": level}]}));
        let extensions = Extensions {
            audit: Some(Audit {
                policy: policy.unwrap(),
                log,
            }),
            ..Extensions::default()
        };
        let inside = Inside {
            data_dir: directory.path().to_owned(),
            store: Store::Memory(Memory::new(Retention::default())),
            clock: Clock::tied("2026-01-01T00:00:00Z".parse().unwrap()),
        };
        let server = ApiServer::start_inside(inside, extensions).await.unwrap();
        let handle = server.handle();
        let mut tasks = Tasks::new();
        server.run(&mut tasks).await.unwrap();
        for line in [
            "POST /api/v1/namespaces/default/configmaps",
            "PUT /api/v1/namespaces/default/configmaps/m",
            "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        ] {
            let (method, path) = line.split_once(' ').unwrap();
            let began = Instant::now();
            let drops = Dripping(Box::pin(tokio::time::sleep(Duration::from_secs(10))));
            let request = Request::builder().method(method).uri(path);
            let request = request.body(drops).unwrap();
            let answer = handle.as_user(master()).call(request).await.unwrap();
            assert_eq!(
                answer.status(),
                StatusCode::GATEWAY_TIMEOUT,
                "{level} {line}"
            );
            let took = began.elapsed().as_secs();
            assert_eq!(took, 60, "{level} {line}");
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            let status: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(status["reason"], "Timeout");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_not_believed_is_told_so_whatever_they_send() {
    let directory = tempfile::tempdir().unwrap();
    let security = Security::default();
    let served = Served::start(directory.path(), Storage::Memory, security).await;
    let served = served.unwrap();
    let trusted = Credentials::of(directory.path()).authority;
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap();
    roots.add(authority).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let tcp = TcpStream::connect(served.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await;
    let stream = TokioIo::new(stream.unwrap());
    let opened = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await;
    let (mut sender, connection) = opened.unwrap();
    #[expect(clippy::disallowed_methods, reason = "ends with the test")]
    let connection = tokio::spawn(connection);
    for size in [0, 1, 20_000, 200_000] {
        for round in 0..40 {
            let body = Full::new(Bytes::from(vec![b'x'; size]));
            let request = Request::post("https://localhost/api/v1/namespaces/default/configmaps")
                .header("authorization", "Bearer nobody")
                .header("content-type", "application/json")
                .body(body)
                .unwrap();
            sender.ready().await.unwrap();
            let answer = sender.send_request(request).await;
            let answer = answer.unwrap_or_else(|error| panic!("{size} {round}: {error:?}"));
            assert_eq!(answer.status(), 401, "{size} bytes");
            let text = answer.into_body().collect().await;
            let text = text.unwrap_or_else(|error| panic!("{size} {round}: {error:?}"));
            let status: Value = serde_json::from_slice(&text.to_bytes()).unwrap();
            assert_eq!(status["reason"], "Unauthorized");
        }
    }
    drop(sender);
    connection.await.unwrap().unwrap();
    served.stop().await;
}

//! An authority that is not in force, and one that comes to its end while the server runs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use karavel_apiserver::{AuthorityFiles, Security, Storage};
use object::time::Time;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use serde_json::{Value, json};
use serve::server::Surroundings;
use tower_service::Service;

use crate::served::{Credentials, Served, connect, exchange, options};

/// A clock that stands still until the test moves it, and names in a row.
struct Held {
    now: AtomicI64,
    next: AtomicI64,
}

impl Surroundings for Held {
    fn now(&self) -> Time {
        Time::from_unix_seconds(self.now.load(Ordering::Relaxed))
    }

    fn uid(&self) -> String {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        format!("00000000-0000-4000-8000-{next:012}")
    }

    fn suffix(&self) -> String {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{next:05}")
    }
}

/// Writes an authority that is in force from and for so many seconds from now on.
fn authority(directory: &Path, begins: i64, ends: i64) -> Security {
    let files = AuthorityFiles {
        certificate: directory.join("own.crt"),
        key: directory.join("own.key"),
    };
    let at = |seconds: i64| {
        let far = Duration::from_secs(seconds.unsigned_abs());
        match seconds < 0 {
            true => SystemTime::now() - far,
            false => SystemTime::now() + far,
        }
    };
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = at(begins).into();
    params.not_after = at(ends).into();
    let certificate = params.self_signed(&key).unwrap().pem();
    std::fs::write(&files.certificate, certificate).unwrap();
    std::fs::write(&files.key, key.serialize_pem()).unwrap();
    Security {
        authority: Some(files),
        ..Security::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_is_not_in_force_is_refused_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    for (begins, ends, expected) in [
        (-7200, -3600, "own.crt ended at 20"),
        (3600, 7200, "own.crt is in force from 20"),
    ] {
        let security = authority(directory.path(), begins, ends);
        let refused = Served::start(directory.path(), Storage::Memory, security).await;
        let refused = refused.err().unwrap();
        let text = telemetry::chain(&refused).to_string();
        assert!(
            text.contains(expected) && text.contains("--ca-cert-file"),
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_authority_ends_nobody_gets_in_nothing_is_signed_and_the_server_is_not_ready() {
    const LIFE: i64 = 3600;
    let directory = tempfile::tempdir().unwrap();
    let security = authority(directory.path(), -3600, LIFE);
    let options = options(directory.path(), Storage::Memory, security);
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let held = Arc::new(Held {
        now: AtomicI64::new(since.as_secs().try_into().unwrap()),
        next: AtomicI64::new(1),
    });
    let served = Served::among(options, Arc::clone(&held) as _);
    let served = served.await.unwrap();
    let admin = Credentials::of(directory.path());
    let mut stream = connect(served.address, &admin.authority, Some(&admin), "localhost")
        .await
        .unwrap();
    let line = "GET /api/v1/namespaces";
    assert_eq!(exchange(&mut stream, line, "", "").await.unwrap().0, 200);
    let ready = "GET /readyz/ca";
    assert_eq!(exchange(&mut stream, ready, "", "").await.unwrap().0, 200);
    held.now.fetch_add(LIFE + 1, Ordering::Relaxed);
    // The connection was opened while all was well.
    assert_eq!(exchange(&mut stream, line, "", "").await.unwrap().0, 401);
    let inside = |line: &str, body: Value| {
        let (method, path) = line.split_once(' ').unwrap();
        let body = Full::new(Bytes::from(body.to_string()));
        let request = http::Request::builder().method(method).uri(path);
        let request = request.header("content-type", "application/json");
        let mut asking = served.handle.as_user(serve::call::User {
            name: "root".to_owned(),
            groups: vec!["system:masters".to_owned()],
            ..serve::call::User::default()
        });
        async move {
            let answer = asking.call(request.body(body).unwrap()).await.unwrap();
            let code = answer.status().as_u16();
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            (code, String::from_utf8_lossy(&body).into_owned())
        }
    };
    let (code, text) = inside("GET /readyz", json!(null)).await;
    assert_eq!(code, 500);
    assert!(
        text.contains("[-]ca failed: the certificate authority ended at 20"),
        "{text}"
    );
    assert_eq!(inside("GET /livez", json!(null)).await.0, 200);
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "ann");
    let key = KeyPair::generate().unwrap();
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let mut asked = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": "late"},
        "spec": {
            "request": serve::encoding::base64(pem.as_bytes()),
            "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"],
        },
    });
    let (code, text) = inside(&format!("POST {REQUESTS}"), asked.clone()).await;
    assert_eq!(code, 201, "{text}");
    asked["status"] = json!({"conditions": [
        {"type": "Approved", "status": "True", "reason": "r", "message": "m"},
    ]});
    let line = format!("PUT {REQUESTS}/late/approval");
    let (code, text) = inside(&line, asked).await;
    assert_eq!(code, 200, "{text}");
    let failed = async {
        loop {
            let (_, text) = inside(&format!("GET {REQUESTS}/late"), json!(null)).await;
            let request: Value = serde_json::from_str(&text).unwrap();
            assert!(request["status"]["certificate"].is_null(), "{text}");
            let second = &request["status"]["conditions"][1];
            if second["type"] == "Failed" {
                return second["message"].as_str().unwrap().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let failed = tokio::time::timeout(Duration::from_secs(30), failed).await;
    let failed = failed.unwrap();
    assert!(failed.starts_with("the signer has expired"), "{failed}");
    drop(stream);
    served.stop().await;
}

use karavel_apiserver::{Security, Storage};
use listen::{Authority, Subject};
use std::time::{Duration, SystemTime};

use crate::served::{Credentials, Served, connect, exchange, exchange_all};

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_can_be_found_in_the_log_and_is_kept_by_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::start(directory.path(), Storage::Memory, Security::default())
        .await
        .unwrap();
    let admin = Credentials::of(directory.path());
    let trusted = &admin.authority;
    for (shown, line, headers, expected) in [
        (Some(&admin), "GET /api/v1/namespaces", "", 200),
        (Some(&admin), "GET /api/v1/nowhere", "", 404),
        (Some(&admin), "GET /openapi/v2", "", 200),
        (None, "GET /readyz", "", 200),
        (None, "GET /api/v1/namespaces", "", 403),
        (None, "GET /version", "Authorization: Bearer bad\r\n", 401),
        (None, "GET /version", "Audit-ID: mine\r\n", 200),
    ] {
        let mut stream = connect(served.address, trusted, shown, "localhost")
            .await
            .unwrap();
        let (code, head, _) = exchange_all(&mut stream, line, headers, "").await.unwrap();
        assert_eq!(code, expected, "{line}");
        assert!(
            head.contains("\r\ncache-control: no-cache, private\r\n"),
            "{line}: {head}"
        );
        let id = head
            .lines()
            .find_map(|line| line.strip_prefix("audit-id: "));
        let id = id.unwrap_or_default();
        match headers.contains("Audit-ID") {
            true => assert_eq!(id, "mine"),
            false => assert_eq!(id.len(), 36, "{line}: {head}"),
        }
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_are_open_to_everybody_and_only_to_those_who_look() {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::start(directory.path(), Storage::Memory, Security::default())
        .await
        .unwrap();
    let trusted = Credentials::of(directory.path()).authority;
    for path in ["/healthz", "/livez", "/readyz"] {
        for (method, expected) in [
            ("GET", 200),
            ("POST", 403),
            ("PUT", 403),
            ("PATCH", 403),
            ("DELETE", 403),
        ] {
            let line = format!("{method} {path}");
            let (code, body) = served.ask(&trusted, "", &line, "").await.unwrap();
            assert_eq!(code, expected, "{line}: {body}");
        }
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_certificate_does_not_spoil_a_good_token() {
    let [directory, foreign] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let served = Served::start(directory.path(), Storage::Memory, Security::default())
        .await
        .unwrap();
    let admin = Credentials::of(directory.path());
    let mut stream = connect(served.address, &admin.authority, Some(&admin), "localhost")
        .await
        .unwrap();
    let account = r#"{"metadata":{"name":"ann"}}"#;
    let line = "POST /api/v1/namespaces/default/serviceaccounts";
    assert_eq!(
        exchange(&mut stream, line, "", account).await.unwrap().0,
        201
    );
    let line = "POST /api/v1/namespaces/default/serviceaccounts/ann/token";
    let (_, granted) = exchange(&mut stream, line, "", r#"{"spec":{}}"#)
        .await
        .unwrap();
    let granted: serde_json::Value = serde_json::from_str(&granted).unwrap();
    let token = granted["status"]["token"].as_str().unwrap();
    let stranger = Authority::open(foreign.path(), SystemTime::now()).unwrap();
    let subject = Subject::User {
        name: "ann".to_owned(),
        group: None,
    };
    let issued = stranger.issue(&subject, Duration::from_secs(3600), SystemTime::now());
    let issued = issued.unwrap();
    let shown = Credentials {
        certificate: issued.certificate_pem,
        key: issued.key_pem,
        ..admin.clone()
    };
    let mut stream = connect(served.address, &admin.authority, Some(&shown), "localhost")
        .await
        .unwrap();
    let bearer = format!("Authorization: Bearer {token}\r\n");
    for (headers, line, expected) in [
        ("", "GET /version", 401),
        ("", "GET /api", 401),
        (bearer.as_str(), "GET /api", 200),
        ("", "GET /api", 401),
    ] {
        let (code, body) = exchange(&mut stream, line, headers, "").await.unwrap();
        assert_eq!(code, expected, "{line}: {body}");
    }
    drop(stream);
    served.stop().await;
}

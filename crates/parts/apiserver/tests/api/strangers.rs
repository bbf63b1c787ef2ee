//! Callers whom nobody knows, over real TLS.

use karavel_apiserver::{Security, Storage};
use serde_json::{Value, json};
use serve::cache::name_of;

use crate::served::{Credentials, Served, connect, exchange};

#[tokio::test(flavor = "multi_thread")]
async fn callers_nobody_knows() {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::start(directory.path(), Storage::Memory, Security::default());
    let served = served.await.unwrap();
    let authority = Credentials::of(directory.path()).authority;
    // The header and payload of a token that claims to be an administrator, without a signature.
    let unsigned =
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06YWRtaW4iLCJncm91cHMiOlsic3lzdGVtOm1hc3RlcnMiXX0.";
    for credential in [
        "Bearer nonsense",
        "Bearer abcdef.0123456789abcdef",
        "Bearer a.b.c",
        &format!("Bearer {unsigned}"),
    ] {
        for line in [
            "GET /api/v1/namespaces",
            "POST /api/v1/namespaces",
            "DELETE /api/v1/namespaces/default",
            "GET /version",
        ] {
            let stream = connect(served.address, &authority, None, "localhost").await;
            let headers = format!("Authorization: {credential}\r\n");
            let body = r#"{"metadata":{"name":"new"}}"#;
            let told = exchange(&mut stream.unwrap(), line, &headers, body).await;
            let (code, text) = told.unwrap();
            let status: Value = serde_json::from_str(&text).unwrap_or_default();
            let shown = format!("{credential} {line}: {text}");
            assert_eq!((code, &status["kind"]), (401, &json!("Status")), "{shown}");
            assert_eq!(status["reason"], "Unauthorized", "{shown}");
        }
    }
    // Without any credential a caller is nobody, who may not even look.
    let stream = connect(served.address, &authority, None, "localhost").await;
    let told = exchange(&mut stream.unwrap(), "GET /api/v1/namespaces", "", "").await;
    let (code, text) = told.unwrap();
    assert!(
        code == 403 && text.contains("system:anonymous"),
        "{code} {text}"
    );
    let namespaces = served
        .handle
        .server()
        .cache()
        .collection(&name_of("", "namespaces"));
    assert!(namespaces.find("new").is_none());
    assert!(
        namespaces
            .find("default")
            .is_some_and(|kept| !kept.head().terminating)
    );
    served.stop().await;
}

use std::time::{Duration, SystemTime};

use access::keys::Keys;
use access::oidc::OidcOptions;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use karavel_apiserver::{Issuer, Security, Storage};
use listen::{Arriving, Authority, Limits, Listener, ServerIdentity, Subject};
use runtime::Tasks;
use serde_json::{Value, json};

use crate::served::{Credentials, Served};

#[tokio::test(flavor = "multi_thread")]
async fn users_of_an_issuer_over_https_are_who_their_claims_say() {
    let place = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    let authority = Authority::open(place.path(), now).unwrap();
    let names = vec!["localhost".to_owned()];
    let shown = authority
        .issue(&Subject::Server { names }, Duration::from_secs(3600), now)
        .unwrap();
    let tls = ServerIdentity::new(&shown)
        .unwrap()
        .tls_config(authority.certificate_pem())
        .unwrap();
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let issuer = format!("https://localhost:{}/realm", listener.address().port());
    let keys = Keys::ephemeral().unwrap();
    let documents = [
        (
            "/realm/.well-known/openid-configuration",
            json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")}),
        ),
        ("/realm/keys", keys.key_set()),
    ];
    let handler = move |request: Request<Arriving>| {
        let found = documents
            .iter()
            .find(|(path, _)| *path == request.uri().path());
        let response = match found {
            Some((_, document)) => Response::new(Full::new(Bytes::from(document.to_string()))),
            None => {
                let mut response = Response::new(Full::default());
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
        };
        async move { response }
    };
    let mut tasks = Tasks::new();
    tasks.spawn("issuer", |stop| async move {
        listener.serve(tls, Limits::default(), handler, stop).await;
    });
    let options = OidcOptions {
        username_claim: "email".to_owned(),
        groups_claim: Some("groups".to_owned()),
        groups_prefix: "corp:".to_owned(),
        algorithms: vec!["ES256".to_owned()],
        ..OidcOptions::new(&issuer, "karavel")
    };
    let believed = Issuer {
        options,
        authorities: authority.certificate_pem().as_bytes().to_vec(),
    };
    let security = Security {
        issuers: vec![believed],
        ..Security::default()
    };
    let directory = tempfile::tempdir().unwrap();
    let served = Served::start(directory.path(), Storage::Memory, security)
        .await
        .unwrap();
    let trusted = Credentials::of(directory.path()).authority;
    let seconds = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let claims = json!({
        "iss": issuer, "aud": "karavel", "sub": "7", "email": "ann@corp.example", "groups": ["dev"],
        "exp": seconds + 600,
    });
    let token = keys.sign(&claims).unwrap();
    let line = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews";
    let body =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).to_string();
    let begun = std::time::Instant::now();
    let user = loop {
        let (code, text) = served.ask(&trusted, &token, line, &body).await.unwrap();
        if code == 201 {
            let review: Value = serde_json::from_str(&text).unwrap();
            break review["status"]["userInfo"].clone();
        }
        assert_eq!(code, 401);
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the keys were fetched in time"
        );
    };
    assert_eq!(user["username"], "ann@corp.example");
    assert_eq!(user["groups"], json!(["corp:dev", "system:authenticated"]));
    let stranger = Keys::ephemeral().unwrap().sign(&claims).unwrap();
    for refused in [stranger.as_str(), "x.y.z"] {
        assert_eq!(
            served.ask(&trusted, refused, line, &body).await.unwrap().0,
            401
        );
    }
    served.stop().await;
}

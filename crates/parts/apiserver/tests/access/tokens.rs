use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use serve::call::User;
use serve::encoding::base64;

use crate::world::{World, master, user};

/// Who a token makes of a request, or nothing if it is not believed.
fn who(world: &World, token: &str) -> Option<User> {
    let request = Request::get("/version")
        .header("authorization", format!("Bearer {token}"))
        .body(())
        .unwrap();
    let mut parts = request.into_parts().0;
    let admitted = world.handle.access().admit(&mut parts).ok()?;
    assert!(
        parts.headers.get("authorization").is_none(),
        "the token goes no further"
    );
    Some(admitted.user)
}

/// Waits for a state of the world, for a while.
pub(crate) async fn eventually<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(10), async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    });
    waited.await.expect("it came true in time")
}

async fn account(world: &World, namespace: &str, name: &str) -> Value {
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    world
        .create(&path, json!({"metadata": {"name": name}}))
        .await
}

async fn token_of(world: &World, spec: Value) -> (u16, Value) {
    let line = "POST /api/v1/namespaces/shop/serviceaccounts/till/token";
    let answer = world.ask(&master(), line, json!({"spec": spec})).await;
    (answer.code, answer.body)
}

#[tokio::test]
async fn a_requested_token_is_its_account_until_that_is_gone() {
    let world = World::start().await;
    world.namespace("shop").await;
    account(&world, "shop", "till").await;
    let (code, body) = token_of(&world, json!({})).await;
    assert_eq!(code, 201, "{body}");
    assert_eq!(body["spec"]["expirationSeconds"], 3600);
    assert_eq!(
        body["spec"]["audiences"],
        json!(["https://kubernetes.default.svc.cluster.local"])
    );
    let token = body["status"]["token"].as_str().unwrap().to_owned();
    let found = who(&world, &token).unwrap();
    assert_eq!(found.name, "system:serviceaccount:shop:till");
    assert_eq!(
        found.groups,
        [
            "system:serviceaccounts",
            "system:serviceaccounts:shop",
            "system:authenticated"
        ]
    );
    assert!(found.extra["authentication.kubernetes.io/credential-id"][0].starts_with("JTI="));
    let review = json!({"spec": {"token": token}});
    let line = "POST /apis/authentication.k8s.io/v1/tokenreviews";
    let answer = world.ask(&master(), line, review.clone()).await;
    assert_eq!(answer.body["status"]["authenticated"], true);
    assert_eq!(
        answer.body["status"]["user"]["username"],
        "system:serviceaccount:shop:till"
    );
    let mut elsewhere = review;
    elsewhere["spec"]["audiences"] = json!(["vault"]);
    let answer = world.ask(&master(), line, elsewhere).await;
    assert_eq!(answer.body["status"]["authenticated"], false);
    // Another signature, another payload, another account of the same name.
    let (signed, _) = token.rsplit_once('.').unwrap();
    let (header, _) = signed.split_once('.').unwrap();
    let signature = &token[signed.len()..];
    for forged in [
        format!("{signed}.AAAA"),
        format!("{header}.e30{signature}"),
        format!("{token}x"),
    ] {
        assert!(who(&world, &forged).is_none(), "{forged}");
    }
    let line = "DELETE /api/v1/namespaces/shop/serviceaccounts/till";
    assert_eq!(world.ask(&master(), line, json!(null)).await.code, 200);
    assert!(who(&world, &token).is_none());
    account(&world, "shop", "till").await;
    assert!(
        who(&world, &token).is_none(),
        "an account of the same name is another one"
    );
}

#[tokio::test]
async fn token_requests_are_checked_field_by_field() {
    let world = World::start().await;
    world.namespace("shop").await;
    account(&world, "shop", "till").await;
    for (spec, code, message) in [
        (
            json!({"audiences": ["vault"], "expirationSeconds": 600}),
            201,
            "",
        ),
        (
            json!({"expirationSeconds": "600"}),
            400,
            "spec.expirationSeconds: must be an integer",
        ),
        (
            json!({"audiences": "vault"}),
            400,
            "spec.audiences: must be a list of strings",
        ),
        (
            json!({"expirationSeconds": 599}),
            422,
            "may not specify a duration less than 10 minutes",
        ),
        (
            json!({"expirationSeconds": 4_294_967_297_i64}),
            422,
            "may not specify a duration larger than 2^32 seconds",
        ),
        (
            json!({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "absent"}}),
            404,
            "secrets \"absent\" not found",
        ),
        (
            json!({"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}}),
            400,
            "cannot bind token to object of type",
        ),
    ] {
        let (found, body) = token_of(&world, spec.clone()).await;
        let text = body["message"].as_str().unwrap_or_default();
        assert_eq!(found, code, "{spec}: {text}");
        assert!(text.contains(message), "{spec}: {text}");
        if let Some(token) = body["status"]["token"].as_str() {
            assert!(
                who(&world, token).is_none(),
                "it is meant for somebody else"
            );
        }
    }
}

#[tokio::test]
async fn a_bound_token_ends_with_what_it_is_bound_to() {
    let world = World::start().await;
    world.namespace("shop").await;
    account(&world, "shop", "till").await;
    let secrets = "/api/v1/namespaces/shop/secrets";
    world
        .create(secrets, json!({"metadata": {"name": "s"}}))
        .await;
    let reference = json!({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s"}});
    let (_, body) = token_of(&world, reference).await;
    let token = body["status"]["token"].as_str().unwrap().to_owned();
    assert!(who(&world, &token).is_some());
    let line = format!("DELETE {secrets}/s");
    world.ask(&master(), &line, json!(null)).await;
    assert!(who(&world, &token).is_none());
}

#[tokio::test]
async fn secrets_for_tokens_are_filled_count_until_marked_and_go_with_their_account() {
    let world = World::start().await;
    world.namespace("shop").await;
    let secret = json!({
        "metadata": {"name": "till-token", "annotations": {"kubernetes.io/service-account.name": "till"}},
        "type": "kubernetes.io/service-account-token",
    });
    account(&world, "shop", "till").await;
    let secrets = "/api/v1/namespaces/shop/secrets";
    world.create(secrets, secret).await;
    let line = format!("GET {secrets}/till-token");
    let token = eventually(async || {
        let answer = world.ask(&master(), &line, json!(null)).await;
        let line = "POST /apis/authentication.k8s.io/v1/tokenreviews";
        let encoded = answer.body["data"]["token"].as_str()?;
        assert_eq!(answer.body["data"]["namespace"], base64(b"shop"));
        assert!(answer.body["data"]["ca.crt"].is_string());
        // The review decodes nothing; the token is taken out of its base64 by the same alphabet jq users have.
        let token = decode(encoded);
        let review = json!({"spec": {"token": token}});
        let answer = world.ask(&master(), line, review).await;
        (answer.body["status"]["authenticated"] == true).then_some(token)
    })
    .await;
    assert_eq!(
        who(&world, &token).unwrap().name,
        "system:serviceaccount:shop:till"
    );
    let day = eventually(async || {
        let secret = world.ask(&master(), &line, json!(null)).await.body;
        let day = &secret["metadata"]["labels"]["kubernetes.io/legacy-token-last-used"];
        day.as_str().map(str::to_owned)
    })
    .await;
    assert!(day.len() == 10 && day.starts_with("20"), "{day}");
    for (since, is_believed) in [(json!("2026-01-31"), false), (json!(null), true)] {
        let mark =
            json!({"metadata": {"labels": {"kubernetes.io/legacy-token-invalid-since": since}}});
        let line = format!("PATCH {secrets}/till-token");
        assert_eq!(world.ask(&master(), &line, mark).await.code, 200);
        assert_eq!(who(&world, &token).is_some(), is_believed, "{since}");
    }
    let account = "DELETE /api/v1/namespaces/shop/serviceaccounts/till";
    world.ask(&master(), account, json!(null)).await;
    assert!(who(&world, &token).is_none());
    eventually(async || {
        let answer = world.ask(&master(), &line, json!(null)).await;
        (answer.code == 404).then_some(())
    })
    .await;
}

#[tokio::test]
async fn every_namespace_gets_a_default_account() {
    let world = World::start().await;
    world.namespace("shop").await;
    for namespace in ["default", "kube-system", "shop"] {
        let line = format!("GET /api/v1/namespaces/{namespace}/serviceaccounts/default");
        eventually(async || {
            let answer = world.ask(&master(), &line, json!(null)).await;
            (answer.code == 200).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn bootstrap_tokens_introduce_newcomers() {
    let world = World::start().await;
    let data = json!({
        "token-id": base64(b"abcdef"), "token-secret": base64(b"0123456789abcdef"),
        "usage-bootstrap-authentication": base64(b"true"),
        "auth-extra-groups": base64(b"system:bootstrappers:karmada:default-cluster-token"),
    });
    let secret = json!({
        "metadata": {"name": "bootstrap-token-abcdef"}, "type": "bootstrap.kubernetes.io/token", "data": data,
    });
    assert!(who(&world, "abcdef.0123456789abcdef").is_none());
    world
        .create("/api/v1/namespaces/kube-system/secrets", secret)
        .await;
    let newcomer = who(&world, "abcdef.0123456789abcdef").unwrap();
    assert_eq!(newcomer.name, "system:bootstrap:abcdef");
    assert!(who(&world, "abcdef.0123456789abcdeg").is_none());
}

#[tokio::test]
async fn the_issuer_tells_its_keys_to_those_who_may_know() {
    let world = World::start().await;
    let account = user(
        "system:serviceaccount:shop:till",
        &["system:serviceaccounts", "system:authenticated"],
    );
    let line = "GET /.well-known/openid-configuration";
    let answer = world.ask(&account, line, json!(null)).await;
    assert_eq!(answer.code, 200);
    assert_eq!(
        answer.body["id_token_signing_alg_values_supported"],
        json!(["ES256"])
    );
    let request = Request::get("/openid/v1/jwks")
        .body(Full::new(Bytes::new()))
        .unwrap();
    use tower_service::Service;
    let response = world.handle.as_user(account).call(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(
        response.headers()["content-type"],
        "application/jwk-set+json"
    );
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let keys: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(keys["keys"][0]["crv"], "P-256");
}

pub(crate) fn decode(text: &str) -> String {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let (mut bits, mut count, mut out) = (0_u32, 0, Vec::new());
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        bits = bits << 6 | value(byte);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    String::from_utf8(out).unwrap()
}

use serde_json::json;

use super::plan::plan;
use object::Object;

fn check(r#type: &str, expiration: Option<&str>, expected: &str) {
    let mut secret = json!({"type": r#type, "data": {"token-id": "YWJjZGVm"},
                            "metadata": {"name": "t", "namespace": "kube-system", "uid": "u"}});
    if let Some(expiration) = expiration {
        secret["data"]["expiration"] = expiration.into();
    }
    let now = "2026-06-01T00:00:00Z".parse().unwrap();
    let plan = plan(&Object::from_value(secret).unwrap(), now);
    let found = match plan.actions.as_slice() {
        [intent::Action::Delete { cause, .. }] => cause.clone(),
        _ => serde_json::to_value(plan.wake)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned(),
    };
    assert_eq!(found, expected);
}

#[test]
fn a_bootstrap_token_goes_when_it_expires() {
    let token = "bootstrap.kubernetes.io/token";
    // 2026-05-31T23:59:59Z and 2026-06-01T00:00:01Z
    check(
        token,
        Some("MjAyNi0wNS0zMVQyMzo1OTo1OVo="),
        "the token expired at 2026-05-31T23:59:59Z",
    );
    check(
        token,
        Some("MjAyNi0wNi0wMVQwMDowMDowMVo="),
        "2026-06-01T00:00:01Z",
    );
    check(token, None, "onChange");
    for nonsense in ["???", "bm8=", "/w=="] {
        check(
            token,
            Some(nonsense),
            "the token's expiration makes no sense",
        );
    }
    check("Opaque", Some("MjAyNi0wNS0zMVQyMzo1OTo1OVo="), "onChange");
}

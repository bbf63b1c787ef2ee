//! What is asked like an object and never stored passes admission too: tokens, and who may do what.

use serde_json::{Value, json};

use crate::hook::{Hook, Reply};
use crate::world::{Answer, World, master};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const TOKEN: &str = "POST /api/v1/namespaces/default/serviceaccounts/till/token";
const REVIEW: &str = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// A world with an account.
async fn world() -> World {
    let world = World::start().await;
    world
        .create(
            "/api/v1/namespaces/default/serviceaccounts",
            json!({"metadata": {"name": "till"}}),
        )
        .await;
    world
}

async fn ask(world: &World, line: &str) -> Answer {
    let document = match line {
        TOKEN => json!({"spec": {"audiences": ["vault"]}}),
        _ => json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}),
    };
    world.ask(&master(), line, document).await
}

fn show(answer: &Answer) -> String {
    match answer.code {
        201 => "made".to_owned(),
        code => format!("{code} {}", answer.body["message"].as_str().unwrap()),
    }
}

/// Rules that want to see both.
fn rules() -> Value {
    json!([
        {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["serviceaccounts/token"]},
        {"operations": ["CREATE"], "apiGroups": ["authorization.k8s.io"], "apiVersions": ["v1"], "resources": ["*"]},
    ])
}

async fn configure(world: &World, sort: &str, hook: &Hook) {
    let webhook = json!({
        "name": "h.example.com", "clientConfig": hook.client(), "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "rules": rules(),
    });
    let path = format!("{GROUP}/{sort}webhookconfigurations");
    let object = json!({"metadata": {"name": sort}, "webhooks": [webhook]});
    world.create(&path, object).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_asked_about_tokens_and_reviews() {
    for sort in ["mutating", "validating"] {
        let world = world().await;
        let hook = Hook::always(Reply::Deny(403, "not you")).await;
        configure(&world, sort, &hook).await;
        let denied = "403 admission webhook \"h.example.com\" denied the request: not you";
        for line in [TOKEN, REVIEW] {
            assert_eq!(show(&ask(&world, line).await), denied, "{sort} {line}");
        }
        let seen = hook.seen();
        let shown: Vec<Value> = seen
            .iter()
            .map(|review| {
                let request = &review["request"];
                json!([
                    request["operation"],
                    request["kind"],
                    request["resource"]["resource"],
                    request["subResource"],
                    request["name"],
                    request["namespace"],
                    request["object"]["kind"],
                ])
            })
            .collect();
        assert_eq!(
            shown,
            [
                json!([
                    "CREATE",
                    {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"},
                    "serviceaccounts",
                    "token",
                    "till",
                    "default",
                    "TokenRequest",
                ]),
                json!([
                    "CREATE",
                    {"group": "authorization.k8s.io", "version": "v1", "kind": "SelfSubjectAccessReview"},
                    "selfsubjectaccessreviews",
                    null,
                    null,
                    null,
                    "SelfSubjectAccessReview",
                ]),
            ],
            "{sort}"
        );
        // The default is there by then; no token has been made for a webhook to see.
        assert_eq!(
            seen[0]["request"]["object"]["spec"]["expirationSeconds"],
            3600
        );
        assert!(!seen[0].to_string().contains("eyJ"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_changes_what_a_token_is_for_within_what_is_valid() {
    let world = world().await;
    let hook = Hook::start(|review| {
        let wanted = review["request"]["object"]["spec"]["audiences"][0].clone();
        Reply::Patch(match wanted.as_str() {
            Some("vault") => json!([
                {"op": "replace", "path": "/spec/expirationSeconds", "value": 600},
                {"op": "add", "path": "/spec/audiences/-", "value": "ledger"},
            ]),
            Some("short") => {
                json!([{"op": "replace", "path": "/spec/expirationSeconds", "value": 1}])
            }
            // Nothing of this may upset the server.
            _ => json!([{"op": "replace", "path": "/spec", "value": "gone"}]),
        })
    })
    .await;
    configure(&world, "mutating", &hook).await;
    let judge = Hook::always(Reply::Allow).await;
    configure(&world, "validating", &judge).await;
    let made = ask(&world, TOKEN).await.body;
    assert_eq!(made["spec"]["expirationSeconds"], 600);
    assert_eq!(made["spec"]["audiences"], json!(["vault", "ledger"]));
    assert!(!made["status"]["token"].as_str().unwrap().is_empty());
    let judged = &judge.seen()[0]["request"]["object"];
    assert_eq!(judged["spec"], made["spec"]);
    assert_eq!(judged["metadata"]["name"], "till");
    for (audience, expected) in [
        (
            "short",
            "422 TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes",
        ),
        ("broken", "made"),
    ] {
        let document = json!({"spec": {"audiences": [audience]}});
        let answer = world.ask(&master(), TOKEN, document).await;
        assert_eq!(show(&answer), expected, "{audience}");
    }
}

#[tokio::test]
async fn policies_are_asked_about_tokens_and_not_about_reviews() {
    let world = world().await;
    let policy = json!({
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": rules()},
            "validations": [{
                "expression": "request.kind.kind == 'TokenRequest' && !('vault' in object.spec.audiences)",
                "message": "the vault is closed", "reason": "Forbidden",
            }],
        },
    });
    world
        .create(&format!("{GROUP}/validatingadmissionpolicies"), policy)
        .await;
    let binding = json!({"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}});
    world
        .create(
            &format!("{GROUP}/validatingadmissionpolicybindings"),
            binding,
        )
        .await;
    assert_eq!(
        show(&ask(&world, TOKEN).await),
        "403 serviceaccounts \"till\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: the vault is closed"
    );
    let document = json!({"spec": {"audiences": ["ledger"]}});
    let answer = world.ask(&master(), TOKEN, document).await;
    assert_eq!(show(&answer), "made");
    assert_eq!(show(&ask(&world, REVIEW).await), "made");
}

#[tokio::test]
async fn nothing_is_asked_for_in_a_namespace_that_is_not_there() {
    let world = world().await;
    let line = TOKEN.replace("default", "nowhere");
    let answer = world.ask(&master(), &line, json!({})).await;
    assert_eq!(show(&answer), "404 namespaces \"nowhere\" not found");
    // Whether somebody may do something there can be asked.
    let line = "POST /apis/authorization.k8s.io/v1/namespaces/nowhere/localsubjectaccessreviews";
    let question = json!({"spec": {"user": "ann", "resourceAttributes": {
        "verb": "get", "resource": "pods", "namespace": "nowhere"}}});
    let answer = world.ask(&master(), line, question).await;
    assert_eq!(show(&answer), "made");
}

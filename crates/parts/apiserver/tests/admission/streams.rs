//! Streams to what stands behind objects: webhooks and policies are asked about them as CONNECT.

use std::sync::Arc;

use http::StatusCode;
use karavel_apiserver::Extensions;
use serde_json::{Value, json};
use serve::body;
use serve::call::Call;
use serve::handler::{Asked, Handler, Outcome};
use serve::server::Server;

use crate::hook::{Hook, Reply};
use crate::world::{Answer, World, known};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const CALL: &str = "GET /apis/cluster.karmada.io/v1alpha1/clusters/east/proxy/api/v1/nodes?limit=5";

/// Answers in a member's place.
struct Reached;

impl Handler for Reached {
    fn answer<'a>(&'a self, _: &'a Server, _: &'a Call, _: Asked) -> Outcome<'a> {
        let response = body::text(StatusCode::OK, "{\"reached\":true}");
        Box::pin(std::future::ready(Ok(response)))
    }
}

async fn world() -> World {
    let mut extensions = Extensions::default();
    extensions
        .handlers
        .insert("cluster.karmada.io", "clusters", "proxy", Arc::new(Reached));
    let world = World::with(extensions).await;
    let subject = json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"});
    world
        .bind("", ("ClusterRole", "cluster-admin"), subject)
        .await;
    world
}

fn show(answer: &Answer) -> String {
    let told = answer.body["message"].as_str();
    format!("{} {}", answer.code, told.unwrap_or("reached"))
}

fn rules() -> Value {
    json!([{
        "operations": ["CONNECT"], "apiGroups": ["cluster.karmada.io"], "apiVersions": ["*"], "resources": ["clusters/proxy"],
    }])
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_asked_about_streams_and_may_refuse_but_not_change_them() {
    let deny = "403 admission webhook \"h.example.com\" denied the request: stay out";
    let patch = json!([{"op": "replace", "path": "/path", "value": "api"}]);
    for (sort, reply, expected) in [
        ("validating", Reply::Allow, "200 reached"),
        ("mutating", Reply::Allow, "200 reached"),
        ("validating", Reply::Deny(403, "stay out"), deny),
        ("mutating", Reply::Deny(403, "stay out"), deny),
        (
            "mutating",
            Reply::Patch(patch),
            "500 Internal error occurred: the patch of webhook \"h.example.com\" cannot be used: a stream cannot be changed",
        ),
    ] {
        let world = world().await;
        let hook = Hook::always(reply).await;
        let webhook = json!({
            "name": "h.example.com", "clientConfig": hook.client(), "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "rules": rules(),
        });
        let path = format!("{GROUP}/{sort}webhookconfigurations");
        let object = json!({"metadata": {"name": "h"}, "webhooks": [webhook]});
        world.create(&path, object).await;
        let answer = world.ask(&known("ann"), CALL, json!(null)).await;
        assert_eq!(show(&answer), expected, "{sort}");
        let seen = hook.seen();
        let request = &seen[0]["request"];
        assert_eq!(seen.len(), 1);
        assert_eq!(
            json!([
                request["operation"],
                request["kind"]["kind"],
                request["subResource"],
                request["name"],
                request["object"]["path"],
                request["userInfo"]["username"],
                request["options"],
            ]),
            json!([
                "CONNECT",
                "ClusterProxyOptions",
                "proxy",
                "east",
                "api/v1/nodes",
                "ann",
                null
            ])
        );
    }
}

#[tokio::test]
async fn what_is_forwarded_with_a_stream_is_left_to_whoever_gets_it() {
    let world = world().await;
    for query in [
        "GET timeout=30",
        "GET limit=ten",
        "GET resourceVersion=newest",
        "GET sendInitialEvents=yes",
        "POST dryRun=perhaps",
        "POST fieldManager=%0a",
    ] {
        let (method, query) = query.split_once(' ').unwrap();
        let call = CALL.replace("GET", method).replace("limit=5", query);
        let answer = world.ask(&known("ann"), &call, json!(null)).await;
        assert_eq!(show(&answer), "200 reached", "{call}");
    }
}

#[tokio::test]
async fn policies_are_asked_about_streams() {
    let world = world().await;
    let policy = json!({
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": rules()},
            "validations": [{"expression": "!object.path.startsWith('api/v1/nodes')", "message": "nodes are private"}],
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
    let refused = world.ask(&known("ann"), CALL, json!(null)).await;
    assert_eq!(refused.code, 422, "{}", refused.body);
    let message = refused.body["message"].as_str().unwrap();
    assert!(message.ends_with("nodes are private"), "{message}");
    let elsewhere = CALL.replace("nodes", "pods");
    let answer = world.ask(&known("ann"), &elsewhere, json!(null)).await;
    assert_eq!(show(&answer), "200 reached");
}

//! What the parts of the control plane may do, asked as themselves.

use serde_json::json;
use serve::call::User;

use crate::certificates::{REQUESTS, object, request};
use crate::world::{World, subject, user};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

fn part(name: &str) -> User {
    user(
        &format!("system:karavel:{name}"),
        &["system:karavel:components", "system:authenticated"],
    )
}

#[tokio::test]
async fn parts_with_a_free_hand_give_nobody_anything() {
    let world = World::start().await;
    world
        .role("", "strong", &["* * *", "get core secrets"])
        .await;
    world
        .bind("", ("ClusterRole", "strong"), subject("ann"))
        .await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let owned =
        json!({"metadata": {"name": "s", "finalizers": ["x.io/hold"]}, "data": {"k": "dg=="}});
    world.create(secrets, owned).await;
    let csr = object(
        "r",
        "example.com/x",
        &request("u", "g", &[]),
        &["client auth"],
    );
    world.create(REQUESTS, csr).await;
    let claim = json!({"metadata": {"labels": {"propagationpolicy.karmada.io/permanent-id": "p"}}});
    let gathered =
        json!({"metadata": {"labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}});
    let rules = json!({"rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]});
    let ann = json!({"subjects": [subject("eve")]});
    let freed = json!({"metadata": {"finalizers": []}});
    let account = json!({"metadata": {"name": "a"}});
    for (who, line, body, code) in [
        (
            "controllers",
            format!("PATCH {RBAC}/clusterroles/strong"),
            claim.clone(),
            200,
        ),
        (
            "controllers",
            format!("PATCH {RBAC}/clusterroles/strong"),
            gathered.clone(),
            403,
        ),
        (
            "controllers",
            format!("PATCH {RBAC}/clusterroles/view"),
            rules.clone(),
            403,
        ),
        (
            "controllers",
            format!("PATCH {RBAC}/clusterrolebindings/strong-ann"),
            claim.clone(),
            200,
        ),
        (
            "controllers",
            format!("PATCH {RBAC}/clusterrolebindings/strong-ann"),
            ann.clone(),
            403,
        ),
        (
            "controllers",
            format!("PATCH {secrets}/s"),
            json!({"data": {"k": "eA=="}}),
            403,
        ),
        (
            "controllers",
            format!("PUT {RBAC}/clusterroles/strong"),
            json!({}),
            403,
        ),
        (
            "controllers",
            format!("DELETE {secrets}/s"),
            json!(null),
            403,
        ),
        (
            "controllers",
            format!("POST {RBAC}/clusterroles"),
            json!({"metadata": {"name": "n"}}),
            403,
        ),
        (
            "housekeeping",
            format!("PATCH {RBAC}/clusterroles/strong"),
            json!({"metadata": {"labels": {"x.karmada.io/y": "z"}}}),
            403,
        ),
        (
            "housekeeping",
            format!("PATCH {RBAC}/clusterroles/strong"),
            rules,
            403,
        ),
        (
            "housekeeping",
            format!("PATCH {RBAC}/clusterrolebindings/strong-ann"),
            ann,
            403,
        ),
        (
            "housekeeping",
            format!("PATCH {secrets}/s"),
            json!({"data": {"k": "eA=="}}),
            403,
        ),
        ("housekeeping", format!("PATCH {secrets}/s"), freed, 200),
        (
            "housekeeping",
            "POST /api/v1/namespaces/default/serviceaccounts".to_owned(),
            account,
            403,
        ),
        (
            "housekeeping",
            format!("PATCH {REQUESTS}/r/approval"),
            json!({"status": {"conditions": [
            {"type": "Approved", "status": "True"}]}}),
            403,
        ),
        (
            "housekeeping",
            "POST /api/v1/namespaces/default/serviceaccounts/default/token".to_owned(),
            json!({}),
            403,
        ),
        (
            "housekeeping",
            format!("DELETE {secrets}/s"),
            json!(null),
            200,
        ),
    ] {
        let answer = world.ask(&part(who), &line, body.clone()).await;
        assert_eq!(answer.code, code, "{who} {line} {body}: {}", answer.body);
    }
}

#[tokio::test]
async fn parts_may_not_act_as_others() {
    let world = World::start().await;
    for name in [
        "controllers",
        "housekeeping",
        "cache",
        "scheduler",
        "member",
        "work",
        "cluster-lifecycle",
        "proxy",
    ] {
        let headers = [
            ("impersonate-user", "root"),
            ("impersonate-group", "system:masters"),
        ];
        let line = "GET /api/v1/namespaces";
        let answer = world
            .ask_with(&part(name), &headers, line, json!(null))
            .await;
        assert_eq!(answer.code, 403, "{name}: {}", answer.body);
    }
}

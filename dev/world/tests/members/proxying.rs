//! `clusters/NAME/proxy`: users in members, as themselves.

use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use object::Value;
use world::{Api, World, json};

use crate::{SOON, seconds};

const PROXY: &str = "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy";

/// Status and body of a call.
async fn call(api: &Api, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let media = if method == Method::PATCH {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let request = Request::builder()
        .method(method)
        .uri(format!("{PROXY}{path}"))
        .header("content-type", media)
        .body(client::Body::from(body.into_bytes()))
        .expect("the path is a path");
    let response = api.client().send(request).await;
    let response = response.unwrap_or_else(|error| panic!("{error}"));
    let status = response.status();
    let bytes = response.into_body().collect().await;
    let bytes = bytes.unwrap_or_else(|error| panic!("{error}")).to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// Lets a user through to `m1`, and do everything with ConfigMaps there.
async fn let_in(world: &World, user: &str) {
    world
        .apply(&format!(
            "
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRole
            metadata: {{name: to-m1}}
            rules:
            - {{apiGroups: [cluster.karmada.io], resources: [clusters/proxy], resourceNames: [m1], verbs: ['*']}}
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRoleBinding
            metadata: {{name: {user}-to-m1}}
            roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: to-m1}}
            subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {user}}}]
            "
        ))
        .await;
    world
        .member("m1")
        .apply(&format!(
            "
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRole
            metadata: {{name: maps}}
            rules: [{{apiGroups: [''], resources: [configmaps], verbs: ['*']}}]
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRoleBinding
            metadata: {{name: {user}-maps}}
            roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: maps}}
            subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {user}}}]
            "
        ))
        .await;
}

/// Whom the members may be asked to take somebody for.
async fn impersonated(world: &World, member: &str) -> String {
    let rules = world
        .member(member)
        .field("clusterroles", "karmada-impersonator", "rules")
        .await;
    rules.to_string()
}

#[tokio::test(start_paused = true)]
async fn c32_and_c34_users_are_themselves_in_members_they_are_let_into() {
    let world = World::with_members(2).await;
    let_in(&world, "vera").await;
    world
        .until("the member may take her for herself", SOON, async || {
            impersonated(&world, "m1").await.contains("vera")
        })
        .await;
    assert!(!impersonated(&world, "m2").await.contains("vera"));
    let vera = world.as_user("vera", &[]).await;

    let maps = "/api/v1/namespaces/default/configmaps";
    let map = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    let (status, body) = call(&vera, Method::POST, maps, map).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    let one = format!("{maps}/a");
    let patch = json!({"data": {"k": "w"}});
    for (method, path, body, expected) in [
        (Method::GET, one.as_str(), Value::Null, StatusCode::OK),
        (Method::GET, maps, Value::Null, StatusCode::OK),
        (Method::PATCH, &one, patch, StatusCode::OK),
        (
            Method::GET,
            "/api/v1/nodes",
            Value::Null,
            StatusCode::FORBIDDEN,
        ),
        (Method::DELETE, &one, Value::Null, StatusCode::OK),
        (Method::GET, &one, Value::Null, StatusCode::NOT_FOUND),
    ] {
        let (status, body) = call(&vera, method.clone(), path, body).await;
        assert_eq!(status, expected, "{method} {path}: {body}");
    }
    // Watches end when they were asked to.
    let (status, _) = call(
        &vera,
        Method::GET,
        &format!("{maps}?watch=true&timeoutSeconds=2"),
        Value::Null,
    )
    .await;
    assert_eq!(status, StatusCode::OK);

    let stranger = world.as_user("nobody", &[]).await;
    let (status, _) = call(&stranger, Method::GET, maps, Value::Null).await;
    assert_eq!(status, StatusCode::FORBIDDEN);

    world.delete("clusterrolebindings", "vera-to-m1").await;
    world
        .until("she is nobody there any more", seconds(10), async || {
            !impersonated(&world, "m1").await.contains("vera")
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn c32_without_an_account_to_impersonate_with_nobody_gets_through() {
    let world = World::with_members(1).await;
    world
        .patch(
            "clusters",
            "m1",
            json!({"spec": {"impersonatorSecretRef": null}}),
        )
        .await;
    let (status, body) = call(world.control(), Method::GET, "/api/v1/nodes", Value::Null).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        body["message"],
        "the impersonatorSecretRef of cluster m1 is nil"
    );
}

#[tokio::test(start_paused = true)]
async fn a_member_that_does_not_answer_holds_no_call_for_ever() {
    let world = World::with_members(1).await;
    world
        .member("m1")
        .refuse_connections(Some("certificate has expired"));
    let (status, body) = call(world.control(), Method::GET, "/api/v1/nodes", Value::Null).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body}");
    let message = body["message"].as_str().unwrap_or_default();
    assert!(message.contains("certificate has expired"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn c33_a_request_to_all_members_goes_to_the_one_that_has_the_object_or_to_none() {
    let world = World::with_members(2).await;
    let map =
        |name: &str| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}");
    for (member, name) in [("m1", "both"), ("m2", "both"), ("m2", "one")] {
        world.member(member).apply(&map(name)).await;
    }
    let admin = world.as_user("system:admin", &["system:masters"]).await;
    let maps = PROXY.replace("/m1/", "/*/") + "/api/v1/namespaces/default/configmaps";
    let all = async |method: Method, rest: &str| {
        let request = Request::builder()
            .method(method)
            .uri(format!("{maps}{rest}"))
            .body(client::Body::empty())
            .expect("the path is a path");
        let response = admin.client().send(request).await;
        let response = response.unwrap_or_else(|error| panic!("{error}"));
        let status = response.status();
        let bytes = response.into_body().collect().await;
        let bytes = bytes.unwrap_or_else(|error| panic!("{error}")).to_bytes();
        (
            status,
            serde_json::from_slice::<Value>(&bytes).unwrap_or_default(),
        )
    };
    let (status, body) = all(Method::DELETE, "/both").await;
    assert_eq!(status, StatusCode::CONFLICT);
    let expected = "conflict resource, exist in more than one cluster: m1,m2";
    assert_eq!(body["message"], expected);
    for member in ["m1", "m2"] {
        assert!(
            world
                .member(member)
                .get("configmaps", "default/both")
                .await
                .is_some()
        );
    }
    let (status, body) = all(Method::GET, "").await;
    assert_eq!(status, StatusCode::OK);
    let names: Vec<&Value> = body["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| &item["metadata"]["name"])
        .collect();
    assert_eq!(
        names.iter().filter(|name| **name == "both").count(),
        2,
        "{names:?}"
    );
    let (status, body) = all(Method::DELETE, "/one").await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(
        world.member("m2").get("configmaps", "default/one").await,
        None
    );
    assert_eq!(all(Method::GET, "/one").await.0, StatusCode::NOT_FOUND);
    assert_eq!(
        all(Method::POST, "").await.0,
        StatusCode::METHOD_NOT_ALLOWED
    );
}

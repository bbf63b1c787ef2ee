//! `clusters/*/proxy`: whichever member has it, and what all of them have.

use client::AnswerBody;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use object::Value;
use world::{Api, World, json};

use crate::SOON;

const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";
const MAPS: &str = "/*/proxy/api/v1/namespaces/default/configmaps";

/// The answer to a call below the clusters.
async fn send(api: &Api, method: Method, path: &str, body: &str) -> Response<AnswerBody> {
    let media = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder()
        .method(method)
        .uri(format!("{CLUSTERS}{path}"))
        .header("content-type", media)
        .body(client::Body::from(body.to_owned().into_bytes()))
        .expect("the path is a path");
    let response = api.client().send(request).await;
    response.unwrap_or_else(|error| panic!("{error}"))
}

/// Its status and body.
async fn call(api: &Api, method: Method, path: &str, body: &str) -> (StatusCode, Value) {
    let response = send(api, method, path, body).await;
    let status = response.status();
    let bytes = response.into_body().collect().await;
    let bytes = bytes.unwrap_or_else(|error| panic!("{error}")).to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// Two members; both have the ConfigMap `both`, the second has `one`.
async fn prepared() -> (World, Api) {
    let world = World::with_members(2).await;
    for (member, name) in [("m1", "both"), ("m2", "both"), ("m2", "one")] {
        let map = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}");
        world.member(member).apply(&map).await;
    }
    let admin = world.as_user("system:admin", &["system:masters"]).await;
    for member in ["m1", "m2"] {
        world
            .until("the administrator is let through", SOON, async || {
                let path = format!("/{member}/proxy/version");
                call(&admin, Method::GET, &path, "").await.0 == StatusCode::OK
            })
            .await;
    }
    (world, admin)
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().into_iter().flatten();
    let names = items.filter_map(|item| item["metadata"]["name"].as_str());
    names.filter(|name| *name != "kube-root-ca.crt").collect()
}

#[tokio::test(start_paused = true)]
async fn c33_a_request_to_all_members_goes_to_the_one_that_has_the_object_or_to_none() {
    let (world, admin) = prepared().await;
    let (m1, m2) = (world.member("m1"), world.member("m2"));
    for method in [Method::GET, Method::DELETE, Method::PATCH] {
        let path = format!("{MAPS}/both");
        let (status, body) = call(&admin, method, &path, "{\"data\": {\"a\": \"b\"}}").await;
        assert_eq!(status, StatusCode::CONFLICT);
        let expected = "conflict resource, exist in more than one cluster: m1,m2";
        assert_eq!(body["message"], expected);
    }
    for member in [m1, m2] {
        let data = member.field("configmaps", "default/both", "data").await;
        assert_eq!(data, Value::Null);
        assert!(member.get("configmaps", "default/both").await.is_some());
    }
    let one = format!("{MAPS}/one");
    let (status, body) = call(&admin, Method::GET, &one, "").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body["metadata"]["name"], "one");
    let patch = "{\"data\": {\"a\": \"b\"}}";
    let (status, body) = call(&admin, Method::PATCH, &one, patch).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(
        m2.field("configmaps", "default/one", "data.a").await,
        json!("b")
    );
    let (status, body) = call(&admin, Method::DELETE, &one, "").await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(m2.get("configmaps", "default/one").await, None);
    let (status, body) = call(&admin, Method::GET, &one, "").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let expected = "resource not found or don't have permission to get it";
    assert_eq!(body["message"], expected);
}

/// Without an answer from everybody nobody knows that one member alone has the object.
#[tokio::test(start_paused = true)]
async fn nothing_is_changed_in_the_one_member_while_another_does_not_answer() {
    let (world, admin) = prepared().await;
    world.member("m1").refuse_connections(Some("away"));
    for name in ["one", "both"] {
        let path = format!("{MAPS}/{name}");
        let (status, body) = call(&admin, Method::DELETE, &path, "").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body}");
        let expected = "cannot tell whether the resource is in one cluster only: no answer from m1; name the cluster instead of *";
        assert_eq!(body["message"], expected);
        let key = format!("default/{name}");
        let there = world.member("m2").get("configmaps", &key);
        assert!(there.await.is_some());
        let (status, _) = call(&admin, Method::GET, &path, "").await;
        assert_eq!(status, StatusCode::OK, "reading does no harm");
    }
}

/// Who has an object is asked by reading alone, whatever is to be done with it.
#[tokio::test(start_paused = true)]
async fn p23_members_are_asked_by_get_whatever_the_method() {
    let (world, admin) = prepared().await;
    for member in ["m1", "m2"] {
        world.member(member).calls();
    }
    call(&admin, Method::DELETE, &format!("{MAPS}/both"), "").await;
    call(&admin, Method::DELETE, &format!("{MAPS}/one"), "").await;
    let told = |member: &str| -> Vec<String> {
        let calls = world.member(member).calls();
        let about = |call: &String| call.contains("/configmaps/");
        calls.into_iter().filter(about).collect()
    };
    let path = "/api/v1/namespaces/default/configmaps";
    let reads = [format!("GET {path}/both"), format!("GET {path}/one")];
    assert_eq!(told("m1"), reads);
    let [both, one] = reads;
    assert_eq!(told("m2"), [both, one, format!("DELETE {path}/one")]);
}

#[tokio::test(start_paused = true)]
async fn c33_all_members_are_listed_as_one_and_nothing_else_is_done_with_all() {
    let (world, admin) = prepared().await;
    for maps in [MAPS.to_owned(), MAPS.replace('*', "%2A")] {
        let (status, body) = call(&admin, Method::GET, &maps, "").await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(names(&body), ["both", "both", "one"]);
        // A revision of one member would mean nothing to another.
        assert_eq!(body["metadata"].get("resourceVersion"), None);
    }
    for (method, query, verb) in [
        (Method::POST, "", "create"),
        (Method::DELETE, "", "deletecollection"),
        (Method::GET, "?watch=true", "watch"),
    ] {
        let (status, body) = call(&admin, method, &format!("{MAPS}{query}"), "{}").await;
        assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{verb}");
        let expected = format!("Request verb {verb} is not support");
        assert_eq!(body["message"], expected);
    }
    let (_, body) = call(&admin, Method::GET, &format!("{MAPS}?limit=1"), "").await;
    assert_eq!(names(&body), ["both", "both", "one"]);
    // One that does not answer is left out, and it is said so.
    world.member("m1").refuse_connections(Some("away"));
    let (status, body) = call(&admin, Method::GET, MAPS, "").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(names(&body), ["both", "one"]);
    let response = send(&admin, Method::GET, MAPS, "").await;
    assert_eq!(
        response.headers()["warning"],
        "299 - \"no answer from m1: left out\""
    );
    world.member("m2").refuse_connections(Some("away"));
    let (status, body) = call(&admin, Method::GET, MAPS, "").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(body["message"], "not found");
}

/// Paths that are no resources are the control plane's own, and the caller's own: nobody reads more that way.
#[tokio::test(start_paused = true)]
async fn paths_of_all_members_are_the_control_planes_and_lead_no_further() {
    let (world, admin) = prepared().await;
    let (status, body) = call(&admin, Method::GET, "/*/proxy/version", "").await;
    assert_eq!(status, StatusCode::OK);
    assert!(body["gitVersion"].is_string(), "{body}");
    for path in ["/metrics", "/configz", "/debug/pprof"] {
        let (status, _) = call(&admin, Method::GET, &format!("/*/proxy{path}"), "").await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
    }
    let stranger = world.as_user("nobody", &[]).await;
    for path in ["/*/proxy/version", MAPS] {
        let (status, _) = call(&stranger, Method::GET, path, "").await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
    }
}

/// Whoever is let into one member sees of all members what that one shows.
#[tokio::test(start_paused = true)]
async fn of_all_members_users_see_those_that_know_them() {
    let (world, _) = prepared().await;
    world
        .apply(
            "
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRole
            metadata: {name: to-m1}
            rules:
            - {apiGroups: [cluster.karmada.io], resources: [clusters/proxy], resourceNames: ['*', m1], verbs: ['*']}
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRoleBinding
            metadata: {name: vera-to-m1}
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: to-m1}
            subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: vera}]
            ",
        )
        .await;
    for member in ["m1", "m2"] {
        world
            .member(member)
            .apply(
                "
                apiVersion: rbac.authorization.k8s.io/v1
                kind: ClusterRoleBinding
                metadata: {name: vera}
                roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
                subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: vera}]
                ",
            )
            .await;
    }
    let vera = world.as_user("vera", &[]).await;
    world
        .until("she is let in", SOON, async || {
            let (status, body) = call(&vera, Method::GET, MAPS, "").await;
            status == StatusCode::OK && names(&body) == ["both"]
        })
        .await;
    let (status, _) = call(&vera, Method::DELETE, &format!("{MAPS}/both"), "").await;
    assert_eq!(status, StatusCode::OK);
    let left = world.member("m2").get("configmaps", "default/both").await;
    assert!(left.is_some());
}

//! Requests as they come, byte by byte, and what is left of the objects afterwards.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use serve::call::User;
use tower_service::Service;

use crate::registrations::registered;
use crate::world::{World, known, master, subject};

pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const WEBS: &str = "/apis/apps/v1/namespaces/default/deployments";
pub(crate) const GADGETS: &str = "/apis/test.io/v1/namespaces/default/gadgets";

/// A server with a configuration map, a deployment and a custom object that nobody should be able to harm, and a user
/// who may do nothing but look at configuration maps.
pub(crate) async fn prepare() -> World {
    let world = World::start().await;
    world
        .role("default", "looker", &["get,list,watch core configmaps"])
        .await;
    world
        .bind("default", ("Role", "looker"), subject("lou"))
        .await;
    let spec = json!({
        "type": "object", "required": ["n"],
        "properties": {
            "n": {"type": "integer", "maximum": 100}, "texts": {"type": "array", "items": {"type": "string"}},
        },
    });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.test.io"},
        "spec": {
            "group": "test.io", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    world.create(definitions, definition).await;
    let container = json!({"name": "web", "image": "nginx"});
    let deployment = json!({
        "metadata": {"name": "kept"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
        },
    });
    world.create(WEBS, deployment).await;
    let map = json!({"metadata": {"name": "kept"}, "data": {"k": "v"}});
    world.create(MAPS, map).await;
    let fixed = json!({"metadata": {"name": "fixed"}, "data": {"k": "v"}, "immutable": true});
    world.create(MAPS, fixed).await;
    served(&world, GADGETS).await;
    let gadget = json!({
        "apiVersion": "test.io/v1", "kind": "Gadget", "metadata": {"name": "kept"}, "spec": {"n": 1},
    });
    world.create(GADGETS, gadget).await;
    settle(&world).await;
    world
}

/// Waits for what the server writes by itself: accounts of namespaces, what newcomers are told, that a kind is served and
/// registered.
async fn settle(world: &World) {
    let listed = world
        .ask(&master(), "GET /api/v1/namespaces", Value::Null)
        .await;
    for namespace in listed.body["items"].as_array().unwrap() {
        let name = namespace["metadata"]["name"].as_str().unwrap();
        served(
            world,
            &format!("/api/v1/namespaces/{name}/serviceaccounts/default"),
        )
        .await;
    }
    served(
        world,
        "/api/v1/namespaces/kube-public/configmaps/cluster-info",
    )
    .await;
    let definition = "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.test.io";
    until("the kind to be established", async || {
        let found = world.ask(&master(), definition, Value::Null).await;
        let conditions = found.body["status"]["conditions"].as_array();
        conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
    })
    .await;
    registered(world).await;
}

/// Waits for something within a deadline.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while !is_so().await {
        assert!(tokio::time::Instant::now() < deadline, "{what}");
        tokio::task::yield_now().await;
    }
}

/// Waits until something is served.
pub(crate) async fn served(world: &World, path: &str) {
    until(path, async || {
        let answer = world
            .ask(&master(), &format!("GET {path}"), Value::Null)
            .await;
        answer.code == 200
    })
    .await;
}

/// Sends one request as it is; `None` if no client could send it.
pub(crate) async fn send(
    world: &World,
    user: &User,
    line: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Option<(u16, Value)> {
    let (method, uri) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body)).ok()?;
    let response = world
        .handle
        .as_user(user.clone())
        .call(request)
        .await
        .unwrap();
    let code = response.status().as_u16();
    let whole = tokio::time::timeout(Duration::from_secs(60), response.into_body().collect());
    let bytes = whole.await.unwrap().unwrap().to_bytes();
    Some((code, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
}

/// Everything that must not change.
pub(crate) async fn everything(world: &World) -> Value {
    let mut all = Vec::new();
    for path in [
        "/api/v1/configmaps",
        "/api/v1/secrets",
        "/api/v1/namespaces",
        "/apis/apps/v1/deployments",
        "/apis/test.io/v1/gadgets",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    ] {
        let listed = world
            .ask(&master(), &format!("GET {path}"), Value::Null)
            .await;
        assert_eq!(listed.code, 200, "{path}");
        all.push(listed.body["items"].clone());
    }
    Value::Array(all)
}

pub(crate) fn lou() -> User {
    known("lou")
}

//! Calls as a server sees them, and answers as a caller does.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use intent::{Part, Propagation};
use karavel_client::{
    Body, CallError, Client, DeleteOptions, Deleted, FailedGroup, ListOptions, PatchKind,
    WriteOptions,
};
use object::{GroupKind, GroupVersion, GroupVersionKind, Object, ObjectKey, ResourceType};
use serde_json::{Value, json};
use tower_service::Service;

/// Answers by path and notes what it was asked.
#[derive(Clone, Default)]
struct Server {
    answers: Arc<Mutex<Vec<(String, u16, Value)>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn with(self, path: &str, code: u16, answer: Value) -> Self {
        let answers = (path.to_owned(), code, answer);
        self.answers.lock().unwrap().push(answers);
        self
    }

    fn client(&self) -> Client {
        Client::in_process(self.clone()).limited(Duration::from_secs(10), 2)
    }

    fn asked(&self) -> String {
        std::mem::take(&mut *self.asked.lock().unwrap()).join("\n")
    }
}

impl Service<Request<Body>> for Server {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let kind = parts.headers.get("content-type");
            let kind = kind.map_or("", |kind| kind.to_str().unwrap());
            let said = String::from_utf8_lossy(&body);
            let line = format!("{} {} {kind} {said}", parts.method, parts.uri);
            server
                .asked
                .lock()
                .unwrap()
                .push(line.trim_end().to_owned());
            let found = {
                let answers = server.answers.lock().unwrap();
                let found = answers.iter().find(|(path, ..)| path == parts.uri.path());
                found.cloned()
            };
            let Some((_, code, answer)) = found else {
                return std::future::pending().await;
            };
            let mut response = Response::new(Full::from(answer.to_string()));
            *response.status_mut() = code.try_into().unwrap();
            Ok(response)
        })
    }
}

fn pods() -> ResourceType {
    ResourceType::namespaced("", "v1", "Pod", "pods")
}

fn web() -> ObjectKey {
    ObjectKey::namespaced("shop", "web")
}

fn pod() -> Object {
    Object::new(&pods().kind, &web())
}

#[tokio::test(start_paused = true)]
async fn what_no_server_takes_is_not_sent() {
    let server = Server::default().with("/api/v1/namespaces/shop/pods", 200, json!({}));
    let mut large = pod();
    large.set(&["data"], "x".repeat(3 << 20)).unwrap();
    let options = WriteOptions::default();
    let refused = server.client().create(&pods(), &large, &options).await;
    let refused = refused.unwrap_err();
    assert_eq!(
        (refused.code(), refused.reason(), refused.is_terminal()),
        (413, "RequestEntityTooLarge", true)
    );
    assert_eq!(server.asked(), "");
}

#[tokio::test(start_paused = true)]
async fn calls_are_those_of_the_api() {
    let server = Server::default()
        .with("/api/v1/namespaces/shop/pods", 200, json!({}))
        .with("/api/v1/namespaces/shop/pods/web", 200, json!({}))
        .with("/api/v1/namespaces/shop/pods/web/status", 200, json!({}));
    let client = server.client();
    let options = WriteOptions::by("me");
    client.create(&pods(), &pod(), &options).await.unwrap();
    client
        .replace(&pods(), &pod(), &Part::Status, &WriteOptions::default())
        .await
        .unwrap();
    let patch = json!({"a": 1});
    client
        .patch(
            &pods(),
            &web(),
            PatchKind::Json,
            &patch,
            &Part::Object,
            &options,
        )
        .await
        .unwrap();
    let dry = WriteOptions {
        dry_run: true,
        field_validation: "Strict",
        ..options
    };
    client
        .apply(&pods(), &pod(), true, &Part::Object, &dry)
        .await
        .unwrap();
    let delete = DeleteOptions {
        uid: Some("u".to_owned()),
        propagation: Some(Propagation::Orphan),
        ..DeleteOptions::default()
    };
    client.delete(&pods(), &web(), &delete).await.unwrap();
    let object = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"}}"#;
    let expected = [
        format!("POST /api/v1/namespaces/shop/pods?fieldManager=me application/json {object}"),
        format!("PUT /api/v1/namespaces/shop/pods/web/status application/json {object}"),
        r#"PATCH /api/v1/namespaces/shop/pods/web?fieldManager=me application/json-patch+json {"a":1}"#.to_owned(),
        format!("PATCH /api/v1/namespaces/shop/pods/web?fieldManager=me&dryRun=All&fieldValidation=Strict&force=true application/apply-patch+yaml {object}"),
        r#"DELETE /api/v1/namespaces/shop/pods/web application/json {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"},"propagationPolicy":"Orphan"}"#.to_owned(),
    ];
    assert_eq!(server.asked(), expected.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn what_became_of_a_deleted_object_is_told() {
    for (answer, ending) in [
        (
            json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}),
            false,
        ),
        (json!({"metadata": {"name": "web"}}), false),
        (
            json!({"metadata": {"name": "web", "deletionTimestamp": "2026-01-01T00:00:00Z"}}),
            true,
        ),
    ] {
        let server = Server::default().with("/api/v1/namespaces/shop/pods/web", 200, answer);
        let deleted = server
            .client()
            .delete(&pods(), &web(), &DeleteOptions::default())
            .await
            .unwrap();
        assert_eq!(matches!(deleted, Deleted::Ending(_)), ending);
    }
}

#[tokio::test(start_paused = true)]
async fn items_of_a_list_say_what_they_are() {
    let list = json!({
        "kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"},
        "items": [{"metadata": {"name": "a"}}, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "b"}},
                  {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "c"}}],
    });
    let server = Server::default().with("/api/v1/pods", 200, list).with(
        "/api/v1/namespaces/empty/pods",
        200,
        json!({"metadata": {"resourceVersion": "8"}, "items": null}),
    );
    let client = server.client();
    let found = client
        .list(&pods(), "", &ListOptions::default())
        .await
        .unwrap();
    assert_eq!(found.resource_version, "7");
    for item in &found.items {
        assert_eq!(
            item.group_version_kind(),
            GroupVersionKind::new("", "v1", "Pod")
        );
    }
    let none = client
        .list(&pods(), "empty", &ListOptions::default())
        .await
        .unwrap();
    assert_eq!((none.items.len(), none.resource_version.as_str()), (0, "8"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_not_waited_for() {
    let start = tokio::time::Instant::now();
    let server = Server::default();
    let client = server.client();
    let (pods, web) = (pods(), web());
    let calls = (0..4).map(|_| client.get(&pods, &web));
    let ended = futures_util::future::join_all(calls).await;
    for error in ended.into_iter().map(Result::unwrap_err) {
        assert!(error.is_unreachable() && matches!(error, CallError::Late { .. }));
    }
    // Two at a time, ten seconds each.
    assert_eq!(start.elapsed().as_secs(), 20);
    assert_eq!(server.asked().lines().count(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_an_error_with_its_request() {
    let server = Server::default().with("/api/v1/namespaces/shop/pods/web", 200, json!([1]));
    let error = server.client().get(&pods(), &web()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "GET /api/v1/namespaces/shop/pods/web: the answer cannot be read"
    );
    assert!(!error.is_terminal());
}

#[tokio::test(start_paused = true)]
async fn an_old_server_is_discovered_group_by_group_and_what_fails_is_named() {
    let core = json!({"kind": "APIVersions", "versions": ["v1"]});
    let groups = json!({"kind": "APIGroupList", "groups": [
        {"name": "apps", "versions": [{"version": "v1beta1"}, {"version": "v1"}], "preferredVersion": {"version": "v1"}},
        {"name": "metrics.k8s.io", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
    ]});
    let deployments = json!({"resources": [
        {"name": "deployments", "singularName": "deployment", "namespaced": true, "kind": "Deployment",
         "verbs": ["get", "list"], "shortNames": ["deploy"]},
        {"name": "deployments/scale", "namespaced": true, "kind": "Scale", "verbs": ["get"]},
    ]});
    let unavailable = json!({"kind": "Status", "code": 503, "message": "the server is away"});
    let server = Server::default()
        .with("/api", 200, core)
        .with("/apis", 200, groups)
        .with("/api/v1", 200, json!({"resources": [{"name": "nodes", "namespaced": false, "kind": "Node", "verbs": ["get"]}]}))
        .with("/apis/apps/v1", 200, deployments.clone())
        .with("/apis/apps/v1beta1", 200, deployments)
        .with("/apis/metrics.k8s.io/v1", 503, unavailable);
    let found = server.client().discover().await.unwrap();
    let paths: Vec<String> = found
        .resources
        .iter()
        .map(|found| found.resource.path("x"))
        .collect();
    assert_eq!(
        paths,
        [
            "/api/v1/nodes",
            "/apis/apps/v1/namespaces/x/deployments",
            "/apis/apps/v1beta1/namespaces/x/deployments"
        ]
    );
    assert_eq!(found.preferred().count(), 2);
    let best = found
        .find_kind(&GroupKind::new("apps", "Deployment"))
        .unwrap();
    assert_eq!(
        (best.resource.kind.version.as_str(), best.preferred),
        ("v1", true)
    );
    assert_eq!(best.subresources, ["scale"]);
    assert!(best.can("list") && !best.can("watch"));
    assert_eq!(
        found.failed,
        [FailedGroup {
            group_version: GroupVersion::new("metrics.k8s.io", "v1"),
            message: "GET /apis/metrics.k8s.io/v1: the server is away".to_owned(),
        }]
    );
    // Nobody may conclude that a kind is gone from a group that could not be read.
    assert!(found.lacks(&GroupVersionKind::new("apps", "v1", "Gadget")));
    assert!(!found.lacks(&GroupVersionKind::new(
        "metrics.k8s.io",
        "v1",
        "NodeMetrics"
    )));
}

#[tokio::test(start_paused = true)]
async fn a_new_server_is_discovered_in_two_requests() {
    let group =
        |name: &str, version: Value| json!({"metadata": {"name": name}, "versions": [version]});
    let pods = json!({"version": "v1", "resources": [{
        "resource": "pods", "responseKind": {"kind": "Pod"}, "scope": "Namespaced", "singularResource": "pod",
        "verbs": ["get", "list", "watch"], "subresources": [{"subresource": "status"}]}]});
    let stale = json!({"version": "v1", "freshness": "Stale"});
    let server = Server::default()
        .with(
            "/api",
            200,
            json!({"kind": "APIGroupDiscoveryList", "items": [group("", pods)]}),
        )
        .with(
            "/apis",
            200,
            json!({"kind": "APIGroupDiscoveryList", "items": [group("x.io", stale)]}),
        );
    let found = server.client().discover().await.unwrap();
    assert_eq!(server.asked().lines().count(), 2);
    let kind = GroupVersionKind::new("", "v1", "Pod");
    let pods = found.find(&kind).unwrap();
    assert!(pods.can("watch") && pods.preferred && pods.subresources == ["status"]);
    assert_eq!(found.failed.len(), 1);
}

#[tokio::test]
async fn what_is_meant_for_an_object_without_a_name_never_reaches_all_of_its_kind() {
    let server = Server::default();
    let client = server.client();
    let clusters = ResourceType::cluster("cluster.karmada.io", "v1alpha1", "Cluster", "clusters");
    let (none, pods) = (
        ObjectKey::cluster(""),
        ResourceType::namespaced("", "v1", "Pod", "pods"),
    );
    let here = ObjectKey::namespaced("shop", "");
    let refused = [
        client
            .delete(&clusters, &none, &DeleteOptions::default())
            .await
            .err(),
        client
            .delete(&pods, &here, &DeleteOptions::default())
            .await
            .err(),
        client.get(&pods, &here).await.err(),
        client.get_part(&clusters, &none, &Part::Status).await.err(),
        client.get_metadata(&clusters, &none).await.err(),
    ];
    for error in refused {
        let error = error.expect("nothing is there without a name");
        assert!(matches!(error, CallError::Unsendable { .. }), "{error:?}");
    }
    assert_eq!(server.asked(), "");
}

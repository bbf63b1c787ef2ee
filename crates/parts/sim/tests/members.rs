//! Several members in one process, and what cuts one of them off.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use karavel_sim::{FAULTS_PATH, Member, MemberConfig};
use object::time::Time;
use runtime::{Clock, Tasks};
use serde_json::{Value, json};
use serve::call::User;

async fn open(tasks: &Tasks, name: &str) -> Member {
    let start: Time = "2026-01-01T00:00:00Z".parse().unwrap();
    Member::open(
        MemberConfig::new(name),
        Clock::tied(start),
        &tasks.spawner(),
    )
    .await
    .unwrap()
}

fn user(group: &str) -> User {
    User {
        name: "ann".to_owned(),
        groups: vec![group.to_owned(), "system:authenticated".to_owned()],
        ..User::default()
    }
}

/// The code of an answer; `None` if there is none within ten seconds.
async fn ask(member: &Member, group: &str, method: Method, path: &str, body: Value) -> Option<u16> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    let answer = member.answer(user(group), request);
    let answer = tokio::time::timeout(Duration::from_secs(10), answer)
        .await
        .ok()?;
    let code = answer.status().as_u16();
    let _body = answer.into_body().collect().await.unwrap();
    Some(code)
}

async fn get(member: &Member, path: &str) -> Option<u16> {
    ask(member, "system:masters", Method::GET, path, Value::Null).await
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_cut_off_answers_nothing_and_runs_on() {
    let tasks = Tasks::new();
    let (east, west) = (open(&tasks, "east").await, open(&tasks, "west").await);
    for member in [&east, &west] {
        let web = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {
                "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            },
        });
        let path = "/apis/apps/v1/namespaces/default/deployments";
        assert_eq!(
            ask(member, "system:masters", Method::POST, path, web).await,
            Some(201)
        );
    }
    east.faults().cut_off(true);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(get(&east, "/readyz").await, None);
    assert_eq!(get(&west, "/readyz").await, Some(200));
    east.faults().cut_off(false);
    assert_eq!(get(&east, "/readyz").await, Some(200));
    for member in [&east, &west] {
        let server = member.server();
        let web = server
            .cache()
            .collection("apps/deployments")
            .find("default/web")
            .unwrap();
        assert_eq!(
            web.value()["status"]["availableReplicas"],
            2,
            "{}",
            member.name()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn members_have_identities_and_addresses_of_their_own() {
    let tasks = Tasks::new();
    let (east, west) = (open(&tasks, "east").await, open(&tasks, "west").await);
    let uid = |member: &Member| {
        let server = member.server();
        let namespace = server
            .cache()
            .collection("core/namespaces")
            .find("kube-system")
            .unwrap();
        namespace.head().uid.to_string()
    };
    assert_ne!(uid(&east), uid(&west));
    let node = |member: &Member, name: &str| {
        let server = member.server();
        let node = server.cache().collection("core/nodes").find(name).unwrap();
        node.value()["spec"]["podCIDR"].as_str().unwrap().to_owned()
    };
    assert_ne!(node(&east, "east-node-1"), node(&west, "west-node-1"));
}

#[tokio::test(start_paused = true)]
async fn faults_are_set_over_http_by_those_who_may() {
    let tasks = Tasks::new();
    let east = open(&tasks, "east").await;
    let masters = "system:masters";
    let faults = json!({"failPercent": 100});
    let patch = |group: &'static str, body: Value| {
        let east = east.clone();
        async move { ask(&east, group, Method::PATCH, FAULTS_PATH, body).await }
    };
    assert_eq!(patch("developers", faults.clone()).await, Some(403));
    assert_eq!(get(&east, "/api/v1/nodes").await, Some(200));
    assert_eq!(patch(masters, faults).await, Some(200));
    assert_eq!(get(&east, "/api/v1/nodes").await, Some(500));
    assert_eq!(patch(masters, json!({"fire": true})).await, Some(400));
    let healed = ask(&east, masters, Method::DELETE, FAULTS_PATH, Value::Null).await;
    assert_eq!(
        (healed, get(&east, "/api/v1/nodes").await),
        (Some(200), Some(200))
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_member_answers_late() {
    let tasks = Tasks::new();
    let east = open(&tasks, "east").await;
    east.faults()
        .change(|state| state.delay = Duration::from_secs(3));
    let begun = tokio::time::Instant::now();
    assert_eq!(get(&east, "/readyz").await, Some(200));
    assert_eq!(begun.elapsed().as_secs(), 3);
}

/// A watch of ConfigMaps, as a client follows it.
async fn watch(member: &Member) -> serve::body::Body {
    let request = Request::get("/api/v1/namespaces/default/configmaps?watch=true")
        .body(Full::<Bytes>::default())
        .unwrap();
    let answer = member.answer(user("system:masters"), request).await;
    assert!(answer.status().is_success());
    answer.into_body()
}

/// The next piece of a stream within ten seconds: `Some(None)` if it ended, `None` if it said nothing.
async fn heard(body: &mut serve::body::Body) -> Option<Option<String>> {
    let next = tokio::time::timeout(Duration::from_secs(10), body.frame());
    let frame = next.await.ok()?;
    let bytes = frame.map(|frame| frame.unwrap().into_data().unwrap());
    Some(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

async fn make(member: &Member, name: &str) {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}});
    let server = member.server();
    let request = Request::post("/api/v1/namespaces/default/configmaps")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(map.to_string())))
        .unwrap();
    assert!(
        server
            .answer(user("system:masters"), request)
            .await
            .status()
            .is_success()
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_falls_silent_while_its_member_is_cut_off_and_goes_on_afterwards() {
    let tasks = Tasks::new();
    let (east, west) = (open(&tasks, "east").await, open(&tasks, "west").await);
    let (mut in_east, mut in_west) = (watch(&east).await, watch(&west).await);
    // What is there already comes first.
    while heard(&mut in_east).await.is_some() {}
    while heard(&mut in_west).await.is_some() {}
    east.faults().cut_off(true);
    for member in [&east, &west] {
        make(member, "late").await;
    }
    assert_eq!(heard(&mut in_east).await, None);
    assert!(
        heard(&mut in_west)
            .await
            .unwrap()
            .unwrap()
            .contains("\"late\"")
    );
    // A call that waits for the network goes through when it is whole again.
    let waiting = get(&east, "/readyz");
    let healing = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        east.faults().cut_off(false);
    };
    let (answer, ()) = tokio::join!(waiting, healing);
    assert_eq!(answer, Some(200));
    assert!(
        heard(&mut in_east)
            .await
            .unwrap()
            .unwrap()
            .contains("\"late\"")
    );
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_watches_and_keeps_what_it_is_told_to_keep() {
    let tasks = Tasks::new();
    let east = open(&tasks, "east").await;
    make(&east, "kept").await;
    for (keep, code) in [(true, 200), (false, 404)] {
        let mut stream = watch(&east).await;
        east.restart(keep).await.unwrap();
        let ended = async {
            loop {
                match heard(&mut stream).await {
                    Some(Some(_)) => {}
                    other => break other,
                }
            }
        };
        assert_eq!(ended.await, Some(None), "keep {keep}");
        let path = "/api/v1/namespaces/default/configmaps/kept";
        assert_eq!(get(&east, path).await, Some(code), "keep {keep}");
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_outlive_a_restart_with_data_and_no_other() {
    let tasks = Tasks::new();
    let east = open(&tasks, "east").await;
    let wanted =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let request = Request::post("/api/v1/namespaces/default/serviceaccounts/default/token")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(wanted.to_string())))
        .unwrap();
    // The account of a namespace comes a moment after it.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let answer = east.answer(user("system:masters"), request).await;
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&bytes).unwrap();
    let token = answer["status"]["token"].as_str().unwrap().to_owned();
    let shows = async || {
        let request = Request::get("/apis")
            .header("authorization", format!("Bearer {token}"))
            .body(Full::<Bytes>::default())
            .unwrap();
        east.answer_stranger(request).await.status().as_u16()
    };
    assert_eq!(shows().await, 200);
    east.restart(true).await.unwrap();
    assert_eq!(shows().await, 200);
    east.restart(false).await.unwrap();
    assert_eq!(shows().await, 401);
}

/// Asks in any form, with a body; the code and the text of the answer.
async fn send(member: &Member, who: &User, line: &str, form: &str, body: &Value) -> (u16, String) {
    let (method, path) = line.split_once(' ').unwrap();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", form)
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    let answer = member.answer(who.clone(), request).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8_lossy(&bytes).into_owned())
}

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";

#[tokio::test(start_paused = true)]
async fn whoever_makes_an_object_must_be_let_create_it() {
    let tasks = Tasks::new();
    let east = open(&tasks, "east").await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": "changer"}, "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch", "update"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["patch", "update"]},
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["own"], "verbs": ["create"]},
    ]});
    let binding = json!({
        "metadata": {"name": "changer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "changer"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}],
    });
    let (masters, ann) = (user("system:masters"), user("developers"));
    for (path, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let line = format!("POST {rbac}/{path}");
        let (code, text) = send(&east, &masters, &line, JSON, &object).await;
        assert_eq!(code, 201, "{text}");
    }
    let maps = "/api/v1/namespaces/default/configmaps";
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    make(&east, "there").await;
    for (line, form, kind, expected) in [
        (
            format!("PATCH {maps}/new?fieldManager=m"),
            APPLY,
            "v1 ConfigMap",
            403,
        ),
        (
            format!("PUT {leases}/new"),
            JSON,
            "coordination.k8s.io/v1 Lease",
            403,
        ),
        (
            format!("PATCH {maps}/there?fieldManager=m"),
            APPLY,
            "v1 ConfigMap",
            200,
        ),
        (
            format!("PATCH {maps}/own?fieldManager=m"),
            APPLY,
            "v1 ConfigMap",
            201,
        ),
    ] {
        let (version, kind) = kind.split_once(' ').unwrap();
        let name = line.rsplit('/').next().unwrap().split('?').next();
        let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
        let (code, text) = send(&east, &ann, &line, form, &object).await;
        assert_eq!(code, expected, "{line}: {text}");
        assert_eq!(
            text.contains("cannot create resource"),
            expected == 403,
            "{text}"
        );
    }
    assert_eq!(get(&east, &format!("{maps}/new")).await, Some(404));
}

#[tokio::test(start_paused = true)]
async fn refusals_of_secrets_repeat_nothing_of_them() {
    const PLANTED: &str = "planted-tulip";
    let tasks = Tasks::new();
    let east = open(&tasks, "east").await;
    let masters = user("system:masters");
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"k": PLANTED}});
    let line = format!("POST {secrets}");
    assert_eq!(send(&east, &masters, &line, JSON, &secret).await.0, 201);
    let merge = "application/merge-patch+json";
    let applied = |body: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
        object["data"] = body;
        object
    };
    for (line, form, body) in [
        (
            format!("PATCH {secrets}/s"),
            merge,
            json!({"data": {"k": 5}, "stringData": {"again": PLANTED}}),
        ),
        (
            format!("PATCH {secrets}/s?fieldValidation=Strict"),
            merge,
            json!({"unheard": PLANTED}),
        ),
        (
            format!("PATCH {secrets}/s?fieldManager=m"),
            APPLY,
            applied(json!(PLANTED)),
        ),
        (
            format!("POST {secrets}"),
            JSON,
            json!({"metadata": {"name": "t"}, "data": {"k": format!("{PLANTED}!")}}),
        ),
    ] {
        let (code, text) = send(&east, &masters, &line, form, &body).await;
        assert!(code >= 400, "{line}: {code}");
        assert!(!text.contains(PLANTED), "{line}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_circle_of_owners_goes_when_one_of_them_is_deleted_in_the_foreground() {
    let tasks = Tasks::new();
    let member = open(&tasks, "east").await;
    let master = user("system:masters");
    let maps = "/api/v1/namespaces/default/configmaps";
    let find = |name: &str| {
        let server = member.server();
        let found = server.cache().collection("core/configmaps");
        found.find(&format!("default/{name}"))
    };
    for name in ["a", "b", "c"] {
        let map = json!({"metadata": {"name": name}});
        let line = format!("POST {maps}");
        let (code, _) = send(&member, &master, &line, "application/json", &map).await;
        assert_eq!(code, 201);
    }
    for (name, owner) in [("a", "c"), ("b", "a"), ("c", "b")] {
        let reference = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "blockOwnerDeletion": true,
            "uid": find(owner).unwrap().head().uid,
        });
        let patch = json!({"metadata": {"ownerReferences": [reference]}});
        let (line, form) = (
            format!("PATCH {maps}/{name}"),
            "application/merge-patch+json",
        );
        assert_eq!(send(&member, &master, &line, form, &patch).await.0, 200);
    }
    let options = json!({"propagationPolicy": "Foreground"});
    let line = format!("DELETE {maps}/a");
    let (code, _) = send(&member, &master, &line, "application/json", &options).await;
    assert_eq!(code, 200);
    tokio::time::sleep(Duration::from_secs(30)).await;
    for name in ["a", "b", "c"] {
        assert!(find(name).is_none(), "{name} waits for itself");
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_replaced_keeps_its_address_and_its_ports_on_the_nodes() {
    let tasks = Tasks::new();
    let member = open(&tasks, "east").await;
    let admin = user("system:masters");
    let service = |spec: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec});
    let path = "/api/v1/namespaces/default/services";
    let made = json!({"type": "NodePort", "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]});
    let form = "application/json";
    let post = format!("POST {path}");
    let (code, text) = send(&member, &admin, &post, form, &service(made)).await;
    assert_eq!(code, 201, "{text}");
    let before: Value = serde_json::from_str(&text).unwrap();
    let kept = |service: &Value| {
        let port = |place: usize| service["spec"]["ports"][place]["nodePort"].clone();
        (service["spec"]["clusterIP"].clone(), port(0), port(1))
    };
    for (first, second) in [(80, 81), (90, 81), (81, 80)] {
        let spec = json!({"type": "NodePort", "ports": [{"name": "a", "port": first}, {"name": "b", "port": second}]});
        let put = format!("PUT {path}/web");
        let (code, text) = send(&member, &admin, &put, form, &service(spec)).await;
        assert_eq!(code, 200, "{text}");
        let after: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(kept(&after), kept(&before), "{first} {second}");
    }
}

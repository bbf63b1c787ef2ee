use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use serve::encoding::base64;

use crate::hook::{Hook, Reply};
use crate::world::{Answer, World, known, master};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// A webhook for configuration maps, with fields of its own.
fn webhook(name: &str, client: Value, fields: Value) -> Value {
    let mut webhook = json!({
        "name": name, "clientConfig": client, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
        // The server writes configuration maps of its own elsewhere.
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
        "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    });
    for (field, value) in fields.as_object().unwrap() {
        webhook[field] = value.clone();
    }
    webhook
}

async fn configure(world: &World, sort: &str, name: &str, webhooks: &[Value]) {
    let path = format!("{GROUP}/{sort}webhookconfigurations");
    let object = json!({"metadata": {"name": name}, "webhooks": webhooks});
    world.create(&path, object).await;
}

async fn create(world: &World, name: &str) -> Answer {
    let map = json!({"metadata": {"name": name, "labels": {"tier": "web"}}, "data": {"k": "v"}});
    world
        .ask(&known("root"), &format!("POST {MAPS}"), map)
        .await
}

/// What became of a creation, in a line.
fn show(answer: &Answer) -> String {
    if answer.code < 300 {
        return format!("{} {}", answer.code, answer.body["data"]);
    }
    let text = |field: &str| answer.body[field].as_str().unwrap_or_default().to_owned();
    format!("{} {} {}", answer.code, text("reason"), text("message"))
}

async fn world() -> World {
    let world = World::start().await;
    let subject = json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "root"});
    world
        .bind("", ("ClusterRole", "cluster-admin"), subject)
        .await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_webhook_does_decides_what_becomes_of_a_request() {
    let patch = |patch: Value| Reply::Patch(patch);
    let failed =
        "500 InternalError Internal error occurred: failed calling webhook \"h.example.com\": ";
    for (reply, sort, closed, open) in [
        (Reply::Allow, "validating", "201 {\"k\":\"v\"}", "same"),
        (
            Reply::Deny(403, "no maps today"),
            "validating",
            "403  admission webhook \"h.example.com\" denied the request: no maps today",
            "same",
        ),
        (
            Reply::Deny(0, ""),
            "mutating",
            "400  admission webhook \"h.example.com\" denied the request without explanation",
            "same",
        ),
        (
            Reply::Hang,
            "validating",
            "+failed to call webhook: Post \"https://127.0.0.1:",
            "201 {\"k\":\"v\"}",
        ),
        (
            Reply::Status(503),
            "mutating",
            "+failed to call webhook: the server answered with status 503",
            "201 {\"k\":\"v\"}",
        ),
        (
            Reply::HangUp,
            "validating",
            "+failed to call webhook: the answer cannot be read: the server hung up before it had answered",
            "201 {\"k\":\"v\"}",
        ),
        (
            Reply::With(json!({"uid": "another"})),
            "validating",
            "+received invalid webhook response: expected response.uid=",
            "201 {\"k\":\"v\"}",
        ),
        (
            Reply::With(json!({"patch": "W10=", "patchType": "StrategicMerge"})),
            "mutating",
            "+received invalid webhook response: unsupported patch type \"StrategicMerge\"",
            "201 {\"k\":\"v\"}",
        ),
        (
            patch(json!([])),
            "validating",
            "+received invalid webhook response: validating webhook may not return response.patch",
            "201 {\"k\":\"v\"}",
        ),
        (
            Reply::Raw(json!({"kind": "Status"})),
            "validating",
            "+received invalid webhook response: expected webhook response of admission.k8s.io/v1",
            "201 {\"k\":\"v\"}",
        ),
        (
            patch(json!([{"op": "replace", "path": "/data/k", "value": "w"}])),
            "mutating",
            "201 {\"k\":\"w\"}",
            "same",
        ),
        (
            patch(json!([{"op": "remove", "path": "/nothing"}])),
            "mutating",
            "500 InternalError Internal error occurred: the patch of webhook \"h.example.com\" cannot be used",
            "same",
        ),
        (
            patch(json!([{"op": "replace", "path": "/metadata/name", "value": "other"}])),
            "mutating",
            "500 InternalError Internal error occurred: the patch of webhook \"h.example.com\" cannot be used: it changes metadata.name, which no webhook may",
            "same",
        ),
        (
            patch(json!([{"op": "replace", "path": "/kind", "value": "Secret"}])),
            "mutating",
            "500 InternalError Internal error occurred: the patch of webhook \"h.example.com\" cannot be used: it changes kind",
            "same",
        ),
        (
            patch(json!([{"op": "add", "path": "/data/n", "value": 7}])),
            "mutating",
            "500 InternalError Internal error occurred: the patch of webhook \"h.example.com\" cannot be used: data.n: Invalid value",
            "same",
        ),
    ] {
        let hook = Hook::always(reply.clone()).await;
        for (policy, expected) in [("Fail", closed), ("Ignore", open)] {
            let expected = if expected == "same" { closed } else { expected };
            let expected = match expected.strip_prefix('+') {
                Some(why) => format!("{failed}{why}"),
                None => expected.to_owned(),
            };
            let world = world().await;
            let webhook = webhook(
                "h.example.com",
                hook.client(),
                json!({"failurePolicy": policy}),
            );
            configure(&world, sort, "h", &[webhook]).await;
            let shown = show(&create(&world, "m").await);
            assert!(shown.starts_with(&expected), "{reply:?} {policy}: {shown}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_told_in_the_webhooks_words_with_the_warnings_of_all() {
    let details = json!({
        "name": "n", "group": "g", "kind": "k", "uid": "u", "retryAfterSeconds": 7,
        "causes": [{"reason": "FieldValueInvalid", "message": "too big", "field": "data.k"}],
    });
    let refusal = json!({
        "allowed": false, "warnings": ["mind the gap", "über alles \"quoted\""],
        "status": {"code": 418, "reason": "IAmATeapot", "message": "no coffee", "details": details},
    });
    let refuses = Hook::always(Reply::With(refusal)).await;
    let warns = Hook::always(Reply::With(json!({"warnings": ["slow down"]}))).await;
    let world = world().await;
    let path = format!("POST {MAPS}");
    let map = || json!({"metadata": {"generateName": "m-"}});
    for sort in ["mutating", "validating"] {
        let webhooks = [
            webhook("a.example.com", warns.client(), json!({})),
            webhook("b.example.com", refuses.client(), json!({})),
        ];
        configure(&world, sort, "h", &webhooks).await;
        let answer = world.ask(&known("root"), &path, map()).await;
        let message = "admission webhook \"b.example.com\" denied the request: no coffee";
        assert_eq!(
            answer.body,
            json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 418,
                "reason": "IAmATeapot", "message": message, "details": details,
            }),
            "{sort}"
        );
        let warnings = [
            "299 - \"slow down\"",
            "299 - \"mind the gap\"",
            "299 - \"über alles \\\"quoted\\\"\"",
        ];
        assert_eq!(answer.warnings, warnings, "{sort}");
        let line = format!("DELETE {GROUP}/{sort}webhookconfigurations/h");
        assert_eq!(world.ask(&master(), &line, json!(null)).await.code, 200);
    }
    let taken = json!({"allowed": false, "status": {"code": 409, "reason": "AlreadyExists", "message": "one is enough"}});
    let taken = Hook::always(Reply::With(taken)).await;
    let webhook = webhook("c.example.com", taken.client(), json!({}));
    configure(&world, "validating", "h", &[webhook]).await;
    let answer = world.ask(&known("root"), &path, map()).await;
    assert_eq!(
        show(&answer),
        "409 AlreadyExists admission webhook \"c.example.com\" denied the request: one is enough"
    );
    assert_eq!(taken.seen().len(), 1, "no other name is tried");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_is_refused_with_warnings_and_cannot_be_changed() {
    let patch = json!([{"op": "add", "path": "/metadata/labels", "value": {}}]);
    let refusal =
        json!({"allowed": false, "warnings": ["keep it"], "status": {"reason": "Forbidden"}});
    let failed = "Internal error occurred: admission webhook \"h.example.com\" attempted to modify the object, which is not supported for this operation";
    for (sort, reply, expected, warnings) in [
        (
            "mutating",
            Reply::Patch(patch),
            format!("500 InternalError {failed}"),
            vec![],
        ),
        (
            "validating",
            Reply::With(refusal),
            "400 Forbidden admission webhook \"h.example.com\" denied the request: Forbidden"
                .to_owned(),
            vec!["299 - \"keep it\"".to_owned()],
        ),
    ] {
        let hook = Hook::always(reply).await;
        let world = world().await;
        assert_eq!(create(&world, "m").await.code, 201);
        let rules = json!({"rules": [{
            "operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
        }]});
        configure(
            &world,
            sort,
            "h",
            &[webhook("h.example.com", hook.client(), rules)],
        )
        .await;
        for line in [format!("DELETE {MAPS}/m"), format!("DELETE {MAPS}")] {
            let answer = world.ask(&known("root"), &line, json!(null)).await;
            assert_eq!(show(&answer), expected, "{line}");
            assert_eq!(answer.warnings, warnings, "{line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_must_be_whom_the_configuration_trusts() {
    let (hook, stranger) = (
        Hook::always(Reply::Allow).await,
        Hook::always(Reply::Allow).await,
    );
    let alone = Hook::signed_by_itself(Reply::Allow).await;
    let world = world().await;
    let unverified = "tls: failed to verify certificate: x509: certificate ";
    for (case, client, expected) in [
        (
            "another authority",
            json!({"url": format!("https://{}/", hook.address), "caBundle": stranger.authority}),
            format!("{unverified}signed by unknown authority"),
        ),
        (
            "a name it does not have",
            json!({
                "url": format!("https://ip6-localhost:{}/", hook.address.port()), "caBundle": hook.authority,
            }),
            String::new(),
        ),
        (
            "an address it does not have",
            json!({
                "url": format!("https://127.1.1.1:{}/", alone.address.port()), "caBundle": alone.authority,
            }),
            String::new(),
        ),
        (
            "another certificate that is its own authority",
            json!({"url": format!("https://{}/", alone.address), "caBundle": hook.authority}),
            format!("{unverified}is one of an authority, and not in caBundle itself"),
        ),
        (
            "nobody there",
            json!({"url": "https://127.0.0.1:1/", "caBundle": hook.authority}),
            "dial tcp 127.0.0.1:1: connect: connection refused".to_owned(),
        ),
    ] {
        configure(
            &world,
            "validating",
            "h",
            &[webhook("h.example.com", client, json!({}))],
        )
        .await;
        let answer = create(&world, "m").await;
        assert_eq!(answer.code, 500, "{case}: {}", answer.body);
        let message = answer.body["message"].as_str().unwrap();
        for part in ["failed to call webhook: Post \"https://", expected.as_str()] {
            assert!(message.contains(part), "{case}: {message}");
        }
        let line = format!("DELETE {GROUP}/validatingwebhookconfigurations/h");
        // The configurations themselves are never sent to a webhook: a broken one can always be taken away.
        assert_eq!(world.ask(&master(), &line, json!(null)).await.code, 200);
    }
    assert!(hook.seen().is_empty() && alone.seen().is_empty());
    let webhook = webhook("h.example.com", alone.client(), json!({}));
    configure(&world, "validating", "h", &[webhook]).await;
    let answer = create(&world, "m").await;
    assert_eq!(answer.code, 201, "{}", answer.body);
    assert_eq!(alone.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_asked_about_what_they_chose_and_told_what_they_need() {
    let hook = Hook::always(Reply::Allow).await;
    let world = world().await;
    let chosen = json!({
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
        "objectSelector": {"matchLabels": {"tier": "web"}},
        "matchConditions": [{"name": "not-mine", "expression": "request.userInfo.username != 'system:apiserver'"},
            {"name": "named", "expression": "!request.name.startsWith('skip') && authorizer.requestResource.check('delete').allowed()"}],
    });
    configure(
        &world,
        "validating",
        "h",
        &[webhook("h.example.com", hook.client(), chosen)],
    )
    .await;
    assert_eq!(create(&world, "skip-me").await.code, 201);
    let plain = json!({"metadata": {"name": "no-label"}});
    let line = format!("POST {MAPS}");
    assert_eq!(world.ask(&master(), &line, plain).await.code, 201);
    let elsewhere = "POST /api/v1/namespaces/kube-public/configmaps";
    let labelled = json!({"metadata": {"name": "m", "labels": {"tier": "web"}}});
    assert_eq!(world.ask(&master(), elsewhere, labelled).await.code, 201);
    assert!(hook.seen().is_empty(), "{:?}", hook.seen());
    assert_eq!(create(&world, "m").await.code, 201);
    let change = json!({"data": {"k": "w"}});
    let patched = world
        .ask(
            &known("root"),
            &format!("PATCH {MAPS}/m?dryRun=All"),
            change,
        )
        .await;
    assert_eq!(patched.code, 200);
    let gone = world
        .ask(&known("root"), &format!("DELETE {MAPS}/m"), json!(null))
        .await;
    assert_eq!(gone.code, 200);
    let shown: Vec<String> = hook
        .seen()
        .iter()
        .map(|review| {
            let request = &review["request"];
            format!(
                "{} {} {}/{} by {} old={} new={} dryRun={} {}",
                request["operation"].as_str().unwrap(),
                request["resource"]["resource"].as_str().unwrap(),
                request["namespace"].as_str().unwrap(),
                request["name"].as_str().unwrap(),
                request["userInfo"]["username"].as_str().unwrap(),
                request["oldObject"]["data"]["k"],
                request["object"]["data"]["k"],
                request["dryRun"],
                request["options"]["kind"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "CREATE configmaps default/m by root old=null new=\"v\" dryRun=false CreateOptions",
            "UPDATE configmaps default/m by root old=\"v\" new=\"w\" dryRun=true UpdateOptions",
            "DELETE configmaps default/m by root old=\"v\" new=null dryRun=false DeleteOptions",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_told_how_a_write_is_meant() {
    let hook = Hook::always(Reply::Allow).await;
    let world = world().await;
    let webhook = webhook("h.example.com", hook.client(), json!({}));
    configure(&world, "validating", "h", &[webhook]).await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "v"}});
    let line = format!("POST {MAPS}?fieldManager=me&fieldValidation=Strict");
    let made = world.ask(&known("root"), &line, map.clone()).await;
    assert_eq!(made.code, 201, "{}", made.body);
    let only = json!({"uid": made.body["metadata"]["uid"]});
    let deletion = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground", "gracePeriodSeconds": 7,
        "preconditions": only, "dryRun": ["All"],
    });
    let applying = [("content-type", "application/apply-patch+yaml")];
    for (line, headers, body) in [
        (
            format!("PATCH {MAPS}/m"),
            &[][..],
            json!({"data": {"k": "w"}}),
        ),
        (
            format!("PATCH {MAPS}/m?fieldManager=me&force=true"),
            &applying,
            map.clone(),
        ),
        (format!("DELETE {MAPS}/m"), &[], deletion),
        (
            format!("DELETE {MAPS}/m?propagationPolicy=Background&gracePeriodSeconds=3"),
            &[],
            json!(null),
        ),
        (
            format!("PATCH {MAPS}/m?fieldManager=me&force=true"),
            &applying,
            map,
        ),
    ] {
        let answer = world.ask_with(&known("root"), headers, &line, body).await;
        assert!(answer.code < 300, "{line}: {}", answer.body);
    }
    let told: Vec<Value> = hook
        .seen()
        .iter()
        .map(|review| review["request"]["options"].clone())
        .collect();
    let version = "meta.k8s.io/v1";
    assert_eq!(
        told,
        [
            json!({"kind": "CreateOptions", "apiVersion": version, "fieldManager": "me", "fieldValidation": "Strict"}),
            json!({"kind": "UpdateOptions", "apiVersion": version}),
            json!({"kind": "UpdateOptions", "apiVersion": version, "fieldManager": "me"}),
            json!({
                "kind": "DeleteOptions", "apiVersion": version, "propagationPolicy": "Foreground",
                "gracePeriodSeconds": 7, "preconditions": only, "dryRun": ["All"],
            }),
            json!({
                "kind": "DeleteOptions", "apiVersion": version, "propagationPolicy": "Background",
                "gracePeriodSeconds": 3,
            }),
            json!({"kind": "CreateOptions", "apiVersion": version, "fieldManager": "me"}),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_knows_rehearsals_is_asked_about_them() {
    let hook = Hook::always(Reply::Allow).await;
    let world = world().await;
    let fields = json!({"sideEffects": "NoneOnDryRun"});
    configure(
        &world,
        "validating",
        "h",
        &[webhook("h.example.com", hook.client(), fields)],
    )
    .await;
    let map = json!({"metadata": {"name": "m"}});
    let line = format!("POST {MAPS}?dryRun=All");
    assert_eq!(world.ask(&master(), &line, map).await.code, 201);
    assert_eq!(hook.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_made_in_order_and_shown_again_to_those_who_asked_for_that() {
    let adding = |key: &'static str| {
        move |review: &Value| {
            let data = &review["request"]["object"]["data"];
            if data[key].is_null() {
                Reply::Patch(json!([{"op": "add", "path": format!("/data/{key}"), "value": "1"}]))
            } else {
                Reply::Allow
            }
        }
    };
    let first = Hook::start(adding("first")).await;
    let second = Hook::start(adding("second")).await;
    let judge = Hook::always(Reply::With(json!({"warnings": ["looked at it"]}))).await;
    let world = world().await;
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    configure(
        &world,
        "mutating",
        "b",
        &[webhook("second.example.com", second.client(), json!({}))],
    )
    .await;
    configure(
        &world,
        "mutating",
        "a",
        &[webhook("first.example.com", first.client(), again)],
    )
    .await;
    configure(
        &world,
        "validating",
        "v",
        &[webhook("v.example.com", judge.client(), json!({}))],
    )
    .await;
    let answer = create(&world, "m").await;
    assert_eq!(
        show(&answer),
        "201 {\"k\":\"v\",\"first\":\"1\",\"second\":\"1\"}"
    );
    assert_eq!(
        first.seen().len(),
        2,
        "asked again, because another changed the object after it"
    );
    assert_eq!(first.seen()[1]["request"]["object"]["data"]["second"], "1");
    assert_eq!(second.seen().len(), 1);
    assert_eq!(
        judge.seen()[0]["request"]["object"]["data"],
        answer.body["data"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_that_judge_are_asked_at_the_same_time() {
    // Each waits until all three have been asked: one after the other they would all be too late.
    let gate = std::sync::Arc::new(std::sync::Barrier::new(3));
    let world = world().await;
    let mut hooks = Vec::new();
    for name in ["a", "b", "c"] {
        let gate = std::sync::Arc::clone(&gate);
        let hook = Hook::start(move |_| {
            tokio::task::block_in_place(|| gate.wait());
            Reply::Allow
        })
        .await;
        let fields = json!({"timeoutSeconds": 20});
        let webhook = webhook(&format!("{name}.example.com"), hook.client(), fields);
        configure(&world, "validating", name, &[webhook]).await;
        hooks.push(hook);
    }
    assert_eq!(create(&world, "m").await.code, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_the_server_writes_stays_whatever_a_webhook_says() {
    let patch = json!([
        {"op": "replace", "path": "/metadata/uid", "value": "mine"},
        {"op": "replace", "path": "/metadata/creationTimestamp", "value": "2001-01-01T00:00:00Z"},
        {"op": "add", "path": "/metadata/managedFields", "value": []},
        {"op": "add", "path": "/metadata/labels/added", "value": "yes"},
        {"op": "add", "path": "/status", "value": {"phase": "Great"}},
        {"op": "add", "path": "/unheardOf", "value": 1},
    ]);
    let hook = Hook::always(Reply::Patch(patch)).await;
    let world = world().await;
    configure(
        &world,
        "mutating",
        "h",
        &[webhook("h.example.com", hook.client(), json!({}))],
    )
    .await;
    let object = create(&world, "m").await.body;
    assert_ne!(object["metadata"]["uid"], "mine");
    assert_ne!(
        object["metadata"]["creationTimestamp"],
        "2001-01-01T00:00:00Z"
    );
    assert!(
        !object["metadata"]["managedFields"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert_eq!(object["metadata"]["labels"]["added"], "yes");
    assert!(object["status"].is_null() && object["unheardOf"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn services_of_the_control_plane_lead_to_webhooks() {
    let hook = Hook::always(Reply::Deny(403, "found")).await;
    let world = world().await;
    world.namespace("ops").await;
    let service = json!({
        "metadata": {"name": "hook"},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    });
    world
        .create("/api/v1/namespaces/ops/services", service)
        .await;
    let client = json!({
        "service": {"namespace": "ops", "name": "hook", "port": hook.address.port(), "path": "/check"},
        "caBundle": hook.authority,
    });
    configure(
        &world,
        "validating",
        "h",
        &[webhook("h.example.com", client, json!({}))],
    )
    .await;
    let shown = show(&create(&world, "m").await);
    assert!(shown.ends_with("denied the request: found"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_for_another_version_of_the_same_objects_counts_unless_it_says_exactly() {
    for (policy, expected) in [("Equivalent", 1), ("Exact", 0)] {
        let hook = Hook::always(Reply::Allow).await;
        let world = world().await;
        let fields = json!({
            "matchPolicy": policy,
            "rules": [{"operations": ["CREATE"], "apiGroups": ["autoscaling"], "apiVersions": ["v1"],
                "resources": ["horizontalpodautoscalers"]}],
        });
        configure(
            &world,
            "validating",
            "h",
            &[webhook("h.example.com", hook.client(), fields)],
        )
        .await;
        let scaler = json!({
            "metadata": {"name": "s"},
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}},
        });
        let path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
        world.create(path, scaler).await;
        assert_eq!(hook.seen().len(), expected, "{policy}");
        if let Some(review) = hook.seen().first() {
            let request = &review["request"];
            assert_eq!(request["object"]["apiVersion"], "autoscaling/v1");
            assert_eq!(request["kind"]["version"], "v1");
            assert_eq!(request["requestKind"]["version"], "v2");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_a_certificate_is_what_the_server_saw_whatever_a_webhook_makes_of_it() {
    let hook = Hook::always(Reply::Patch(json!([
        {"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}},
        {"op": "replace", "path": "/spec/username", "value": "system:admin"},
        {"op": "add", "path": "/spec/groups/-", "value": "system:masters"},
        {"op": "add", "path": "/spec/uid", "value": "7"},
    ])))
    .await;
    let world = world().await;
    let rules = json!([{
        "operations": ["CREATE"], "apiGroups": ["certificates.k8s.io"], "apiVersions": ["v1"],
        "resources": ["certificatesigningrequests"],
    }]);
    let webhook = webhook("h.example.com", hook.client(), json!({"rules": rules}));
    configure(&world, "mutating", "h", &[webhook]).await;
    let key = KeyPair::generate().unwrap();
    let request = CertificateParams::default()
        .serialize_request(&key)
        .unwrap();
    let request = json!({
        "metadata": {"name": "r"},
        "spec": {
            "request": base64(request.pem().unwrap().as_bytes()), "signerName": "example.com/x", "usages": ["client auth"],
        },
    });
    let line = "POST /apis/certificates.k8s.io/v1/certificatesigningrequests";
    let answer = world.ask(&known("root"), line, request).await;
    assert_eq!(answer.code, 201, "{}", answer.body);
    assert_eq!(answer.body["metadata"]["labels"]["seen"], "yes");
    let spec = &answer.body["spec"];
    assert_eq!(
        json!([spec["username"], spec["groups"], spec["uid"]]),
        json!(["root", ["system:authenticated"], null])
    );
    let asked = &hook.seen()[0]["request"]["object"]["spec"]["username"];
    assert_eq!(asked, "root", "the webhook is told too");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_namespace_of_a_namespace_is_its_name_once_it_has_one() {
    let world = world().await;
    let hook = Hook::always(Reply::Allow).await;
    let rules = json!([{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces"]}]);
    let chosen = json!({"namespaceSelector": {"matchLabels": {"tier": "web"}}, "rules": rules});
    let one = webhook("h.example.com", hook.client(), chosen);
    configure(&world, "validating", "h", &[one]).await;
    let constraints = json!({"resourceRules": rules});
    let policy = json!({"metadata": {"name": "p"}, "spec": {
        "matchConstraints": constraints,
        "validations": [{
            "expression": "has(request.namespace) == has(request.name) && (!has(request.name) || request.namespace == request.name)",
        }, {
            "expression": "request.operation != 'CREATE' || has(request.name) == !has(object.metadata.generateName)",
        }],
    }});
    let path = format!("{GROUP}/validatingadmissionpolicies");
    world.create(&path, policy).await;
    let bound = json!({"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}});
    let path = format!("{GROUP}/validatingadmissionpolicybindings");
    world.create(&path, bound).await;
    let labels = json!({"tier": "web"});
    let declared = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "said", "labels": labels}});
    let apply = [("content-type", "application/apply-patch+yaml")];
    for (headers, line, body, code, expected) in [
        (
            &[][..],
            "POST /api/v1/namespaces",
            json!({"metadata": {"name": "shop", "labels": labels}}),
            201,
            json!(["CREATE", "shop", "shop"]),
        ),
        (
            &[],
            "POST /api/v1/namespaces",
            json!({"metadata": {"generateName": "shop-", "labels": labels}}),
            201,
            json!(["CREATE", null, null]),
        ),
        (
            &apply,
            "PATCH /api/v1/namespaces/said?fieldManager=m",
            declared,
            201,
            json!(["CREATE", "said", "said"]),
        ),
        (
            &[],
            "PATCH /api/v1/namespaces/shop",
            json!({"metadata": {"labels": {"more": "yes"}}}),
            200,
            json!(["UPDATE", "shop", "shop"]),
        ),
        (
            &[],
            "DELETE /api/v1/namespaces/shop",
            json!(null),
            200,
            json!(["DELETE", "shop", "shop"]),
        ),
    ] {
        let before = hook.seen().len();
        let answer = world.ask_with(&master(), headers, line, body).await;
        assert_eq!(answer.code, code, "{line}: {}", answer.body);
        let seen = hook.seen();
        let request = &seen[before]["request"];
        let shown = json!([request["operation"], request["name"], request["namespace"]]);
        assert_eq!(shown, expected, "{line}");
    }
}

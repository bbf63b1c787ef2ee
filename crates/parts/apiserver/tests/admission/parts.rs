//! Writes to parts of objects, as webhooks and policies see them: by the resource, the part and the kind that
//! Kubernetes names, and by no others.

use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use serve::encoding::base64;

use crate::hook::{Hook, Reply};
use crate::world::{Answer, World, master};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const CORE: &str = "/api/v1/namespaces/default";
const APPS: &str = "/apis/apps/v1/namespaces/default";
const THINGS: &str = "/apis/example.com/v1/namespaces/default/things";

/// What Kubernetes 1.34 shows of each write to a part: the line, the body, and the one review it makes, written as
/// `OPERATION KIND RESOURCE/PART NAME OLD>NEW`.
const WRITES: &[(&str, &str, &str)] = &[
    (
        "PUT apps/deployments/web/scale",
        r#"{"metadata":{"name":"web"},"spec":{"replicas":2}}"#,
        "UPDATE autoscaling/v1/Scale deployments/scale web Scale>Scale",
    ),
    (
        "PATCH apps/deployments/web/scale",
        r#"{"spec":{"replicas":3}}"#,
        "UPDATE autoscaling/v1/Scale deployments/scale web Scale>Scale",
    ),
    (
        "APPLY apps/deployments/web/scale",
        r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web"},"spec":{"replicas":4}}"#,
        "UPDATE autoscaling/v1/Scale deployments/scale web Scale>Scale",
    ),
    (
        "PATCH apps/replicasets/web/scale",
        r#"{"spec":{"replicas":3}}"#,
        "UPDATE autoscaling/v1/Scale replicasets/scale web Scale>Scale",
    ),
    (
        "PATCH apps/statefulsets/web/scale",
        r#"{"spec":{"replicas":3}}"#,
        "UPDATE autoscaling/v1/Scale statefulsets/scale web Scale>Scale",
    ),
    (
        "PATCH core/replicationcontrollers/web/scale",
        r#"{"spec":{"replicas":3}}"#,
        "UPDATE autoscaling/v1/Scale replicationcontrollers/scale web Scale>Scale",
    ),
    (
        "PATCH things/t/scale",
        r#"{"spec":{"replicas":3}}"#,
        "UPDATE autoscaling/v1/Scale things/scale t Scale>Scale",
    ),
    (
        "POST core/pods/one/binding",
        r#"{"metadata":{"name":"one"},"target":{"kind":"Node","name":"n"}}"#,
        "CREATE /v1/Binding pods/binding one ->Binding",
    ),
    (
        "POST core/bindings",
        r#"{"metadata":{"name":"two"},"target":{"kind":"Node","name":"n"}}"#,
        "CREATE /v1/Binding bindings two ->Binding",
    ),
    (
        "POST core/pods/three/eviction",
        r#"{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"three"}}"#,
        "CREATE policy/v1/Eviction pods/eviction three ->Eviction",
    ),
    (
        "POST core/pods/four/eviction",
        r#"{"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"four"}}"#,
        "CREATE policy/v1/Eviction pods/eviction four ->Eviction",
    ),
    (
        "POST core/serviceaccounts/till/token",
        "{}",
        "CREATE authentication.k8s.io/v1/TokenRequest serviceaccounts/token till ->TokenRequest",
    ),
    (
        "PATCH core/pods/one/ephemeralcontainers",
        r#"{"spec":{"ephemeralContainers":[{"name":"d","image":"i"}]}}"#,
        "UPDATE /v1/Pod pods/ephemeralcontainers one Pod>Pod",
    ),
    (
        "STRATEGIC core/pods/one/resize",
        r#"{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}}"#,
        "UPDATE /v1/Pod pods/resize one Pod>Pod",
    ),
    (
        "PATCH core/pods/one/status",
        r#"{"status":{"message":"m"}}"#,
        "UPDATE /v1/Pod pods/status one Pod>Pod",
    ),
    (
        "PATCH apps/deployments/web/status",
        r#"{"status":{"replicas":1}}"#,
        "UPDATE apps/v1/Deployment deployments/status web Deployment>Deployment",
    ),
    (
        "PATCH things/t/status",
        r#"{"status":{"replicas":1}}"#,
        "UPDATE example.com/v1/Thing things/status t Thing>Thing",
    ),
    (
        "PATCH /apis/certificates.k8s.io/v1/certificatesigningrequests/r/approval",
        r#"{"status":{"conditions":[{"type":"Denied","status":"True","reason":"R"}]}}"#,
        "UPDATE certificates.k8s.io/v1/CertificateSigningRequest certificatesigningrequests/approval r \
         CertificateSigningRequest>CertificateSigningRequest",
    ),
    (
        "PATCH /apis/certificates.k8s.io/v1/certificatesigningrequests/r/status",
        r#"{"status":{}}"#,
        "UPDATE certificates.k8s.io/v1/CertificateSigningRequest certificatesigningrequests/status r \
         CertificateSigningRequest>CertificateSigningRequest",
    ),
    (
        "PUT /api/v1/namespaces/extra/finalize",
        r#"{"metadata":{"name":"extra"},"spec":{"finalizers":["kubernetes"]}}"#,
        "UPDATE /v1/Namespace namespaces/finalize extra Namespace>Namespace",
    ),
    (
        "PATCH /api/v1/namespaces/extra/status",
        r#"{"status":{}}"#,
        "UPDATE /v1/Namespace namespaces/status extra Namespace>Namespace",
    ),
    (
        "PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com/status",
        r#"{"status":{}}"#,
        "UPDATE apiextensions.k8s.io/v1/CustomResourceDefinition customresourcedefinitions/status things.example.com \
         CustomResourceDefinition>CustomResourceDefinition",
    ),
];

/// What a policy says of each request, in the words of [`WRITES`] without the name.
const SAID: &str = "request.operation + ' ' + request.kind.group + '/' + request.kind.version + '/' + request.kind.kind \
    + ' ' + request.resource.resource + (has(request.subResource) ? '/' + request.subResource : '') \
    + ' ' + (oldObject == null ? '-' : oldObject.kind) + '>' + object.kind";

async fn ask(world: &World, line: &str, body: Value) -> Answer {
    let (verb, place) = line.split_once(' ').unwrap();
    let path = match place.split_once('/').unwrap() {
        ("core", rest) => format!("{CORE}/{rest}"),
        ("apps", rest) => format!("{APPS}/{rest}"),
        ("things", rest) => format!("{THINGS}/{rest}"),
        _ => place.to_owned(),
    };
    let (line, form) = match verb {
        "APPLY" => (
            format!("PATCH {path}?fieldManager=m&force=true"),
            "application/apply-patch+yaml",
        ),
        "STRATEGIC" => (
            format!("PATCH {path}"),
            "application/strategic-merge-patch+json",
        ),
        "PATCH" => (format!("PATCH {path}"), "application/merge-patch+json"),
        verb => (format!("{verb} {path}"), "application/json"),
    };
    let headers = [("content-type", form)];
    world.ask_with(&master(), &headers, &line, body).await
}

/// A world with one object of each kind that is written to.
async fn world() -> World {
    let world = World::start().await;
    let template = json!({
        "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    for plural in ["deployments", "replicasets", "statefulsets"] {
        let spec =
            json!({"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template});
        let object = json!({"metadata": {"name": "web"}, "spec": spec});
        world.create(&format!("{APPS}/{plural}"), object).await;
    }
    let spec = json!({"replicas": 1, "selector": {"a": "b"}, "template": template});
    let controller = json!({"metadata": {"name": "web"}, "spec": spec});
    let path = format!("{CORE}/replicationcontrollers");
    world.create(&path, controller).await;
    for name in ["one", "two", "three", "four"] {
        let resources = json!({"requests": {"cpu": "1"}});
        let container = json!({"name": "c", "image": "i", "resources": resources});
        let pod = json!({"metadata": {"name": name}, "spec": {"containers": [container]}});
        world.create(&format!("{CORE}/pods"), pod).await;
    }
    let account = json!({"metadata": {"name": "till"}});
    let path = format!("{CORE}/serviceaccounts");
    world.create(&path, account).await;
    world.namespace("extra").await;
    let key = KeyPair::generate().unwrap();
    let request = CertificateParams::default().serialize_request(&key);
    let request = base64(request.unwrap().pem().unwrap().as_bytes());
    let spec =
        json!({"request": request, "signerName": "example.com/x", "usages": ["client auth"]});
    let request = json!({"metadata": {"name": "r"}, "spec": spec});
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    world.create(path, request).await;
    define_things(&world).await;
    world
}

/// A custom kind that has a size.
async fn define_things(world: &World) {
    let number = json!({"type": "object", "properties": {"replicas": {"type": "integer"}}});
    let scale =
        json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    let definition = json!({
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": scale},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": number, "status": number}}},
            }],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    world.create(path, definition).await;
    let thing = json!({
        "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"replicas": 1},
    });
    for _ in 0..600 {
        let line = format!("POST {THINGS}");
        if world.ask(&master(), &line, thing.clone()).await.code == 201 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the kind is not served");
}

async fn configure(world: &World, sort: &str, hook: &Hook, resources: Value) {
    let webhook = json!({
        "name": "h.example.com", "clientConfig": hook.client(), "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        // The server has business of its own.
        "matchConditions": [{"name": "mine", "expression": "request.userInfo.username == 'root'"}],
        "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": resources}],
    });
    let kind = sort.split('-').next().unwrap();
    let path = format!("{GROUP}/{kind}webhookconfigurations");
    let object = json!({"metadata": {"name": sort}, "webhooks": [webhook]});
    world.create(&path, object).await;
}

async fn enforce(world: &World, spec: Value, action: &str) {
    let policy = json!({"metadata": {"name": "p"}, "spec": spec});
    let path = format!("{GROUP}/validatingadmissionpolicies");
    world.create(&path, policy).await;
    let binding = json!({"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": [action]}});
    let path = format!("{GROUP}/validatingadmissionpolicybindings");
    world.create(&path, binding).await;
}

/// A review in the words of [`WRITES`].
fn told(review: &Value) -> String {
    let request = &review["request"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = |object: &Value| object["kind"].as_str().unwrap_or("-").to_owned();
    let part = match text(&request["subResource"]).as_str() {
        "" => String::new(),
        part => format!("/{part}"),
    };
    assert_eq!(request["requestKind"], request["kind"]);
    assert_eq!(request["requestSubResource"], request["subResource"]);
    format!(
        "{} {}/{}/{} {}{part} {} {}>{}",
        text(&request["operation"]),
        text(&request["kind"]["group"]),
        text(&request["kind"]["version"]),
        text(&request["kind"]["kind"]),
        text(&request["resource"]["resource"]),
        text(&request["name"]),
        kind(&request["oldObject"]),
        kind(&request["object"]),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_to_parts_are_shown_as_kubernetes_shows_them() {
    let world = world().await;
    let hooks = [
        Hook::always(Reply::Allow).await,
        Hook::always(Reply::Allow).await,
    ];
    configure(&world, "mutating", &hooks[0], json!(["*/*"])).await;
    configure(&world, "validating", &hooks[1], json!(["*/*"])).await;
    // Whoever wants objects does not want their parts.
    let plain = Hook::always(Reply::Allow).await;
    configure(&world, "validating-plain", &plain, json!(["*"])).await;
    let spec = json!({
        "matchConstraints": {"resourceRules": [
            {"operations": ["CREATE", "UPDATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]},
        ]},
        "matchConditions": [{"name": "mine", "expression": "request.userInfo.username == 'root'"}],
        "validations": [{"expression": "false", "messageExpression": SAID}],
    });
    enforce(&world, spec, "Warn").await;
    let said = "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': ";
    let counts = || hooks.iter().chain([&plain]).map(|hook| hook.seen().len());
    for (line, body, expected) in WRITES {
        let before: Vec<usize> = counts().collect();
        let answer = ask(&world, line, serde_json::from_str(body).unwrap()).await;
        assert!(answer.code < 300, "{line}: {}", answer.body);
        let reviews = |hook: &Hook, before: usize| {
            let seen = hook.seen().split_off(before);
            seen.iter().map(told).collect::<Vec<_>>()
        };
        // What is evicted is deleted, and whoever protects it from that is asked.
        let pod = line.split('/').nth(2).unwrap_or_default();
        let deletion = format!("DELETE /v1/Pod pods {pod} Pod>-");
        let is_eviction = line.ends_with("/eviction");
        let mut wanted = vec![(*expected).to_owned()];
        wanted.extend(is_eviction.then(|| deletion.clone()));
        for (hook, before) in hooks.iter().zip(&before) {
            assert_eq!(reviews(hook, *before), wanted, "{line}");
        }
        let of_objects: Vec<_> = wanted
            .iter()
            .filter(|told| !told.split(' ').nth(2).unwrap().contains('/'))
            .cloned()
            .collect();
        assert_eq!(reviews(&plain, before[2]), of_objects, "{line}");
        let words: Vec<&str> = expected.split(' ').collect();
        let [operation, kind, resource, _, objects] = words[..] else {
            panic!("{expected}");
        };
        let warning = format!("{said}{operation} {kind} {resource} {objects}\"");
        assert_eq!(answer.warnings, [warning], "{line}");
    }
}

#[tokio::test]
async fn a_policy_about_sizes_holds_whatever_writes_them() {
    for (resource, group, object) in [
        ("deployments/scale", "apps", "apps/deployments/web"),
        ("things/scale", "example.com", "things/t"),
        ("*/scale", "*", "apps/statefulsets/web"),
    ] {
        let world = world().await;
        let spec = json!({
            "matchConstraints": {"resourceRules": [
                {"operations": ["UPDATE"], "apiGroups": [group], "apiVersions": ["v1"], "resources": [resource]},
            ]},
            "validations": [{
                "expression": "object.spec.replicas <= 3",
                "messageExpression": "string(oldObject.spec.replicas) + ' to ' + string(object.spec.replicas)",
            }],
        });
        enforce(&world, spec, "Deny").await;
        let line = format!("PATCH {object}/scale");
        let size = |size: u32| json!({"spec": {"replicas": size}});
        let refused = ask(&world, &line, size(9)).await;
        assert_eq!(refused.code, 422, "{resource}: {}", refused.body);
        let message = refused.body["message"].as_str().unwrap();
        assert!(message.ends_with("denied request: 1 to 9"), "{message}");
        let fits = ask(&world, &line, size(3)).await;
        assert_eq!(
            (fits.code, &fits.body["spec"]["replicas"]),
            (200, &json!(3))
        );
        // The object itself is another matter.
        let whole = ask(&world, &format!("PATCH {object}"), size(9)).await;
        assert_eq!(whole.code, 200, "{}", whole.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_changes_a_size_within_what_is_valid() {
    let world = world().await;
    let hook = Hook::start(|review| {
        let wanted = review["request"]["object"]["spec"]["replicas"].as_i64();
        let size = |size: Value| json!({"op": "replace", "path": "/spec/replicas", "value": size});
        let mut patch = match wanted {
            Some(9) => vec![size(json!(5))],
            Some(8) => vec![size(json!(-1))],
            Some(7) => vec![size(json!("many"))],
            _ => vec![],
        };
        // Nothing else of a Scale is written anywhere.
        patch.push(json!({"op": "add", "path": "/metadata/labels", "value": {"x": "y"}}));
        let patch = base64(Value::from(patch).to_string().as_bytes());
        Reply::With(json!({"patchType": "JSONPatch", "patch": patch, "warnings": ["careful"]}))
    })
    .await;
    configure(&world, "mutating", &hook, json!(["*/scale"])).await;
    let judge = Hook::always(Reply::Allow).await;
    configure(&world, "validating", &judge, json!(["*/scale"])).await;
    for (object, wanted, expected) in [
        ("apps/deployments/web", 9, "200 5"),
        ("apps/deployments/web", 2, "200 2"),
        (
            "apps/deployments/web",
            8,
            "422 Scale.autoscaling \"web\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        ),
        ("things/t", 9, "200 5"),
        (
            "apps/deployments/web",
            7,
            "500 Internal error occurred: admission set spec.replicas of the Scale to \"many\", which is no size",
        ),
    ] {
        let body = json!({"spec": {"replicas": wanted}});
        let answer = ask(&world, &format!("PATCH {object}/scale"), body).await;
        let shown = match answer.code {
            200 => format!("200 {}", answer.body["spec"]["replicas"]),
            code => format!("{code} {}", answer.body["message"].as_str().unwrap()),
        };
        assert!(shown.starts_with(expected), "{object} {wanted}: {shown}");
        assert_eq!(answer.warnings, ["299 - \"careful\""], "{object} {wanted}");
        let now = ask(&world, &format!("GET {object}"), Value::Null)
            .await
            .body;
        assert_eq!(now["metadata"]["labels"], Value::Null, "{object} {wanted}");
    }
    let seen = judge.seen();
    let sizes = seen.iter().map(|review| {
        let request = &review["request"];
        json!([
            request["oldObject"]["spec"]["replicas"],
            request["object"]["spec"]["replicas"]
        ])
    });
    let sizes: Vec<Value> = sizes.collect();
    assert_eq!(sizes, [json!([1, 5]), json!([5, 2]), json!([1, 5])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_chooses_or_refuses_the_node_of_a_pod() {
    let world = world().await;
    let hook = Hook::start(
        |review| match &review["request"]["object"]["target"]["name"] {
            name if name == "full" => Reply::Deny(403, "no room"),
            name if name == "any" => {
                Reply::Patch(json!([{"op": "replace", "path": "/target/name", "value": "chosen"}]))
            }
            _ => Reply::Allow,
        },
    )
    .await;
    let resources = json!(["pods/binding", "bindings"]);
    configure(&world, "mutating", &hook, resources).await;
    let denied = "admission webhook \"h.example.com\" denied the request: no room";
    for (line, pod, node, expected) in [
        ("POST core/pods/one/binding", "one", "full", denied),
        ("POST core/bindings", "one", "full", denied),
        ("POST core/pods/one/binding", "one", "any", ""),
        ("POST core/bindings", "two", "any", ""),
        (
            "POST core/pods/three/binding",
            "four",
            "n",
            "name in URL does not match name in Binding object",
        ),
    ] {
        let binding = json!({"metadata": {"name": pod}, "target": {"name": node}});
        let answer = ask(&world, line, binding).await;
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert_eq!(message, expected, "{line} {node}");
    }
    for (pod, node) in [
        ("one", json!("chosen")),
        ("two", json!("chosen")),
        ("three", Value::Null),
    ] {
        let found = ask(&world, &format!("GET core/pods/{pod}"), Value::Null).await;
        assert_eq!(found.body["spec"]["nodeName"], node, "{pod}");
    }
}

use std::sync::Arc;

use api::{
    config::{RequestStatus, ResourceInterpreterContext, ResourceInterpreterResponse},
    work::{
        ResourceHealth,
        v1alpha2::{AggregatedStatusItem, Component},
    },
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use object::Value;
use serde_json::json;

use super::*;
use crate::{Answer, InterpretError, Interpreter, Layers, Options};

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

fn configuration(name: &str, webhooks: Value) -> Object {
    object(json!({
        "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterWebhookConfiguration",
        "metadata": {"name": name}, "webhooks": webhooks,
    }))
}

fn webhook(name: &str, operations: &[&str], kinds: &[&str]) -> Value {
    json!({
        "name": name, "clientConfig": {"url": "https://example.com/ask"}, "interpreterContextVersions": ["v1alpha1"],
        "rules": [{"operations": operations, "apiGroups": ["apps", "acme.io"], "apiVersions": ["v1"], "kinds": kinds}],
    })
}

fn widget() -> Object {
    object(json!({
        "apiVersion": "acme.io/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "n"},
        "spec": {"size": 1}, "status": {"old": true},
    }))
}

/// An interpreter whose one webhook answers everything about Widgets.
fn interpreter() -> Interpreter {
    let hooks = Hooks::new([&configuration(
        "c",
        json!([webhook("a.example.com", &["*"], &["Widget"])]),
    )]);
    let layers = Layers {
        webhook: Some(Arc::new(hooks)),
        ..Layers::default()
    };
    Interpreter::new(
        layers,
        Options {
            resource_quota_estimate: true,
        },
    )
}

fn call<T: std::fmt::Debug>(answer: Result<Answer<T>, InterpretError>) -> WebhookCall<T> {
    match answer.unwrap() {
        Answer::Ask(call) => *call,
        Answer::Given(answer) => panic!("{answer:?}"),
    }
}

fn answered(response: ResourceInterpreterResponse) -> ResourceInterpreterContext {
    let response = ResourceInterpreterResponse {
        uid: "7".to_owned(),
        successful: true,
        ..response
    };
    ResourceInterpreterContext {
        response: Some(response),
        ..ResourceInterpreterContext::default()
    }
}

fn patch(patch: &Value) -> ResourceInterpreterContext {
    answered(ResourceInterpreterResponse {
        patch: Some(BASE64_STANDARD.encode(patch.to_string())),
        patch_type: Some("JSONPatch".to_owned()),
        ..ResourceInterpreterResponse::default()
    })
}

fn cause(error: &InterpretError) -> String {
    assert!(!error.is_terminal());
    std::error::Error::source(error).unwrap().to_string()
}

#[test]
fn the_first_hook_by_name_whose_rules_match_is_asked() {
    let hooks = Hooks::new(&[
        configuration("b", json!([webhook("a.example.com", &["*"], &["*"])])),
        configuration(
            "a",
            json!([
                webhook("z.example.com", &["InterpretHealth", "Retain"], &["Widget"]),
                webhook("y.example.com", &["Retain"], &["Widget"]),
            ]),
        ),
    ]);
    for (api_version, kind, operation, expected) in [
        (
            "acme.io/v1",
            "Widget",
            Operation::Retain,
            Some("a/y.example.com"),
        ),
        (
            "acme.io/v1",
            "Widget",
            Operation::InterpretHealth,
            Some("a/z.example.com"),
        ),
        (
            "acme.io/v1",
            "Widget",
            Operation::InterpretReplica,
            Some("b/a.example.com"),
        ),
        (
            "acme.io/v1",
            "Gadget",
            Operation::Retain,
            Some("b/a.example.com"),
        ),
        ("acme.io/v2", "Widget", Operation::Retain, None),
        ("v1", "Widget", Operation::Retain, None),
    ] {
        let found = hooks.origin(KindRef { api_version, kind }, operation);
        assert_eq!(
            found.as_deref(),
            expected,
            "{api_version} {kind} {operation}"
        );
    }
}

#[test]
fn a_configuration_that_cannot_be_read_is_reported() {
    let hooks = Hooks::new(&[configuration("c", json!("none"))]);
    assert_eq!(hooks.problems()[0].configuration, "c");
}

#[test]
fn a_question_says_all_that_the_service_needs() {
    let interpreter = interpreter();
    let asked = call(interpreter.ask_replicas(&widget()));
    let sent = serde_json::to_value(asked.context("7").unwrap()).unwrap();
    assert_eq!(
        sent,
        json!({
            "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterContext",
            "request": {
                "uid": "7", "kind": {"group": "acme.io", "version": "v1", "kind": "Widget"}, "name": "w", "namespace": "n",
                "operation": "InterpretReplica", "object": widget().into_value(), "replicas": 0,
            },
        })
    );
    let revise = call(interpreter.ask_revise(&widget(), 4))
        .context("7")
        .unwrap();
    assert_eq!(revise.request.unwrap().desired_replicas, Some(4));
    let retain = call(interpreter.ask_retain_all(&widget(), &widget()))
        .context("7")
        .unwrap();
    assert_eq!(
        retain.request.unwrap().observed_object,
        Some(widget().into_value())
    );
    let items = [AggregatedStatusItem {
        cluster_name: "m1".to_owned(),
        ..AggregatedStatusItem::default()
    }];
    let aggregate = call(interpreter.ask_aggregate(&widget(), &items))
        .context("7")
        .unwrap();
    assert_eq!(aggregate.request.unwrap().aggregated_status, items);
}

#[test]
fn answers_are_read_as_what_was_asked() {
    let interpreter = interpreter();
    let replicas = answered(ResourceInterpreterResponse {
        replicas: Some(3),
        replica_requirements: Some(api::work::v1alpha2::ReplicaRequirements::default()),
        ..ResourceInterpreterResponse::default()
    });
    let replicas = call(interpreter.ask_replicas(&widget()))
        .read("7", replicas)
        .unwrap();
    assert_eq!(
        (
            replicas.replicas,
            replicas.requirements.unwrap().namespace.as_str()
        ),
        (3, "n")
    );
    let components = answered(ResourceInterpreterResponse::default());
    assert_eq!(
        call(interpreter.ask_components(&widget()))
            .read("7", components)
            .unwrap(),
        []
    );
    let health = answered(ResourceInterpreterResponse {
        healthy: Some(false),
        ..ResourceInterpreterResponse::default()
    });
    assert_eq!(
        call(interpreter.ask_health(&widget()))
            .read("7", health)
            .unwrap(),
        ResourceHealth::Unhealthy
    );
    let status = answered(ResourceInterpreterResponse {
        raw_status: Some(json!({"a": 1})),
        ..ResourceInterpreterResponse::default()
    });
    assert_eq!(
        call(interpreter.ask_reflect(&widget()))
            .read("7", status)
            .unwrap(),
        Some(json!({"a": 1}))
    );
    let size = json!([{"op": "replace", "path": "/spec/size", "value": 4}]);
    let revised = call(interpreter.ask_revise(&widget(), 4))
        .read("7", patch(&size))
        .unwrap();
    assert_eq!(revised.integer_at(&["spec", "size"]), Some(4));
    let retained = call(interpreter.ask_retain_all(&widget(), &widget()))
        .read("7", patch(&size))
        .unwrap();
    assert_eq!(retained.integer_at(&["spec", "size"]), Some(4));
    let total = json!([{"op": "add", "path": "/status/total", "value": 2}]);
    let aggregate = call(interpreter.ask_aggregate(&widget(), &[]))
        .read("7", patch(&total))
        .unwrap();
    assert_eq!(aggregate, Some(json!({"old": true, "total": 2})));
    let same = answered(ResourceInterpreterResponse::default());
    assert_eq!(
        call(interpreter.ask_aggregate(&widget(), &[]))
            .read("7", same)
            .unwrap(),
        None
    );
    let references = answered(ResourceInterpreterResponse {
        dependencies: ["b", "a", "b"]
            .map(|name| crate::pod::core("Secret", "n", name))
            .to_vec(),
        ..ResourceInterpreterResponse::default()
    });
    let found = call(interpreter.ask_dependencies(&widget()))
        .read("7", references)
        .unwrap();
    let names: Vec<&str> = found.iter().map(|to| to.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn answers_that_cannot_be_used_are_errors() {
    let interpreter = interpreter();
    let ask = |context: ResourceInterpreterContext| {
        cause(
            &call(interpreter.ask_revise(&widget(), 4))
                .read("7", context)
                .unwrap_err(),
        )
    };
    let flawed = |text: &str| {
        format!("the answer of webhook c/a.example.com cannot be used: response{text}")
    };
    let response = ResourceInterpreterResponse::default;
    let change = |change: fn(&mut ResourceInterpreterResponse)| {
        let mut context = answered(response());
        change(context.response.as_mut().unwrap());
        context
    };
    assert_eq!(
        ask(ResourceInterpreterContext::default()),
        flawed(": is missing")
    );
    assert_eq!(
        ask(change(|r| r.uid = "8".to_owned())),
        flawed(".uid: is \"8\", and the question had \"7\"")
    );
    assert_eq!(
        ask(change(|r| r.successful = false)),
        flawed(".status: is required where successful is false")
    );
    let refusal = change(|r| {
        r.successful = false;
        r.status = Some(RequestStatus {
            message: "no".to_owned(),
            code: 400,
        });
    });
    assert_eq!(
        ask(refusal),
        "webhook c/a.example.com failed with code 400: no"
    );
    assert_eq!(
        ask(change(|r| r.patch = Some("W10=".to_owned()))),
        flawed(".patchType: is required beside patch")
    );
    assert_eq!(
        ask(change(|r| r.patch_type = Some("JSONPatch".to_owned()))),
        flawed(".patch: is required beside patchType")
    );
    assert_eq!(
        ask(change(|r| {
            r.patch = Some("W10=".to_owned());
            r.patch_type = Some("Merge".to_owned());
        })),
        flawed(".patchType: \"Merge\" is not JSONPatch")
    );
    let absent = ask(patch(&json!([{"op": "remove", "path": "/spec/none"}])));
    assert_eq!(
        absent,
        flawed(".patch: operation 0 (remove /spec/none): nothing exists at /spec/none")
    );
    assert!(
        ask(patch(&json!([{"op": "replace", "path": "", "value": 7}])))
            .starts_with(&flawed(".patch: "))
    );
    let health = call(interpreter.ask_health(&widget()))
        .read("7", answered(response()))
        .unwrap_err();
    assert_eq!(cause(&health), flawed(".healthy: is required"));
    let negative = change(|r| r.replicas = Some(-3));
    let replicas = call(interpreter.ask_replicas(&widget())).read("7", negative);
    assert_eq!(
        cause(&replicas.unwrap_err()),
        flawed(".replicas: -3 is not between 0 and 2147483647")
    );
    let negative = change(|r| {
        let component = |replicas| Component {
            replicas,
            ..Component::default()
        };
        r.components = vec![component(0), component(-1)];
    });
    let components = call(interpreter.ask_components(&widget())).read("7", negative);
    assert_eq!(
        cause(&components.unwrap_err()),
        flawed(".components[1].replicas: -1 is not between 0 and 2147483647")
    );
    for status in [json!("fine"), json!([1]), json!(1)] {
        let mut context = answered(response());
        context.response.as_mut().unwrap().raw_status = Some(status);
        let status = call(interpreter.ask_reflect(&widget())).read("7", context);
        assert_eq!(
            cause(&status.unwrap_err()),
            flawed(".rawStatus: is no object")
        );
    }
    let failed = call(interpreter.ask_health(&widget())).failed("connection refused");
    assert_eq!(
        cause(&failed),
        "webhook c/a.example.com could not be called: connection refused"
    );
    assert_eq!(
        failed.to_string(),
        "the webhook rule for InterpretHealth of acme.io/v1, Kind=Widget failed"
    );
}

#[test]
fn an_answer_that_is_another_object_is_an_error() {
    let interpreter = interpreter();
    for (path, value, text) in [
        (
            "/apiVersion",
            "rbac.authorization.k8s.io/v1",
            "apiVersion is \"rbac.authorization.k8s.io/v1\" and was \"acme.io/v1\"",
        ),
        (
            "/kind",
            "ClusterRoleBinding",
            "kind is \"ClusterRoleBinding\" and was \"Widget\"",
        ),
        (
            "/metadata/name",
            "other",
            "metadata.name is \"other\" and was \"w\"",
        ),
        (
            "/metadata/namespace",
            "kube-system",
            "metadata.namespace is \"kube-system\" and was \"n\"",
        ),
    ] {
        let answer = || patch(&json!([{"op": "replace", "path": path, "value": value}]));
        let errors = [
            call(interpreter.ask_revise(&widget(), 4))
                .read("7", answer())
                .unwrap_err(),
            call(interpreter.ask_retain_all(&widget(), &widget()))
                .read("7", answer())
                .unwrap_err(),
            call(interpreter.ask_aggregate(&widget(), &[]))
                .read("7", answer())
                .unwrap_err(),
        ];
        for error in errors {
            assert_eq!(
                cause(&error),
                format!(
                    "the answer of webhook c/a.example.com cannot be used: response.patch: {text}; it must not change"
                )
            );
        }
    }
}

#[test]
fn a_service_that_does_not_understand_the_question_is_not_asked() {
    let mut hook = webhook("a.example.com", &["*"], &["*"]);
    hook["interpreterContextVersions"] = json!(["v2"]);
    let hooks = Hooks::new([&configuration("c", json!([hook]))]);
    let layers = Layers {
        webhook: Some(Arc::new(hooks)),
        ..Layers::default()
    };
    let interpreter = Interpreter::new(layers, Options::default());
    let error = call(interpreter.ask_health(&widget()))
        .context("7")
        .unwrap_err();
    assert_eq!(
        cause(&error),
        "webhook c/a.example.com does not accept v1alpha1 of ResourceInterpreterContext"
    );
}

#[test]
fn without_a_hook_the_answer_is_there_at_once() {
    let interpreter = Interpreter::default();
    let Ok(Answer::Given(health)) = interpreter.ask_health(&widget()) else {
        panic!("asks a webhook")
    };
    assert_eq!(health, ResourceHealth::Healthy);
}

#[test]
fn services_are_found_at_their_addresses() {
    let hook = |config: Value| {
        let mut hook = webhook("a.example.com", &["*"], &["*"]);
        hook["clientConfig"] = config;
        let hooks = Hooks::new([&configuration("c", json!([hook]))]);
        let kind = KindRef {
            api_version: "acme.io/v1",
            kind: "Widget",
        };
        Hook::clone(hooks.hook(kind, Operation::Retain).unwrap())
    };
    let service =
        |spec: Value| object(json!({"metadata": {"name": "s", "namespace": "n"}, "spec": spec}));
    let to_service =
        hook(json!({"service": {"namespace": "n", "name": "s", "path": "ask", "port": 8443}}));
    let endpoint = to_service.endpoint().unwrap();
    assert_eq!(endpoint.server_name().as_deref(), Some("s.n.svc"));
    let ports = json!([{"port": 80}, {"port": 8443}]);
    for (spec, expected) in [
        (None, Ok("https://s.n.svc:8443/ask")),
        (
            Some(json!({"clusterIP": "10.0.0.7", "ports": ports})),
            Ok("https://10.0.0.7:8443/ask"),
        ),
        (
            Some(json!({"clusterIP": "fd00::7", "ports": ports})),
            Ok("https://[fd00::7]:8443/ask"),
        ),
        (
            Some(json!({"type": "ExternalName", "externalName": "far.example.com"})),
            Ok("https://far.example.com:8443/ask"),
        ),
        (
            Some(json!({"clusterIP": "None", "ports": ports})),
            Err("service n/s has no cluster address"),
        ),
        (
            Some(json!({"clusterIP": "10.0.0.7", "ports": [{"port": 443}]})),
            Err("service n/s has no port 8443"),
        ),
        (
            Some(json!({"ports": 7})),
            Err("service n/s: spec.ports: expected a list, found a number"),
        ),
    ] {
        let found = spec.map(service);
        let url = endpoint
            .url(found.as_ref())
            .map_err(|error| error.to_string());
        assert_eq!(url.as_deref().map_err(String::as_str), expected);
    }
    let bare = hook(json!({"service": {"namespace": "n", "name": "s"}}))
        .endpoint()
        .unwrap();
    assert_eq!(bare.url(None).unwrap(), "https://s.n.svc:443/");
    assert_eq!(
        hook(json!({"url": "https://h/p"}))
            .endpoint()
            .unwrap()
            .url(None)
            .unwrap(),
        "https://h/p"
    );
    assert_eq!(hook(json!({})).endpoint(), Err(EndpointError::Unclear));
    assert_eq!(hook(json!({})).timeout(), Duration::from_secs(10));
    assert_eq!(hook(json!({"caBundle": "x"})).authorities(), Some("x"));
}

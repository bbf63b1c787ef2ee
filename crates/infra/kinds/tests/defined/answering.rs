//! What a real server answers to requests that are odd in one way, held against ours word by word.

use serde_json::{Value, json};

use crate::api::{Api, gadget, gadgets, path, version};

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const MERGE: &str = "application/merge-patch+json";
const OPERATIONS: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A server with the gadget `a`.
async fn api() -> Api {
    let properties = json!({
        "a": {"type": "string"}, "size": {"type": "integer"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "inner": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
    });
    let mut version = version("v1", true, properties, json!([]));
    version["subresources"]["scale"] =
        json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"});
    let definition = gadgets(json!([version]), json!({"strategy": "None"}));
    let api = Api::start(&definition, None).await;
    let made = gadget("v1", "a", json!({"a": "x"}));
    let (code, answer) = api.send("POST", &path("v1", ""), &made).await;
    assert_eq!(code, 201, "{answer}");
    api
}

/// The method, what follows the collection's path, the media type and the body; then the code, what the message ends with,
/// and the warnings.
type Exchange<'a> = (
    &'a str,
    &'a str,
    &'a str,
    &'a str,
    u16,
    &'a str,
    &'a [&'a str],
);

/// Sends requests one after the other.
async fn check(requests: &[Exchange<'_>]) {
    let api = api().await;
    for (method, rest, media, body, code, message, warnings) in requests {
        let (found, answer, told) = api.ask(method, &path("v1", rest), media, body).await;
        let request = format!("{method} {rest} {body}");
        assert_eq!(found, *code, "{request}: {answer}");
        let said = answer["message"].as_str().unwrap_or_default();
        assert!(said.ends_with(message), "{request}: {said}");
        let expected: Vec<String> = warnings
            .iter()
            .map(|text| format!("299 - {text:?}"))
            .collect();
        assert_eq!(told, expected, "{request}");
    }
}

#[tokio::test]
async fn fields_given_twice_or_known_to_nobody_are_told_in_every_form() {
    let json = r#"{"apiVersion":"test.io/v1","kind":"Gadget","metadata":{"name":"NAME","odd":1},"spec":{"size":1,"size":2,"size":3,"novel":1}}"#;
    let inner = r#"{"apiVersion":"test.io/v1","kind":"Gadget","metadata":{"name":"NAME"},"spec":{"inner":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","odd":1}}}}"#;
    let yaml =
        "apiVersion: test.io/v1\nkind: Gadget\nmetadata:\n  name: NAME\nspec:\n  a: x\n  a: z\n";
    check(&[
        (
            "POST", "?fieldValidation=Strict", JSON, &json.replace("NAME", "b"), 400,
            "Gadget in version \"v1\" cannot be handled as a Gadget: strict decoding error: duplicate field \"spec.size\", unknown field \"metadata.odd\", unknown field \"spec.novel\"",
            &[],
        ),
        (
            "POST", "", JSON, &json.replace("NAME", "b"), 201, "",
            &["duplicate field \"spec.size\"", "unknown field \"metadata.odd\"", "unknown field \"spec.novel\""],
        ),
        ("POST", "?fieldValidation=Ignore", JSON, &json.replace("NAME", "c"), 201, "", &[]),
        ("POST", "", JSON, &inner.replace("NAME", "d"), 201, "", &["unknown field \"spec.inner.metadata.odd\""]),
        ("POST", "", YAML, &yaml.replace("NAME", "e"), 201, "", &["line 7: key \"a\" already set in map"]),
        (
            "POST", "?fieldValidation=Strict", YAML, &yaml.replace("NAME", "f"), 400,
            "strict decoding error: yaml: unmarshal errors:\n  line 7: key \"a\" already set in map", &[],
        ),
        (
            "PATCH", "/g?fieldManager=m", APPLY, &yaml.replace("NAME", "g"), 201, "",
            &["line 7: key \"a\" already set in map"],
        ),
        (
            "PATCH", "/g?fieldManager=m&fieldValidation=Strict", APPLY, &yaml.replace("NAME", "g"), 400,
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 7: key \"a\" already set in map",
            &[],
        ),
        (
            "PATCH", "/a", MERGE, r#"{"spec":{"a":"x","a":"y","novel":1}}"#, 200, "",
            &["duplicate field \"spec.a\"", "unknown field \"spec.novel\""],
        ),
        (
            "PATCH", "/a?fieldValidation=Strict", MERGE, r#"{"spec":{"a":"x","a":"y","novel":1}}"#, 422,
            "strict decoding error: duplicate field \"spec.a\", unknown field \"spec.novel\"", &[],
        ),
        (
            "PATCH", "/a", OPERATIONS, r#"[{"op":"add","path":"/spec/b","path":"/spec/a","value":"q","more":1}]"#, 200, "",
            &["json patch duplicate field \"[0].path\"", "json patch unknown field \"[0].more\""],
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_object_says_which_one_it_is() {
    let named = |name: &str| {
        json!({"apiVersion": "test.io/v1", "kind": "Gadget", "metadata": {"name": name}})
            .to_string()
    };
    let unnamed =
        "the name of the object (a based on URL) was undeterminable: name must be provided";
    let nameless = r#"{"apiVersion":"test.io/v1","kind":"Gadget","metadata":{}}"#;
    check(&[
        ("PUT", "/a", JSON, nameless, 400, unnamed, &[]),
        ("PATCH", "/a?fieldManager=m", APPLY, nameless, 400, unnamed, &[]),
        ("PATCH", "/a", MERGE, r#"{"metadata":{"name":null}}"#, 400, unnamed, &[]),
        (
            "PATCH", "/a?fieldManager=m", APPLY, r#"{"metadata":{"name":"a"}}"#, 400,
            "invalid object type: /, Kind=", &[],
        ),
        (
            "PUT", "/a", JSON, &named("a"), 422,
            "gadgets.test.io \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update",
            &[],
        ),
        ("PUT", "/a/status", JSON, &named("a"), 422, "must be specified for an update", &[]),
        (
            "PATCH", "/a", MERGE, r#"{"metadata":{"uid":"other"}}"#, 422,
            "Gadget.test.io \"a\" is invalid: metadata.uid: Invalid value: \"other\": field is immutable", &[],
        ),
        (
            "PATCH", "/a", MERGE, r#"{"metadata":{"deletionGracePeriodSeconds":5}}"#, 422,
            "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable", &[],
        ),
        (
            "PATCH", "/a", MERGE, r#"{"apiVersion":"test.io/v2"}"#, 422,
            "Gadget.test.io \"a\" is invalid: apiVersion: Invalid value: \"test.io/v2\": must be test.io/v1", &[],
        ),
        (
            "PATCH", "/a", OPERATIONS, r#"[{"op":"replace","path":"","value":{}}]"#, 422,
            " \"\" is invalid: patch: Invalid value: \"{}\": Object 'Kind' is missing in '{}'", &[],
        ),
        (
            "PATCH", "/a", MERGE, "[]", 400,
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}", &[],
        ),
        (
            "PATCH", "/a?force=true", MERGE, "{}", 422,
            "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch", &[],
        ),
        ("GET", "/a", JSON, "", 200, "", &[]),
    ])
    .await;
}

#[tokio::test]
async fn owners_and_finalizers_are_told_of_as_they_are_elsewhere() {
    let owner = |name: &str, more: &str| {
        format!(r#"{{"apiVersion":"v1","kind":"Pod","name":"{name}","uid":"u"{more}}}"#)
    };
    let owned = |name: &str, owners: &[String]| {
        format!(
            r#"{{"apiVersion":"test.io/v1","kind":"Gadget","metadata":{{"name":"{name}","ownerReferences":[{}]}}}}"#,
            owners.join(",")
        )
    };
    check(&[
        (
            "POST", "", JSON, &owned("b", &[owner("p", ""), owner("p", "")]), 201, "",
            &[".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u"],
        ),
        ("POST", "", JSON, &owned("c", &[owner("p", ""), owner("q", "")]), 201, "", &[]),
        (
            "POST", "", JSON, &owned("d", &[owner("p", r#","controller":true"#), owner("q", r#","controller":true"#)]), 422,
            "Only one reference can have Controller set to true. Found \"true\" in references for Pod/p and Pod/q", &[],
        ),
        ("POST", "", JSON, &owned("e", &[owner("", "")]), 422, "metadata.ownerReferences.name: Invalid value: \"\": must not be empty", &[]),
        (
            "PATCH", "/a", MERGE, r#"{"metadata":{"finalizers":["short","a.b/long","orphan"]}}"#, 200, "",
            &["metadata.finalizers: \"short\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"],
        ),
        ("PATCH", "/a", MERGE, r#"{"metadata":{"labels":{"x":"y"}}}"#, 200, "", &[]),
        ("DELETE", "/a", JSON, "", 200, "", &[]),
        (
            "PATCH", "/a", MERGE, r#"{"metadata":{"finalizers":["short","a.b/long","orphan","c.d/new"]}}"#, 422,
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{\"c.d/new\"}", &[],
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_deletion_that_is_not_understood_deletes_nothing() {
    check(&[
        (
            "DELETE", "/a", JSON, r#"{"dryRun":["Some"]}"#, 422,
            "DeleteOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"", &[],
        ),
        (
            "DELETE", "/a", JSON, r#"{"orphanDependents":true,"propagationPolicy":"Orphan"}"#, 422,
            "propagationPolicy: Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set", &[],
        ),
        ("DELETE", "/a", JSON, r#"{"kind":"Gadget","apiVersion":"test.io/v1"}"#, 400, "where DeleteOptions were expected", &[]),
        ("DELETE", "/a", JSON, r#"{"preconditions":"u"}"#, 400, "preconditions: has the wrong type", &[]),
        ("DELETE", "/a", JSON, "[]", 400, "expected an object", &[]),
        ("DELETE", "", JSON, r#"{"dryRun":["Some"]}"#, 422, "supported values: \"All\"", &[]),
        ("GET", "/a", JSON, "", 200, "", &[]),
    ])
    .await;
}

#[tokio::test]
async fn a_size_is_declared_and_fought_over_like_any_field() {
    let scale = |size: i64| {
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": size}}).to_string()
    };
    check(&[
        ("PATCH", "/a/scale?fieldManager=one", APPLY, &scale(3), 200, "", &[]),
        (
            "PATCH", "/a/scale?fieldManager=two", APPLY, &scale(4), 409,
            "Apply failed with 1 conflict: conflict with \"one\" with subresource \"scale\": .spec.size", &[],
        ),
        ("PATCH", "/a/scale?fieldManager=two&force=true", APPLY, &scale(4), 200, "", &[]),
        (
            "PATCH", "/a/scale", MERGE, r#"{"spec":{"replicas":-6}}"#, 422,
            "Gadget.test.io \"a\" is invalid: .spec.size: Invalid value: -6: should be a non-negative integer", &[],
        ),
        (
            "PUT", "/a/scale", JSON, r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{},"spec":{"replicas":5}}"#, 400,
            "the name of the object (a based on URL) was undeterminable: name must be provided", &[],
        ),
        (
            "PUT", "/a/scale", JSON, r#"{"apiVersion":"test.io/v1","kind":"Gadget","metadata":{"name":"a"},"spec":{"replicas":5}}"#, 400,
            "where a Scale of autoscaling/v1 was expected", &[],
        ),
        ("PUT", "/a/scale", JSON, &scale(5), 200, "", &[]),
    ])
    .await;
}

#[tokio::test]
async fn one_empty_entry_forgets_the_owners_and_an_empty_list_does_not() {
    let api = api().await;
    let place = path("v1", "/a");
    let owners = async |entries: Value| {
        let patch = json!({"metadata": {"managedFields": entries}});
        let (code, answer) = api.send("PATCH", &place, &patch).await;
        assert_eq!(code, 200, "{answer}");
        answer["metadata"]["managedFields"]
            .as_array()
            .map_or(0, Vec::len)
    };
    assert_eq!(owners(json!([])).await, 1);
    assert_eq!(
        owners(json!([{"manager": "x", "operation": "Bogus", "apiVersion": "y"}])).await,
        1
    );
    assert_eq!(owners(json!([{}])).await, 0);
}

#[tokio::test]
async fn problems_of_built_in_objects_come_in_the_order_of_the_document() {
    let api = api().await;
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","odd":1,"labels":{"a":"b","a":"c"}},"zed":{"x":1,"x":2},"data":{"a":"b"},"also":1,"data":{"a":"d"}}"#;
    let place = "/api/v1/namespaces/default/configmaps";
    let told = [
        "unknown field \"metadata.odd\"",
        "duplicate field \"metadata.labels.a\"",
        "unknown field \"zed\"",
        "duplicate field \"data\"",
        "unknown field \"also\"",
    ];
    let strict = format!("{place}?fieldValidation=Strict");
    let (code, answer, _) = api.ask("POST", &strict, JSON, body).await;
    let expected = format!(
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: {}",
        told.join(", ")
    );
    assert_eq!((code, answer["message"].as_str()), (400, Some(&*expected)));
    let (code, answer, warnings) = api.ask("POST", place, JSON, body).await;
    assert_eq!((code, &answer["data"]), (201, &json!({"a": "d"})));
    let told: Vec<String> = told.iter().map(|text| format!("299 - {text:?}")).collect();
    assert_eq!(warnings, told);
}

#[tokio::test]
async fn built_in_objects_are_decoded_before_anything_else_and_null_is_nothing() {
    let api = api().await;
    let base = "/api/v1/namespaces/default";
    let check = async |method: &str, rest: &str, body: Value, code: u16, shown: Value| {
        let (found, answer) = api.send(method, &format!("{base}/{rest}"), &body).await;
        assert_eq!(found, code, "{method} {rest} {body}: {answer}");
        if code < 300 {
            let data = json!([answer["data"], answer["metadata"]["labels"]]);
            assert_eq!(data, shown, "{method} {rest} {body}");
        }
    };
    let secret = |more: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
        for (name, value) in more.as_object().unwrap() {
            object[name] = value.clone();
        }
        object
    };
    let nothing = || json!(null);
    check(
        "POST",
        "secrets",
        secret(json!({"data": "other", "stringData": {"b": "c"}})),
        400,
        nothing(),
    )
    .await;
    check(
        "POST",
        "secrets",
        secret(json!({"data": {"a": {}}})),
        400,
        nothing(),
    )
    .await;
    check(
        "PUT",
        "secrets/s",
        secret(json!({"data": 5})),
        400,
        nothing(),
    )
    .await;
    let labelled = json!({"metadata": {"name": "s", "labels": {"a": null}}, "data": {"x": null}});
    check(
        "POST",
        "secrets",
        secret(labelled),
        201,
        json!([{"x": ""}, {"a": ""}]),
    )
    .await;
    check(
        "PATCH",
        "secrets/s",
        json!({"data": {"y": 7}}),
        422,
        nothing(),
    )
    .await;
    check("DELETE", "secrets/s", nothing(), 200, json!([null, null])).await;
    // Kinds whose description says so answer a deletion with the object that went.
    for (plural, body, kind) in [
        (
            "serviceaccounts",
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x"}}),
            "ServiceAccount",
        ),
        (
            "configmaps",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}),
            "Status",
        ),
    ] {
        let place = format!("{base}/{plural}");
        assert_eq!(api.send("POST", &place, &body).await.0, 201);
        let (code, answer) = api
            .send("DELETE", &format!("{place}/x"), &Value::Null)
            .await;
        assert_eq!(
            (code, answer["kind"].as_str()),
            (200, Some(kind)),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn events_are_selected_by_the_fields_of_the_version_asked_for() {
    let api = api().await;
    let event = json!({
        "metadata": {"name": "e"}, "regarding": {"kind": "Pod", "namespace": "d"}, "reason": "Test", "type": "Normal",
        "action": "Do", "eventTime": "2026-01-02T03:04:05.000000Z", "reportingController": "tester",
        "reportingInstance": "here",
    });
    let events = "/apis/events.k8s.io/v1/namespaces/d/events";
    let (code, answer) = api.send("POST", events, &event).await;
    assert_eq!(code, 201, "{answer}");
    for (path, selector, expected) in [
        (events, "reportingController=tester", 1),
        (events, "regarding.kind=Pod", 1),
        (events, "regarding.kind=Node", 0),
        ("/api/v1/namespaces/d/events", "source=tester", 1),
        ("/api/v1/namespaces/d/events", "involvedObject.kind=Pod", 1),
        ("/api/v1/namespaces/d/events", "source=other", 0),
    ] {
        let line = format!("{path}?fieldSelector={selector}");
        let (_, list) = api.send("GET", &line, &Value::Null).await;
        let found = list["items"].as_array().map(Vec::len);
        assert_eq!(found, Some(expected), "{selector}: {list}");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_of_states_that_nobody_has_are_refused() {
    let api = api().await;
    let list = |token: &str| format!("{}?limit=2&continue={token}", path("v1", ""));
    for (token, code, reason, cause) in [
        ("v1.99999999.7.", 504, "Timeout", "ResourceVersionTooLarge"),
        (
            "v1.99999999.7.61",
            504,
            "Timeout",
            "ResourceVersionTooLarge",
        ),
        (
            "v1.18446744073709551615.7.61",
            504,
            "Timeout",
            "ResourceVersionTooLarge",
        ),
        ("v1.0.7.61", 400, "BadRequest", ""),
        ("v1.18446744073709551616.7.61", 400, "BadRequest", ""),
    ] {
        let (found, answer, _) = api.ask("GET", &list(token), JSON, "").await;
        assert_eq!(found, code, "{token}: {answer}");
        assert_eq!(answer["reason"], reason, "{token}: {answer}");
        let causes = answer["details"]["causes"].as_array().into_iter().flatten();
        let causes: Vec<&Value> = causes.map(|cause| &cause["reason"]).collect();
        let expected: &[&str] = if cause.is_empty() { &[] } else { &[cause] };
        assert_eq!(causes, expected, "{token}: {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_less_than_no_time_is_over_at_once() {
    let api = api().await;
    let watch = format!("{}?watch=1&timeoutSeconds=-1", path("v1", ""));
    let (code, _, _) = api.ask("GET", &watch, JSON, "").await;
    assert_eq!(code, 200);
}

/// The documents say of custom kinds what may be done with their status and their scale, and of what kind those are.
#[tokio::test]
async fn parts_of_custom_objects_are_described() {
    let api = api().await;
    let own = json!({"group": "test.io", "version": "v1", "kind": "Gadget"});
    let object = "/apis/test.io/v1/namespaces/{namespace}/gadgets/{name}";
    let gadget = "io.test.v1.Gadget";
    let scale = "io.k8s.api.autoscaling.v1.Scale";
    for (document, schemas) in [
        ("/openapi/v3/apis/test.io/v1", "components/schemas"),
        ("/openapi/v2", "definitions"),
    ] {
        let (code, answer, _) = api.ask("GET", document, JSON, "").await;
        assert_eq!(code, 200, "{document}");
        for (part, schema) in [("status", gadget), ("scale", scale)] {
            let operations = answer["paths"][format!("{object}/{part}")]
                .as_object()
                .unwrap();
            let mut methods: Vec<&str> = operations.keys().map(String::as_str).collect();
            methods.retain(|name| *name != "parameters");
            methods.sort_unstable();
            assert_eq!(methods, ["get", "patch", "put"], "{document} {part}");
            for method in methods {
                let operation = &operations[method];
                assert_eq!(
                    operation["x-kubernetes-group-version-kind"], own,
                    "{document} {part} {method}"
                );
                let answered = operation["responses"]["200"].to_string();
                let reference = format!("\"$ref\":\"#/{schemas}/{schema}\"");
                assert!(
                    answered.contains(&reference),
                    "{document} {part} {method}: {answered}"
                );
            }
        }
        let schemas = format!("/{schemas}/{}", scale);
        let described = answer.pointer(&schemas).unwrap();
        assert!(
            described["properties"]["spec"].is_object(),
            "{document}: {described}"
        );
        assert_eq!(
            described["x-kubernetes-group-version-kind"],
            json!([{"group": "autoscaling", "version": "v1", "kind": "Scale"}])
        );
    }
    let (_, apps, _) = api.ask("GET", "/openapi/v3/apis/apps/v1", JSON, "").await;
    let deployment = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
    for (part, kind) in [("status", "Deployment"), ("scale", "Scale")] {
        let patch = &apps["paths"][format!("{deployment}/{part}")]["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], kind);
    }
}

/// As many owners as a body has room for: each is told from the others without being held against all of them.
#[tokio::test]
async fn many_owners_are_named_once() {
    const OWNERS: usize = 4_000;
    let owner = |number: usize| json!({"apiVersion": "v1", "kind": "Pod", "name": format!("p{number}"), "uid": format!("u{number}")});
    let mut owners: Vec<Value> = (0..OWNERS).map(owner).collect();
    owners.extend([owner(7), owner(3), owner(7)]);
    // The same owner, written in another order.
    owners.push(json!({"uid": "u5", "name": "p5", "kind": "Pod", "apiVersion": "v1"}));
    let mut object = gadget("v1", "owned", json!({}));
    object["metadata"]["ownerReferences"] = Value::Array(owners);
    let api = api().await;
    let (code, answer, told) = api
        .ask("POST", &path("v1", ""), JSON, &object.to_string())
        .await;
    assert_eq!(code, 201, "{}", answer["message"]);
    let kept = answer["metadata"]["ownerReferences"].as_array().unwrap();
    let expected: Vec<Value> = (0..OWNERS).map(owner).collect();
    assert_eq!(*kept, expected);
    let [told] = told.as_slice() else {
        panic!("one warning: {told:?}")
    };
    assert!(
        told.ends_with("duplicate UID(s) observed: u7, u3, u5\""),
        "{told}"
    );
}

/// What a few lines of YAML stand for may be more than is read; whoever sends it is told in words.
#[tokio::test]
async fn yaml_that_stands_for_too_much_is_refused_in_words() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..9 {
        let below = format!("*a{}", level - 1);
        let list = vec![below; 9].join(",");
        bomb.push_str(&format!("a{level}: &a{level} [{list}]\n"));
    }
    let aliases = format!("a: &a x\nb: [{}]\n", vec!["*a"; 500].join(","));
    let deep = format!("a: {}1{}\n", "[".repeat(500), "]".repeat(500));
    let api = api().await;
    for (body, says) in [
        (
            &bomb,
            "error decoding the body as YAML: the document is too large",
        ),
        (&aliases, "aliases of only 1 anchors"),
        (&deep, "error decoding the body as YAML: "),
    ] {
        let (code, answer, _) = api.ask("POST", &path("v1", ""), YAML, body).await;
        let said = answer["message"].as_str().unwrap_or_default();
        assert_eq!(
            (code, &answer["reason"]),
            (400, &json!("BadRequest")),
            "{said}"
        );
        assert!(said.contains(says), "{said}");
        assert!(!said.contains(['{', '}']), "{said}");
    }
}

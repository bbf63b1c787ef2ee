//! Bad input, sort by sort: each case says what is sent and what is answered, and nothing may have changed afterwards.

mod bodies;

use bytes::Bytes;
use serve::call::User;

use crate::asking::{GADGETS, MAPS, WEBS, everything, lou, prepare, send};
use crate::world::{World, master, user};

/// The code, the reason, part of the message, and the fields of the causes, as far as there are any.
type Expected = (u16, &'static str, &'static str, &'static [&'static str]);

/// One request: method and path, content type, body; what is answered.
struct Case {
    line: String,
    content: &'static str,
    body: Bytes,
    expected: Expected,
}

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

fn case(
    line: impl Into<String>,
    content: &'static str,
    body: impl Into<Bytes>,
    expected: Expected,
) -> Case {
    Case {
        line: line.into(),
        content,
        body: body.into(),
        expected,
    }
}

async fn check_as(world: &World, who: &User, cases: Vec<Case>) {
    let before = everything(world).await;
    let revision = world.handle.server().cache().revision();
    let mut wrong = Vec::new();
    for case in cases {
        let (code, reason, message, fields) = case.expected;
        let headers = [("content-type", case.content)];
        let headers = if case.content.is_empty() {
            &headers[..0]
        } else {
            &headers[..]
        };
        let size = case.body.len();
        let sent = String::from_utf8_lossy(&case.body[..size.min(120)]).into_owned();
        let Some((found, answer)) = send(world, who, &case.line, headers, case.body).await else {
            wrong.push(format!("{} cannot be sent", case.line));
            continue;
        };
        let causes = answer["details"]["causes"].as_array();
        let places: Vec<&str> = causes
            .into_iter()
            .flatten()
            .filter_map(|cause| cause["field"].as_str())
            .collect();
        let is_so = found == code
            && answer["kind"] == "Status"
            && answer["reason"].as_str().unwrap_or_default() == reason
            && answer["message"]
                .as_str()
                .is_some_and(|text| text.contains(message))
            && places == fields;
        if !is_so {
            let shown: String = answer.to_string().chars().take(500).collect();
            wrong.push(format!(
                "{} {} {sent}\n    expected {code} {reason} {message:?} {fields:?}\n    found {found} {shown}",
                case.line, case.content
            ));
        }
        if world.handle.server().cache().revision() != revision {
            wrong.push(format!("{} {sent} changed something", case.line));
            break;
        }
    }
    assert!(
        wrong.is_empty(),
        "{} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(everything(world).await, before);
}

async fn check(cases: Vec<Case>) {
    let world = prepare().await;
    check_as(&world, &master(), cases).await;
}

#[tokio::test]
async fn fields_nobody_knows_under_strict_validation() {
    let strict = |line: &str| format!("{line}?fieldValidation=Strict&fieldManager=m");
    let unknown = |text: &'static str| -> Expected { (400, "BadRequest", text, &[]) };
    let patched = |text: &'static str| -> Expected { (422, "Invalid", text, &["patch"]) };
    let gadget = r#"{"apiVersion":"test.io/v1","kind":"Gadget","metadata":{"name":"new"},"spec":{"n":1,"m":{"deep":1}}}"#;
    check(vec![
        case(strict(&format!("POST {MAPS}")), JSON, r#"{"metadata":{"name":"new"},"dta":{}}"#,
            unknown(r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta""#)),
        case(strict(&format!("POST {MAPS}")), JSON, r#"{"metadata":{"name":"new","nam":1},"a":1}"#,
            unknown(r#"unknown field "a""#)),
        case(strict(&format!("POST {MAPS}")), JSON, r#"{"metadata":{"name":"new","name":"b"}}"#,
            unknown(r#"duplicate field "metadata.name""#)),
        case(strict(&format!("POST {WEBS}")), YAML, "metadata: {name: new}\nspec: {replica: 1}",
            unknown(r#"unknown field "spec.replica""#)),
        case(strict(&format!("POST {GADGETS}")), JSON, gadget, unknown(r#"unknown field "spec.m""#)),
        case(strict(&format!("PUT {GADGETS}/kept")), JSON, gadget.replace("new", "kept"),
            unknown(r#"unknown field "spec.m""#)),
        case(strict(&format!("PATCH {GADGETS}/kept")), MERGE, r#"{"spec":{"m":1}}"#,
            patched(r#"unknown field "spec.m""#)),
        case(strict(&format!("PATCH {WEBS}/kept")), STRATEGIC, r#"{"spec":{"replica":1}}"#,
            patched(r#"unknown field "spec.replica""#)),
        case(strict(&format!("PATCH {WEBS}/kept")), JSON_PATCH, r#"[{"op":"add","path":"/spec/replica","value":1}]"#,
            patched(r#"unknown field "spec.replica""#)),
        // What is applied is held against the schema whatever the client says.
        case(format!("PATCH {GADGETS}/kept?fieldManager=m"), APPLY, gadget.replace("new", "kept"),
            (500, "", ".spec.m: field not declared in schema", &[])),
    ])
    .await;
}

#[tokio::test]
async fn names_that_are_none() {
    let invalid: Expected = (
        422,
        "Invalid",
        "metadata.name: Invalid value",
        &["metadata.name"],
    );
    let long = "x".repeat(254);
    let mut cases = Vec::new();
    for name in [
        "Upper",
        "under_score",
        "with space",
        "-front",
        "back-",
        "dot..dot",
        "\u{fc}mlaut",
        "a/b",
        "..",
        &long,
    ] {
        let map = serde_json::json!({"metadata": {"name": name}}).to_string();
        cases.push(case(format!("POST {MAPS}"), JSON, map, invalid));
        let gadget = serde_json::json!({
            "apiVersion": "test.io/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": {"n": 1},
        });
        cases.push(case(
            format!("POST {GADGETS}"),
            JSON,
            gadget.to_string(),
            invalid,
        ));
    }
    for name in ["", "a.b", "Upper"] {
        let namespace = serde_json::json!({"metadata": {"name": name}}).to_string();
        let why = if name.is_empty() {
            (
                422,
                "Invalid",
                "metadata.name: Required value: name or generateName is required",
                invalid.3,
            )
        } else {
            invalid
        };
        cases.push(case("POST /api/v1/namespaces", JSON, namespace, why));
    }
    for (metadata, field) in [
        (r#"{"name":"new","labels":{"a b":"c"}}"#, "metadata.labels"),
        (r#"{"name":"new","labels":{"a":"c d"}}"#, "metadata.labels"),
        (r#"{"name":"new","labels":{"/a":"c"}}"#, "metadata.labels"),
        (
            r#"{"name":"new","annotations":{"a b":"c"}}"#,
            "metadata.annotations",
        ),
        (
            r#"{"name":"new","finalizers":["nothing here"]}"#,
            "metadata.finalizers",
        ),
        (
            r#"{"name":"new","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p"}]}"#,
            "metadata.ownerReferences.uid",
        ),
    ] {
        let map = format!("{{\"metadata\":{metadata}}}");
        let fields: &'static [&'static str] = Box::leak(Box::new([field]));
        cases.push(case(
            format!("POST {MAPS}"),
            JSON,
            map,
            (422, "Invalid", field, fields),
        ));
    }
    check(cases).await;
}

#[tokio::test]
async fn objects_of_another_time_or_place() {
    let bad = |text: &'static str| -> Expected { (400, "BadRequest", text, &[]) };
    let conflict = |text: &'static str| -> Expected { (409, "Conflict", text, &[]) };
    let kind: Expected = (
        422,
        "Invalid",
        r#"kind: Invalid value: "Other": must be Gadget"#,
        &["kind"],
    );
    check(vec![
        case(format!("PUT {MAPS}/kept"), JSON, r#"{"metadata":{"name":"kept","resourceVersion":"1"}}"#,
            conflict("the object has been modified; please apply your changes to the latest version and try again")),
        case(format!("PATCH {MAPS}/kept"), MERGE, r#"{"metadata":{"resourceVersion":"1"}}"#, conflict("the object has been modified")),
        case(format!("PUT {GADGETS}/kept"), JSON,
            r#"{"apiVersion":"test.io/v1","kind":"Gadget","metadata":{"name":"kept","uid":"other"},"spec":{"n":2}}"#,
            conflict("Precondition failed: UID in precondition: other")),
        case(format!("DELETE {MAPS}/kept"), JSON, r#"{"preconditions":{"uid":"other"}}"#,
            conflict("the UID in the precondition (other) does not match the UID in record")),
        case(format!("DELETE {MAPS}/kept"), JSON, r#"{"preconditions":{"resourceVersion":"1"}}"#,
            conflict("the ResourceVersion in the precondition (1) does not match")),
        case(format!("POST {MAPS}"), JSON, r#"{"metadata":{"name":"new","resourceVersion":"1"}}"#,
            bad("resourceVersion should not be set on objects to be created")),
        case(format!("POST {MAPS}"), JSON, r#"{"metadata":{"name":"kept"}}"#,
            (409, "AlreadyExists", r#"configmaps "kept" already exists"#, &[])),
        case(format!("PUT {MAPS}/kept"), JSON, r#"{"metadata":{"name":"other"}}"#,
            bad("the name of the object (other) does not match the name on the URL (kept)")),
        case(format!("POST {MAPS}"), JSON, r#"{"metadata":{"name":"new","namespace":"other"}}"#,
            bad("the namespace of the provided object does not match the namespace sent on the request")),
        case(format!("POST {MAPS}"), JSON, r#"{"kind":"Secret","metadata":{"name":"new"}}"#,
            bad("the kind in the data (Secret) does not match the expected kind (ConfigMap)")),
        case(format!("POST {WEBS}"), JSON, r#"{"apiVersion":"v1","metadata":{"name":"new"}}"#,
            bad("the API version in the data (v1) does not match the expected API version (apps/v1)")),
        case(format!("POST {GADGETS}"), JSON, r#"{"apiVersion":"test.io/v1","kind":"Other","metadata":{"name":"new"}}"#, kind),
        case(format!("POST {GADGETS}"), JSON, r#"{"apiVersion":5,"kind":"Gadget","metadata":{"name":"new"}}"#,
            bad("cannot unmarshal number into Go struct field .apiVersion of type string")),
        case("POST /api/v1/namespaces/nowhere/configmaps", JSON, r#"{"metadata":{"name":"new"}}"#,
            (404, "NotFound", r#"namespaces "nowhere" not found"#, &[])),
        case(format!("PUT {MAPS}/missing"), JSON, r#"{"metadata":{"name":"missing"}}"#,
            (404, "NotFound", r#"configmaps "missing" not found"#, &[])),
        case(format!("DELETE {GADGETS}/missing"), "", "", (404, "NotFound", r#"gadgets.test.io "missing" not found"#, &[])),
    ])
    .await;
}

#[tokio::test]
async fn namespaces_that_must_stay() {
    let forbidden = |text: &'static str| -> Expected { (403, "Forbidden", text, &[]) };
    let place = |name: &str| format!("DELETE /api/v1/namespaces/{name}");
    check(vec![
        case(
            place("default"),
            "",
            "",
            forbidden(r#"namespaces "default" is forbidden: this namespace may not be deleted"#),
        ),
        case(
            place("kube-system"),
            "",
            "",
            forbidden(
                r#"namespaces "kube-system" is forbidden: this namespace may not be deleted"#,
            ),
        ),
        case(
            place("kube-public"),
            "",
            "",
            forbidden(
                r#"namespaces "kube-public" is forbidden: this namespace may not be deleted"#,
            ),
        ),
        case(
            place("default?dryRun=All"),
            "",
            "",
            forbidden("this namespace may not be deleted"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn namespaces_that_are_going() {
    let world = World::start().await;
    let going = serde_json::json!({"metadata": {"name": "going"}});
    world.create("/api/v1/namespaces", going).await;
    let line = "DELETE /api/v1/namespaces/going";
    let ended = world.ask(&master(), line, serde_json::Value::Null).await;
    assert_eq!(ended.code, 200, "{}", ended.body);
    let path = "POST /api/v1/namespaces/going/configmaps";
    for (body, name) in [
        (serde_json::json!({"metadata": {"name": "a"}}), "a"),
        (
            serde_json::json!({"metadata": {"generateName": "b-"}}),
            "b-",
        ),
    ] {
        let answer = world.ask(&master(), path, body).await;
        let message = answer.body["message"].as_str().unwrap_or_default();
        let expected = format!("configmaps \"{name}");
        assert!(message.starts_with(&expected), "{message}");
        let why = "is forbidden: unable to create new content in namespace going because it is being terminated";
        assert!(message.ends_with(why), "{message}");
        let cause = &answer.body["details"]["causes"][0];
        assert_eq!(
            (answer.code, &cause["reason"]),
            (403, &"NamespaceTerminating".into())
        );
    }
}

#[tokio::test]
async fn values_of_wrong_types_and_broken_rules() {
    let mistyped = |text: &'static str| -> Expected { (400, "BadRequest", text, &[]) };
    let web = |spec: &str| format!(r#"{{"metadata":{{"name":"new"}},"spec":{spec}}}"#);
    let gadget = |rest: &str| {
        format!(
            r#"{{"apiVersion":"test.io/v1","kind":"Gadget","metadata":{{"name":"new"}},{rest}}}"#
        )
    };
    let pods = "/api/v1/namespaces/default/pods";
    let services = "/api/v1/namespaces/default/services";
    check(vec![
        case(format!("POST {WEBS}"), JSON, web(r#"{"replicas":"three"}"#), mistyped("spec.replicas")),
        case(format!("POST {WEBS}"), JSON, web("[]"), mistyped("spec")),
        case(format!("POST {WEBS}"), JSON, web(r#"{"template":""}"#), mistyped("spec.template")),
        case(format!("POST {MAPS}"), JSON, r#"{"metadata":"name"}"#, mistyped("metadata")),
        case(format!("POST {MAPS}"), JSON, r#"{"metadata":{"name":5}}"#, mistyped("metadata.name")),
        case(format!("POST {MAPS}"), JSON, r#"{"metadata":{"name":"new","labels":0}}"#, mistyped("metadata.labels")),
        case(format!("POST {MAPS}"), JSON, r#"{"metadata":{"name":"new"},"data":{"k":{}}}"#, mistyped("data.k")),
        case(format!("POST {pods}"), JSON,
            r#"{"metadata":{"name":"new"},"spec":{"containers":[{"name":"a","image":"b","env":{}}]}}"#,
            mistyped("spec.containers[0].env")),
        case(format!("POST {GADGETS}"), JSON, gadget(r#""spec":{"n":"one"}"#),
            (422, "Invalid", r#"spec.n in body must be of type integer: "string""#, &["spec.n"])),
        case(format!("POST {GADGETS}"), JSON, gadget(r#""spec":{"n":101,"texts":[1]}"#),
            (422, "Invalid", "should be less than or equal to 100", &["spec.n", "spec.texts[0]"])),
        case(format!("POST {GADGETS}"), JSON, gadget(r#""spec":{}"#),
            (422, "Invalid", "spec.n: Required value", &["spec.n"])),
        case(format!("POST {GADGETS}"), JSON,
            r#"{"apiVersion":"test.io/v1","kind":"Gadget","metadata":{"name":"new","labels":{"a":1}},"spec":{"n":1}}"#,
            mistyped("json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string")),
        case(format!("POST {WEBS}"), JSON, web("{}"),
            (422, "Invalid", "spec.selector: Required value", &["spec.template.spec.containers", "spec.selector"])),
        case(format!("POST {services}"), JSON, web(r#"{"ports":[{"port":70000}]}"#),
            (422, "Invalid", "must be between 1 and 65535, inclusive", &["spec.ports[0].port", "spec.ports[0].targetPort"])),
        case(format!("POST {pods}"), JSON,
            r#"{"metadata":{"name":"new"},"spec":{"containers":[{"name":"a","image":"b","resources":{"limits":{"cpu":"lots"}}}]}}"#,
            mistyped("quantities must match")),
        case(format!("PATCH {WEBS}/kept"), MERGE, r#"{"spec":{"selector":{"matchLabels":{"app":"other"}}}}"#,
            (422, "Invalid", "field is immutable", &["spec.template.metadata.labels", "spec.selector"])),
        case(format!("PATCH {MAPS}/fixed"), MERGE, r#"{"data":{"k":"w"}}"#,
            (422, "Invalid", "field is immutable when `immutable` is set", &["data"])),
        case(format!("PATCH {WEBS}/kept"), MERGE, r#"{"spec":{"replicas":-1}}"#,
            (422, "Invalid", "must be greater than or equal to 0", &["spec.replicas"])),
        case(format!("PUT {WEBS}/kept/scale"), JSON, r#"{"spec":{"replicas":-1}}"#,
            (400, "BadRequest", "name must be provided", &[])),
        case(format!("PUT {WEBS}/kept/scale"), JSON, r#"{"metadata":{"name":"kept"},"spec":{"replicas":-1}}"#,
            (422, "Invalid", "must be greater than or equal to 0", &["spec.replicas"])),
    ])
    .await;
}

#[tokio::test]
async fn patches_that_cannot_be_applied() {
    let bad: Expected = (400, "BadRequest", "", &[]);
    let rejected = |text: &'static str| -> Expected { (422, "Invalid", text, &[]) };
    let patch = format!("PATCH {MAPS}/kept");
    let apply = format!("PATCH {MAPS}/kept?fieldManager=m");
    check(vec![
        case(&*patch, JSON_PATCH, "{}", bad),
        case(&*patch, JSON_PATCH, "[1]", bad),
        case(&*patch, JSON_PATCH, "[{}]", bad),
        case(&*patch, JSON_PATCH, r#"[{"op":"dance","path":"/a"}]"#, bad),
        case(&*patch, JSON_PATCH, r#"[{"op":"add","path":"no/slash","value":1}]"#, bad),
        case(&*patch, JSON_PATCH, r#"[{"op":"remove","path":"/data/none"}]"#, rejected("the server rejected our request")),
        case(&*patch, JSON_PATCH, r#"[{"op":"test","path":"/data/k","value":"w"}]"#, rejected("the server rejected our request")),
        case(&*patch, JSON_PATCH, r#"[{"op":"replace","path":"/data/k","value":"w"},{"op":"remove","path":"/none"}]"#,
            rejected("the server rejected our request")),
        case(&*patch, JSON_PATCH, r#"[{"op":"replace","path":"/metadata/name","value":"x"}]"#, bad),
        case(&*patch, JSON_PATCH, r#"[{"op":"replace","path":"","value":[]}]"#, (422, "Invalid", "", &["patch"])),
        case(&*patch, MERGE, "[]", bad),
        case(&*patch, MERGE, r#"{"kind":"Secret"}"#, bad),
        case(&*patch, MERGE, r#"{"metadata":{"namespace":"other"}}"#, bad),
        case(&*patch, MERGE, r#"{"data":5}"#, (422, "Invalid", "data", &["patch"])),
        case(&*patch, MERGE, "{", bad),
        case(format!("PATCH {WEBS}/kept"), STRATEGIC, r#"{"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}"#, bad),
        case(format!("PATCH {WEBS}/kept"), STRATEGIC, r#"{"spec":{"$patch":"sideways"}}"#, bad),
        case(format!("PATCH {MAPS}/missing"), MERGE, "{}", (404, "NotFound", r#"configmaps "missing" not found"#, &[])),
        case(format!("PATCH {GADGETS}/kept/status"), MERGE, "{}", (404, "NotFound", r#"gadgets.test.io "kept" not found"#, &[])),
        case(&*patch, APPLY, r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept"}}"#,
            (422, "Invalid", "fieldManager: Required value: is required for apply patch", &["fieldManager"])),
        case(&*apply, APPLY, r#"{"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"kept"}}"#, bad),
        case(&*apply, APPLY, r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept","managedFields":[]}}"#,
            (400, "BadRequest", "metadata.managedFields must be nil", &[])),
        case(&*apply, APPLY, r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept"},"data":{"k":"other"}}"#,
            (409, "Conflict", "Apply failed with 1 conflict", &[".data.k"])),
        case(&*apply, APPLY, r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept"},"data":{"k":5}}"#,
            (500, "", ".data.k: expected string", &[])),
        case(&*apply, APPLY, r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}"#, bad),
    ])
    .await;
}

#[tokio::test]
async fn questions_that_make_no_sense() {
    let bad: Expected = (400, "BadRequest", "", &[]);
    let forbidden: Expected = (422, "Invalid", "", &[]);
    let mut cases = Vec::new();
    for query in [
        "limit=x",
        "continue=forged",
        "continue=%ff",
        "labelSelector=%3D%3D",
        "labelSelector=a+in+(",
        "labelSelector=a+b",
        "fieldSelector=spec.nothing%3D1",
        "fieldSelector=metadata.name",
        "resourceVersion=abc",
        "timeoutSeconds=soon",
    ] {
        cases.push(case(format!("GET {MAPS}?{query}"), "", "", bad));
    }
    for (query, field) in [
        ("resourceVersionMatch=Exact", "resourceVersionMatch"),
        (
            "resourceVersion=5&resourceVersionMatch=Sometimes",
            "resourceVersionMatch",
        ),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            "resourceVersionMatch",
        ),
        ("watch=1&sendInitialEvents=true", "resourceVersionMatch"),
        ("sendInitialEvents=true", "sendInitialEvents"),
    ] {
        let fields: &'static [&'static str] = Box::leak(Box::new([field]));
        cases.push(case(
            format!("GET {MAPS}?{query}"),
            "",
            "",
            (422, "Invalid", field, fields),
        ));
    }
    let new = r#"{"metadata":{"name":"new"}}"#;
    for (query, field) in [
        ("dryRun=Some", "dryRun"),
        ("fieldValidation=Sometimes", "fieldValidation"),
        ("fieldManager=%0a", "fieldManager"),
    ] {
        let fields: &'static [&'static str] = Box::leak(Box::new([field]));
        cases.push(case(
            format!("POST {MAPS}?{query}"),
            JSON,
            new,
            (forbidden.0, forbidden.1, field, fields),
        ));
    }
    cases.push(case(
        format!("DELETE {MAPS}/kept?propagationPolicy=Sideways"),
        "",
        "",
        (
            422,
            "Invalid",
            "propagationPolicy: Unsupported value",
            &["propagationPolicy"],
        ),
    ));
    cases.push(case(
        format!("DELETE {MAPS}/kept?gracePeriodSeconds=soon"),
        "",
        "",
        bad,
    ));
    cases.push(case(
        format!("DELETE {MAPS}/kept"),
        JSON,
        r#"{"propagationPolicy":"Sideways"}"#,
        (
            422,
            "Invalid",
            "propagationPolicy: Unsupported value",
            &["propagationPolicy"],
        ),
    ));
    check(cases).await;
}

#[tokio::test]
async fn paths_that_lead_nowhere() {
    let nowhere: Expected = (
        404,
        "NotFound",
        "the server could not find the requested resource",
        &[],
    );
    let refused: Expected = (400, "BadRequest", "path segment", &[]);
    let not_so: Expected = (405, "MethodNotAllowed", "does not allow this method", &[]);
    let mut cases = Vec::new();
    for path in [
        "/nothing",
        "/api/v2",
        "/api/v1/nothings",
        "/apis/nothing.io/v1/things",
        "/apis/apps/v9/deployments",
        "/api/v1/namespaces/default/nothings/x",
        "/api/v1/configmaps/kept",
        "/openapi/v9",
        "/openapi/v3/apis/nothing",
    ] {
        cases.push(case(format!("GET {path}"), "", "", nowhere));
    }
    cases.push(case(format!("GET {MAPS}/kept/nothing"), "", "", nowhere));
    for path in [
        "/api/v1/namespaces/default/configmaps/..%2F..%2Fsecrets",
        "/api/v1/namespaces/default/configmaps/%2e%2e",
        "/api/v1/namespaces/%2e%2e/configmaps/kept",
        "/api/v1/namespaces/default/../../secrets",
        "/api/v1/namespaces/default/configmaps/a%2fb",
        "/api/v1/namespaces/default/configmaps/a%00b",
        "/api/v1/namespaces/default/configmaps/%ff",
        "/apis/test.io/v1/namespaces/default%2Fconfigmaps/gadgets",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/api/%2e%2e/apis",
    ] {
        for method in ["GET", "DELETE"] {
            cases.push(case(format!("{method} {path}"), "", "", refused));
        }
    }
    // Other names for what is there are names of something else.
    for path in [
        "/API/v1/configmaps",
        "/api/V1/configmaps",
        "/api/v1/namespaces/default/ConfigMaps",
    ] {
        cases.push(case(format!("GET {path}"), "", "", nowhere));
    }
    for name in ["KEPT", "kept%20", "kept%0a", "%6bep%74%2e", "kept;x=y"] {
        cases.push(case(
            format!("GET {MAPS}/{name}"),
            "",
            "",
            (404, "NotFound", "not found", &[]),
        ));
        cases.push(case(
            format!("DELETE {GADGETS}/{name}"),
            "",
            "",
            (404, "NotFound", "not found", &[]),
        ));
    }
    let new = r#"{"metadata":{"name":"new"}}"#;
    for line in [
        format!("POST {MAPS}/kept"),
        format!("POST {MAPS}/new"),
        format!("POST {GADGETS}/new"),
        "POST /api/v1/namespaces/new".to_owned(),
        "POST /api/v1/configmaps".to_owned(),
        format!("PUT {MAPS}"),
        format!("OPTIONS {MAPS}"),
        format!("TRACE {MAPS}/kept"),
        "DELETE /api/v1/configmaps".to_owned(),
        "DELETE /api/v1/namespaces".to_owned(),
        "POST /version".to_owned(),
        "DELETE /apis".to_owned(),
        format!("DELETE {WEBS}/kept/scale"),
    ] {
        cases.push(case(line, JSON, new, not_so));
    }
    cases.push(case(format!("PATCH {MAPS}"), MERGE, new, not_so));
    check(cases).await;
}

#[tokio::test]
async fn callers_without_the_right() {
    let world = prepare().await;
    let new = r#"{"metadata":{"name":"new"}}"#;
    let forbidden: Expected = (403, "Forbidden", "is forbidden: User \"lou\" cannot", &[]);
    let mut cases = Vec::new();
    for (line, content) in [
        (format!("POST {MAPS}"), JSON),
        (format!("PUT {MAPS}/kept"), JSON),
        (format!("PATCH {MAPS}/kept"), MERGE),
        (format!("PATCH {MAPS}/new?fieldManager=m"), APPLY),
        (format!("DELETE {MAPS}/kept"), ""),
        (format!("DELETE {MAPS}"), ""),
        (format!("POST {MAPS}?dryRun=All"), JSON),
        (format!("GET {WEBS}"), ""),
        (format!("GET {WEBS}?watch=1"), ""),
        (format!("GET {GADGETS}/kept"), ""),
        ("GET /api/v1/configmaps".to_owned(), ""),
        ("GET /api/v1/namespaces/kube-system/secrets".to_owned(), ""),
        ("POST /api/v1/namespaces".to_owned(), JSON),
        // Nobody learns from a refusal what is there.
        (format!("GET {GADGETS}/missing"), ""),
        // A body is not read for those who may not send it.
        (format!("POST {GADGETS}"), "nonsense"),
    ] {
        cases.push(case(line, content, new, forbidden));
    }
    check_as(&world, &lou(), cases).await;
    let nobody = user("system:anonymous", &["system:unauthenticated"]);
    let forbidden: Expected = (403, "Forbidden", "User \"system:anonymous\" cannot", &[]);
    let mut cases = Vec::new();
    for line in [
        format!("GET {MAPS}"),
        format!("DELETE {MAPS}/kept"),
        "GET /metrics".to_owned(),
        "GET /api".to_owned(),
    ] {
        cases.push(case(line, "", "", forbidden));
    }
    check_as(&world, &nobody, cases).await;
}

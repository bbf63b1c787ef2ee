//! Kinds of several versions: stored in one, read in all, converted by somebody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use serve::webhook::{Caller, Calling};

use crate::api::{Api, gadget, gadgets, path, version};

/// Speaks of `size` in v1 and of `length` in v2; does what else it is told to.
struct Hook {
    calls: AtomicUsize,
    misbehaves: fn(&mut Value),
}

impl Hook {
    fn new(misbehaves: fn(&mut Value)) -> Arc<Self> {
        Arc::new(Self {
            calls: AtomicUsize::new(0),
            misbehaves,
        })
    }
}

impl Caller for Hook {
    fn post<'a>(&'a self, config: &'a Value, document: Bytes, _limit: Duration) -> Calling<'a> {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::Relaxed);
            assert_eq!(config["url"], "https://hook.example/convert");
            let review: Value = serde_json::from_slice(&document).unwrap();
            let wanted = review["request"]["desiredAPIVersion"].clone();
            let (from, to) = if wanted == "test.io/v2" {
                ("size", "length")
            } else {
                ("length", "size")
            };
            let mut objects = review["request"]["objects"].as_array().cloned().unwrap();
            for object in &mut objects {
                object["apiVersion"] = wanted.clone();
                let spec = object["spec"].as_object_mut().unwrap();
                if let Some(value) = spec.shift_remove(from) {
                    spec.insert(to.to_owned(), value);
                }
            }
            let mut answer = json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
                "response": {
                    "uid": review["request"]["uid"], "result": {"status": "Success"}, "convertedObjects": objects,
                },
            });
            (self.misbehaves)(&mut answer);
            if answer.is_null() {
                return Err("connection refused".to_owned());
            }
            Ok(answer.to_string().into())
        })
    }
}

fn definition(stored: &str) -> Value {
    let whole = |name: &str| json!({name: {"type": "integer"}});
    gadgets(
        json!([
            version("v1", stored == "v1", whole("size"), json!([])),
            version("v2", stored == "v2", whole("length"), json!([])),
        ]),
        json!({"strategy": "Webhook", "webhook": {
            "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://hook.example/convert"},
        }}),
    )
}

#[tokio::test]
async fn objects_are_read_and_written_in_every_version() {
    let hook = Hook::new(|_| {});
    let api = Api::start(&definition("v1"), Some(hook.clone())).await;
    let (code, made) = api
        .send(
            "POST",
            &path("v2", ""),
            &gadget("v2", "a", json!({"length": 5})),
        )
        .await;
    assert_eq!(
        (code, &made["spec"]),
        (201, &json!({"length": 5})),
        "{made}"
    );
    assert_eq!(made["apiVersion"], "test.io/v2");
    let calls = hook.calls.load(Ordering::Relaxed);
    let (_, stored) = api.send("GET", &path("v1", "/a"), &Value::Null).await;
    assert_eq!(stored["spec"], json!({"size": 5}), "{stored}");
    assert_eq!(
        hook.calls.load(Ordering::Relaxed),
        calls,
        "what is stored so needs no call"
    );
    assert_eq!(
        api.send(
            "POST",
            &path("v1", ""),
            &gadget("v1", "b", json!({"size": 7}))
        )
        .await
        .0,
        201
    );
    let (code, patched) = api
        .send("PATCH", &path("v2", "/b"), &json!({"spec": {"length": 8}}))
        .await;
    assert_eq!(
        (code, &patched["spec"]),
        (200, &json!({"length": 8})),
        "{patched}"
    );
    let calls = hook.calls.load(Ordering::Relaxed);
    let (_, list) = api.send("GET", &path("v2", ""), &Value::Null).await;
    let specs: Vec<&Value> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["spec"])
        .collect();
    assert_eq!(
        specs,
        [&json!({"length": 5}), &json!({"length": 8})],
        "{list}"
    );
    assert_eq!(
        hook.calls.load(Ordering::Relaxed),
        calls + 1,
        "a list is converted at once"
    );
    let events = watched(&api, &path("v2", "?watch=true&timeoutSeconds=1")).await;
    let lengths: Vec<&Value> = events
        .iter()
        .map(|event| &event["object"]["spec"]["length"])
        .collect();
    assert_eq!(lengths, [&json!(5), &json!(8)], "{events:?}");
    // Objects stored before the storage version changed are converted on their way out.
    api.serve(&definition("v2"), Some(hook));
    let (_, moved) = api.send("GET", &path("v2", "/a"), &Value::Null).await;
    assert_eq!(
        (&moved["apiVersion"], &moved["spec"]),
        (&json!("test.io/v2"), &json!({"length": 5}))
    );
}

#[tokio::test]
async fn a_watch_of_a_version_shows_no_other_after_its_definition_has_changed() {
    let versions = |names: &[&str]| {
        let last = names.len() - 1;
        let versions = names.iter().enumerate().map(|(place, name)| {
            let size = json!({"size": {"type": "integer"}});
            version(name, place == last, size, json!([]))
        });
        gadgets(versions.collect(), json!({"strategy": "None"}))
    };
    let api = Api::start(&versions(&["v1"]), None).await;
    let first = gadget("v1", "a", json!({"size": 1}));
    let (_, made) = api.send("POST", &path("v1", ""), &first).await;
    let mut body = opened(&api, &path("v1", "?watch=true")).await;
    assert_eq!(events(&mut body, 1).await[0]["object"]["spec"]["size"], 1);
    api.serve(&versions(&["v1", "v2"]), None);
    let change = json!({"spec": {"size": 2}});
    let (code, _) = api.send("PATCH", &path("v2", "/a"), &change).await;
    assert_eq!(code, 200);
    assert!(watched_on(body).await.is_empty(), "it ends");
    let since = made["metadata"]["resourceVersion"].as_str().unwrap();
    let line = format!("?watch=true&timeoutSeconds=1&resourceVersion={since}");
    let events = watched(&api, &path("v1", &line)).await;
    let told = events.iter().map(|event| &event["object"]["apiVersion"]);
    assert_eq!(told.collect::<Vec<_>>(), ["test.io/v1"], "{events:?}");
}

#[tokio::test]
async fn fields_select_objects_as_the_version_asked_for_has_them() {
    let mut definition = definition("v1");
    for (place, field) in [(0, ".spec.size"), (1, ".spec.length")] {
        definition["spec"]["versions"][place]["selectableFields"] = json!([{"jsonPath": field}]);
    }
    let api = Api::start(&definition, Some(Hook::new(|_| {}))).await;
    for (name, size) in [("a", 5), ("b", 7)] {
        let object = gadget("v1", name, json!({"size": size}));
        assert_eq!(api.send("POST", &path("v1", ""), &object).await.0, 201);
    }
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap();
        let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
        items.iter().map(name).collect()
    };
    for (version, selector, expected) in [
        ("v1", "spec.size=5", &["a"][..]),
        ("v2", "spec.length=5", &["a"][..]),
        ("v2", "spec.length!=5", &["b"][..]),
        ("v2", "spec.length=6", &[][..]),
    ] {
        let line = path(version, &format!("?fieldSelector={selector}"));
        let (_, list) = api.send("GET", &line, &Value::Null).await;
        assert_eq!(names(&list), expected, "{version} {selector}");
    }
    let line = path(
        "v2",
        "?watch=true&timeoutSeconds=1&fieldSelector=spec.length=7",
    );
    let events = watched(&api, &line).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["object"]["metadata"]["name"], "b");
    let line = path("v2", "?fieldSelector=spec.length=5");
    let (code, ended) = api.send("DELETE", &line, &Value::Null).await;
    assert_eq!((code, names(&ended)), (200, vec!["a".to_owned()]));
    let (_, left) = api.send("GET", &path("v1", ""), &Value::Null).await;
    assert_eq!(names(&left), ["b"]);
}

#[tokio::test]
async fn defaults_that_came_after_an_object_are_read_with_it_and_stay_when_they_go() {
    let definition = |size: Value, revision: &str| {
        let versions = json!([version("v1", true, json!({"size": size}), json!([]))]);
        let mut definition = gadgets(versions, json!({"strategy": "None"}));
        definition["metadata"]["resourceVersion"] = json!(revision);
        definition
    };
    let plain = json!({"type": "integer"});
    let api = Api::start(&definition(plain.clone(), "1"), None).await;
    for name in ["a", "b"] {
        let object = gadget("v1", name, json!({}));
        assert_eq!(api.send("POST", &path("v1", ""), &object).await.0, 201);
    }
    let sizes = async || {
        let (_, one) = api.send("GET", &path("v1", "/a"), &Value::Null).await;
        let (_, list) = api.send("GET", &path("v1", ""), &Value::Null).await;
        let line = path("v1", "?watch=true&timeoutSeconds=1");
        let events = watched(&api, &line).await;
        let size = |object: &Value| object["spec"]["size"].clone();
        let listed = list["items"].as_array().unwrap().iter().map(size);
        let told = events.iter().map(|event| size(&event["object"]));
        let all: Vec<Value> = [size(&one)].into_iter().chain(listed).chain(told).collect();
        json!(all)
    };
    assert_eq!(sizes().await, json!([null, null, null, null, null]));
    api.serve(
        &definition(json!({"type": "integer", "default": 3}), "100"),
        None,
    );
    assert_eq!(sizes().await, json!([3, 3, 3, 3, 3]));
    let label = json!({"metadata": {"labels": {"written": "again"}}});
    let (_, written) = api.send("PATCH", &path("v1", "/a"), &label).await;
    assert_eq!(written["spec"]["size"], 3);
    api.serve(&definition(plain, "101"), None);
    assert_eq!(sizes().await, json!([3, 3, null, 3, null]));
}

#[tokio::test]
async fn a_watch_tells_what_becomes_of_objects_that_a_later_default_selects() {
    let definition = |size: Value, revision: &str| {
        let mut one = version("v1", true, json!({"size": size}), json!([]));
        one["selectableFields"] = json!([{"jsonPath": ".spec.size"}]);
        let mut definition = gadgets(json!([one]), json!({"strategy": "None"}));
        definition["metadata"]["resourceVersion"] = json!(revision);
        definition
    };
    let api = Api::start(&definition(json!({"type": "integer"}), "1"), None).await;
    for name in ["a", "b"] {
        let object = gadget("v1", name, json!({}));
        assert_eq!(api.send("POST", &path("v1", ""), &object).await.0, 201);
    }
    let with_default = json!({"type": "integer", "default": 3});
    api.serve(&definition(with_default, "100"), None);
    let selected = path("v1", "?watch=true&fieldSelector=spec.size=3");
    let everything = path("v1", "?watch=true");
    let mut selected = opened(&api, &selected).await;
    let mut everything = opened(&api, &everything).await;
    let label = json!({"metadata": {"labels": {"written": "again"}}});
    assert_eq!(api.send("PATCH", &path("v1", "/a"), &label).await.0, 200);
    assert_eq!(
        api.send("DELETE", &path("v1", "/b"), &Value::Null).await.0,
        200
    );
    for body in [&mut selected, &mut everything] {
        let told = events(body, 4).await.into_iter().map(|event| {
            let object = &event["object"];
            json!([
                event["type"],
                object["metadata"]["name"],
                object["spec"]["size"]
            ])
        });
        let expected = json!([
            ["ADDED", "a", 3],
            ["ADDED", "b", 3],
            ["MODIFIED", "a", 3],
            ["DELETED", "b", 3],
        ]);
        assert_eq!(json!(told.collect::<Vec<_>>()), expected);
    }
}

async fn opened(api: &Api, path: &str) -> serve::body::Body {
    let request = http::Request::get(path)
        .body(http_body_util::Full::new(Bytes::new()))
        .unwrap();
    let user = serve::call::User::default();
    api.0.answer(user, request).await.into_body()
}

/// The next events of a watch, as many as are waited for.
async fn events(body: &mut serve::body::Body, wanted: usize) -> Vec<Value> {
    use http_body_util::BodyExt;
    let mut told = Vec::new();
    while told.len() < wanted {
        let frame = tokio::time::timeout(std::time::Duration::from_secs(20), body.frame());
        let frame = frame.await.unwrap().unwrap().unwrap();
        let bytes = frame.into_data().unwrap();
        let lines = bytes.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        told.extend(lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()));
    }
    told
}

async fn watched(api: &Api, path: &str) -> Vec<Value> {
    watched_on(opened(api, path).await).await
}

/// What a watch tells until it ends.
async fn watched_on(body: serve::body::Body) -> Vec<Value> {
    use http_body_util::BodyExt;
    let bytes = body.collect().await.unwrap().to_bytes();
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// Makes an answer one that must not be believed.
type Spoil = fn(&mut Value);

#[tokio::test]
async fn a_webhook_that_fails_is_told_of_and_corrupts_nothing() {
    let cases: [(Spoil, &str); 5] = [
        (|answer| *answer = Value::Null, "connection refused"),
        (
            |answer| answer["response"]["uid"] = json!("other"),
            "expected response.uid",
        ),
        (
            |answer| answer["response"]["convertedObjects"] = json!([]),
            "returned 0 objects, expected 1",
        ),
        (
            |answer| answer["response"]["convertedObjects"][0]["metadata"]["name"] = json!("b"),
            "metadata.name must not change",
        ),
        (
            |answer| {
                answer["response"]["result"] =
                    json!({"status": "Failed", "message": "no such length"})
            },
            "no such length",
        ),
    ];
    for (misbehaves, expected) in cases {
        let api = Api::start(&definition("v1"), Some(Hook::new(misbehaves))).await;
        assert_eq!(
            api.send(
                "POST",
                &path("v1", ""),
                &gadget("v1", "a", json!({"size": 5}))
            )
            .await
            .0,
            201
        );
        for (method, body) in [
            ("GET", Value::Null),
            ("PUT", gadget("v2", "a", json!({"length": 9}))),
            ("PATCH", json!({"spec": {"length": 9}})),
        ] {
            let (code, answer) = api.send(method, &path("v2", "/a"), &body).await;
            let message = answer["message"].as_str().unwrap_or_default();
            assert_eq!(
                (code, answer["reason"].as_str()),
                (500, Some("InternalError")),
                "{answer}"
            );
            assert!(
                message.contains("conversion webhook for test.io/v1, Kind=Gadget")
                    && message.contains(expected),
                "{message}"
            );
        }
        let (_, kept) = api.send("GET", &path("v1", "/a"), &Value::Null).await;
        assert_eq!(kept["spec"], json!({"size": 5}));
    }
}

#[tokio::test]
async fn without_a_webhook_versions_differ_by_name_alone() {
    let mut definition = definition("v1");
    definition["spec"]["conversion"] = json!({"strategy": "None"});
    for version in definition["spec"]["versions"].as_array_mut().unwrap() {
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
            json!({"size": {"type": "integer"}});
    }
    let api = Api::start(&definition, None).await;
    assert_eq!(
        api.send(
            "POST",
            &path("v1", ""),
            &gadget("v1", "a", json!({"size": 5}))
        )
        .await
        .0,
        201
    );
    let (_, read) = api.send("GET", &path("v2", "/a"), &Value::Null).await;
    assert_eq!(
        (&read["apiVersion"], &read["spec"]),
        (&json!("test.io/v2"), &json!({"size": 5}))
    );
    for version in definition["spec"]["versions"].as_array_mut().unwrap() {
        version["storage"] = json!(version["name"] == "v2");
    }
    api.serve(&definition, None);
    let (_, read) = api.send("GET", &path("v2", "/a"), &Value::Null).await;
    assert_eq!(read["apiVersion"], "test.io/v2");
    let (_, list) = api.send("GET", &path("v2", ""), &Value::Null).await;
    assert_eq!(list["items"][0]["apiVersion"], "test.io/v2");
}

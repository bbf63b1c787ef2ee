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

async fn watched(api: &Api, path: &str) -> Vec<Value> {
    use http_body_util::BodyExt;
    let request = http::Request::get(path)
        .body(http_body_util::Full::new(Bytes::new()))
        .unwrap();
    let response = api.0.answer(serve::call::User::default(), request).await;
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
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

//! Kinds whose versions are converted by a webhook behind real TLS.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::{Value, json};

use crate::asking::served;
use crate::hook::{Hook, Reply};
use crate::world::{Answer, World, master};

const GADGETS: &str = "/apis/test.io/v1/namespaces/default/gadgets";
const LATER: &str = "/apis/test.io/v2/namespaces/default/gadgets";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Speaks of `size` in v1 and of `length` in v2.
fn convert(review: &Value) -> Reply {
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
    Reply::Raw(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "response": {
            "uid": review["request"]["uid"], "result": {"status": "Success"}, "convertedObjects": objects,
        },
    }))
}

fn definition(client: &Value) -> Value {
    let version = |name: &str, field: &str| {
        json!({
            "name": name, "served": true, "storage": name == "v1",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {field: {"type": "integer"}}},
            }}},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.test.io"},
        "spec": {
            "group": "test.io", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [version("v1", "size"), version("v2", "length")],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"], "clientConfig": client,
            }},
        },
    })
}

async fn world(client: &Value) -> World {
    let world = World::start().await;
    world.create(DEFINITIONS, definition(client)).await;
    served(&world, GADGETS).await;
    world
}

fn gadget(version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("test.io/{version}"), "kind": "Gadget", "metadata": {"name": name}, "spec": spec})
}

async fn ask(world: &World, line: String, body: Value) -> Answer {
    world.ask(&master(), &line, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_read_and_written_in_every_version_over_tls() {
    let hook = Hook::start(convert).await;
    let world = world(&hook.client()).await;
    let made = world
        .create(LATER, gadget("v2", "a", json!({"length": 5})))
        .await;
    assert_eq!(made["spec"], json!({"length": 5}), "{made}");
    let stored = ask(&world, format!("GET {GADGETS}/a"), Value::Null).await;
    assert_eq!(stored.body["spec"], json!({"size": 5}), "{}", stored.body);
    world
        .create(GADGETS, gadget("v1", "b", json!({"size": 7})))
        .await;
    let patch = json!({"spec": {"length": 8}});
    let patched = ask(&world, format!("PATCH {LATER}/b"), patch).await;
    assert_eq!(
        (patched.code, &patched.body["spec"]),
        (200, &json!({"length": 8}))
    );
    let listed = ask(&world, format!("GET {LATER}"), Value::Null).await;
    let lengths: Vec<&Value> = listed.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["spec"])
        .collect();
    assert_eq!(lengths, [&json!({"length": 5}), &json!({"length": 8})]);
    let reviews = hook.seen();
    assert!(
        reviews
            .iter()
            .all(|review| review["kind"] == "ConversionReview"),
        "{reviews:?}"
    );
}

/// How the webhook of the next test behaves, by number: it fails, hangs up, or answers another question.
static TROUBLES: [Reply; 3] = [Reply::Status(503), Reply::HangUp, Reply::Deny(403, "no")];

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_in_trouble_is_told_of_and_nothing_is_lost() {
    let mood = Arc::new(AtomicU8::new(u8::MAX));
    let asked = Arc::clone(&mood);
    let hook = Hook::start(move |review| {
        let trouble = TROUBLES.get(usize::from(asked.load(Ordering::Relaxed)));
        trouble.cloned().unwrap_or_else(|| convert(review))
    })
    .await;
    let world = world(&hook.client()).await;
    world
        .create(GADGETS, gadget("v1", "a", json!({"size": 5})))
        .await;
    for (number, reply) in TROUBLES.iter().enumerate() {
        mood.store(u8::try_from(number).unwrap(), Ordering::Relaxed);
        for (method, body) in [
            ("GET", Value::Null),
            ("PUT", gadget("v2", "a", json!({"length": 9}))),
            ("PATCH", json!({"spec": {"length": 9}})),
        ] {
            let answer = ask(&world, format!("{method} {LATER}/a"), body).await;
            let message = answer.body["message"].as_str().unwrap_or_default();
            assert_eq!(
                (answer.code, &answer.body["reason"]),
                (500, &json!("InternalError")),
                "{reply:?}"
            );
            assert!(
                message.contains("conversion webhook for test.io/v1, Kind=Gadget failed"),
                "{message}"
            );
        }
        let kept = ask(&world, format!("GET {GADGETS}/a"), Value::Null).await;
        assert_eq!(kept.body["spec"], json!({"size": 5}), "{reply:?}");
        // Once it is well again, so is the API.
        mood.store(u8::MAX, Ordering::Relaxed);
        let read = ask(&world, format!("GET {LATER}/a"), Value::Null).await;
        assert_eq!(read.body["spec"], json!({"length": 5}), "{reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_cannot_be_trusted_or_found_is_not_believed() {
    let (hook, other) = (Hook::start(convert).await, Hook::start(convert).await);
    let stranger = json!({"url": hook.client()["url"], "caBundle": other.client()["caBundle"]});
    let nowhere =
        json!({"url": "https://127.0.0.1:1/check", "caBundle": hook.client()["caBundle"]});
    for client in [stranger, nowhere] {
        let world = world(&client).await;
        world
            .create(GADGETS, gadget("v1", "a", json!({"size": 5})))
            .await;
        let answer = ask(&world, format!("GET {LATER}/a"), Value::Null).await;
        assert_eq!(answer.code, 500, "{client}");
        let kept = ask(&world, format!("GET {GADGETS}/a"), Value::Null).await;
        assert_eq!(kept.body["spec"], json!({"size": 5}), "{client}");
        // A definition that names the right webhook mends it.
        let path = format!("PATCH {DEFINITIONS}/gadgets.test.io");
        let right = json!({"spec": {"conversion": {"webhook": {"clientConfig": hook.client()}}}});
        assert_eq!(ask(&world, path, right).await.code, 200);
        served(&world, &format!("{LATER}/a")).await;
    }
    assert!(other.seen().is_empty());
}

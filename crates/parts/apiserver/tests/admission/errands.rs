//! Those who collect garbage change owners and finalizers, of whatever there is.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{World, master, user};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/example.com/v1/namespaces/default/things";

fn definition(fields: Value) -> Value {
    let spec = json!({"type": "object", "properties": fields});
    json!({
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }],
        },
    })
}

/// Asks until the answer is one that is waited for.
async fn until(world: &World, line: &str, body: &Value, is_it: impl Fn(u16, &Value) -> bool) {
    for _ in 0..600 {
        let answer = world.ask(&master(), line, body.clone()).await;
        if is_it(answer.code, &answer.body) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{line} is not answered as it should be");
}

#[tokio::test]
async fn what_the_server_makes_of_an_older_object_is_not_held_against_them() {
    let world = World::start().await;
    let text = json!({"type": "string"});
    let first = definition(json!({"kept": text, "gone": text}));
    world.create(DEFINITIONS, first).await;
    let metadata = json!({"name": "t", "finalizers": ["example.com/a", "example.com/b"]});
    let thing = json!({
        "apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata,
        "spec": {"kept": "k", "gone": "g"},
    });
    until(&world, &format!("POST {THINGS}"), &thing, |code, _| {
        code == 201
    })
    .await;
    // A field less, and one more that everything has.
    let new = json!({"type": "string", "default": "d"});
    let second = definition(json!({"kept": text, "new": new}));
    let changed = json!({"spec": second["spec"]});
    let line = format!("PATCH {DEFINITIONS}/things.example.com");
    let answer = world.ask(&master(), &line, changed).await;
    assert_eq!(answer.code, 200, "{}", answer.body);
    let rehearsed = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {}});
    let line = format!("POST {THINGS}?dryRun=All");
    until(&world, &line, &rehearsed, |_, body| {
        body["spec"]["new"] == "d"
    })
    .await;
    let collector = user(
        "system:karavel:housekeeping",
        &["system:karavel:components", "system:authenticated"],
    );
    let refused =
        "things.example.com \"t\" is forbidden: this part of the control plane does not change ";
    for (change, expected) in [
        (json!({"metadata": {"finalizers": ["example.com/a"]}}), ""),
        (json!({"spec": {"kept": "x"}}), "spec"),
        (
            json!({"metadata": {"labels": {"a": "b"}}}),
            "metadata.labels",
        ),
    ] {
        let line = format!("PATCH {THINGS}/t");
        let answer = world.ask(&collector, &line, change.clone()).await;
        let message = answer.body["message"].as_str().unwrap_or_default();
        let message = message.strip_prefix(refused).unwrap_or(message);
        assert_eq!(message, expected, "{change}");
    }
    let line = format!("GET {THINGS}/t");
    let left = world.ask(&master(), &line, Value::Null).await.body;
    assert_eq!(left["spec"], json!({"kept": "k", "new": "d"}));
    assert_eq!(left["metadata"]["finalizers"], json!(["example.com/a"]));
}

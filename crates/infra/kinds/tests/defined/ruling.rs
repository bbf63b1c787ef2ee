//! Rules in schemas, held against every write.

use serde_json::{Value, json};

use crate::api::{Api, gadget, gadgets, path, version};

fn causes(answer: &Value) -> Vec<String> {
    let causes = answer["details"]["causes"].as_array();
    causes
        .into_iter()
        .flatten()
        .map(|cause| {
            format!(
                "{} {}: {}",
                cause["reason"].as_str().unwrap_or_default(),
                cause["field"].as_str().unwrap_or_default(),
                cause["message"].as_str().unwrap_or_default()
            )
        })
        .collect()
}

#[tokio::test]
async fn a_write_that_breaks_a_rule_is_refused_and_changes_nothing() {
    let rules = json!([
        {"rule": "self.min <= self.max", "message": "min must not exceed max"},
        {"rule": "self.min >= oldSelf.min", "fieldPath": ".min", "reason": "FieldValueForbidden", "message": "min may not shrink"},
    ]);
    let properties = json!({"min": {"type": "integer"}, "max": {"type": "integer"}});
    let definition = gadgets(
        json!([version("v1", true, properties, rules)]),
        json!({"strategy": "None"}),
    );
    let api = Api::start(&definition, None).await;
    let (code, answer) = api
        .send(
            "POST",
            &path("v1", ""),
            &gadget("v1", "a", json!({"min": 3, "max": 2})),
        )
        .await;
    assert_eq!(
        (code, answer["reason"].as_str()),
        (422, Some("Invalid")),
        "{answer}"
    );
    assert_eq!(
        causes(&answer),
        ["FieldValueInvalid spec: Invalid value: \"object\": min must not exceed max"]
    );
    assert_eq!(
        api.send("GET", &path("v1", "/a"), &Value::Null).await.0,
        404
    );
    let (code, _) = api
        .send(
            "POST",
            &path("v1", ""),
            &gadget("v1", "a", json!({"min": 2, "max": 5})),
        )
        .await;
    assert_eq!(code, 201);
    let (code, answer) = api
        .send("PATCH", &path("v1", "/a"), &json!({"spec": {"min": 1}}))
        .await;
    assert_eq!(code, 422);
    assert_eq!(
        causes(&answer),
        ["FieldValueForbidden spec.min: Forbidden: min may not shrink"]
    );
    // A mistyped object is refused for that, and the rules say that they were not looked at.
    let (code, answer) = api
        .send("PATCH", &path("v1", "/a"), &json!({"spec": {"min": "x"}}))
        .await;
    assert_eq!(code, 422);
    assert!(
        causes(&answer)
            .iter()
            .any(|cause| cause.contains("some validation rules were not checked")),
        "{answer}"
    );
    let (_, kept) = api.send("GET", &path("v1", "/a"), &Value::Null).await;
    assert_eq!(kept["spec"], json!({"min": 2, "max": 5}));
    assert_eq!(kept["metadata"]["generation"], 1);
    // The status is judged with the rest.
    let (code, _) = api
        .send(
            "PATCH",
            &path("v1", "/a/status"),
            &json!({"status": {"ok": true}}),
        )
        .await;
    assert_eq!(code, 200);
}

#[tokio::test]
async fn a_rule_that_came_later_does_not_lock_what_is_there() {
    let names = json!({"names": {"type": "array", "items": {"type": "string"}}, "other": {"type": "string"}});
    let none = json!({"strategy": "None"});
    let before = gadgets(
        json!([version("v1", true, names.clone(), json!([]))]),
        none.clone(),
    );
    let api = Api::start(&before, None).await;
    let spec = json!({"names": ["far too long"], "other": "a"});
    assert_eq!(
        api.send("POST", &path("v1", ""), &gadget("v1", "a", spec))
            .await
            .0,
        201
    );
    let mut strict = names;
    strict["names"]["items"]["x-kubernetes-validations"] = json!([{"rule": "self.size() < 4"}]);
    api.serve(
        &gadgets(json!([version("v1", true, strict, json!([]))]), none),
        None,
    );
    let patch = json!({"spec": {"other": "b"}});
    assert_eq!(api.send("PATCH", &path("v1", "/a"), &patch).await.0, 200);
    let patch = json!({"spec": {"names": ["far too long", "x"]}});
    let (code, answer) = api.send("PATCH", &path("v1", "/a"), &patch).await;
    assert_eq!(code, 422, "{answer}");
}

#[tokio::test]
async fn a_definition_with_a_rule_that_makes_no_sense_is_refused_with_its_place() {
    let good = gadgets(
        json!([version("v1", true, json!({}), json!([]))]),
        json!({"strategy": "None"}),
    );
    let api = Api::start(&good, None).await;
    let rules = json!([{"rule": "self.missing == 1"}]);
    let bad = gadgets(
        json!([version(
            "v1",
            true,
            json!({"n": {"type": "integer"}}),
            rules
        )]),
        json!({"strategy": "None"}),
    );
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, answer) = api.send("POST", definitions, &bad).await;
    assert_eq!(code, 422, "{answer}");
    let found = causes(&answer);
    assert_eq!(found.len(), 1, "{answer}");
    assert!(
        found[0].starts_with("FieldValueInvalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: \"self.missing == 1\": compilation failed: ERROR: <input>:1:5: undefined field 'missing'"),
        "{}",
        found[0]
    );
}

#[tokio::test]
async fn a_definition_whose_rules_may_cost_too_much_is_refused_and_one_that_is_stored_stays() {
    let dear = json!([{"rule": "self.names.all(x, self.names.exists(y, x == y))"}]);
    let free = json!({"names": {"type": "array", "items": {"type": "string"}}});
    let bound = json!({
        "names": {"type": "array", "maxItems": 20, "items": {"type": "string", "maxLength": 63}},
    });
    let define = |properties: &Value| {
        let versions = json!([version("v1", true, properties.clone(), dear.clone())]);
        gadgets(versions, json!({"strategy": "None"}))
    };
    let api = Api::start(&define(&bound), None).await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let mut wanted = define(&free);
    wanted["metadata"]["name"] = json!("widgets.test.io");
    wanted["spec"]["names"] = json!({"plural": "widgets", "kind": "Widget"});
    let (code, answer) = api.send("POST", definitions, &wanted).await;
    assert_eq!(code, 422, "{answer}");
    let place = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule";
    let found = causes(&answer);
    assert!(
        found.iter().any(|cause| cause.starts_with(&format!(
            "FieldValueForbidden {place}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x"
        ))),
        "{found:?}"
    );
    wanted["spec"]["versions"] = define(&bound)["spec"]["versions"].clone();
    assert_eq!(api.send("POST", definitions, &wanted).await.0, 201);
}

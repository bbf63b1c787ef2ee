//! Requests nobody means well: every one gets a `Status` or an object, and none that is refused changes anything.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use object::parse::DEPTH_LIMIT;
use serde_json::{Value, json};
use serve::call::User;

use crate::api::{Api, gadget, gadgets, path, version};

async fn api() -> Api {
    let properties =
        json!({"n": {"type": "integer"}, "items": {"type": "array", "items": {"type": "string"}}});
    let rules = json!([{"rule": "!has(self.n) || self.n < 100"}]);
    let definition = gadgets(
        json!([version("v1", true, properties, rules)]),
        json!({"strategy": "None"}),
    );
    let api = Api::start(&definition, None).await;
    let made = api
        .send("POST", &path("v1", ""), &gadget("v1", "a", json!({"n": 1})))
        .await;
    assert_eq!(made.0, 201);
    api
}

/// One request as it comes; the code, the reason, and whether the answer is a document at all.
async fn send(
    api: &Api,
    method: &str,
    uri: &str,
    content: &str,
    body: Bytes,
) -> Option<(u16, Value)> {
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header("content-type", content)
        .body(Full::new(body))
        .ok()?;
    let response = api.0.answer(User::default(), request).await;
    let code = response.status().as_u16();
    let collected = tokio::time::timeout(Duration::from_secs(30), response.into_body().collect());
    let bytes = collected.await.unwrap().unwrap().to_bytes();
    let answer = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Some((code, answer))
}

#[tokio::test]
async fn bad_input_is_refused_by_name_and_changes_nothing() {
    let api = api().await;
    let all = path("v1", "");
    let before = api.send("GET", &all, &Value::Null).await.1;
    let deep = format!("{{\"spec\":{}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let whole = |name: &str| gadget("v1", name, json!({"n": 2})).to_string();
    let huge = format!("{{\"spec\":\"{}\"}}", "x".repeat(4 * 1024 * 1024));
    let json = "application/json";
    let strict = format!("{all}?fieldValidation=Strict");
    let unknown = gadget("v1", "b", json!({"n": 2, "nobody": 1})).to_string();
    let case = |method: &'static str,
                uri: &str,
                content: &'static str,
                body: &str,
                code: u16,
                reason: &'static str| {
        (
            method,
            uri.to_owned(),
            content,
            body.to_owned(),
            code,
            reason,
        )
    };
    for (method, uri, content, body, code, reason) in [
        case("POST", &all, json, "{", 400, "BadRequest"),
        case("POST", &all, json, "", 400, "BadRequest"),
        case("POST", &all, "application/yaml", "a: [", 400, "BadRequest"),
        case("POST", &all, json, &deep, 400, "BadRequest"),
        case("POST", &all, json, &huge, 413, "RequestEntityTooLarge"),
        case(
            "POST",
            &all,
            "text/plain",
            "{}",
            415,
            "UnsupportedMediaType",
        ),
        case("POST", &strict, json, &unknown, 400, "BadRequest"),
        case("POST", &all, json, &whole("Not_A_Name"), 422, "Invalid"),
        case("POST", &all, json, &whole("a"), 409, "AlreadyExists"),
    ] {
        let body = Bytes::from(body.into_bytes());
        let (found, answer) = send(&api, method, &uri, content, body).await.unwrap();
        let shown = answer.to_string();
        let shown: String = shown.chars().take(300).collect();
        assert_eq!(answer["kind"], "Status", "{method} {uri}: {shown}");
        let kind = (found, answer["reason"].as_str().unwrap_or_default());
        let expected = (code, reason);
        assert!(kind == expected, "{method} {uri}: {kind:?} {shown}");
        let after = api.send("GET", &all, &Value::Null).await.1;
        assert_eq!(
            after["items"], before["items"],
            "{method} {uri} changed something"
        );
    }
}

/// A generator of numbers that are always the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.roll(from.len())]
    }
}

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const SEGMENTS: [&str; 24] = [
    "api",
    "apis",
    "v1",
    "test.io",
    "namespaces",
    "default",
    "gadgets",
    "a",
    "status",
    "scale",
    "pods",
    "apps",
    "deployments",
    "watch",
    "",
    "..",
    "%2e%2e",
    "%ff",
    "%00",
    "nodes",
    "finalize",
    "version",
    "openapi",
    "v2",
];
const QUERIES: [&str; 20] = [
    "watch=true&timeoutSeconds=1",
    "limit=1",
    "limit=-1",
    "continue=v1.1.61",
    "continue=%ff",
    "resourceVersion=0",
    "resourceVersion=99999999",
    "resourceVersion=x",
    "resourceVersionMatch=Exact",
    "labelSelector=a%3D%3D",
    "fieldSelector=metadata.name%3Da",
    "dryRun=All",
    "dryRun=None",
    "fieldManager=x&force=true",
    "fieldValidation=Strict",
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&watch=1&timeoutSeconds=1",
    "pretty=maybe",
    "propagationPolicy=Sideways",
    "gracePeriodSeconds=-5",
    "%",
];
const CONTENTS: [&str; 8] = [
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "nonsense",
];
const PIECES: [&str; 22] = [
    "{",
    "}",
    "[",
    "]",
    "\"apiVersion\":",
    "\"test.io/v1\"",
    "\"v1\"",
    ",",
    "\"kind\":\"Gadget\"",
    "\"metadata\":",
    "{\"name\":\"b\"}",
    "\"spec\":",
    "null",
    "-1e999",
    "\"\\ud800\"",
    "k8s\0",
    "\n---\n",
    "&a [*a]",
    "1",
    "true",
    "{\"op\":\"add\",\"path\":\"/spec\",\"value\":1}",
    "\u{1f600}",
];

#[tokio::test]
async fn whatever_comes_is_answered_and_what_is_refused_changes_nothing() {
    let api = api().await;
    let mut dice = Dice(7);
    for round in 0..1_500 {
        let method = dice.pick(&METHODS);
        let mut uri = String::new();
        if dice.roll(3) > 0 {
            uri.push_str(&path("v1", ""));
        }
        for _ in 0..dice.roll(4) {
            uri.push('/');
            uri.push_str(dice.pick(&SEGMENTS));
        }
        if uri.is_empty() {
            uri.push('/');
        }
        for place in 0..dice.roll(3) {
            uri.push(if place == 0 { '?' } else { '&' });
            uri.push_str(dice.pick(&QUERIES));
        }
        // Watches take a second each; a few are enough.
        if uri.contains("timeoutSeconds") && round % 50 != 0 {
            continue;
        }
        let content = dice.pick(&CONTENTS);
        let body = match dice.roll(4) {
            0 => gadget("v1", "b", json!({"n": dice.roll(200)})).to_string(),
            1 => String::new(),
            _ => (0..dice.roll(12)).map(|_| dice.pick(&PIECES)).collect(),
        };
        let before = api.0.cache().revision();
        let body = Bytes::from(body.into_bytes());
        let Some((code, answer)) = send(&api, method, &uri, content, body.clone()).await else {
            continue;
        };
        let shown = format!("{round}: {method} {uri} {content} {body:?} -> {code} {answer}");
        assert_ne!(code, 500, "{shown}");
        if code >= 400 {
            assert_eq!(answer["kind"], "Status", "{shown}");
            assert_eq!(api.0.cache().revision(), before, "{shown}");
        }
    }
}

/// How long the writes of an object with many fields take, the shortest of a few tries.
async fn time_of_writes(fields: usize) -> Duration {
    let mut shortest = Duration::MAX;
    for _ in 0..3 {
        let properties =
            json!({"free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let definition = gadgets(
            json!([version("v1", true, properties, json!([]))]),
            json!({"strategy": "None"}),
        );
        let api = Api::start(&definition, None).await;
        // In the order that is worst for whoever keeps names sorted.
        let many: serde_json::Map<String, Value> = (0..fields)
            .rev()
            .map(|number| (format!("f{number:06}"), json!({"a": 1})))
            .collect();
        let none: serde_json::Map<String, Value> = many
            .keys()
            .map(|name| (name.clone(), Value::Null))
            .collect();
        let whole = gadget("v1", "big", json!({"free": many}));
        let bare = gadget("v1", "big", json!({"free": {"other": 1}}));
        let apply = format!("{}?fieldManager=second&force=true", path("v1", "/big"));
        let begun = std::time::Instant::now();
        for (method, uri, content, body, code) in [
            (
                "POST",
                path("v1", ""),
                "application/json",
                whole.to_string(),
                201,
            ),
            (
                "PATCH",
                apply.clone(),
                "application/apply-patch+yaml",
                whole.to_string(),
                200,
            ),
            (
                "PATCH",
                apply,
                "application/apply-patch+yaml",
                bare.to_string(),
                200,
            ),
            (
                "PATCH",
                path("v1", "/big"),
                "application/merge-patch+json",
                json!({"spec": {"free": none}}).to_string(),
                200,
            ),
        ] {
            let (found, answer) = send(&api, method, &uri, content, body.into())
                .await
                .unwrap();
            let shown: String = answer.to_string().chars().take(200).collect();
            assert_eq!(found, code, "{method} {uri} {content}: {shown}");
        }
        shortest = shortest.min(begun.elapsed());
    }
    shortest
}

#[tokio::test]
async fn the_cost_of_an_object_is_that_of_its_size() {
    let (small, large) = (time_of_writes(2_000).await, time_of_writes(16_000).await);
    // Eight times the fields: eight times the time and some for sorting, not sixty-four times.
    assert!(
        large < small * 24,
        "{small:?} for 2,000 fields, {large:?} for 16,000"
    );
}

#[tokio::test]
async fn the_deepest_objects_are_kept_and_read() {
    let properties =
        json!({"free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definition = gadgets(
        json!([version("v1", true, properties, json!([]))]),
        json!({"strategy": "None"}),
    );
    let api = Api::start(&definition, None).await;
    // Around the limit: what is taken must be what can be read, however it is written afterwards.
    let mut taken = Vec::new();
    for levels in DEPTH_LIMIT - 8..=DEPTH_LIMIT + 1 {
        let deep = format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        let body = format!(
            "{{\"apiVersion\":\"test.io/v1\",\"kind\":\"Gadget\",\"metadata\":{{\"name\":\"deep-{levels}\"}},\
             \"spec\":{{\"free\":{deep}}}}}"
        );
        let all = path("v1", "");
        let made = send(&api, "POST", &all, "application/json", body.clone().into()).await;
        let (code, answer) = made.unwrap();
        if code != 201 {
            assert_eq!((code, &answer["reason"]), (400, &json!("BadRequest")));
            continue;
        }
        taken.push(levels);
        let one = path("v1", &format!("/deep-{levels}"));
        let apply = format!("{one}?fieldManager=second&force=true");
        let label = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
        for (method, uri, content, body) in [
            ("GET", one.clone(), "application/json", String::new()),
            ("PATCH", one.clone(), "application/merge-patch+json", label),
            ("PATCH", apply, "application/apply-patch+yaml", body),
            ("GET", path("v1", ""), "application/json", String::new()),
            ("DELETE", one, "application/json", String::new()),
        ] {
            let (code, answer) = send(&api, method, &uri, content, body.into())
                .await
                .unwrap();
            assert_eq!(code, 200, "{levels} {method} {uri}: {}", answer["message"]);
        }
    }
    assert!(taken.contains(&(DEPTH_LIMIT - 8)) && !taken.contains(&(DEPTH_LIMIT + 1)));
}

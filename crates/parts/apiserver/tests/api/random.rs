//! The request path fed with noise: requests put together from pieces of good ones. Each gets an answer of the documented
//! form within its time, and whatever is refused changes nothing.
//!
//! The budget is fixed and the seed too; `KARAVEL_FUZZ_SEED` and `KARAVEL_FUZZ_ROUNDS` make longer and other runs.

use bytes::Bytes;
use serde_json::Value;
use serve::call::User;

use crate::asking::{GADGETS, MAPS, WEBS, everything, lou, prepare, send};
use crate::world::{master, user};

/// A generator of numbers that are always the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // The steps of splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap() % sides
    }

    fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.roll(from.len())]
    }
}

const METHODS: &[&str] = &[
    "GET", "POST", "PUT", "PATCH", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE",
];
const SEGMENTS: &[&str] = &[
    "api",
    "apis",
    "v1",
    "test.io",
    "apps",
    "namespaces",
    "default",
    "gadgets",
    "configmaps",
    "deployments",
    "kept",
    "status",
    "scale",
    "watch",
    "",
    ".",
    "..",
    "%2e%2e",
    "%2f",
    "%ff",
    "%00",
    "%",
    "%zz",
    "finalize",
    "version",
    "openapi",
    "v2",
    "v3",
    "token",
    "proxy",
    "\u{fc}",
    "a b",
    "metrics",
    "healthz",
    "secrets",
    "customresourcedefinitions",
];
const QUERIES: &[&str] = &[
    "limit=1",
    "limit=-1",
    "limit=x",
    "continue=v1.1.61",
    "continue=%ff",
    "resourceVersion=0",
    "resourceVersion=x",
    "resourceVersion=18446744073709551616",
    "resourceVersionMatch=Exact",
    "resourceVersionMatch=Never",
    "labelSelector=a%3D%3D",
    "labelSelector=a+in+(",
    "labelSelector=%21",
    "fieldSelector=metadata.name%3Dkept",
    "fieldSelector=spec.nothing%3D1",
    "dryRun=All",
    "dryRun=Some",
    "fieldManager=x&force=true",
    "fieldManager=%0a",
    "fieldValidation=Strict",
    "fieldValidation=Never",
    "sendInitialEvents=true",
    "pretty=maybe",
    "propagationPolicy=Sideways",
    "orphanDependents=7",
    "gracePeriodSeconds=-5",
    "gracePeriodSeconds=x",
    "timeoutSeconds=x",
    "includeObject=All",
    "%",
    "&&&=",
    "hash=0",
];
const CONTENTS: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "nonsense",
    "",
];
const ACCEPTS: &[&str] = &[
    "application/json",
    "*/*",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "image/png",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    ";;;",
];
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"apiVersion\":",
    "\"test.io/v1\"",
    "\"v1\"",
    "\"apps/v1\"",
    "\"kind\":\"Gadget\"",
    "\"kind\":\"ConfigMap\"",
    "\"metadata\":",
    "{\"name\":\"kept\"}",
    "{\"name\":\"new\"}",
    "\"spec\":",
    "\"data\":",
    "null",
    "-1e999",
    "1e400",
    "\"\\ud800\"",
    "k8s\0",
    "\n---\n",
    "&a [*a]",
    "? ",
    "!!binary x",
    "<<: *a",
    "1",
    "true",
    "\u{1f600}",
    "\u{0}",
    "{\"op\":\"add\",\"path\":\"/spec\",\"value\":1}",
    "{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}",
    "{\"op\":\"copy\",\"from\":\"\",\"path\":\"/x\"}",
    "{\"op\":\"test\",\"path\":\"/~2\"}",
    "\"$patch\":\"delete\"",
    "\"$patch\":\"sideways\"",
    "\"$setElementOrder/containers\":[1]",
    "\"$retainKeys\":[]",
    "\"managedFields\":[{}]",
    "\"finalizers\":[\"\"]",
    "\"ownerReferences\":[null]",
];
const WHOLE: &[&str] = &[
    r#"{"apiVersion":"test.io/v1","kind":"Gadget","metadata":{"name":"kept"},"spec":{"n":5}}"#,
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept"},"data":{"k":"w"}}"#,
    r#"{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}}}"#,
    r#"[{"op":"replace","path":"/data/k","value":"x"}]"#,
    r#"{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"A","value":"1"}]}]}}}}"#,
    r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kept"},"spec":{"replicas":3}}"#,
    r#"{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"none"}}"#,
];

fn line(dice: &mut Dice) -> String {
    let mut line = format!("{} ", dice.pick(METHODS));
    match dice.roll(5) {
        0 => {}
        1 => line.push_str(MAPS),
        2 => line.push_str(WEBS),
        _ => line.push_str(GADGETS),
    }
    if dice.roll(2) == 0 {
        line.push_str("/kept");
    }
    for _ in 0..dice.roll(3) {
        line.push('/');
        line.push_str(dice.pick(SEGMENTS));
    }
    if line.ends_with(' ') {
        line.push('/');
    }
    for place in 0..dice.roll(3) {
        line.push(if place == 0 { '?' } else { '&' });
        line.push_str(dice.pick(QUERIES));
    }
    line
}

fn body(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = match dice.roll(4) {
        0 => Vec::new(),
        1 => (0..dice.roll(14))
            .flat_map(|_| dice.pick(PIECES).bytes())
            .collect(),
        _ => dice.pick(WHOLE).as_bytes().to_vec(),
    };
    // A good document with a few bytes changed reaches deeper than noise.
    for _ in 0..dice.roll(4) {
        if bytes.is_empty() {
            break;
        }
        let place = dice.roll(bytes.len());
        match dice.roll(3) {
            0 => drop(bytes.remove(place)),
            1 => bytes[place] = u8::try_from(dice.roll(256)).unwrap(),
            _ => {
                let piece = dice.pick(PIECES);
                drop(bytes.splice(place..place, piece.bytes()));
            }
        }
    }
    bytes
}

fn number(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(otherwise, |text| text.parse().unwrap())
}

#[tokio::test]
async fn whatever_comes_is_answered_and_what_is_refused_changes_nothing() {
    let world = prepare().await;
    let mut dice = Dice(number("KARAVEL_FUZZ_SEED", 1));
    let users: [User; 3] = [
        master(),
        lou(),
        user("system:anonymous", &["system:unauthenticated"]),
    ];
    let mut before = everything(&world).await;
    for round in 0..number("KARAVEL_FUZZ_ROUNDS", 3_000) {
        let (line, body) = (line(&mut dice), body(&mut dice));
        // Watches last; those of other tests are enough.
        if line.contains("/watch/") {
            continue;
        }
        let (content, accept) = (dice.pick(CONTENTS), dice.pick(ACCEPTS));
        let mut headers = vec![("accept", accept)];
        if !content.is_empty() {
            headers.push(("content-type", content));
        }
        // Mostly those who may do everything: refusals of access are soon given.
        let who = &users[dice.roll(8).saturating_sub(5)];
        let shown = format!("{round}: {} {line} {content} {body:?}", who.name);
        let revision = world.handle.server().cache().revision();
        let Some((code, answer)) = send(&world, who, &line, &headers, Bytes::from(body)).await
        else {
            continue;
        };
        let shown = format!("{shown} -> {code} {answer}");
        assert!(
            code < 500 || answer["reason"].is_null() && code == 500,
            "{shown}"
        );
        if code < 400 {
            before = Value::Null;
            continue;
        }
        let is_head = line.starts_with("HEAD");
        let is_json = !accept.contains("protobuf") && !accept.contains("yaml");
        assert!(answer["kind"] == "Status" || is_head || !is_json, "{shown}");
        assert_eq!(
            world.handle.server().cache().revision(),
            revision,
            "{shown}"
        );
        if before.is_null() {
            before = everything(&world).await;
        } else if round % 50 == 0 {
            assert_eq!(everything(&world).await, before, "{shown}");
        }
    }
}

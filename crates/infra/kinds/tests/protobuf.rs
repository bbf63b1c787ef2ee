//! Built-in kinds in Kubernetes' protobuf encoding, seen as a client sees them: a whole server in the process.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use builtin::types::wire;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use karavel_kinds::{builtin_resources, resource_of_definition};
use object::Value;
use object::time::Time;
use schema::wire::Envelope;
use serde_json::json;
use serve::body::Body;
use serve::call::User;
use serve::resource::Table;
use serve::server::{About, Server, Surroundings};
use store::Store;
use store::embedded::Retention;
use store::memory::Memory;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const METADATA: &str =
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// Time stands still and chance counts.
#[derive(Default)]
struct Still(AtomicU64);

impl Surroundings for Still {
    fn now(&self) -> Time {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    fn uid(&self) -> String {
        format!("uid-{}", self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn suffix(&self) -> String {
        format!("x{:04}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

struct Api(Arc<Server>);

impl Api {
    async fn start() -> Self {
        let mut table = Table::default();
        builtin_resources()
            .into_iter()
            .for_each(|resource| table.insert(resource));
        table.insert(resource_of_definition(&gadgets()).unwrap());
        let about = About {
            version: "v1.34.0".to_owned(),
            address: "127.0.0.1:5443".to_owned(),
        };
        let store = Store::Memory(Memory::new(Retention::default()));
        let surroundings = Arc::new(Still::default());
        let server = Server::open(store, table, Vec::new(), surroundings, about).await;
        let server = Arc::new(server.unwrap());
        let fed = Arc::clone(&server);
        #[expect(clippy::disallowed_methods, reason = "ends with the test's runtime")]
        drop(tokio::spawn(async move { drop(fed.feed().await) }));
        Self(server)
    }

    async fn open(&self, method: &str, path: &str, accept: &str, body: Vec<u8>) -> Response<Body> {
        let content = if body.starts_with(b"k8s\0") {
            PROTOBUF
        } else {
            "application/json"
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("accept", accept)
            .header("content-type", content)
            .body(Full::new(Bytes::from(body)));
        self.0.answer(User::default(), request.unwrap()).await
    }

    /// The code, the media type and the object of an answer, whichever way it is encoded.
    async fn ask(
        &self,
        method: &str,
        path: &str,
        accept: &str,
        body: Vec<u8>,
    ) -> (u16, String, Value) {
        let (parts, body) = self.open(method, path, accept, body).await.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let media = media_type(&parts.headers);
        let object = match media.as_str() {
            PROTOBUF => wire().decode(&bytes).unwrap(),
            _ => serde_json::from_slice(&bytes).unwrap(),
        };
        (parts.status.as_u16(), media, object)
    }
}

fn media_type(headers: &HeaderMap) -> String {
    let media = headers.get("content-type").unwrap();
    media.to_str().unwrap().to_owned()
}

fn gadgets() -> Value {
    json!({
        "metadata": {"name": "gadgets.test.io"},
        "spec": {
            "group": "test.io", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

fn sent(object: &Value) -> Vec<u8> {
    wire().encode(object.to_string().as_bytes()).unwrap()
}

fn config(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
}

const CONFIGS: &str = "/api/v1/namespaces/d/configmaps";
const GADGETS: &str = "/apis/test.io/v1/namespaces/d/gadgets";

#[tokio::test]
async fn objects_lists_and_refusals_travel_in_protobuf() {
    let api = Api::start().await;
    let (code, media, created) = api.ask("POST", CONFIGS, PROTOBUF, sent(&config("c"))).await;
    assert_eq!((code, media.as_str()), (201, PROTOBUF), "{created}");
    assert_eq!(created["data"], json!({"a": "b"}));
    assert_eq!(created["metadata"]["uid"], "uid-0");

    let one = format!("{CONFIGS}/c");
    let (_, _, as_json) = api.ask("GET", &one, "application/json", Vec::new()).await;
    let (_, _, as_message) = api.ask("GET", &one, PROTOBUF, Vec::new()).await;
    assert_eq!(as_json, as_message);

    let (_, media, list) = api.ask("GET", CONFIGS, PROTOBUF, Vec::new()).await;
    assert_eq!(media, PROTOBUF);
    assert_eq!(
        (&list["kind"], &list["items"][0]["metadata"]["name"]),
        (&json!("ConfigMapList"), &json!("c"))
    );

    let (code, media, refusal) = api
        .ask("GET", &format!("{CONFIGS}/none"), PROTOBUF, Vec::new())
        .await;
    assert_eq!((code, media.as_str()), (404, PROTOBUF));
    assert_eq!(
        (&refusal["reason"], &refusal["details"]["name"]),
        (&json!("NotFound"), &json!("none"))
    );

    // Options are of every group, and refusals of a wrong uid come before anything happens.
    let options =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "other"}});
    let mut elsewhere = sent(&options);
    let place = elsewhere
        .windows(2)
        .position(|bytes| bytes == b"v1")
        .unwrap();
    elsewhere[place + 1] = b'9';
    let (code, _, _) = api.ask("DELETE", &one, PROTOBUF, elsewhere).await;
    assert_eq!(code, 409);
    let options =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "uid-0"}});
    let (code, _, deleted) = api.ask("DELETE", &one, PROTOBUF, sent(&options)).await;
    assert_eq!((code, &deleted["status"]), (200, &json!("Success")));
}

#[tokio::test]
async fn bodies_that_are_no_messages_or_of_another_kind_are_refused() {
    let api = Api::start().await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}});
    for (path, body, code, message) in [
        (CONFIGS, sent(&pod), 400, "the kind in the data (Pod)"),
        (
            CONFIGS,
            b"k8s\0\x0a".to_vec(),
            400,
            "unexpected end of the message",
        ),
        (
            CONFIGS,
            b"k8s\0".to_vec(),
            400,
            "there is no protobuf message",
        ),
        (
            GADGETS,
            sent(&config("c")),
            415,
            "accepted media types include: application/json, application/yaml",
        ),
    ] {
        let (got, _, status) = api.ask("POST", path, "application/json", body).await;
        let text = status["message"].as_str().unwrap();
        assert_eq!(got, code, "{status}");
        assert!(text.contains(message), "{text}");
    }
    let (code, _, _) = api
        .ask("GET", CONFIGS, "application/json", Vec::new())
        .await;
    assert_eq!(code, 200);
}

#[tokio::test]
async fn users_kinds_are_json_but_for_their_metadata() {
    let api = Api::start().await;
    let gadget = json!({"apiVersion": "test.io/v1", "kind": "Gadget", "metadata": {"name": "g"}});
    let (code, _, _) = api
        .ask(
            "POST",
            GADGETS,
            "application/json",
            gadget.to_string().into_bytes(),
        )
        .await;
    assert_eq!(code, 201);
    let both = "application/vnd.kubernetes.protobuf,application/json";
    for (accept, code, media) in [
        (PROTOBUF, 406, PROTOBUF),
        (both, 200, "application/json"),
        (METADATA, 200, PROTOBUF),
    ] {
        let (got, shown, object) = api.ask("GET", GADGETS, accept, Vec::new()).await;
        assert_eq!((got, shown.as_str()), (code, media), "{accept}: {object}");
        if accept == METADATA {
            assert_eq!(object["kind"], "PartialObjectMetadataList");
            assert_eq!(object["items"][0]["metadata"]["name"], "g");
        }
    }
    // Tables are for people, who do not read messages.
    let table = "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1";
    let (code, _, _) = api.ask("GET", CONFIGS, table, Vec::new()).await;
    assert_eq!(code, 406);
}

#[tokio::test]
async fn watches_send_frames_of_messages() {
    let api = Api::start().await;
    api.ask("POST", CONFIGS, PROTOBUF, sent(&config("c"))).await;
    let path = format!(
        "{CONFIGS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let response = api.open("GET", &path, PROTOBUF, Vec::new()).await;
    assert_eq!(
        media_type(response.headers()),
        "application/vnd.kubernetes.protobuf;stream=watch"
    );
    let mut body = response.into_body();
    api.ask("POST", CONFIGS, PROTOBUF, sent(&config("d"))).await;
    let mut bytes = Vec::new();
    let mut events = Vec::new();
    while events.len() < 3 {
        let frame = tokio::time::timeout(Duration::from_secs(10), body.frame()).await;
        bytes.extend_from_slice(&frame.unwrap().unwrap().unwrap().into_data().unwrap());
        while let Some(event) = take_event(&mut bytes) {
            events.push(event);
        }
    }
    assert_eq!(events, ["ADDED c", "BOOKMARK ", "ADDED d"]);
}

/// Takes one event off the front: a length in four bytes, the type, and a message that holds a body.
fn take_event(bytes: &mut Vec<u8>) -> Option<String> {
    let length = u32::from_be_bytes(bytes.get(..4)?.try_into().unwrap()) as usize;
    let event = bytes.get(4..4 + length)?.to_vec();
    bytes.drain(..4 + length);
    let (kind, rest) = event[2..].split_at(usize::from(event[1]));
    let start = rest
        .windows(4)
        .position(|window| window == b"k8s\0")
        .unwrap();
    assert!(Envelope::open(&rest[start..]).is_ok());
    let object = wire().decode(&rest[start..]).unwrap();
    Some(format!(
        "{} {}",
        std::str::from_utf8(kind).unwrap(),
        object["metadata"]["name"].as_str().unwrap_or_default()
    ))
}

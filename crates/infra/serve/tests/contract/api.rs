//! A whole server in the process, serving widgets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use karavel_serve::body::Body;
use karavel_serve::call::User;
use karavel_serve::resource::{Action, Column, KindRules, Resource, Subresource, Table, Version};
use karavel_serve::server::{About, Server, Surroundings};
use karavel_serve::target::Verb;
use object::Value;
use object::field::FieldPath;
use object::time::Time;
use serde_json::json;
use store::Store;
use tokio::task::JoinHandle;

use crate::backing::Backing;

/// A server of widgets (namespaced, with a status) and gadgets (neither).
pub(crate) struct Api {
    pub(crate) server: Arc<Server>,
    pub(crate) backing: Arc<Backing>,
    feed: JoinHandle<()>,
    store: Store,
    /// The revision of the store before any of the tests' writes.
    pub(crate) start: u64,
}

/// An answer, read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// Time stands still and chance counts.
#[derive(Default)]
struct Still {
    count: AtomicU64,
}

impl Surroundings for Still {
    fn now(&self) -> Time {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    fn uid(&self) -> String {
        format!("uid-{}", self.count.fetch_add(1, Ordering::Relaxed))
    }

    fn suffix(&self) -> String {
        format!("x{:04}", self.count.fetch_add(1, Ordering::Relaxed))
    }
}

struct Plain;

impl KindRules for Plain {
    fn cells(&self, _: &str, object: &Value, _: Time) -> Vec<Value> {
        vec![
            object["metadata"]["name"].clone(),
            object["spec"]["size"].clone(),
        ]
    }
}

impl Api {
    pub(crate) async fn start() -> Self {
        let backing = Arc::new(Backing::new().await);
        let mut api = Self::start_in(backing, 0).await;
        api.start = api.server.cache().revision().0;
        api
    }

    /// The revision of the n-th write.
    pub(crate) fn revision(&self, write: u64) -> String {
        (self.start + write).to_string()
    }

    pub(crate) async fn start_in(backing: Arc<Backing>, start: u64) -> Self {
        let store = backing.open().await;
        let about = About {
            version: "v1.34.0".to_owned(),
            address: "127.0.0.1:5443".to_owned(),
        };
        let surroundings = Arc::new(Still::default());
        let server = Server::open(store.clone(), table(), Vec::new(), surroundings, about).await;
        let server = Arc::new(server.unwrap());
        let fed = Arc::clone(&server);
        #[expect(
            clippy::disallowed_methods,
            reason = "aborted when the test ends or restarts"
        )]
        let feed = tokio::spawn(async move { drop(fed.feed().await) });
        Self {
            server,
            backing,
            feed,
            store,
            start,
        }
    }

    /// Takes the store away from under the server.
    pub(crate) async fn close_store(&self) {
        self.store.close().await;
    }

    /// The same data, a new server.
    pub(crate) async fn restart(self) -> Self {
        let start = self.start;
        let backing = self.end().await;
        Self::start_in(backing, start).await
    }

    /// The end of the server; its data stays.
    pub(crate) async fn end(self) -> Arc<Backing> {
        self.feed.abort();
        drop(self.feed.await);
        self.store.close().await;
        drop((self.server, self.store));
        self.backing
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let response = self.open(method, path, headers, body).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer {
            code: parts.status.as_u16(),
            headers: parts.headers,
            body,
        }
    }

    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> http::Response<Body> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request
            .body(Full::new(Bytes::from(body.to_owned())))
            .unwrap();
        self.server.answer(User::default(), request).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[], &body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, &[], &body.to_string()).await
    }

    /// Creates widgets with sizes counted from 1.
    pub(crate) async fn with_widgets(self, names: &[&str]) -> Self {
        for (position, name) in names.iter().enumerate() {
            let answer = self.post(WIDGETS, &widget(name, position + 1)).await;
            assert_eq!(answer.code, 201, "{}", answer.body);
        }
        self
    }

    /// The first events of a watch.
    pub(crate) async fn events(&self, path: &str, count: usize) -> Vec<String> {
        let mut body = self.open("GET", path, &[], "").await.into_body();
        let mut lines: Vec<String> = Vec::new();
        while lines.len() < count {
            let frame = tokio::time::timeout(Duration::from_secs(10), body.frame()).await;
            let frame = frame
                .expect("an event within the deadline")
                .expect("the watch goes on");
            let data = frame.unwrap().into_data().unwrap();
            lines.extend(String::from_utf8(data.to_vec()).unwrap().lines().map(shown));
        }
        lines
    }
}

pub(crate) const WIDGETS: &str = "/apis/test.io/v1/namespaces/d/widgets";

pub(crate) fn widget(name: &str, size: usize) -> Value {
    let parity = if size.is_multiple_of(2) {
        "even"
    } else {
        "odd"
    };
    json!({"metadata": {"name": name, "labels": {"parity": parity}}, "spec": {"size": size}})
}

/// An event in a word or two.
fn shown(line: &str) -> String {
    let event: Value = serde_json::from_str(line).unwrap();
    let object = &event["object"];
    let kind = event["type"].as_str().unwrap();
    match kind {
        "ERROR" => format!(
            "ERROR {} {}",
            object["code"],
            object["reason"].as_str().unwrap()
        ),
        "BOOKMARK" => "BOOKMARK".to_owned(),
        _ => format!(
            "{kind} {}={}",
            object["metadata"]["name"].as_str().unwrap(),
            object["spec"]["size"]
        ),
    }
}

fn table() -> Table {
    let mut table = Table::default();
    table.insert(resource("widgets", "Widget", true));
    table.insert(resource("gadgets", "Gadget", false));
    table
}

pub(crate) fn resource(plural: &str, kind: &str, namespaced: bool) -> Resource {
    let verbs = vec![
        Verb::Get,
        Verb::List,
        Verb::Watch,
        Verb::Create,
        Verb::Update,
        Verb::Patch,
        Verb::Delete,
        Verb::DeleteCollection,
    ];
    let status = Subresource {
        name: "status".into(),
        kind: None,
        verbs: vec![Verb::Get, Verb::Update, Verb::Patch],
        action: Action::Status,
    };
    let column = |name: &str, kind: &str| Column {
        name: name.into(),
        kind: kind.into(),
        format: "".into(),
        description: "".into(),
        priority: 0,
    };
    let version = Version {
        name: "v1".into(),
        served: true,
        warning: None,
        schema: Some(widget_schema()),
        verbs,
        subresources: vec![status],
        columns: [column("Name", "string"), column("Size", "integer")].into(),
        selectable: vec!["spec.size".into()],
    };
    Resource {
        group: "test.io".into(),
        kind: kind.into(),
        list_kind: format!("{kind}List").into(),
        plural: plural.into(),
        singular: kind.to_lowercase().into(),
        short_names: vec![],
        categories: vec![],
        namespaced,
        versions: vec![version],
        collection: format!("test.io/{plural}").into(),
        stored_as: "test.io/v1".into(),
        group_priority: 100,
        rules: Arc::new(Plain),
    }
}

fn widget_schema() -> schema::Schema {
    let written = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer"},
            "colour": {"type": "string", "default": "red"},
            "parts": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
        }},
        "status": {"type": "object", "properties": {"ready": {"type": "integer"}}},
    }});
    schema::crd::read(&written, &FieldPath::root()).unwrap()
}

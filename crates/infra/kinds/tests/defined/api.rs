//! A server with one custom kind and all built-in ones, spoken to in the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use karavel_kinds::{builtin_resources, resource_with_webhooks};
use object::Value;
use object::time::Time;
use serde_json::json;
use serve::call::User;
use serve::resource::Table;
use serve::server::{About, Server, Surroundings};
use serve::webhook::Caller;
use store::Store;
use store::embedded::Retention;
use store::memory::Memory;

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

pub(crate) struct Api(pub(crate) Arc<Server>);

/// The kind `Gadget` of the group `test.io`, with these versions and this conversion.
pub(crate) fn gadgets(versions: Value, conversion: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.test.io"},
        "spec": {
            "group": "test.io", "scope": "Namespaced", "conversion": conversion,
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": versions,
        },
    })
}

/// A version whose spec has these properties and rules.
pub(crate) fn version(name: &str, storage: bool, properties: Value, rules: Value) -> Value {
    json!({
        "name": name, "served": true, "storage": storage, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": properties, "x-kubernetes-validations": rules},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }}},
    })
}

fn table(definition: &Value, caller: Option<Arc<dyn Caller>>) -> Table {
    let mut table = Table::default();
    builtin_resources()
        .into_iter()
        .for_each(|resource| table.insert(resource));
    table.insert(resource_with_webhooks(definition, caller.as_ref()).unwrap());
    table
}

impl Api {
    pub(crate) async fn start(definition: &Value, caller: Option<Arc<dyn Caller>>) -> Self {
        let about = About {
            version: "v1.34.0".to_owned(),
            address: "127.0.0.1:5443".to_owned(),
        };
        let store = Store::Memory(Memory::new(Retention::default()));
        let surroundings = Arc::new(Still::default());
        let table = table(definition, caller);
        let server = Server::open(store, table, Vec::new(), surroundings, about).await;
        let server = Arc::new(server.unwrap());
        let fed = Arc::clone(&server);
        #[expect(clippy::disallowed_methods, reason = "ends with the test's runtime")]
        drop(tokio::spawn(async move { drop(fed.feed().await) }));
        Self(server)
    }

    pub(crate) fn serve(&self, definition: &Value, caller: Option<Arc<dyn Caller>>) {
        self.0.set_table(table(definition, caller));
    }

    /// One request; the status code and the answer.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let content = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let (code, answer, _) = self.ask(method, path, content, &text).await;
        (code, answer)
    }

    /// One request as it is written; the status code, the answer and its warnings.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        content: &str,
        body: &str,
    ) -> (u16, Value, Vec<String>) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content)
            .body(Full::new(Bytes::from(body.to_owned())))
            .unwrap();
        let response = self.0.answer(User::default(), request).await;
        let code = response.status().as_u16();
        let warnings = response.headers().get_all("warning").iter();
        let warnings = warnings.map(|text| text.to_str().unwrap().to_owned());
        let warnings = warnings.collect();
        let bytes = tokio::time::timeout(Duration::from_secs(20), response.into_body().collect())
            .await
            .unwrap()
            .unwrap()
            .to_bytes();
        let answer = serde_json::from_slice(&bytes).unwrap_or_default();
        (code, answer, warnings)
    }
}

/// Where gadgets of a version are.
pub(crate) fn path(version: &str, rest: &str) -> String {
    format!("/apis/test.io/{version}/namespaces/default/gadgets{rest}")
}

pub(crate) fn gadget(version: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("test.io/{version}"), "kind": "Gadget",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

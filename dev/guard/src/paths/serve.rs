//! The API server in one thread, on a store in memory.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use object::time::Time;
use object::{Object, Value};
use serde_json::json;
use serve::body::Body;
use serve::call::User;
use serve::resource::Table;
use serve::server::{About, Server, Surroundings};
use store::Store;
use store::embedded::Retention;
use store::memory::Memory;

use super::DEPLOYMENT;

const COLLECTION: &str = "/apis/apps/v1/namespaces/shop/deployments";
const WATCHERS: usize = 100;

pub(super) fn encode(rounds: u32) -> Result<()> {
    let deployment: Object = serde_saphyr::from_str(DEPLOYMENT)?;
    for _ in 0..rounds {
        let bytes = serve::record::encode(black_box(deployment.fields()));
        ensure!(!bytes.is_empty(), "nothing was encoded");
    }
    Ok(())
}

pub(super) fn create(rounds: u32) -> Result<()> {
    with_server(async |server| {
        for index in 0..rounds {
            let body = deployment(&format!("web-{index}"))?.to_string();
            server
                .send("POST", COLLECTION, "application/json", body)
                .await?;
        }
        Ok(())
    })
}

pub(super) fn patch(rounds: u32) -> Result<()> {
    with_server(async |server| {
        let body = deployment("web")?.to_string();
        server
            .send("POST", COLLECTION, "application/json", body)
            .await?;
        for index in 0..rounds {
            let body = json!({"spec": {"replicas": index + 5}}).to_string();
            let path = format!("{COLLECTION}/web");
            server
                .send("PATCH", &path, "application/merge-patch+json", body)
                .await?;
        }
        Ok(())
    })
}

pub(super) fn apply(rounds: u32) -> Result<()> {
    with_server(async |server| {
        for index in 0..rounds {
            let mut object = deployment("web")?;
            object["spec"]["replicas"] = json!(index + 5);
            let path = format!("{COLLECTION}/web?fieldManager=guard&force=true");
            let body = object.to_string();
            server
                .send("PATCH", &path, "application/apply-patch+yaml", body)
                .await?;
        }
        Ok(())
    })
}

pub(super) fn fan_out(rounds: u32) -> Result<()> {
    with_server(async |server| {
        let body = deployment("web")?.to_string();
        server
            .send("POST", COLLECTION, "application/json", body)
            .await?;
        let mut watchers = Vec::new();
        for _ in 0..WATCHERS {
            let path = format!("{COLLECTION}?watch=true&resourceVersion=0");
            let mut body = server
                .open("GET", &path, "", String::new())
                .await?
                .into_body();
            next(&mut body).await?;
            watchers.push(body);
        }
        for index in 0..rounds {
            let body = json!({"spec": {"replicas": index + 5}}).to_string();
            let path = format!("{COLLECTION}/web");
            server
                .send("PATCH", &path, "application/merge-patch+json", body)
                .await?;
            for watcher in &mut watchers {
                next(watcher).await?;
            }
        }
        Ok(())
    })
}

async fn next(body: &mut Body) -> Result<()> {
    let frame = body.frame().await.context("the watch ended")?;
    let Ok(frame) = frame;
    ensure!(frame.is_data(), "a watch tells data");
    Ok(())
}

fn deployment(name: &str) -> Result<Value> {
    let object: Object = serde_saphyr::from_str(DEPLOYMENT)?;
    let mut value = object.into_value();
    value["metadata"]["name"] = json!(name);
    Ok(value)
}

/// A server and what is asked of it.
struct Api(Arc<Server>);

fn with_server(go: impl AsyncFnOnce(&Api) -> Result<()>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut table = Table::default();
        for resource in kinds::builtin_resources() {
            table.insert(resource);
        }
        let store = Store::Memory(Memory::new(Retention::default()));
        let about = About {
            version: "v1.34.0".to_owned(),
            address: "127.0.0.1:5443".to_owned(),
        };
        let still = Arc::new(Still::default());
        let server = Arc::new(Server::open(store, table, Vec::new(), still, about).await?);
        let api = Api(Arc::clone(&server));
        tokio::select! {
            done = go(&api) => done,
            _ = server.feed() => bail!("the server's feed ended"),
        }
    })
}

impl Api {
    async fn send(&self, method: &str, path: &str, content: &str, body: String) -> Result<()> {
        let answer = self.open(method, path, content, body).await?;
        let code = answer.status();
        let body = answer.into_body().collect().await;
        let Ok(body) = body;
        let body = body.to_bytes();
        ensure!(
            code.is_success(),
            "{code}: {}",
            String::from_utf8_lossy(&body)
        );
        Ok(())
    }

    async fn open(
        &self,
        method: &str,
        path: &str,
        content: &str,
        body: String,
    ) -> Result<http::Response<Body>> {
        let mut request = Request::builder().method(method).uri(path);
        if !content.is_empty() {
            request = request.header("content-type", content);
        }
        let request = request.body(Full::new(Bytes::from(body)))?;
        Ok(self.0.answer(User::default(), request).await)
    }
}

/// Time stands still and chance counts, so that every run does the same.
#[derive(Default)]
struct Still(AtomicU64);

impl Surroundings for Still {
    fn now(&self) -> Time {
        Time::from_unix_seconds(1_767_323_045)
    }

    fn uid(&self) -> String {
        format!("uid-{}", self.0.fetch_add(1, Relaxed))
    }

    fn suffix(&self) -> String {
        format!("x{:04}", self.0.fetch_add(1, Relaxed))
    }
}

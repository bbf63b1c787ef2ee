//! The examples of plugins, run.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]
#![expect(
    dead_code,
    reason = "the world has more than these tests need; examples have a main"
)]

mod behaviour;
#[path = "../../../../../examples/scheduling/plugin.rs"]
mod plugin;
mod source;
#[path = "../../../../../examples/scheduling/webhook.rs"]
mod webhook;
#[path = "../whole/world.rs"]
mod world;

use std::net::SocketAddr;

use api::registry::{CLUSTER, RESOURCE_BINDING};
use karavel_scheduler::{Scheduler, Settings, webhook::read_all};
use object::Value;
use runtime::Clock;
use serde_json::json;
use world::{World, binding, cluster};

#[test]
fn the_plugin_in_the_process_prefers_the_cheap_cluster_unless_it_is_left_out() {
    assert_eq!(plugin::decide(&["*"]), "north");
    assert_eq!(plugin::decide(&["*", "-Cheapest"]), "east");
}

#[test]
fn the_file_of_webhooks_in_the_examples_is_right() {
    let text = include_str!("../../../../../examples/scheduling/webhooks.yaml");
    let file: Value = serde_saphyr::from_str(text).unwrap();
    let webhooks = read_all(&file).unwrap();
    assert_eq!((webhooks.len(), &*webhooks[0].name), (1, "Carbon"));
}

/// Three clusters with labels, and the webhook of the example where `url` says.
async fn world_asking(url: &str, authority: &str, policy: &str, plugins: &[&str]) -> World {
    let webhook = json!({
        "name": "Carbon", "url": url, "certificateAuthority": authority, "timeout": "2s", "failurePolicy": policy,
    });
    let plugins = plugins.iter().map(|name| (*name).to_owned());
    let (world, _) = world_with(webhook, plugins.collect()).await;
    world
}

/// The same clusters, and a scheduler that asks one webhook.
async fn world_with(webhook: Value, plugins: Vec<String>) -> (World, Scheduler) {
    let world = World::new(Clock::system()).await;
    for (name, energy) in [("m1", "coal"), ("m2", "gas"), ("m3", "wind")] {
        let mut member = cluster(name, 10);
        let labels = json!({"example.com/energy": energy});
        member.set(&["metadata", "labels"], labels).unwrap();
        world.create(&CLUSTER, member.clone()).await;
        world.report(name, member).await;
    }
    let scheduler = world.schedule(Settings {
        webhooks: read_all(&json!({"webhooks": [webhook]})).unwrap(),
        plugins,
        ..Settings::default()
    });
    (world, scheduler)
}

/// The webhook of the example, listening.
struct Listening {
    url: String,
    authority: String,
    stop: runtime::CancellationToken,
    _tasks: runtime::Tasks,
    _directory: tempfile::TempDir,
}

impl Listening {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let stop = runtime::CancellationToken::new();
        let (told, heard) = tokio::sync::oneshot::channel::<(SocketAddr, String)>();
        let (path, until) = (directory.path().to_owned(), stop.clone());
        let mut tasks = runtime::Tasks::new();
        tasks.spawn("webhook", move |_| async move {
            let ready = |address, authority: &str| drop(told.send((address, authority.to_owned())));
            webhook::answer(&path, until, ready).await.unwrap();
        });
        let (address, authority) = heard.await.unwrap();
        Self {
            url: format!("https://{address}/review"),
            authority,
            stop,
            _tasks: tasks,
            _directory: directory,
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[tokio::test]
async fn a_webhook_refuses_and_orders_clusters() {
    let listening = Listening::new().await;
    let world = world_asking(&listening.url, &listening.authority, "Fail", &["*"]).await;
    world
        .create(&RESOURCE_BINDING, binding("everywhere", 1, &json!({})))
        .await;
    world.expect("shop/everywhere", "m2=1 m3=1 Success").await;
    let one = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]});
    world
        .create(&RESOURCE_BINDING, binding("one", 1, &one))
        .await;
    world.expect("shop/one", "m3=1 Success").await;
    let coal = json!({"clusterAffinity": {"clusterNames": ["m1"]}});
    world
        .create(&RESOURCE_BINDING, binding("coal", 1, &coal))
        .await;
    world.expect("shop/coal", "NoClusterFit").await;
    let refused = world.binding("shop/coal").await;
    let condition = &refused.at(&["status", "conditions"]).unwrap()[0];
    let message = condition["message"].as_str().unwrap();
    assert!(message.contains("1 cluster(s) run on coal"), "{message}");
}

#[tokio::test]
async fn a_webhook_that_is_left_out_has_no_say() {
    let listening = Listening::new().await;
    let world = world_asking(
        &listening.url,
        &listening.authority,
        "Fail",
        &["*", "-Carbon"],
    )
    .await;
    world
        .create(&RESOURCE_BINDING, binding("web", 1, &json!({})))
        .await;
    world.expect("shop/web", "m1=1 m2=1 m3=1 Success").await;
}

#[tokio::test]
async fn a_webhook_that_is_not_there_is_passed_over_or_waited_for_as_it_is_said() {
    // Nobody listens on the port of a listener that is gone.
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("https://{gone}/review");
    let ignoring = world_asking(&url, "", "Ignore", &["*"]).await;
    ignoring
        .create(&RESOURCE_BINDING, binding("web", 1, &json!({})))
        .await;
    ignoring.expect("shop/web", "m1=1 m2=1 m3=1 Success").await;
    let failing = world_asking(&url, "", "Fail", &["*"]).await;
    failing
        .create(&RESOURCE_BINDING, binding("web", 1, &json!({})))
        .await;
    failing.expect("shop/web", "SchedulerError").await;
    let web = failing.binding("shop/web").await;
    let message = web.at(&["status", "conditions"]).unwrap()[0]["message"].clone();
    let expected =
        format!("failed to filter clusters: plugin \"Carbon\" failed with: webhook {url}");
    assert!(
        message.as_str().unwrap().starts_with(&expected),
        "{message}"
    );
}

//! Webhooks that behave badly, and what becomes of those they were asked about and of all others.

use std::{
    future::pending,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};

use api::registry::RESOURCE_BINDING;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use karavel_scheduler::Scheduler;
use listen::{Authority, Limits, Listener, ServerIdentity, Subject};
use object::Value;
use runtime::{CancellationToken, Tasks};
use serde_json::json;

use crate::{
    webhook,
    world::{World, binding, show},
    world_with,
};

/// What the webhook of the example says.
const HEARD: &str = "m2=1 m3=1 Success";
/// What is decided where it has no say.
const UNHEARD: &str = "m1=1 m2=1 m3=1 Success";

/// The webhook of the example, which behaves as the names of bindings want it to.
struct Moody {
    url: String,
    authority: String,
    /// Whether it hangs whatever it is asked.
    hangs: Arc<AtomicBool>,
    /// How often it was asked.
    asked: Arc<AtomicUsize>,
    stop: CancellationToken,
    _tasks: Tasks,
    _directory: tempfile::TempDir,
}

impl Moody {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let authority = Authority::open(directory.path(), now).unwrap();
        let names = vec!["127.0.0.1".to_owned()];
        let hour = Duration::from_secs(3600);
        let issued = authority.issue(&Subject::Server { names }, hour, now);
        let identity = ServerIdentity::new(&issued.unwrap()).unwrap();
        let tls = identity.tls_config(authority.certificate_pem()).unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(any).await.unwrap();
        let url = format!("https://{}/review", listener.address());
        let (stop, hangs) = (CancellationToken::new(), Arc::<AtomicBool>::default());
        let (until, mood) = (stop.clone(), Arc::clone(&hangs));
        let asked = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&asked);
        let mut tasks = Tasks::new();
        tasks.spawn("webhook", move |_| async move {
            let handler = move |request: Request<listen::Arriving>| {
                let mood = Arc::clone(&mood);
                count.fetch_add(1, Relaxed);
                async move {
                    let body = request.into_body().collect().await;
                    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
                    let question: Value = serde_json::from_slice(&body).unwrap_or_default();
                    if mood.load(Relaxed) {
                        return pending().await;
                    }
                    answer(&question).await
                }
            };
            listener.serve(tls, Limits::default(), handler, until).await;
        });
        Self {
            url,
            authority: authority.certificate_pem().to_owned(),
            hangs,
            asked,
            stop,
            _tasks: tasks,
            _directory: directory,
        }
    }

    /// Clusters, and a scheduler that asks it.
    async fn world(&self, policy: &str) -> (World, Scheduler) {
        let webhook = json!({
            "name": "Carbon", "url": self.url, "certificateAuthority": self.authority, "timeout": "1s",
            "failurePolicy": policy,
        });
        world_with(webhook, vec!["*".to_owned()]).await
    }
}

impl Drop for Moody {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The answer to a question about a binding named after what becomes of it.
async fn answer(question: &Value) -> Response<Full<Bytes>> {
    let name = &question["request"]["binding"]["metadata"]["name"];
    let mood = name.as_str().unwrap_or_default();
    let mood = mood.split('-').next().unwrap_or_default();
    let said = webhook::review(question);
    let (code, body) = match mood {
        "broken" => (500, "no".repeat(10_000)),
        "away" => (503, "no".to_owned()),
        "torn" => (200, "{".to_owned()),
        "slow" => return pending().await,
        "twice" => {
            let opinions =
                json!([{"name": "m1", "allowed": false}, {"name": "m1", "allowed": true}]);
            (200, json!({"response": {"clusters": opinions}}).to_string())
        }
        _ => (200, said.to_string()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or_default();
    response
}

async fn place(world: &World, name: &str, expected: &str) {
    create(world, name).await;
    world.expect(&format!("shop/{name}"), expected).await;
}

/// How a binding looks once it is decided about.
async fn decided(world: &World, name: &str) -> String {
    loop {
        let seen = show(&world.binding(&format!("shop/{name}")).await);
        if !seen.is_empty() {
            return seen;
        }
        tokio::task::yield_now().await;
    }
}

async fn create(world: &World, name: &str) {
    let object = binding(name, 1, &json!({}));
    world.create(&RESOURCE_BINDING, object).await;
}

#[tokio::test]
async fn an_answer_that_is_no_good_concerns_its_own_binding() {
    let webhook = Moody::new().await;
    let (world, scheduler) = webhook.world("Ignore").await;
    for mood in ["broken", "away", "torn", "twice"] {
        for number in 0..4 {
            place(&world, &format!("{mood}-{number}"), UNHEARD).await;
        }
        for number in 0..5 {
            place(&world, &format!("after-{mood}-{number}"), HEARD).await;
        }
    }
    // One that is waited for in vain, and one more.
    for name in ["slow-0", "slow-1"] {
        place(&world, name, UNHEARD).await;
        place(&world, &format!("after-{name}"), HEARD).await;
    }

    let why = |name: &str| {
        let key = format!("shop/{name}").parse().unwrap();
        let recorder = scheduler.recorder().unwrap().clone();
        async move {
            let records = recorder.last(&key).await;
            let unheard = records.first().unwrap().diagnosis()["unheard"].clone();
            match unheard.is_null() {
                true => String::new(),
                false => {
                    assert_eq!(unheard[0]["plugin"], "Carbon");
                    unheard[0]["why"].as_str().unwrap().to_owned()
                }
            }
        }
    };
    let url = &webhook.url;
    assert_eq!(why("after-torn-0").await, "");
    for (name, expected) in [
        ("torn-0", "its answer cannot be used: it is not JSON"),
        (
            "twice-0",
            "its answer cannot be used: response.clusters[1].name: expected each cluster once",
        ),
        ("slow-0", "it did not answer in time"),
        ("broken-0", "the call failed: "),
    ] {
        let found = why(name).await;
        let expected = format!("webhook {url}: {expected}");
        assert!(found.starts_with(&expected), "{name}: {found}");
        assert!(found.len() < 1_200, "{name}: {} bytes", found.len());
    }
    let metrics = scheduler.metrics();
    let counted =
        "karavel_scheduler_plugin_unheard_total{plugin=\"Carbon\",failure_policy=\"Ignore\"} ";
    let counted = metrics.lines().find_map(|line| line.strip_prefix(counted));
    let counted: u32 = counted.and_then(|count| count.parse().ok()).unwrap();
    assert!(counted >= 18, "{metrics}");
}

#[tokio::test]
async fn a_webhook_that_hangs_holds_nobody_up_for_long_and_is_heard_when_it_is_back() {
    const MANY: usize = 300;
    let webhook = Moody::new().await;
    let (world, _scheduler) = webhook.world("Ignore").await;
    place(&world, "first", HEARD).await;
    webhook.hangs.store(true, Relaxed);
    let before = webhook.asked.load(Relaxed);
    for number in 0..MANY {
        create(&world, &format!("many-{number}")).await;
    }
    for number in 0..MANY {
        world.expect(&format!("shop/many-{number}"), UNHEARD).await;
    }
    // Those that ask at once before three have waited in vain, and now and then one that tries whether it is back.
    let asked = webhook.asked.load(Relaxed) - before;
    assert!(asked < MANY / 2, "it was asked {asked} times");
    webhook.hangs.store(false, Relaxed);
    // It is tried every four seconds at least, by whoever is to be decided then.
    let back = tokio::time::timeout(Duration::from_secs(30), async {
        for number in 0.. {
            let name = format!("later-{number}");
            create(&world, &name).await;
            if decided(&world, &name).await == HEARD {
                break;
            }
        }
    });
    back.await.expect("it is back, and not heard");
}

#[tokio::test]
async fn a_webhook_that_must_be_heard_is_tried_again_by_each_binding_for_itself() {
    let webhook = Moody::new().await;
    let (world, _scheduler) = webhook.world("Fail").await;
    place(&world, "broken", "SchedulerError").await;
    place(&world, "slow", "SchedulerError").await;
    for number in 0..5 {
        place(&world, &format!("good-{number}"), HEARD).await;
    }
    let broken = world.binding("shop/broken").await;
    let message = broken.at(&["status", "conditions"]).unwrap()[0]["message"].clone();
    let step = "failed to filter clusters: plugin \"Carbon\" failed with: webhook https://";
    assert!(message.as_str().unwrap().starts_with(step), "{message}");
}

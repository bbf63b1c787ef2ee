//! Bindings decided in a second, through the API: created by one client, targets seen by a watch.
//!
//! The server, the scheduler and whoever creates run in one process on a store in memory and share its cores, so the
//! figures are what all of them cost together; `karavel bench schedule` measures a server from outside, over HTTPS. The
//! time that the process computed for each binding is printed too: it says how it would go on a machine that does nothing
//! else. `cargo bench -p karavel-scheduler` prints a line for each fleet and mode; `-- 100` only the fleets of that size;
//! `-- trouble` how bindings fare beside others in trouble, as a ratio; `-- --test` a few bindings, to see that it runs.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on stops")]
#![expect(clippy::print_stdout, reason = "figures are the output")]
#![expect(dead_code, reason = "the world has more than a bench needs")]

#[path = "../tests/whole/world.rs"]
mod world;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use api::registry::{CLUSTER, RESOURCE_BINDING};
use client::{Scope, WriteOptions};
use futures_util::{StreamExt as _, stream};
use karavel_scheduler::{
    Settings,
    estimator::{Answering, EstimatorSettings, Nearby},
};
use object::{Object, ResourceType, Value};
use protocol::Question;
use runtime::Clock;
use serde_json::json;
use world::{World, binding, by_room, cluster};

const BINDINGS: usize = 10_000;
/// How many creations are under way at once.
const CREATORS: usize = 64;

fn main() {
    let only: Option<usize> = std::env::args().find_map(|argument| argument.parse().ok());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    if std::env::args().any(|argument| argument == "--test") {
        for mode in modes() {
            runtime.block_on(flood(10, &mode, 50));
        }
        return;
    }
    let is_trouble = std::env::args().any(|argument| argument == "trouble");
    for size in [1, 100, 1000, 5000] {
        if is_trouble {
            break;
        }
        if only.is_some_and(|only| only != size) {
            continue;
        }
        for mode in modes() {
            // Copies to thousands of clusters are thousands of targets each; fewer bindings say as much.
            let bindings = if size > 100 { BINDINGS / 10 } else { BINDINGS };
            runtime.block_on(flood(size, &mode, bindings));
        }
    }
    if is_trouble || only.is_none_or(|only| only == 100) {
        runtime.block_on(troubled(100, 100, 10_000));
    }
}

/// A way of dividing.
struct Mode {
    name: &'static str,
    placement: Value,
    /// Whether there are components instead of replicas.
    is_set: bool,
}

impl Mode {
    fn binding(&self, index: usize) -> Object {
        let mut object = binding(&format!("web-{index}"), 10, &self.placement);
        if self.is_set {
            object.remove(&["spec", "replicas"]);
            object.remove(&["spec", "replicaRequirements"]);
            let component = |name: &str, replicas: u32| {
                let request = json!({"resourceRequest": {"cpu": "1"}});
                json!({"name": name, "replicas": replicas, "replicaRequirements": request})
            };
            let components = json!([component("jobmanager", 1), component("taskmanager", 3)]);
            object.set(&["spec", "components"], components).unwrap();
        }
        object
    }
}

fn modes() -> Vec<Mode> {
    let divided = |preference: &str| {
        json!({"replicaScheduling": {
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": preference,
        }})
    };
    let spread = |placement: Value, most: u32| {
        let constraints = json!([{"spreadByField": "cluster", "minGroups": 1, "maxGroups": most}]);
        json!({"spreadConstraints": constraints, "replicaScheduling": placement["replicaScheduling"]})
    };
    let one = json!({"clusterAffinity": {"clusterNames": ["member-0000"]}});
    [
        ("duplicated, one cluster", one, false),
        ("static weights", divided("Weighted"), false),
        ("dynamic weights", by_room(), false),
        ("aggregated", divided("Aggregated"), false),
        ("spread over 3 clusters", spread(by_room(), 3), false),
        ("component sets", spread(divided("Aggregated"), 1), true),
    ]
    .map(|(name, placement, is_set)| Mode {
        name,
        placement,
        is_set,
    })
    .into()
}

async fn fleet(size: usize) -> World {
    let world = World::new(Clock::system()).await;
    for index in 0..size {
        let cluster = cluster(&format!("member-{index:04}"), 1000);
        let name = cluster.name().to_owned();
        world.create(&CLUSTER, cluster.clone()).await;
        world.report(&name, cluster).await;
    }
    world
}

/// Waits until everything that was created has targets.
struct Watched {
    placed: Arc<AtomicUsize>,
    /// When each binding was seen with targets.
    at: Arc<Mutex<Vec<(String, Instant)>>>,
    _subscription: client::Subscription,
}

fn watch(world: &World) -> Watched {
    let cache = world
        .caches
        .follow(&ResourceType::from(&RESOURCE_BINDING), Scope::all());
    let placed = Arc::new(AtomicUsize::new(0));
    let at = Arc::new(Mutex::new(Vec::new()));
    let (count, times) = (Arc::clone(&placed), Arc::clone(&at));
    let has = |object: &Option<Arc<object::Object>>| {
        object
            .as_ref()
            .is_some_and(|object| object.at(&["spec", "clusters"]).is_some())
    };
    let subscription = cache.on_change(move |change| {
        if has(&change.after) && !has(&change.before) {
            count.fetch_add(1, Relaxed);
            times
                .lock()
                .unwrap()
                .push((change.key().name, Instant::now()));
        }
    });
    Watched {
        placed,
        at,
        _subscription: subscription,
    }
}

impl Watched {
    async fn until(&self, count: usize) {
        while self.placed.load(Relaxed) < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Creates bindings as fast as the API takes them.
async fn flood(size: usize, mode: &Mode, bindings: usize) {
    let world = fleet(size).await;
    let gates = "MultiplePodTemplatesScheduling=true".parse().unwrap();
    let scheduler = world.schedule(Settings::with_gates(&gates));
    let watched = watch(&world);
    let (start, computed) = (Instant::now(), computed());
    create(&world, bindings, |index| mode.binding(index)).await;
    let name = mode.name;
    let created = start.elapsed();
    watched.until(bindings).await;
    let placed = start.elapsed();
    while scheduler.counts().active + scheduler.counts().in_work > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let settled = start.elapsed();
    let each = (self::computed() - computed) / u32::try_from(bindings).unwrap();
    println!(
        "{size:>5} clusters, {name:<24} {bindings:>6} bindings: created in {created:>7.2?}, placed in {placed:>7.2?}, settled in {settled:>7.2?}: {:>6.0}/s, {each:>7.0?} computed for each",
        bindings as f64 / settled.as_secs_f64()
    );
}

/// Creates bindings as fast as the API takes them.
async fn create(world: &World, count: usize, make: impl Fn(usize) -> Object) {
    let resource = ResourceType::from(&RESOURCE_BINDING);
    stream::iter(0..count)
        .for_each_concurrent(CREATORS, |index| {
            let object = make(index);
            let (client, resource) = (world.client.clone(), &resource);
            async move {
                let options = WriteOptions::default();
                drop(client.create(resource, &object, &options).await.unwrap());
            }
        })
        .await;
}

/// The time that the whole process has computed so far.
fn computed() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Counted behind the name of the program, which may have blanks in it: user and system time in hundredths.
    let after = text.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Creates bindings at a steady rate and says how long they wait for their targets: alone, and beside trouble.
async fn troubled(size: usize, rate: u32, waiting: usize) {
    let quiet = {
        let world = fleet(size).await;
        let _scheduler = world.schedule(Settings::default());
        waits(&world, &watch(&world), rate).await
    };
    say(rate, "alone", &quiet, &quiet);
    let flapping = {
        let world = fleet(size).await;
        let _scheduler = world.schedule(Settings::default());
        let watched = watch(&world);
        tokio::select! {
            () = flap(&world) => Vec::new(),
            waits = waits(&world, &watched, rate) => waits,
        }
    };
    say(rate, "a cluster flapping", &flapping, &quiet);
    for (name, after) in [
        ("an estimator hanging", Duration::ZERO),
        ("an estimator that begins to hang", Duration::from_secs(3)),
    ] {
        let world = fleet(size).await;
        let _scheduler = world.schedule(Settings {
            estimators: Some(EstimatorSettings {
                nearby: Some(Arc::new(Hanging(Instant::now() + after))),
                ..EstimatorSettings::default()
            }),
            ..Settings::default()
        });
        let hanging = waits(&world, &watch(&world), rate).await;
        say(rate, name, &hanging, &quiet);
    }
    let world = fleet(size).await;
    let scheduler = world.schedule(Settings::default());
    create(&world, waiting, |index| {
        binding(&format!("large-{index}"), 2_000_000, &by_room())
    })
    .await;
    while scheduler.counts().unschedulable < waiting {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let watched = watch(&world);
    // A cluster whose room goes up and down brings all of them back each time.
    let crowded = tokio::select! {
        () = flap(&world) => Vec::new(),
        waits = waits(&world, &watched, rate) => waits,
    };
    let name = format!("beside {waiting} that cannot be placed, a cluster flapping");
    say(rate, &name, &crowded, &quiet);
}

/// Estimators of which one does not answer any more after a while.
#[derive(Debug)]
struct Hanging(Instant);

impl Nearby for Hanging {
    fn knows(&self, _: &str) -> bool {
        true
    }

    fn ask<'a>(&'a self, question: &'a Question) -> Option<Answering<'a>> {
        Some(match question.cluster() {
            "member-0000" if self.0 <= Instant::now() => Box::pin(std::future::pending()),
            _ => Box::pin(std::future::ready(Ok(1000))),
        })
    }
}

/// The room in a cluster goes up and down twice a second.
async fn flap(world: &World) {
    for round in 0.. {
        world
            .report("member-0000", cluster("member-0000", 1000 + round % 2))
            .await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// How long each of ten seconds' bindings waited, sorted.
async fn waits(world: &World, watched: &Watched, rate: u32) -> Vec<Duration> {
    let resource = ResourceType::from(&RESOURCE_BINDING);
    let count = rate as usize * 10;
    let mut created = std::collections::HashMap::new();
    let mut tick = tokio::time::interval(Duration::from_secs(1) / rate);
    for index in 0..count {
        tick.tick().await;
        let object = binding(&format!("web-{index}"), 10, &by_room());
        created.insert(object.name().to_owned(), Instant::now());
        world
            .client
            .create(&resource, &object, &WriteOptions::default())
            .await
            .unwrap();
    }
    watched.until(count).await;
    let at = watched.at.lock().unwrap();
    let waited = |(name, at): &(String, Instant)| Some(at.duration_since(*created.get(name)?));
    let mut waits: Vec<Duration> = at.iter().filter_map(waited).collect();
    waits.sort();
    waits
}

fn say(rate: u32, name: &str, waits: &[Duration], quiet: &[Duration]) {
    let share = |waits: &[Duration], percent: usize| waits[waits.len() * percent / 100];
    let times = |percent: usize| {
        let ratio = share(waits, percent).as_secs_f64() / share(quiet, percent).as_secs_f64();
        format!("{:>9.2?} ({ratio:.1} times)", share(waits, percent))
    };
    let most = waits[waits.len() - 1];
    println!(
        "{rate}/s, {name:<52} half in {}, p99 {}, most {most:.2?}",
        times(50),
        times(99)
    );
}

//! Bindings that keep together or apart, all to be decided at once.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use api::registry::RESOURCE_BINDING;
use intent::Part;
use karavel_scheduler::Settings;
use object::{Object, Value};
use schedule::plugin::WorkloadGroups;
use serde_json::json;
use serve::{
    call::{Admission, Call, Verdict, at_once},
    status::Status,
};

use crate::world::{World, binding, show};

const BINDINGS: [&str; 9] = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];

/// A binding of a group.
fn member(name: &str, group: &str, placement: &Value) -> Object {
    let mut member = binding(name, 1, placement);
    let groups = json!({ group: "app=web" });
    member
        .set(&["spec", "workloadAffinityGroups"], groups)
        .unwrap();
    member
}

/// Where nine bindings of a group go that may have one cluster each, and how many of them go there.
async fn placed(group: &str, settings: Settings) -> BTreeMap<String, usize> {
    // All are there before anybody decides.
    let world = World::filled_with_clusters().await;
    let one = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]});
    for name in BINDINGS {
        let member = member(name, group, &one);
        world.create(&RESOURCE_BINDING, member).await;
    }
    let scheduler = world.schedule(settings);
    let mut placed = BTreeMap::new();
    for name in BINDINGS {
        let key = format!("shop/{name}");
        world.settle(&scheduler, &key).await;
        let place = show(&world.binding(&key).await);
        *placed.entry(place).or_default() += 1;
    }
    placed
}

fn settings() -> Settings {
    Settings {
        groups: WorkloadGroups::On,
        workers: 8,
        ..Settings::default()
    }
}

#[tokio::test(start_paused = true)]
async fn members_of_a_group_decided_at_once_keep_together_or_apart() {
    let apart = placed("antiAffinityGroup", settings()).await;
    let expected = [
        ("NoClusterFit", 5),
        ("m1=1 Success", 1),
        ("m2=1 Success", 1),
        ("m3=1 Success", 1),
        ("m4=1 Success", 1),
    ];
    let expected = expected.map(|(place, count)| (place.to_owned(), count));
    assert_eq!(apart, BTreeMap::from(expected));
    let together = placed("affinityGroup", settings()).await;
    assert_eq!(together.into_values().collect::<Vec<_>>(), [9]);
}

/// Somebody who takes his time with targets for the binding `a` and then refuses them.
#[derive(Default)]
struct Hesitant {
    asked: AtomicU32,
}

/// How much.
const HESITATION: Duration = Duration::from_millis(100);

impl Admission for Hesitant {
    fn validate<'a>(
        &'a self,
        _: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let targets = |binding: Option<&'a Value>| binding?.get("spec")?.get("clusters");
        let is_a = new.is_some_and(|new| new["metadata"]["name"] == "a");
        // It may come with targets, and lose them.
        if !is_a || old.is_none() || targets(new).is_none() || targets(old) == targets(new) {
            return at_once(Ok(Vec::new()));
        }
        self.asked.fetch_add(1, Relaxed);
        Box::pin(async {
            tokio::time::sleep(HESITATION).await;
            Err(Status::bad_request("not there"))
        })
    }
}

/// A world in which `a`, which has these targets, is about to be written to a cluster of its own, and never will be.
async fn on_the_move(targets: Value, to: &str) -> World {
    let hesitant = Arc::new(Hesitant::default());
    let hooks: Vec<Arc<dyn Admission>> = vec![Arc::clone(&hesitant) as _];
    let (world, _scheduler) = World::with_clusters_judged_by(hooks, settings()).await;
    let only = json!({"clusterAffinity": {"clusterNames": [to]}});
    let mut a = member("a", "antiAffinityGroup", &only);
    a.set(&["spec", "clusters"], targets).unwrap();
    world.create(&RESOURCE_BINDING, a).await;
    while hesitant.asked.load(Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    world
}

#[tokio::test(start_paused = true)]
async fn a_place_that_was_only_meant_is_free_again_for_whoever_found_none() {
    let world = on_the_move(json!([]), "m1").await;
    let only = json!({"clusterAffinity": {"clusterNames": ["m1"]}});
    let b = member("b", "antiAffinityGroup", &only);
    world.create(&RESOURCE_BINDING, b).await;
    // Nobody edits anything.
    world.expect("shop/b", "m1=1 Success").await;
}

#[tokio::test(start_paused = true)]
async fn whoever_cannot_leave_keeps_its_place_to_itself() {
    let present = json!([{"name": "m1", "replicas": 1}]);
    let world = on_the_move(present, "m2").await;
    let either = json!({
        "clusterAffinity": {"clusterNames": ["m1", "m2"]},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    });
    let b = member("b", "antiAffinityGroup", &either);
    world.create(&RESOURCE_BINDING, b).await;
    world.expect("shop/b", "m2=1 Success").await;
}

#[tokio::test(start_paused = true)]
async fn a_place_that_is_left_for_good_is_had_by_whoever_found_none() {
    let (world, _scheduler) = World::with_clusters(settings()).await;
    let only = json!({"clusterAffinity": {"clusterNames": ["m1"]}});
    for name in ["a", "b", "c"] {
        let member = member(name, "antiAffinityGroup", &only);
        world.create(&RESOURCE_BINDING, member).await;
        let place = if name == "a" {
            "m1=1 Success"
        } else {
            "NoClusterFit"
        };
        world.expect(&format!("shop/{name}"), place).await;
    }
    // One moves, and the next is deleted.
    let moved = json!({"spec": {"placement": {"clusterAffinity": {"clusterNames": ["m2"]}}}});
    world
        .patch(&RESOURCE_BINDING, "shop/a", moved, Part::Object)
        .await;
    world.expect("shop/a", "m2=1 Success").await;
    let places = async |name: &str| show(&world.binding(&format!("shop/{name}")).await);
    let mut next = None;
    while next.is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
        for (name, other) in [("b", "c"), ("c", "b")] {
            if places(name).await == "m1=1 Success" {
                next = Some((name, other));
            }
        }
    }
    let (name, other) = next.unwrap();
    world
        .delete(&RESOURCE_BINDING, &format!("shop/{name}"))
        .await;
    world.expect(&format!("shop/{other}"), "m1=1 Success").await;
}

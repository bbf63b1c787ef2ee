//! The scheduler on a real API: objects in, targets and conditions out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod groups;
mod trouble;
mod world;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use api::registry::{CLUSTER, RESOURCE_BINDING};
use intent::Part;
use karavel_scheduler::{Overcommit, Settings};
use object::Value;
use serde_json::json;
use serve::{
    call::{Admission, Call, Verdict, at_once},
    status::Status,
};
use world::{World, binding, by_room, cluster, object, show};

const WEB: &str = "shop/web";

/// A world with one binding called `web`.
async fn world_with(replicas: u32, placement: &Value) -> (World, karavel_scheduler::Scheduler) {
    let (world, scheduler) = World::with_clusters(Settings::default()).await;
    world
        .create(&RESOURCE_BINDING, binding("web", replicas, placement))
        .await;
    (world, scheduler)
}

#[tokio::test(start_paused = true)]
async fn a_new_binding_is_placed_and_says_so() {
    let placement = json!({"clusterAffinity": {"clusterNames": ["m1", "m2"]}});
    let (world, scheduler) = world_with(3, &placement).await;
    world.expect(WEB, "m1=3 m2=3 Success").await;
    world.settle(&scheduler, WEB).await;
    let web = world.binding(WEB).await;
    assert_eq!(
        web.annotation("policy.karmada.io/applied-placement"),
        Some(placement.to_string().as_str())
    );
    // The generation that our own write made is seen, and nothing was decided again because of it.
    assert_eq!(
        web.integer_at(&["status", "schedulerObservedGeneration"]),
        Some(2)
    );
    assert_eq!(web.generation(), 2);
    let attempts = "karmada_scheduler_schedule_attempts_total{result=\"scheduled\",schedule_type=\"ReconcileSchedule\"} 1";
    assert!(
        scheduler.metrics().contains(attempts),
        "{}",
        scheduler.metrics()
    );
}

#[tokio::test(start_paused = true)]
async fn scaling_divides_anew_and_an_edit_of_labels_does_not() {
    let (world, scheduler) = world_with(10, &by_room()).await;
    world.expect(WEB, "m1=1 m2=2 m3=3 m4=4 Success").await;
    world
        .patch(
            &RESOURCE_BINDING,
            WEB,
            json!({"spec": {"replicas": 20}}),
            Part::Object,
        )
        .await;
    world.expect(WEB, "m1=2 m2=4 m3=6 m4=8 Success").await;
    let before = world.binding(WEB).await;
    world
        .patch(
            &RESOURCE_BINDING,
            WEB,
            json!({"metadata": {"labels": {"a": "b"}}}),
            Part::Object,
        )
        .await;
    world.settle(&scheduler, WEB).await;
    assert_eq!(
        world.binding(WEB).await.at(&["status"]),
        before.at(&["status"])
    );
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_waits_for_room_and_nothing_else() {
    let (world, scheduler) = world_with(1000, &by_room()).await;
    world.expect(WEB, "Unschedulable").await;
    assert_eq!(scheduler.counts().unschedulable, 1);
    // A report of less room is no reason to try.
    world.report("m1", cluster("m1", 5)).await;
    assert_eq!(world.settle(&scheduler, WEB).await, "Unschedulable");
    world.report("m4", cluster("m4", 2000)).await;
    world.expect(WEB, "m1=5 m2=19 m3=28 m4=948 Success").await;
}

#[tokio::test(start_paused = true)]
async fn where_no_cluster_is_allowed_one_is_awaited() {
    let (world, scheduler) =
        world_with(2, &json!({"clusterAffinity": {"clusterNames": ["m9"]}})).await;
    world.expect(WEB, "NoClusterFit").await;
    assert_eq!(world.settle(&scheduler, WEB).await, "NoClusterFit");
    let attempts = scheduler.metrics();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(
        scheduler.metrics(),
        attempts,
        "nobody tries again by himself"
    );
    // A cluster joins with a taint, as all do, and becomes ready when the taint goes.
    let mut joining = cluster("m9", 10);
    let taint = json!([{"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule"}]);
    joining.set(&["spec", "taints"], taint).unwrap();
    world.create(&CLUSTER, joining).await;
    world.report("m9", cluster("m9", 10)).await;
    assert_eq!(world.settle(&scheduler, WEB).await, "NoClusterFit");
    world
        .patch(
            &CLUSTER,
            "m9",
            json!({"spec": {"taints": null}}),
            Part::Object,
        )
        .await;
    world.expect(WEB, "m9=2 Success").await;
}

#[tokio::test(start_paused = true)]
async fn new_clusters_get_copies_and_leave_divided_workloads_alone() {
    let (world, scheduler) = world_with(10, &by_room()).await;
    world
        .create(&RESOURCE_BINDING, binding("copies", 1, &json!({})))
        .await;
    world.expect(WEB, "m1=1 m2=2 m3=3 m4=4 Success").await;
    world
        .expect("shop/copies", "m1=1 m2=1 m3=1 m4=1 Success")
        .await;
    world.create(&CLUSTER, cluster("m5", 50)).await;
    world.report("m5", cluster("m5", 50)).await;
    world
        .patch(
            &CLUSTER,
            "m5",
            json!({"metadata": {"labels": {"now": "ready"}}}),
            Part::Object,
        )
        .await;
    world
        .expect("shop/copies", "m1=1 m2=1 m3=1 m4=1 m5=1 Success")
        .await;
    assert_eq!(
        world.settle(&scheduler, WEB).await,
        "m1=1 m2=2 m3=3 m4=4 Success"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_to_go_hands_its_replicas_over() {
    let placement = json!({
        "clusterAffinity": {"clusterNames": ["m1", "m2"]},
        "replicaScheduling": by_room()["replicaScheduling"],
    });
    let (world, _) = world_with(6, &placement).await;
    world.expect(WEB, "m1=2 m2=4 Success").await;
    world
        .patch(
            &CLUSTER,
            "m1",
            json!({"metadata": {"finalizers": ["example.com/hold"]}}),
            Part::Object,
        )
        .await;
    let resource = object::ResourceType::from(&CLUSTER);
    world
        .client
        .delete(&resource, &"m1".parse().unwrap(), &Default::default())
        .await
        .unwrap();
    world.expect(WEB, "m2=6 Success").await;
}

/// Deletes a cluster, which goes at once or, held by a finalizer, is about to.
async fn delete_cluster(world: &World, name: &str, is_held: bool) {
    if is_held {
        let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
        world.patch(&CLUSTER, name, hold, Part::Object).await;
    }
    world.delete(&CLUSTER, name).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_goes_is_left_even_if_too_few_stay() {
    let placement = json!({
        "clusterAffinity": {"clusterNames": ["m1", "m2", "m3"]},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
    });
    for is_held in [true, false] {
        let (world, scheduler) = World::with_clusters(Settings::default()).await;
        delete_cluster(&world, "m3", false).await;
        world.settle_clusters().await;
        world
            .create(&RESOURCE_BINDING, binding("web", 3, &placement))
            .await;
        world.expect(WEB, "m1=3 m2=3 Success").await;
        delete_cluster(&world, "m2", is_held).await;
        world.expect(WEB, "m1=3 SchedulerError").await;
        // It is tried again, and says the same as long as the reason is the same.
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(world.settle(&scheduler, WEB).await, "m1=3 SchedulerError");
        let message = world.binding(WEB).await;
        let message = message.at(&["status", "conditions"]).unwrap()[0]["message"].clone();
        let message = message.as_str().unwrap();
        assert!(message.contains("MinGroups (taken off m2: "), "{message}");
        world.create(&CLUSTER, cluster("m3", 10)).await;
        world.report("m3", cluster("m3", 10)).await;
        world.expect(WEB, "m1=3 m3=3 Success").await;
    }
}

#[tokio::test(start_paused = true)]
async fn divided_replicas_leave_what_is_no_cluster_any_more() {
    let placement = json!({
        "clusterAffinity": {"clusterNames": ["m1", "m2"]},
        "replicaScheduling": by_room()["replicaScheduling"],
    });
    let (world, scheduler) = world_with(6, &placement).await;
    world.expect(WEB, "m1=2 m2=4 Success").await;
    let suspend =
        |is_suspended: bool| json!({"spec": {"suspension": {"scheduling": is_suspended}}});
    world
        .patch(&RESOURCE_BINDING, WEB, suspend(true), Part::Object)
        .await;
    world.settle(&scheduler, WEB).await;
    delete_cluster(&world, "m2", false).await;
    assert_eq!(
        world.settle(&scheduler, WEB).await,
        "m1=2 m2=4 Success",
        "it is held back"
    );
    world
        .patch(&RESOURCE_BINDING, WEB, suspend(false), Part::Object)
        .await;
    world.expect(WEB, "m1=6 Success").await;
}

#[tokio::test(start_paused = true)]
async fn replicas_are_divided_anew_for_a_cluster_that_begins_to_serve_the_kind() {
    let weight = |name: &str, weight: u32| json!({"targetCluster": {"clusterNames": [name]}, "weight": weight});
    let fixed = json!({"replicaScheduling": {
        "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"staticWeightList": [weight("m1", 2), weight("m2", 3)]},
    }});
    for strategy in [fixed, by_room()] {
        let mut placement = strategy;
        placement["clusterAffinity"] = json!({"clusterNames": ["m1", "m2"]});
        let (world, scheduler) = World::with_clusters(Settings::default()).await;
        let serve = async |kinds: Value| {
            let status = json!({"status": {"apiEnablements": kinds}});
            world.patch(&CLUSTER, "m2", status, Part::Status).await;
            world.settle_clusters().await;
        };
        serve(Value::Null).await;
        world
            .create(&RESOURCE_BINDING, binding("web", 5, &placement))
            .await;
        world.expect(WEB, "m1=5 Success").await;
        // Other kinds, and more room, are no reason to move anything.
        serve(json!([{"groupVersion": "v1", "resources": [{"kind": "ConfigMap", "name": "configmaps"}]}])).await;
        world.report("m3", cluster("m3", 500)).await;
        assert_eq!(world.settle(&scheduler, WEB).await, "m1=5 Success");
        let all = cluster("m2", 20);
        serve(all.at(&["status", "apiEnablements"]).unwrap().clone()).await;
        world.expect(WEB, "m1=2 m2=3 Success").await;
        world.settle(&scheduler, WEB).await;
        let web = world.binding(WEB).await;
        assert_eq!(web.annotation("karavel.io/clusters-without-kind"), None);
        // What was divided by those who serve the kind is settled.
        serve(Value::Null).await;
        serve(all.at(&["status", "apiEnablements"]).unwrap().clone()).await;
        assert_eq!(world.settle(&scheduler, WEB).await, "m1=2 m2=3 Success");
        assert_eq!(world.binding(WEB).await, web);
    }
}

#[tokio::test(start_paused = true)]
async fn bindings_that_are_held_back_foreign_or_nobodys_are_left_alone() {
    let (world, scheduler) = World::with_clusters(Settings::default()).await;
    let change = |name: &str, changes: Value| {
        let base = binding(name, 1, &json!({})).into_value();
        object(object::patch::merge(&base, &changes))
    };
    for (name, changes) in [
        (
            "held",
            json!({"spec": {"suspension": {"scheduling": true}}}),
        ),
        ("foreign", json!({"spec": {"schedulerName": "other"}})),
        ("nobodys", json!({"metadata": {"labels": null}})),
    ] {
        world.create(&RESOURCE_BINDING, change(name, changes)).await;
        assert_eq!(
            world.settle(&scheduler, &format!("shop/{name}")).await,
            "",
            "{name}"
        );
    }
    world
        .patch(
            &RESOURCE_BINDING,
            "shop/held",
            json!({"spec": {"suspension": {"scheduling": false}}}),
            Part::Object,
        )
        .await;
    world
        .expect("shop/held", "m1=1 m2=1 m3=1 m4=1 Success")
        .await;
}

#[tokio::test(start_paused = true)]
async fn room_is_given_away_once_when_that_is_guarded() {
    let settings = Settings {
        overcommit: Overcommit::Guarded,
        ..Settings::default()
    };
    let (world, scheduler) = World::with_clusters(settings).await;
    let placement = json!({
        "clusterAffinity": {"clusterNames": ["m1"]},
        "replicaScheduling": by_room()["replicaScheduling"],
    });
    // Ten fit; each of the five wants four, and all are decided at once.
    for name in ["a", "b", "c", "d", "e"] {
        world
            .create(&RESOURCE_BINDING, binding(name, 4, &placement))
            .await;
    }
    let mut looks = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        looks.push(world.settle(&scheduler, &format!("shop/{name}")).await);
    }
    looks.sort();
    assert_eq!(
        looks,
        [
            "Unschedulable",
            "Unschedulable",
            "Unschedulable",
            "m1=4 Success",
            "m1=4 Success"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_binding_without_placement_is_not_touched() {
    let (world, scheduler) = World::with_clusters(Settings::default()).await;
    let mut bare = binding("web", 1, &json!({}));
    bare.remove(&["spec", "placement"]);
    world.create(&RESOURCE_BINDING, bare).await;
    assert_eq!(world.settle(&scheduler, WEB).await, "");
    assert_eq!(scheduler.counts().backoff, 1);
    world
        .patch(
            &RESOURCE_BINDING,
            WEB,
            json!({"spec": {"placement": {}}}),
            Part::Object,
        )
        .await;
    world.expect(WEB, "m1=1 m2=1 m3=1 m4=1 Success").await;
    assert_eq!(
        show(&world.binding(WEB).await),
        "m1=1 m2=1 m3=1 m4=1 Success"
    );
}

/// A quota that is used up, while it is.
#[derive(Default)]
struct UsedUp(AtomicBool);

impl Admission for UsedUp {
    fn validate<'a>(
        &'a self,
        _: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let targets = |binding: Option<&'a Value>| binding?.get("spec")?.get("clusters");
        if targets(old) == targets(new) || !self.0.load(Relaxed) {
            return at_once(Ok(Vec::new()));
        }
        let mut status = Status::bad_request("exceeded: cpu would be 3, limit 2.");
        (status.code, status.reason) = (403, "QuotaExceeded".into());
        at_once(Err(status))
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_a_quota_refuses_is_told_and_tried_again() {
    let quota = Arc::new(UsedUp::default());
    let hooks: Vec<Arc<dyn Admission>> = vec![Arc::clone(&quota) as _];
    let (world, scheduler) = World::with_clusters_judged_by(hooks, Settings::default()).await;
    let placement = json!({"clusterAffinity": {"clusterNames": ["m1"]}});
    quota.0.store(true, Relaxed);
    world
        .create(&RESOURCE_BINDING, binding("web", 3, &placement))
        .await;
    world.expect(WEB, "QuotaExceeded").await;
    // Nobody edits anything: it is tried again by itself.
    quota.0.store(false, Relaxed);
    tokio::time::sleep(Duration::from_secs(1000)).await;
    world.expect(WEB, "m1=3 Success").await;
    quota.0.store(true, Relaxed);
    let more = json!({"spec": {"replicas": 9}});
    world
        .patch(&RESOURCE_BINDING, WEB, more, Part::Object)
        .await;
    world.expect(WEB, "m1=3 QuotaExceeded").await;
    // Nobody is told that nine were placed.
    world.settle(&scheduler, WEB).await;
    let records = scheduler
        .recorder()
        .unwrap()
        .last(&WEB.parse().unwrap())
        .await;
    let outcome = &records.first().unwrap().outcome;
    assert!(outcome.starts_with("not taken: "), "{outcome}");
    assert!(
        outcome.ends_with("; it would have been {m1:9}"),
        "{outcome}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_decision_can_be_explained_afterwards() {
    let (world, scheduler) = world_with(10, &by_room()).await;
    world.expect(WEB, "m1=1 m2=2 m3=3 m4=4 Success").await;
    let key = WEB.parse().unwrap();
    let records = scheduler.recorder().unwrap().last(&key).await;
    let [record] = records.as_slice() else {
        panic!("one decision was made: {records:?}")
    };
    assert_eq!(record.outcome, "{m1:1, m2:2, m3:3, m4:4}");
    assert_eq!(record.trigger, "it had no place");
    assert_eq!(record.diagnosis()["strategy"], "DynamicWeight");
}

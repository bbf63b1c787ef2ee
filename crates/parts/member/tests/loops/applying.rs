//! Works in a member, through its troubles.

use std::time::Duration;

use object::ResourceType;
use serde_json::{Value, json};

use crate::world::{World, marked};

fn config_maps() -> ResourceType {
    ResourceType::namespaced("", "v1", "ConfigMap", "configmaps")
}

fn deployments() -> ResourceType {
    ResourceType::namespaced("apps", "v1", "Deployment", "deployments")
}

fn works() -> ResourceType {
    member::resources::of::<::api::work::v1alpha1::Work>()
}

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}, "data": data})
}

/// The namespace of the works for the member.
const SPACE: &str = "karmada-es-m1";
/// How long a change takes at the most.
const PROMPT: Duration = Duration::from_secs(2);

/// Waits until a work says that it was applied, or was not, which takes no longer than it should.
async fn says(world: &World, work: &str, expected: &str) {
    let said = async || world.applied(work).await == expected;
    let what = format!("{work} says {expected}");
    world.within(PROMPT, &what, said).await;
}

/// Waits until the ConfigMap in the member has this data, which takes no longer than it should.
async fn holds(world: &World, what: &str, expected: Value) {
    let held = async || data(world).await == expected;
    world.within(PROMPT, what, held).await;
}

/// Waits until a work is gone.
async fn goes(world: &World, work: &str) {
    let gone = async || world.work(work).await.is_none();
    world.until(&format!("{work} is gone"), gone).await;
}

/// Changes a work.
async fn change(world: &World, work: &str, patch: Value) {
    world.control.patch(&works(), SPACE, work, patch).await;
}

/// What the ConfigMap in the member has.
async fn data(world: &World) -> Value {
    let found = world.in_member(&config_maps(), "c").await;
    found
        .and_then(|found| found.at(&["data"]).cloned())
        .unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_work_is_brought_changed_and_taken_away() {
    let world = World::joined().await;
    world
        .send("w", config_map(&json!({"a": "1", "b": "2"})))
        .await;
    holds(&world, "it is there", json!({"a": "1", "b": "2"})).await;
    says(&world, "w", "True AppliedSuccessful").await;
    let next = marked("w", config_map(&json!({"a": "3"})));
    change(
        &world,
        "w",
        json!({"spec": {"workload": {"manifests": [next]}}}),
    )
    .await;
    holds(&world, "a field left", json!({"a": "3"})).await;
    world.control.delete(&works(), SPACE, "w").await;
    world
        .within(PROMPT, "it is gone", async || {
            world.in_member(&config_maps(), "c").await.is_none()
        })
        .await;
    world
        .within(PROMPT, "and so is the work", async || {
            world.work("w").await.is_none()
        })
        .await;
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_changed_or_deleted_by_hand_comes_back() {
    let world = World::joined().await;
    world.send("w", config_map(&json!({"a": "1"}))).await;
    says(&world, "w", "True AppliedSuccessful").await;
    world
        .member
        .patch(
            &config_maps(),
            "shop",
            "c",
            json!({"data": {"a": "x", "theirs": "y"}}),
        )
        .await;
    holds(
        &world,
        "ours is back, what was added goes",
        json!({"a": "1"}),
    )
    .await;
    world.member.delete(&config_maps(), "shop", "c").await;
    holds(&world, "it is back", json!({"a": "1"})).await;
    says(&world, "w", "True ReCreateSuccessful").await;
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn somebody_elses_object_is_left_alone_until_overwriting_is_asked_for() {
    let world = World::joined().await;
    world
        .member
        .create(
            &config_maps(),
            json!({"metadata": {"name": "c", "namespace": "shop"}, "data": {"theirs": "1"}}),
        )
        .await;
    world.send("w", config_map(&json!({"a": "1"}))).await;
    says(&world, "w", "False AppliedFailed").await;
    assert_eq!(data(&world).await, json!({"theirs": "1"}));
    let message = world.work("w").await.unwrap();
    let message = message.at(&["status", "conditions"]).unwrap().to_string();
    assert!(message.contains("already exists in the cluster m1 and the work.karmada.io/conflict-resolution strategy value is empty"), "{message}");
    world.control.delete(&works(), SPACE, "w").await;
    goes(&world, "w").await;
    assert_eq!(
        data(&world).await,
        json!({"theirs": "1"}),
        "what was never ours stays"
    );
    let mut overwriting = config_map(&json!({"a": "1"}));
    overwriting["metadata"]["annotations"] =
        json!({"work.karmada.io/conflict-resolution": "overwrite"});
    world.send("w2", overwriting).await;
    says(&world, "w2", "True AppliedSuccessful").await;
    assert_eq!(
        data(&world).await,
        json!({"a": "1"}),
        "as if it had been replaced"
    );
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn status_and_health_come_back() {
    let world = World::joined().await;
    let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}},
                 "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    world.send("w", manifest).await;
    says(&world, "w", "True AppliedSuccessful").await;
    let reported = async |field: &str| {
        let work = world.work("w").await.unwrap();
        let statuses = work
            .at(&["status", "manifestStatuses"])
            .cloned()
            .unwrap_or_default();
        statuses[0][field].clone()
    };
    world
        .until("it is not well yet", async || {
            reported("health").await == "Unhealthy"
        })
        .await;
    let generation = world
        .in_member(&deployments(), "web")
        .await
        .unwrap()
        .generation();
    let status = json!({"status": {"replicas": 2, "readyReplicas": 2, "updatedReplicas": 2, "availableReplicas": 2, "observedGeneration": generation}});
    world
        .member
        .patch_part(&deployments(), "shop", "web", status, intent::Part::Status)
        .await;
    world
        .within(PROMPT, "it is well", async || {
            reported("health").await == "Healthy"
        })
        .await;
    assert_eq!(reported("status").await["readyReplicas"], 2);
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_held_back_is_reported_on_but_not_touched() {
    let world = World::joined().await;
    world.send("w", config_map(&json!({"a": "1"}))).await;
    says(&world, "w", "True AppliedSuccessful").await;
    let next = marked("w", config_map(&json!({"a": "2"})));
    let spec = json!({"spec": {"suspendDispatching": true, "workload": {"manifests": [next]}}});
    change(&world, "w", spec).await;
    world
        .until("it says so", async || {
            crate::world::condition(&world.work("w").await.unwrap(), "Dispatching")
                == "False SuspendDispatching"
        })
        .await;
    world.member.delete(&config_maps(), "shop", "c").await;
    world.pass(30).await;
    assert!(world.in_member(&config_maps(), "c").await.is_none());
    change(&world, "w", json!({"spec": {"suspendDispatching": false}})).await;
    holds(&world, "it goes on", json!({"a": "2"})).await;
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_to_be_preserved_stays_without_marks() {
    let world = World::joined().await;
    world.send("w", config_map(&json!({"a": "1"}))).await;
    says(&world, "w", "True AppliedSuccessful").await;
    change(
        &world,
        "w",
        json!({"spec": {"preserveResourcesOnDeletion": true}}),
    )
    .await;
    world.pass(1).await;
    world.control.delete(&works(), SPACE, "w").await;
    goes(&world, "w").await;
    let left = world.in_member(&config_maps(), "c").await.unwrap();
    assert_eq!(
        (
            left.label("karmada.io/managed"),
            left.annotation("work.karmada.io/name")
        ),
        (None, None)
    );
    world.pass(60).await;
    assert!(world.in_member(&config_maps(), "c").await.is_some());
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn works_wait_for_a_member_that_is_cut_off_and_go_on_when_it_is_back() {
    let world = World::joined().await;
    world.member.cut_off();
    world
        .until("it is not ready", async || {
            world.ready().await == "False ClusterNotReachable"
        })
        .await;
    world.send("w", config_map(&json!({"a": "1"}))).await;
    world.pass(300).await;
    assert_eq!(
        world.applied("w").await,
        "-",
        "nothing is said about what was not tried"
    );
    world.member.restore();
    world
        .until("it is there", async || {
            data(&world).await == json!({"a": "1"})
        })
        .await;
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_missing_is_named_and_tried_again() {
    let world = World::joined().await;
    world.send("w", json!({"apiVersion": "x.example/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "shop"}})).await;
    says(&world, "w", "False AppliedFailed").await;
    let work = world.work("w").await.unwrap();
    let message = work.at(&["status", "conditions"]).unwrap().to_string();
    assert!(
        message.contains(r#"no matches for kind \"Thing\" in version \"x.example/v1\""#),
        "{message}"
    );
    world.control.delete(&works(), SPACE, "w").await;
    goes(&world, "w").await;
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_goes_with_its_works_or_without_its_member() {
    let clusters = member::resources::of::<::api::cluster::Cluster>();
    for is_cut_off in [false, true] {
        let world = World::joined().await;
        world.send("w", config_map(&json!({"a": "1"}))).await;
        says(&world, "w", "True AppliedSuccessful").await;
        if is_cut_off {
            world.member.cut_off();
        }
        world.control.delete(&clusters, "", "m1").await;
        // Nobody deletes what is in a namespace here: that is the work of another part.
        world.pass(1).await;
        world.control.delete(&works(), SPACE, "w").await;
        goes(&world, "w").await;
        assert_eq!(
            world.in_member(&config_maps(), "c").await.is_some(),
            is_cut_off
        );
        world.control.let_go("karmada-es-m1").await;
        world
            .until("the cluster is gone", async || {
                world.ready().await == "gone"
            })
            .await;
        world
            .until("nobody faces it", async || world.members.names().is_empty())
            .await;
        world.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn namespaces_go_to_members_before_what_is_in_them() {
    let world = World::joined().await;
    world
        .control
        .create(
            &crate::api::namespaces(),
            json!({"metadata": {"name": "team-a"}}),
        )
        .await;
    world
        .until("it is there", async || {
            world
                .member
                .get(&crate::api::namespaces(), "", "team-a")
                .await
                .is_some()
        })
        .await;
    for skipped in ["karmada-system", "karmada-es-m1"] {
        assert!(
            world
                .member
                .get(&crate::api::namespaces(), "", skipped)
                .await
                .is_none()
        );
    }
    world.end().await;
}

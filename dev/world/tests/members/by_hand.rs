//! Works that somebody writes, and no controller.

use world::{World, json};

use crate::SOON;

/// A work with what somebody would write, and no more.
fn work(value: &str) -> String {
    format!(
        "
        apiVersion: work.karmada.io/v1alpha1
        kind: Work
        metadata: {{name: mine, namespace: karmada-es-m1}}
        spec:
          workload:
            manifests:
            - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: default}}, data: {{value: '{value}'}}}}
        "
    )
}

#[tokio::test(start_paused = true)]
async fn a_work_that_is_written_by_hand_is_brought_changed_and_taken_away() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    let value = async || m1.field("configmaps", "default/a", "data.value").await;
    let says = async |expected: &str| {
        let what = format!("the copy says {expected}");
        world.until_is(&what, SOON, json!(expected), value).await;
    };
    let applied = async || {
        let condition = world.condition("works", "karmada-es-m1/mine", "Applied");
        json!(condition.await)
    };
    world.apply(&work("1")).await;
    says("1").await;
    let success = json!("True AppliedSuccessful");
    world
        .until_is("it is applied", SOON, success.clone(), applied)
        .await;
    world.apply(&work("2")).await;
    says("2").await;
    assert_eq!(applied().await, success);
    // What others do to the copy is undone as with any other.
    m1.patch("configmaps", "default/a", json!({"data": {"value": "3"}}))
        .await;
    says("2").await;
    m1.delete("configmaps", "default/a").await;
    says("2").await;
    let reports = world
        .field(
            "works",
            "karmada-es-m1/mine",
            "status.manifestStatuses.0.identifier.name",
        )
        .await;
    assert_eq!(reports, json!("a"));
    world.delete("works", "karmada-es-m1/mine").await;
    world
        .until("both are gone", SOON, async || {
            value().await.is_null() && world.get("works", "karmada-es-m1/mine").await.is_none()
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_work_that_is_written_by_hand_takes_nothing_from_others() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    m1.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {value: theirs}}")
        .await;
    world.apply(&work("1")).await;
    world
        .until("it is refused", SOON, async || {
            let applied = world.condition("works", "karmada-es-m1/mine", "Applied");
            applied.await == "False AppliedFailed"
        })
        .await;
    world.delete("works", "karmada-es-m1/mine").await;
    world
        .until("the work is gone", SOON, async || {
            world.get("works", "karmada-es-m1/mine").await.is_none()
        })
        .await;
    let left = m1.field("configmaps", "default/a", "data.value").await;
    assert_eq!(left, json!("theirs"));
}

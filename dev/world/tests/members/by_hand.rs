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

/// What the work says of itself, and the member's ConfigMaps of this name, with their values and revisions.
async fn told(world: &World) -> String {
    let conditions = world.field("works", "karmada-es-m1/mine", "status.conditions");
    let conditions = conditions.await;
    let mut conditions = conditions.as_array().into_iter().flatten();
    let applied = conditions.find(|condition| condition["type"] == "Applied");
    let message = applied.and_then(|applied| applied["message"].as_str());
    message.unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn what_a_work_has_twice_is_brought_once() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    let other = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {value: '2'}}";
    let twice = format!("{}            - {other}\n", work("1").trim_end_matches(' '));
    world.apply(&twice).await;
    let revision = async || {
        m1.field("configmaps", "default/a", "metadata.resourceVersion")
            .await
    };
    world
        .until("it is told", SOON, async || !told(&world).await.is_empty())
        .await;
    assert_eq!(
        told(&world).await,
        "Failed to apply all manifests (1/2): spec.workload.manifests[1]: ConfigMap default/a is at spec.workload.manifests[0] already: take one of the two out"
    );
    let value = m1.field("configmaps", "default/a", "data.value").await;
    assert_eq!(value, json!("1"));
    let before = revision().await;
    world
        .stays("nobody writes", SOON, async || revision().await == before)
        .await;
    world.delete("works", "karmada-es-m1/mine").await;
    world
        .until("both are gone", SOON, async || {
            revision().await.is_null() && world.get("works", "karmada-es-m1/mine").await.is_none()
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_anywhere_is_not_brought_and_holds_no_work() {
    for (metadata, why) in [
        (
            "namespace: default",
            "spec.workload.manifests[0].metadata.name: is missing, and a name that the cluster makes up would be another one each time: give it a name",
        ),
        (
            "generateName: a-, namespace: default",
            "spec.workload.manifests[0].metadata.name: is missing, and a name that the cluster makes up would be another one each time: give it a name",
        ),
        (
            "name: a",
            "ConfigMap a has no metadata.namespace, and every ConfigMap is in a namespace: give it one",
        ),
        (
            "name: .., namespace: default",
            "nothing can be called \"..\", as metadata.name of a ConfigMap says",
        ),
        (
            "name: a, namespace: n/m",
            "nothing can be called \"n/m\", as metadata.namespace of a ConfigMap says",
        ),
    ] {
        let world = World::with_members(1).await;
        let m1 = world.member("m1");
        let before = m1.names("configmaps", "").await;
        world
            .apply(&work("1").replace("name: a, namespace: default", metadata))
            .await;
        world
            .until("it is told", SOON, async || !told(&world).await.is_empty())
            .await;
        assert_eq!(
            told(&world).await,
            format!("Failed to apply all manifests (0/1): {why}"),
            "{metadata}"
        );
        world.advance(SOON).await;
        assert_eq!(m1.names("configmaps", "").await, before, "{metadata}");
        world.delete("works", "karmada-es-m1/mine").await;
        world
            .until("it is gone", SOON, async || {
                world.get("works", "karmada-es-m1/mine").await.is_none()
            })
            .await;
    }
}

/// A review is answered and not kept.
#[tokio::test(start_paused = true)]
async fn what_no_cluster_keeps_holds_no_work() {
    let world = World::with_members(1).await;
    let review = "{apiVersion: authorization.k8s.io/v1, kind: SubjectAccessReview, metadata: {name: a}, spec: {user: me, nonResourceAttributes: {path: /, verb: get}}}";
    let ordinary = work("1");
    let (head, _) = ordinary.split_once("- {").unwrap_or_default();
    world.apply(&format!("{head}- {review}\n")).await;
    world
        .until("it is told", SOON, async || !told(&world).await.is_empty())
        .await;
    world.delete("works", "karmada-es-m1/mine").await;
    world
        .until("it is gone", SOON, async || {
            world.get("works", "karmada-es-m1/mine").await.is_none()
        })
        .await;
}

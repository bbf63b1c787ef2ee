//! The whole thread in virtual time: a template and a policy, pods in members, status back.

use std::time::Duration;

use world::{World, json};

const WEB: &str = "
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 6
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: web, image: nginx}]}
    ---
    apiVersion: policy.karmada.io/v1alpha1
    kind: PropagationPolicy
    metadata: {name: web}
    spec:
      resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
      placement:
        replicaScheduling:
          replicaSchedulingType: Divided
          replicaDivisionPreference: Weighted
";
const MINUTE: Duration = Duration::from_secs(60);

/// Waits until the template says that so many pods are ready.
async fn reports_ready(world: &World, pods: u32) {
    let what = format!("{pods} pods are ready");
    let path = "status.readyReplicas";
    let found = async || world.field("deployments", "default/web", path).await;
    world.until_is(&what, MINUTE, pods, found).await;
}

#[tokio::test(start_paused = true)]
async fn a_template_reaches_its_members_and_its_status_comes_back() {
    let world = World::with_members(3).await;
    world.apply(WEB).await;
    reports_ready(&world, 6).await;
    for member in ["m1", "m2", "m3"] {
        let ready =
            world
                .member(member)
                .field("deployments", "default/web", "status.readyReplicas");
        assert_eq!(ready.await, json!(2), "{member}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_control_plane_that_starts_anew_goes_on_where_it_was() {
    let world = World::with_members(2).await;
    world.apply(WEB).await;
    reports_ready(&world, 6).await;
    world.restart().await;
    world.advance(MINUTE).await;
    let before = world.member("m1").get("deployments", "default/web").await;
    world.restart().await;
    world.advance(MINUTE).await;
    let after = world.member("m1").get("deployments", "default/web").await;
    assert_eq!(before, after, "a restart writes nothing to members");
    world
        .patch(
            "deployments",
            "default/web",
            json!({"spec": {"replicas": 8}}),
        )
        .await;
    reports_ready(&world, 8).await;
    world.delete("deployments", "default/web").await;
    world
        .until("nothing is left", MINUTE, async || {
            let pods = world.member("m1").list("pods", "").await;
            let works = world.list("works", "").await;
            let is_ours = |work: &object::Object| {
                work.label("resourcebinding.karmada.io/permanent-id")
                    .is_some()
            };
            pods.is_empty() && !works.iter().any(is_ours)
        })
        .await;
}

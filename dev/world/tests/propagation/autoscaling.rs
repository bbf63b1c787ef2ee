//! Autoscalers of members own the replicas of what they scale, and the template follows.

use controllers::Enabled;
use world::{World, json};

use crate::stage::{Stage, WHILE, all, deployment, divided, policy};

const LABEL: &str = "resourcetemplate.karmada.io/retain-replicas";

fn autoscaler(least: u32) -> String {
    format!(
        "{{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {{name: web, namespace: test}}, spec: {{minReplicas: {least}, maxReplicas: 10, scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}}}}}"
    )
}

/// A Deployment divided evenly between two members, and an autoscaler that goes with it.
async fn stage(replicas: u32, least: u32) -> Stage {
    let list = "*,hpaScaleTargetMarker,deploymentReplicasSyncer";
    let enabled = Enabled::parse(list).unwrap();
    let world = World::build().members(2);
    let stage =
        Stage::build(world.settings(|settings| settings.controllers.enabled = enabled)).await;
    let both = "{apiVersion: apps/v1, kind: Deployment}, {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler}";
    stage
        .apply(&all(&[
            deployment("web", replicas),
            autoscaler(least),
            policy("p", both, &divided(&[("m1", 1), ("m2", 1)])),
        ]))
        .await;
    stage
}

/// Waits until the Deployment has the label with this value.
async fn marked(stage: &Stage, expected: Option<&str>) {
    let template = stage.template("deployments", "test/web");
    stage
        .see("the mark", json!(expected), async || {
            let object = template.found().await;
            json!(object.label(LABEL))
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn members_that_scale_are_followed_and_what_is_written_by_hand_is_taken_back() {
    let stage = stage(4, 2).await;
    let template = stage.template("deployments", "test/web");
    template.shows("status.readyReplicas", 4).await;
    stage.apply(&autoscaler(3)).await;
    for member in ["m1", "m2"] {
        let copy = stage.copy(member, "deployments", "test/web");
        copy.shows("spec.replicas", 3).await;
    }
    template.shows("spec.replicas", 6).await;
    template.patch(json!({"spec": {"replicas": 10}})).await;
    template.shows("spec.replicas", 6).await;
    template.keeps("spec.replicas", 6).await;
}

#[tokio::test(start_paused = true)]
async fn the_mark_goes_with_the_autoscaler_and_stays_where_its_author_put_it() {
    let stage = stage(2, 1).await;
    marked(&stage, Some("true")).await;
    stage.template("hpa", "test/web").delete().await;
    marked(&stage, None).await;
    // The same, where the author has the label in the template.
    let by_hand = deployment("web", 2).replace(
        "namespace: test}",
        "namespace: test, labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}",
    );
    stage.apply(&by_hand).await;
    stage.apply(&autoscaler(1)).await;
    marked(&stage, Some("true")).await;
    stage.copy("m1", "hpa", "test/web").comes().await;
    stage.template("hpa", "test/web").delete().await;
    stage.copy("m1", "hpa", "test/web").goes().await;
    stage.advance(WHILE).await;
    marked(&stage, Some("true")).await;
}

#[tokio::test(start_paused = true)]
async fn a_target_that_comes_after_its_autoscaler_is_marked_too() {
    let stage = stage(2, 1).await;
    stage.template("deployments", "test/web").delete().await;
    stage.template("deployments", "test/web").goes().await;
    stage.apply(&deployment("web", 2)).await;
    marked(&stage, Some("true")).await;
}

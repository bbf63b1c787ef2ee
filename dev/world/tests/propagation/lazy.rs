//! Policies that wait for the author's next edit.

use world::json;

use crate::stage::{DEPLOYMENTS, Stage, WHILE, deployment, on, policy};

#[tokio::test(start_paused = true)]
async fn a09_a_lazy_policy_waits_for_an_edit_of_what_was_there_before_it() {
    let stage = Stage::with(1).await;
    let lazy = policy(
        "p",
        DEPLOYMENTS,
        &format!("activationPreference: Lazy, {}", on("m1")),
    );
    stage.apply(&deployment("web", 1)).await;
    stage.advance(WHILE).await;
    stage.apply(&lazy).await;
    stage.claimed("web", "pp/p").await;
    stage.advance(WHILE).await;
    assert!(stage.get("rb", "test/web-deployment").await.is_none());
    stage
        .patch(
            "deployments",
            "test/web",
            json!({"metadata": {"annotations": {"x": "y"}}}),
        )
        .await;
    stage.there("m1", "deployments", "test/web", true).await;
    // What comes after the policy goes at once.
    stage.apply(&deployment("late", 1)).await;
    stage.there("m1", "deployments", "test/late", true).await;
}

#[tokio::test(start_paused = true)]
async fn a10_an_edit_of_a_lazy_policy_waits_too() {
    let stage = Stage::with(2).await;
    let lazy = |cluster: &str| {
        policy(
            "p",
            DEPLOYMENTS,
            &format!("activationPreference: Lazy, {}", on(cluster)),
        )
    };
    stage.apply(&lazy("m1")).await;
    stage.advance(WHILE).await;
    stage.apply(&deployment("web", 1)).await;
    stage.there("m1", "deployments", "test/web", true).await;
    stage.apply(&lazy("m2")).await;
    stage.advance(WHILE).await;
    assert!(
        stage
            .member("m1")
            .get("deployments", "test/web")
            .await
            .is_some()
    );
    assert!(
        stage
            .member("m2")
            .get("deployments", "test/web")
            .await
            .is_none()
    );
    stage
        .patch("deployments", "test/web", json!({"spec": {"replicas": 2}}))
        .await;
    stage.there("m2", "deployments", "test/web", true).await;
    stage.there("m1", "deployments", "test/web", false).await;
    // Without `Lazy` what is pending happens at once.
    stage.apply(&lazy("m1")).await;
    stage.advance(WHILE).await;
    assert!(
        stage
            .member("m1")
            .get("deployments", "test/web")
            .await
            .is_none()
    );
    stage.apply(&policy("p", DEPLOYMENTS, &on("m1"))).await;
    stage.there("m1", "deployments", "test/web", true).await;
}

#[tokio::test(start_paused = true)]
async fn p30_a_restart_activates_nothing_that_waits() {
    let stage = Stage::with(1).await;
    stage.apply(&deployment("web", 1)).await;
    stage.advance(WHILE).await;
    stage
        .apply(&policy(
            "p",
            DEPLOYMENTS,
            &format!("activationPreference: Lazy, {}", on("m1")),
        ))
        .await;
    stage.claimed("web", "pp/p").await;
    stage.restart().await;
    stage.advance(WHILE).await;
    assert!(stage.get("rb", "test/web-deployment").await.is_none());
}

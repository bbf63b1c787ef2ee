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
    assert!(
        stage
            .template("rb", "test/web-deployment")
            .is_missing()
            .await
    );
    stage
        .template("deployments", "test/web")
        .patch(json!({"metadata": {"annotations": {"x": "y"}}}))
        .await;
    stage.copy("m1", "deployments", "test/web").comes().await;
    // What comes after the policy goes at once.
    stage.apply(&deployment("late", 1)).await;
    stage.copy("m1", "deployments", "test/late").comes().await;
}

#[tokio::test(start_paused = true)]
async fn a10_an_edit_of_a_lazy_policy_waits_too() {
    let stage = Stage::with(2).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    let web_in_m2 = stage.copy("m2", "deployments", "test/web");
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
    web_in_m1.comes().await;
    stage.apply(&lazy("m2")).await;
    stage.advance(WHILE).await;
    assert!(web_in_m1.is_there().await);
    assert!(web_in_m2.is_missing().await);
    stage
        .template("deployments", "test/web")
        .patch(json!({"spec": {"replicas": 2}}))
        .await;
    web_in_m2.comes().await;
    web_in_m1.goes().await;
    // Without `Lazy` what is pending happens at once.
    stage.apply(&lazy("m1")).await;
    stage.advance(WHILE).await;
    assert!(web_in_m1.is_missing().await);
    stage.apply(&policy("p", DEPLOYMENTS, &on("m1"))).await;
    web_in_m1.comes().await;
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
    assert!(
        stage
            .template("rb", "test/web-deployment")
            .is_missing()
            .await
    );
}

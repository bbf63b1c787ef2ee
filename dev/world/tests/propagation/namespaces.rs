//! Namespaces are in every member.

use world::{World, config, json};

use crate::stage::Stage;

#[tokio::test(start_paused = true)]
async fn a34_a_namespace_is_everywhere_unless_it_opts_out() {
    let builder = World::build()
        .members(2)
        .member(config("m3"))
        .stranger()
        .member(config("m4"))
        .stranger();
    let stage = Stage::build(builder).await;
    let shop = |labels: &str| {
        format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: shop, labels: {{{labels}}}}}}}"
        )
    };
    stage.apply(&shop("")).await;
    for member in ["m1", "m2"] {
        stage.there(member, "namespaces", "shop", true).await;
    }
    stage.join("m3").await;
    stage.there("m3", "namespaces", "shop", true).await;
    stage
        .apply(&shop(
            "namespace.karmada.io/skip-auto-propagation: \"True\"",
        ))
        .await;
    stage.join("m4").await;
    stage.there("m4", "namespaces", "test", true).await;
    stage.advance(crate::stage::WHILE).await;
    assert!(stage.member("m4").get("namespaces", "shop").await.is_none());
    assert!(stage.member("m1").get("namespaces", "shop").await.is_some());
    stage
        .apply("{apiVersion: v1, kind: Namespace, metadata: {name: kube-x}}")
        .await;
    stage.delete("namespaces", "shop").await;
    for member in ["m1", "m2", "m3"] {
        stage.there(member, "namespaces", "shop", false).await;
    }
    for name in ["default", "kube-x"] {
        assert!(stage.works_of("Namespace", name).await.is_empty(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a35_a_namespace_is_overridden_for_one_member() {
    let stage = Stage::with(2).await;
    stage
        .apply("{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterOverridePolicy, metadata: {name: mark}, spec: {resourceSelectors: [{apiVersion: v1, kind: Namespace, name: test}], overrideRules: [{targetCluster: {clusterNames: [m1]}, overriders: {labelsOverrider: [{operator: add, value: {only: here}}]}}]}}")
        .await;
    stage
        .has(
            "m1",
            "namespaces",
            "test",
            "metadata.labels.only",
            json!("here"),
        )
        .await;
    stage
        .keeps(
            "m2",
            "namespaces",
            "test",
            "metadata.labels.only",
            json!(null),
        )
        .await;
}

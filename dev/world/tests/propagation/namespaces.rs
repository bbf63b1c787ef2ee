//! Namespaces are in every member.

use std::time::Duration;

use world::{World, config, json};

use crate::stage::{SOON, Stage};

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
        stage.copy(member, "namespaces", "shop").comes().await;
    }
    stage.join("m3").await;
    stage.copy("m3", "namespaces", "shop").comes().await;
    stage
        .apply(&shop(
            "namespace.karmada.io/skip-auto-propagation: \"True\"",
        ))
        .await;
    stage.join("m4").await;
    stage.copy("m4", "namespaces", "test").comes().await;
    stage.advance(crate::stage::WHILE).await;
    assert!(stage.copy("m4", "namespaces", "shop").is_missing().await);
    for member in ["m1", "m2", "m3"] {
        assert!(stage.copy(member, "namespaces", "shop").is_there().await);
    }
    stage
        .apply("{apiVersion: v1, kind: Namespace, metadata: {name: kube-x}}")
        .await;
    stage.template("namespaces", "shop").delete().await;
    for member in ["m1", "m2", "m3"] {
        stage.copy(member, "namespaces", "shop").goes().await;
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
        .copy("m1", "namespaces", "test")
        .shows("metadata.labels.only", "here")
        .await;
    stage
        .copy("m2", "namespaces", "test")
        .keeps("metadata.labels.only", json!(null))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_work_goes_on_its_way_when_its_namespace_arrives() {
    let stage = Stage::with(1).await;
    stage
        .apply("{apiVersion: v1, kind: Namespace, metadata: {name: late, labels: {namespace.karmada.io/skip-auto-propagation: 'true'}}}")
        .await;
    stage
        .apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: late}, data: {a: b}}\n---\n{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p, namespace: late}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}], placement: {clusterAffinity: {clusterNames: [m1]}}}}")
        .await;
    let failed = async || {
        let work = stage.work("ConfigMap", "c", "m1").await;
        work.is_some_and(|work| {
            let conditions = work.at(&["status", "conditions"]).cloned();
            conditions
                .unwrap_or_default()
                .to_string()
                .contains("AppliedFailed")
        })
    };
    stage
        .until("the work says that it failed", SOON, failed)
        .await;
    // So long that the next try is far away.
    stage.advance(Duration::from_secs(300)).await;
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: late}}";
    stage.member("m1").apply(namespace).await;
    let copy = stage.copy("m1", "configmaps", "late/c");
    stage
        .until("it is there", Duration::from_secs(1), async || {
            copy.is_there().await
        })
        .await;
}

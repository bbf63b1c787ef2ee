//! What a server refuses is told, and tried again: what forbids it may go without a word.

use std::time::Duration;

use world::json;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, SOON, Stage, WHILE, config_map, deployment, on, policy,
};

/// A policy that forbids an operation on the objects of a kind which a rule does not allow.
fn forbidding(operation: &str, group: &str, version: &str, plural: &str) -> String {
    format!(
        "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: frozen}}
spec:
  matchConstraints: {{resourceRules: [{{operations: [{operation}], apiGroups: ['{group}'], apiVersions: [{version}], resources: [{plural}]}}]}}
  validations: [{{expression: 'false', message: it is frozen}}]
---
{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {{name: b}}, spec: {{policyName: frozen, validationActions: [Deny]}}}}
"
    )
}

#[tokio::test(start_paused = true)]
async fn what_a_member_does_not_let_go_goes_once_nothing_forbids_it() {
    let stage = Stage::with(1).await;
    let copy = stage.copy("m1", "configmaps", "test/c");
    stage
        .spread(&[config_map("c", "{a: b}")], CONFIG_MAPS, "m1")
        .await;
    copy.comes().await;
    let work = stage.work_of("ConfigMap", "c", "m1").await;
    let m1 = stage.member("m1");
    m1.apply(&forbidding("DELETE", "", "v1", "configmaps"))
        .await;
    stage.advance(WHILE).await;
    stage.template("configmaps", "test/c").delete().await;
    let said = "cannot delete ConfigMap test/c from cluster m1";
    stage.told("Work", &work.name, "SyncFailed", said).await;
    stage
        .told("Work", &work.name, "SyncFailed", "it is frozen")
        .await;
    stage.advance(Duration::from_secs(1_000)).await;
    assert!(copy.is_there().await && work.is_there().await);
    m1.delete("validatingadmissionpolicybindings", "b").await;
    stage
        .until("the copy is gone", SOON * 2, async || {
            copy.is_missing().await && work.is_missing().await
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_member_does_not_take_is_taken_once_nothing_forbids_it() {
    let stage = Stage::with(1).await;
    let copy = stage.copy("m1", "configmaps", "test/c");
    stage
        .spread(&[config_map("c", "{a: b}")], CONFIG_MAPS, "m1")
        .await;
    copy.comes().await;
    let m1 = stage.member("m1");
    m1.apply(&forbidding("UPDATE", "", "v1", "configmaps"))
        .await;
    stage.advance(WHILE).await;
    stage.apply(&config_map("c", "{a: c}")).await;
    let said = "it is frozen";
    stage.told("ConfigMap", "test/c", "SyncFailed", said).await;
    stage.advance(Duration::from_secs(1_000)).await;
    assert_eq!(copy.field("data.a").await, json!("b"));
    m1.delete("validatingadmissionpolicybindings", "b").await;
    stage
        .until("the copy follows", SOON * 2, async || {
            copy.field("data.a").await == json!("c")
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_is_refused_is_told_and_made_once_nothing_forbids_it() {
    let stage = Stage::with(1).await;
    let copy = stage.copy("m1", "configmaps", "test/c");
    stage
        .apply(&forbidding(
            "CREATE",
            "work.karmada.io",
            "v1alpha2",
            "resourcebindings",
        ))
        .await;
    stage.advance(WHILE).await;
    stage
        .spread(&[config_map("c", "{a: b}")], CONFIG_MAPS, "m1")
        .await;
    let said = "it is frozen";
    stage
        .told("ConfigMap", "test/c", "ApplyPolicyFailed", said)
        .await;
    let frozen = stage.template("validatingadmissionpolicybindings", "b");
    frozen.delete().await;
    stage
        .until("the copy comes", SOON * 6, async || copy.is_there().await)
        .await;
}

/// A Deployment with two variables of one name and two ports of one number, which servers store and do not apply.
fn doubled(image: &str, value: &str) -> String {
    let twice = format!(
        "name: web, env: [{{name: A, value: '1'}}, {{name: A, value: '{value}'}}], ports: [{{name: first, containerPort: 80}}, {{name: second, containerPort: 80}}], image:"
    );
    deployment("web", 1)
        .replacen("name: web, image:", &twice, 1)
        .replace("web:v1", image)
}

#[tokio::test(start_paused = true)]
async fn what_a_member_stores_and_cannot_apply_is_brought_to_it_all_the_same() {
    let stage = Stage::with(1).await;
    let web = stage.template("deployments", "test/web");
    let copy = stage.copy("m1", "deployments", "test/web");
    let pod = "spec.template.spec.containers.name=web";
    stage
        .control()
        .try_create(&doubled("web:v1", "2"))
        .await
        .unwrap();
    stage.apply(&policy("p", DEPLOYMENTS, &on("m1"))).await;
    web.shows("status.readyReplicas", 1).await;
    let uid = copy.field("metadata.uid").await;
    let change = |image: &str, value: &str| {
        json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": image,
            "env": [{"name": "A", "value": "1"}, {"name": "A", "value": value}],
            "ports": [{"name": "first", "containerPort": 80}, {"name": "second", "containerPort": 80}]}]}}}})
    };
    for image in ["web:v2", "web:v3"] {
        web.patch(change(image, "3")).await;
        copy.shows(&format!("{pod}.image"), image).await;
    }
    let env = copy.field(&format!("{pod}.env")).await;
    assert_eq!(env[1]["value"], json!("3"), "{env}");
    assert_eq!(copy.field("metadata.uid").await, uid);
    let binding = stage.template("rb", "test/web-deployment");
    binding
        .says("FullyApplied", "True FullyAppliedSuccess")
        .await;
    let failed = stage.events("Deployment", "test/web").await;
    let failed: Vec<_> = failed
        .iter()
        .filter(|event| event.starts_with("SyncFailed"))
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    // What is done to it by hand is undone, and what others own of it stays.
    copy.patch(json!({"metadata": {"labels": {"theirs": "yes"}}, "spec": {"replicas": 7}}))
        .await;
    copy.shows("spec.replicas", 1).await;
    assert_eq!(copy.field("metadata.labels.theirs").await, json!("yes"));
    // After a restart nothing is known of how it was written.
    stage.restart().await;
    stage.advance(WHILE).await;
    web.patch(change("web:v4", "3")).await;
    copy.shows(&format!("{pod}.image"), "web:v4").await;
    // Once it can be applied it is.
    web.patch(
        json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:v5"}]}}}}),
    )
    .await;
    copy.shows(&format!("{pod}.image"), "web:v5").await;
    copy.shows(&format!("{pod}.env"), json!(null)).await;
    assert_eq!(copy.field("metadata.labels.theirs").await, json!("yes"));
}

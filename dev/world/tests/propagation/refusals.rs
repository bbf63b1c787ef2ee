//! What a server refuses is told, and tried again: what forbids it may go without a word.

use std::time::Duration;

use world::json;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, SOON, Stage, WHILE, config_map, deployment, on, policy,
};

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
    m1.forbid("DELETE", "configmaps", "it is frozen").await;
    stage.advance(WHILE).await;
    stage.template("configmaps", "test/c").delete().await;
    let said = "cannot delete ConfigMap test/c from cluster m1";
    stage.told("Work", &work.name, "SyncFailed", said).await;
    stage
        .told("Work", &work.name, "SyncFailed", "it is frozen")
        .await;
    stage.advance(Duration::from_secs(1_000)).await;
    assert!(copy.is_there().await && work.is_there().await);
    m1.allow().await;
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
    m1.forbid("UPDATE", "configmaps", "it is frozen").await;
    stage.advance(WHILE).await;
    stage.apply(&config_map("c", "{a: c}")).await;
    let said = "it is frozen";
    stage.told("ConfigMap", "test/c", "SyncFailed", said).await;
    stage.advance(Duration::from_secs(1_000)).await;
    assert_eq!(copy.field("data.a").await, json!("b"));
    m1.allow().await;
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
    let api = stage.control();
    api.forbid("CREATE", "resourcebindings", "it is frozen")
        .await;
    stage.advance(WHILE).await;
    stage
        .spread(&[config_map("c", "{a: b}")], CONFIG_MAPS, "m1")
        .await;
    let said = "it is frozen";
    stage
        .told("ConfigMap", "test/c", "ApplyPolicyFailed", said)
        .await;
    api.allow().await;
    stage
        .until("the copy comes", SOON * 6, async || copy.is_there().await)
        .await;
}

/// A quota that is full refuses what is to be made, before anybody looks whether it is there.
#[tokio::test(start_paused = true)]
async fn what_is_in_a_member_is_taken_over_although_nothing_may_be_made_there() {
    let stage = Stage::with(1).await;
    let m1 = stage.member("m1");
    let copy = stage.copy("m1", "configmaps", "test/c");
    stage.copy("m1", "namespaces", "test").comes().await;
    m1.apply(&config_map("c", "{theirs: 'yes'}")).await;
    let uid = copy.field("metadata.uid").await;
    m1.forbid("CREATE", "configmaps", "the quota is exceeded")
        .await;
    stage.advance(WHILE).await;
    let spec = |resolution: &str| format!("conflictResolution: {resolution}, {}", on("m1"));
    stage.apply(&config_map("c", "{a: b}")).await;
    stage.apply(&policy("p", CONFIG_MAPS, &spec("Abort"))).await;
    // What is somebody else's is told as such, and not as a quota that is full.
    stage
        .told("ConfigMap", "test/c", "SyncFailed", "already exists")
        .await;
    stage
        .apply(&policy("p", CONFIG_MAPS, &spec("Overwrite")))
        .await;
    copy.shows("data.a", "b").await;
    assert_eq!(copy.field("metadata.uid").await, uid);
    // What is not there is refused as ever.
    stage.apply(&config_map("d", "{a: b}")).await;
    stage
        .told("ConfigMap", "test/d", "SyncFailed", "the quota is exceeded")
        .await;
}

/// Nor does a page of a proxy.
#[tokio::test(start_paused = true)]
async fn a_path_that_is_not_found_does_not_say_that_an_object_is_gone() {
    let stage = Stage::with(1).await;
    let m1 = stage.member("m1");
    let copy = stage.copy("m1", "configmaps", "test/c");
    stage
        .spread(&[config_map("c", "{a: b}")], CONFIG_MAPS, "m1")
        .await;
    copy.comes().await;
    let work = stage.work_of("ConfigMap", "c", "m1").await;
    let path = "/api/v1/namespaces/test/configmaps/c";
    m1.answer_with(path, Some(http::StatusCode::NOT_FOUND));
    stage.template("configmaps", "test/c").delete().await;
    stage.advance(WHILE).await;
    assert!(work.is_there().await && copy.is_there().await);
    m1.answer_with(path, None);
    stage
        .until("both are gone", SOON * 2, async || {
            copy.is_missing().await && work.is_missing().await
        })
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

//! Templates that are deleted while what they made is to stay (`kubectl delete --cascade=orphan`).

use std::time::Duration;

use intent::Propagation;
use object::Value;
use world::json;

use crate::stage::{
    CONFIG_MAPS, Stage, WHILE, all, config_map, deployment, on, one_deployment, policy,
};

/// Deletes a template; what comes of what it made is said.
async fn delete(stage: &Stage, kind: &str, name: &str, propagation: Propagation) {
    let name = format!("test/{name}");
    stage.control().delete_with(kind, &name, propagation).await;
}

/// A member that has the ConfigMap `c` from here, and the uid of its copy.
async fn sent() -> (Stage, Value) {
    let stage = Stage::with(1).await;
    stage
        .spread(&[config_map("c", "{a: b}")], CONFIG_MAPS, "m1")
        .await;
    let copy = stage.copy("m1", "configmaps", "test/c");
    copy.comes().await;
    let uid = copy.field("metadata.uid").await;
    (stage, uid)
}

/// What is left of a ConfigMap: the uid of its copy, and whether its binding and its work are there to stay.
async fn left(stage: &Stage, name: &str) -> (Value, bool, bool) {
    let copy = stage.copy("m1", "configmaps", &format!("test/{name}"));
    let binding = stage.template("rb", &format!("test/{name}-configmap"));
    let binding = binding.get().await;
    let stays = binding.is_some_and(|binding| {
        !binding.is_terminating() && binding.owner_references().next().is_none()
    });
    let work = stage.work("ConfigMap", name, "m1").await;
    let is_kept = work.is_some_and(|work| !work.is_terminating());
    (copy.field("metadata.uid").await, stays, is_kept)
}

#[tokio::test(start_paused = true)]
async fn what_templates_leave_behind_stays_at_whatever_moment_the_control_plane_looks() {
    const NUMBER: usize = 24;
    let stage = Stage::with(1).await;
    stage.apply(&policy("p", CONFIG_MAPS, &on("m1"))).await;
    let name = |number: usize| format!("c{number}");
    let mut uids = Vec::new();
    for number in 0..NUMBER {
        stage.apply(&config_map(&name(number), "{a: b}")).await;
    }
    for number in 0..NUMBER {
        let copy = stage.copy("m1", "configmaps", &format!("test/c{number}"));
        copy.comes().await;
        uids.push(copy.field("metadata.uid").await);
    }
    for number in 0..NUMBER {
        delete(&stage, "configmaps", &name(number), Propagation::Orphan).await;
        // Each at another moment of what comes after: the collector's writes and what is seen of them.
        for _ in 0..number * 4 {
            tokio::task::yield_now().await;
        }
        match number % 4 {
            0 => stage.restart().await,
            1 => stage.advance(Duration::from_millis(3)).await,
            // Whatever wakes the controllers must not wake them to that.
            2 => stage.apply(&policy("p", CONFIG_MAPS, &on("m1"))).await,
            _ => {}
        }
    }
    stage.advance(WHILE).await;
    stage.restart().await;
    stage.advance(WHILE).await;
    for (number, uid) in uids.into_iter().enumerate() {
        let template = stage.template("configmaps", &format!("test/c{number}"));
        assert!(template.is_missing().await, "{template}");
        let found = left(&stage, &name(number)).await;
        assert_eq!(found, (uid, true, true), "{template}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_left_behind_belongs_to_the_next_template_of_the_name() {
    let (stage, uid) = sent().await;
    let copy = stage.copy("m1", "configmaps", "test/c");
    let binding = stage.template("rb", "test/c-configmap");
    let bound = binding.field("metadata.uid").await;
    delete(&stage, "configmaps", "c", Propagation::Orphan).await;
    stage.advance(WHILE).await;
    stage.apply(&config_map("c", "{a: c}")).await;
    copy.shows("data.a", "c").await;
    assert_eq!(copy.field("metadata.uid").await, uid);
    assert_eq!(binding.field("metadata.uid").await, bound);
    // Twice the same, and then for good.
    delete(&stage, "configmaps", "c", Propagation::Orphan).await;
    stage.advance(WHILE).await;
    assert_eq!(left(&stage, "c").await, (uid, true, true));
    stage.apply(&config_map("c", "{a: d}")).await;
    copy.shows("data.a", "d").await;
    delete(&stage, "configmaps", "c", Propagation::Background).await;
    copy.goes().await;
    binding.goes().await;
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_what_a_template_made_waits_once() {
    let (stage, _) = sent().await;
    let copy = stage.copy("m1", "configmaps", "test/c");
    delete(&stage, "configmaps", "c", Propagation::Foreground).await;
    copy.goes().await;
    stage.template("configmaps", "test/c").goes().await;
    stage.advance(WHILE).await;
    assert!(copy.is_missing().await);
    let ends = stage.events("ResourceBinding", "c-configmap").await;
    let ends = ends.iter().filter(|event| event.starts_with("Deleted"));
    assert_eq!(ends.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_others_need_of_something_left_behind_stays_with_them() {
    let stage = Stage::with(1).await;
    let copy = stage.copy("m1", "configmaps", "test/settings");
    let web = deployment("web", 1).replacen(
        "name: web, image:",
        "name: web, envFrom: [{configMapRef: {name: settings}}], image:",
        1,
    );
    let spec = format!("propagateDeps: true, {}", on("m1"));
    stage
        .apply(&all(&[
            config_map("settings", "{a: b}"),
            web,
            policy("p", &one_deployment("web"), &spec),
        ]))
        .await;
    copy.comes().await;
    let uid = copy.field("metadata.uid").await;
    delete(&stage, "configmaps", "settings", Propagation::Orphan).await;
    stage.advance(WHILE).await;
    stage.restart().await;
    stage.advance(WHILE).await;
    assert_eq!(left(&stage, "settings").await, (uid.clone(), true, true));
    // Also where those who need it are left behind themselves.
    delete(&stage, "deployments", "web", Propagation::Orphan).await;
    stage.advance(WHILE).await;
    assert_eq!(left(&stage, "settings").await, (uid.clone(), true, true));
    let web = stage.copy("m1", "deployments", "test/web");
    assert!(web.is_there().await);
    // Another of the name takes it over, as it is from then on.
    stage.apply(&config_map("settings", "{a: c}")).await;
    copy.shows("data.a", "c").await;
    assert_eq!(copy.field("metadata.uid").await, uid);
    let owners = stage.template("rb", "test/settings-configmap");
    let owners = owners.field("metadata.ownerReferences").await;
    assert_eq!(owners[0]["name"], json!("settings"));
}

/// Somebody takes the owner away by hand: the template is there, and takes what is its own with it when it goes.
#[tokio::test(start_paused = true)]
async fn a_binding_that_lost_its_owner_gets_it_back() {
    let (stage, _) = sent().await;
    let copy = stage.copy("m1", "configmaps", "test/c");
    let binding = stage.template("rb", "test/c-configmap");
    let owners = binding.field("metadata.ownerReferences").await;
    let lose = json!({"metadata": {"ownerReferences": null}});
    binding.patch(lose.clone()).await;
    binding
        .shows("metadata.ownerReferences", owners.clone())
        .await;
    // Also when no policy claims the template any more.
    stage
        .template("propagationpolicies", "test/p")
        .delete()
        .await;
    stage.advance(WHILE).await;
    binding.patch(lose).await;
    binding.shows("metadata.ownerReferences", owners).await;
    stage.template("configmaps", "test/c").delete().await;
    copy.goes().await;
    binding.goes().await;
}

//! What goes, what stays, and who says why.

use std::time::Duration;

use member::join::UnjoinOptions;
use world::json;

use crate::spot::Spot;
use crate::stage::{DEPLOYMENTS, SOON, Stage, WHILE, all, customization, deployment, on, policy};

#[tokio::test(start_paused = true)]
async fn a32_and_p18_what_is_to_be_preserved_stays_without_our_marks() {
    let stage = Stage::with(1).await;
    let web = stage.template("deployments", "test/web");
    let lost_in_m1 = stage.copy("m1", "deployments", "test/lost");
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    let spec = format!("preserveResourcesOnDeletion: true, {}", on("m1"));
    stage
        .apply(&all(&[
            deployment("web", 1),
            deployment("lost", 1),
            policy("p", DEPLOYMENTS, &spec),
        ]))
        .await;
    web.shows("status.readyReplicas", 1).await;
    lost_in_m1.comes().await;
    let uid = web_in_m1.field("metadata.uid").await;
    web.delete().await;
    stage
        .until("the work is gone", SOON, async || {
            stage.works_of("Deployment", "web").await.is_empty()
        })
        .await;
    let copy = web_in_m1.found().await;
    assert_eq!(json!(copy.uid()), uid);
    assert_eq!(copy.label("karmada.io/managed"), None);
    let is_ours =
        |key: &&str| key.starts_with("work.karmada.io/") && !key.ends_with("conflict-resolution");
    assert_eq!(copy.labels().into_keys().find(is_ours), None);
    assert_eq!(copy.annotations().into_keys().find(is_ours), None);
    // A copy that is not there holds nothing up.
    stage.member("m1").faults().cut_off(true);
    lost_in_m1.delete().await;
    stage.template("deployments", "test/lost").delete().await;
    stage.member("m1").faults().cut_off(false);
    stage
        .until("the work is gone", SOON * 5, async || {
            stage.works_of("Deployment", "lost").await.is_empty()
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_to_be_preserved_from_the_moment_it_is_left_stays() {
    let stage = Stage::with(2).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    let web_in_m2 = stage.copy("m2", "deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1, m2")
        .await;
    web_in_m1.comes().await;
    web_in_m2.comes().await;
    // Nobody holds the binding to what a policy says, so that both can be said in one breath, as one sees it who looks late.
    stage
        .template("propagationpolicies", "test/p")
        .delete()
        .await;
    stage.claimed("web", "").await;
    let left = json!([{"name": "m1", "replicas": 1}]);
    stage
        .template("rb", "test/web-deployment")
        .patch(json!({"spec": {"clusters": left, "preserveResourcesOnDeletion": true}}))
        .await;
    stage
        .until("the work is gone", SOON, async || {
            stage.work("Deployment", "web", "m2").await.is_none()
        })
        .await;
    assert_eq!(
        web_in_m2.found().await.label("karmada.io/managed"),
        None,
        "the copy is let go of"
    );
}

/// Has the policy say that copies stay, while the binding of `web` cannot follow it.
async fn preserve_without_the_binding(stage: &Stage, clusters: &str) {
    let fails = "function GetReplicas(obj) error('no') end";
    let scripts = [("replicaResource", fails)];
    stage
        .apply(&customization("c", "apps/v1/Deployment", &scripts))
        .await;
    let binding = stage.template("rb", "test/web-deployment");
    binding
        .says("PolicyApplied", "False GetReplicasFailed")
        .await;
    let spec = format!("preserveResourcesOnDeletion: true, {}", on(clusters));
    stage.apply(&policy("p", DEPLOYMENTS, &spec)).await;
    stage.advance(WHILE).await;
    let says = binding.field("spec.preserveResourcesOnDeletion").await;
    assert_ne!(says, json!(true), "the binding does not follow");
}

#[tokio::test(start_paused = true)]
async fn what_a_policy_preserves_stays_where_its_binding_cannot_follow_it() {
    let stage = Stage::with(1).await;
    let web = stage.template("deployments", "test/web");
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
        .await;
    web.shows("status.readyReplicas", 1).await;
    preserve_without_the_binding(&stage, "m1").await;
    web.delete().await;
    stage
        .until("the work is gone", SOON, async || {
            stage.works_of("Deployment", "web").await.is_empty()
        })
        .await;
    assert_eq!(
        web_in_m1.found().await.label("karmada.io/managed"),
        None,
        "the copy is let go of"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_to_be_preserved_stays_in_a_member_that_is_let_go() {
    let stage = Stage::with(2).await;
    let web = stage.template("deployments", "test/web");
    let web_in_m2 = stage.copy("m2", "deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1, m2")
        .await;
    web.shows("status.readyReplicas", 2).await;
    preserve_without_the_binding(&stage, "m1, m2").await;
    stage.unjoin("m2", &UnjoinOptions::new("m2")).await;
    assert_eq!(
        web_in_m2.found().await.label("karmada.io/managed"),
        None,
        "the copy is let go of"
    );
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_let_go_by_force_leaves_no_works_behind() {
    let stage = Stage::with(2).await;
    let web = stage.template("deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1, m2")
        .await;
    web.shows("status.readyReplicas", 2).await;
    // Nobody moves the binding away, and force comes before the cluster is done waiting for that.
    stage
        .template("rb", "test/web-deployment")
        .patch(json!({"spec": {"suspension": {"scheduling": true}}}))
        .await;
    let options = UnjoinOptions {
        wait: Duration::from_secs(2),
        force: true,
        ..UnjoinOptions::new("m2")
    };
    stage.unjoin("m2", &options).await;
    stage.template("namespaces", "karmada-es-m2").goes().await;
    assert_eq!(stage.work("Deployment", "web", "m2").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_work_that_cannot_be_told_stays_and_holds_no_other() {
    let stage = Stage::with(2).await;
    let web = stage.template("deployments", "test/web");
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    let web_in_m2 = stage.copy("m2", "deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1, m2")
        .await;
    web.shows("status.readyReplicas", 2).await;
    let elsewhere = "object.metadata.namespace != 'karmada-es-m1'";
    let api = stage.control();
    api.forbid_unless("UPDATE", "works", elsewhere, "frozen")
        .await;
    let spec = format!("preserveResourcesOnDeletion: true, {}", on("m1, m2"));
    stage.apply(&policy("p", DEPLOYMENTS, &spec)).await;
    let binding = stage.template("rb", "test/web-deployment");
    binding
        .shows("spec.preserveResourcesOnDeletion", true)
        .await;
    web.delete().await;
    stage
        .until("the other work is gone", SOON, async || {
            stage.work("Deployment", "web", "m2").await.is_none()
        })
        .await;
    let is_managed = async |copy: &Spot<'_>| {
        let copy = copy.found().await;
        copy.label("karmada.io/managed").is_some()
    };
    assert!(!is_managed(&web_in_m2).await, "its copy is let go of");
    stage.advance(WHILE).await;
    let work = stage.work("Deployment", "web", "m1").await.unwrap();
    assert!(!work.is_terminating());
    assert!(is_managed(&web_in_m1).await);
    assert!(binding.is_there().await, "it can still be put right");
    api.allow().await;
    binding
        .patch(json!({"metadata": {"annotations": {"look": "again"}}}))
        .await;
    stage
        .until("all of it is gone", SOON, async || {
            stage.works_of("Deployment", "web").await.is_empty() && binding.is_missing().await
        })
        .await;
    assert!(!is_managed(&web_in_m1).await, "its copy is let go of");
}

#[tokio::test(start_paused = true)]
async fn a33_a_cluster_that_leaves_the_policy_loses_its_copy_and_the_event_says_why() {
    let stage = Stage::with(2).await;
    let web_in_m2 = stage.copy("m2", "deployments", "test/web");
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1, m2")
        .await;
    web_in_m2.comes().await;
    web_in_m1.comes().await;
    let kept = web_in_m1.field("metadata.uid").await;
    let work = stage.work("Deployment", "web", "m2").await.unwrap();
    stage.apply(&policy("p", DEPLOYMENTS, &on("m1"))).await;
    web_in_m2.goes().await;
    stage
        .until("the work is gone", SOON, async || {
            stage.work("Deployment", "web", "m2").await.is_none()
        })
        .await;
    web_in_m1.keeps("metadata.uid", kept).await;
    let message = "cluster m2 is not among those of binding test/web-deployment";
    stage
        .told("Work", &work.key().to_string(), "", message)
        .await;
}

#[tokio::test(start_paused = true)]
async fn a36_a_protected_object_is_not_deleted() {
    let stage = Stage::with(1).await;
    let web = stage.template("deployments", "test/web");
    let protected = |value: &str| {
        deployment("web", 1).replacen(
            "namespace: test",
            &format!("namespace: test, labels: {{resourcetemplate.karmada.io/deletion-protected: {value}}}"),
            1,
        )
    };
    stage.apply(&protected("Always")).await;
    let refused = stage
        .try_delete("deployments", "test/web")
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains(
            "This resource is protected, please make sure to remove the label: resourcetemplate.karmada.io/deletion-protected"
        ),
        "{refused}"
    );
    assert_eq!(refused.code(), 403);
    stage.apply(&protected("Never")).await;
    web.delete().await;
    assert!(web.is_missing().await);
    // Our own kinds are protected alike.
    stage.apply(&deployment("other", 1)).await;
    stage
        .apply(&policy("p", DEPLOYMENTS, &on("m1")).replacen(
            "name: p,",
            "name: p, labels: {resourcetemplate.karmada.io/deletion-protected: Always},",
            1,
        ))
        .await;
    assert!(
        stage
            .try_delete("propagationpolicies", "test/p")
            .await
            .is_err()
    );
}

/// A protected object keeps its namespace, and what it made in members stays as long as it does.
#[tokio::test(start_paused = true)]
async fn what_is_protected_keeps_its_copies_when_its_namespace_is_deleted() {
    let stage = Stage::with(2).await;
    let protection = "resourcetemplate.karmada.io/deletion-protected";
    let labels = format!("namespace: test, labels: {{{protection}: Always}}");
    let protected = deployment("web", 1).replacen("namespace: test", &labels, 1);
    // One comes before it by its name, and one after it.
    let templates = [protected, deployment("before", 1), deployment("xtra", 1)];
    stage.spread(&templates, DEPLOYMENTS, "m1, m2").await;
    let web = stage.template("deployments", "test/web");
    let binding = stage.template("rb", "test/web-deployment");
    let copies = ["m1", "m2"].map(|member| stage.copy(member, "deployments", "test/web"));
    web.shows("status.readyReplicas", 2).await;
    let uids = [
        copies[0].field("metadata.uid").await,
        copies[1].field("metadata.uid").await,
    ];
    let refused = stage
        .try_delete("rb", "test/web-deployment")
        .await
        .unwrap_err();
    let why = "the binding of Deployment test/web, which is protected";
    assert!(refused.to_string().contains(why), "{refused}");
    assert_eq!(refused.code(), 403);
    let namespace = stage.template("namespaces", "test");
    namespace.delete().await;
    for name in ["before", "xtra"] {
        let template = format!("test/{name}");
        stage.template("deployments", &template).goes().await;
        let binding = format!("test/{name}-deployment");
        stage.template("rb", &binding).goes().await;
        for member in ["m1", "m2"] {
            stage.copy(member, "deployments", &template).goes().await;
        }
    }
    stage.template("propagationpolicies", "test/p").goes().await;
    stage.restart().await;
    stage.advance(SOON * 2).await;
    assert!(namespace.found().await.is_terminating());
    assert!(!web.found().await.is_terminating());
    assert!(!binding.found().await.is_terminating());
    for (copy, uid) in copies.iter().zip(&uids) {
        copy.keeps("metadata.uid", uid.clone()).await;
        copy.shows("status.readyReplicas", 1).await;
    }
    for member in ["m1", "m2"] {
        let work = stage.work("Deployment", "web", member).await.unwrap();
        assert!(!work.is_terminating());
        let space = stage.copy(member, "namespaces", "test").found().await;
        assert!(!space.is_terminating());
    }
    // Whoever takes the label off lets all of it go.
    web.patch(json!({"metadata": {"labels": {protection: null}}}))
        .await;
    for copy in &copies {
        copy.goes().await;
    }
    web.goes().await;
    binding.goes().await;
    namespace.goes().await;
    for member in ["m1", "m2"] {
        stage.copy(member, "namespaces", "test").goes().await;
    }
}

#[tokio::test(start_paused = true)]
async fn every_deletion_says_why() {
    let stage = Stage::with(1).await;
    let web = stage.template("deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
        .await;
    web.shows("status.readyReplicas", 1).await;
    let work = stage.work_of("Deployment", "web", "m1").await;
    web.delete().await;
    stage.copy("m1", "deployments", "test/web").goes().await;
    stage
        .told(
            "Work",
            &work.name,
            "",
            "its binding test/web-deployment is being deleted",
        )
        .await;
    stage
        .told("ResourceBinding", "test/web-deployment", "", "web")
        .await;
    stage.advance(WHILE).await;
    assert!(
        stage
            .template("rb", "test/web-deployment")
            .is_missing()
            .await
    );
    assert!(stage.works_of("Deployment", "web").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_ordinary_deletion_is_told_once_and_warns_of_nothing() {
    let stage = Stage::with(2).await;
    let web = stage.template("deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1, m2")
        .await;
    web.shows("status.readyReplicas", 2).await;
    web.delete().await;
    for member in ["m1", "m2"] {
        stage.copy(member, "deployments", "test/web").goes().await;
    }
    stage.advance(SOON).await;
    let mut ends: Vec<String> = Vec::new();
    for event in stage.list("events", "").await {
        let text = |path: &[&str]| event.text_at(path).unwrap_or_default().to_owned();
        let about = format!(
            "{} {}/{}",
            text(&["involvedObject", "kind"]),
            text(&["involvedObject", "namespace"]),
            text(&["involvedObject", "name"])
        );
        assert_ne!(
            text(&["type"]),
            "Warning",
            "{about}: {}",
            text(&["message"])
        );
        if text(&["reason"]) == "Deleted" {
            assert_eq!(event.integer_at(&["count"]), Some(1), "{about}");
            ends.push(about);
        }
    }
    ends.sort();
    let all = ends.clone();
    ends.dedup();
    assert_eq!(all, ends, "each object goes once");
    let of = |kind: &str| ends.iter().filter(|end| end.starts_with(kind)).count();
    assert_eq!((of("ResourceBinding "), of("Work ")), (1, 2), "{ends:?}");
}

#[tokio::test(start_paused = true)]
async fn p32_a_cluster_that_is_purged_directly_holds_back_only_where_there_is_no_copy_yet() {
    let stage = Stage::with(3).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    let web_in_m2 = stage.copy("m2", "deployments", "test/web");
    let web_in_m3 = stage.copy("m3", "deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1, m2")
        .await;
    web_in_m1.comes().await;
    web_in_m2.comes().await;
    // The copy in m1 cannot be deleted while the member is away, and is to be gone before there is one in m3.
    stage.member("m1").faults().cut_off(true);
    let task =
        json!({"fromCluster": "m1", "purgeMode": "Directly", "reason": "Test", "producer": "test"});
    let left = json!([{"name": "m2", "replicas": 1}]);
    let moved = json!({"spec": {"clusters": left, "gracefulEvictionTasks": [task]}});
    stage
        .template("rb", "test/web-deployment")
        .patch(moved)
        .await;
    stage.apply(&policy("p", DEPLOYMENTS, &on("m2, m3"))).await;
    stage
        .template("deployments", "test/web")
        .patch(json!({"metadata": {"labels": {"new": "yes"}}}))
        .await;
    web_in_m2.shows("metadata.labels.new", "yes").await;
    stage.advance(WHILE).await;
    assert!(web_in_m3.is_missing().await);
    stage.member("m1").faults().cut_off(false);
    stage
        .until(
            "the copy moves once m1 has lost its own",
            SOON * 5,
            async || web_in_m3.is_there().await,
        )
        .await;
    web_in_m1.goes().await;
}

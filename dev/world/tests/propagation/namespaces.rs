//! Namespaces are in every member.

use std::time::Duration;

use intent::Propagation;
use member::join::{UnjoinOptions, unjoin};
use world::{World, config, json};

use crate::stage::{SOON, Stage, cluster_policy, on};

#[tokio::test(start_paused = true)]
async fn a34_and_c38_a_namespace_is_everywhere_unless_it_opts_out() {
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

const OURS: &str = "karmada.io/managed";
const SHOP: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}";
const NAMESPACES: &str = "{apiVersion: v1, kind: Namespace, name: shop}";

/// Waits until there is a work for `shop` in a cluster that is another than this one and is applied; it is then no
/// binding's, unless `of_binding`.
async fn sent_again(stage: &Stage, cluster: &str, before: &str, of_binding: bool) {
    let what = format!("shop is sent to {cluster} again");
    let is_sent = async || {
        let Some(work) = stage.work("Namespace", "shop", cluster).await else {
            return false;
        };
        let key = work.key().to_string();
        let applied = stage.condition("works", &key, "Applied").await;
        let binding = work.annotation("clusterresourcebinding.karmada.io/name");
        work.uid() != before && applied.starts_with("True") && binding.is_some() == of_binding
    };
    stage.until(&what, SOON, is_sent).await;
}

/// The uid of the work for `shop` in a cluster.
async fn work_uid(stage: &Stage, cluster: &str) -> String {
    let work = stage.work("Namespace", "shop", cluster).await;
    work.map(|work| work.uid().to_owned()).unwrap_or_default()
}

/// What others put into a namespace, and what is to be preserved, would go with it.
#[tokio::test(start_paused = true)]
async fn a_namespace_stays_in_a_member_that_is_let_go_and_is_ours_again_when_it_is_back() {
    let stage = Stage::with(2).await;
    stage.apply(SHOP).await;
    let shop = stage.copy("m2", "namespaces", "shop");
    shop.comes().await;
    let uid = shop.field("metadata.uid").await;
    sent_again(&stage, "m2", "", false).await;
    let theirs = "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: shop}}";
    stage.member("m2").apply(theirs).await;
    let member = stage.member("m2").client();
    let options = UnjoinOptions::new("m2");
    let left = unjoin(stage.client(), Some(member), &options).await;
    let left = left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        left.left_behind,
        [
            "2 namespaces stay in the member with what else is in them, since they are not deleted in the control plane: shop, test"
        ]
    );
    let found = shop.found().await;
    assert_eq!(json!(found.uid()), uid);
    assert!(!found.is_terminating());
    assert_eq!(found.label(OURS), None, "nobody manages it");
    assert_eq!(found.annotation("work.karmada.io/name"), None);
    let theirs = stage.copy("m2", "configmaps", "shop/theirs");
    assert!(theirs.is_there().await);
    stage
        .told(
            "Namespace",
            "shop",
            "NamespaceStays",
            "cluster m2 is being removed",
        )
        .await;

    stage.join("m2").await;
    sent_again(&stage, "m2", "", false).await;
    assert_eq!(shop.found().await.label(OURS), Some("true"));
    assert_eq!(shop.field("metadata.uid").await, uid);
    // What says that it goes is that it is deleted where it was made.
    stage.template("namespaces", "shop").delete().await;
    shop.goes().await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_stays_when_its_cluster_is_deleted_without_a_word() {
    let stage = Stage::with(1).await;
    stage.apply(SHOP).await;
    let shop = stage.copy("m1", "namespaces", "shop");
    shop.comes().await;
    let uid = shop.field("metadata.uid").await;
    stage.template("clusters", "m1").delete().await;
    stage.template("clusters", "m1").goes().await;
    shop.keeps("metadata.uid", uid).await;
    assert!(!shop.found().await.is_terminating());
}

#[tokio::test(start_paused = true)]
async fn the_work_of_a_namespace_that_somebody_deletes_comes_back() {
    let stage = Stage::with(1).await;
    stage.apply(SHOP).await;
    let shop = stage.copy("m1", "namespaces", "shop");
    shop.comes().await;
    let uid = shop.field("metadata.uid").await;
    let before = work_uid(&stage, "m1").await;
    stage
        .work_of("Namespace", "shop", "m1")
        .await
        .delete()
        .await;
    sent_again(&stage, "m1", &before, false).await;
    assert_eq!(shop.field("metadata.uid").await, uid);
    stage
        .told(
            "Namespace",
            "shop",
            "NamespaceStays",
            "was deleted, but it is not deleted in the control plane",
        )
        .await;
    // As before, what is written on it goes there, and it goes when it is deleted.
    let labels = json!({"metadata": {"labels": {"team": "a"}}});
    stage.template("namespaces", "shop").patch(labels).await;
    shop.shows("metadata.labels.team", "a").await;
    stage.template("namespaces", "shop").delete().await;
    shop.goes().await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_a_policy_takes_elsewhere_stays_and_is_sent_as_before() {
    let stage = Stage::with(2).await;
    stage.apply(SHOP).await;
    let copies = ["m1", "m2"].map(|member| stage.copy(member, "namespaces", "shop"));
    let mut uids = Vec::new();
    for copy in &copies {
        copy.comes().await;
        uids.push(copy.field("metadata.uid").await);
    }
    let policy = |clusters: &str| cluster_policy("p", NAMESPACES, &on(clusters));
    stage.apply(&policy("m1, m2")).await;
    sent_again(&stage, "m2", "", true).await;
    let before = work_uid(&stage, "m2").await;
    stage.apply(&policy("m1")).await;
    sent_again(&stage, "m2", &before, false).await;
    // With its binding, too.
    let before = work_uid(&stage, "m1").await;
    stage
        .template("clusterpropagationpolicies", "p")
        .delete()
        .await;
    let binding = stage.template("clusterresourcebindings", "shop-namespace");
    binding.delete().await;
    sent_again(&stage, "m1", &before, false).await;
    binding.goes().await;
    for (copy, uid) in copies.iter().zip(uids) {
        copy.keeps("metadata.uid", uid).await;
        assert!(!copy.found().await.is_terminating());
    }
    stage.template("namespaces", "shop").delete().await;
    for copy in &copies {
        copy.goes().await;
    }
}

/// A namespace that goes only where a policy says so is let go of where the policy no longer does, and taken up again.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_opted_out_stays_without_marks_where_its_policy_leaves() {
    let stage = Stage::with(2).await;
    stage
        .apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {namespace.karmada.io/skip-auto-propagation: 'true'}}}")
        .await;
    let policy = |clusters: &str| cluster_policy("p", NAMESPACES, &on(clusters));
    stage.apply(&policy("m1, m2")).await;
    let shop = stage.copy("m2", "namespaces", "shop");
    shop.comes().await;
    let uid = shop.field("metadata.uid").await;
    sent_again(&stage, "m2", "", true).await;
    let before = work_uid(&stage, "m2").await;
    stage.apply(&policy("m1")).await;
    stage
        .until("it is let go of", SOON, async || {
            let is_sent = stage.work("Namespace", "shop", "m2").await.is_some();
            !is_sent && shop.found().await.label(OURS).is_none()
        })
        .await;
    stage.apply(&policy("m1, m2")).await;
    sent_again(&stage, "m2", &before, true).await;
    assert_eq!(shop.field("metadata.uid").await, uid);
    assert_eq!(shop.found().await.label(OURS), Some("true"));
    stage.template("namespaces", "shop").delete().await;
    shop.goes().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_does_not_take_a_namespace_is_told_on_it() {
    let stage = Stage::with(2).await;
    stage.member("m2").apply(SHOP).await;
    stage.apply(SHOP).await;
    stage
        .told(
            "Namespace",
            "shop",
            "SyncFailed",
            "cannot apply Namespace shop to cluster m2: ",
        )
        .await;
    stage
        .told(
            "Namespace",
            "shop",
            "SyncSucceed",
            "applied Namespace shop to cluster m1",
        )
        .await;
    // It is somebody else's, and nothing of what happens here changes that.
    stage.unjoin("m2", &UnjoinOptions::new("m2")).await;
    stage.template("namespaces", "shop").delete().await;
    stage.copy("m1", "namespaces", "shop").goes().await;
    assert!(stage.copy("m2", "namespaces", "shop").is_there().await);
}

/// A work goes while its namespace is there, and then the namespace goes: nobody is left who would say so to the member.
#[tokio::test(start_paused = true)]
async fn a_namespace_is_deleted_in_members_at_whatever_moment_its_work_went() {
    const NUMBER: usize = 32;
    let stage = Stage::with(1).await;
    let name = |number: usize| format!("shop{number}");
    for number in 0..NUMBER {
        stage.apply(&SHOP.replace("shop", &name(number))).await;
    }
    for number in 0..NUMBER {
        let copy = stage.copy("m1", "namespaces", &name(number));
        copy.comes().await;
    }
    for number in 0..NUMBER {
        let name = name(number);
        let work = stage.work_of("Namespace", &name, "m1").await;
        work.delete().await;
        for _ in 0..number * 3 {
            tokio::task::yield_now().await;
        }
        stage.template("namespaces", &name).delete().await;
        if number % 8 == 7 {
            stage.restart().await;
        }
    }
    for number in 0..NUMBER {
        let name = name(number);
        stage.template("namespaces", &name).goes().await;
        stage.copy("m1", "namespaces", &name).goes().await;
    }
}

/// The same, where the namespace takes its time.
#[tokio::test(start_paused = true)]
async fn a_work_that_is_missing_is_made_for_a_namespace_that_goes_and_brings_nothing() {
    let stage = Stage::with(2).await;
    stage.apply(SHOP).await;
    let [copy, other] = ["m1", "m2"].map(|member| stage.copy(member, "namespaces", "shop"));
    copy.comes().await;
    other.comes().await;
    let slow = "{apiVersion: v1, kind: ConfigMap, metadata: {name: slow, namespace: shop, finalizers: [example.com/slow]}}";
    stage.apply(slow).await;
    let shop = stage.template("namespaces", "shop");
    shop.delete().await;
    // Past the finalizer: whoever made the work go did not wait for what it brought.
    let free = json!({"metadata": {"finalizers": null}});
    let before = work_uid(&stage, "m1").await;
    for member in ["m1", "m2"] {
        let work = stage.work_of("Namespace", "shop", member).await;
        work.patch(free.clone()).await;
        work.delete().await;
    }
    // In one of them it is not there any more, and does not come back.
    stage.member("m2").delete("namespaces", "shop").await;
    other.goes().await;
    stage
        .until("there is another work", SOON, async || {
            let now = work_uid(&stage, "m1").await;
            !now.is_empty() && now != before
        })
        .await;
    stage.advance(crate::stage::WHILE).await;
    assert!(shop.is_there().await && copy.is_there().await && other.is_missing().await);
    stage.template("configmaps", "shop/slow").patch(free).await;
    shop.goes().await;
    copy.goes().await;
    stage
        .until("nothing is left to do", SOON, async || {
            stage.works_of("Namespace", "shop").await.is_empty()
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_work_of_a_namespace_that_lost_its_owner_gets_it_back() {
    let stage = Stage::with(1).await;
    stage.apply(SHOP).await;
    let copy = stage.copy("m1", "namespaces", "shop");
    copy.comes().await;
    let work = stage.work_of("Namespace", "shop", "m1").await;
    let owners = work.field("metadata.ownerReferences").await;
    assert!(owners.is_array(), "{owners}");
    work.patch(json!({"metadata": {"ownerReferences": null}}))
        .await;
    work.shows("metadata.ownerReferences", owners).await;
    stage.template("namespaces", "shop").delete().await;
    copy.goes().await;
    // One that leaves everything behind does so, and the next of the name takes it up.
    stage.apply(SHOP).await;
    copy.comes().await;
    let uid = copy.field("metadata.uid").await;
    let api = stage.control();
    api.delete_with("namespaces", "shop", Propagation::Orphan)
        .await;
    stage.template("namespaces", "shop").goes().await;
    copy.keeps("metadata.uid", uid.clone()).await;
    stage.restart().await;
    copy.keeps("metadata.uid", uid.clone()).await;
    stage.apply(SHOP).await;
    let work = stage.work_of("Namespace", "shop", "m1").await;
    stage
        .until("it has an owner again", SOON, async || {
            work.field("metadata.ownerReferences").await.is_array()
        })
        .await;
    assert_eq!(copy.field("metadata.uid").await, uid);
    stage.template("namespaces", "shop").delete().await;
    copy.goes().await;
}

/// Nobody but a policy sends it, so that nobody takes it up again when the policy leaves.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_skipped_stays_without_marks_where_its_policy_leaves() {
    let stage = Stage::with(2).await;
    stage.apply(&SHOP.replace("shop", "kube-shop")).await;
    let selector = NAMESPACES.replace("shop", "kube-shop");
    let policy = |clusters: &str| cluster_policy("p", &selector, &on(clusters));
    stage.apply(&policy("m1, m2")).await;
    let copy = stage.copy("m2", "namespaces", "kube-shop");
    copy.comes().await;
    let uid = copy.field("metadata.uid").await;
    stage.apply(&policy("m1")).await;
    stage
        .until("it is let go of", SOON, async || {
            let is_sent = stage.work("Namespace", "kube-shop", "m2").await.is_some();
            !is_sent && copy.found().await.label(OURS).is_none()
        })
        .await;
    copy.keeps("metadata.uid", uid).await;
}

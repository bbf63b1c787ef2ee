//! Whatever goes that nobody deleted by hand has said why.

use std::collections::{BTreeMap, BTreeSet};

use client::ListOptions;
use member::join::UnjoinOptions;
use object::Object;
use world::{World, json};

use crate::stage::{
    CONFIG_MAPS, SOON, Stage, all, cluster_policy, config_map, deployment, on, one_deployment,
    policy,
};

/// What comes and goes by itself, or tells of others.
const PASSING: [&str; 2] = ["Event", "Lease"];

/// Everything that is in the control plane, by uid.
async fn everything(world: &World) -> BTreeMap<String, Object> {
    let served = world.client().discover().await.unwrap();
    let mut all = BTreeMap::new();
    for found in served.resources {
        let is_listed = found.verbs.iter().any(|verb| verb == "list");
        let kind = found.resource.kind.kind.clone();
        if !is_listed || PASSING.contains(&kind.as_str()) {
            continue;
        }
        let everywhere = ListOptions::default();
        let listed = world.client().list_all(&found.resource, "", &everywhere);
        for mut object in listed.await.unwrap().items {
            object.set(&["kind"], kind.as_str()).unwrap();
            all.insert(object.uid().to_owned(), object);
        }
    }
    all
}

/// Lets something happen; what went that `by_hand` does not name, each of which has said why.
async fn gone(stage: &Stage, by_hand: &[&str], happens: impl AsyncFnOnce()) -> Vec<String> {
    let before = everything(stage).await;
    happens().await;
    let mut causes: BTreeMap<String, String> = BTreeMap::new();
    for _ in 0..60 {
        stage.advance(SOON / 60).await;
        // What is said in a namespace goes with it.
        for event in stage.list("events", "").await {
            let text = |path: &[&str]| event.text_at(path).unwrap_or_default().to_owned();
            if text(&["reason"]) == "Deleted" {
                causes.insert(text(&["involvedObject", "uid"]), text(&["message"]));
            }
        }
    }
    let after = everything(stage).await;
    let is_gone = |uid: &String| !after.contains_key(uid);
    let spaces: BTreeSet<&str> = before
        .iter()
        .filter(|(uid, object)| object.kind() == "Namespace" && is_gone(uid))
        .map(|(_, object)| object.name())
        .collect();
    let mut told = Vec::new();
    for (uid, object) in before.iter().filter(|(uid, _)| is_gone(uid)) {
        let name = format!("{} {}", object.kind(), object.key());
        let said = causes.get(uid).map_or("", String::as_str);
        let goes_with_its_namespace = said.is_empty() && spaces.contains(object.namespace());
        if !by_hand.contains(&name.as_str()) && !goes_with_its_namespace {
            assert!(!said.is_empty(), "{name} went without a word");
            told.push(name);
        }
    }
    told.sort();
    told
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_says_why() {
    let stage = Stage::with(2).await;
    let web = deployment("web", 1).replacen(
        "name: web, image:",
        "name: web, envFrom: [{configMapRef: {name: settings}}], image:",
        1,
    );
    let along = format!("propagateDeps: true, {}", on("m1, m2"));
    let roles = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: readers}";
    stage
        .apply(&all(&[
            config_map("settings", "{a: b}"),
            config_map("plain", "{a: b}"),
            web,
            deployment("idle", 1),
            "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}".to_owned(),
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: readers}, rules: []}".to_owned(),
            "{apiVersion: policy.karmada.io/v1alpha1, kind: FederatedResourceQuota, metadata: {name: q, namespace: test}, spec: {overall: {pods: '10'}, staticAssignments: [{clusterName: m1, hard: {pods: '4'}}]}}".to_owned(),
            "{apiVersion: apps.karmada.io/v1alpha1, kind: WorkloadRebalancer, metadata: {name: anew}, spec: {workloads: [{apiVersion: apps/v1, kind: Deployment, namespace: test, name: web}]}}".to_owned(),
            policy("web", &one_deployment("web"), &along),
            policy("idle", &one_deployment("idle"), &on("m1, m2")),
            policy("maps", &CONFIG_MAPS.replace('}', ", name: plain}"), &on("m1")),
            cluster_policy("roles", roles, &on("m1, m2")),
        ]))
        .await;
    stage
        .copy("m2", "configmaps", "test/settings")
        .comes()
        .await;
    stage.copy("m2", "clusterroles", "readers").comes().await;
    stage.copy("m1", "resourcequotas", "test/q").comes().await;
    stage.copy("m1", "configmaps", "test/plain").comes().await;
    stage.advance(SOON).await;
    let mut story: Vec<String> = Vec::new();
    let mut note = |what: &str, told: Vec<String>| {
        story.push(format!("{what}:"));
        story.extend(told.into_iter().map(|line| format!("  {line}")));
    };
    let told = gone(&stage, &["ConfigMap test/plain"], async || {
        stage.template("configmaps", "test/plain").delete().await;
    });
    note("a template is deleted", told.await);
    let told = gone(&stage, &[], async || {
        stage
            .apply(&policy("idle", &one_deployment("idle"), &on("m1")))
            .await;
    });
    note("a cluster is left", told.await);
    let told = gone(&stage, &[], async || {
        let plain = json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "i"}]}}}});
        stage.template("deployments", "test/web").patch(plain).await;
    });
    note("nothing refers to it any more", told.await);
    let told = gone(&stage, &[], async || {
        stage
            .template("federatedresourcequotas", "test/q")
            .patch(json!({"spec": {"staticAssignments": []}}))
            .await;
    });
    note("a share of a quota is taken back", told.await);
    let told = gone(&stage, &[], async || {
        stage
            .template("workloadrebalancers", "anew")
            .patch(json!({"spec": {"ttlSecondsAfterFinished": 0}}))
            .await;
    });
    note("a rebalancer is done", told.await);
    let told = gone(&stage, &["Namespace shop"], async || {
        stage.template("namespaces", "shop").delete().await;
    });
    note("a namespace is deleted", told.await);
    let told = gone(&stage, &["Cluster m2"], async || {
        stage.unjoin("m2", &UnjoinOptions::new("m2")).await;
    });
    note("a cluster leaves", told.await);
    insta::assert_snapshot!(story.join("\n"), @"
    a template is deleted:
      ResourceBinding test/plain-configmap
      Work karmada-es-m1/plain-6c9c5896b5
    a cluster is left:
      Work karmada-es-m2/idle-5cff956f8
    nothing refers to it any more:
      Work karmada-es-m1/settings-7b5d6bcb44
      Work karmada-es-m2/settings-7b5d6bcb44
    a share of a quota is taken back:
      Work karmada-es-m1/q-75fbcf794b
    a rebalancer is done:
      WorkloadRebalancer anew
    a namespace is deleted:
      Work karmada-es-m1/shop-55c4c4674c
      Work karmada-es-m2/shop-55c4c4674c
    a cluster leaves:
      Namespace karmada-es-m2
      Secret karmada-cluster/m2
      Secret karmada-cluster/m2-impersonator
    ");
}

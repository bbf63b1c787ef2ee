//! Kinds that come late, in several versions, or that need more than their neighbours.

use world::json;

use crate::stage::{SOON, Stage, WHILE, all, cluster_policy, deployment, on, policy};

/// A definition of `Gadget` that is served in two versions and stored in the second.
const GADGETS: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.acme.io}, spec: {group: acme.io, scope: Namespaced, names: {plural: gadgets, singular: gadget, kind: Gadget}, versions: [{name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}, {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}";

const GADGET: &str =
    "{apiVersion: acme.io/v1, kind: Gadget, metadata: {name: g, namespace: test}, spec: {size: 3}}";

#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_after_its_policy_is_propagated_in_any_version_the_policy_names() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            cluster_policy(
                "definitions",
                "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}",
                &on("m1"),
            ),
            policy(
                "p",
                "{apiVersion: acme.io/v1beta1, kind: Gadget}",
                &on("m1"),
            ),
        ]))
        .await;
    stage.advance(WHILE).await;
    stage.apply(GADGETS).await;
    stage
        .copy("m1", "customresourcedefinitions", "gadgets.acme.io")
        .comes()
        .await;
    stage.advance(WHILE).await;
    stage.apply(GADGET).await;
    stage
        .until("the object is in the member", SOON * 2, async || {
            let size = stage.member("m1").field("gadgets", "test/g", "spec.size");
            size.await == json!(3)
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_has_observed_its_generation_like_any_other() {
    let stage = Stage::with(2).await;
    let db = stage.template("statefulsets", "test/db");
    let set = |replicas: u32| {
        format!(
            "{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: db, namespace: test}}, spec: {{serviceName: db, replicas: {replicas}, selector: {{matchLabels: {{app: db}}}}, template: {{metadata: {{labels: {{app: db}}}}, spec: {{containers: [{{name: db, image: i}}]}}}}}}}}"
        )
    };
    stage
        .spread(
            &[set(1)],
            "{apiVersion: apps/v1, kind: StatefulSet}",
            "m1, m2",
        )
        .await;
    for replicas in [1, 2] {
        stage.apply(&set(replicas)).await;
        db.shows("status.readyReplicas", json!(replicas * 2)).await;
        stage
            .until("its generation is observed", SOON, async || {
                let set = db.found().await;
                set.integer_at(&["status", "observedGeneration"]) == Some(set.generation())
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_silent_member_said_last_is_marked_until_it_speaks_again() {
    let stage = Stage::with(2).await;
    stage
        .spread(&[deployment("web", 1)], crate::stage::DEPLOYMENTS, "m1, m2")
        .await;
    let item = |field: &str| format!("status.aggregatedStatus.clusterName=m2.{field}");
    let binding = "test/web-deployment";
    stage
        .template("rb", binding)
        .shows(&item("health"), "Healthy")
        .await;
    stage.member("m2").faults().cut_off(true);
    stage
        .until_is(
            "its health is unknown",
            SOON * 5,
            json!("Unknown"),
            async || stage.template("rb", binding).field(&item("health")).await,
        )
        .await;
    // What it said stays, with a word that it is old.
    assert_eq!(
        stage
            .template("rb", binding)
            .field(&item("status.readyReplicas"))
            .await,
        json!(1)
    );
    let told = stage
        .template("rb", binding)
        .field(&item("appliedMessage"))
        .await;
    assert!(
        told.as_str()
            .is_some_and(|text| text.contains("does not answer")),
        "{told}"
    );
    stage.member("m2").faults().cut_off(false);
    stage
        .until_is(
            "it is healthy again",
            SOON * 5,
            json!("Healthy"),
            async || stage.template("rb", binding).field(&item("health")).await,
        )
        .await;
}

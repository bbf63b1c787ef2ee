//! Names that templates may have and what is made for them may not.

use object::Value;
use world::json;

use crate::stage::{CONFIG_MAPS, Stage, WHILE, all, cluster_policy, config_map, on, policy};

fn role(name: &str) -> String {
    format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: '{name}'}}, rules: []}}"
    )
}

fn roles() -> String {
    cluster_policy(
        "roles",
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, labelSelector: {matchExpressions: [{key: kubernetes.io/bootstrapping, operator: DoesNotExist}]}}",
        &on("m1"),
    )
}

#[tokio::test(start_paused = true)]
async fn what_becomes_of_a_template_is_told_whatever_its_name() {
    let stage = Stage::with(1).await;
    stage.apply(&all(&[role("acme:Reader_1"), roles()])).await;
    // Its binding would have a name that none can have.
    let said = "the template's binding would be named \"acme.reader_1-clusterrole\"";
    stage
        .told("ClusterRole", "acme:Reader_1", "ApplyPolicyFailed", said)
        .await;
    stage.apply(&role("acme:reader")).await;
    stage
        .copy("m1", "clusterroles", "acme:reader")
        .comes()
        .await;
    for (reason, text) in [("ApplyPolicySucceed", "roles"), ("SyncSucceed", "m1")] {
        stage.told("ClusterRole", "acme:reader", reason, text).await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_templates_that_share_a_binding_one_has_it_and_the_others_say_whose_it_is() {
    let stage = Stage::with(1).await;
    let binding = stage.template("crb", "a.b-clusterrole");
    stage.apply(&all(&[role("a:b"), roles()])).await;
    stage.copy("m1", "clusterroles", "a:b").comes().await;
    stage.apply(&all(&[role("a.b"), role("A.b")])).await;
    for name in ["a.b", "A.b"] {
        let whose = "it is that of ClusterRole a:b";
        stage
            .told("ClusterRole", name, "ApplyPolicyFailed", whose)
            .await;
    }
    stage.advance(WHILE).await;
    assert_eq!(binding.field("spec.resource.name").await, json!("a:b"));
    // When it goes, one of those has it that waited.
    stage.template("clusterroles", "a:b").delete().await;
    stage.copy("m1", "clusterroles", "a:b").goes().await;
    let copies = ["a.b", "A.b"].map(|name| stage.copy("m1", "clusterroles", name));
    let what = "one of those that waited is in the member";
    stage
        .until(what, crate::stage::SOON, async || {
            copies[0].is_there().await || copies[1].is_there().await
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_name_too_long_for_what_is_made_of_it_is_told_and_nothing_is_half_done() {
    let stage = Stage::with(1).await;
    let (long, fitting) = ("x".repeat(253), "x".repeat(242));
    stage
        .apply(&all(&[
            config_map(&long, "{a: b}"),
            config_map(&fitting, "{a: b}"),
            policy("p", CONFIG_MAPS, &on("m1")),
        ]))
        .await;
    let said = "must be no more than 253";
    stage
        .told("ConfigMap", &long, "ApplyPolicyFailed", said)
        .await;
    let name = format!("test/{fitting}");
    stage.copy("m1", "configmaps", &name).comes().await;
    let template = stage.template("configmaps", &format!("test/{long}"));
    for field in ["metadata.labels", "metadata.annotations"] {
        assert_eq!(template.field(field).await, Value::Null, "{field}");
    }
}

//! What users get wrong is told where they look, and hurts nobody else.

use world::json;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, SOON, Stage, all, config_map, deployment, on, one_deployment,
    overriding, policy,
};

#[tokio::test(start_paused = true)]
async fn a_policy_that_names_a_kind_nobody_serves_says_so() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy(
                "p",
                &format!("{{apiVersion: acme.io/v1, kind: Gadget}}, {DEPLOYMENTS}"),
                &on("m1"),
            ),
        ]))
        .await;
    stage
        .shows("deployments", "test/web", "status.readyReplicas", json!(1))
        .await;
    stage
        .told(
            "PropagationPolicy",
            "test/p",
            "SelectorMatchesNothing",
            "spec.resourceSelectors[0]: no kind Gadget is served in acme.io",
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_override_path_that_does_not_exist_is_told_with_policy_rule_and_path() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            overriding(
                "op",
                &one_deployment("bad"),
                "",
                "{plaintext: [{path: /spec/nothing/here, operator: replace, value: 1}]}",
            ),
            deployment("bad", 1),
            deployment("good", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage
        .shows("deployments", "test/good", "status.readyReplicas", json!(1))
        .await;
    for (kind, name) in [
        ("Deployment", "test/bad"),
        ("ResourceBinding", "test/bad-deployment"),
        ("OverridePolicy", "test/op"),
    ] {
        for text in ["test/op", "m1", "/spec/nothing/here", "overrideRules[0]"] {
            stage
                .told(kind, name, "ApplyOverridePolicyFailed", text)
                .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_template_that_a_member_refuses_is_told_on_template_binding_and_work() {
    let stage = Stage::with(2).await;
    // A number where the member wants a text: an override is not looked at before it is there.
    stage
        .apply(&all(&[
            overriding(
                "op",
                "{apiVersion: v1, kind: ConfigMap, name: bad}",
                "m1",
                "{plaintext: [{path: /data/n, operator: add, value: 5}]}",
            ),
            config_map("bad", "{a: b}"),
            config_map("good", "{a: b}"),
            policy("p", CONFIG_MAPS, &on("m1, m2")),
        ]))
        .await;
    stage.there("m2", "configmaps", "test/bad", true).await;
    stage.there("m2", "configmaps", "test/good", true).await;
    let told = "status.aggregatedStatus.clusterName=m1.appliedMessage";
    stage
        .until(
            "the binding says which member refuses, and why",
            SOON,
            async || {
                let message = stage.field("rb", "test/bad-configmap", told).await;
                message.as_str().is_some_and(|text| text.contains("data"))
            },
        )
        .await;
    stage
        .told("ConfigMap", "test/bad", "SyncFailed", "data")
        .await;
    assert_eq!(
        stage
            .condition("rb", "test/bad-configmap", "FullyApplied")
            .await,
        "False FullyAppliedFailed"
    );
    let work = stage
        .work("ConfigMap", "bad", "m1")
        .await
        .unwrap()
        .key()
        .to_string();
    assert_eq!(
        stage.condition("works", &work, "Applied").await,
        "False AppliedFailed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_script_that_does_not_compile_is_refused_with_its_operation() {
    let stage = Stage::with(1).await;
    let refused = stage
        .try_apply("{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterCustomization, metadata: {name: bad}, spec: {target: {apiVersion: apps/v1, kind: Deployment}, customizations: {healthInterpretation: {luaScript: 'function InterpretHealth(o) retrun true end'}}}}")
        .await;
    match refused {
        Err(error) => assert!(
            error.to_string().contains("healthInterpretation"),
            "{error}"
        ),
        // Admission may not have the compiler at hand; then the object says so.
        Ok(()) => {
            stage
                .told(
                    "ResourceInterpreterCustomization",
                    "bad",
                    "InterpreterRuleUnusable",
                    "InterpretHealth",
                )
                .await;
        }
    }
}

//! What users get wrong is told where they look, and hurts nobody else.

use world::json;

use crate::stage::{DEPLOYMENTS, Stage, all, deployment, on, one_deployment, overriding, policy};

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
    ] {
        for text in ["test/op", "m1", "/spec/nothing/here", "overrideRules[0]"] {
            stage
                .told(kind, name, "ApplyOverridePolicyFailed", text)
                .await;
        }
    }
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

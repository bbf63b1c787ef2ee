//! What operators do by hand at the edges of propagation: try rules, and take over what members have.

use cli::{Manifest, PromoteQuery, interpret, promote};
use world::json;

use crate::stage::{Stage, WHILE, deployment};

const RULES: &str = "{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterCustomization, metadata: {name: widget}, spec: {target: {apiVersion: acme.io/v1, kind: Widget}, customizations: {healthInterpretation: {luaScript: 'SCRIPT'}}}}";

/// What `interpret --check` says of a customization with this script, and whether the program ends well.
fn checked(script: &str) -> (Vec<String>, bool) {
    let manifests = Manifest::parse("rules.yaml", &RULES.replace("SCRIPT", script)).unwrap();
    let mut text = String::new();
    let mut print = |part: &str| -> Result<(), cli::Failure> {
        text.push_str(part);
        Ok(())
    };
    let ended = interpret::check(&manifests, &mut print);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    (text.lines().map(words).collect(), ended.is_ok())
}

#[test]
fn a39_scripts_are_checked_before_anybody_uses_them() {
    let (lines, is_well) = checked("function InterpretHealth(o) return true end");
    assert!(is_well, "{lines:#?}");
    for line in [
        "TARGET: acme.io/v1 Widget",
        "InterpretHealth: PASS",
        "InterpretReplica: UNSET",
        "InterpretComponent: UNSET",
        "ReviseReplica: UNSET",
        "Retain: UNSET",
        "AggregateStatus: UNSET",
        "InterpretStatus: UNSET",
        "InterpretDependency: UNSET",
    ] {
        assert!(
            lines.iter().any(|found| found == line),
            "{line}: {lines:#?}"
        );
    }
    let (lines, is_well) = checked("function InterpretHealth(o) retrun true end");
    assert!(!is_well, "{lines:#?}");
    let told = |line: &String| line.starts_with("InterpretHealth: ERROR: ");
    assert!(lines.iter().any(told), "{lines:#?}");
}

#[tokio::test(start_paused = true)]
async fn a40_what_a_member_has_is_promoted_and_its_pods_live_on() {
    let stage = Stage::with(2).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    let web = stage.template("deployments", "test/web");
    stage.copy("m1", "namespaces", "test").comes().await;
    stage.member("m1").apply(&deployment("web", 2)).await;
    web_in_m1.shows("status.readyReplicas", 2).await;
    let pods = async || {
        let pods = stage.member("m1").list("pods", "test").await;
        let mut uids: Vec<String> = pods.iter().map(|pod| pod.uid().to_owned()).collect();
        uids.sort();
        uids
    };
    let before = pods().await;
    let query = PromoteQuery {
        words: vec!["deployment".to_owned(), "web".to_owned()],
        namespace: Some("test".to_owned()),
        cluster: "m1".to_owned(),
        with_policy: true,
        ..PromoteQuery::default()
    };
    let mut said = String::new();
    let mut print = |part: &str| -> Result<(), cli::Failure> {
        said.push_str(part);
        Ok(())
    };
    let member = stage.member("m1").client();
    promote(stage.client(), Some(member), &query, &mut print)
        .await
        .unwrap();
    assert!(said.contains("is promoted successfully"), "{said}");
    let template = web.found().await;
    assert_eq!(
        template.annotation("work.karmada.io/conflict-resolution"),
        Some("overwrite")
    );
    let policies = stage.list("propagationpolicies", "test").await;
    let policy = policies.first().unwrap();
    assert_eq!(
        (
            policy.at(&["spec", "conflictResolution"]),
            policy.at(&["spec", "preserveResourcesOnDeletion"]),
            policy.at(&["spec", "placement", "clusterAffinity", "clusterNames"]),
        ),
        (
            Some(&json!("Overwrite")),
            Some(&json!(true)),
            Some(&json!(["m1"]))
        )
    );
    web.shows("status.readyReplicas", 2).await;
    let copy = web_in_m1.found().await;
    assert_eq!(copy.label("karmada.io/managed"), Some("true"));
    stage.advance(WHILE).await;
    assert_eq!(pods().await, before, "no pod restarts");
}

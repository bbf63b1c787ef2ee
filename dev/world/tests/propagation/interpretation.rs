//! Who says what an object means.

use world::json;

use crate::stage::{DEPLOYMENTS, SOON, Stage, WHILE, all, deployment, on, policy};

fn customization(name: &str, kind: &str, scripts: &[(&str, &str)]) -> String {
    let scripts: Vec<String> = scripts
        .iter()
        .map(|(operation, script)| format!("{operation}: {{luaScript: {}}}", json!(script)))
        .collect();
    let (api_version, kind) = kind.rsplit_once('/').unwrap();
    format!(
        "{{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterCustomization, metadata: {{name: {name}}}, spec: {{target: {{apiVersion: {api_version}, kind: {kind}}}, customizations: {{{}}}}}}}",
        scripts.join(", ")
    )
}

/// A webhook that nobody answers.
fn webhook(name: &str, operation: &str) -> String {
    format!(
        "{{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterWebhookConfiguration, metadata: {{name: {name}}}, webhooks: [{{name: hook.example.com, clientConfig: {{url: 'https://127.0.0.1:1/interpret'}}, timeoutSeconds: 1, interpreterContextVersions: [v1alpha1], rules: [{{operations: [{operation}], apiGroups: [apps], apiVersions: [v1], kinds: [Deployment]}}]}}]}}"
    )
}

#[tokio::test(start_paused = true)]
async fn p25_and_p26_scripts_leave_nothing_behind_and_empty_things_keep_their_shape() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            customization(
                "deployments",
                "apps/v1/Deployment",
                &[
                    ("replicaResource", "function GetReplicas(o) type = 5 leaked = 'yes' return o.spec.replicas, nil end"),
                    ("replicaRevision", "function ReviseReplica(o, n) o.spec.replicas = n return o end"),
                ],
            ),
            customization(
                "statefulsets",
                "apps/v1/StatefulSet",
                &[("replicaResource", "function GetReplicas(o) if leaked ~= nil then error('leaked') end if type(o) ~= 'table' then error('type') end return 1, nil end")],
            ),
            deployment("web", 2).replacen("spec: {containers:", "spec: {securityContext: {}, volumes: [{name: tmp, emptyDir: {}}], containers:", 1),
            "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, namespace: test}, spec: {serviceName: s, replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}".to_owned(),
            policy("p", &format!("{DEPLOYMENTS}, {{apiVersion: apps/v1, kind: StatefulSet}}"), &on("m1")),
        ]))
        .await;
    stage.there("m1", "statefulsets", "test/s", true).await;
    stage
        .shows("deployments", "test/web", "status.readyReplicas", json!(2))
        .await;
    let work = stage.work("Deployment", "web", "m1").await.unwrap();
    let manifest = &work.at(&["spec", "workload", "manifests"]).unwrap()[0];
    assert_eq!(
        manifest["spec"]["template"]["spec"]["volumes"],
        json!([{"name": "tmp", "emptyDir": {}}])
    );
    assert_eq!(
        manifest["spec"]["template"]["spec"]["securityContext"],
        json!({})
    );
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_is_away_is_asked_again_until_it_answers_or_goes() {
    let stage = Stage::with(1).await;
    stage.apply(&webhook("hooks", "InterpretReplica")).await;
    stage.advance(WHILE).await;
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage
        .told(
            "Deployment",
            "test/web",
            "GetReplicasFailed",
            "hooks/hook.example.com could not be called",
        )
        .await;
    stage.advance(WHILE).await;
    assert!(stage.get("rb", "test/web-deployment").await.is_none());
    stage
        .delete("resourceinterpreterwebhookconfigurations", "hooks")
        .await;
    stage
        .until("native rules take over", SOON * 5, async || {
            stage
                .member("m1")
                .get("deployments", "test/web")
                .await
                .is_some()
        })
        .await;
}

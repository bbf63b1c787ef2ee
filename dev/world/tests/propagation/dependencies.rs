//! What templates refer to goes along.

use member::join::UnjoinOptions;
use object::Value;
use world::json;

use crate::stage::{
    CONFIG_MAPS, SOON, Stage, WHILE, all, config_map, deployment, on, one_deployment, policy,
};

fn referring(name: &str, env: &str) -> String {
    deployment(name, 1).replacen(
        "name: web, image:",
        &format!("name: web, envFrom: [{env}], image:"),
        1,
    )
}

async fn required_by(stage: &Stage, binding: &str) -> Value {
    let list = stage.template("rb", binding).field("spec.requiredBy").await;
    let names = list.as_array().into_iter().flatten();
    names.map(|entry| entry["name"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a30_p27_and_p29_references_are_sent_along_and_called_back() {
    let stage = Stage::with(2).await;
    let binding = stage.template("rb", "test/settings-configmap");
    let spec = format!("propagateDeps: true, {}", on("m1, m2"));
    stage
        .apply(&all(&[
            config_map("settings", "{a: b}"),
            "{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: test}, stringData: {k: v}}".to_owned(),
            referring("web", "{secretRef: {name: key}}, {configMapRef: {name: settings}}"),
            policy("p", &one_deployment("web"), &spec),
        ]))
        .await;
    for member in ["m1", "m2"] {
        stage
            .copy(member, "configmaps", "test/settings")
            .shows("data.a", "b")
            .await;
        stage.copy(member, "secrets", "test/key").comes().await;
    }
    let referrer = stage.template("rb", "test/web-deployment").found().await;
    let id = referrer
        .label("resourcebinding.karmada.io/permanent-id")
        .unwrap()
        .to_owned();
    let attached = binding.found().await;
    let is_marked = attached.labels().iter().any(|(key, value)| {
        key.starts_with("resourcebinding.karmada.io/depended-by-") && **value == *id
    });
    assert!(is_marked, "{:?}", attached.labels());
    assert_eq!(
        required_by(&stage, "test/settings-configmap").await,
        json!(["web-deployment"])
    );
    let noted = referrer
        .annotation("resourcebinding.karmada.io/dependencies")
        .unwrap();
    let config = noted.find("ConfigMap").unwrap();
    assert!(config < noted.find("Secret").unwrap(), "sorted: {noted}");

    stage
        .template("configmaps", "test/settings")
        .patch(json!({"data": {"a": "c"}}))
        .await;
    for member in ["m1", "m2"] {
        stage
            .copy(member, "configmaps", "test/settings")
            .shows("data.a", "c")
            .await;
    }
    stage
        .apply(&referring("web", "{secretRef: {name: key}}"))
        .await;
    for member in ["m1", "m2"] {
        stage
            .copy(member, "configmaps", "test/settings")
            .goes()
            .await;
        stage.copy(member, "secrets", "test/key").comes().await;
    }
    stage
        .until(
            "the attached binding stays and needs nobody",
            SOON,
            async || {
                required_by(&stage, "test/settings-configmap").await == json!([])
                    && binding.is_there().await
            },
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a31_referrers_that_disagree_are_told() {
    let stage = Stage::with(1).await;
    let binding = stage.template("rb", "test/shared-configmap");
    let spec = |resolution: &str| {
        format!(
            "propagateDeps: true, conflictResolution: {resolution}, {}",
            on("m1")
        )
    };
    stage
        .apply(&all(&[
            config_map("shared", "{a: b}"),
            referring("hard", "{configMapRef: {name: shared}}"),
            referring("soft", "{configMapRef: {name: shared}}"),
            policy("hard", &one_deployment("hard"), &spec("Overwrite")),
            policy("soft", &one_deployment("soft"), &spec("Abort")),
        ]))
        .await;
    stage
        .until("both refer to it", SOON, async || {
            let mut names = required_by(&stage, "test/shared-configmap").await;
            if let Some(names) = names.as_array_mut() {
                names.sort_by_key(ToString::to_string);
            }
            names == json!(["hard-deployment", "soft-deployment"])
        })
        .await;
    binding.shows("spec.conflictResolution", "Overwrite").await;
    stage
        .told(
            "ResourceBinding",
            "test/shared-configmap",
            "DependencyPolicyConflict",
            "",
        )
        .await;
    stage.template("deployments", "test/hard").delete().await;
    binding.shows("spec.conflictResolution", "Abort").await;
}

#[tokio::test(start_paused = true)]
async fn p28_an_ingress_without_a_secret_refers_to_none() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: test}, spec: {tls: [{hosts: [a.example.com]}], defaultBackend: {service: {name: s, port: {number: 80}}}}}".to_owned(),
            policy("p", "{apiVersion: networking.k8s.io/v1, kind: Ingress}", &format!("propagateDeps: true, {}", on("m1"))),
        ]))
        .await;
    stage.copy("m1", "ingresses", "test/i").comes().await;
    stage.advance(WHILE).await;
    let events = stage.events("Ingress", "test/i").await;
    assert!(
        !events
            .iter()
            .any(|line| line.starts_with("GetDependenciesFailed")),
        "{events:#?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_every_server_makes_for_itself_does_not_go_along() {
    let stage = Stage::with(1).await;
    let trusted = stage.copy("m1", "configmaps", "test/kube-root-ca.crt");
    let sources = "{configMap: {name: kube-root-ca.crt}}, {configMap: {name: settings}}";
    let mounting = deployment("web", 1).replacen(
        "containers:",
        &format!("volumes: [{{name: v, projected: {{sources: [{sources}]}}}}], containers:"),
        1,
    );
    let spec = format!(
        "propagateDeps: true, conflictResolution: Overwrite, {}",
        on("m1")
    );
    stage
        .apply(&all(&[
            config_map("kube-root-ca.crt", "{ca.crt: the control plane's}"),
            config_map("settings", "{a: b}"),
            mounting,
            policy("p", &one_deployment("web"), &spec),
        ]))
        .await;
    let settings = stage.copy("m1", "configmaps", "test/settings");
    settings.shows("data.a", "b").await;
    let own = trusted.found().await;
    let bound = stage.template("rb", "test/kube-root-ca.crt-configmap");
    stage
        .stays("the member keeps its own", WHILE, async || {
            trusted.found().await.uid() == own.uid()
                && trusted.field("data").await == own.fields()["data"]
                && !bound.is_there().await
        })
        .await;
    assert_ne!(own.fields()["data"]["ca.crt"], json!("the control plane's"));
}

#[tokio::test(start_paused = true)]
async fn what_is_needed_stays_up_to_date_when_its_own_policy_goes() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            config_map("settings", "{a: b}"),
            policy("own", CONFIG_MAPS, &on("m1, m2")),
        ]))
        .await;
    let settings = stage.template("configmaps", "test/settings");
    let copies = ["m1", "m2"].map(|member| stage.copy(member, "configmaps", "test/settings"));
    for copy in &copies {
        copy.shows("data.a", "b").await;
    }
    let spec = format!("propagateDeps: true, {}", on("m1, m2"));
    stage
        .apply(&all(&[
            referring("web", "{configMapRef: {name: settings}}"),
            policy("p", &one_deployment("web"), &spec),
        ]))
        .await;
    stage
        .see("it is needed", json!(["web-deployment"]), async || {
            required_by(&stage, "test/settings-configmap").await
        })
        .await;
    stage
        .template("propagationpolicies", "test/own")
        .delete()
        .await;
    stage
        .see("it has no policy", Value::Null, async || {
            stage.claim("rb", "test/settings-configmap").await
        })
        .await;
    settings.patch(json!({"data": {"a": "c"}})).await;
    for copy in &copies {
        copy.shows("data.a", "c").await;
    }
    // A member that comes back gets it as it is then.
    stage.unjoin("m2", &UnjoinOptions::new("m2")).await;
    copies[1].goes().await;
    settings.patch(json!({"data": {"a": "d"}})).await;
    copies[0].shows("data.a", "d").await;
    stage.join("m2").await;
    copies[1].shows("data.a", "d").await;
    settings.patch(json!({"data": {"a": "e"}})).await;
    for copy in &copies {
        copy.shows("data.a", "e").await;
    }
}

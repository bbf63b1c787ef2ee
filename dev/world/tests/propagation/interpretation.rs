//! Who says what an object means.

use std::time::Duration;

use http::Request;
use http_body_util::BodyExt as _;
use world::json;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, SOON, Stage, WHILE, all, config_map, customization, deployment,
    divided, on, policy,
};

/// A webhook that nobody answers.
fn webhook(name: &str, operation: &str) -> String {
    format!(
        "{{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterWebhookConfiguration, metadata: {{name: {name}}}, webhooks: [{{name: hook.example.com, clientConfig: {{url: 'https://127.0.0.1:1/interpret'}}, timeoutSeconds: 1, interpreterContextVersions: [v1alpha1], rules: [{{operations: [{operation}], apiGroups: [apps], apiVersions: [v1], kinds: [Deployment]}}]}}]}}"
    )
}

#[tokio::test(start_paused = true)]
async fn a37_and_p01_a_customization_goes_before_a_webhook_and_that_before_native_rules() {
    let stage = Stage::with(1).await;
    let sick = customization(
        "sick",
        "apps/v1/Deployment",
        &[(
            "healthInterpretation",
            "function InterpretHealth(o) return false end",
        )],
    );
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
        .await;
    let binding = stage.template("rb", "test/web-deployment");
    let health = "status.aggregatedStatus.0.health";
    binding.shows(health, "Healthy").await;
    stage
        .apply(&all(&[webhook("hooks", "InterpretHealth"), sick]))
        .await;
    binding.shows(health, "Unhealthy").await;
    let work = stage.work_of("Deployment", "web", "m1").await;
    let events = stage.events("Work", &work.name).await;
    assert!(
        !events.iter().any(|line| line.contains("hook.example.com")),
        "{events:#?}"
    );
    // Without the script the webhook is asked, and that it gives no answer is final.
    stage
        .template("resourceinterpretercustomizations", "sick")
        .delete()
        .await;
    binding.shows(health, "Unknown").await;
    stage
        .told(
            "Work",
            &work.name,
            "InterpretHealthFailed",
            "hooks/hook.example.com",
        )
        .await;
    stage
        .template("resourceinterpreterwebhookconfigurations", "hooks")
        .delete()
        .await;
    binding.shows(health, "Healthy").await;
}

#[tokio::test(start_paused = true)]
async fn a38_scripts_that_loop_or_use_what_is_forbidden_fail_alone() {
    let stage = Stage::with(1).await;
    let widgets = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: KINDs.acme.io}, spec: {group: acme.io, scope: Namespaced, names: {plural: KINDs, singular: KIND, kind: KIND}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}";
    for kind in ["loop", "rep", "hog"] {
        let text = widgets.replace("KIND", kind).replacen(
            &format!("kind: {kind}}}, versions"),
            &format!("kind: {}}}, versions", kind.to_uppercase()),
            1,
        );
        stage.apply(&text).await;
    }
    stage.advance(WHILE).await;
    stage
        .apply(&all(&[
            customization("loop", "acme.io/v1/LOOP", &[("replicaResource", "function GetReplicas(o) while true do end end")]),
            customization("rep", "acme.io/v1/REP", &[("replicaResource", "function GetReplicas(o) return string.rep('a', 9) end")]),
            customization("hog", "acme.io/v1/HOG", &[("replicaResource", "function GetReplicas(o) local t = {} for i = 1, 1e9 do t[i] = {i} end end")]),
            policy("p", "{apiVersion: acme.io/v1, kind: LOOP}, {apiVersion: acme.io/v1, kind: REP}, {apiVersion: acme.io/v1, kind: HOG}", &on("m1")),
            policy("q", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage.advance(WHILE).await;
    let twice = stage
        .try_apply(&customization(
            "second",
            "acme.io/v1/LOOP",
            &[("replicaResource", "function GetReplicas(o) return 1 end")],
        ))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        twice.contains("conflicting with InterpreterOperation(InterpretReplica) of existing ResourceInterpreterCustomization(loop)"),
        "{twice}"
    );
    for kind in ["LOOP", "REP", "HOG"] {
        stage
            .apply(&format!("{{apiVersion: acme.io/v1, kind: {kind}, metadata: {{name: x, namespace: test}}, spec: {{}}}}"))
            .await;
    }
    stage.apply(&deployment("web", 1)).await;
    stage
        .template("deployments", "test/web")
        .shows("status.readyReplicas", 1)
        .await;
    for (kind, cause) in [("LOOP", "loop"), ("REP", "rep"), ("HOG", "hog")] {
        stage.told(kind, "test/x", "GetReplicasFailed", cause).await;
        stage
            .told(
                "ResourceInterpreterCustomization",
                cause,
                "InterpreterRuleFailed",
                "InterpretReplica: ",
            )
            .await;
        let binding = format!("test/x-{}", kind.to_lowercase());
        assert!(stage.template("rb", &binding).is_missing().await, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn p25_and_p26_scripts_leave_nothing_behind_and_empty_things_keep_their_shape() {
    let stage = Stage::with(1).await;
    stage.spread(&[customization(
                "deployments",
                "apps/v1/Deployment",
                &[
                    ("replicaResource", "function GetReplicas(o) type = 5 leaked = 'yes' return o.spec.replicas, nil end"),
                    ("replicaRevision", "function ReviseReplica(o, n) o.spec.replicas = n return o end"),
                ],
            ), customization(
                "statefulsets",
                "apps/v1/StatefulSet",
                &[("replicaResource", "function GetReplicas(o) if leaked ~= nil then error('leaked') end if type(o) ~= 'table' then error('type') end return 1, nil end")],
            ), deployment("web", 2).replacen("spec: {containers:", "spec: {securityContext: {}, volumes: [{name: tmp, emptyDir: {}}], containers:", 1), "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, namespace: test}, spec: {serviceName: s, replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}".to_owned()], &format!("{DEPLOYMENTS}, {{apiVersion: apps/v1, kind: StatefulSet}}"), "m1").await;
    stage.copy("m1", "statefulsets", "test/s").comes().await;
    stage
        .template("deployments", "test/web")
        .shows("status.readyReplicas", 2)
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
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
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
    assert!(
        stage
            .template("rb", "test/web-deployment")
            .is_missing()
            .await
    );
    stage
        .template("resourceinterpreterwebhookconfigurations", "hooks")
        .delete()
        .await;
    stage
        .until("native rules take over", SOON * 5, async || {
            stage.copy("m1", "deployments", "test/web").is_there().await
        })
        .await;
}

/// How often a machine for scripts was thrown away, as after every run that had to be stopped.
async fn stopped_runs(stage: &Stage) -> u64 {
    let request = Request::builder()
        .uri("/metrics")
        .body(client::Body::empty())
        .unwrap();
    let response = stage.client().send(request).await.unwrap();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let line = text
        .lines()
        .find(|line| line.starts_with("pool_put_operation_total") && line.contains("destroyed"));
    let figure = line.and_then(|line| line.rsplit(' ').next());
    figure.and_then(|figure| figure.parse().ok()).unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn a_script_that_loops_costs_a_run_now_and_then_however_many_ask() {
    const OBJECTS: u64 = 5;
    let stage = Stage::with(1).await;
    let looping = |script: &str| {
        customization(
            "looping",
            "apps/v1/Deployment",
            &[("healthInterpretation", script)],
        )
    };
    let mut documents = vec![
        looping("function InterpretHealth(o) while true do end end"),
        config_map("plain", "{a: b}"),
    ];
    documents.extend((0..OBJECTS).map(|n| deployment(&format!("web{n}"), 1)));
    stage
        .spread(&documents, &format!("{DEPLOYMENTS}, {CONFIG_MAPS}"), "m1")
        .await;
    stage.copy("m1", "configmaps", "test/plain").comes().await;
    let text = "so it is not run on this object for ";
    for n in 0..OBJECTS {
        let name = format!("test/web{n}");
        // Health alone cannot be told: everything else goes on.
        let template = stage.template("deployments", &name);
        template.shows("status.readyReplicas", 1).await;
        let binding = stage.template("rb", &format!("{name}-deployment"));
        binding
            .shows("status.aggregatedStatus.0.health", "Unknown")
            .await;
    }
    stage
        .told(
            "ResourceInterpreterCustomization",
            "looping",
            "InterpreterRuleFailed",
            "InterpretHealth: line 1: stopped after ",
        )
        .await;
    let told = async || {
        let mut events = Vec::new();
        for n in 0..OBJECTS {
            events.extend(stage.events("Deployment", &format!("test/web{n}")).await);
        }
        events.iter().any(|line| line.contains(text))
    };
    stage.until("it is told", SOON, told).await;
    // Each of them has a run before each of its pauses: those of 10, 20, 40, 80 and 160 seconds are 310.
    stage.advance(Duration::from_secs(300)).await;
    let runs = stopped_runs(&stage).await;
    assert!((1..=OBJECTS * 6).contains(&runs), "{runs} runs");
    // A rule that was mended is asked at once.
    stage
        .apply(&looping("function InterpretHealth(o) return true end"))
        .await;
    for n in 0..OBJECTS {
        let binding = stage.template("rb", &format!("test/web{n}-deployment"));
        binding
            .shows("status.aggregatedStatus.0.health", "Healthy")
            .await;
    }
}

const WIDGETS: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.acme.io}, spec: {group: acme.io, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}";
const WIDGET: &str =
    "{apiVersion: acme.io/v1, kind: Widget, metadata: {name: w, namespace: test}, spec: {size: 4}}";

/// What the members' copies say of their size, and how often they were changed since they came.
async fn sizes(stage: &Stage) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    for member in ["m1", "m2"] {
        let copy = stage.copy(member, "widgets", "test/w").get().await;
        let copy = copy.unwrap_or_default();
        let size = copy.integer_at(&["spec", "size"]).unwrap_or_default();
        found.push((size, copy.generation() - 1));
    }
    found
}

#[tokio::test(start_paused = true)]
async fn a_rule_for_replicas_that_comes_later_stops_nothing_that_runs() {
    let counting = customization(
        "widgets",
        "acme.io/v1/Widget",
        &[
            (
                "replicaResource",
                "function GetReplicas(o) return o.spec.size, nil end",
            ),
            (
                "replicaRevision",
                "function ReviseReplica(o, n) o.spec.size = n return o end",
            ),
        ],
    );
    for (what, placement, expected) in [
        ("all get the same", on("m1, m2"), vec![(4, 0), (4, 0)]),
        (
            "they are divided",
            divided(&[("m1", 1), ("m2", 1)]),
            vec![(2, 1), (2, 1)],
        ),
    ] {
        let stage = Stage::with(2).await;
        for api in [stage.control(), stage.member("m1"), stage.member("m2")] {
            api.apply(WIDGETS).await;
        }
        stage.advance(WHILE).await;
        let widgets = policy("p", "{apiVersion: acme.io/v1, kind: Widget}", &placement);
        stage.apply(&all(&[WIDGET.to_owned(), widgets])).await;
        let running = vec![(4, 0), (4, 0)];
        stage
            .until("all run", SOON, async || sizes(&stage).await == running)
            .await;
        stage.advance(WHILE).await;
        stage.apply(&counting).await;
        let is_decided = async || {
            let binding = stage.template("rb", "test/w-widget");
            let clusters = binding.field("spec.clusters").await;
            let clusters = clusters.as_array().cloned().unwrap_or_default();
            let mut shares = clusters.iter().map(|target| target["replicas"].as_i64());
            shares.all(|share| share.is_some())
        };
        stage.until("it is decided", SOON, is_decided).await;
        stage.advance(WHILE).await;
        assert_eq!(sizes(&stage).await, expected, "{what}");
    }
}

//! Webhooks that say what objects mean and do not answer: they hold up the objects they are asked about, and nothing else.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use object::Value;
use tokio::sync::watch;
use world::json;

use crate::service::Service;
use crate::stage::{CONFIG_MAPS, Stage, WHILE, all, config_map, customization, on, policy};

const WIDGETS: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.acme.io}, spec: {group: acme.io, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}";
/// How many objects it is asked about; more than any queue has workers.
const OBJECTS: usize = 30;
/// How long what has nothing to do with it may take.
const AT_ONCE: Duration = Duration::from_millis(1_500);
/// How long after its return everything has gone through.
const BACK: Duration = Duration::from_secs(30);

/// A service that answers once it is told to.
struct Silent {
    service: Service,
    /// The objects that it was asked about, in order.
    asked: Arc<Mutex<Vec<String>>>,
    answers: watch::Sender<bool>,
}

impl Silent {
    async fn start() -> Self {
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noting = Arc::clone(&asked);
        let (answers, answering) = watch::channel(false);
        let service = Service::start(move |question| {
            let mut answering = answering.clone();
            let name = question["request"]["name"].as_str().unwrap().to_owned();
            noting.lock().unwrap().push(name);
            async move {
                if answering.wait_for(|answers| *answers).await.is_err() {
                    return std::future::pending().await;
                }
                answer(&question)
            }
        });
        Self {
            service: service.await,
            asked,
            answers,
        }
    }

    /// The configuration that has this service asked that about Widgets, with the usual time for an answer.
    fn configuration(&self, operation: &str) -> String {
        json!({
            "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterWebhookConfiguration",
            "metadata": {"name": "hooks"},
            "webhooks": [{
                "name": "hook.example.com", "interpreterContextVersions": ["v1alpha1"],
                "clientConfig": self.service.client_config(),
                "rules": [{"operations": [operation], "apiGroups": ["acme.io"], "apiVersions": ["v1"], "kinds": ["Widget"]}],
            }],
        })
        .to_string()
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn answer(question: &Value) -> Value {
    json!({
        "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterContext",
        "response": {"uid": question["request"]["uid"], "successful": true, "replicas": 2, "healthy": true},
    })
}

/// Brings a ConfigMap to the member, and then waits a while.
async fn brings_others(stage: &Stage, name: &str) {
    stage.apply(&config_map(name, "{a: b}")).await;
    let copy = stage.copy("m1", "configmaps", &format!("test/{name}"));
    let what = format!("{name} is brought");
    stage
        .until(&what, AT_ONCE, async || copy.is_there().await)
        .await;
    stage.advance(Duration::from_secs(3)).await;
}

/// Has a webhook hang that is asked this about many objects. `reason` is that of the events about them, and `is_done` tells
/// of an object, by its name, whether the answer was heard.
async fn check(operation: &str, reason: &str, is_done: impl AsyncFn(&Stage, &str) -> bool) {
    let stage = Stage::with(1).await;
    let service = Silent::start().await;
    for api in [stage.control(), stage.member("m1")] {
        api.apply(WIDGETS).await;
    }
    stage.apply(&service.configuration(operation)).await;
    if operation == "ReviseReplica" {
        let counting = "function GetReplicas(o) return 2, nil end";
        let rules = [("replicaResource", counting)];
        let counting = customization("counting", "acme.io/v1/Widget", &rules);
        stage.apply(&counting).await;
    }
    stage.advance(WHILE).await;
    let widgets = policy("p", "{apiVersion: acme.io/v1, kind: Widget}", &on("m1"));
    stage
        .apply(&all(&[widgets, policy("q", CONFIG_MAPS, &on("m1"))]))
        .await;
    let names: Vec<String> = (0..OBJECTS).map(|number| format!("w{number}")).collect();
    let documents: Vec<String> = names
        .iter()
        .map(|name| {
            format!("{{apiVersion: acme.io/v1, kind: Widget, metadata: {{name: {name}, namespace: test}}, spec: {{}}}}")
        })
        .collect();
    stage.apply(&all(&documents)).await;
    for number in 0..20 {
        brings_others(&stage, &format!("early{number}")).await;
    }
    for name in &names {
        let text = "hooks/hook.example.com could not be called";
        stage.told("Widget", name, reason, text).await;
        assert!(!is_done(&stage, name).await, "{operation} of {name}");
    }
    // After those that found out that it hangs, one at a time, ten seconds each, with longer and longer pauses between.
    let before = service.asked();
    assert!((1..=30).contains(&before), "{before} questions");
    for number in 0..20 {
        brings_others(&stage, &format!("late{number}")).await;
    }
    let meanwhile = service.asked() - before;
    assert!((1..=6).contains(&meanwhile), "{meanwhile} questions");
    service.answers.send_replace(true);
    let all_done = async || {
        for name in &names {
            if !is_done(&stage, name).await {
                return false;
            }
        }
        true
    };
    stage.until("all are heard of", BACK, all_done).await;
}

#[tokio::test(start_paused = true)]
async fn a_webhook_for_replicas_that_hangs_holds_nothing_else_up() {
    check(
        "InterpretReplica",
        "GetReplicasFailed",
        async |stage, name| {
            let binding = stage.template("rb", &format!("test/{name}-widget"));
            binding.field("spec.replicas").await == json!(2)
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_webhook_for_revisions_that_hangs_holds_nothing_else_up() {
    check("ReviseReplica", "SyncWorkFailed", async |stage, name| {
        let copy = stage.copy("m1", "widgets", &format!("test/{name}"));
        copy.is_there().await
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_webhook_for_health_that_hangs_holds_nothing_else_up() {
    check(
        "InterpretHealth",
        "InterpretHealthFailed",
        async |stage, name| {
            let binding = stage.template("rb", &format!("test/{name}-widget"));
            binding.field("status.aggregatedStatus.0.health").await == json!("Healthy")
        },
    )
    .await;
}

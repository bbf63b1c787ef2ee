//! Kinds whose versions a webhook converts: while it is away nothing is decided about their objects, and all else goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use object::Value;
use world::json;

use crate::clockwork::every_minute;
use crate::service::Service;
use crate::stage::{CONFIG_MAPS, SOON, Stage, WHILE, all, config_map, customization, on, policy};

const GADGETS: &str = "{apiVersion: acme.io/v1alpha1, kind: Gadget}";
/// What a member knows of them.
const GADGETS_OF_MEMBERS: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.acme.io}, spec: {group: acme.io, scope: Namespaced, names: {plural: gadgets, kind: Gadget}, versions: [{name: v1alpha1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}";
/// After its return everybody has tried again.
const BACK: Duration = Duration::from_secs(90);
/// What the webhook says while it is away.
const AWAY: &str = "no conversion today";

/// A webhook that converts by changing the version alone, or does not.
struct Converter {
    service: Service,
    is_away: Arc<AtomicBool>,
}

impl Converter {
    async fn start() -> Self {
        let is_away = Arc::<AtomicBool>::default();
        let looking = Arc::clone(&is_away);
        let service = Service::start(move |review| {
            let is_away = looking.load(Ordering::Relaxed);
            async move { convert(review, is_away) }
        });
        Self {
            service: service.await,
            is_away,
        }
    }

    fn is_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }

    /// A definition of `Gadget` in `v1alpha1` and `v1`, stored in one of them.
    fn definition(&self, stored: &str) -> String {
        let versions = ["v1alpha1", "v1"].map(|version| {
            json!({
                "name": version, "served": true, "storage": version == stored,
                "subresources": {
                    "status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
                },
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            })
        });
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "gadgets.acme.io"},
            "spec": {
                "group": "acme.io", "scope": "Namespaced",
                "names": {"plural": "gadgets", "kind": "Gadget"}, "versions": versions,
                "conversion": {"strategy": "Webhook", "webhook": {
                    "conversionReviewVersions": ["v1"], "clientConfig": self.service.client_config(),
                }},
            },
        })
        .to_string()
    }
}

fn convert(mut review: Value, is_away: bool) -> Value {
    let version = review["request"]["desiredAPIVersion"].clone();
    let mut objects = review["request"]["objects"].take();
    for object in objects.as_array_mut().unwrap() {
        object["apiVersion"] = version.clone();
    }
    let result = match is_away {
        true => json!({"status": "Failure", "message": AWAY}),
        false => json!({"status": "Success"}),
    };
    json!({
        "apiVersion": review["apiVersion"], "kind": "ConversionReview",
        "response": {"uid": review["request"]["uid"], "result": result, "convertedObjects": objects},
    })
}

fn gadget(version: &str, size: u32) -> String {
    format!(
        "{{apiVersion: acme.io/{version}, kind: Gadget, metadata: {{name: g, namespace: test}}, spec: {{size: {size}}}}}"
    )
}

/// A gadget in `m1`, as a policy has it that names `v1alpha1`, and a policy for ConfigMaps.
async fn begin(converter: &Converter, stored: &str) -> Stage {
    let stage = Stage::with(1).await;
    stage.apply(&converter.definition(stored)).await;
    stage.member("m1").apply(GADGETS_OF_MEMBERS).await;
    stage.advance(WHILE).await;
    stage
        .apply(&all(&[
            policy("p", GADGETS, &on("m1")),
            policy("q", CONFIG_MAPS, &on("m1")),
            gadget("v1alpha1", 1),
        ]))
        .await;
    has_size(&stage, 1, SOON).await;
    stage.advance(WHILE).await;
    stage
}

async fn has_size(stage: &Stage, size: u32, within: Duration) {
    let seen = async || {
        let member = stage.member("m1");
        member.field("gadgets", "test/g", "spec.size").await
    };
    stage
        .until_is("its size in the member", within, json!(size), seen)
        .await;
}

/// Where `v1` is stored, what the policy names cannot be had while the webhook is away; and else not the version the server
/// likes best, by which it is known which gadgets there are.
const STORED: [&str; 2] = ["v1", "v1alpha1"];

#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_listed_after_a_restart_holds_up_nothing_but_itself() {
    for stored in STORED {
        let converter = Converter::start().await;
        let stage = begin(&converter, stored).await;
        let before = stage.work("Gadget", "g", "m1").await.unwrap();
        converter.is_away(true);
        stage.restart().await;
        stage.apply(&config_map("a", "{a: b}")).await;
        let copy = stage.copy("m1", "configmaps", "test/a");
        stage
            .until("others are brought", SOON, async || copy.is_there().await)
            .await;
        let reason = "ListTemplatesFailed";
        stage
            .told("PropagationPolicy", "test/p", reason, AWAY)
            .await;
        stage.apply(&gadget(stored, 2)).await;
        stage.template("configmaps", "test/a").delete().await;
        stage
            .until("others go", SOON, async || !copy.is_there().await)
            .await;
        stage.advance(BACK).await;
        let after = stage.work("Gadget", "g", "m1").await.unwrap();
        assert_eq!(after.uid(), before.uid(), "stored in {stored}");
        assert!(!after.is_terminating(), "stored in {stored}");
        converter.is_away(false);
        has_size(&stage, 2, BACK).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_members_report_meanwhile_is_shown_once_the_kind_is_listed_again() {
    for stored in STORED {
        let converter = Converter::start().await;
        let stage = begin(&converter, stored).await;
        let latest = "function AggregateStatus(o, items) o.status = items[1].status return o end";
        let rules = [("statusAggregation", latest)];
        stage
            .apply(&customization("latest", "acme.io/v1alpha1/Gadget", &rules))
            .await;
        let copy = stage.copy("m1", "gadgets", "test/g");
        let gadget = stage.template("gadgets", "test/g");
        copy.patch_status(json!({"status": {"ready": 1}})).await;
        gadget.shows("status.ready", 1).await;
        converter.is_away(true);
        stage.restart().await;
        stage.advance(WHILE).await;
        copy.patch_status(json!({"status": {"ready": 7}})).await;
        stage
            .template("rb", "test/g-gadget")
            .shows("status.aggregatedStatus.clusterName=m1.status.ready", 7)
            .await;
        stage.advance(BACK).await;
        converter.is_away(false);
        stage.advance(BACK).await;
        gadget.shows("status.ready", 7).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_scaled_by_the_clock_is_not_taken_for_missing() {
    let converter = Converter::start().await;
    let stage = begin(&converter, "v1alpha1").await;
    let target = "{apiVersion: acme.io/v1alpha1, kind: Gadget, name: g}";
    stage
        .apply(&every_minute(target, "targetReplicas: 5"))
        .await;
    let clock = stage.template("cronfederatedhpas", "test/clock");
    let history = "status.executionHistories.0";
    clock.shows(&format!("{history}.ruleName"), "up").await;
    converter.is_away(true);
    stage.restart().await;
    stage.advance(Duration::from_secs(200)).await;
    let runs = clock.field(history).await;
    for kind in ["failedExecutions", "successfulExecutions"] {
        assert_eq!(runs[kind], Value::Null, "{runs}");
    }
    converter.is_away(false);
    has_size(&stage, 5, BACK).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_meanwhile_goes_as_soon_as_that_is_known() {
    let converter = Converter::start().await;
    let stage = begin(&converter, "v1").await;
    converter.is_away(true);
    stage.restart().await;
    stage.advance(WHILE).await;
    let copy = stage.copy("m1", "gadgets", "test/g");
    assert!(copy.is_there().await);
    // In the version the server likes best it is known which gadgets there are.
    stage.template("gadgets", "test/g").delete().await;
    stage
        .until("it goes", SOON, async || !copy.is_there().await)
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_goes_while_its_version_cannot_be_listed_and_waits_while_nobody_knows_what_it_holds()
 {
    for restarts in [false, true] {
        for stored in STORED {
            let converter = Converter::start().await;
            let stage = begin(&converter, stored).await;
            converter.is_away(true);
            if restarts {
                stage.restart().await;
                stage.advance(WHILE).await;
            } else {
                // Whoever watches finds out.
                stage.apply(&gadget(stored, 2)).await;
            }
            let pp = stage.template("propagationpolicies", "test/p");
            pp.delete().await;
            if stored != "v1" {
                let reason = "ListTemplatesFailed";
                let text = "it is not known whether this policy still holds any of them";
                stage
                    .told("PropagationPolicy", "test/p", reason, text)
                    .await;
                stage.advance(BACK).await;
                assert!(pp.is_there().await, "restarts: {restarts}");
                converter.is_away(false);
            }
            stage
                .until("the policy goes", BACK, async || !pp.is_there().await)
                .await;
            converter.is_away(false);
            let claim = async || stage.claim("gadgets", "test/g").await;
            stage.see("nobody claims it", Value::Null, claim).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_whose_templates_another_is_to_have_in_a_version_that_cannot_be_listed_says_what_it_waits_for()
 {
    let converter = Converter::start().await;
    let stage = begin(&converter, "v1").await;
    converter.is_away(true);
    stage.restart().await;
    stage.advance(WHILE).await;
    stage.apply(&policy("successor", GADGETS, &on("m1"))).await;
    let pp = stage.template("propagationpolicies", "test/p");
    pp.delete().await;
    let text = "no other policy can have of them what this one holds";
    stage
        .told("PropagationPolicy", "test/p", "ListTemplatesFailed", text)
        .await;
    assert!(pp.is_there().await);
    has_size(&stage, 1, WHILE).await;
    converter.is_away(false);
    stage
        .until("the policy goes", BACK, async || !pp.is_there().await)
        .await;
    let claim = async || stage.claim("gadgets", "test/g").await;
    stage
        .see("the other has it", json!("pp/successor"), claim)
        .await;
}

/// That they went is told in the version the server likes best, which takes a while where each has to be converted.
#[tokio::test(start_paused = true)]
async fn what_a_definition_takes_along_goes_from_members_too() {
    for stored in ["v1", "v1alpha1"] {
        let converter = Converter::start().await;
        let stage = begin(&converter, stored).await;
        let more =
            |number: u32| gadget("v1alpha1", 1).replace("name: g,", &format!("name: g{number},"));
        for number in 0..15 {
            stage.apply(&more(number)).await;
        }
        let m1 = stage.member("m1");
        let copies = async || m1.list("gadgets", "test").await.len();
        stage
            .until_is("all are there", SOON, json!(16), async || {
                json!(copies().await)
            })
            .await;
        stage.advance(WHILE).await;
        stage
            .delete("customresourcedefinitions", "gadgets.acme.io")
            .await;
        let bindings = async || {
            let names = stage.names("resourcebindings", "test").await;
            names
                .iter()
                .filter(|name| name.ends_with("-gadget"))
                .count()
        };
        stage
            .until_is("all have gone", SOON, json!([0, 0]), async || {
                json!([bindings().await, copies().await])
            })
            .await;
    }
}

//! The controllers against the real server, in the process: from a template to its works and back.

#![expect(clippy::unwrap_used, reason = "a case that cannot go on has failed")]

mod plane;
mod rules;
mod webhooks;

use api::{
    names,
    work::{v1alpha1::Work, v1alpha2::ResourceBinding},
};
use intent::Part;
use karavel_controllers::Options;
use object::{Object, ObjectKey};
use serde_json::json;

use crate::plane::{Plane, clusters, deployments, kind_of, of};

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test}, spec: {replicas: 5, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: 'nginx:1'}]}}}}";
const BINDING: &str = "test/web-deployment";

fn policy(name: &str, more: &str) -> String {
    format!(
        "{{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {{name: {name}, namespace: test, labels: {{propagationpolicy.karmada.io/permanent-id: id-{name}}}, finalizers: [karmada.io/propagation-policy-controller]}}, spec: {{resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, namespace: test, name: web}}], placement: {{clusterAffinity: {{clusterNames: [m1, m2]}}, replicaScheduling: {{replicaSchedulingType: Divided}}}}{more}}}}}"
    )
}

fn work(cluster: &str) -> ObjectKey {
    ObjectKey::namespaced(
        names::execution_space(cluster),
        names::work_name("Deployment", "web", "test"),
    )
}

fn manifest(work: &Object) -> &serde_json::Value {
    &work.at(&["spec", "workload", "manifests"]).unwrap()[0]
}

/// A plane with the template on both members.
async fn placed() -> Plane {
    let plane = Plane::new().await;
    plane.create(&policy("pp", "")).await;
    plane.create(WEB).await;
    plane.appears(&of::<ResourceBinding>(), BINDING).await;
    let both = json!([{"name": "m1", "replicas": 3}, {"name": "m2", "replicas": 2}]);
    plane.schedule(BINDING, both).await;
    for cluster in ["m1", "m2"] {
        plane
            .appears(&of::<Work>(), &work(cluster).to_string())
            .await;
    }
    plane
}

#[tokio::test(start_paused = true)]
async fn acceptance_01_a_template_and_a_policy_become_a_claim_a_binding_and_works() {
    let plane = placed().await;
    let template = plane.get(&deployments(), "test/web").await.unwrap();
    assert_eq!(
        template.label("propagationpolicy.karmada.io/permanent-id"),
        Some("id-pp")
    );
    let binding = plane.get(&of::<ResourceBinding>(), BINDING).await.unwrap();
    assert_eq!(binding.integer_at(&["spec", "replicas"]), Some(5));
    let work = plane
        .get(&of::<Work>(), &work("m1").to_string())
        .await
        .unwrap();
    assert_eq!(manifest(&work)["spec"]["replicas"], 3);
    assert_eq!(
        manifest(&work)["metadata"]["labels"]["karmada.io/managed"],
        "true"
    );
}

#[tokio::test(start_paused = true)]
async fn acceptance_26_the_template_shows_the_sum_and_is_observed_when_all_members_are() {
    let plane = placed().await;
    // The claim is a change of annotations, which counts as a generation of a Deployment.
    let template = plane.get(&deployments(), "test/web").await.unwrap();
    let generation = template.generation();
    let reported = |ready: i64| json!({"replicas": ready, "readyReplicas": ready, "generation": 1, "observedGeneration": 1, "resourceTemplateGeneration": generation});
    plane.report(&work("m1"), reported(2)).await;
    let ready = |template: Option<&Object>, number| {
        template.and_then(|found| found.integer_at(&["status", "readyReplicas"])) == Some(number)
    };
    let half = plane
        .until(&deployments(), "test/web", |found| ready(found, 2))
        .await;
    assert_eq!(half.unwrap().at(&["status", "observedGeneration"]), None);
    plane.report(&work("m2"), reported(3)).await;
    let whole = plane
        .until(&deployments(), "test/web", |found| ready(found, 5))
        .await;
    assert_eq!(
        whole.unwrap().integer_at(&["status", "observedGeneration"]),
        Some(generation)
    );
    let binding = plane.get(&of::<ResourceBinding>(), BINDING).await.unwrap();
    let conditions = binding.at(&["status", "conditions"]).unwrap();
    assert_eq!(conditions[0]["reason"], "FullyAppliedSuccess");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_once_everything_is_as_it_should_be_nor_after_a_restart() {
    let plane = placed().await;
    let status = json!({"replicas": 2, "readyReplicas": 2, "generation": 1, "observedGeneration": 1, "resourceTemplateGeneration": 1});
    for cluster in ["m1", "m2"] {
        plane.report(&work(cluster), status.clone()).await;
    }
    plane.settle().await;
    let before = plane.revision().await;
    // A second set of controllers sees everything as new, as after a restart.
    plane.start(karavel_controllers::Options::default());
    plane.settle().await;
    assert_eq!(plane.revision().await, before);
}

#[tokio::test(start_paused = true)]
async fn acceptance_07_deleting_the_policy_leaves_works_and_a_new_one_resumes() {
    let plane = placed().await;
    let policies = kind_of("policy.karmada.io/v1alpha1", "PropagationPolicy");
    plane.delete(&policies, "test/pp").await;
    plane.vanishes(&policies, "test/pp").await;
    plane.settle().await;
    for (kind, key) in [
        (deployments(), "test/web"),
        (of::<ResourceBinding>(), BINDING),
    ] {
        let found = plane.get(&kind, key).await.unwrap();
        assert_eq!(
            found.label("propagationpolicy.karmada.io/permanent-id"),
            None
        );
    }
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "nginx:2"}]}}}});
    plane
        .patch(&deployments(), "test/web", image, Part::Object)
        .await;
    plane.settle().await;
    let image_in = |work: &Object| {
        manifest(work)["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    let kept = plane
        .get(&of::<Work>(), &work("m1").to_string())
        .await
        .unwrap();
    assert_eq!(image_in(&kept), "nginx:1");
    plane.create(&policy("next", "")).await;
    plane
        .until(&of::<Work>(), &work("m1").to_string(), |found| {
            found.is_some_and(|work| image_in(work) == "nginx:2")
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn acceptance_33_a_cluster_that_is_left_loses_its_work_and_the_other_keeps_it() {
    let plane = placed().await;
    let before = plane
        .get(&of::<Work>(), &work("m1").to_string())
        .await
        .unwrap();
    plane
        .schedule(BINDING, json!([{"name": "m1", "replicas": 3}]))
        .await;
    let leaving = plane
        .until(&of::<Work>(), &work("m2").to_string(), |found| {
            found.is_none_or(Object::is_terminating)
        })
        .await;
    assert!(leaving.is_none_or(|work| work.is_terminating()));
    let after = plane
        .get(&of::<Work>(), &work("m1").to_string())
        .await
        .unwrap();
    assert_eq!(before.uid(), after.uid());
}

#[tokio::test(start_paused = true)]
async fn deleting_the_template_takes_binding_and_works_along() {
    let plane = placed().await;
    plane.delete(&deployments(), "test/web").await;
    plane.vanishes(&of::<ResourceBinding>(), BINDING).await;
    for cluster in ["m1", "m2"] {
        let key = work(cluster).to_string();
        // The member lets go of its work.
        let going = |found: Option<&Object>| found.is_none_or(Object::is_terminating);
        plane.until(&of::<Work>(), &key, going).await;
        if plane.get(&of::<Work>(), &key).await.is_some() {
            plane
                .patch(
                    &of::<Work>(),
                    &key,
                    json!({"metadata": {"finalizers": null}}),
                    Part::Object,
                )
                .await;
        }
        plane.vanishes(&of::<Work>(), &key).await;
    }
}

#[tokio::test(start_paused = true)]
async fn acceptance_12_a_policy_waits_for_its_overrides_and_the_first_work_has_them() {
    let plane = Plane::new().await;
    plane
        .create(&policy("pp", ", dependentOverrides: [op1]"))
        .await;
    plane.create(WEB).await;
    plane.settle().await;
    assert!(plane.get(&of::<ResourceBinding>(), BINDING).await.is_none());
    plane
        .create("{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: op1, namespace: test}, spec: {overrideRules: [{overriders: {labelsOverrider: [{operator: add, value: {env: op}}]}}]}}")
        .await;
    plane.appears(&of::<ResourceBinding>(), BINDING).await;
    plane
        .schedule(BINDING, json!([{"name": "m1", "replicas": 5}]))
        .await;
    let work = plane.appears(&of::<Work>(), &work("m1").to_string()).await;
    assert_eq!(manifest(&work)["metadata"]["labels"]["env"], "op");
}

#[tokio::test(start_paused = true)]
async fn acceptance_09_a_lazy_policy_waits_for_the_author_also_across_a_restart() {
    let plane = Plane::new().await;
    plane.create(WEB).await;
    plane.settle().await;
    plane
        .create(&policy("pp", ", activationPreference: Lazy"))
        .await;
    plane
        .until(&deployments(), "test/web", |found| {
            found.is_some_and(|web| {
                web.annotation("propagationpolicy.karmada.io/name")
                    .is_some()
            })
        })
        .await;
    plane.start(karavel_controllers::Options::default());
    plane.settle().await;
    assert!(plane.get(&of::<ResourceBinding>(), BINDING).await.is_none());
    let edit = json!({"metadata": {"annotations": {"x": "y"}}});
    plane
        .patch(&deployments(), "test/web", edit, Part::Object)
        .await;
    plane.appears(&of::<ResourceBinding>(), BINDING).await;
}

#[tokio::test(start_paused = true)]
async fn acceptance_30_what_a_template_refers_to_follows_it_and_stays_behind_when_it_no_longer_does()
 {
    let plane = Plane::new().await;
    plane.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: test}, data: {a: b}}").await;
    plane.create(&policy("pp", ", propagateDeps: true")).await;
    let reading = WEB.replace(
        "image: 'nginx:1'",
        "image: 'nginx:1', envFrom: [{configMapRef: {name: settings}}]",
    );
    plane.create(&reading).await;
    plane.appears(&of::<ResourceBinding>(), BINDING).await;
    plane
        .schedule(BINDING, json!([{"name": "m1", "replicas": 5}]))
        .await;
    let attached = "test/settings-configmap";
    let required = |found: Option<&Object>, number: usize| {
        let list = found.and_then(|binding| binding.at(&["spec", "requiredBy"]));
        found.is_some() && list.and_then(|list| list.as_array()).map_or(0, Vec::len) == number
    };
    plane
        .until(&of::<ResourceBinding>(), attached, |found| {
            required(found, 1)
        })
        .await;
    let key = ObjectKey::namespaced(
        "karmada-es-m1",
        names::work_name("ConfigMap", "settings", "test"),
    );
    plane.appears(&of::<Work>(), &key.to_string()).await;
    let configs = kind_of("v1", "ConfigMap");
    plane
        .patch(
            &configs,
            "test/settings",
            json!({"data": {"a": "c"}}),
            Part::Object,
        )
        .await;
    plane
        .until(&of::<Work>(), &key.to_string(), |found| {
            found.is_some_and(|work| manifest(work)["data"]["a"] == "c")
        })
        .await;
    let plain = json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}}});
    plane
        .patch(&deployments(), "test/web", plain, Part::Object)
        .await;
    plane
        .until(&of::<ResourceBinding>(), attached, |found| {
            required(found, 0)
        })
        .await;
    plane
        .until(&of::<Work>(), &key.to_string(), |found| {
            found.is_none_or(Object::is_terminating)
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_defined_later_is_propagated_without_a_restart() {
    let plane = Plane::new().await;
    plane
        .create("{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: pp, namespace: test, labels: {propagationpolicy.karmada.io/permanent-id: id}}, spec: {resourceSelectors: [{apiVersion: example.com/v1, kind: Widget}], placement: {}}}")
        .await;
    plane.settle().await;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    plane.create(&definition.to_string()).await;
    plane.serve_more(&definition);
    let established = json!({"status": {"conditions": [{"type": "Established", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}], "acceptedNames": {"kind": "Widget", "plural": "widgets"}, "storedVersions": ["v1"]}});
    let definitions = kind_of("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    plane
        .patch(
            &definitions,
            "widgets.example.com",
            established,
            Part::Status,
        )
        .await;
    plane
        .create("{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: test}, spec: {a: 1}}")
        .await;
    plane
        .appears(&of::<ResourceBinding>(), "test/w-widget")
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_falls_silent_is_shown_as_such() {
    let plane = placed().await;
    for cluster in ["m1", "m2"] {
        plane.report(&work(cluster), json!({"replicas": 1})).await;
    }
    let silent = json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "ClusterStatusUnknown", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}]}});
    plane.patch(&clusters(), "m2", silent, Part::Status).await;
    plane
        .until(&of::<ResourceBinding>(), BINDING, |found| {
            let items = found.and_then(|binding| binding.at(&["status", "aggregatedStatus"]));
            items.is_some_and(|items| {
                items[0]["health"] == "Healthy" && items[1]["health"] == "Unknown"
            })
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn new_rules_of_interpretation_are_taken_up_without_a_change_of_the_template() {
    let plane = placed().await;
    plane.interpret_by(rules::seven_replicas());
    plane
        .until(&of::<ResourceBinding>(), BINDING, |found| {
            found.and_then(|binding| binding.integer_at(&["spec", "replicas"])) == Some(7)
        })
        .await;
}

/// What a Job's clusters were given they keep, whether or not that has been seen: nobody gets it a second time.
#[tokio::test(start_paused = true)]
async fn completions_are_shared_by_what_the_server_has_and_not_by_what_is_in_view() {
    let plane = Plane::without_controllers().await;
    plane
        .create("{apiVersion: v1, kind: Namespace, metadata: {name: karmada-es-m3}}")
        .await;
    plane
        .create("{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: m3}, spec: {syncMode: Push}}")
        .await;
    plane.start_behind(Options::default());
    plane
        .create(&policy("pp", "").replace("apps/v1, kind: Deployment", "batch/v1, kind: Job"))
        .await;
    plane
        .create("{apiVersion: batch/v1, kind: Job, metadata: {name: web, namespace: test}, spec: {parallelism: 3, completions: 9, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}")
        .await;
    let binding = "test/web-job";
    plane.appears(&of::<ResourceBinding>(), binding).await;
    let given = |cluster: &str, parallelism: i64, completions: i64| {
        let name = names::work_name("Job", "web", "test");
        let work = ObjectKey::namespaced(names::execution_space(cluster), name);
        let plane = &plane;
        async move {
            let is_so = |work: Option<&Object>| {
                work.is_some_and(|work| {
                    let spec = &manifest(work)["spec"];
                    spec["parallelism"] == parallelism && spec["completions"] == completions
                })
            };
            plane.until(&of::<Work>(), &work.to_string(), is_so).await;
        }
    };
    let two = json!([{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}]);
    plane.schedule(binding, two).await;
    given("m1", 1, 3).await;
    given("m2", 2, 6).await;
    let three = json!([{"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 1}, {"name": "m3", "replicas": 3}]);
    plane.schedule(binding, three).await;
    given("m3", 3, 0).await;
    given("m1", 2, 3).await;
    given("m2", 1, 6).await;
    plane.settle().await;
    given("m3", 3, 0).await;
}

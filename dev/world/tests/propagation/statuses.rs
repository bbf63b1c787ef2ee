//! What members report, back on bindings and templates.

use object::Value;
use world::json;

use crate::stage::{DEPLOYMENTS, SOON, Stage, WHILE, all, deployment, divided, on, policy};

/// Writes the status of an object in a member, as its controllers would.
async fn report(stage: &Stage, member: &str, kind: &str, name: &str, status: Value) {
    stage.copy(member, kind, name).comes().await;
    let patch = json!({ "status": status });
    stage.copy(member, kind, name).patch_status(patch).await;
}

#[tokio::test(start_paused = true)]
async fn a26_replicas_are_summed_and_a_generation_counts_once_all_have_seen_it() {
    let stage = Stage::with(2).await;
    let web_deployment = stage.template("deployments", "test/web");
    stage
        .apply(&all(&[
            deployment("web", 5),
            policy("p", DEPLOYMENTS, &divided(&[("m1", 2), ("m2", 3)])),
        ]))
        .await;
    web_deployment.shows("status.readyReplicas", 5).await;
    let generation = web_deployment.field("metadata.generation").await;
    web_deployment
        .shows("status.observedGeneration", generation.clone())
        .await;
    let generation = generation.as_i64().unwrap();
    // While one member is away, the new generation is not observed.
    stage.member("m2").faults().cut_off(true);
    web_deployment
        .patch(json!({"spec": {"template": {"metadata": {"labels": {"new": "yes"}}}}}))
        .await;
    stage
        .copy("m1", "deployments", "test/web")
        .shows("spec.template.metadata.labels.new", "yes")
        .await;
    stage.advance(WHILE).await;
    let web = web_deployment.found().await;
    assert_eq!(
        (
            web.generation(),
            web.integer_at(&["status", "observedGeneration"])
        ),
        (generation + 1, Some(generation))
    );
    stage.member("m2").faults().cut_off(false);
    stage
        .until_is(
            "the generation is observed",
            SOON * 5,
            json!(generation + 1),
            async || web_deployment.field("status.observedGeneration").await,
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a27_a_pod_is_as_well_as_its_worst_copy() {
    let stage = Stage::with(2).await;
    let one = stage.template("pods", "test/one");
    let template = "{apiVersion: v1, kind: Pod, metadata: {name: one, namespace: test}, spec: {containers: [{name: c, image: i}]}}".to_owned();
    stage
        .spread(&[template], "{apiVersion: v1, kind: Pod}", "m1, m2")
        .await;
    one.shows("status.phase", "Running").await;
    // A copy that has not been heard of counts as pending.
    stage.member("m2").faults().cut_off(true);
    let late = "{apiVersion: v1, kind: Pod, metadata: {name: late, namespace: test}, spec: {containers: [{name: c, image: i}]}}";
    stage.apply(late).await;
    stage
        .copy("m1", "pods", "test/late")
        .shows("status.phase", "Running")
        .await;
    let late = stage.template("pods", "test/late");
    late.shows("status.phase", "Pending").await;
    late.keeps("status.phase", "Pending").await;
    stage.member("m1").faults().cut_off(true);
    // Both copies report anew when they are reached again: one of them failed meanwhile.
    stage
        .copy("m2", "pods", "test/one")
        .patch_status(json!({"status": {"phase": "Failed"}}))
        .await;
    stage.member("m1").faults().cut_off(false);
    stage.member("m2").faults().cut_off(false);
    stage
        .until_is(
            "the template failed",
            SOON * 5,
            json!("Failed"),
            async || one.field("status.phase").await,
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a28_and_p22_a_job_is_over_with_its_first_failure() {
    let stage = Stage::with(2).await;
    let j = stage.template("jobs", "test/j");
    let template = "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: test}, spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}".to_owned();
    stage
        .spread(&[template], "{apiVersion: batch/v1, kind: Job}", "m1, m2")
        .await;
    let time = "2030-01-01T00:01:00Z";
    report(
        &stage,
        "m1",
        "jobs",
        "test/j",
        json!({"succeeded": 1, "startTime": time, "completionTime": time, "conditions": [
            {"type": "SuccessCriteriaMet", "status": "True", "lastProbeTime": time, "lastTransitionTime": time},
            {"type": "Complete", "status": "True", "lastProbeTime": time, "lastTransitionTime": time}]}),
    )
    .await;
    stage
        .template("rb", "test/j-job")
        .shows("status.aggregatedStatus.clusterName=m1.status.succeeded", 1)
        .await;
    report(
        &stage,
        "m2",
        "jobs",
        "test/j",
        json!({"failed": 1, "startTime": time, "conditions": [
            {"type": "FailureTarget", "status": "True", "lastProbeTime": time, "lastTransitionTime": time},
            {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "lastProbeTime": time, "lastTransitionTime": time}]}),
    )
    .await;
    stage
        .until("the template failed", SOON, async || {
            let failed = j.field("status.conditions.type=Failed").await;
            failed["status"] == "True"
                && failed["message"]
                    .as_str()
                    .is_some_and(|text| text.contains("m2"))
        })
        .await;
    let frozen = j.field("status").await;
    assert_eq!(
        j.field("status.conditions.type=Complete").await,
        json!(null)
    );
    stage
        .copy("m2", "jobs", "test/j")
        .patch_status(json!({"status": {"failed": 2}}))
        .await;
    stage
        .template("rb", "test/j-job")
        .shows("status.aggregatedStatus.clusterName=m2.status.failed", 2)
        .await;
    stage.advance(WHILE).await;
    assert_eq!(j.field("status").await, frozen);
}

#[tokio::test(start_paused = true)]
async fn a29_one_address_of_two_load_balancers_is_told_once() {
    let stage = Stage::with(2).await;
    let lb = stage.template("services", "test/lb");
    let template = "{apiVersion: v1, kind: Service, metadata: {name: lb, namespace: test}, spec: {type: LoadBalancer, loadBalancerIP: 192.0.2.7, ports: [{port: 80}]}}".to_owned();
    stage
        .spread(&[template], "{apiVersion: v1, kind: Service}", "m1, m2")
        .await;
    for member in ["m1", "m2"] {
        let address = "status.loadBalancer.ingress.0.ip";
        stage
            .copy(member, "services", "test/lb")
            .shows(address, "192.0.2.7")
            .await;
    }
    stage
        .until("the address is on the template", SOON, async || {
            let ingress = lb.field("status.loadBalancer.ingress").await;
            ingress
                .as_array()
                .is_some_and(|list| list.len() == 1 && list[0]["ip"] == "192.0.2.7")
        })
        .await;
    stage.advance(WHILE).await;
    let ingress = lb.field("status.loadBalancer.ingress").await;
    assert_eq!(ingress.as_array().map(Vec::len), Some(1), "{ingress}");
    // One that is no load balancer any more has no address to tell.
    lb.patch(json!({"spec": {"type": "ClusterIP", "loadBalancerIP": null}}))
        .await;
    lb.shows("status.loadBalancer.ingress", Value::Null).await;
}

#[tokio::test(start_paused = true)]
async fn p21_a_kind_without_a_rule_for_health_is_healthy() {
    let stage = Stage::with(1).await;
    stage
        .spread(
            &[crate::stage::config_map("c", "{a: b}")],
            crate::stage::CONFIG_MAPS,
            "m1",
        )
        .await;
    stage
        .template("rb", "test/c-configmap")
        .shows("status.aggregatedStatus.0.health", "Healthy")
        .await;
}

#[tokio::test(start_paused = true)]
async fn p23_a_deployment_without_members_has_observed_its_generation() {
    let stage = Stage::with(1).await;
    let web_deployment = stage.template("deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
        .await;
    web_deployment.shows("status.readyReplicas", 1).await;
    stage.apply(&policy("p", DEPLOYMENTS, &on("nowhere"))).await;
    stage.copy("m1", "deployments", "test/web").goes().await;
    let before = web_deployment.found().await.generation();
    web_deployment.patch(json!({"spec": {"replicas": 2}})).await;
    stage
        .until("nobody has it, and that is known", SOON, async || {
            let web = web_deployment.found().await;
            let status = |field: &str| web.integer_at(&["status", field]).unwrap_or_default();
            status("observedGeneration") == web.generation()
                && ["replicas", "readyReplicas", "updatedReplicas"].map(status) == [0, 0, 0]
        })
        .await;
    assert!(web_deployment.found().await.generation() > before);
}

#[tokio::test(start_paused = true)]
async fn p24_a_kind_without_a_status_part_breaks_nothing() {
    let stage = Stage::with(1).await;
    stage
        .apply("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.acme.io}, spec: {group: acme.io, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}")
        .await;
    stage.advance(WHILE).await;
    stage
        .apply(&all(&[
            "{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterCustomization, metadata: {name: w}, spec: {target: {apiVersion: acme.io/v1, kind: Widget}, customizations: {statusAggregation: {luaScript: \"function AggregateStatus(o, items) o.status = {n = 1} return o end\"}}}}".to_owned(),
            "{apiVersion: acme.io/v1, kind: Widget, metadata: {name: w, namespace: test}, spec: {}}".to_owned(),
            policy("p", "{apiVersion: acme.io/v1, kind: Widget}", &on("m1")),
            crate::stage::cluster_policy("crd", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: widgets.acme.io}", &on("m1")),
        ]))
        .await;
    stage
        .until("the widget is in m1", SOON * 5, async || {
            let crd = stage
                .copy("m1", "customresourcedefinitions", "widgets.acme.io")
                .get()
                .await;
            crd.is_some() && !stage.works_of("Widget", "w").await.is_empty()
        })
        .await;
    stage
        .until("the widget is applied", SOON * 5, async || {
            let applied = stage
                .template("rb", "test/w-widget")
                .condition("FullyApplied")
                .await;
            applied == "True FullyAppliedSuccess"
        })
        .await;
    assert_eq!(
        stage.template("widgets", "test/w").field("status").await,
        json!(null)
    );
    let said = "acme.io/v1 Widget has no subresource status";
    stage
        .told("Widget", "test/w", "AggregateStatusFailed", said)
        .await;
    let told = stage.events("Widget", "test/w").await;
    let succeeded = |event: &&String| event.starts_with("AggregateStatusSucceed");
    assert_eq!(told.iter().find(succeeded), None);
    // Others go on.
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy("q", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage
        .template("deployments", "test/web")
        .shows("status.readyReplicas", 1)
        .await;
}

/// What the controllers of two members say of objects whose kinds the simulator leaves alone, and what comes of it.
#[tokio::test(start_paused = true)]
async fn what_members_say_of_kinds_that_have_no_replicas_comes_together() {
    let stage = Stage::with(2).await;
    let time = "2030-01-01T00:01:00Z";
    let later = "2030-01-01T00:02:00Z";
    let cases = [
        (
            "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: x, namespace: test}, spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}}",
            "networking.k8s.io/v1",
            "ingresses",
            json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "b.example"}]}}),
            json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "a.example"}]}}),
            json!({"loadBalancer": {"ingress": [{"hostname": "a.example"}, {"hostname": "b.example"}, {"ip": "192.0.2.1"}]}}),
        ),
        (
            "{apiVersion: batch/v1, kind: CronJob, metadata: {name: x, namespace: test}, spec: {suspend: true, schedule: '0 0 1 1 *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}",
            "batch/v1",
            "cronjobs",
            json!({"lastScheduleTime": time, "lastSuccessfulTime": later}),
            json!({"lastScheduleTime": later}),
            json!({"lastScheduleTime": later, "lastSuccessfulTime": later}),
        ),
        (
            "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: x, namespace: test}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nobody}}}",
            "autoscaling/v2",
            "horizontalpodautoscalers",
            json!({"currentReplicas": 1, "desiredReplicas": 2}),
            json!({"currentReplicas": 10, "desiredReplicas": 20}),
            json!({"currentReplicas": 11, "desiredReplicas": 22}),
        ),
    ];
    for (template, api_version, plural, first, second, expected) in cases {
        let kind = stage.control().resource(plural, Some(api_version)).await;
        let kind = kind.kind.kind;
        let selector = format!("{{apiVersion: {api_version}, kind: {kind}}}");
        let lower = kind.to_ascii_lowercase();
        stage
            .apply(&all(&[
                template.to_owned(),
                policy(&lower, &selector, &on("m1, m2")),
            ]))
            .await;
        report(&stage, "m1", plural, "test/x", first).await;
        report(&stage, "m2", plural, "test/x", second).await;
        let found = stage.template(plural, "test/x");
        stage
            .until(&format!("the status of {kind}"), SOON, async || {
                let status = found.field("status").await;
                expected
                    .as_object()
                    .is_some_and(|fields| fields.iter().all(|(name, value)| status[name] == *value))
            })
            .await;
    }
}

/// What a cluster that is away says it has is what it had.
#[tokio::test(start_paused = true)]
async fn a_change_that_a_silent_cluster_lacks_is_not_called_applied() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: test}, data: {k: '1'}}".to_owned(),
            policy("p", "{apiVersion: v1, kind: ConfigMap}", &on("m1, m2")),
        ]))
        .await;
    let (template, binding) = (
        stage.template("configmaps", "test/c"),
        stage.template("rb", "test/c-configmap"),
    );
    let fully_applied = async |expected: &str| {
        let condition = async || {
            let condition = stage.condition("rb", "test/c-configmap", "FullyApplied");
            json!(condition.await)
        };
        stage
            .until_is("FullyApplied", SOON * 5, json!(expected), condition)
            .await;
    };
    let away = async |is_away: bool| {
        stage.member("m2").faults().cut_off(is_away);
        let ready = if is_away { "False" } else { "True" };
        stage
            .until("that is known", SOON * 5, async || {
                stage
                    .condition("clusters", "m2", "Ready")
                    .await
                    .starts_with(ready)
            })
            .await;
    };
    fully_applied("True FullyAppliedSuccess").await;
    away(true).await;
    stage.advance(WHILE).await;
    // Nothing has changed: it has what it should have, as far as anybody knows.
    fully_applied("True FullyAppliedSuccess").await;
    template.patch(json!({"data": {"k": "2"}})).await;
    fully_applied("False FullyAppliedFailed").await;
    let work = stage.work("ConfigMap", "c", "m2").await;
    let reason = work.and_then(|work| work.at(&["status", "conditions"]).map(Value::to_string));
    assert!(reason.is_some_and(|text| text.contains("ClusterUnreachable")));
    binding
        .shows(
            "status.aggregatedStatus.clusterName=m2.appliedMessage",
            "the cluster m2 does not answer: what changed meanwhile is brought there when it does",
        )
        .await;
    away(false).await;
    stage
        .copy("m2", "configmaps", "test/c")
        .shows("data.k", "2")
        .await;
    fully_applied("True FullyAppliedSuccess").await;
    // After a restart nobody remembers what was brought.
    away(true).await;
    stage.restart().await;
    stage.advance(WHILE).await;
    fully_applied("True FullyAppliedSuccess").await;
    template.patch(json!({"data": {"k": "3"}})).await;
    fully_applied("False FullyAppliedFailed").await;
    away(false).await;
    fully_applied("True FullyAppliedSuccess").await;
    stage
        .copy("m2", "configmaps", "test/c")
        .shows("data.k", "3")
        .await;
}

/// What runs in a cluster that is away is counted as it was last reported, and no change as seen there; the author is told at
/// the first call that does not get through.
#[tokio::test(start_paused = true)]
async fn a_silent_cluster_keeps_what_it_reported_when_the_template_changes() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            deployment("web", 5),
            policy("p", DEPLOYMENTS, &divided(&[("m1", 2), ("m2", 3)])),
        ]))
        .await;
    let web = stage.template("deployments", "test/web");
    web.shows("status.readyReplicas", 5).await;
    let generation = web.field("metadata.generation").await;
    stage.member("m2").faults().cut_off(true);
    web.patch(json!({"spec": {"template": {"metadata": {"labels": {"new": "yes"}}}}}))
        .await;
    let binding = stage.template("rb", "test/web-deployment");
    let told = stage
        .until_is(
            "the binding lacks a cluster",
            SOON * 5,
            "False FullyAppliedFailed",
            async || {
                json!(
                    stage
                        .condition("rb", "test/web-deployment", "FullyApplied")
                        .await
                )
            },
        )
        .await;
    assert!(
        stage
            .condition("clusters", "m2", "Ready")
            .await
            .starts_with("True"),
        "told after {told:?}, before the cluster is known to be away"
    );
    stage.advance(SOON * 3).await;
    web.shows("status.readyReplicas", 5).await;
    web.shows("status.observedGeneration", generation).await;
    binding
        .shows("status.aggregatedStatus.clusterName=m2.health", "Unknown")
        .await;
    let events = stage.list("events", "test").await;
    let told = events.iter().any(|event| {
        event.text_at(&["involvedObject", "kind"]) == Some("Deployment")
            && event.text_at(&["message"])
                == Some("cannot apply Deployment test/web: the cluster m2 does not answer: what changed meanwhile is brought there when it does")
    });
    assert!(told, "the author is told");
}

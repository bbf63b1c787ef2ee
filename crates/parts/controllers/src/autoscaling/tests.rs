//! Cases: autoscalers, templates and bindings in; whom they wake and what is written out.

use std::sync::Arc;

use client::Change;
use object::{GroupKind, ResourceType};

use super::{keys, plan};
use crate::told::{one, told};

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test, uid: u, resourceVersion: '7', labels: {LABELS}}, spec: {replicas: 4}, status: {replicas: 6}}";
const MARK: &str = "resourcetemplate.karmada.io/retain-replicas: 'true'";
const BINDING: &str = "{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: web-deployment, namespace: test, generation: 3}, spec: {resource: {apiVersion: apps/v1, kind: Deployment, namespace: test, name: web}, replicas: 4, clusters: [{name: m1, replicas: 2}, {name: m2, replicas: 2}], placement: {replicaScheduling: {replicaSchedulingType: Divided}}}, status: {schedulerObservedGeneration: 3, aggregatedStatus: [{clusterName: m1, status: {replicas: 3}}, {clusterName: m2, status: {replicas: 3}}]}}";
const AUTOSCALER: &str = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: test, labels: {propagationpolicy.karmada.io/permanent-id: x}, annotations: {propagationpolicy.karmada.io/namespace: test, propagationpolicy.karmada.io/name: p}}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}";

fn deployments() -> ResourceType {
    ResourceType::namespaced("apps", "v1", "Deployment", "deployments")
}

fn web(labels: &str) -> String {
    WEB.replace("LABELS", labels)
}

#[test]
fn a_target_is_marked_while_it_is_scaled() {
    let cases = [
        ("", true, "apply Deployment test/web"),
        (MARK, true, "nothing"),
        (MARK, false, "apply Deployment test/web"),
        ("", false, "nothing"),
    ];
    for (labels, is_scaled, expected) in cases {
        let plan = plan::mark(&deployments(), &one(&web(labels)), is_scaled);
        assert_eq!(told(&plan), expected, "{labels:?} {is_scaled}");
    }
}

#[test]
fn a_divided_deployment_follows_its_members_once_all_have_reported() {
    let takes = "patch Deployment test/web@7 {\"spec\":{\"replicas\":6}}";
    let cases = [
        ("", "", takes),
        ("Divided", "Duplicated", "nothing"),
        // Not what the template wants, or not seen by the scheduler yet.
        ("replicas: 4, clusters", "replicas: 5, clusters", "nothing"),
        ("generation: 3", "generation: 4", "nothing"),
        // A cluster has not reported, or reports none, or reports of one that is left are still there.
        (
            "{clusterName: m2, status: {replicas: 3}}",
            "{clusterName: m2}",
            "nothing",
        ),
        (
            "m2, status: {replicas: 3}",
            "m2, status: {replicas: 0}",
            "nothing",
        ),
        ("{name: m1, replicas: 2}, ", "", "nothing"),
        // The template does not say the sum yet.
        (
            "m2, status: {replicas: 3}",
            "m2, status: {replicas: 4}",
            "nothing",
        ),
    ];
    for (from, to, expected) in cases {
        let binding = one(&BINDING.replace(from, to));
        let plan = plan::follow(&deployments(), &one(&web(MARK)), &binding);
        assert_eq!(told(&plan), expected, "{from} -> {to}");
    }
    let unmarked = plan::follow(&deployments(), &one(&web("")), &one(BINDING));
    assert_eq!(told(&unmarked), "nothing");
    let even = web(MARK).replace("replicas: 6", "replicas: 4");
    assert_eq!(
        told(&plan::follow(&deployments(), &one(&even), &one(BINDING))),
        "nothing"
    );
}

#[test]
fn an_autoscaler_wakes_what_it_scaled_and_what_it_scales() {
    let other = AUTOSCALER.replace("name: web", "name: api");
    let loose = AUTOSCALER.replace("propagationpolicy.karmada.io/permanent-id", "other");
    let rated = AUTOSCALER.replace("spec: {", "spec: {maxReplicas: 3, ");
    let cases: [(Option<&str>, Option<&str>, &[&str]); 6] = [
        (None, Some(AUTOSCALER), &["test/web"]),
        (Some(AUTOSCALER), None, &["test/web"]),
        (Some(AUTOSCALER), Some(&other), &["test/web", "test/api"]),
        (Some(&loose), Some(AUTOSCALER), &["test/web"]),
        (Some(AUTOSCALER), Some(&rated), &[]),
        (Some(AUTOSCALER), Some(AUTOSCALER), &[]),
    ];
    for (before, after, expected) in cases {
        let woken = keys::of_autoscaler(&change(before, after));
        let names: Vec<String> = woken.iter().map(|target| target.key.to_string()).collect();
        assert_eq!(names, expected, "{before:?} -> {after:?}");
    }
}

#[test]
fn a_template_is_looked_at_when_it_comes_or_its_mark_changes() {
    let kind = GroupKind::new("apps", "Deployment");
    let (plain, marked) = (web(""), web(MARK));
    let cases: [(Option<&str>, Option<&str>, bool, bool); 6] = [
        (None, Some(&plain), true, true),
        (None, Some(&plain), false, false),
        (None, Some(&marked), false, true),
        (Some(&marked), Some(&plain), true, true),
        (Some(&plain), Some(&plain), true, false),
        (Some(&plain), None, true, false),
    ];
    for (before, after, is_scaled, expected) in cases {
        let woken = keys::of_target(&kind, &change(before, after), |_| is_scaled);
        assert_eq!(woken.is_some(), expected, "{before:?} -> {after:?}");
    }
}

fn change(before: Option<&str>, after: Option<&str>) -> Change {
    let object = |text: &str| Arc::new(one(text));
    Change {
        before: before.map(object),
        after: after.map(object),
    }
}

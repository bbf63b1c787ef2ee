//! What does not belong into a member.

use serde_json::Value;

use super::one;
use crate::manifest::{JobLifetime, prune};

fn pruned(object: &str) -> String {
    serde_json::to_string(&prune(one(object), JobLifetime::Dropped)).unwrap()
}

#[test]
fn what_only_the_server_knows_goes_and_the_rest_stays_in_order() {
    assert_eq!(
        pruned(
            "{zeta: 1, status: {a: 1}, metadata: {uid: u, name: x, resourceVersion: '1', generation: 2, creationTimestamp: null, deletionTimestamp: t, deletionGracePeriodSeconds: 1, managedFields: [], selfLink: s, ownerReferences: [], finalizers: [f], labels: {b: x, a: x}, novel: 1}, kind: X}"
        ),
        r#"{"zeta":1,"metadata":{"name":"x","labels":{"b":"x","a":"x"},"novel":1},"kind":"X"}"#
    );
}

#[test]
fn each_kind_loses_what_its_own_controllers_wrote() {
    for (object, expected) in [
        (
            "{kind: Deployment, metadata: {annotations: {deployment.kubernetes.io/revision: '1', deployment.kubernetes.io/revision-history: '2', a: b}}}",
            r#"{"kind":"Deployment","metadata":{"annotations":{"a":"b"}}}"#,
        ),
        (
            "{kind: Job, spec: {ttlSecondsAfterFinished: 5, selector: {matchLabels: {controller-uid: u, batch.kubernetes.io/controller-uid: u, job-name: j, a: b}}, template: {metadata: {labels: {controller-uid: u, batch.kubernetes.io/controller-uid: u, job-name: j, batch.kubernetes.io/job-name: j, a: b}}}}}",
            r#"{"kind":"Job","spec":{"selector":{"matchLabels":{"job-name":"j","a":"b"}},"template":{"metadata":{"labels":{"a":"b"}}}}}"#,
        ),
        (
            "{kind: Job, spec: {manualSelector: true, ttlSecondsAfterFinished: 5, template: {metadata: {labels: {controller-uid: u}}}}}",
            r#"{"kind":"Job","spec":{"manualSelector":true,"template":{"metadata":{"labels":{"controller-uid":"u"}}}}}"#,
        ),
        (
            "{kind: Secret, type: kubernetes.io/service-account-token, metadata: {annotations: {kubernetes.io/service-account.uid: u, kubernetes.io/service-account.name: sa}}, data: {token: x}}",
            r#"{"kind":"Secret","type":"kubernetes.io/service-account-token","metadata":{"annotations":{"kubernetes.io/service-account.name":"sa"}},"data":null}"#,
        ),
        (
            "{kind: Secret, type: Opaque, data: {token: x}}",
            r#"{"kind":"Secret","type":"Opaque","data":{"token":"x"}}"#,
        ),
        (
            "{kind: ServiceAccount, metadata: {name: sa}, secrets: [{name: sa-token-1}, {name: sa-token-2}, {name: other}, {name: sa-tokens}]}",
            r#"{"kind":"ServiceAccount","metadata":{"name":"sa"},"secrets":[{"name":"other"},{"name":"sa-tokens"}]}"#,
        ),
        (
            "{kind: Service, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: []}}",
            r#"{"kind":"Service","spec":{"ports":[]}}"#,
        ),
        (
            "{kind: Service, spec: {clusterIP: None, clusterIPs: [None]}}",
            r#"{"kind":"Service","spec":{"clusterIP":"None","clusterIPs":["None"]}}"#,
        ),
        (
            "{kind: PersistentVolumeClaim, metadata: {annotations: {volume.kubernetes.io/selected-node: n}}}",
            r#"{"kind":"PersistentVolumeClaim","metadata":{"annotations":{}}}"#,
        ),
    ] {
        assert_eq!(pruned(object), expected);
    }
}

#[test]
fn a_job_taken_from_a_member_keeps_its_time_to_live() {
    let job = prune(
        one("{kind: Job, spec: {ttlSecondsAfterFinished: 5}}"),
        JobLifetime::Kept,
    );
    assert_eq!(
        job.integer_at(&["spec", "ttlSecondsAfterFinished"]),
        Some(5)
    );
}

#[test]
fn objects_of_any_shape_are_pruned_without_a_panic() {
    for kind in [
        "Deployment",
        "Job",
        "Secret",
        "ServiceAccount",
        "Service",
        "PersistentVolumeClaim",
    ] {
        for odd in ["text", "[1]", "null", "{labels: 1, annotations: [x]}"] {
            let object = one(&format!(
                "{{kind: {kind}, metadata: {odd}, spec: {odd}, secrets: {odd}, type: {odd}}}"
            ));
            let before: Value = object.clone().into_value();
            assert_eq!(
                prune(object, JobLifetime::Dropped).into_value(),
                before,
                "{kind} {odd}"
            );
        }
    }
}

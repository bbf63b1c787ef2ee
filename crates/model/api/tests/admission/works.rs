//! Works: what is taken off manifests on their way to a cluster.

use crate::case::{
    CREATE, Case,
    Expect::{Refused, Stored},
    check,
};

/// A work with one manifest.
macro_rules! work {
    ($manifest:literal) => {
        concat!(
            "{apiVersion: work.karmada.io/v1alpha1, kind: Work, metadata: {name: w, namespace: karmada-es-m1}, ",
            "spec: {workload: {manifests: [",
            $manifest,
            "]}}}"
        )
    };
}

/// What is stored of that manifest.
macro_rules! manifest {
    ($manifest:literal) => {
        Stored(concat!(
            "{spec: {workload: {manifests: [",
            $manifest,
            "]}}}"
        ))
    };
}

#[test]
fn checks_21_and_22_manifests_lose_what_belongs_to_the_template() {
    check(&[
        Case {
            name: "21: addresses",
            new: work!(
                "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: []}}"
            ),
            expect: manifest!(
                "{spec: {clusterIP: null, clusterIPs: null, ports: []}, metadata: {annotations: {resourcetemplate.karmada.io/managed-labels: work.karmada.io/permanent-id}}}"
            ),
            ..CREATE
        },
        Case {
            name: "21: no address at all",
            new: work!(
                "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {clusterIP: None, clusterIPs: [None]}}"
            ),
            expect: manifest!(
                "{spec: {clusterIP: None, clusterIPs: [None]}, metadata: {annotations: {resourcetemplate.karmada.io/managed-labels: work.karmada.io/permanent-id}}}"
            ),
            ..CREATE
        },
        Case {
            name: "22: jobs that would remove themselves, and labels of their controller",
            new: work!(
                "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {ttlSecondsAfterFinished: 1, selector: {matchLabels: {controller-uid: u, batch.kubernetes.io/controller-uid: u, keep: x}}, template: {metadata: {labels: {controller-uid: u, batch.kubernetes.io/controller-uid: u, job-name: j, batch.kubernetes.io/job-name: j, keep: x}}}}}"
            ),
            expect: manifest!(
                "{spec: {ttlSecondsAfterFinished: null, selector: {matchLabels: {controller-uid: null, batch.kubernetes.io/controller-uid: null, keep: x}}, template: {metadata: {labels: {controller-uid: null, batch.kubernetes.io/controller-uid: null, job-name: null, batch.kubernetes.io/job-name: null, keep: x}}}}}"
            ),
            ..CREATE
        },
        Case {
            name: "22: labels of a selector made by hand stay",
            new: work!(
                "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {manualSelector: true, ttlSecondsAfterFinished: 1, selector: {matchLabels: {controller-uid: u}}}}"
            ),
            expect: manifest!(
                "{spec: {ttlSecondsAfterFinished: null, selector: {matchLabels: {controller-uid: u}}}}"
            ),
            ..CREATE
        },
        Case {
            name: "what the server filled in",
            new: work!(
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, creationTimestamp: x, deletionTimestamp: x, deletionGracePeriodSeconds: 1, generation: 1, managedFields: [], resourceVersion: '1', selfLink: x, uid: x, ownerReferences: [], finalizers: [], novel: 1}, status: {}, data: {a: b}}"
            ),
            expect: manifest!(
                "{metadata: {name: c, creationTimestamp: null, deletionTimestamp: null, deletionGracePeriodSeconds: null, generation: null, managedFields: null, resourceVersion: null, selfLink: null, uid: null, ownerReferences: null, finalizers: null, novel: 1}, status: null, data: {a: b}}"
            ),
            ..CREATE
        },
        Case {
            name: "revisions of deployments, nodes of claims",
            new: work!(
                "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, annotations: {deployment.kubernetes.io/revision: '1', deployment.kubernetes.io/revision-history: '1', keep: x}}}, {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, annotations: {volume.kubernetes.io/selected-node: n}}}"
            ),
            expect: manifest!(
                "{metadata: {annotations: {deployment.kubernetes.io/revision: null, deployment.kubernetes.io/revision-history: null, keep: x}}}, {metadata: {annotations: {volume.kubernetes.io/selected-node: null}}}"
            ),
            ..CREATE
        },
        Case {
            name: "tokens, all of them",
            new: work!(
                "{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: s, annotations: {kubernetes.io/service-account.uid: u, kubernetes.io/service-account.name: n}}, data: {token: x}}, {apiVersion: v1, kind: ServiceAccount, metadata: {name: sa}, secrets: [{name: sa-token-1}, {name: sa-token-2}, {name: mine}, {novel: 1}]}"
            ),
            expect: manifest!(
                "{data: null, metadata: {annotations: {kubernetes.io/service-account.uid: null, kubernetes.io/service-account.name: n}}}, {secrets: [{name: mine}, {novel: 1}]}"
            ),
            ..CREATE
        },
        Case {
            name: "other secrets keep their data",
            new: work!(
                "{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: s}, data: {token: x}}"
            ),
            expect: manifest!("{data: {token: x}}"),
            ..CREATE
        },
    ]);
}

#[test]
fn what_is_not_a_manifest_is_refused() {
    let refused = Refused(500, "InternalError", &[]);
    check(&[
        Case {
            name: "text",
            new: work!("text"),
            expect: refused,
            ..CREATE
        },
        Case {
            name: "null",
            new: work!("null"),
            expect: refused,
            ..CREATE
        },
        Case {
            name: "no kind",
            new: work!("{apiVersion: v1}"),
            expect: refused,
            ..CREATE
        },
        Case {
            name: "labels that are no map",
            new: work!("{apiVersion: v1, kind: Secret, metadata: {name: s, labels: 1}}"),
            expect: refused,
            ..CREATE
        },
    ]);
    let case = Case {
        new: work!("{apiVersion: v1, kind: Secret, metadata: 1}"),
        ..CREATE
    };
    assert_eq!(
        case.admit().unwrap_err().to_string(),
        "admission webhook \"work.karmada.io\" denied the request: spec.workload.manifests[0]: \
         metadata: is not an object, so nothing can be set below it"
    );
}

#[test]
fn a_space_of_a_cluster_that_cannot_exist_takes_no_works() {
    let refused = Refused(422, "Invalid", &["metadata.namespace Invalid"]);
    let stored = Stored("{}");
    check(&[
        Case {
            name: "a name that is none",
            new: "{apiVersion: work.karmada.io/v1alpha1, kind: Work, metadata: {name: w, namespace: karmada-es--a}, spec: {workload: {manifests: []}}}",
            expect: refused,
            ..CREATE
        },
        Case {
            name: "a name that is too long",
            new: "{apiVersion: work.karmada.io/v1alpha1, kind: Work, metadata: {name: w, namespace: karmada-es-m23456789-123456789-123456789-123456789-123456789}, spec: {workload: {manifests: []}}}",
            expect: refused,
            ..CREATE
        },
        Case {
            name: "one that may be",
            new: "{apiVersion: work.karmada.io/v1alpha1, kind: Work, metadata: {name: w, namespace: karmada-es-m1}, spec: {workload: {manifests: []}}}",
            expect: stored,
            ..CREATE
        },
        Case {
            name: "no such space",
            new: "{apiVersion: work.karmada.io/v1alpha1, kind: Work, metadata: {name: w, namespace: shop}, spec: {workload: {manifests: []}}}",
            expect: stored,
            ..CREATE
        },
    ]);
}

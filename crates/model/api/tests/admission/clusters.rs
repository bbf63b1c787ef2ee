//! Clusters and registries, whose own servers keep the rules.

use karavel_api::{cluster::Cluster, read};
use serde_json::json;

use crate::case::{ACCEPTED, CREATE, Case, Expect::Stored, check, contains, invalid, object};

/// A cluster with the given spec.
macro_rules! cluster {
    ($spec:literal) => {
        concat!(
            "{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: m1}, spec: {syncMode: Push, ",
            $spec,
            "}}"
        )
    };
}

#[test]
fn checks_23_to_27_clusters_are_prepared_checked_and_brought_into_form() {
    check(&[
        Case {
            name: "23: a status that comes along is dropped, and counting begins",
            new: "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: m1, generation: 9}
                spec: {syncMode: Push}
                status: {kubernetesVersion: v1}",
            expect: Stored("{metadata: {generation: 1}, status: null}"),
            ..CREATE
        },
        Case {
            name: "23: no models without the gate",
            new: cluster!(""),
            gates: "CustomizedClusterResourceModeling=false",
            expect: Stored("spec: {resourceModels: null}"),
            ..CREATE
        },
        Case {
            name: "23: an update keeps the status and counts changes of the spec",
            new: "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: m1}
                spec: {syncMode: Push, region: r}
                status: {kubernetesVersion: forged}",
            old: Some(
                "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: m1, generation: 3}
                spec: {syncMode: Push}
                status: {kubernetesVersion: v1, novel: 1}",
            ),
            expect: Stored("{metadata: {generation: 4}, status: {kubernetesVersion: v1, novel: 1}}"),
            ..CREATE
        },
        Case {
            name: "23: an update that changes nothing counts nothing",
            new: cluster!("zones: [], secretRef: null"),
            old: Some(
                "{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: m1, generation: 3}, spec: {syncMode: Push}}",
            ),
            expect: Stored("{metadata: {generation: 3}, status: null}"),
            ..CREATE
        },
        Case {
            name: "24: 49 characters",
            new: "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}
                spec: {syncMode: Push}",
            expect: invalid(&["metadata.name Invalid"]),
            ..CREATE
        },
        Case {
            name: "24: 48 characters",
            new: "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}
                spec: {syncMode: Push}",
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "24: a zone moves",
            new: cluster!("zone: z1"),
            expect: Stored("spec: {zone: null, zones: [z1]}"),
            ..CREATE
        },
        Case {
            name: "24: zone and zones",
            new: cluster!("zone: z1, zones: [z2]"),
            expect: invalid(&["spec.zone Invalid"]),
            ..CREATE
        },
        Case {
            name: "25: an effect that clusters do not have",
            new: cluster!("taints: [{key: k, effect: PreferNoSchedule}]"),
            expect: invalid(&["spec.taints[0].effect NotSupported"]),
            ..CREATE
        },
        Case {
            name: "25: when eviction began",
            new: cluster!("taints: [{key: k, effect: NoExecute}, {key: l, effect: NoExecute, timeAdded: '2020-01-01T00:00:00Z'}, {key: k, effect: NoSchedule}]"),
            expect: Stored(
                "spec: {taints: [{key: k, effect: NoExecute, timeAdded: '2026-03-01T12:00:00Z'}, {key: l, timeAdded: '2020-01-01T00:00:00Z'}, {effect: NoSchedule, timeAdded: null}]}",
            ),
            ..CREATE
        },
        Case {
            name: "25: other faults of taints",
            new: cluster!("taints: [{key: '', effect: ''}, {key: k, effect: NoSchedule, value: '-'}, {key: k, effect: NoSchedule}]"),
            expect: invalid(&[
                "spec.taints[0].key Invalid",
                "spec.taints[0].key Invalid",
                "spec.taints[0].effect Required",
                "spec.taints[1].value Invalid",
                "spec.taints[2] Duplicate",
            ]),
            ..CREATE
        },
        Case {
            name: "27: a mode that is none",
            new: "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: m1}
                spec: {syncMode: Both}",
            expect: invalid(&["spec.syncMode NotSupported"]),
            ..CREATE
        },
        Case {
            name: "27: a query",
            new: cluster!("apiEndpoint: 'https://h:6443?x=1'"),
            expect: invalid(&["spec.apiEndpoint Invalid"]),
            ..CREATE
        },
        Case {
            name: "27: every other fault of an endpoint",
            new: cluster!("apiEndpoint: 'https://u:p@/?x#y'"),
            expect: invalid(&[
                "spec.apiEndpoint Invalid",
                "spec.apiEndpoint Invalid",
                "spec.apiEndpoint Invalid",
                "spec.apiEndpoint Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "27: an address without a scheme",
            new: cluster!("apiEndpoint: '10.0.0.1:6443'"),
            expect: invalid(&["spec.apiEndpoint Invalid"]),
            ..CREATE
        },
        Case {
            name: "27: a host with a port reads as a scheme",
            new: cluster!("apiEndpoint: 'host:6443'"),
            expect: invalid(&["spec.apiEndpoint Invalid"]),
            ..CREATE
        },
        Case {
            name: "27: plain http is good enough",
            new: cluster!("apiEndpoint: 'http://h', proxyURL: 'socks5://p:1'"),
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "secrets, proxy and places",
            new: cluster!(
                "secretRef: {name: s}, impersonatorSecretRef: {namespace: ns}, proxyURL: 'ftp://p', provider: a b, region: '-', zones: [ok, '-']"
            ),
            expect: invalid(&[
                "spec.secretRef.namespace Required",
                "spec.impersonatorSecretRef.name Required",
                "spec.proxyURL Invalid",
                "spec.provider Invalid",
                "spec.region Invalid",
                "spec.zones[1] Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "metadata: no namespace, and what an update may not change",
            new: "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: m2, namespace: a, uid: v, finalizers: [b, c/d]}
                spec: {syncMode: Push}",
            old: Some(
                "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: m1, uid: u, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [b]}
                spec: {syncMode: Push}",
            ),
            expect: invalid(&[
                "metadata.finalizers Forbidden",
                "metadata.name Invalid",
                "metadata.namespace Invalid",
                "metadata.uid Invalid",
                "metadata.namespace Forbidden",
            ]),
            ..CREATE
        },
    ]);
}

#[test]
fn check_23_a_cluster_without_models_gets_nine_grades() {
    let stored = Case {
        new: cluster!(""),
        ..CREATE
    }
    .admit()
    .unwrap()
    .stored;
    let cluster: Cluster = read::read(&stored).unwrap();
    assert_eq!(cluster.spec.resource_models.len(), 9);
    let models = stored.at(&["spec", "resourceModels"]).unwrap();
    let expected = json!([
        {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "1"}, {"name": "memory", "min": "0", "max": "4Gi"}]},
        {"grade": 1, "ranges": [{"name": "cpu", "min": "1", "max": "2"}, {"name": "memory", "min": "4Gi", "max": "16Gi"}]},
    ]);
    for (found, expected) in models
        .as_array()
        .unwrap()
        .iter()
        .zip(expected.as_array().unwrap())
    {
        contains(found, expected, "").unwrap();
    }
    let end = "9223372036854775807";
    let last = json!({"grade": 8, "ranges": [{"name": "cpu", "min": "128", "max": end}, {"name": "memory", "min": "1Ti", "max": end}]});
    assert_eq!(models[8], last);
}

#[test]
fn check_26_models_are_put_into_order_and_must_fit_together() {
    let refused = invalid(&["spec.resourceModels Invalid"]);
    check(&[
        Case {
            name: "sorted, from nothing to no end",
            new: cluster!(
                "resourceModels: [{grade: 5, ranges: [{name: cpu, min: 2, max: 3}]}, {grade: 1, ranges: [{name: cpu, min: 1, max: 2}], novel: 1}]"
            ),
            expect: Stored(
                "spec: {resourceModels: [{grade: 1, ranges: [{min: '0', max: '2'}]}, {grade: 5, ranges: [{min: '2', max: '9223372036854775807'}]}]}",
            ),
            ..CREATE
        },
        Case {
            name: "26: 4Gi and 4096Mi",
            new: cluster!(
                "resourceModels: [{grade: 0, ranges: [{name: memory, min: 0, max: 4Gi}]}, {grade: 1, ranges: [{name: memory, min: 4096Mi, max: 5Gi}]}]"
            ),
            expect: refused,
            ..CREATE
        },
        Case {
            name: "26: 1 and 1000m",
            new: cluster!(
                "resourceModels: [{grade: 0, ranges: [{name: cpu, min: 0, max: 1}]}, {grade: 1, ranges: [{name: cpu, min: 1000m, max: 2}]}]"
            ),
            expect: refused,
            ..CREATE
        },
        Case {
            name: "equal grades",
            new: cluster!(
                "resourceModels: [{grade: 1, ranges: [{name: cpu, min: 0, max: 1}]}, {grade: 1, ranges: [{name: cpu, min: 1, max: 2}]}]"
            ),
            expect: refused,
            ..CREATE
        },
        Case {
            name: "a range too few",
            new: cluster!(
                "resourceModels: [{grade: 1, ranges: [{name: cpu, min: 0, max: 1}]}, {grade: 2, ranges: []}]"
            ),
            expect: refused,
            ..CREATE
        },
        Case {
            name: "another resource",
            new: cluster!(
                "resourceModels: [{grade: 1, ranges: [{name: cpu, min: 0, max: 1}]}, {grade: 2, ranges: [{name: memory, min: 1, max: 2}]}]"
            ),
            expect: refused,
            ..CREATE
        },
        Case {
            name: "an empty range",
            new: cluster!(
                "resourceModels: [{grade: 1, ranges: [{name: cpu, min: 0, max: 0}]}, {grade: 2, ranges: [{name: cpu, min: 0, max: 2}]}]"
            ),
            expect: refused,
            ..CREATE
        },
        Case {
            name: "boundaries that nobody put right",
            new: cluster!("resourceModels: [{grade: 1, ranges: [{name: cpu, min: 1, max: 2}]}]"),
            gates: "CustomizedClusterResourceModeling=false",
            expect: refused,
            ..CREATE
        },
    ]);
}

#[test]
fn the_text_of_a_refusal_names_object_and_fields() {
    let case = Case {
        new: "{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: m1}, spec: {}}",
        ..CREATE
    };
    assert_eq!(
        case.admit().unwrap_err().to_string(),
        "Cluster.cluster.karmada.io \"m1\" is invalid: [spec.syncMode: Required value, \
         spec.syncMode: Unsupported value: \"\": supported values: \"Pull\", \"Push\"]"
    );
    let secret = Case {
        new: cluster!("apiEndpoint: 'https://u:secret@h'"),
        ..CREATE
    };
    assert!(!secret.admit().unwrap_err().to_string().contains("secret"));
    let unreadable = object(cluster!("taints: 1"));
    let rules = karavel_api::admission::rules(&unreadable.group_version_kind()).unwrap();
    let gates = Default::default();
    let refusal = rules
        .validate(&crate::case::request(&gates), None, &unreadable)
        .unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "cannot admit the object: cannot read Cluster: spec.taints: invalid type: integer `1`, expected a sequence"
    );
}

#[test]
fn check_38_registries_are_checked() {
    check(&[
        Case {
            name: "38: an address of another kind",
            new: "
                apiVersion: search.karmada.io/v1alpha1
                kind: ResourceRegistry
                metadata: {name: r}
                spec:
                  targetCluster: {}
                  resourceSelectors: [{apiVersion: v1, kind: Secret}]
                  backendStore: {openSearch: {addresses: ['https://ok:9200', 'ftp://x'], secretRef: {namespace: a, name: b}}}",
            expect: invalid(&["spec.backendStore.openSearch.addresses[1] Invalid"]),
            ..CREATE
        },
        Case {
            name: "38: nothing to cache",
            new: "
                apiVersion: search.karmada.io/v1alpha1
                kind: ResourceRegistry
                metadata: {name: r}
                spec: {targetCluster: {}, resourceSelectors: []}",
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "every other field",
            new: "
                apiVersion: search.karmada.io/v1alpha1
                kind: ResourceRegistry
                metadata: {name: R}
                spec:
                  targetCluster: {fieldSelector: {matchExpressions: [{key: x, operator: In}]}}
                  resourceSelectors: [{apiVersion: a/b/c, kind: K, namespace: A}, {apiVersion: '', kind: K}]
                  backendStore: {openSearch: {addresses: ['http://', ':x']}}",
            expect: invalid(&[
                "metadata.name Invalid",
                "spec.targetCluster.fieldSelector Invalid",
                "spec.resourceSelectors[0].apiVersion Invalid",
                "spec.resourceSelectors[0].namespace Invalid",
                "spec.backendStore.openSearch.addresses[0] Invalid",
                "spec.backendStore.openSearch.addresses[1] Invalid",
            ]),
            ..CREATE
        },
    ]);
}

//! The places where the API surprises, one case or more for each, numbered as its reference numbers them. Shown
//! elsewhere: the spelling of gates (5) beside the gates, the side effects of quotas (15) with the bindings.

use karavel_api::{
    names::{binding_name, short_hash, work_name},
    work::{v1alpha1, v1alpha2},
};
use serde_json::json;

use crate::case::{ACCEPTED, CREATE, Case, Expect::Stored, FRESH_ID, check, denied, invalid};

#[test]
fn ids_of_policies_are_always_new_and_those_of_others_are_kept() {
    check(&[
        Case {
            name: "pitfall 1: a Work keeps its id",
            new: "
                apiVersion: work.karmada.io/v1alpha1
                kind: Work
                metadata: {name: w, namespace: karmada-es-m1, labels: {work.karmada.io/permanent-id: mine}}
                spec: {}",
            expect: Stored("metadata: {labels: {work.karmada.io/permanent-id: mine}}"),
            ..CREATE
        },
        Case {
            name: "pitfall 1: a MultiClusterService keeps its id",
            new: "
                apiVersion: networking.karmada.io/v1alpha1
                kind: MultiClusterService
                metadata: {name: s, namespace: a, labels: {multiclusterservice.karmada.io/permanent-id: mine}}
                spec: {types: [CrossCluster]}",
            expect: Stored("metadata: {labels: {multiclusterservice.karmada.io/permanent-id: mine}}"),
            ..CREATE
        },
        Case {
            name: "pitfall 2: a policy without its id cannot be updated, not even to drop a finalizer",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: PropagationPolicy
                metadata: {name: p, namespace: a}
                spec: {resourceSelectors: [{apiVersion: v1, kind: Secret}]}",
            old: Some(
                "
                apiVersion: policy.karmada.io/v1alpha1
                kind: PropagationPolicy
                metadata: {name: p, namespace: a, finalizers: [karmada.io/propagation-policy-controller]}
                spec: {resourceSelectors: [{apiVersion: v1, kind: Secret}], schedulerName: default-scheduler}",
            ),
            expect: denied(&["metadata.labels[propagationpolicy.karmada.io/permanent-id] Required"]),
            ..CREATE
        },
    ]);
}

#[test]
fn absent_and_empty_are_told_apart_where_upstream_does() {
    check(&[
        Case {
            name: "pitfall 3: replicaScheduling {} is divided",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: ClusterPropagationPolicy
                metadata: {name: p}
                spec: {resourceSelectors: [{apiVersion: v1, kind: Secret}], placement: {replicaScheduling: {}}}",
            expect: Stored(
                "spec: {placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}}}",
            ),
            ..CREATE
        },
        Case {
            name: "pitfall 9: a policy gains an empty placement",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: PropagationPolicy
                metadata: {name: p, namespace: a}
                spec: {resourceSelectors: [{apiVersion: v1, kind: Secret}]}",
            expect: Stored("spec: {placement: {}}"),
            ..CREATE
        },
        Case {
            name: "pitfall 9: an override policy gains empty overriders",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: OverridePolicy
                metadata: {name: p, namespace: a}
                spec: {overrideRules: [{overriders: {}}]}",
            expect: Stored("spec: {overriders: {}}"),
            ..CREATE
        },
        Case {
            name: "pitfall 9: the cluster-wide twin does not",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: ClusterOverridePolicy
                metadata: {name: p}
                spec: {overrideRules: [{overriders: {}}]}",
            expect: Stored("spec: {overriders: null}"),
            ..CREATE
        },
        Case {
            name: "pitfall 16: null is no value",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: OverridePolicy
                metadata: {name: p, namespace: a}
                spec:
                  overrideRules:
                  - overriders:
                      fieldOverrider: [{fieldPath: /data/x, json: [{subPath: /a, operator: remove, value: null}]}]",
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "pitfall 18: an empty list of affinities is dropped",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: PropagationPolicy
                metadata: {name: p, namespace: a}
                spec:
                  resourceSelectors: [{apiVersion: v1, kind: Secret}]
                  placement: {clusterAffinity: {clusterNames: [m1]}, clusterAffinities: []}",
            expect: Stored("spec: {placement: {clusterAffinities: null}}"),
            ..CREATE
        },
        Case {
            name: "pitfall 18: and so is an empty list of override rules",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: OverridePolicy
                metadata: {name: p, namespace: a}
                spec: {targetCluster: {}, overrideRules: []}",
            expect: Stored("spec: {targetCluster: {}, overrideRules: null}"),
            ..CREATE
        },
        Case {
            name: "pitfall 18: but not in a ClusterOverridePolicy",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: ClusterOverridePolicy
                metadata: {name: p}
                spec: {targetCluster: {}, overrideRules: []}",
            expect: denied(&["spec.targetCluster Invalid"]),
            ..CREATE
        },
    ]);
}

#[test]
fn records_of_managed_keys_name_themselves() {
    check(&[Case {
        name: "pitfall 11: both records are among the annotations, whatever was recorded before",
        new: "
            apiVersion: work.karmada.io/v1alpha1
            kind: Work
            metadata: {name: w, namespace: karmada-es-m1}
            spec:
              workload:
                manifests:
                - apiVersion: v1
                  kind: ConfigMap
                  metadata:
                    name: c
                    labels: {app: x}
                    annotations: {b: '2', a: '1', resourcetemplate.karmada.io/managed-annotations: old}",
        expect: Stored(
            "
            metadata: {labels: {work.karmada.io/permanent-id: 2f1a8c1e-0b5f-4a57-9d35-7c2a6a0f4b11}}
            spec:
              workload:
                manifests:
                - metadata:
                    labels: {app: x, work.karmada.io/permanent-id: 2f1a8c1e-0b5f-4a57-9d35-7c2a6a0f4b11}
                    annotations:
                      resourcetemplate.karmada.io/managed-annotations:
                        a,b,resourcetemplate.karmada.io/managed-annotations,resourcetemplate.karmada.io/managed-labels
                      resourcetemplate.karmada.io/managed-labels: app,work.karmada.io/permanent-id",
        ),
        ..CREATE
    }]);
    assert_eq!(FRESH_ID.len(), 36);
}

#[test]
fn resource_models_are_compared_as_written_and_not_filled_in_again() {
    check(&[
        Case {
            name: "pitfall 12: 4Gi does not meet 4096Mi",
            new: "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: m1}
                spec:
                  syncMode: Push
                  resourceModels:
                  - {grade: 0, ranges: [{name: memory, min: '0', max: 4Gi}]}
                  - {grade: 1, ranges: [{name: memory, min: 4096Mi, max: 8Gi}]}",
            expect: invalid(&["spec.resourceModels Invalid"]),
            ..CREATE
        },
        Case {
            name: "pitfall 13: models that are taken away stay away",
            new: "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: m1}
                spec: {syncMode: Push}",
            old: Some(
                "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: m1, generation: 4}
                spec: {syncMode: Push, resourceModels: [{grade: 0, ranges: [{name: cpu, min: '0', max: '9223372036854775807'}]}]}",
            ),
            expect: Stored("{metadata: {generation: 5}, spec: {resourceModels: null}}"),
            ..CREATE
        },
    ]);
}

#[test]
fn pitfalls_10_and_14_and_19_and_20_codes_versions_and_names() {
    check(&[
        Case {
            name: "pitfall 10: a status is checked when it comes with the object",
            new: "
                apiVersion: autoscaling.karmada.io/v1alpha1
                kind: FederatedHPA
                metadata: {name: f, namespace: a}
                spec: {scaleTargetRef: {kind: Deployment, name: d}, maxReplicas: 2}
                status: {currentReplicas: -1, desiredReplicas: -2}",
            expect: denied(&[
                "status.currentReplicas Invalid",
                "status.desiredReplicas Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "pitfall 14: admission wants bindings in the version they are stored in",
            new: "
                apiVersion: work.karmada.io/v1alpha1
                kind: ResourceBinding
                metadata: {name: b, namespace: a}
                spec: {resource: {apiVersion: v1, kind: Secret, name: s}}",
            expect: crate::case::Expect::Refused(400, "BadRequest", &[]),
            ..CREATE
        },
        Case {
            name: "pitfall 19: servers of kinds answer 422",
            new: "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: m1}
                spec: {}",
            expect: invalid(&["spec.syncMode Required", "spec.syncMode NotSupported"]),
            ..CREATE
        },
        Case {
            name: "pitfall 20: no cluster is called *",
            new: "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {name: '*'}
                spec: {syncMode: Push}",
            expect: invalid(&["metadata.name Invalid"]),
            ..CREATE
        },
        Case {
            name: "pitfall 17: open enums stay open: a taint policy takes any effect",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: ClusterTaintPolicy
                metadata: {name: t}
                spec:
                  addOnConditions: [{conditionType: Ready, operator: Like, statusValues: [x]}]
                  taints: [{key: 'not a key', effect: Whatever}]",
            expect: ACCEPTED,
            ..CREATE
        },
    ]);
}

#[test]
fn pitfall_6_to_8_names_collide_and_hashes_are_not_padded() {
    assert_eq!(
        binding_name("Ingress", "web"),
        binding_name("ingress", "Web")
    );
    // Namespace, name and kind are joined before they are hashed, so it does not matter where one ends.
    assert_eq!(
        work_name("Role", "web", "team-web"),
        work_name("web-Role", "web", "team")
    );
    assert_eq!(
        work_name("Role", "A:B", ""),
        format!("a.b-{}", short_hash("a.b-role"))
    );
    assert!(
        (0..2000)
            .map(|n| short_hash(&n.to_string()).len())
            .any(|length| length < 10)
    );
}

#[test]
fn pitfall_4_and_14_a_write_through_the_old_version_loses_what_only_the_new_one_has() {
    let binding: v1alpha2::ResourceBinding = serde_json::from_value(json!({
        "metadata": {"name": "b"},
        "spec": {
            "resource": {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": "u"},
            "placement": {"clusterAffinity": {"exclude": ["m1"]}},
            "replicas": 2,
        },
        "status": {"schedulerObservingAffinityName": "first"},
    }))
    .unwrap();
    assert_eq!(binding.status.scheduler_observed_affinity_name, "first");
    let old = v1alpha1::ResourceBinding::from(binding);
    let back = serde_json::to_value(v1alpha2::ResourceBinding::from(old)).unwrap();
    assert_eq!(back["spec"]["replicas"], 2);
    assert_eq!(back["spec"].get("placement"), None);
    assert_eq!(back["spec"]["resource"].get("uid"), None);
    assert_eq!(back["status"].get("schedulerObservingAffinityName"), None);
}

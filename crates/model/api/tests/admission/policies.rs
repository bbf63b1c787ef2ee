//! Policies: propagation, overrides, taints, quotas.

use crate::case::{ACCEPTED, CREATE, Case, Expect::Stored, check, denied};

#[test]
fn policies_are_refused_for_every_field_that_is_wrong() {
    check(&[
        Case {
            name: "names of terms, of overflow tiers and field selectors",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: ClusterPropagationPolicy
                metadata: {name: p}
                spec:
                  resourceSelectors: [{apiVersion: v1, kind: Secret}]
                  placement:
                    replicaScheduling: {replicaDivisionPreference: Aggregated}
                    clusterAffinities:
                    - affinityName: -a
                      clusterNames: [m1]
                      overflowAffinities:
                      - {affinityName: -a, fieldSelector: {matchExpressions: [{key: name, operator: In}]}}
                      - {affinityName: b, clusterNames: [m2]}
                      - {affinityName: b, clusterNames: [m3]}
                    - affinityName: c
                      fieldSelector: {matchExpressions: [{key: region, operator: Exists}]}",
            expect: denied(&[
                "spec.placement.clusterAffinities[0] Invalid",
                "spec.placement.clusterAffinities[0].overflowAffinities[0].affinityName Invalid",
                "spec.placement.clusterAffinities[0].overflowAffinities[0].affinityName Invalid",
                "spec.placement.clusterAffinities[0].overflowAffinities[0].fieldSelector Invalid",
                "spec.placement.clusterAffinities[0].overflowAffinities[2].affinityName Invalid",
                "spec.placement.clusterAffinities[1].fieldSelector Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "spread constraints and workload affinity",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: ClusterPropagationPolicy
                metadata: {name: p}
                spec:
                  resourceSelectors: [{apiVersion: v1, kind: Secret}]
                  placement:
                    clusterAffinity: {fieldSelector: {matchExpressions: [{key: zone, operator: Gt}]}}
                    spreadConstraints:
                    - {spreadByField: region, spreadByLabel: x, maxGroups: 1, minGroups: 2}
                    - {spreadByField: region, minGroups: -1}
                    - {spreadByField: region, maxGroups: -1}
                    workloadAffinity:
                      affinity: {groupByLabelKey: a/b/c}
                      antiAffinity: {groupByLabelKey: a/b/c}",
            expect: denied(&[
                "spec.placement.clusterAffinity.fieldSelector Invalid",
                "spec.placement.spreadConstraints[0] Invalid",
                "spec.placement.spreadConstraints[0] Invalid",
                "spec.placement.spreadConstraints[1] Invalid",
                "spec.placement.spreadConstraints Invalid",
                "spec.placement.spreadConstraints[2] Invalid",
                "spec.placement.spreadConstraints Invalid",
                "spec.placement.workloadAffinity.affinity.groupByLabelKey Invalid",
                "spec.placement.workloadAffinity.antiAffinity.groupByLabelKey Invalid",
                "spec.placement.workloadAffinity Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "failover, preemption",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: ClusterPropagationPolicy
                metadata: {name: p}
                spec:
                  resourceSelectors: [{apiVersion: v1, kind: Secret}, {apiVersion: v1, kind: Secret, name: s}]
                  preemption: Always
                  propagateDeps: true
                  failover:
                    application:
                      decisionConditions: {tolerationSeconds: -1}
                      gracePeriodSeconds: 0
                      statePreservation: {rules: [{aliasLabelName: '-', jsonPath: '{.x}'}]}
                    cluster:
                      statePreservation: {rules: [{aliasLabelName: a b, jsonPath: '{.x}'}]}",
            expect: denied(&[
                "spec.failover.application.decisionConditions.tolerationSeconds Invalid",
                "spec.failover.application.gracePeriodSeconds Invalid",
                "spec.failover.application.statePreservation.rules[0].aliasLabelName Invalid",
                "spec.failover.cluster.statePreservation.rules[0].aliasLabelName Invalid",
                "spec.resourceSelectors[0].name Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "labels, annotations and pointers of overriders",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: ClusterOverridePolicy
                metadata: {name: p}
                spec:
                  overrideRules:
                  - targetCluster: {fieldSelector: {matchExpressions: [{key: x, operator: In}]}}
                    overriders:
                      labelsOverrider: [{operator: add, value: {a/b/c: '-'}}]
                      annotationsOverrider: [{operator: add, value: {'': x, Example.com/A: any text}}]
                      imageOverrider: [{component: Tag, operator: replace, predicate: {path: spec}}]
                      fieldOverrider:
                      - fieldPath: data
                        json: [{subPath: a, operator: add}, {subPath: '', operator: replace, value: null}]
                      - fieldPath: ''",
            expect: denied(&[
                "spec.overrideRules[0].overriders.annotationsOverrider[0].value Invalid",
                "spec.overrideRules[0].overriders.annotationsOverrider[0].value Invalid",
                "spec.overrideRules[0].overriders.labelsOverrider[0].value Invalid",
                "spec.overrideRules[0].overriders.labelsOverrider[0].value Invalid",
                "spec.overrideRules[0].overriders.imageOverrider[0].predicate.path Invalid",
                "spec.overrideRules[0].overriders.fieldOverrider[0].fieldPath Invalid",
                "spec.overrideRules[0].overriders.fieldOverrider[0].json[0].subPath Invalid",
                "spec.overrideRules[0].overriders.fieldOverrider[0].json[0].value Invalid",
                "spec.overrideRules[0].overriders.fieldOverrider[0].json[1].value Invalid",
                "spec.overrideRules[0].overriders.fieldOverrider[1] Required",
                "spec.overrideRules[0].targetCluster.fieldSelector Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "overriders beside rules are noticed, unless they are field overriders alone",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: OverridePolicy
                metadata: {name: p, namespace: a}
                spec:
                  overrideRules: [{overriders: {}}]
                  overriders: {plaintext: [{path: /x, operator: remove}]}",
            expect: denied(&["spec.overriders Invalid"]),
            ..CREATE
        },
        Case {
            name: "a field overrider alone beside rules",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: OverridePolicy
                metadata: {name: p, namespace: a}
                spec:
                  overrideRules: [{overriders: {}}]
                  overriders: {fieldOverrider: [{fieldPath: nowhere}]}",
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "names and amounts in quotas",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: FederatedResourceQuota
                metadata: {name: q, namespace: a}
                spec:
                  overall: {cpu: '-1', pods: 500m, parrots: '1', storage: '1', nvidia.com/gpu: 1500m, a/b/c: '1'}
                  staticAssignments: [{clusterName: Bad, hard: {services.nodeports: '2'}}]
                status:
                  overallUsed: {hugepages-2Mi: 1Gi, requests.hugepages-1Gi: '-1'}
                  aggregatedStatus: [{clusterName: '', hard: {wood: '1'}, used: {requests.nvidia.com/gpu: '1'}}]",
            expect: denied(&[
                "spec.overall[a/b/c] Invalid",
                "spec.overall[cpu] Invalid",
                "spec.overall[nvidia.com/gpu] Invalid",
                "spec.overall[parrots] Invalid",
                "spec.overall[parrots] Invalid",
                "spec.overall[pods] Invalid",
                "spec.overall[storage] Invalid",
                "spec.staticAssignments[0].clusterName Invalid",
                "spec.overall[cpu] Invalid",
                "spec.staticAssignments[0].hard[services.nodeports] Invalid",
                "status.overallUsed[requests.hugepages-1Gi] Invalid",
                "status.aggregatedStatus[0].clusterName Invalid",
                "status.aggregatedStatus[0].hard[wood] Invalid",
                "status.aggregatedStatus[0].hard[wood] Invalid",
            ]),
            ..CREATE
        },
    ]);
}

#[test]
fn what_no_type_knows_survives_the_rewriting_of_policies() {
    check(&[
        Case {
            name: "unknown fields stay, even empty ones; known empty ones go",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: PropagationPolicy
                metadata: {name: p, namespace: a, novel: {}}
                spec:
                  novel: []
                  dependentOverrides: []
                  resourceSelectors: [{apiVersion: v1, kind: Secret, novel: '', labelSelector: {}, name: ''}]
                  placement: {clusterTolerations: null, novel: 0, clusterAffinity: {clusterNames: []}}",
            expect: Stored(
                "
                metadata: {novel: {}}
                spec:
                  novel: []
                  dependentOverrides: null
                  resourceSelectors: [{apiVersion: v1, kind: Secret, namespace: a, novel: '', labelSelector: {}, name: null}]
                  placement: {clusterTolerations: null, novel: 0, clusterAffinity: {clusterNames: null}}",
            ),
            ..CREATE
        },
        Case {
            name: "amounts keep their spelling",
            new: "
                apiVersion: autoscaling.karmada.io/v1alpha1
                kind: FederatedHPA
                metadata: {name: f, namespace: a}
                spec:
                  scaleTargetRef: {kind: Deployment, name: d}
                  maxReplicas: 2
                  metrics:
                  - type: Pods
                    pods: {metric: {name: m}, target: {type: AverageValue, averageValue: 1000m}}",
            expect: Stored("spec: {metrics: [{pods: {target: {averageValue: 1000m}}}]}"),
            ..CREATE
        },
    ]);
}

//! The acceptance checks of the API, by number. Left to tests of a running server: 4 (the schema's part), the dry run
//! of 19, 39 (shown in `registry`) and 40.

use karavel_api::{
    admission::{check_binding_deletion, check_deletion},
    names::{binding_name, binding_reference_key, execution_space, work_name},
    schema::structural_schema,
    well_known::labels::depended_by,
    work::{v1alpha1, v1alpha2},
};
use serde_json::json;

use crate::case::{ACCEPTED, CREATE, Case, Expect::Stored, check, denied, object};

const STORED_POLICY: &str = "
    apiVersion: policy.karmada.io/v1alpha1
    kind: PropagationPolicy
    metadata: {name: p, namespace: a, labels: {propagationpolicy.karmada.io/permanent-id: id}}
    spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, namespace: a}], schedulerName: default-scheduler}";

#[test]
fn checks_1_to_3_a_policy_is_filled_in_and_keeps_its_identity() {
    check(&[
        Case {
            name: "1: a selector is enough",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: PropagationPolicy
                metadata: {name: p, namespace: a}
                spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]}",
            expect: Stored(
                "
                metadata:
                  finalizers: [karmada.io/propagation-policy-controller]
                  labels: {propagationpolicy.karmada.io/permanent-id: 2f1a8c1e-0b5f-4a57-9d35-7c2a6a0f4b11}
                spec:
                  resourceSelectors: [{namespace: a}]
                  priority: 0
                  preemption: Never
                  conflictResolution: Abort
                  schedulerName: default-scheduler",
            ),
            ..CREATE
        },
        Case {
            name: "2: a policy gets a new id",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: PropagationPolicy
                metadata: {name: p, namespace: a, labels: {propagationpolicy.karmada.io/permanent-id: mine}}
                spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]}",
            expect: Stored(
                "metadata: {labels: {propagationpolicy.karmada.io/permanent-id: 2f1a8c1e-0b5f-4a57-9d35-7c2a6a0f4b11}}",
            ),
            ..CREATE
        },
        Case {
            name: "2: a binding keeps its id",
            new: "
                apiVersion: work.karmada.io/v1alpha2
                kind: ResourceBinding
                metadata: {name: b, namespace: a, labels: {resourcebinding.karmada.io/permanent-id: mine}}
                spec: {resource: {apiVersion: v1, kind: Secret, name: s}}",
            expect: Stored("metadata: {labels: {resourcebinding.karmada.io/permanent-id: mine}}"),
            ..CREATE
        },
        Case {
            name: "3: the scheduler stays",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: PropagationPolicy
                metadata: {name: p, namespace: a, labels: {propagationpolicy.karmada.io/permanent-id: id}}
                spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], schedulerName: mine}",
            old: Some(STORED_POLICY),
            expect: denied(&["spec.schedulerName Invalid"]),
            ..CREATE
        },
        Case {
            name: "3: the id stays",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: PropagationPolicy
                metadata: {name: p, namespace: a}
                spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]}",
            old: Some(STORED_POLICY),
            expect: denied(&[
                "metadata.labels[propagationpolicy.karmada.io/permanent-id] Invalid",
                "metadata.labels[propagationpolicy.karmada.io/permanent-id] Required",
            ]),
            ..CREATE
        },
    ]);
}

#[test]
fn check_4_the_schema_wants_a_selector() {
    let schema = structural_schema::<karavel_api::policy::PropagationPolicy>();
    assert_eq!(
        schema["properties"]["spec"]["properties"]["resourceSelectors"]["minItems"],
        1
    );
}

#[test]
fn check_5_a_namespaced_policy_stays_in_its_namespace() {
    check(&[
        Case {
            name: "5: not in another one",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: PropagationPolicy
                metadata: {name: p, namespace: a}
                spec: {resourceSelectors: [{apiVersion: v1, kind: Secret, namespace: b}]}",
            expect: denied(&["spec.resourceSelectors[0].namespace Invalid"]),
            ..CREATE
        },
        Case {
            name: "5: a cluster-wide one may",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: ClusterPropagationPolicy
                metadata: {name: p}
                spec: {resourceSelectors: [{apiVersion: v1, kind: Secret, namespace: b}]}",
            expect: Stored(
                "{metadata: {finalizers: [karmada.io/cluster-propagation-policy-controller]}, spec: {resourceSelectors: [{namespace: b}]}}",
            ),
            ..CREATE
        },
    ]);
}

/// A policy with the given rest of its spec.
macro_rules! policy {
    ($spec:literal) => {
        concat!(
            "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p, namespace: a}, ",
            "spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], ",
            $spec,
            "}}"
        )
    };
}

#[test]
fn checks_6_to_9_placement_and_failover_are_filled_in() {
    check(&[
        Case {
            name: "6: {} is divided by weight",
            new: policy!("placement: {replicaScheduling: {}}"),
            expect: Stored(
                "spec: {placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}}}",
            ),
            ..CREATE
        },
        Case {
            name: "6: absent stays absent",
            new: policy!("placement: {}"),
            expect: Stored("spec: {placement: {replicaScheduling: null}}"),
            ..CREATE
        },
        Case {
            name: "7: failover with all that it needs",
            new: policy!("propagateDeps: true, failover: {application: {decisionConditions: {}}}"),
            expect: Stored(
                "spec: {failover: {application: {decisionConditions: {tolerationSeconds: 300}, purgeMode: Gracefully, gracePeriodSeconds: 600}}}",
            ),
            ..CREATE
        },
        Case {
            name: "7: failover without dependencies",
            new: policy!("propagateDeps: false, failover: {application: {decisionConditions: {}}}"),
            expect: denied(&["spec.propagateDeps Invalid"]),
            ..CREATE
        },
        Case {
            name: "8: no grace period for copies that stay",
            new: policy!(
                "propagateDeps: true, failover: {application: {decisionConditions: {}, purgeMode: Never, gracePeriodSeconds: 10}}"
            ),
            expect: denied(&["spec.failover.application.gracePeriodSeconds Invalid"]),
            ..CREATE
        },
        Case {
            name: "8: the older name of a mode counts as the newer",
            new: policy!(
                "propagateDeps: true, failover: {application: {decisionConditions: {}, purgeMode: Graciously}}"
            ),
            expect: Stored(
                "spec: {failover: {application: {purgeMode: Graciously, gracePeriodSeconds: 600}}}",
            ),
            ..CREATE
        },
        Case {
            name: "9: a bare constraint is by cluster",
            new: policy!("placement: {spreadConstraints: [{maxGroups: 2}]}"),
            expect: Stored(
                "spec: {placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 2}]}}",
            ),
            ..CREATE
        },
        Case {
            name: "9: region alone",
            new: policy!("placement: {spreadConstraints: [{spreadByField: region}]}"),
            expect: denied(&["spec.placement.spreadConstraints Invalid"]),
            ..CREATE
        },
        Case {
            name: "9: region and cluster",
            new: policy!(
                "placement: {spreadConstraints: [{spreadByField: region}, {spreadByField: cluster}]}"
            ),
            expect: ACCEPTED,
            ..CREATE
        },
    ]);
}

#[test]
fn checks_10_to_14_placement_is_checked() {
    check(&[
        Case {
            name: "10: both forms of affinity",
            new: policy!("placement: {clusterAffinity: {}, clusterAffinities: [{affinityName: a}]}"),
            expect: denied(&["spec.placement Invalid"]),
            ..CREATE
        },
        Case {
            name: "10: two terms of one name",
            new: policy!("placement: {clusterAffinities: [{affinityName: a}, {affinityName: a}]}"),
            expect: denied(&["spec.placement.clusterAffinities Invalid"]),
            ..CREATE
        },
        Case {
            name: "11: overflow of what is not divided",
            new: policy!(
                "placement: {replicaScheduling: {replicaSchedulingType: Duplicated}, clusterAffinities: [{affinityName: a, clusterNames: [m1], overflowAffinities: [{affinityName: b}]}]}"
            ),
            expect: denied(&["spec.placement.clusterAffinities[0].overflowAffinities Invalid"]),
            ..CREATE
        },
        Case {
            name: "11: overflow of what is aggregated",
            new: policy!(
                "placement: {replicaScheduling: {replicaDivisionPreference: Aggregated}, clusterAffinities: [{affinityName: a, clusterNames: [m1], overflowAffinities: [{affinityName: b}]}]}"
            ),
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "11: overflow from nowhere",
            new: policy!(
                "placement: {replicaScheduling: {weightPreference: {dynamicWeight: AvailableReplicas}}, clusterAffinities: [{affinityName: a, overflowAffinities: [{affinityName: b}]}]}"
            ),
            expect: denied(&["spec.placement.clusterAffinities[0].overflowAffinities Invalid"]),
            ..CREATE
        },
        Case {
            name: "12: a numeric toleration",
            new: policy!("placement: {clusterTolerations: [{key: k, operator: Exists}, {key: k, operator: Gt, value: '1'}]}"),
            expect: denied(&["spec.placement.clusterTolerations[1].operator NotSupported"]),
            ..CREATE
        },
        Case {
            name: "13: all clusters and some",
            new: policy!("suspension: {dispatching: true, dispatchingOnClusters: {clusterNames: [m1]}}"),
            expect: denied(&["spec.suspension.suspension Invalid"]),
            ..CREATE
        },
        Case {
            name: "13: none and some",
            new: policy!("suspension: {dispatching: false, dispatchingOnClusters: {clusterNames: [m1]}}"),
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "14: imports bring their dependencies",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: PropagationPolicy
                metadata: {name: p, namespace: a}
                spec:
                  propagateDeps: false
                  resourceSelectors: [{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport}]",
            expect: Stored("spec: {propagateDeps: true}"),
            ..CREATE
        },
    ]);
}

/// An override policy with the given spec.
macro_rules! overrides {
    ($spec:literal) => {
        concat!(
            "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: p, namespace: a}, spec: {",
            $spec,
            "}}"
        )
    };
}

#[test]
fn checks_15_to_18_overrides_taints_and_quotas_are_checked() {
    check(&[
        Case {
            name: "15: both forms",
            new: overrides!("targetCluster: {}, overrideRules: [{overriders: {}}]"),
            expect: denied(&["spec.targetCluster Invalid"]),
            ..CREATE
        },
        Case {
            name: "15: json and yaml",
            new: overrides!(
                "overrideRules: [{overriders: {fieldOverrider: [{fieldPath: /data/a, json: [{subPath: /a, operator: remove}], yaml: [{subPath: /a, operator: remove}]}]}}]"
            ),
            expect: denied(&["spec.overrideRules[0].overriders.fieldOverrider[0] Invalid"]),
            ..CREATE
        },
        Case {
            name: "15: removing with a value",
            new: overrides!(
                "overrideRules: [{overriders: {fieldOverrider: [{fieldPath: /data/a, json: [{subPath: /a, operator: remove, value: 1}]}]}}]"
            ),
            expect: denied(&["spec.overrideRules[0].overriders.fieldOverrider[0].json[0].value Invalid"]),
            ..CREATE
        },
        Case {
            name: "16: plain changes go unchecked",
            new: overrides!("overrideRules: [{overriders: {plaintext: [{path: no-slash, operator: remove}]}}]"),
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "17: NoExecute needs leave",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: ClusterTaintPolicy
                metadata: {name: t}
                spec: {taints: [{key: k, effect: NoExecute}]}",
            expect: denied(&["spec.taints[0] Forbidden"]),
            ..CREATE
        },
        Case {
            name: "17: NoExecute with leave",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: ClusterTaintPolicy
                metadata: {name: t}
                spec: {taints: [{key: k, effect: NoExecute}]}",
            allow_no_execute: true,
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "17: a taint twice, reported where it is first",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: ClusterTaintPolicy
                metadata: {name: t}
                spec: {taints: [{key: k, effect: E}, {key: x, effect: E}, {key: k, effect: E, value: v}]}",
            expect: denied(&["spec.taints[0] Duplicate"]),
            ..CREATE
        },
        Case {
            name: "18: more is assigned than there is",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: FederatedResourceQuota
                metadata: {name: q, namespace: a}
                spec:
                  overall: {cpu: 10}
                  staticAssignments: [{clusterName: m1, hard: {cpu: 6}}, {clusterName: m2, hard: {cpu: 5}}]",
            expect: denied(&["spec.overall[cpu] Invalid"]),
            ..CREATE
        },
        Case {
            name: "18: something is assigned that is not limited",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: FederatedResourceQuota
                metadata: {name: q, namespace: a}
                spec: {overall: {cpu: 10}, staticAssignments: [{clusterName: m1, hard: {memory: 1Gi}}]}",
            expect: denied(&["spec.staticAssignments[0].hard[memory] Invalid"]),
            ..CREATE
        },
        Case {
            name: "18: a name of 64 characters",
            new: "
                apiVersion: policy.karmada.io/v1alpha1
                kind: FederatedResourceQuota
                metadata: {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, namespace: a}
                spec: {overall: {cpu: 10}}",
            expect: denied(&["metadata.name Invalid"]),
            ..CREATE
        },
    ]);
}

#[test]
fn checks_28_to_30_names_are_computed() {
    assert_eq!(binding_name("Deployment", "nginx"), "nginx-deployment");
    let work = format!(
        "{}/{}",
        execution_space("m1"),
        work_name("Deployment", "nginx", "default")
    );
    assert_eq!(work, "karmada-es-m1/nginx-687f7fb96f");
    assert_eq!(
        binding_name("ClusterRole", "system:node:Foo"),
        "system.node.foo-clusterrole"
    );
    assert_eq!(
        work_name("ClusterRole", "system:node:Foo", ""),
        "system.node.foo-58844b54c5"
    );
    let label = depended_by(&binding_reference_key("default", "nginx-deployment"));
    assert_eq!(label, "resourcebinding.karmada.io/depended-by-5bdc5c4dcf");
}

#[test]
fn check_31_the_older_version_of_a_binding_has_its_replicas_and_no_placement() {
    let binding: v1alpha2::ResourceBinding = serde_json::from_value(json!({
        "metadata": {"name": "b", "namespace": "a"},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "replicas": 3,
            "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
            "placement": {"clusterAffinity": {}},
        },
    }))
    .unwrap();
    let old = serde_json::to_value(v1alpha1::ResourceBinding::from(binding)).unwrap();
    assert_eq!(old["apiVersion"], "work.karmada.io/v1alpha1");
    assert_eq!(old["spec"]["resource"]["replicas"], 3);
    assert_eq!(
        old["spec"]["resource"]["resourcePerReplicas"],
        json!({"cpu": "1"})
    );
    assert_eq!(old["spec"].get("placement"), None);
}

#[test]
fn check_37_protected_objects_are_not_deleted() {
    for (value, is_refused) in [
        ("Always", true),
        ("Never", false),
        ("always", false),
        ("''", false),
    ] {
        let stored = object(&format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d, labels: {{resourcetemplate.karmada.io/deletion-protected: {value}}}}}}}"
        ));
        let verdict = check_deletion(&stored);
        assert_eq!(verdict.is_err(), is_refused, "{value}");
        if let Err(refusal) = verdict {
            assert_eq!((refusal.code(), refusal.reason()), (403, "Forbidden"));
            let start =
                "admission webhook \"resourcedeletionprotection.karmada.io\" denied the request: ";
            assert!(refusal.to_string().starts_with(start));
        }
    }
    assert!(check_deletion(&object("{kind: Deployment, metadata: {name: d}}")).is_ok());
}

#[test]
fn the_binding_of_a_protected_template_is_not_deleted() {
    for (value, is_refused) in [
        (Some("Always"), true),
        (Some("Never"), false),
        (None, false),
    ] {
        let asked = |label: &str| {
            assert_eq!(label, "resourcetemplate.karmada.io/deletion-protected");
            value
        };
        let verdict = check_binding_deletion("Deployment test/web", asked);
        assert_eq!(verdict.is_err(), is_refused, "{value:?}");
        if let Err(refusal) = verdict {
            assert_eq!((refusal.code(), refusal.reason()), (403, "Forbidden"));
            let said = refusal.to_string();
            assert!(
                said.contains("the binding of Deployment test/web"),
                "{said}"
            );
        }
    }
}

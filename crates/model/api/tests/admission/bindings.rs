//! Bindings: their ids, and the quotas of their namespace.

use karavel_api::{
    admission::{Charge, charge, delta, usage},
    kubernetes::ResourceList,
    policy::FederatedResourceQuota,
    work::v1alpha2::ResourceBindingSpec,
};
use serde_json::json;

use crate::case::{
    ACCEPTED, CREATE, Case,
    Expect::{Refused, Stored},
    check, denied, invalid, yaml,
};

/// A binding with the given rest of its spec.
macro_rules! binding {
    ($spec:literal) => {
        concat!(
            "{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: b, namespace: a}, ",
            "spec: {resource: {apiVersion: apps/v1, kind: Deployment, name: d}, ",
            $spec,
            "}}"
        )
    };
}

const QUOTA: &str = "
    apiVersion: policy.karmada.io/v1alpha1
    kind: FederatedResourceQuota
    metadata: {name: q, namespace: a, resourceVersion: '7'}
    spec: {overall: {cpu: 10}, novel: 1}
    status: {overall: {cpu: 10}, overallUsed: {cpu: 8}}";

const THREE: &str = binding!(
    "replicaRequirements: {resourceRequest: {cpu: 1}}, clusters: [{name: m1, replicas: 3}]"
);
const FIVE: &str = binding!(
    "replicaRequirements: {resourceRequest: {cpu: 1}}, clusters: [{name: m1, replicas: 2}, {name: m2, replicas: 3}]"
);
const SIX: &str = binding!(
    "replicaRequirements: {resourceRequest: {cpu: 1}}, clusters: [{name: m1, replicas: 6}]"
);

#[test]
fn check_19_a_binding_that_exceeds_a_quota_is_refused() {
    check(&[
        Case {
            name: "19: three more do not fit",
            new: SIX,
            old: Some(THREE),
            gates: "FederatedQuotaEnforcement=true",
            related: &[QUOTA],
            expect: Refused(403, "QuotaExceeded", &[]),
            ..CREATE
        },
        Case {
            name: "19: unless nobody asks",
            new: SIX,
            old: Some(THREE),
            related: &[QUOTA],
            expect: ACCEPTED,
            ..CREATE
        },
    ]);
    let case = Case {
        new: FIVE,
        old: Some(THREE),
        gates: "FederatedQuotaEnforcement=true",
        related: &[QUOTA],
        ..CREATE
    };
    let outcome = case.admit().unwrap();
    let [write] = outcome.allowed.writes.as_slice() else {
        panic!("one write")
    };
    assert_eq!(
        write.object.at(&["status", "overallUsed"]),
        Some(&json!({"cpu": "10"}))
    );
    assert_eq!(write.object.resource_version(), "7");
    assert_eq!(write.object.at(&["spec", "novel"]), Some(&json!(1)));
}

#[test]
fn clusters_that_cannot_exist_are_refused_where_they_are_named() {
    const ODD: &str = binding!("clusters: [{name: m1}, {name: M_2}]");
    check(&[
        Case {
            name: "its own",
            new: binding!("clusters: [{name: m1}, {name: ''}, {name: ../etc}, {name: m.1}]"),
            expect: invalid(&[
                "spec.clusters[1].name Invalid",
                "spec.clusters[2].name Invalid",
                "spec.clusters[3].name Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "of those that need it",
            new: binding!(
                "requiredBy: [{namespace: a, name: x, clusters: [{name: m1}, {name: M}]}]"
            ),
            expect: invalid(&["spec.requiredBy[0].clusters[1].name Invalid"]),
            ..CREATE
        },
        Case {
            name: "cluster-wide",
            new: "{apiVersion: work.karmada.io/v1alpha2, kind: ClusterResourceBinding, metadata: {name: b}, spec: {resource: {apiVersion: v1, kind: Namespace, name: n}, clusters: [{name: a/b}]}}",
            expect: invalid(&["spec.clusters[0].name Invalid"]),
            ..CREATE
        },
        Case {
            name: "one that is stored may stay, so that the binding can be mended piece by piece",
            new: binding!("clusters: [{name: M_2}, {name: m3}]"),
            old: Some(ODD),
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "another may not come",
            new: binding!("clusters: [{name: M_2}, {name: M_3}]"),
            old: Some(ODD),
            expect: invalid(&["spec.clusters[1].name Invalid"]),
            ..CREATE
        },
    ]);
}

#[test]
fn quotas_are_asked_only_when_something_changes_for_them() {
    let gates = "FederatedQuotaEnforcement=true";
    for (name, old, new, writes) in [
        (
            "created without clusters",
            None,
            binding!("replicaRequirements: {resourceRequest: {cpu: 99}}"),
            0,
        ),
        (
            "moved between clusters",
            Some(THREE),
            binding!(
                "replicaRequirements: {resourceRequest: {cpu: 1}}, clusters: [{name: m2, replicas: 3}]"
            ),
            0,
        ),
        ("scaled down", Some(SIX), THREE, 1),
        (
            "asks for what no quota limits",
            None,
            binding!(
                "replicaRequirements: {resourceRequest: {memory: 1Ti}}, clusters: [{name: m1, replicas: 9}]"
            ),
            0,
        ),
    ] {
        let case = Case {
            name,
            new,
            old,
            gates,
            related: &[QUOTA],
            ..CREATE
        };
        assert_eq!(
            case.admit()
                .map(|outcome| outcome.allowed.writes.len())
                .ok(),
            Some(writes),
            "{name}"
        );
    }
}

#[test]
fn the_refusal_names_the_quota_and_all_it_lacks() {
    let case = Case {
        new: SIX,
        gates: "FederatedQuotaEnforcement=true",
        related: &[QUOTA],
        ..CREATE
    };
    assert_eq!(
        case.admit().unwrap_err().to_string(),
        "admission webhook \"resourcebinding.karmada.io\" denied the request: \
         FederatedResourceQuota a/q exceeded: cpu would be 14, limit 10."
    );
}

#[test]
fn usage_counts_replicas_or_whole_sets_of_components() {
    for (spec, expected) in [
        (
            "{replicaRequirements: {resourceRequest: {cpu: 250m, memory: 0}}, clusters: [{name: a, replicas: 2}, {name: b, replicas: 3}]}",
            "{cpu: 1250m}",
        ),
        ("{replicaRequirements: {resourceRequest: {cpu: 1}}}", "{}"),
        (
            "{replicaRequirements: {resourceRequest: {cpu: 9E}}, clusters: [{name: a, replicas: 2147483647}, {name: b, replicas: 2147483647}]}",
            "{cpu: '38654705646000000000000000000'}",
        ),
        (
            "{components: [{name: x, replicas: 2, replicaRequirements: {resourceRequest: {cpu: 1}}}, {name: yy, replicas: 1, replicaRequirements: {resourceRequest: {cpu: 500m, nvidia.com/gpu: 1}}}, {name: z, replicas: 9}], clusters: [{name: a}, {name: b}]}",
            "{cpu: '5', nvidia.com/gpu: '2'}",
        ),
        (
            "{components: [{name: x, replicas: 2, replicaRequirements: {resourceRequest: {cpu: 1}}}]}",
            "{}",
        ),
    ] {
        let spec: ResourceBindingSpec = serde_json::from_value(yaml(spec)).unwrap();
        let expected: ResourceList = serde_json::from_value(yaml(expected)).unwrap();
        assert_eq!(usage(&spec), expected);
    }
}

#[test]
fn charges_count_only_what_grows_beyond_its_limit() {
    for (overall, used, change, expected) in [
        ("{cpu: 10}", "{cpu: 8}", "{cpu: 2}", "fits {\"cpu\":\"10\"}"),
        ("{cpu: 10}", "{cpu: 8}", "{cpu: 2001m}", "cpu 10001m of 10"),
        ("{cpu: 10}", "{}", "{cpu: -1}", "fits {}"),
        (
            "{cpu: 10}",
            "{cpu: 20}",
            "{cpu: -1}",
            "fits {\"cpu\":\"19\"}",
        ),
        (
            "{cpu: 10, memory: 1Gi}",
            "{cpu: 20}",
            "{memory: 1Mi}",
            "fits {\"cpu\":\"20\",\"memory\":\"1Mi\"}",
        ),
        ("{cpu: 10}", "{cpu: 1}", "{memory: 1Gi}", "untouched"),
        (
            "{cpu: 1, pods: 1}",
            "{}",
            "{cpu: 2, pods: 3}",
            "cpu 2 of 1, pods 3 of 1",
        ),
        (
            "{memory: 1Gi}",
            "{memory: 100m}",
            "{memory: 1}",
            "fits {\"memory\":\"2\"}",
        ),
        (
            "{nvidia.com/gpu: 4}",
            "{nvidia.com/gpu: 2}",
            "{nvidia.com/gpu: 2}",
            "fits {\"nvidia.com/gpu\":\"4\"}",
        ),
        (
            "{hugepages-2Mi: 4Mi}",
            "{}",
            "{hugepages-2Mi: 6Mi}",
            "hugepages-2Mi 6Mi of 4Mi",
        ),
        ("{services: 1}", "{services: 1}", "{services: 5}", "fits {}"),
    ] {
        let mut quota = FederatedResourceQuota::default();
        let amounts = |text: &str| -> ResourceList { serde_json::from_value(yaml(text)).unwrap() };
        quota.spec.overall = amounts(overall);
        quota.status.overall_used = amounts(used);
        let found = match charge(&quota, &amounts(change)) {
            Charge::Untouched => "untouched".to_owned(),
            Charge::Fits(used) => format!("fits {}", json!(used)),
            Charge::Exceeded(limits) => {
                let shown = limits.iter().map(|excess| {
                    format!("{} {} of {}", excess.resource, excess.total, excess.limit)
                });
                shown.collect::<Vec<_>>().join(", ")
            }
        };
        assert_eq!(found, expected, "{overall} {used} {change}");
    }
    let amounts = |text: &str| -> ResourceList { serde_json::from_value(yaml(text)).unwrap() };
    assert_eq!(
        delta(
            &amounts("{cpu: 3, memory: 1}"),
            &amounts("{cpu: 1, pods: 1, memory: 1}")
        ),
        amounts("{cpu: 2, pods: -1}")
    );
}

#[test]
fn checks_20_and_more_annotations_and_components_of_bindings() {
    check(&[
        Case {
            name: "20: dependencies that are not JSON",
            new: "
                apiVersion: work.karmada.io/v1alpha2
                kind: ResourceBinding
                metadata: {name: b, namespace: a, annotations: {resourcebinding.karmada.io/dependencies: '{bad'}}
                spec: {resource: {apiVersion: v1, kind: Secret, name: s}}",
            expect: denied(&["metadata.annotations.resourcebinding.karmada.io/dependencies Invalid"]),
            ..CREATE
        },
        Case {
            name: "dependencies that are not a list",
            new: "
                apiVersion: work.karmada.io/v1alpha2
                kind: ResourceBinding
                metadata: {name: b, namespace: a, annotations: {resourcebinding.karmada.io/dependencies: '{}'}}
                spec: {resource: {apiVersion: v1, kind: Secret, name: s}}",
            expect: denied(&["metadata.annotations.resourcebinding.karmada.io/dependencies Invalid"]),
            ..CREATE
        },
        Case {
            name: "dependencies as they should be",
            new: r#"
                apiVersion: work.karmada.io/v1alpha2
                kind: ResourceBinding
                metadata:
                  name: b
                  namespace: a
                  annotations:
                    resourcebinding.karmada.io/dependencies: '[{"apiVersion":"v1","kind":"Secret","name":"s","novel":1}]'
                spec: {resource: {apiVersion: v1, kind: Secret, name: s}}"#,
            expect: Stored("metadata: {labels: {resourcebinding.karmada.io/permanent-id: 2f1a8c1e-0b5f-4a57-9d35-7c2a6a0f4b11}}"),
            ..CREATE
        },
        Case {
            name: "for an object of another namespace",
            new: "
                apiVersion: work.karmada.io/v1alpha2
                kind: ResourceBinding
                metadata: {name: b, namespace: a}
                spec: {resource: {apiVersion: v1, kind: Secret, namespace: karmada-cluster, name: s}}",
            expect: invalid(&["spec.resource.namespace Invalid"]),
            ..CREATE
        },
        Case {
            name: "turned to an object of another namespace",
            new: "
                apiVersion: work.karmada.io/v1alpha2
                kind: ResourceBinding
                metadata: {name: b, namespace: a}
                spec: {resource: {apiVersion: v1, kind: Secret, namespace: karmada-cluster, name: s}}",
            old: Some(THREE),
            expect: invalid(&["spec.resource.namespace Invalid"]),
            ..CREATE
        },
        Case {
            name: "stored for one before, and to be released",
            new: "
                apiVersion: work.karmada.io/v1alpha2
                kind: ResourceBinding
                metadata: {name: b, namespace: a}
                spec: {resource: {apiVersion: v1, kind: Secret, namespace: karmada-cluster, name: s}}",
            old: Some("
                apiVersion: work.karmada.io/v1alpha2
                kind: ResourceBinding
                metadata: {name: b, namespace: a, finalizers: [karmada.io/binding-controller]}
                spec: {resource: {apiVersion: v1, kind: Secret, namespace: karmada-cluster, name: s}}"),
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "for an object of its own",
            new: "
                apiVersion: work.karmada.io/v1alpha2
                kind: ResourceBinding
                metadata: {name: b, namespace: a}
                spec: {resource: {apiVersion: v1, kind: Secret, namespace: a, name: s}}",
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "components without names, or with one name",
            new: binding!("components: [{name: x}, {name: ''}, {name: x}]"),
            gates: "MultiplePodTemplatesScheduling=true",
            expect: denied(&["spec.components[1].name Invalid", "spec.components[2].name Invalid"]),
            ..CREATE
        },
        Case {
            name: "components nobody looks at",
            new: binding!("components: [{name: x}, {name: ''}, {name: x}]"),
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "an update gives no id",
            new: binding!("replicas: 1"),
            old: Some(THREE),
            expect: Stored("metadata: {labels: null}"),
            ..CREATE
        },
        Case {
            name: "cluster-wide bindings get an id of their own",
            new: "
                apiVersion: work.karmada.io/v1alpha2
                kind: ClusterResourceBinding
                metadata: {name: b, annotations: {resourcebinding.karmada.io/dependencies: '{bad'}}
                spec: {resource: {apiVersion: v1, kind: Namespace, name: ns}}",
            expect: Stored("metadata: {labels: {clusterresourcebinding.karmada.io/permanent-id: 2f1a8c1e-0b5f-4a57-9d35-7c2a6a0f4b11}}"),
            ..CREATE
        },
    ]);
}

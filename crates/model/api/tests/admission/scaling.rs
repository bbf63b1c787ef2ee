//! Autoscalers, by metrics and by the clock.

use crate::case::{ACCEPTED, CREATE, Case, Expect::Stored, check, denied};

/// A FederatedHPA with the given rest of its spec.
macro_rules! autoscaler {
    ($spec:literal) => {
        concat!(
            "{apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, metadata: {name: f, namespace: a}, ",
            "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}, maxReplicas: 5, ",
            $spec,
            "}}"
        )
    };
}

#[test]
fn check_32_autoscalers_are_filled_in() {
    check(&[
        Case {
            name: "32: a target and a maximum are enough",
            new: autoscaler!(""),
            expect: Stored(
                "spec: {minReplicas: 1, behavior: null, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}",
            ),
            ..CREATE
        },
        Case {
            name: "an empty behaviour is filled in",
            new: autoscaler!("behavior: {}"),
            expect: Stored(
                "
                spec:
                  behavior:
                    scaleUp:
                      stabilizationWindowSeconds: 0
                      selectPolicy: Max
                      policies: [{type: Pods, value: 4, periodSeconds: 15}, {type: Percent, value: 100, periodSeconds: 15}]
                    scaleDown:
                      stabilizationWindowSeconds: null
                      selectPolicy: Max
                      policies: [{type: Percent, value: 100, periodSeconds: 15}]",
            ),
            ..CREATE
        },
        Case {
            name: "what the author said stays, tolerance too",
            new: autoscaler!(
                "behavior: {scaleDown: {stabilizationWindowSeconds: 10, selectPolicy: Disabled, tolerance: 50m, novel: 1, policies: [{type: Pods, value: 1, periodSeconds: 60}]}}"
            ),
            expect: Stored(
                "spec: {behavior: {scaleDown: {stabilizationWindowSeconds: 10, selectPolicy: Disabled, tolerance: 50m, novel: 1, policies: [{type: Pods, value: 1, periodSeconds: 60}]}}}",
            ),
            ..CREATE
        },
        Case {
            name: "an empty list of policies is filled in",
            new: autoscaler!("behavior: {scaleDown: {policies: []}}"),
            expect: Stored("spec: {behavior: {scaleDown: {policies: [{type: Percent, value: 100, periodSeconds: 15}]}}}"),
            ..CREATE
        },
    ]);
}

#[test]
fn check_32_autoscalers_are_checked() {
    check(&[
        Case {
            name: "32: metrics from outside",
            new: autoscaler!(
                "metrics: [{type: External, external: {metric: {name: m}, target: {type: Value, value: 1}}}]"
            ),
            expect: denied(&["spec.metrics[0].type NotSupported"]),
            ..CREATE
        },
        Case {
            name: "32: no replicas",
            new: autoscaler!("minReplicas: 0"),
            expect: denied(&["spec.minReplicas Invalid"]),
            ..CREATE
        },
        Case {
            name: "bounds, target and name",
            new: "
                apiVersion: autoscaling.karmada.io/v1alpha1
                kind: FederatedHPA
                metadata: {name: F_, namespace: a}
                spec: {scaleTargetRef: {kind: a/b}, minReplicas: 3, maxReplicas: 0}",
            expect: denied(&[
                "metadata.name Invalid",
                "spec.maxReplicas Invalid",
                "spec.maxReplicas Invalid",
                "spec.scaleTargetRef.kind Invalid",
                "spec.scaleTargetRef.name Required",
            ]),
            ..CREATE
        },
        Case {
            name: "sources that do not fit the type",
            new: autoscaler!(
                "metrics: [{type: Pods, resource: {name: cpu, target: {type: Utilization, averageUtilization: 1}}}, {type: ''}, {type: Resource, resource: {name: '', target: {type: Share, averageUtilization: 0, averageValue: 0}}, external: {}}]"
            ),
            expect: denied(&[
                "spec.metrics[0].pods Required",
                "spec.metrics[0].resource Forbidden",
                "spec.metrics[1].type Required",
                "spec.metrics[1].type NotSupported",
                "spec.metrics[2].external Forbidden",
                "spec.metrics[2].resource.name Required",
                "spec.metrics[2].resource.target.type Invalid",
                "spec.metrics[2].resource.target.averageValue Invalid",
                "spec.metrics[2].resource.target.averageUtilization Invalid",
                "spec.metrics[2].resource.target.averageValue Forbidden",
            ]),
            ..CREATE
        },
        Case {
            name: "targets of every source",
            new: autoscaler!(
                "metrics: [{type: Object, object: {describedObject: {kind: Service, name: s}, metric: {name: m}, target: {type: Value}}}, {type: Pods, pods: {metric: {}, target: {type: AverageValue, value: -1}}}, {type: ContainerResource, containerResource: {name: pods, container: A, target: {type: Utilization}}}, {type: ContainerResource, containerResource: {name: nvidia.com/gpu, container: '', target: {type: Utilization, averageUtilization: 5}}}]"
            ),
            expect: denied(&[
                "spec.metrics[0].object.target.averageValue Required",
                "spec.metrics[1].pods.metric.name Required",
                "spec.metrics[1].pods.target.value Invalid",
                "spec.metrics[1].pods.target.averageValue Required",
                "spec.metrics[2].containerResource.name Invalid",
                "spec.metrics[2].containerResource.container Invalid",
                "spec.metrics[2].containerResource.target.averageUtilization Required",
                "spec.metrics[3].containerResource.container Required",
            ]),
            ..CREATE
        },
        Case {
            name: "behaviour",
            new: autoscaler!(
                "behavior: {scaleUp: {stabilizationWindowSeconds: -1, selectPolicy: Most, tolerance: -1, policies: [{type: Share, value: 0, periodSeconds: 0}]}, scaleDown: {stabilizationWindowSeconds: 3601, policies: [{type: Pods, value: 1, periodSeconds: 1801}]}}"
            ),
            expect: denied(&[
                "spec.behavior.scaleUp.stabilizationWindowSeconds Invalid",
                "spec.behavior.scaleUp.selectPolicy NotSupported",
                "spec.behavior.scaleUp.tolerance Invalid",
                "spec.behavior.scaleUp.policies[0].type NotSupported",
                "spec.behavior.scaleUp.policies[0].value Invalid",
                "spec.behavior.scaleUp.policies[0].periodSeconds Invalid",
                "spec.behavior.scaleDown.stabilizationWindowSeconds Invalid",
                "spec.behavior.scaleDown.policies[0].periodSeconds Invalid",
            ]),
            ..CREATE
        },
    ]);
}

/// A CronFederatedHPA for the given target with the given rules.
macro_rules! timer {
    ($target:literal, $rules:literal) => {
        concat!(
            "{apiVersion: autoscaling.karmada.io/v1alpha1, kind: CronFederatedHPA, metadata: {name: c, namespace: a}, ",
            "spec: {scaleTargetRef: ",
            $target,
            ", rules: [",
            $rules,
            "]}}"
        )
    };
}

#[test]
fn check_33_timers_are_checked() {
    check(&[
        Case {
            name: "33: a workload without replicas",
            new: timer!(
                "{apiVersion: apps/v1, kind: Deployment, name: d}",
                "{name: r, schedule: '@daily'}"
            ),
            expect: denied(&["spec.rules[0].targetReplicas Invalid"]),
            ..CREATE
        },
        Case {
            name: "33: a time zone that is nowhere",
            new: timer!(
                "{apiVersion: apps/v1, kind: Deployment, name: d}",
                "{name: r, schedule: '@daily', targetReplicas: 0, timeZone: Mars/Base}, {name: s, schedule: '@daily', targetReplicas: 0, timeZone: ../Europe/Berlin}"
            ),
            expect: denied(&[
                "spec.rules[0].timeZone Invalid",
                "spec.rules[1].timeZone Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "33: time zones that are somewhere",
            new: timer!(
                "{apiVersion: apps/v1, kind: Deployment, name: d}",
                "{name: a, schedule: '0 8 * * MON-FRI', targetReplicas: 0, timeZone: Europe/Berlin}, {name: b, schedule: '@daily', targetReplicas: 1, timeZone: UTC}, {name: c, schedule: '@daily', targetReplicas: 1, timeZone: ''}"
            ),
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "33: two rules of one name",
            new: timer!(
                "{apiVersion: apps/v1, kind: Deployment, name: d}",
                "{name: r, schedule: '@daily', targetReplicas: 1}, {name: r, schedule: 'now', targetReplicas: -1}"
            ),
            expect: denied(&[
                "spec.rules[1].name Duplicate",
                "spec.rules[1].schedule Invalid",
                "spec.rules[1].targetReplicas Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "bounds of a FederatedHPA",
            new: timer!(
                "{apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, name: f}",
                "{name: a, schedule: '@daily'}, {name: b, schedule: '@daily', targetMinReplicas: 0, targetMaxReplicas: -1}, {name: c, schedule: '@daily', targetMinReplicas: 1}"
            ),
            expect: denied(&[
                "spec.rules[0].targetMaxReplicas Invalid",
                "spec.rules[1].targetMinReplicas Invalid",
                "spec.rules[1].targetMaxReplicas Invalid",
                "spec.rules[1].targetMinReplicas Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "another kind of that group, and nothing else is said",
            new: timer!(
                "{apiVersion: autoscaling.karmada.io/v1alpha1, kind: CronFederatedHPA, name: f}",
                "{name: a, schedule: 'never'}"
            ),
            expect: denied(&["spec.scaleTargetRef.kind Invalid"]),
            ..CREATE
        },
    ]);
}

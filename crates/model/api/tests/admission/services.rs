//! Traffic over several clusters.

use crate::case::{ACCEPTED, CREATE, Case, Expect::Stored, check, denied};

/// A MultiClusterService with the given spec.
macro_rules! service {
    ($spec:literal) => {
        concat!(
            "{apiVersion: networking.karmada.io/v1alpha1, kind: MultiClusterService, metadata: {name: s, namespace: a}, spec: {",
            $spec,
            "}}"
        )
    };
}

/// A MultiClusterIngress with the given spec.
macro_rules! ingress {
    ($spec:literal) => {
        concat!(
            "{apiVersion: networking.karmada.io/v1alpha1, kind: MultiClusterIngress, metadata: {name: i, namespace: a}, spec: {",
            $spec,
            "}}"
        )
    };
}

#[test]
fn check_34_services_are_checked() {
    check(&[
        Case {
            name: "34: both types",
            new: service!("types: [CrossCluster, LoadBalancer]"),
            expect: denied(&["spec.types Invalid"]),
            ..CREATE
        },
        Case {
            name: "34: another type than before",
            new: service!("types: [LoadBalancer]"),
            old: Some(service!("types: [CrossCluster]")),
            expect: denied(&["spec.types Invalid"]),
            ..CREATE
        },
        Case {
            name: "34: port 0, and other faults of ports",
            new: service!("types: [CrossCluster], ports: [{port: 0}, {port: 65536, name: A}, {port: 1, name: x}, {port: 2, name: x}]"),
            expect: denied(&[
                "spec.ports[0].port Invalid",
                "spec.ports[1].name Invalid",
                "spec.ports[1].port Invalid",
                "spec.ports[3].name Duplicate",
            ]),
            ..CREATE
        },
        Case {
            name: "34: a name that begins with a digit",
            new: "
                apiVersion: networking.karmada.io/v1alpha1
                kind: MultiClusterService
                metadata: {name: 1svc, namespace: a}
                spec: {types: [CrossCluster]}",
            expect: denied(&["metadata.name Invalid"]),
            ..CREATE
        },
        Case {
            name: "clusters are reported below range",
            new: service!("types: [Other], providerClusters: [{name: m1}, {name: ''}], consumerClusters: [{name: A}]"),
            expect: denied(&[
                "spec.types[0] Invalid",
                "spec.range.providerClusters[1] Invalid",
                "spec.range.consumerClusters[0] Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "one type twice, or none",
            new: service!("types: [CrossCluster, CrossCluster]"),
            expect: Stored(
                "{metadata: {labels: {multiclusterservice.karmada.io/permanent-id: 2f1a8c1e-0b5f-4a57-9d35-7c2a6a0f4b11}}, spec: {range: {}}}",
            ),
            ..CREATE
        },
        Case { name: "no type", new: service!("types: []"), expect: ACCEPTED, ..CREATE },
        Case {
            name: "points of entry are checked on update",
            new: "
                apiVersion: networking.karmada.io/v1alpha1
                kind: MultiClusterService
                metadata: {name: s, namespace: a, uid: v}
                spec: {types: [CrossCluster]}
                status: {loadBalancer: {ingress: [{ip: 010.0.0.1}, {ip: x}, {hostname: 10.0.0.1}, {hostname: A}]}}",
            old: Some(
                "{apiVersion: networking.karmada.io/v1alpha1, kind: MultiClusterService, metadata: {name: s, namespace: a, uid: u}, spec: {types: [CrossCluster]}}",
            ),
            expect: denied(&[
                "metadata.uid Invalid",
                "status.loadBalancer.ingress[1].ip Invalid",
                "status.loadBalancer.ingress[2].hostname Invalid",
                "status.loadBalancer.ingress[3].hostname Invalid",
            ]),
            ..CREATE
        },
    ]);
}

#[test]
fn ingresses_follow_the_rules_of_kubernetes() {
    check(&[
        Case {
            name: "nothing",
            new: ingress!(""),
            expect: denied(&["spec Invalid"]),
            ..CREATE
        },
        Case {
            name: "a default is enough",
            new: ingress!("defaultBackend: {service: {name: s, port: {number: 80}}}"),
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "a resource is as good as a service",
            new: ingress!(
                "ingressClassName: nginx, defaultBackend: {resource: {apiGroup: k8s.example.com, kind: Bucket, name: b}}"
            ),
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "backends",
            new: ingress!(
                "defaultBackend: {}, rules: [{http: {paths: [{pathType: Prefix, path: /, backend: {service: {name: s, port: {name: p, number: 1}}, resource: {kind: K, name: nn}}}, {pathType: Prefix, path: /, backend: {service: {name: s, port: {name: p, number: 1}}}}, {pathType: Prefix, path: /, backend: {service: {name: 1s, port: {}}}}, {pathType: Prefix, path: /, backend: {service: {name: '', port: {name: -A--}}}}, {pathType: Prefix, path: /, backend: {service: {name: s, port: {number: 65536}}}}, {pathType: Prefix, path: /, backend: {resource: {apiGroup: A, kind: a/b, name: ''}}}]}}]"
            ),
            expect: denied(&[
                "spec.defaultBackend Invalid",
                "spec.rules[0].http.paths[0].backend Invalid",
                "spec.rules[0].http.paths[1].backend Invalid",
                "spec.rules[0].http.paths[2].backend.service.name Invalid",
                "spec.rules[0].http.paths[2].backend Required",
                "spec.rules[0].http.paths[3].backend.service.name Required",
                "spec.rules[0].http.paths[3].backend.service.port.name Invalid",
                "spec.rules[0].http.paths[3].backend.service.port.name Invalid",
                "spec.rules[0].http.paths[3].backend.service.port.name Invalid",
                "spec.rules[0].http.paths[3].backend.service.port.name Invalid",
                "spec.rules[0].http.paths[4].backend.service.port.number Invalid",
                "spec.rules[0].http.paths[5].backend.resource.apiGroup Invalid",
                "spec.rules[0].http.paths[5].backend.resource.kind Invalid",
                "spec.rules[0].http.paths[5].backend.resource.name Required",
            ]),
            ..CREATE
        },
        Case {
            name: "hosts and paths",
            new: ingress!(
                "ingressClassName: A, rules: [{host: 10.0.0.1}, {host: '*.example.com'}, {host: 'a.*.com'}, {host: A}, {http: {paths: []}}, {http: {paths: [{path: x, pathType: Exact, backend: {service: {name: s, port: {number: 1}}}}, {path: '/a//b/../c%2F/..', pathType: Prefix, backend: {service: {name: s, port: {number: 1}}}}, {path: x, pathType: ImplementationSpecific, backend: {service: {name: s, port: {number: 1}}}}, {path: '', pathType: ImplementationSpecific, backend: {service: {name: s, port: {number: 1}}}}, {path: /, pathType: Glob, backend: {service: {name: s, port: {number: 1}}}}, {path: /, pathType: '', backend: {}}]}}], tls: [{hosts: ['*.b.com', '*b'], secretName: S}, {}]"
            ),
            expect: denied(&[
                "spec.rules[0].host Invalid",
                "spec.rules[2].host Invalid",
                "spec.rules[3].host Invalid",
                "spec.rules[4].http.paths Required",
                "spec.rules[5].http.paths[0].path Invalid",
                "spec.rules[5].http.paths[1].path Invalid",
                "spec.rules[5].http.paths[1].path Invalid",
                "spec.rules[5].http.paths[1].path Invalid",
                "spec.rules[5].http.paths[1].path Invalid",
                "spec.rules[5].http.paths[2].path Invalid",
                "spec.rules[5].http.paths[4].pathType NotSupported",
                "spec.rules[5].http.paths[5].pathType Required",
                "spec.tls[0].hosts[1] Invalid",
                "spec.tls[0].secretName Invalid",
                "spec.ingressClassName Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "points of entry are checked on update",
            new: "
                apiVersion: networking.karmada.io/v1alpha1
                kind: MultiClusterIngress
                metadata: {name: i, namespace: a}
                spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}
                status: {loadBalancer: {ingress: [{ip: x}]}}",
            old: Some(ingress!(
                "defaultBackend: {service: {name: s, port: {number: 80}}}"
            )),
            expect: denied(&["status.loadBalancer.ingress[0].ip Invalid"]),
            ..CREATE
        },
    ]);
}

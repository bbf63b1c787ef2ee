use serde_json::json;

use super::*;
use crate::kinds::{find, kinds};

fn filled(group: &str, version: &str, kind: &str, mut object: Value) -> Value {
    let gvk = GroupVersionKind::new(group, version, kind);
    apply_defaults(&gvk, &mut object);
    let mut again = object.clone();
    apply_defaults(&gvk, &mut again);
    assert_eq!(again, object, "filling up twice changes nothing");
    object
}

/// Fills `object` up and compares what came of one part of it.
#[track_caller]
fn check(kind: (&str, &str), object: Value, part: &str, expected: Value) {
    let object = filled(kind.0, "v1", kind.1, object);
    assert_eq!(
        crate::path::at(&object, part).unwrap_or(&Value::Null),
        &expected,
        "{part}"
    );
}

#[test]
fn a_deployment_is_filled_up_as_kubernetes_does() {
    let written = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}, "creationTimestamp": null},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}, "creationTimestamp": null},
                "spec": {"containers": [{
                    "name": "nginx", "image": "nginx", "ports": [{"containerPort": 80}],
                    "livenessProbe": {"httpGet": {"port": 80}}, "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}},
                }]},
            },
        },
    });
    assert_eq!(
        filled("apps", "v1", "Deployment", written),
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "labels": {"app": "web"}},
            "spec": {
                "progressDeadlineSeconds": 600,
                "replicas": 1,
                "revisionHistoryLimit": 10,
                "selector": {"matchLabels": {"app": "web"}},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {
                        "containers": [{
                            "name": "nginx",
                            "image": "nginx",
                            "imagePullPolicy": "Always",
                            "livenessProbe": {
                                "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
                                "failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1,
                            },
                            "ports": [{"containerPort": 80, "protocol": "TCP"}],
                            "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
                            "terminationMessagePath": "/dev/termination-log",
                            "terminationMessagePolicy": "File",
                        }],
                        "dnsPolicy": "ClusterFirst",
                        "restartPolicy": "Always",
                        "schedulerName": "default-scheduler",
                        "securityContext": {},
                        "terminationGracePeriodSeconds": 30,
                    },
                },
            },
            "status": {},
        })
    );
}

#[test]
fn what_says_nothing_is_dropped_and_what_always_shows_is_there() {
    let pod = |spec: Value| json!({"metadata": {"name": "a", "labels": {}, "finalizers": []}, "spec": spec});
    let spec = json!({"hostNetwork": false, "nodeName": "", "priority": 0, "nodeSelector": {}, "containers": null});
    let object = filled("", "v1", "Pod", pod(spec));
    assert_eq!(object["metadata"], json!({"name": "a"}));
    // Zero priority is a priority; an absent list of containers is for validation to complain about.
    assert_eq!(
        (&object["spec"]["priority"], &object["spec"]["containers"]),
        (&json!(0), &Value::Null)
    );
    for dropped in ["hostNetwork", "nodeName", "nodeSelector"] {
        assert!(object["spec"].get(dropped).is_none(), "{dropped}");
    }
    check(
        ("apps", "DaemonSet"),
        json!({}),
        "status",
        json!({"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0}),
    );
    check(
        ("apps", "StatefulSet"),
        json!({}),
        "status",
        json!({"availableReplicas": 0, "replicas": 0}),
    );
    check(
        ("rbac.authorization.k8s.io", "Role"),
        json!({}),
        "rules",
        Value::Null,
    );
    check(
        ("", "Service"),
        json!({}),
        "status",
        json!({"loadBalancer": {}}),
    );
    check(
        ("", "Pod"),
        pod(
            json!({"volumes": [{"name": "v", "downwardAPI": {"items": [{"path": "p", "resourceFieldRef": {"resource": "limits.cpu"}}]}}]}),
        ),
        "spec.volumes[0].downwardAPI",
        json!({"defaultMode": 420, "items": [{"path": "p", "resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}]}),
    );
}

#[test]
fn values_are_written_in_one_way() {
    let pod = json!({
        "metadata": {"creationTimestamp": "2026-01-01T02:00:00.5+02:00"},
        "spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "0.0001", "memory": 1073741824}}}]},
    });
    check(
        ("", "Pod"),
        pod.clone(),
        "metadata.creationTimestamp",
        json!("2026-01-01T00:00:00Z"),
    );
    check(
        ("", "Pod"),
        pod,
        "spec.containers[0].resources.requests",
        json!({"cpu": "1m", "memory": "1073741824"}),
    );
    check(
        ("coordination.k8s.io", "Lease"),
        json!({"spec": {"renewTime": "2026-01-01T00:00:00Z"}}),
        "spec.renewTime",
        json!("2026-01-01T00:00:00.000000Z"),
    );
    check(
        ("", "Pod"),
        json!({"spec": {"overhead": {"cpu": "lots"}}}),
        "spec.overhead",
        json!({"cpu": "lots"}),
    );
}

#[test]
fn images_are_pulled_again_where_their_tag_can_move() {
    for (image, policy) in [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry.example:5000/nginx", "Always"),
        ("registry.example:5000/nginx:1.27", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
        ("nginx:latest@sha256:abc", "Always"),
        ("", "Always"),
    ] {
        let pod = json!({"spec": {"containers": [{"name": "a", "image": image}]}});
        check(
            ("", "Pod"),
            pod,
            "spec.containers[0].imagePullPolicy",
            json!(policy),
        );
    }
    let pod = json!({"spec": {"initContainers": [{"name": "a", "image": "x", "imagePullPolicy": "Never"}]}});
    check(
        ("", "Pod"),
        pod,
        "spec.initContainers[0].imagePullPolicy",
        json!("Never"),
    );
}

#[test]
fn pods_get_more_than_templates_do() {
    let limited = |extra: Value| {
        let mut spec = json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}}]});
        spec.as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        json!({"spec": spec})
    };
    check(
        ("", "Pod"),
        limited(json!({})),
        "spec.containers[0].resources.requests",
        json!({"cpu": "500m", "memory": "1Gi"}),
    );
    check(
        ("", "Pod"),
        limited(json!({})),
        "spec.enableServiceLinks",
        json!(true),
    );
    let template = json!({"template": limited(json!({}))});
    check(
        ("", "PodTemplate"),
        template.clone(),
        "template.spec.containers[0].resources.requests",
        json!({"cpu": "500m"}),
    );
    check(
        ("", "PodTemplate"),
        template,
        "template.spec.enableServiceLinks",
        Value::Null,
    );
    check(
        ("", "Pod"),
        json!({"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": null}}}]}}),
        "spec.containers[0].resources.requests",
        json!({"cpu": "0"}),
    );
    let ports = json!({"spec": {"hostNetwork": true, "containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}});
    check(
        ("", "Pod"),
        ports,
        "spec.containers[0].ports",
        json!([{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]),
    );
    // Resources of the pod as a whole: what the containers request, the largest init container included.
    let whole = limited(json!({
        "resources": {"limits": {"cpu": "4", "memory": "8Gi"}},
        "initContainers": [
            {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
            {"name": "i", "resources": {"requests": {"cpu": "2"}}},
        ],
    }));
    check(
        ("", "Pod"),
        whole,
        "spec.resources.requests",
        json!({"cpu": "2100m", "memory": "1Gi"}),
    );
    let huge = json!({"spec": {"resources": {"requests": {"cpu": "1"}}, "containers": [
        {"name": "a", "resources": {"limits": {"hugepages-2Mi": "4Mi"}}}]}});
    check(
        ("", "Pod"),
        huge,
        "spec.resources",
        json!({"requests": {"cpu": "1", "hugepages-2Mi": "4Mi"}, "limits": {"hugepages-2Mi": "4Mi"}}),
    );
}

#[test]
fn volumes_without_a_source_are_empty_directories() {
    let volumes = |volume: Value| json!({"spec": {"volumes": [volume]}});
    check(
        ("", "Pod"),
        volumes(json!({"name": "v"})),
        "spec.volumes[0]",
        json!({"name": "v", "emptyDir": {}}),
    );
    check(
        ("", "Pod"),
        volumes(json!({"name": "v", "secret": {"secretName": "s"}})),
        "spec.volumes[0]",
        json!({"name": "v", "secret": {"secretName": "s", "defaultMode": 420}}),
    );
    check(
        ("", "Pod"),
        volumes(json!({"name": "v", "hostPath": {"path": "/x"}})),
        "spec.volumes[0].hostPath",
        json!({"path": "/x", "type": ""}),
    );
    check(
        ("", "Pod"),
        volumes(
            json!({"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}),
        ),
        "spec.volumes[0].projected",
        json!({"defaultMode": 420, "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}]}),
    );
}

#[test]
fn fields_with_two_names_say_the_same() {
    let pod = ("", "Pod");
    let containers = json!([{"name": "a", "image": "b"}]);
    for (spec, account) in [
        (json!({"serviceAccount": "a"}), json!("a")),
        (json!({"serviceAccountName": "a"}), json!("a")),
        (
            json!({"serviceAccountName": "a", "serviceAccount": "b"}),
            json!("a"),
        ),
        (json!({}), Value::Null),
    ] {
        let mut spec = spec;
        spec["containers"] = containers.clone();
        for field in ["serviceAccount", "serviceAccountName"] {
            let path = format!("spec.{field}");
            check(pod, json!({"spec": spec}), &path, account.clone());
            let path = format!("spec.template.spec.{field}");
            let set = json!({"spec": {"template": {"spec": spec}}});
            check(("apps", "DaemonSet"), set, &path, account.clone());
        }
    }
    for (written, shown) in [
        (
            json!({"podIP": "10.0.0.1"}),
            json!({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}),
        ),
        (
            json!({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}),
            json!({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "podIP": "10.0.0.1"}),
        ),
        (
            json!({"podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.1"}]}),
            json!({"podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.2"}]}),
        ),
        (json!({"hostIP": "10.0.0.2"}), json!({"hostIP": "10.0.0.2"})),
    ] {
        check(pod, json!({"status": written}), "status", shown);
    }
    for (written, shown) in [
        (
            json!({"podCIDR": "10.0.0.0/24"}),
            json!({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}),
        ),
        (
            json!({"podCIDRs": ["10.0.0.0/24"]}),
            json!({"podCIDRs": ["10.0.0.0/24"], "podCIDR": "10.0.0.0/24"}),
        ),
    ] {
        check(("", "Node"), json!({"spec": written}), "spec", shown);
    }
}

#[test]
fn services_are_filled_up_by_type() {
    let spec = |spec: Value| json!({"spec": spec});
    for (written, expected) in [
        (
            json!({"ports": [{"port": 80}, {"port": 81, "targetPort": "web"}]}),
            json!({"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "ports": [
                {"port": 80, "protocol": "TCP", "targetPort": 80}, {"port": 81, "protocol": "TCP", "targetPort": "web"}]}),
        ),
        (
            json!({"type": "LoadBalancer", "sessionAffinity": "ClientIP"}),
            json!({"type": "LoadBalancer", "sessionAffinity": "ClientIP", "internalTrafficPolicy": "Cluster",
                "externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": true,
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}),
        ),
        (
            json!({"externalIPs": ["1.1.1.1"], "sessionAffinityConfig": {}}),
            json!({"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
                "externalTrafficPolicy": "Cluster", "externalIPs": ["1.1.1.1"]}),
        ),
        (
            json!({"type": "ExternalName", "externalName": "x.example"}),
            json!({"type": "ExternalName", "externalName": "x.example", "sessionAffinity": "None"}),
        ),
    ] {
        check(("", "Service"), spec(written), "spec", expected);
    }
}

#[test]
fn workloads_are_filled_up_by_kind() {
    check(
        ("apps", "StatefulSet"),
        json!({"spec": {}}),
        "spec.updateStrategy",
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
    );
    check(
        ("apps", "StatefulSet"),
        json!({"spec": {"updateStrategy": {"type": "RollingUpdate"}}}),
        "spec.updateStrategy",
        json!({"type": "RollingUpdate"}),
    );
    check(
        ("apps", "StatefulSet"),
        json!({"spec": {"volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": {}}]}}),
        "spec.volumeClaimTemplates[0]",
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d"},
            "spec": {"volumeMode": "Filesystem", "resources": {}}, "status": {"phase": "Pending"}}),
    );
    check(
        ("apps", "DaemonSet"),
        json!({"spec": {"updateStrategy": {"type": "OnDelete"}}}),
        "spec.updateStrategy",
        json!({"type": "OnDelete"}),
    );
    check(
        ("apps", "DaemonSet"),
        json!({}),
        "spec.updateStrategy.rollingUpdate",
        json!({"maxSurge": 0, "maxUnavailable": 1}),
    );
    let labelled = json!({"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}});
    check(
        ("", "ReplicationController"),
        labelled.clone(),
        "spec.selector",
        json!({"a": "b"}),
    );
    check(
        ("", "ReplicationController"),
        labelled.clone(),
        "metadata.labels",
        json!({"a": "b"}),
    );
    check(
        ("batch", "Job"),
        labelled.clone(),
        "metadata.labels",
        json!({"a": "b"}),
    );
    check(
        ("apps", "Deployment"),
        labelled,
        "metadata.labels",
        Value::Null,
    );
    let job = filled("batch", "v1", "Job", json!({"spec": {}}));
    for (field, value) in [
        ("completions", json!(1)),
        ("parallelism", json!(1)),
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
        ("manualSelector", json!(false)),
    ] {
        assert_eq!(job["spec"][field], value, "{field}");
    }
    check(
        ("batch", "Job"),
        json!({"spec": {"parallelism": 3}}),
        "spec.completions",
        Value::Null,
    );
    check(
        ("batch", "Job"),
        json!({"spec": {"backoffLimitPerIndex": 1}}),
        "spec.backoffLimit",
        json!(2147483647),
    );
    check(
        ("batch", "CronJob"),
        json!({"spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": {}}}}}),
        "spec.jobTemplate.spec.backoffLimit",
        Value::Null,
    );
    let scaler = filled(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        json!({"spec": {"behavior": {"scaleDown": {"selectPolicy": "Min"}}}}),
    );
    assert_eq!(scaler["spec"]["metrics"], json!([cpu_metric(80)]));
    assert_eq!(
        scaler["spec"]["behavior"]["scaleDown"],
        json!({"selectPolicy": "Min", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]})
    );
    assert_eq!(
        scaler["spec"]["behavior"]["scaleUp"]["stabilizationWindowSeconds"],
        0
    );
    assert_eq!(scaler["spec"]["minReplicas"], 1);
}

#[test]
fn other_kinds_get_their_defaults() {
    let rbac = "rbac.authorization.k8s.io";
    let subjects = json!({"subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}], "roleRef": {"kind": "Role", "name": "r"}});
    for (kind, object, part, expected) in [
        (
            ("", "Namespace"),
            json!({"metadata": {"name": "n"}}),
            "metadata.labels",
            json!({"kubernetes.io/metadata.name": "n"}),
        ),
        (
            ("", "Namespace"),
            json!({"metadata": {"name": "n"}}),
            "status.phase",
            json!("Active"),
        ),
        (("", "Secret"), json!({}), "type", json!("Opaque")),
        (
            ("", "PersistentVolumeClaim"),
            json!({}),
            "spec.volumeMode",
            json!("Filesystem"),
        ),
        (
            ("", "PersistentVolume"),
            json!({}),
            "spec.persistentVolumeReclaimPolicy",
            json!("Retain"),
        ),
        (
            ("", "Node"),
            json!({"status": {"capacity": {"cpu": "4"}}}),
            "status.allocatable",
            json!({"cpu": "4"}),
        ),
        (
            ("", "LimitRange"),
            json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}]}}),
            "spec.limits[0]",
            json!({"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2", "memory": "1Mi"}}),
        ),
        (
            (rbac, "RoleBinding"),
            subjects.clone(),
            "roleRef.apiGroup",
            json!(rbac),
        ),
        (
            (rbac, "RoleBinding"),
            subjects.clone(),
            "subjects[0].apiGroup",
            json!(rbac),
        ),
        (
            (rbac, "RoleBinding"),
            subjects,
            "subjects[1].apiGroup",
            Value::Null,
        ),
        (
            ("networking.k8s.io", "NetworkPolicy"),
            json!({"spec": {}}),
            "spec.policyTypes",
            json!(["Ingress"]),
        ),
        (
            ("networking.k8s.io", "NetworkPolicy"),
            json!({"spec": {"egress": [{}]}}),
            "spec.policyTypes",
            json!(["Ingress", "Egress"]),
        ),
        (
            ("storage.k8s.io", "StorageClass"),
            json!({}),
            "reclaimPolicy",
            json!("Delete"),
        ),
        (
            ("storage.k8s.io", "CSIDriver"),
            json!({}),
            "spec.volumeLifecycleModes",
            json!(["Persistent"]),
        ),
        (
            ("scheduling.k8s.io", "PriorityClass"),
            json!({"value": 1}),
            "preemptionPolicy",
            json!("PreemptLowerPriority"),
        ),
        (
            ("discovery.k8s.io", "EndpointSlice"),
            json!({"ports": [{"port": 80}]}),
            "ports[0]",
            json!({"name": "", "port": 80, "protocol": "TCP"}),
        ),
        (
            (
                "admissionregistration.k8s.io",
                "ValidatingWebhookConfiguration",
            ),
            json!({"webhooks": [{"name": "w", "clientConfig": {"service": {"name": "s", "namespace": "n"}}, "rules": [{"operations": ["*"]}],
                "sideEffects": "None", "admissionReviewVersions": ["v1"]}]}),
            "webhooks[0]",
            json!({"name": "w", "clientConfig": {"service": {"name": "s", "namespace": "n", "port": 443}}, "rules": [{"operations": ["*"], "scope": "*"}],
                "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "matchPolicy": "Equivalent",
                "namespaceSelector": {}, "objectSelector": {}, "timeoutSeconds": 10}),
        ),
        (
            ("apiextensions.k8s.io", "CustomResourceDefinition"),
            json!({"spec": {"names": {"kind": "Book", "plural": "books"}}}),
            "spec.names",
            json!({"kind": "Book", "plural": "books", "singular": "book", "listKind": "BookList"}),
        ),
        (
            ("apiextensions.k8s.io", "CustomResourceDefinition"),
            json!({"spec": {"versions": [{"name": "v1", "served": true, "storage": true}]}}),
            "status.storedVersions",
            json!(["v1"]),
        ),
        (
            ("apiextensions.k8s.io", "CustomResourceDefinition"),
            json!({}),
            "spec.conversion",
            json!({"strategy": "None"}),
        ),
        (
            ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
            json!({"spec": {}}),
            "spec.matchingPrecedence",
            json!(1000),
        ),
        (
            ("resource.k8s.io", "ResourceClaim"),
            json!({"spec": {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu"}}]}}}),
            "spec.devices.requests[0].exactly",
            json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}),
        ),
    ] {
        check(kind, object, part, expected);
    }
}

#[test]
fn any_shape_survives() {
    for kind in kinds() {
        for object in [
            json!(null),
            json!(7),
            json!([]),
            json!({"spec": 7, "status": [], "metadata": "x", "subsets": {"a": 1}}),
        ] {
            filled(kind.group, kind.version, kind.kind, object);
        }
    }
    let mut foreign = json!({"spec": null});
    apply_defaults(
        &GroupVersionKind::new("example.io", "v1", "Pod"),
        &mut foreign,
    );
    assert_eq!(foreign, json!({"spec": null}));
    assert!(find("", "v1", "Pod").is_some());
}

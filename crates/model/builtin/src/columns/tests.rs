use serde_json::json;

use super::*;
use crate::kinds::{find, kinds};

/// Noon on the first day of 2026; the objects below are a few hours or days old.
const NOW: &str = "2026-01-01T12:00:00Z";

/// The cells of an object as one line: those that are always shown, and after `//` those of wide output.
fn cells(group: &str, version: &str, kind: &str, object: Value) -> String {
    let kind = find(group, version, kind).unwrap();
    let mut object = object;
    object["apiVersion"] = kind.api_version().into();
    let row = row(kind, &object, NOW.parse().unwrap());
    let shown = |wide: bool| {
        let columns = kind
            .columns
            .iter()
            .zip(&row)
            .filter(|(column, _)| (column.priority > 0) == wide);
        columns
            .map(|(_, cell)| source::plain_text(cell))
            .collect::<Vec<_>>()
            .join(" | ")
    };
    let (usual, wide) = (shown(false), shown(true));
    if wide.is_empty() {
        usual
    } else {
        format!("{usual} // {wide}")
    }
}

#[track_caller]
fn check(kind: (&str, &str), object: Value, expected: &str) {
    assert_eq!(cells(kind.0, "v1", kind.1, object), expected);
}

#[test]
fn durations_have_two_or_three_figures() {
    for (seconds, text) in [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (599, "9m59s"),
        (600, "10m"),
        (179 * 60 + 59, "179m"),
        (180 * 60, "3h"),
        (181 * 60, "3h1m"),
        (7 * 3600 + 59 * 60, "7h59m"),
        (8 * 3600, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (191 * 3600, "7d23h"),
        (192 * 3600, "8d"),
        (729 * 86400, "729d"),
        (730 * 86400, "2y"),
        (731 * 86400, "2y1d"),
        (8 * 365 * 86400, "8y"),
        (20 * 365 * 86400 + 99 * 86400, "20y"),
        (i64::MAX, "292471208677y"),
    ] {
        assert_eq!(human_duration(seconds), text, "{seconds}");
    }
}

#[test]
fn every_computed_column_gets_a_cell_even_from_an_empty_object() {
    for kind in kinds() {
        let row = row(kind, &json!({}), NOW.parse().unwrap());
        assert_eq!(row.len(), kind.columns.len(), "{}", kind.kind);
        assert!(
            row.iter().all(|cell| !cell.is_null()),
            "{} {}: {row:?}",
            kind.version,
            kind.kind
        );
        let computed = kind.columns.iter().any(Column::is_computed);
        assert_eq!(
            compute(kind.group, kind.version, kind.kind).is_some(),
            computed,
            "{}",
            kind.kind
        );
    }
}

#[test]
fn pods_tell_what_they_are_doing() {
    let pod = |status: Value| {
        json!({
            "metadata": {"name": "a", "creationTimestamp": "2026-01-01T11:00:00Z"},
            "spec": {
                "containers": [{"name": "x"}, {"name": "y"}],
                "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
            },
            "status": status,
        })
    };
    #[track_caller]
    fn check_status(pod: Value, ready: &str, status: &str, restarts: &str) {
        let cells = cells("", "v1", "Pod", pod);
        let expected = format!("a | {ready} | {status} | {restarts} | 60m // ");
        assert!(cells.starts_with(&expected), "{cells}\n{expected}");
    }
    let running = |name: &str| json!({"name": name, "ready": true, "started": true, "state": {"running": {}}});
    let done = |name: &str| json!({"name": name, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
    check_status(pod(json!({"phase": "Pending"})), "0/3", "Pending", "0");
    check_status(
        pod(json!({"phase": "Failed", "reason": "Evicted"})),
        "0/3",
        "Evicted",
        "0",
    );
    let gated = json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]);
    check_status(
        pod(json!({"phase": "Pending", "conditions": gated})),
        "0/3",
        "SchedulingGated",
        "0",
    );
    let init = |state: Value| json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": state, "restartCount": 2}]});
    check_status(pod(init(json!({"running": {}}))), "0/3", "Init:0/2", "2");
    check_status(
        pod(init(json!({"waiting": {"reason": "PodInitializing"}}))),
        "0/3",
        "Init:0/2",
        "2",
    );
    check_status(
        pod(init(json!({"waiting": {"reason": "ErrImagePull"}}))),
        "0/3",
        "Init:ErrImagePull",
        "2",
    );
    check_status(
        pod(init(json!({"terminated": {"exitCode": 3}}))),
        "0/3",
        "Init:ExitCode:3",
        "2",
    );
    check_status(
        pod(init(json!({"terminated": {"exitCode": 1, "signal": 9}}))),
        "0/3",
        "Init:Signal:9",
        "2",
    );
    check_status(
        pod(init(
            json!({"terminated": {"exitCode": 1, "reason": "Error"}}),
        )),
        "0/3",
        "Init:Error",
        "2",
    );
    let both = |containers: Value| json!({"phase": "Running", "initContainerStatuses": [done("i"), running("s")], "containerStatuses": containers});
    check_status(
        pod(both(json!([running("x"), running("y")]))),
        "3/3",
        "Running",
        "0",
    );
    let crashed = json!({
        "name": "x", "restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"finishedAt": "2026-01-01T11:58:00Z"}},
    });
    check_status(
        pod(both(json!([crashed, running("y")]))),
        "2/3",
        "CrashLoopBackOff",
        "4 (2m ago)",
    );
    check_status(
        pod(both(json!([done("x"), running("y")]))),
        "2/3",
        "NotReady",
        "0",
    );
    let mut ready = both(json!([done("x"), running("y")]));
    ready["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    check_status(pod(ready), "2/3", "Running", "0");
    let mut deleted = pod(both(json!([running("x"), running("y")])));
    deleted["metadata"]["deletionTimestamp"] = NOW.into();
    check_status(deleted.clone(), "3/3", "Terminating", "0");
    deleted["status"]["phase"] = "Succeeded".into();
    check_status(deleted.clone(), "3/3", "Succeeded", "0");
    deleted["status"]["reason"] = "NodeLost".into();
    check_status(deleted, "3/3", "Unknown", "0");
    check(
        ("", "Pod"),
        json!({
            "metadata": {"name": "a"},
            "spec": {"nodeName": "n", "readinessGates": [{"conditionType": "p"}, {"conditionType": "q"}]},
            "status": {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "q", "status": "True"}]},
        }),
        "a | 0/0 |  | 0 | <unknown> // 10.0.0.1 | n | <none> | 1/2",
    );
}

#[test]
fn ended_pods_are_marked() {
    let pod = find("", "v1", "Pod").unwrap();
    assert_eq!(
        row_conditions(pod, &json!({"status": {"phase": "Failed"}}))[0]["reason"],
        "Failed"
    );
    assert!(row_conditions(pod, &json!({"status": {"phase": "Running"}})).is_empty());
    assert!(
        row_conditions(
            find("batch", "v1", "Job").unwrap(),
            &json!({"status": {"phase": "Failed"}})
        )
        .is_empty()
    );
}

#[test]
fn workloads_show_how_far_they_are() {
    let template = json!({"spec": {"containers": [{"name": "x", "image": "nginx:1"}, {"name": "y", "image": "envoy"}]}});
    check(
        ("apps", "Deployment"),
        json!({
            "metadata": {"name": "web", "creationTimestamp": "2025-12-30T11:00:00Z"},
            "spec": {"replicas": 3, "template": template, "selector": {"matchLabels": {"b": "2", "a": "1"}}},
            "status": {"readyReplicas": 2, "updatedReplicas": 3},
        }),
        "web | 2/3 | 3 | 0 | 2d1h // x,y | nginx:1,envoy | a=1,b=2",
    );
    check(
        ("apps", "StatefulSet"),
        json!({"metadata": {"name": "db"}, "spec": {"replicas": 1, "template": template}}),
        "db | 0/1 | <unknown> // x,y | nginx:1,envoy",
    );
    check(
        ("apps", "DaemonSet"),
        json!({"metadata": {"name": "log"}, "spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}},
            "status": {"desiredNumberScheduled": 4, "numberReady": 3}}),
        "log | 4 | 0 | 3 | 0 | 0 | disk=ssd | <unknown> //  |  | <none>",
    );
    check(
        ("apps", "ReplicaSet"),
        json!({"metadata": {"name": "r"}, "spec": {"replicas": 2, "selector": {"matchExpressions":
            [{"key": "tier", "operator": "In", "values": ["b", "a"]}]}}}),
        "r | 2 | 0 | 0 | <unknown> //  |  | tier in (a,b)",
    );
    check(
        ("apps", "ControllerRevision"),
        json!({"metadata": {"name": "r", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet",
            "name": "log", "controller": true}]}, "revision": 2}),
        "r | daemonset.apps/log | 2 | <unknown>",
    );
    let job = |spec: Value, status: Value| json!({"metadata": {"name": "j"}, "spec": spec, "status": status});
    let condition = |ty: &str| json!([{"type": ty, "status": "True"}]);
    for (spec, status, expected) in [
        (
            json!({"completions": 3}),
            json!({"succeeded": 1, "startTime": "2026-01-01T11:55:00Z"}),
            "Running | 1/3 | 5m",
        ),
        (
            json!({"parallelism": 4}),
            json!({}),
            "Running | 0/1 of 4 | ",
        ),
        (
            json!({}),
            json!({"conditions": condition("Suspended")}),
            "Suspended | 0/1 | ",
        ),
        (
            json!({"completions": 1}),
            json!({"succeeded": 1, "startTime": "2026-01-01T11:00:00Z", "completionTime": "2026-01-01T11:00:07Z",
                "conditions": condition("Complete")}),
            "Complete | 1/1 | 7s",
        ),
    ] {
        check(
            ("batch", "Job"),
            job(spec, status),
            &format!("j | {expected} | <unknown> //  |  | <none>"),
        );
    }
    check(
        ("batch", "CronJob"),
        json!({"metadata": {"name": "c"}, "spec": {"schedule": "@daily", "suspend": false},
            "status": {"active": [{}], "lastScheduleTime": "2026-01-01T00:00:00Z"}}),
        "c | @daily | <none> | False | 1 | 12h | <unknown> //  |  | <none>",
    );
}

#[test]
fn services_show_where_they_are() {
    let service = |spec: Value, status: Value| json!({"metadata": {"name": "s"}, "spec": spec, "status": status});
    let balanced =
        json!({"loadBalancer": {"ingress": [{"ip": "9.9.9.9"}, {"hostname": "lb.example"}]}});
    let port = json!([{"port": 80, "protocol": "TCP"}, {"port": 443, "nodePort": 30443, "protocol": "TCP"}]);
    for (spec, status, expected) in [
        (
            json!({"type": "ClusterIP", "clusterIPs": ["10.0.0.1"], "ports": port}),
            json!({}),
            "ClusterIP | 10.0.0.1 | <none> | 80/TCP,443:30443/TCP",
        ),
        (
            json!({"type": "ClusterIP", "clusterIPs": ["None"], "externalIPs": ["1.1.1.1", "2.2.2.2"]}),
            json!({}),
            "ClusterIP | None | 1.1.1.1,2.2.2.2 | <none>",
        ),
        (
            json!({"type": "LoadBalancer"}),
            json!({}),
            "LoadBalancer | <none> | <pending> | <none>",
        ),
        (
            json!({"type": "LoadBalancer", "externalIPs": ["1.1.1.1"]}),
            balanced,
            "LoadBalancer | <none> | 9.9.9.9,lb.example,1.1.1.1 | <none>",
        ),
        (
            json!({"type": "ExternalName", "externalName": "db.example"}),
            json!({}),
            "ExternalName | <none> | db.example | <none>",
        ),
    ] {
        check(
            ("", "Service"),
            service(spec, status),
            &format!("s | {expected} | <unknown> // <none>"),
        );
    }
    let addresses = json!([{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]);
    check(
        ("", "Endpoints"),
        json!({"metadata": {"name": "e"}}),
        "e | <none> | <unknown>",
    );
    check(
        ("", "Endpoints"),
        json!({"metadata": {"name": "e"}, "subsets": [{"addresses": addresses, "ports": [{"port": 80}, {"port": 81}]}]}),
        "e | 10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 1 more... | <unknown>",
    );
    check(
        ("", "Endpoints"),
        json!({"metadata": {"name": "e"}, "subsets": [{"addresses": addresses}]}),
        "e | 10.0.0.1,fd00::1 | <unknown>",
    );
    check(
        ("discovery.k8s.io", "EndpointSlice"),
        json!({"metadata": {"name": "e"}, "addressType": "IPv4", "ports": [{"port": 80}, {"name": "web"}, {}],
            "endpoints": [{"addresses": ["a", "b"]}, {"addresses": ["c", "d", "e"]}]}),
        "e | IPv4 | 80,web,* | a,b,c + 2 more... | <unknown>",
    );
    check(
        ("discovery.k8s.io", "EndpointSlice"),
        json!({}),
        " |  | <unset> | <unset> | <unknown>",
    );
    let rules = |hosts: &[&str]| {
        hosts
            .iter()
            .map(|host| json!({"host": host}))
            .collect::<Vec<_>>()
    };
    for (hosts, expected) in [
        (&["a", "b"][..], "a,b"),
        (&[""], "*"),
        (&["a", "b", "c", "d", "e"], "a,b,c + 2 more..."),
    ] {
        check(
            ("networking.k8s.io", "Ingress"),
            json!({"metadata": {"name": "i"}, "spec": {"rules": rules(hosts), "tls": [{}], "ingressClassName": "nginx"},
                "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}),
            &format!("i | nginx | {expected} | 1.2.3.4 | 80, 443 | <unknown>"),
        );
    }
    check(
        ("networking.k8s.io", "IngressClass"),
        json!({"metadata": {"name": "c"}, "spec": {"controller": "x/y", "parameters": {"apiGroup": "g", "kind": "K", "name": "n"}}}),
        "c | x/y | K.g/n | <unknown>",
    );
    check(
        ("networking.k8s.io", "IPAddress"),
        json!({"metadata": {"name": "10.0.0.1"}, "spec": {"parentRef": {"resource": "Services", "namespace": "n", "name": "s"}}}),
        "10.0.0.1 | services/n/s",
    );
    check(
        ("networking.k8s.io", "NetworkPolicy"),
        json!({"metadata": {"name": "p"}, "spec": {"podSelector": {}}}),
        "p | <none> | <unknown>",
    );
}

#[test]
fn storage_shows_size_and_use() {
    let volume = json!({
        "metadata": {"name": "v"},
        "spec": {"capacity": {"storage": "1024Mi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": "n", "name": "c"},
            "storageClassName": "fast", "volumeMode": "Filesystem"},
        "status": {"phase": "Bound"},
    });
    check(
        ("", "PersistentVolume"),
        volume,
        "v | 1Gi | RWO,RWX | Retain | Bound | n/c | fast | <unset> |  | <unknown> // Filesystem",
    );
    let claim = |volume: &str| {
        json!({"metadata": {"name": "c"}, "spec": {"volumeName": volume},
            "status": {"phase": "Pending", "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOncePod"]}})
    };
    check(
        ("", "PersistentVolumeClaim"),
        claim(""),
        "c | Pending |  |  |  |  | <unset> | <unknown> // <unset>",
    );
    check(
        ("", "PersistentVolumeClaim"),
        claim("v"),
        "c | Pending | v | 5Gi | RWOP |  | <unset> | <unknown> // <unset>",
    );
    check(
        ("storage.k8s.io", "StorageClass"),
        json!({"metadata": {"name": "s", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            "provisioner": "p"}),
        "s (default) | p | Delete | Immediate | false | <unknown>",
    );
    check(
        ("storage.k8s.io", "CSIDriver"),
        json!({"metadata": {"name": "d"}, "spec": {"tokenRequests": [{"audience": "a"}, {"audience": "b"}]}}),
        "d | true | false | false | a,b | false | <none> | <unknown>",
    );
}

#[test]
fn the_cluster_shows_its_state() {
    check(
        ("", "Node"),
        json!({
            "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "Unknown"}], "nodeInfo": {"kubeletVersion": "v1.34.1"},
                "addresses": [{"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "10.0.0.1"}]},
        }),
        "n | NotReady,SchedulingDisabled | edge,worker | <unknown> | v1.34.1 // 10.0.0.1 | <none> | <unknown> | <unknown> | <unknown>",
    );
    check(
        ("", "ResourceQuota"),
        json!({"metadata": {"name": "q"}, "status": {
            "hard": {"pods": "10", "limits.cpu": "4", "cpu": "2000m"}, "used": {"pods": "3", "cpu": "500m"}}}),
        "q | cpu: 500m/2, pods: 3/10 | limits.cpu: 0/4 | <unknown>",
    );
    check(
        ("", "ComponentStatus"),
        json!({"metadata": {"name": "x"}, "conditions": [{"type": "Healthy", "status": "False", "message": "m", "error": "e"}]}),
        "x | Unhealthy | m | e",
    );
    let event = json!({
        "metadata": {"name": "e"}, "type": "Warning", "reason": "BackOff", "message": " no luck \n", "count": 3,
        "involvedObject": {"kind": "Pod", "name": "a", "fieldPath": "spec.containers{x}"},
        "source": {"component": "kubelet", "host": "n"},
        "firstTimestamp": "2026-01-01T11:00:00Z", "lastTimestamp": "2026-01-01T11:59:00Z",
    });
    check(
        ("", "Event"),
        event.clone(),
        "60s | Warning | BackOff | pod/a | no luck // spec.containers{x} | kubelet, n | 60m | 3 | e",
    );
    check(
        ("events.k8s.io", "Event"),
        crate::convert::event_to_events(&event),
        "60s | Warning | BackOff | pod/a | no luck // spec.containers{x} | kubelet, n | 60m | 3 | e",
    );
    check(
        ("events.k8s.io", "Event"),
        json!({"metadata": {"name": "e"}, "eventTime": "2026-01-01T11:58:00.000000Z", "note": "n", "reportingController": "c",
            "series": {"count": 7, "lastObservedTime": "2026-01-01T11:59:59.500000Z"}}),
        "1s |  |  |  | n //  | c | 2m | 7 | e",
    );
    check(
        ("apiregistration.k8s.io", "APIService"),
        json!({"metadata": {"name": "v1.x"}, "spec": {"service": {"namespace": "n", "name": "s"}},
            "status": {"conditions": [{"type": "Available", "status": "False", "reason": "Lost"}]}}),
        "v1.x | n/s | False (Lost) | <unknown>",
    );
    check(
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        json!({"metadata": {"name": "p"}, "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 30}}}),
        "p | Limited | 30 | <none> | <none> | <none> | <unknown>",
    );
    check(
        ("resource.k8s.io", "ResourceClaim"),
        json!({"metadata": {"name": "c"}, "status": {"allocation": {}, "reservedFor": [{}]}}),
        "c | allocated,reserved | <unknown>",
    );
}

#[test]
fn access_shows_who_gets_what() {
    check(
        ("rbac.authorization.k8s.io", "RoleBinding"),
        json!({"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": [
            {"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}, {"kind": "User", "name": "v"}]}),
        "b | Role/r | <unknown> // u, v |  | n/s",
    );
    let request = |conditions: Value, certificate: &str| {
        json!({"metadata": {"name": "c"}, "spec": {"signerName": "s", "username": "u", "expirationSeconds": 3600},
            "status": {"conditions": conditions, "certificate": certificate}})
    };
    for (conditions, certificate, expected) in [
        (json!([]), "", "Pending"),
        (json!([{"type": "Approved"}]), "Zm9v", "Approved,Issued"),
        (
            json!([{"type": "Denied"}, {"type": "Approved"}]),
            "",
            "Denied",
        ),
        (
            json!([{"type": "Approved"}, {"type": "Failed"}]),
            "",
            "Approved,Failed",
        ),
    ] {
        let expected = format!("c | <unknown> | s | u | 60m | {expected}");
        check(
            ("certificates.k8s.io", "CertificateSigningRequest"),
            request(conditions, certificate),
            &expected,
        );
    }
    check(
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding",
        ),
        json!({"metadata": {"name": "b"}, "spec": {"policyName": "p", "paramRef": {"name": "x"}}}),
        "b | p | */x | <unknown>",
    );
}

#[test]
fn autoscalers_show_what_they_aim_at_in_both_versions() {
    let resource = |percent: i64| json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}});
    let autoscaler = json!({
        "metadata": {"name": "h"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 5, "minReplicas": 2,
            "metrics": [
                {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "1k"}}},
                resource(80),
                {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "30"}}},
            ]},
        "status": {"currentReplicas": 3, "currentMetrics": [
            {"type": "Pods", "pods": {"metric": {"name": "rps"}, "current": {"averageValue": "500"}}}]},
    });
    let expected =
        "h | Deployment/web | 500/1k, cpu: <unknown>/80% + 1 more... | 2 | 5 | 3 | <unknown>";
    assert_eq!(
        cells("autoscaling", "v2", "HorizontalPodAutoscaler", autoscaler),
        expected
    );
    let first = json!({
        "metadata": {"name": "h"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 5, "targetCPUUtilizationPercentage": 60},
        "status": {"currentReplicas": 3, "currentCPUUtilizationPercentage": 41},
    });
    let expected = "h | Deployment/web | cpu: 41%/60% | <unset> | 5 | 3 | <unknown>";
    assert_eq!(
        cells("autoscaling", "v1", "HorizontalPodAutoscaler", first),
        expected
    );
}

use super::{super::*, *};
use crate::kinds::kinds;

const POD: (&str, &str) = ("", "Pod");
const DEPLOYMENT: (&str, &str) = ("apps", "Deployment");

#[test]
fn the_smallest_objects_are_valid() {
    for kind in kinds() {
        if kind.version == "v1" && kind.group == "autoscaling" {
            continue; // Stored as the second version, which is checked.
        }
        check((kind.group, kind.kind), json!({}), &[]);
    }
}

#[test]
fn any_shape_is_refused_or_accepted_but_never_fatal() {
    for kind in kinds() {
        for shape in [
            json!(null),
            json!([]),
            json!("x"),
            json!({"metadata": [], "spec": 7}),
            json!({"spec": {"template": [1], "ports": {}}}),
        ] {
            let gvk = gvk(kind.group, kind.kind);
            let mut object = shape.clone();
            prepare_create(&gvk, &mut object, NOW.parse().unwrap());
            let _ = validate_create(&gvk, &object);
            prepare_update(&gvk, &json!({"spec": []}), &mut object);
            let _ = validate_update(&gvk, &shape, &object);
            prepare_subresource_update(&gvk, "status", &shape, &mut object);
            let _ = validate_subresource_update(&gvk, "status", &shape, &object);
        }
    }
}

#[test]
fn metadata_is_checked_by_kind() {
    let map = ("", "ConfigMap");
    check(
        map,
        json!({"metadata": {"name": null}}),
        &["metadata.name: Required value: name or generateName is required"],
    );
    check(
        map,
        json!({"metadata": {"namespace": null}}),
        &["metadata.namespace: Required value"],
    );
    let [subdomain, label, label_1035] = [
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ];
    check(
        map,
        json!({"metadata": {"name": "A"}}),
        &[&format!("metadata.name: Invalid value: \"A\": {subdomain}")],
    );
    check(
        map,
        json!({"metadata": {"name": "a.b", "generateName": "a-"}}),
        &[],
    );
    check(
        ("", "Namespace"),
        json!({"metadata": {"name": "a_b"}}),
        &[&format!("metadata.name: Invalid value: \"a_b\": {label}")],
    );
    check(
        ("", "Service"),
        json!({"metadata": {"name": "1a"}}),
        &[&format!(
            "metadata.name: Invalid value: \"1a\": {label_1035}"
        )],
    );
    check(
        ("rbac.authorization.k8s.io", "ClusterRole"),
        json!({"metadata": {"name": "system:node"}}),
        &[],
    );
    check(
        ("rbac.authorization.k8s.io", "ClusterRole"),
        json!({"metadata": {"name": "a/b"}}),
        &["metadata.name: Invalid value: \"a/b\": may not contain '/'"],
    );
    check(
        ("", "Node"),
        json!({"metadata": {"namespace": "x"}}),
        &["metadata.namespace: Forbidden: not allowed on this type"],
    );
    check(
        map,
        json!({"metadata": {"labels": {"a": "-"}}}),
        &[
            "metadata.labels: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ],
    );
    check(
        map,
        json!({"metadata": {"annotations": {"a": "x".repeat(ANNOTATIONS_LIMIT)}}}),
        &["metadata.annotations: Too long: may not be more than 262144 bytes"],
    );
    let owner = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "u", "controller": true});
    check(
        map,
        json!({"metadata": {"ownerReferences": [owner("a")]}}),
        &[],
    );
    let errors = validate_create(
        &gvk("", "ConfigMap"),
        &created(
            "",
            "ConfigMap",
            json!({"metadata": {"ownerReferences": [owner("a"), owner("b")]}}),
        ),
    );
    assert!(errors[0].detail.starts_with("Only one reference can have Controller set to true. Found \"true\" in references for Pod/a and Pod/b"));
    check(
        map,
        json!({"metadata": {"ownerReferences": [{"apiVersion": "apps/", "kind": "", "name": "n", "uid": "u"}]}}),
        &[
            "metadata.ownerReferences.apiVersion: Invalid value: \"apps/\": version must not be empty",
            "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty",
        ],
    );
    check(
        map,
        json!({"metadata": {"finalizers": ["kubernetes", "a/b", "odd"]}}),
        &[
            "metadata.finalizers[2]: Invalid value: \"odd\": name is neither a standard finalizer name nor is it fully qualified",
        ],
    );
    check(
        ("policy", "PodDisruptionBudget"),
        json!({"metadata": {"finalizers": ["odd"]}}),
        &[],
    );
    check(
        map,
        json!({"metadata": {"finalizers": ["orphan", "foregroundDeletion"]}}),
        &[
            "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and foregroundDeletion cannot be both set",
        ],
    );
}

#[test]
fn containers_are_checked_wherever_they_occur() {
    for (containers, errors) in [
        (json!([]), &["containers: Required value"][..]),
        (
            json!([{"name": "a"}]),
            &["containers[0].image: Required value"],
        ),
        (
            json!([{"image": "x"}]),
            &["containers[0].name: Required value"],
        ),
        (
            json!([{"name": "a", "image": " x"}]),
            &[
                "containers[0].image: Invalid value: \" x\": must not have leading or trailing whitespace",
            ],
        ),
        (
            json!([{"name": "a", "image": "x"}, {"name": "a", "image": "x"}]),
            &["containers[1].name: Duplicate value: \"a\""],
        ),
        (
            json!([{"name": "a", "image": "x", "imagePullPolicy": "Sometimes"}]),
            &[
                "containers[0].imagePullPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
            ],
        ),
        (
            json!([{"name": "a", "image": "x", "ports": [{"containerPort": 0}, {"containerPort": 70000, "name": "Web"}]}]),
            &[
                "containers[0].ports[0].containerPort: Required value",
                "containers[0].ports[1].name: Invalid value: \"Web\": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                "containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            ],
        ),
        (
            json!([{"name": "a", "image": "x", "env": [{"value": "v"}, {"name": "B", "value": "v", "valueFrom": {"fieldRef": {"fieldPath": "f"}}}]}]),
            &[
                "containers[0].env[0].name: Required value",
                "containers[0].env[1].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
            ],
        ),
        (
            json!([{"name": "a", "image": "x", "volumeMounts": [{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x"}]}]),
            &[
                "containers[0].volumeMounts[0].name: Not found: \"v\"",
                "containers[0].volumeMounts[1].name: Not found: \"v\"",
                "containers[0].volumeMounts[1].mountPath: Invalid value: \"/x\": must be unique",
            ],
        ),
        (
            json!([{"name": "a", "image": "x", "livenessProbe": {"successThreshold": 2, "periodSeconds": -1}}]),
            &[
                "containers[0].livenessProbe: Required value: must specify a handler type",
                "containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
                "containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
            ],
        ),
        (
            json!([{"name": "a", "image": "x", "readinessProbe": {"httpGet": {"port": "no_port"}, "exec": {"command": ["x"]}}}]),
            &[
                "containers[0].readinessProbe.httpGet.port: Invalid value: \"no_port\": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                "containers[0].readinessProbe.httpGet: Forbidden: may not specify more than 1 handler type",
            ],
        ),
        (
            json!([{"name": "a", "image": "x", "resources": {"requests": {"cpu": "2", "memory": "-1"}, "limits": {"cpu": "1"}}}]),
            &[
                "containers[0].resources.requests[memory]: Invalid value: \"-1\": must be greater than or equal to 0",
                "containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
            ],
        ),
    ] {
        let at = |prefix: &str| {
            errors
                .iter()
                .map(|error| format!("{prefix}.{error}"))
                .collect::<Vec<_>>()
        };
        let expected = at("spec");
        check(
            POD,
            json!({"spec": {"containers": containers}}),
            &expected.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let expected = at("spec.template.spec");
        check(
            DEPLOYMENT,
            json!({"spec": {"template": {"spec": {"containers": containers}}}}),
            &expected.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let expected = at("spec.jobTemplate.spec.template.spec");
        check(
            ("batch", "CronJob"),
            json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": containers}}}}}}),
            &expected.iter().map(String::as_str).collect::<Vec<_>>(),
        );
    }
}

#[test]
fn pods_are_checked_as_a_whole() {
    for (spec, errors) in [
        (
            json!({"restartPolicy": "Maybe"}),
            &[
                "spec.restartPolicy: Unsupported value: \"Maybe\": supported values: \"Always\", \"Never\", \"OnFailure\"",
            ][..],
        ),
        (
            json!({"terminationGracePeriodSeconds": -1}),
            &[
                "spec.terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            json!({"activeDeadlineSeconds": 0}),
            &[
                "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
            ],
        ),
        (
            json!({"dnsPolicy": "None"}),
            &["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
        ),
        (
            json!({"ephemeralContainers": [{"name": "d", "image": "x"}]}),
            &["spec.ephemeralContainers: Forbidden: cannot be set on create"],
        ),
        (
            json!({"initContainers": [{"name": "i", "image": "x", "lifecycle": {}}]}),
            &[
                "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always",
            ],
        ),
        (
            json!({"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/a/../b"}}]}),
            &[
                "spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
                "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
            ],
        ),
        (
            json!({"volumes": [{"name": "v"}, {"name": "v"}]}),
            &["spec.volumes[1].name: Duplicate value: \"v\""],
        ),
        (
            json!({"tolerations": [{"value": "x"}, {"key": "k", "operator": "Exists", "value": "x"}, {"key": "k", "tolerationSeconds": 3}]}),
            &[
                "spec.tolerations[0].operator: Invalid value: \"\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
                "spec.tolerations[1].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
                "spec.tolerations[2].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
            ],
        ),
        (
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}}),
            &[
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term",
            ],
        ),
        (
            json!({"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "podAffinityTerm": {}}]}}}),
            &[
                "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Required value",
                "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100",
            ],
        ),
        (
            json!({"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]}),
            &[
                "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
            ],
        ),
    ] {
        check(POD, json!({"spec": spec}), errors);
    }
    let ports = json!([{"name": "a", "image": "x", "ports": [{"containerPort": 80, "hostPort": 81}]}, {"name": "b", "image": "x", "ports": [{"containerPort": 81, "hostPort": 81}]}]);
    check(
        POD,
        json!({"spec": {"hostNetwork": true, "containers": ports}}),
        &[
            "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true",
            "spec.containers[1].ports[0].hostPort: Duplicate value: \"TCP//81\"",
        ],
    );
}

#[test]
fn workloads_select_their_own_pods_and_roll_out_sensibly() {
    for (spec, errors) in [
        (
            json!({"replicas": -1}),
            &["spec.replicas: Invalid value: -1: must be greater than or equal to 0"][..],
        ),
        (
            json!({"selector": null}),
            &["spec.selector: Required value"],
        ),
        (
            json!({"selector": {"matchLabels": null}}),
            &["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
        ),
        (
            json!({"selector": {"matchLabels": {"app": "x"}}}),
            &[
                "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
            ],
        ),
        (
            json!({"template": {"spec": {"restartPolicy": "Never"}}}),
            &[
                "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"",
            ],
        ),
        (
            json!({"template": {"spec": {"activeDeadlineSeconds": 3}}}),
            &[
                "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
            ],
        ),
        (
            json!({"strategy": {"type": "Recreate", "rollingUpdate": {}}}),
            &[
                "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
            ],
        ),
        (
            json!({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}}),
            &[
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0",
            ],
        ),
        (
            json!({"strategy": {"rollingUpdate": {"maxUnavailable": "101%"}}}),
            &[
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%",
            ],
        ),
        (
            json!({"minReadySeconds": 600}),
            &[
                "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds",
            ],
        ),
    ] {
        check(DEPLOYMENT, json!({"spec": spec}), errors);
    }
    check(
        ("apps", "DaemonSet"),
        json!({"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": 1}}}}),
        &[
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
        ],
    );
    check(
        ("apps", "StatefulSet"),
        json!({"spec": {"serviceName": "A"}}),
        &[
            "spec.serviceName: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        ],
    );
    check(
        ("apps", "StatefulSet"),
        json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": -1}}}}),
        &[
            "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0",
        ],
    );
    check(
        ("apps", "StatefulSet"),
        json!({"spec": {
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }],
            "template": {"spec": {"containers": [{
                "name": "web", "image": "x",
                "volumeMounts": [{"name": "data", "mountPath": "/d"}, {"name": "other", "mountPath": "/o"}],
            }]}},
        }}),
        &["spec.template.spec.containers[0].volumeMounts[1].name: Not found: \"other\""],
    );
    check(
        ("", "ReplicationController"),
        json!({"spec": {"selector": {"a": "b"}}}),
        &[
            "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
        ],
    );
}

#[test]
fn jobs_end_and_their_schedules_are_read() {
    check(
        ("batch", "Job"),
        json!({"spec": {"template": {"spec": {"restartPolicy": "Always"}}}}),
        &[
            "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"",
        ],
    );
    check(
        ("batch", "Job"),
        json!({"spec": {"completionMode": "Indexed", "parallelism": 2}}),
        &["spec.completions: Required value: when completion mode is Indexed"],
    );
    check(
        ("batch", "Job"),
        json!({"spec": {"backoffLimitPerIndex": 1}}),
        &["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
    );
    check(
        ("batch", "Job"),
        json!({"spec": {"manualSelector": true}}),
        &["spec.selector: Required value"],
    );
    check(
        ("batch", "Job"),
        json!({"spec": {"template": {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "other"}}}}}),
        &[
            "spec.template.metadata.labels: Invalid value: {\"app\":\"web\",\"batch.kubernetes.io/controller-uid\":\"other\",\"job-name\":\"web\",\"batch.kubernetes.io/job-name\":\"web\",\"controller-uid\":\"u-1\"}: `selector` does not match template `labels`",
            "spec.template.metadata.labels[batch.kubernetes.io/controller-uid]: Invalid value: \"other\": must be 'u-1'",
        ],
    );
    let schedule = |text: &str| json!({"spec": {"schedule": text}});
    for good in [
        "@daily",
        "@every 1h",
        "0 0 * * *",
        "*/15 9-17 1,15 jan-jun MON-fri",
        "0 0 ? * 0",
    ] {
        check(("batch", "CronJob"), schedule(good), &[]);
    }
    for (bad, problem) in [
        ("", "Required value"),
        (
            "* * * *",
            "Invalid value: \"* * * *\": expected exactly 5 fields, found 4: [\"*\", \"*\", \"*\", \"*\"]",
        ),
        (
            "60 * * * *",
            "Invalid value: \"60 * * * *\": end of range (60) above maximum (59): 60",
        ),
        (
            "a * * * *",
            "Invalid value: \"a * * * *\": failed to parse int from a",
        ),
        (
            "*/0 * * * *",
            "Invalid value: \"*/0 * * * *\": step of range should be a positive number: */0",
        ),
        (
            "5-1 * * * *",
            "Invalid value: \"5-1 * * * *\": beginning of range (5) beyond end of range (1): 5-1",
        ),
        (
            "@noon",
            "Invalid value: \"@noon\": unrecognized descriptor: @noon",
        ),
        (
            "@every 1x",
            "Invalid value: \"@every 1x\": failed to parse duration @every 1x: duration \"1x\" has the unknown unit \"x\"; there are ns us ms s m h",
        ),
        (
            "TZ=UTC 0 0 * * *",
            "Invalid value: \"TZ=UTC 0 0 * * *\": cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        ),
    ] {
        check(
            ("batch", "CronJob"),
            schedule(bad),
            &[&format!("spec.schedule: {problem}")],
        );
    }
    let zone = |name: &str| json!({"spec": {"timeZone": name}});
    for good in [
        "UTC",
        "Etc/UTC",
        "Europe/Paris",
        "America/Argentina/Ushuaia",
    ] {
        check(("batch", "CronJob"), zone(good), &[]);
    }
    for bad in ["bad-time-zone", "europe/paris", "../UTC", "Etc/Unknown"] {
        let problem = format!("spec.timeZone: Invalid value: \"{bad}\": unknown time zone {bad}");
        check(("batch", "CronJob"), zone(bad), &[&problem]);
    }
    let long = "x".repeat(53);
    check(
        ("batch", "CronJob"),
        json!({"metadata": {"name": long}}),
        &[&format!(
            "metadata.name: Invalid value: \"{long}\": must be no more than 52 characters"
        )],
    );
}

/// As many volumes as a body has room for: each is found without looking through all of them.
#[test]
fn many_volumes_are_mounted_like_few() {
    const COUNT: usize = 5_000;
    let volumes: Vec<Value> = (0..COUNT)
        .map(|number| json!({"name": format!("v{number}"), "emptyDir": {}}))
        .collect();
    let mounts: Vec<Value> = (0..=COUNT)
        .map(|number| json!({"name": format!("v{number}"), "mountPath": format!("/v{number}")}))
        .collect();
    let containers = json!([{"name": "web", "image": "nginx:1", "volumeMounts": mounts}]);
    check(
        POD,
        json!({"spec": {"volumes": volumes, "containers": containers}}),
        &["spec.containers[0].volumeMounts[5000].name: Not found: \"v5000\""],
    );
}

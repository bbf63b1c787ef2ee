use super::{super::*, NOW, check_change as check_from, created, gvk, with};
use serde_json::json;

#[track_caller]
fn check(kind: (&str, &str), over: Value, expected: &[&str]) {
    check_from(kind, json!({}), over, expected);
}

#[test]
fn an_update_that_changes_nothing_is_valid() {
    for kind in crate::kinds::kinds() {
        if kind.verbs.contains(&"update") && kind.version != "v2" {
            check((kind.group, kind.kind), json!({}), &[]);
        }
    }
}

#[test]
fn identity_does_not_change() {
    let map = ("", "ConfigMap");
    check(
        map,
        json!({"metadata": {"uid": "u-2"}}),
        &["metadata.uid: Invalid value: \"u-2\": field is immutable"],
    );
    check(
        map,
        json!({"metadata": {"resourceVersion": null}}),
        &["metadata.resourceVersion: Invalid value: \"\": must be specified for an update"],
    );
    check_from(
        map,
        json!({"metadata": {"deletionTimestamp": NOW, "finalizers": ["a/b"]}}),
        json!({"metadata": {"finalizers": ["a/b", "c/d"]}}),
        &[
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"c/d\"}",
        ],
    );
}

#[test]
fn the_scopes_of_a_quota_stay() {
    let quota = |scopes: Value| json!({"spec": {"hard": {"pods": 1}, "scopes": scopes}});
    let first = || quota(json!(["BestEffort", "Terminating"]));
    let kind = ("", "ResourceQuota");
    check_from(
        kind,
        first(),
        quota(json!(["Terminating", "BestEffort"])),
        &[],
    );
    check_from(
        kind,
        first(),
        quota(json!(["BestEffort"])),
        &["spec.scopes: Invalid value: [\"BestEffort\"]: field is immutable"],
    );
}

#[test]
fn a_time_zone_that_is_no_longer_known_may_stay() {
    let cron_job = ("batch", "CronJob");
    let zone = |name: &str| json!({"spec": {"timeZone": name}});
    check_from(
        cron_job,
        zone("Old/Town"),
        json!({"spec": {"suspend": true}}),
        &[],
    );
    check_from(
        cron_job,
        zone("UTC"),
        zone("Old/Town"),
        &["spec.timeZone: Invalid value: \"Old/Town\": unknown time zone Old/Town"],
    );
}

#[test]
fn selectors_and_templates_stay() {
    let relabelled = json!({"spec": {"selector": {"matchLabels": {"app": "new"}}, "template": {"metadata": {"labels": {"app": "new"}}}}});
    for kind in ["Deployment", "ReplicaSet", "DaemonSet"] {
        check(
            ("apps", kind),
            relabelled.clone(),
            &[
                "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"new\"}}: field is immutable",
            ],
        );
    }
    let forbidden = "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
    check(
        ("apps", "StatefulSet"),
        json!({"spec": {"serviceName": "other"}}),
        &[forbidden],
    );
    check(
        ("apps", "StatefulSet"),
        json!({"spec": {"replicas": 3, "template": {"metadata": {"annotations": {"a": "b"}}}}}),
        &[],
    );
    let retagged = json!({"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}});
    let errors = {
        let gvk = gvk("batch", "Job");
        let old = created("batch", "Job", json!({}));
        let mut new = with(old.clone(), retagged.clone());
        prepare_update(&gvk, &old, &mut new);
        validate_update(&gvk, &old, &new)
    };
    assert_eq!(
        (
            errors.len(),
            errors[0].path.as_str(),
            errors[0].detail.as_str()
        ),
        (1, "spec.template", "field is immutable")
    );
    check_from(
        ("batch", "Job"),
        json!({"spec": {"suspend": true}}),
        retagged,
        &[],
    );
    check(
        ("batch", "Job"),
        json!({"spec": {"completions": 2}}),
        &["spec.completions: Invalid value: 2: field is immutable"],
    );
    let indexed =
        json!({"spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2}});
    check_from(
        ("batch", "Job"),
        indexed.clone(),
        json!({"spec": {"completions": 3, "parallelism": 3}}),
        &[],
    );
    check_from(
        ("batch", "Job"),
        indexed,
        json!({"spec": {"completions": 3}}),
        &[
            "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism",
        ],
    );
    check(
        ("batch", "Job"),
        json!({"spec": {"parallelism": 5, "suspend": true}}),
        &[],
    );
}

#[test]
fn pods_hardly_change() {
    let image = json!([{"name": "web", "image": "nginx:2"}]);
    let mut pod = created("", "Pod", json!({}));
    pod["spec"]["containers"][0]["image"] = "nginx:2".into();
    assert_eq!(pod["spec"]["containers"][0]["name"], image[0]["name"]);
    check(
        ("", "Pod"),
        json!({"spec": {"containers": pod["spec"]["containers"]}}),
        &[],
    );
    check(
        ("", "Pod"),
        json!({"metadata": {"labels": {"a": "b"}}}),
        &[],
    );
    check(
        ("", "Pod"),
        json!({"spec": {"tolerations": [{"operator": "Exists"}], "activeDeadlineSeconds": 5}}),
        &[],
    );
    check_from(
        ("", "Pod"),
        json!({"spec": {"activeDeadlineSeconds": 5}}),
        json!({"spec": {"activeDeadlineSeconds": 6}}),
        &[
            "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value",
        ],
    );
    check_from(
        ("", "Pod"),
        json!({"spec": {"tolerations": [{"operator": "Exists"}]}}),
        json!({"spec": {"tolerations": []}}),
        &[
            "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
        ],
    );
    check(
        ("", "Pod"),
        json!({"spec": {"nodeName": "n"}}),
        &[
            "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n",
        ],
    );
    let gated = json!({"spec": {"schedulingGates": [{"name": "example.com/g"}]}});
    check_from(
        ("", "Pod"),
        gated.clone(),
        json!({"spec": {"schedulingGates": null, "nodeSelector": {"a": "b"}}}),
        &[],
    );
    check(
        ("", "Pod"),
        gated,
        &[
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'example.com/g'",
        ],
    );
}

#[test]
fn sealed_configuration_stays() {
    let sealed = json!({"immutable": true, "data": {"a": "Yg=="}});
    let detail = "Forbidden: field is immutable when `immutable` is set";
    for kind in ["ConfigMap", "Secret"] {
        check_from(
            ("", kind),
            sealed.clone(),
            json!({"metadata": {"labels": {"a": "b"}}}),
            &[],
        );
        check_from(
            ("", kind),
            sealed.clone(),
            json!({"data": {"a": "Yw=="}}),
            &[&format!("data: {detail}")],
        );
        check_from(
            ("", kind),
            sealed.clone(),
            json!({"immutable": false}),
            &[&format!("immutable: {detail}")],
        );
    }
    check(
        ("", "Secret"),
        json!({"type": "other"}),
        &["type: Invalid value: \"other\": field is immutable"],
    );
}

#[test]
fn services_keep_their_address() {
    let addressed = json!({"spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}});
    check_from(
        ("", "Service"),
        addressed.clone(),
        json!({"spec": {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]}}),
        &["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"],
    );
    check_from(
        ("", "Service"),
        addressed.clone(),
        json!({"spec": {"clusterIP": null, "clusterIPs": null, "ports": [{"port": 81}]}}),
        &[],
    );
    check_from(
        ("", "Service"),
        addressed,
        json!({"spec": {"type": "ExternalName", "externalName": "x.example", "clusterIP": null, "clusterIPs": null, "ports": null, "internalTrafficPolicy": null}}),
        &[],
    );
}

#[test]
fn claims_grow_when_they_are_bound() {
    let claim = ("", "PersistentVolumeClaim");
    let grown = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
    let forbidden = "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n";
    check(claim, grown("2Gi"), &[forbidden]);
    let bound = json!({"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}});
    check_from(claim, bound.clone(), grown("2Gi"), &[]);
    check_from(
        claim,
        bound.clone(),
        grown("512Mi"),
        &["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
    );
    check_from(
        claim,
        bound,
        json!({"spec": {"accessModes": ["ReadWriteMany"]}}),
        &[forbidden],
    );
    check(claim, json!({"spec": {"volumeName": "v"}}), &[]);
    check(
        ("", "PersistentVolume"),
        json!({"spec": {"hostPath": {"path": "/e"}}}),
        &[
            "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n",
        ],
    );
    check(
        ("", "PersistentVolume"),
        json!({"spec": {"capacity": {"storage": "2Gi"}}}),
        &[],
    );
}

#[test]
fn classes_and_bindings_stay() {
    check(
        ("rbac.authorization.k8s.io", "RoleBinding"),
        json!({"roleRef": {"name": "other"}}),
        &[
            "roleRef: Invalid value: {\"kind\":\"ClusterRole\",\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":\"other\"}: cannot change roleRef",
        ],
    );
    check(
        ("scheduling.k8s.io", "PriorityClass"),
        json!({"value": 5}),
        &["value: Forbidden: may not be changed in an update."],
    );
    check(
        ("storage.k8s.io", "StorageClass"),
        json!({"parameters": {"a": "b"}, "volumeBindingMode": "WaitForFirstConsumer"}),
        &[
            "volumeBindingMode: Invalid value: \"WaitForFirstConsumer\": field is immutable",
            "parameters: Forbidden: updates to parameters are forbidden.",
        ],
    );
    check(
        ("discovery.k8s.io", "EndpointSlice"),
        json!({"addressType": "IPv6"}),
        &["addressType: Invalid value: \"IPv6\": field is immutable"],
    );
    let crd = ("apiextensions.k8s.io", "CustomResourceDefinition");
    let established =
        json!({"status": {"conditions": [{"type": "Established", "status": "True"}]}});
    check(crd, json!({"spec": {"scope": "Cluster"}}), &[]);
    check_from(
        crd,
        json!({"status": {"storedVersions": ["v0"]}}),
        json!({"spec": {"scope": "Cluster"}}),
        &[
            "status.storedVersions[0]: Invalid value: \"v0\": missing from spec.versions; v0 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v0 and removes v0 from status.storedVersions",
        ],
    );
    check_from(
        crd,
        established,
        json!({"spec": {"scope": "Cluster"}}),
        &["spec.scope: Invalid value: \"Cluster\": field is immutable"],
    );
}

#[test]
fn counts_of_a_status_are_sensible() {
    let gvk = gvk("apps", "Deployment");
    let old = created("apps", "Deployment", json!({}));
    let check = |status: Value, expected: &[&str]| {
        let mut new = with(old.clone(), json!({"status": status}));
        prepare_subresource_update(&gvk, "status", &old, &mut new);
        let errors: Vec<String> = validate_subresource_update(&gvk, "status", &old, &new)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(errors, expected);
    };
    check(
        json!({"replicas": 3, "readyReplicas": 2, "availableReplicas": 2}),
        &[],
    );
    check(
        json!({"replicas": -1}),
        &["status.replicas: Invalid value: -1: must be greater than or equal to 0"],
    );
    check(
        json!({"replicas": 1, "readyReplicas": 2}),
        &["status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"],
    );
    check(
        json!({"replicas": 3, "readyReplicas": 1, "availableReplicas": 2}),
        &["status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas"],
    );
}

/// Lists of an update are held against those of the stored object by what is in them, in any order and number.
#[test]
fn long_lists_are_compared_like_short_ones() {
    const COUNT: usize = 5_000;
    let tolerations: Vec<Value> = (0..COUNT)
        .map(|number| json!({"key": format!("k{number}"), "operator": "Exists", "effect": "NoExecute"}))
        .collect();
    let mut changed: Vec<Value> = tolerations.iter().rev().cloned().collect();
    changed.extend([json!({"key": "more", "operator": "Exists"})]);
    changed[0] = json!({
        "tolerationSeconds": 5, "effect": "NoExecute", "operator": "Exists", "key": format!("k{}", COUNT - 1),
    });
    let finalizers: Vec<String> = (0..COUNT).map(|number| format!("a/f{number}")).collect();
    let mut more: Vec<String> = finalizers.iter().rev().cloned().collect();
    more.push("a/new".to_owned());
    for (kind, first, over, expected) in [
        (
            ("", "Pod"),
            json!({"spec": {"tolerations": tolerations}}),
            json!({"spec": {"tolerations": changed}}),
            &[][..],
        ),
        (
            ("", "Pod"),
            json!({"spec": {"tolerations": tolerations}}),
            json!({"spec": {"tolerations": tolerations[1..]}}),
            &[
                "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
            ],
        ),
        (
            ("", "ConfigMap"),
            json!({"metadata": {"deletionTimestamp": NOW, "finalizers": finalizers}}),
            json!({"metadata": {"finalizers": more}}),
            &[
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"a/new\"}",
            ],
        ),
    ] {
        check_from(kind, first, over, expected);
    }
}

/// A write through a part of an object can bring metadata along.
#[test]
fn finalizers_are_judged_through_every_part() {
    let gvk = gvk("apps", "Deployment");
    let old = created("apps", "Deployment", json!({}));
    let mut new = with(old.clone(), json!({"metadata": {"finalizers": ["odd"]}}));
    prepare_subresource_update(&gvk, "status", &old, &mut new);
    let errors = validate_subresource_update(&gvk, "status", &old, &new);
    let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["metadata.finalizers[0]"]);
}

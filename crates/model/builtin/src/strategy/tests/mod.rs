mod admission;
mod event;
mod job_policy;
mod pod_parts;
mod prepare;
mod scaling;
mod update;
mod validate;
mod validate_kinds;

use object::{GroupVersionKind, Value};
use serde_json::json;

/// The moment the objects of these tests are created.
const NOW: &str = "2026-01-01T12:00:00Z";

fn gvk(group: &str, kind: &str) -> GroupVersionKind {
    let version = if kind == "HorizontalPodAutoscaler" {
        "v2"
    } else {
        "v1"
    };
    GroupVersionKind::new(group, version, kind)
}

/// Lays `over` over `base`: fields are merged, `null` removes one, anything else replaces.
fn with(base: Value, over: Value) -> Value {
    match (base, over) {
        (Value::Object(mut base), Value::Object(over)) => {
            for (key, value) in over {
                if value.is_null() {
                    base.shift_remove(&key);
                } else {
                    let before = base.shift_remove(&key).unwrap_or(Value::Null);
                    base.insert(key, with(before, value));
                }
            }
            Value::Object(base)
        }
        (_, over) => over,
    }
}

/// A pod's spec with one container.
fn pod_spec() -> Value {
    json!({"containers": [{"name": "web", "image": "nginx:1"}]})
}

/// A pod template that the selector `app=web` matches.
fn template() -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": pod_spec()})
}

/// The smallest valid object of a kind.
fn sample(group: &str, kind: &str) -> Value {
    let selector = json!({"matchLabels": {"app": "web"}});
    let once = with(template(), json!({"spec": {"restartPolicy": "Never"}}));
    let body = match (group, kind) {
        ("", "Pod") => json!({"spec": pod_spec()}),
        ("", "PodTemplate") => json!({"template": template()}),
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet") => {
            json!({"spec": {"selector": selector, "template": template()}})
        }
        ("", "ReplicationController") => json!({"spec": {"template": template()}}),
        ("apps", "ControllerRevision") => json!({"data": {}}),
        ("batch", "Job") => json!({"spec": {"template": once}}),
        ("batch", "CronJob") => {
            json!({"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": once}}}})
        }
        ("", "Service") => json!({"spec": {"ports": [{"port": 80}]}}),
        ("", "PersistentVolume") => {
            json!({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/d"}}})
        }
        ("", "PersistentVolumeClaim") => {
            json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
        }
        ("autoscaling", _) => {
            json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}}})
        }
        ("networking.k8s.io", "Ingress") => {
            json!({"spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}})
        }
        ("networking.k8s.io", "IngressClass") => json!({"spec": {"controller": "example.com/c"}}),
        ("networking.k8s.io", "IPAddress") => {
            json!({"metadata": {"name": "10.0.0.1"}, "spec": {"parentRef": {"resource": "services", "name": "s"}}})
        }
        ("networking.k8s.io", "ServiceCIDR") => json!({"spec": {"cidrs": ["10.0.0.0/16"]}}),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            json!({"roleRef": {"kind": "ClusterRole", "name": "r"}})
        }
        ("storage.k8s.io", "StorageClass") => json!({"provisioner": "p"}),
        ("storage.k8s.io", "VolumeAttachment") => {
            json!({"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}})
        }
        ("storage.k8s.io", "VolumeAttributesClass") => {
            json!({"driverName": "d", "parameters": {"a": "b"}})
        }
        ("storage.k8s.io", "CSIStorageCapacity") => json!({"storageClassName": "s"}),
        ("discovery.k8s.io", _) => json!({"addressType": "IPv4", "endpoints": []}),
        ("certificates.k8s.io", _) => {
            json!({"spec": {"request": "Zm9v", "signerName": "example.com/s", "usages": ["client auth"]}})
        }
        ("node.k8s.io", _) => json!({"handler": "runc"}),
        ("apiextensions.k8s.io", _) => json!({
            "metadata": {"name": "books.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Book", "plural": "books"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
        }),
        ("apiregistration.k8s.io", _) => json!({
            "metadata": {"name": "v1.example.com"},
            "spec": {"group": "example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10},
        }),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => {
            json!({"spec": {"priorityLevelConfiguration": {"name": "p"}}})
        }
        ("flowcontrol.apiserver.k8s.io", _) => {
            json!({"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}})
        }
        ("authorization.k8s.io", "LocalSubjectAccessReview" | "SubjectAccessReview") => {
            json!({"spec": {"user": "u", "resourceAttributes": {"verb": "get"}}})
        }
        ("authorization.k8s.io", "SelfSubjectAccessReview") => {
            json!({"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}})
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => json!({"spec": {
            "matchConstraints": {"resourceRules": [
                {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]},
            ]},
            "validations": [{"expression": "true"}],
        }}),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            json!({"spec": {"policyName": "p", "validationActions": ["Deny"]}})
        }
        ("resource.k8s.io", "ResourceSlice") => {
            json!({"spec": {"driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}})
        }
        ("events.k8s.io", _) => json!({
            "eventTime": "2026-01-01T12:00:00.000000Z", "type": "Normal", "reason": "Started", "action": "Start",
            "reportingController": "example.com/c", "reportingInstance": "c-1",
        }),
        ("", "Binding") => json!({"target": {"name": "n"}}),
        _ => json!({}),
    };
    let found = crate::kinds::kind(&gvk(group, kind)).unwrap();
    let mut object = json!({
        "apiVersion": found.api_version(), "kind": kind,
        "metadata": {"name": "web", "uid": "u-1", "resourceVersion": "7", "creationTimestamp": NOW},
    });
    if found.namespaced {
        object["metadata"]["namespace"] = "default".into();
    }
    with(object, body)
}

/// The object as the server would store it.
fn created(group: &str, kind: &str, over: Value) -> Value {
    let mut object = with(sample(group, kind), over);
    super::prepare_create(&gvk(group, kind), &mut object, NOW.parse().unwrap());
    object
}

/// Checks what is wrong with the smallest valid object of a kind after `over` was laid over it.
#[track_caller]
fn check(kind: (&str, &str), over: Value, expected: &[&str]) {
    let object = created(kind.0, kind.1, over);
    let errors: Vec<String> = super::validate_create(&gvk(kind.0, kind.1), &object)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(errors, expected);
}

/// Checks what is wrong with laying `over` over the smallest valid object of a kind, with `first` laid over it before.
#[track_caller]
fn check_change(kind: (&str, &str), first: Value, over: Value, expected: &[&str]) {
    let mut old = created(kind.0, kind.1, with(first.clone(), json!({"status": null})));
    if let Some(status) = first.get("status") {
        old["status"] = with(old["status"].clone(), status.clone());
    }
    check_stored(kind, old, over, expected);
}

/// Checks what is wrong with laying `over` over what is stored.
#[track_caller]
fn check_stored(kind: (&str, &str), old: Value, over: Value, expected: &[&str]) {
    let gvk = gvk(kind.0, kind.1);
    let mut new = with(old.clone(), over);
    super::prepare_update(&gvk, &old, &mut new);
    let errors: Vec<String> = super::validate_update(&gvk, &old, &new)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(errors, expected);
}

//! Random objects of built-in kinds: sound ones with one or two mistakes in them, and changes to them.

use serde_json::{Value, json};

use super::requests::{Body, Request};
use crate::dice::Dice;

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// A sequence about one object of a built-in kind.
pub(crate) fn sequence(dice: &mut Dice, length: usize) -> Vec<Request> {
    let all = manifests();
    let index = dice.below(all.len());
    let (path, manifest) = all.get(index).cloned().unwrap_or_default();
    let mut requests = Vec::new();
    let mut object = manifest.clone();
    if dice.chance(60) {
        spoil(dice, &mut object);
    }
    if dice.chance(20) {
        spoil(dice, &mut object);
    }
    requests.push(Request {
        method: "POST",
        path: format!("{path}?fieldManager=one"),
        media: JSON,
        body: Body::Json(object),
    });
    for _ in 1..length {
        requests.push(change(dice, path, &manifest));
    }
    requests
}

fn change(dice: &mut Dice, path: &str, manifest: &Value) -> Request {
    let manager = dice.pick(&["one", "two", "three"]);
    let mut object = manifest.clone();
    spoil(dice, &mut object);
    let named = format!("{path}/$name?fieldManager={manager}");
    let request = |method, media, body| Request {
        method,
        path: named.clone(),
        media,
        body: Body::Json(body),
    };
    match dice.below(14) {
        0..=2 => {
            object["metadata"]["resourceVersion"] = json!("$rv");
            request("PUT", JSON, object)
        }
        3..=5 => request("PATCH", STRATEGIC, part(dice, &object)),
        6..=7 => request("PATCH", MERGE, part(dice, &object)),
        8 => {
            let places = pointers(manifest);
            let place = places
                .get(dice.below(places.len()))
                .cloned()
                .unwrap_or_default();
            let operation = match dice.below(3) {
                0 => json!({"op": "remove", "path": place}),
                1 => json!({"op": "replace", "path": place, "value": wrong(dice)}),
                _ => json!({"op": "add", "path": place, "value": wrong(dice)}),
            };
            request("PATCH", PATCH, json!([operation]))
        }
        9..=11 => {
            let force = if dice.chance(50) { "&force=true" } else { "" };
            Request {
                method: "PATCH",
                path: format!("{named}{force}"),
                media: APPLY,
                body: Body::Json(object),
            }
        }
        12 => Request {
            method: "GET",
            path: named.clone(),
            media: JSON,
            body: Body::Nothing,
        },
        _ => request("DELETE", JSON, json!({"propagationPolicy": "Background"})),
    }
}

/// The outer fields of an object that a patch would name, some of them.
fn part(dice: &mut Dice, object: &Value) -> Value {
    let mut patch = json!({});
    for (name, value) in object.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") || dice.chance(10) {
            patch[name] = value.clone();
        }
    }
    patch
}

/// One mistake somewhere.
fn spoil(dice: &mut Dice, object: &mut Value) {
    let places = pointers(object);
    let Some(place) = places.get(dice.below(places.len())) else {
        return;
    };
    let Some((parent, last)) = place.rsplit_once('/') else {
        return;
    };
    let choice = dice.below(6);
    let value = wrong(dice);
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) if choice < 2 => drop(fields.shift_remove(last)),
        Some(Value::Object(fields)) => drop(fields.insert(last.to_owned(), value)),
        Some(Value::Array(items)) => {
            let Some(item) = last
                .parse()
                .ok()
                .and_then(|index: usize| items.get(index).cloned())
            else {
                return;
            };
            items.push(if choice < 3 { item } else { value });
        }
        _ => {}
    }
}

fn wrong(dice: &mut Dice) -> Value {
    match dice.below(9) {
        0 => json!(-1),
        1 => json!(""),
        2 => json!("Wrong_Value"),
        3 => json!(0),
        4 => json!(70000),
        5 => Value::Null,
        6 => json!({}),
        7 => json!([]),
        _ => json!("other"),
    }
}

fn pointers(value: &Value) -> Vec<String> {
    let mut found = super::pointers(value);
    found.retain(|place| !place.starts_with("/metadata/name"));
    found
}

/// One sound object of each kind, with where it is created.
fn manifests() -> Vec<(&'static str, Value)> {
    let meta = json!({"name": "$name", "namespace": "default", "labels": {"a": "b"}});
    let alone = json!({"name": "$name"});
    let pod = json!({
        "containers": [
            {"name": "main", "image": "nginx:1", "ports": [{"containerPort": 80, "name": "http"}],
             "env": [{"name": "A", "value": "b"}], "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}},
             "volumeMounts": [{"name": "v", "mountPath": "/v"}],
             "livenessProbe": {"httpGet": {"path": "/", "port": "http"}}},
            {"name": "side", "image": "side:1", "command": ["a"]},
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
    });
    let selector = json!({"matchLabels": {"x": "y"}});
    let template = json!({"metadata": {"labels": {"x": "y"}}, "spec": pod});
    let mut once = template.clone();
    once["spec"]["restartPolicy"] = json!("Never");
    vec![
        (
            "/api/v1/namespaces/default/configmaps",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}, "binaryData": {"c": "aGk="}}),
        ),
        (
            "/api/v1/namespaces/default/secrets",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque", "data": {"a": "aGk="}, "stringData": {"b": "c"}}),
        ),
        (
            "/api/v1/namespaces/default/services",
            json!({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"clusterIP": "None", "selector": {"x": "y"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}, {"name": "other", "port": 81}]}}),
        ),
        (
            "/api/v1/namespaces/default/pods",
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod}),
        ),
        (
            "/apis/apps/v1/namespaces/default/deployments",
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"replicas": 2, "selector": selector, "template": template}}),
        ),
        (
            "/apis/apps/v1/namespaces/default/statefulsets",
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": {"replicas": 2, "serviceName": "s", "selector": selector, "template": template}}),
        ),
        (
            "/apis/apps/v1/namespaces/default/daemonsets",
            json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta, "spec": {"selector": selector, "template": template}}),
        ),
        (
            "/apis/apps/v1/namespaces/default/replicasets",
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": {"replicas": 1, "selector": selector, "template": template}}),
        ),
        (
            "/apis/batch/v1/namespaces/default/jobs",
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"parallelism": 2, "completions": 3, "backoffLimit": 4, "template": once}}),
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta, "spec": {"tls": [{"hosts": ["a.org"], "secretName": "s"}], "rules": [{"host": "a.org", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}}),
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": meta, "spec": {"podSelector": selector, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 80}]}]}}),
        ),
        (
            "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
            json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": meta, "spec": {"minReplicas": 1, "maxReplicas": 3, "targetCPUUtilizationPercentage": 60, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}}),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "default"}, {"kind": "User", "name": "u"}]}),
        ),
        (
            "/api/v1/namespaces/default/persistentvolumeclaims",
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "s"}}),
        ),
        (
            "/api/v1/namespaces/default/limitranges",
            json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": meta, "spec": {"limits": [{"type": "Container", "max": {"ephemeral-storage": "2Ti"}}]}}),
        ),
        (
            "/api/v1/namespaces/default/resourcequotas",
            json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {"requests.example.org/gpu": "1000"}}}),
        ),
        (
            "/api/v1/namespaces/default/serviceaccounts",
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta, "imagePullSecrets": [{"name": "s"}]}),
        ),
        (
            "/api/v1/namespaces/default/endpoints",
            json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": [{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80, "name": "http"}]}]}),
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2024-05-06T07:08:09.000000Z"}}),
        ),
        (
            "/api/v1/persistentvolumes",
            json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": alone, "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}}),
        ),
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": alone, "provisioner": "x.org/y", "parameters": {"a": "b"}}),
        ),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": alone, "value": 5, "description": "d"}),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": alone, "rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]}),
        ),
        (
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": alone, "webhooks": [{"name": "a.b.c", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore", "clientConfig": {"url": "https://x.invalid/y"}, "rules": [{"apiGroups": ["x.invalid"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}]}]}),
        ),
    ]
}

use serde_json::json;

use super::*;

fn now() -> Time {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn quota(hard: Value) -> Quota {
    Quota::read(&json!({"metadata": {"name": "q"}, "spec": {"hard": hard}}))
}

fn shown(amounts: &Amounts) -> String {
    let parts = amounts
        .iter()
        .map(|(name, amount)| format!("{name}={amount}"));
    parts.collect::<Vec<_>>().join(" ")
}

#[test]
fn objects_use_what_kubernetes_counts() {
    let cases = [
        (
            "",
            "configmaps",
            json!({}),
            "configmaps=1 count/configmaps=1",
        ),
        ("", "events", json!({}), "count/events=1"),
        (
            "apps",
            "deployments",
            json!({"spec": {"replicas": 9}}),
            "count/deployments.apps=1",
        ),
        (
            "",
            "services",
            json!({"spec": {"type": "LoadBalancer", "ports": [{}, {}]}}),
            "count/services=1 services=1 services.loadbalancers=1 services.nodeports=2",
        ),
        (
            "",
            "services",
            json!({"spec": {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{"nodePort": 30000}, {}]}}),
            "count/services=1 services=1 services.loadbalancers=1 services.nodeports=1",
        ),
        (
            "",
            "services",
            json!({"spec": {"type": "ClusterIP", "ports": [{}]}}),
            "count/services=1 services=1 services.loadbalancers=0 services.nodeports=0",
        ),
        (
            "",
            "persistentvolumeclaims",
            json!({"spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}}, "status": {"allocatedResources": {"storage": "3Gi"}}}),
            "count/persistentvolumeclaims=1 fast.storageclass.storage.k8s.io/persistentvolumeclaims=1 \
             fast.storageclass.storage.k8s.io/requests.storage=3Gi persistentvolumeclaims=1 requests.storage=3Gi",
        ),
        (
            "resource.k8s.io",
            "resourceclaims",
            json!({"spec": {"devices": {"requests": [
                {"exactly": {"deviceClassName": "gold", "allocationMode": "ExactCount", "count": 2}},
                {"exactly": {"deviceClassName": "tin", "allocationMode": "All"}},
                {"exactly": {"deviceClassName": "tin", "allocationMode": "OfTheFuture"}},
                {"firstAvailable": [
                    {"deviceClassName": "gold", "allocationMode": "ExactCount", "count": 3},
                    {"deviceClassName": "gold", "allocationMode": "ExactCount", "count": 1},
                    {"deviceClassName": "zinc", "allocationMode": "ExactCount", "count": 4},
                ]},
            ]}}}),
            "count/resourceclaims.resource.k8s.io=1 gold.deviceclass.resource.k8s.io/devices=5 \
             tin.deviceclass.resource.k8s.io/devices=32 zinc.deviceclass.resource.k8s.io/devices=4",
        ),
        (
            "",
            "pods",
            json!({"spec": {"containers": [{"resources": {"requests": {"cpu": "1", "x.io/gpu": "2"}, "limits": {"memory": "1Gi"}}}]}}),
            "count/pods=1 cpu=1 limits.memory=1Gi pods=1 requests.cpu=1 requests.x.io/gpu=2",
        ),
        (
            "",
            "pods",
            json!({"status": {"phase": "Succeeded"}, "spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}),
            "count/pods=1",
        ),
        (
            "",
            "pods",
            json!({"metadata": {"deletionTimestamp": "2025-12-31T23:59:00Z", "deletionGracePeriodSeconds": 30}}),
            "count/pods=1",
        ),
        (
            "",
            "pods",
            json!({"metadata": {"deletionTimestamp": "2025-12-31T23:59:50Z", "deletionGracePeriodSeconds": 30}}),
            "count/pods=1 pods=1",
        ),
    ];
    for (group, resource, object, expected) in cases {
        let measured = measure(group, resource, &object, now());
        assert_eq!(shown(&measured.amounts), expected, "{resource} {object}");
        for name in measured.amounts.keys() {
            assert_eq!(resource_of(name), Some((group, resource)), "{name}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_in_kubernetes_words() {
    let pod = |cpu: &str| {
        let object = json!({"spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}});
        measure("", "pods", &object, now())
    };
    let tight = quota(json!({"requests.cpu": "1500m", "pods": "2", "secrets": "0"}));
    let used = |count: &str, cpu: &str| {
        crate::amounts::read(Some(&json!({"pods": count, "requests.cpu": cpu})))
    };
    for (before, after, used, expected) in [
        (None, pod("500m"), used("1", "1"), Ok(())),
        (
            None,
            pod("501m"),
            used("1", "1"),
            Err(
                "exceeded quota: q, requested: requests.cpu=501m, used: requests.cpu=1, limited: requests.cpu=1500m",
            ),
        ),
        (
            None,
            pod("1"),
            used("2", "1"),
            Err(
                "exceeded quota: q, requested: pods=1,requests.cpu=1, used: pods=2,requests.cpu=1, limited: pods=2,requests.cpu=1500m",
            ),
        ),
        (None, pod("0"), used("0", "9"), Ok(())),
        (Some(pod("2")), pod("1"), used("2", "2"), Ok(())),
        (
            Some(pod("1")),
            pod("1600m"),
            used("2", "1"),
            Err(
                "exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=1, limited: requests.cpu=1500m",
            ),
        ),
    ] {
        let verdict = tight.check(before.as_ref(), &after, &used);
        assert_eq!(verdict, expected.map_err(str::to_owned));
    }
}

#[test]
fn containers_must_name_what_a_quota_counts() {
    let quota =
        quota(json!({"requests.cpu": "1", "limits.memory": "1Gi", "ephemeral-storage": "1Gi"}));
    let pod = |a: Value, b: Value| json!({"spec": {"containers": [{"name": "a", "resources": a}], "initContainers": [{"name": "b", "resources": b}]}});
    let full = json!({"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}});
    for (pod, expected) in [
        (pod(full.clone(), full.clone()), Ok(())),
        (
            pod(json!({}), full.clone()),
            Err("failed quota: q: must specify limits.memory for: a; requests.cpu for: a"),
        ),
        (
            pod(
                json!({"limits": {"memory": "1Gi"}}),
                json!({"limits": {"memory": "1Gi"}}),
            ),
            Err("failed quota: q: must specify requests.cpu for: a,b"),
        ),
    ] {
        assert_eq!(quota.check_pod(&pod), expected.map_err(str::to_owned));
    }
}

#[test]
fn scopes_say_which_pods_a_quota_is_about() {
    let abroad = json!({"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "podAffinityTerm": {"namespaces": ["x"]}}]}}});
    let sized = json!({"containers": [{"resources": {"limits": {"memory": "1Mi"}}}]});
    let class = |operator: &str, values: &[&str]| json!({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": values}]}});
    let high = json!({"priorityClassName": "high"});
    for (scopes, spec, expected) in [
        (json!({"scopes": ["BestEffort"]}), json!({}), true),
        (json!({"scopes": ["BestEffort"]}), sized.clone(), false),
        (json!({"scopes": ["NotBestEffort"]}), sized, true),
        (
            json!({"scopes": ["Terminating"]}),
            json!({"activeDeadlineSeconds": 0}),
            true,
        ),
        (json!({"scopes": ["Terminating"]}), json!({}), false),
        (
            json!({"scopes": ["NotTerminating", "BestEffort"]}),
            json!({}),
            true,
        ),
        (
            json!({"scopes": ["CrossNamespacePodAffinity"]}),
            abroad,
            true,
        ),
        (
            json!({"scopes": ["CrossNamespacePodAffinity"]}),
            json!({}),
            false,
        ),
        (class("In", &["high"]), high.clone(), true),
        (class("In", &["low"]), high.clone(), false),
        (class("NotIn", &["high"]), json!({}), true),
        (class("Exists", &[]), high.clone(), true),
        (class("DoesNotExist", &[]), high, false),
    ] {
        let quota = Quota::read(&json!({"spec": scopes}));
        let measured = measure("", "pods", &json!({"spec": spec}), now());
        assert_eq!(quota.covers(&measured), expected, "{scopes} {spec}");
        let service = measure("", "services", &json!({}), now());
        assert!(!quota.covers(&service), "scopes are about pods");
    }
}

use serde_json::{Value, json};

use crate::world::{World, master};

const PODS: &str = "POST /api/v1/namespaces/default/pods";

fn pod(resources: Value) -> Value {
    json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}})
}

#[tokio::test]
async fn pods_are_given_what_the_limit_range_says_and_held_to_it() {
    let item = json!({
        "type": "Container", "default": {"cpu": "200m"}, "defaultRequest": {"cpu": "100m"},
        "min": {"cpu": "50m"}, "max": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "4"},
    });
    let world = World::start().await;
    let range = json!({"metadata": {"name": "l"}, "spec": {"limits": [item, {"type": "Pod", "max": {"memory": "1Gi"}}]}});
    let path = "/api/v1/namespaces/default/limitranges";
    world.create(path, range).await;
    let memory = |rest: Value| {
        let mut resources = json!({"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}});
        for (list, amounts) in rest.as_object().unwrap() {
            for (name, amount) in amounts.as_object().unwrap() {
                resources[list][name] = amount.clone();
            }
        }
        resources
    };
    for (resources, expected) in [
        (
            memory(json!({})),
            "201 {\"cpu\":\"200m\",\"memory\":\"1Gi\"}",
        ),
        (
            memory(json!({"limits": {"cpu": "400m"}, "requests": {"cpu": "200m"}})),
            "201 {\"cpu\":\"400m\",\"memory\":\"1Gi\"}",
        ),
        (
            memory(json!({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}})),
            "403 pods \"p\" is forbidden: maximum cpu usage per Container is 1, but limit is 2",
        ),
        (
            memory(json!({"limits": {"cpu": "80m"}, "requests": {"cpu": "20m"}})),
            "403 pods \"p\" is forbidden: minimum cpu usage per Container is 50m, but request is 20m",
        ),
        (
            memory(json!({"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}})),
            "403 pods \"p\" is forbidden: cpu max limit to request ratio per Container is 4, but provided ratio is 5.000000",
        ),
        (
            json!({}),
            "403 pods \"p\" is forbidden: maximum memory usage per Pod is 1Gi.  No limit is specified",
        ),
    ] {
        let answer = world.ask(&master(), PODS, pod(resources.clone())).await;
        let shown = if answer.code == 201 {
            let mut limits = answer.body["spec"]["containers"][0]["resources"]["limits"].clone();
            limits.sort_all_objects();
            format!("201 {limits}")
        } else {
            format!(
                "{} {}",
                answer.code,
                answer.body["message"].as_str().unwrap_or_default()
            )
        };
        assert_eq!(shown, expected, "{resources}");
        let line = "DELETE /api/v1/namespaces/default/pods/p?gracePeriodSeconds=0";
        world.ask(&master(), line, json!(null)).await;
    }
    let claim = |size: &str| json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}});
    let range = json!({"metadata": {"name": "s"}, "spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "5Gi"}}]}});
    world.create(path, range).await;
    let line = "POST /api/v1/namespaces/default/persistentvolumeclaims";
    assert_eq!(world.ask(&master(), line, claim("6Gi")).await.code, 403);
    assert_eq!(world.ask(&master(), line, claim("5Gi")).await.code, 201);
}

#[tokio::test]
async fn the_class_of_service_follows_from_what_was_filled_in() {
    for (item, expected) in [
        (
            json!({"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}),
            "Burstable",
        ),
        (
            json!({"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}}),
            "Guaranteed",
        ),
        (
            json!({"type": "Container", "max": {"example.com/gpu": "1"}}),
            "BestEffort",
        ),
    ] {
        let world = World::start().await;
        let range = json!({"metadata": {"name": "l"}, "spec": {"limits": [item]}});
        let path = "/api/v1/namespaces/default/limitranges";
        world.create(path, range).await;
        let answer = world.ask(&master(), PODS, pod(json!({}))).await;
        assert_eq!(answer.body["status"]["qosClass"], expected, "{item}");
        assert_eq!(answer.body["status"]["phase"], "Pending", "{item}");
    }
}

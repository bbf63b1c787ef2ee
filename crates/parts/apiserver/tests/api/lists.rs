//! Which lists say for all their objects what these are, and which let each object say it.

use serde_json::{Value, json};

use crate::world::{World, master};

#[tokio::test]
async fn objects_of_compiled_kinds_do_not_repeat_what_their_list_says() {
    let world = World::start().await;
    let policies = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies";
    let selected = json!([{"apiVersion": "v1", "kind": "ConfigMap"}]);
    for (path, object, named) in [
        ("/api/v1/namespaces/default/configmaps", json!({}), false),
        // The older version is made of what is stored.
        (
            "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
            json!({"spec": {"maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "a"}}}),
            false,
        ),
        (
            "/apis/cluster.karmada.io/v1alpha1/clusters",
            json!({"spec": {"syncMode": "Pull"}}),
            false,
        ),
        (
            policies,
            json!({"spec": {"resourceSelectors": selected}}),
            true,
        ),
    ] {
        let mut object = object;
        object["metadata"] = json!({"name": "a"});
        world.create(path, object).await;
        let line = format!("GET {path}");
        let list = world.ask(&master(), &line, Value::Null).await.body;
        let items = list["items"].as_array().unwrap();
        let item = items.iter().find(|item| item["metadata"]["name"] == "a");
        let item = item.unwrap();
        for field in ["kind", "apiVersion"] {
            assert!(list[field].is_string(), "{path}: {list}");
            assert_eq!(item.get(field).is_some(), named, "{path}: {item}");
        }
    }
}

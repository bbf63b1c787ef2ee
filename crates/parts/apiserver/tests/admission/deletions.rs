//! What webhooks are told of how a deletion is meant.

use serde_json::{Value, json};

use crate::hook::{Hook, Reply};
use crate::world::{World, master};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const CORE: &str = "/api/v1/namespaces/default";

#[tokio::test(flavor = "multi_thread")]
async fn the_time_a_pod_is_given_is_told_whatever_the_client_said_of_it() {
    let world = World::start().await;
    let pod = |name: &str, fields: Value| {
        let mut pod = json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        pod["metadata"]["finalizers"] = fields;
        pod
    };
    for name in ["one", "two", "three"] {
        let pod = pod(name, json!([]));
        world.create(&format!("{CORE}/pods"), pod).await;
    }
    let held = pod("held", json!(["example.com/held"]));
    world.create(&format!("{CORE}/pods"), held).await;
    let map = json!({"metadata": {"name": "map"}});
    world.create(&format!("{CORE}/configmaps"), map).await;
    let hook = Hook::always(Reply::Allow).await;
    for sort in ["mutating", "validating"] {
        let webhook = json!({
            "name": "h.example.com", "clientConfig": hook.client(), "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "rules": [{
                "operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods", "configmaps"],
            }],
            "matchConditions": [{"name": "mine", "expression": "request.userInfo.username == 'root'"}],
        });
        let object = json!({"metadata": {"name": sort}, "webhooks": [webhook]});
        let path = format!("{GROUP}/{sort}webhookconfigurations");
        world.create(&path, object).await;
    }
    for (place, told) in [
        // A pod that runs nowhere needs no time.
        ("pods/one", json!(0)),
        ("pods/two?gracePeriodSeconds=30", json!(0)),
        ("pods/held", json!(0)),
        ("pods?fieldSelector=metadata.name=three", Value::Null),
        ("configmaps/map", Value::Null),
    ] {
        let before = hook.seen().len();
        let answer = world
            .ask(&master(), &format!("DELETE {CORE}/{place}"), Value::Null)
            .await;
        assert_eq!(answer.code, 200, "{place}: {}", answer.body);
        let seen = hook.seen().split_off(before);
        let options = seen.iter().map(|review| &review["request"]["options"]);
        let graces: Vec<Value> = options
            .map(|options| options["gracePeriodSeconds"].clone())
            .collect();
        assert_eq!(graces, [told.clone(), told], "{place}");
    }
}

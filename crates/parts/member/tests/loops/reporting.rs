//! What the control plane says about a member, through its troubles.

use std::time::Duration;

use object::{Object, Value};
use serde_json::json;

use crate::world::{World, condition};

fn taints(cluster: &Object) -> String {
    let taints = cluster.at(&["spec", "taints"]).and_then(Value::as_array);
    let keys = taints.into_iter().flatten().map(|taint| {
        format!(
            "{}:{}",
            taint["key"].as_str().unwrap(),
            taint["effect"].as_str().unwrap()
        )
    });
    keys.collect::<Vec<_>>()
        .join(" ")
        .replace("cluster.karmada.io/", "")
}

#[tokio::test(start_paused = true)]
async fn a_new_cluster_gets_its_surroundings_and_then_its_status() {
    let world = World::start().await;
    world.join().await;
    world
        .until("it is ready and untainted", async || {
            let cluster = world.cluster().await;
            condition(&cluster, "Ready") == "True ClusterReady" && taints(&cluster).is_empty()
        })
        .await;
    let cluster = world.cluster().await;
    assert!(
        cluster
            .finalizers()
            .any(|name| name == "karmada.io/cluster-controller")
    );
    let space = world
        .control
        .get(&member::resources::namespaces(), "", "karmada-es-m1")
        .await
        .unwrap();
    assert_eq!(space.label("karmada.io/system"), Some("true"));
    assert_eq!(
        cluster.text_at(&["status", "kubernetesVersion"]),
        Some("v1.34.0")
    );
    assert_eq!(
        condition(&cluster, "CompleteAPIEnablements"),
        "True Complete"
    );
    let enabled = cluster
        .at(&["status", "apiEnablements"])
        .and_then(Value::as_array)
        .unwrap();
    assert!(
        enabled
            .iter()
            .any(|entry| entry["groupVersion"] == "apps/v1")
    );
    assert_eq!(world.members.names(), ["m1"]);
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn nodes_and_pods_are_counted_as_they_come_and_go() {
    let world = World::joined().await;
    let status = json!({"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}]}});
    for name in ["n1", "n2"] {
        let nodes = member::resources::nodes();
        world
            .member
            .create(&nodes, json!({"metadata": {"name": name}}))
            .await;
        world
            .member
            .patch_part(&nodes, "", name, status.clone(), intent::Part::Status)
            .await;
    }
    let pod = json!({"metadata": {"name": "p", "namespace": "shop"}, "spec": {"nodeName": "n1",
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]}});
    world.member.create(&member::resources::pods(), pod).await;
    let room = async |field: &str| {
        let cluster = world.cluster().await;
        cluster
            .at(&["status", "resourceSummary", field])
            .cloned()
            .unwrap_or_default()
    };
    world
        .until("all is counted", async || {
            room("allocated").await == json!({"cpu": "3", "pods": "1"})
        })
        .await;
    assert_eq!(
        room("allocatable").await,
        json!({"cpu": "8", "memory": "16Gi", "pods": "220"})
    );
    assert_eq!(
        room("allocatableModelings").await,
        json!([{"grade": 0, "count": 1}, {"grade": 1, "count": 1}])
    );
    assert_eq!(
        world.cluster().await.at(&["status", "nodeSummary"]),
        Some(&json!({"totalNum": 2, "readyNum": 2}))
    );
    world
        .member
        .delete(&member::resources::nodes(), "", "n2")
        .await;
    world
        .within(Duration::from_secs(5), "the node is gone", async || {
            room("allocatable").await == json!({"cpu": "4", "memory": "8Gi", "pods": "110"})
        })
        .await;
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn twenty_seconds_of_errors_are_not_believed_and_a_minute_is() {
    let world = World::joined().await;
    world.pass(15).await;
    world.member.fail_with(500);
    world.pass(20).await;
    world.member.restore();
    world.pass(60).await;
    assert_eq!(world.ready().await, "True ClusterReady");
    let start = world.clock.now();
    world.member.fail_with(500);
    world
        .until("it is not reachable", async || {
            world.ready().await == "False ClusterNotReachable"
        })
        .await;
    let took = world.clock.now().seconds_since(start);
    assert!((30..=50).contains(&took), "{took}");
    let cluster = world.cluster().await;
    assert_eq!(
        cluster.text_at(&["status", "kubernetesVersion"]),
        Some("v1.34.0"),
        "what is known stays"
    );
    assert!(cluster.at(&["status", "apiEnablements"]).is_some());
    world
        .within(Duration::from_secs(2), "it is tainted", async || {
            taints(&world.cluster().await) == "not-ready:NoSchedule"
        })
        .await;
    let start = world.clock.now();
    world.member.restore();
    world
        .until("it is back", async || {
            world.ready().await == "True ClusterReady"
        })
        .await;
    let took = world.clock.now().seconds_since(start);
    assert!(took >= 30, "{took}");
    world
        .within(Duration::from_secs(2), "the taint is gone", async || {
            taints(&world.cluster().await).is_empty()
        })
        .await;
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_cannot_be_called_says_why() {
    let world = World::start().await;
    let cluster = json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push", "apiEndpoint": "https://m1.example:6443",
        "secretRef": {"namespace": "karmada-cluster", "name": "m1"}}});
    world
        .control
        .create(&member::resources::of::<::api::cluster::Cluster>(), cluster)
        .await;
    world
        .until("it says so", async || {
            world.ready().await == "False StatusCollectionFailed"
        })
        .await;
    let secret = json!({"metadata": {"name": "m1", "namespace": "karmada-cluster"}, "data": {"token": "dA==", "caBundle": "Y2E="}});
    world
        .control
        .create(&member::resources::secrets(), secret)
        .await;
    world
        .until("the secret came", async || {
            world.ready().await == "True ClusterReady"
        })
        .await;
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_pulled_cluster_without_an_agent_becomes_unknown_after_a_minute() {
    let world = World::start().await;
    let start = world.clock.now();
    world
        .control
        .create(
            &member::resources::of::<::api::cluster::Cluster>(),
            json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Pull"}}),
        )
        .await;
    world
        .until("nobody reports", async || {
            world.ready().await == "Unknown ClusterStatusNeverUpdated"
        })
        .await;
    let took = world.clock.now().seconds_since(start);
    assert!((60..=63).contains(&took), "{took}");
    world
        .until("it is tainted", async || {
            taints(&world.cluster().await) == "unreachable:NoSchedule"
        })
        .await;
    assert!(
        world.members.names().is_empty(),
        "it is the agent's business"
    );
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_settled_member_costs_one_probe_and_one_version_a_period() {
    let world = World::joined().await;
    world.pass(120).await;
    let before = (world.control.requests(), world.member.requests());
    world.pass(600).await;
    let (control, member) = (
        world.control.requests() - before.0,
        world.member.requests() - before.1,
    );
    // Sixty periods: a probe and the version each; ten discoveries of two requests; watches that were renewed.
    assert!(
        member <= 60 * 2 + 11 * 2 + 20,
        "{member} requests to the member"
    );
    assert!(control <= 60, "{control} requests to the control plane");
    world.end().await;
}

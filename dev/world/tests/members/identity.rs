//! Which cluster it is that answers: another in a member's place is left alone.

use http::StatusCode;
use world::{SimulatedMember, World, config, json};

use crate::{SOON, config_map, everywhere, seconds};

/// A member that has something, and a cluster that has nothing to do with it.
async fn prepared() -> World {
    let world = World::build()
        .members(1)
        .member(config("m2"))
        .stranger()
        .start()
        .await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    let m1 = world.member("m1");
    world
        .until("it is there", SOON, async || has(m1, "a").await)
        .await;
    world
}

async fn has(member: &SimulatedMember, name: &str) -> bool {
    let key = format!("default/{name}");
    member.get("configmaps", &key).await.is_some()
}

async fn id(member: &SimulatedMember) -> String {
    let id = member.field("namespaces", "kube-system", "metadata.uid");
    id.await.as_str().unwrap_or_default().to_owned()
}

async fn ready(world: &World) -> String {
    let ready = world.get("clusters", "m1").await;
    let conditions = ready.and_then(|cluster| cluster.at(&["status", "conditions"]).cloned());
    let conditions = conditions.and_then(|conditions| conditions.as_array().cloned());
    let mut conditions = conditions.into_iter().flatten();
    let ready = conditions.find(|condition| condition["type"] == "Ready");
    let ready = ready.unwrap_or_default();
    let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
    format!("{} {}: {}", text("status"), text("reason"), text("message"))
}

async fn until_found_out(world: &World) {
    world
        .until("it is found out", seconds(20), async || {
            ready(world)
                .await
                .starts_with("False ClusterIdentityChanged: ")
        })
        .await;
}

/// The connections break, and who answers at the address afterwards is another cluster.
#[tokio::test(start_paused = true)]
async fn nothing_is_written_or_deleted_in_another_cluster_at_the_same_address() {
    let world = prepared().await;
    let (m1, m2) = (world.member("m1"), world.member("m2"));
    // What looks as if it had been brought there.
    let copy = m1
        .get("configmaps", "default/a")
        .await
        .expect("it is there");
    let marks = |field: &str| copy.at(&["metadata", field]).cloned().unwrap_or_default();
    m2.apply(&format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, labels: {}, annotations: {}}}}}",
        marks("labels"),
        marks("annotations")
    ))
    .await;
    m1.refuse_connections(Some("connection reset by peer"));
    world.apply(&config_map("b", "'1'")).await;
    world.advance(seconds(3)).await;
    m1.lead_to(Some(m2));
    m1.refuse_connections(None);
    world.delete("configmaps", "default/a").await;
    world.apply(&config_map("c", "'1'")).await;
    until_found_out(&world).await;
    let (own, other) = (id(m1).await, id(m2).await);
    assert_eq!(
        ready(&world).await,
        format!(
            "False ClusterIdentityChanged: another cluster answers at https://m1.sim:6443: it has the ID {other}, and the one that joined has the ID {own}; nothing is written or deleted there until spec.apiEndpoint and the secret that spec.secretRef names lead to that one again; if it was made anew, unjoin it with --force and join it again"
        )
    );
    world
        .stays("the other is as it was", seconds(300), async || {
            has(m2, "a").await && !has(m2, "b").await && !has(m2, "c").await
        })
        .await;
    let path = "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/api/v1/namespaces";
    let request = http::Request::get(path).body(client::Body::from(Vec::new()));
    let request = request.expect("the path is a path");
    let answer = world.client().send(request).await;
    let answer = answer.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);

    m1.lead_to(None);
    world
        .until("everything is done there", seconds(120), async || {
            !has(m1, "a").await && has(m1, "b").await && has(m1, "c").await
        })
        .await;
    assert!(ready(&world).await.starts_with("True ClusterReady"));
    assert!(has(m2, "a").await);
}

/// A control plane that begins finds another cluster in the place of one that was ready when it ended.
#[tokio::test(start_paused = true)]
async fn a_cluster_is_known_again_before_anything_is_brought_to_it() {
    let world = prepared().await;
    let (m1, m2) = (world.member("m1"), world.member("m2"));
    world.stop().await;
    m1.lead_to(Some(m2));
    world.begin().await;
    world.apply(&config_map("b", "'1'")).await;
    until_found_out(&world).await;
    world
        .stays("the other has nothing", seconds(60), async || {
            m2.get("namespaces", "karmada-cluster").await.is_none() && !has(m2, "b").await
        })
        .await;
    // Whoever writes its id into the Cluster means that one.
    world
        .patch("clusters", "m1", json!({"spec": {"id": id(m2).await}}))
        .await;
    world
        .until("it is taken for what it is", seconds(60), async || {
            has(m2, "a").await && has(m2, "b").await
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_an_id_is_believed() {
    let world = prepared().await;
    let (m1, m2) = (world.member("m1"), world.member("m2"));
    world
        .patch("clusters", "m1", json!({"spec": {"id": null}}))
        .await;
    m1.lead_to(Some(m2));
    world.restart().await;
    world
        .until("it has everything", SOON, async || has(m2, "a").await)
        .await;
    assert!(ready(&world).await.starts_with("True ClusterReady"));
}

//! What people change in a member by hand: what the template says comes back, what it does not say goes, what belongs to
//! the member stays.

use client::PatchKind;
use client::WriteOptions;
use intent::Part;
use object::ObjectKey;
use world::{World, json};

use crate::{SOON, WEB, everywhere, seconds};

#[tokio::test(start_paused = true)]
async fn what_is_added_by_hand_goes_and_what_is_applied_stays() {
    let world = World::with_members(1).await;
    world.apply(&everywhere("apps/v1", "Deployment")).await;
    world.apply(WEB).await;
    let m1 = world.member("m1");
    let field = async |path: &str| m1.field("deployments", "default/web", path).await;
    let image = "spec.template.spec.containers.0.image";
    world
        .until_is("it is there", SOON, json!("nginx"), async || {
            field(image).await
        })
        .await;
    let resource = m1.resource("deployments", None).await;
    let key = ObjectKey::namespaced("default", "web");
    let edit = async |patch: object::Value| {
        let options = WriteOptions::by("kubectl-edit");
        let edited = m1
            .client()
            .patch(
                &resource,
                &key,
                PatchKind::Strategic,
                &patch,
                &Part::Object,
                &options,
            )
            .await;
        edited.unwrap_or_else(|error| panic!("{error}"));
    };
    let env = "spec.template.spec.containers.0.env";
    let by_hand = json!({"metadata": {"labels": {"own": "kept"}}, "spec": {"paused": true, "template": {
        "metadata": {"labels": {"extra": "x"}},
        "spec": {"containers": [{"name": "web", "env": [{"name": "DEBUG", "value": "1"}]}]}}}});
    // First on an object that was only created, then on one that has been applied.
    for round in ["created", "applied"] {
        edit(by_hand.clone()).await;
        world
            .until(
                &format!("what was added to what was {round} is gone"),
                seconds(5),
                async || {
                    field(env).await.is_null()
                        && field("spec.paused").await.is_null()
                        && field("spec.template.metadata.labels.extra").await.is_null()
                },
            )
            .await;
        assert_eq!(field("metadata.labels.own").await, json!("kept"));
        assert_eq!(field(image).await, json!("nginx"));
    }
    // Whoever applies on the server's side says what is theirs.
    m1.apply(
        "
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec: {minReadySeconds: 3}
        ",
    )
    .await;
    world.advance(seconds(30)).await;
    assert_eq!(field("spec.minReadySeconds").await, json!(3));
    // The template's own change is made, and takes nothing of theirs.
    let change = json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "nginx:2"}]}}}});
    world.patch("deployments", "default/web", change).await;
    world
        .until_is(
            "the new image is there",
            SOON,
            json!("nginx:2"),
            async || field(image).await,
        )
        .await;
    assert_eq!(field("spec.minReadySeconds").await, json!(3));
}

#[tokio::test(start_paused = true)]
async fn a_key_added_to_a_config_map_by_hand_goes() {
    let world = World::with_members(1).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&crate::config_map("a", "'1'")).await;
    let m1 = world.member("m1");
    let data = async || m1.field("configmaps", "default/a", "data").await;
    world
        .until_is("it is there", SOON, json!({"value": "1"}), data)
        .await;
    m1.patch(
        "configmaps",
        "default/a",
        json!({"data": {"value": "2", "more": "x"}}),
    )
    .await;
    world
        .until_is("it is as it was", seconds(5), json!({"value": "1"}), data)
        .await;
}

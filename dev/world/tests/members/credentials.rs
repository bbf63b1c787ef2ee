//! Credentials of members that change while they are in use.

use client::{PatchKind, WriteOptions};
use intent::Part;
use object::{ObjectKey, Value};
use world::{World, json};

use crate::{SOON, config_map, everywhere, seconds};

/// Another account of the member that may do everything, and its token as a Secret holds it.
async fn new_token(world: &World) -> Value {
    let m1 = world.member("m1");
    m1.apply(
        "
        apiVersion: v1
        kind: ServiceAccount
        metadata: {name: fresh, namespace: karmada-cluster}
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRoleBinding
        metadata: {name: fresh}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'karmada-controller-manager:karmada-m1'}
        subjects: [{kind: ServiceAccount, name: fresh, namespace: karmada-cluster}]
        ---
        apiVersion: v1
        kind: Secret
        metadata: {name: fresh, namespace: karmada-cluster, annotations: {kubernetes.io/service-account.name: fresh}}
        type: kubernetes.io/service-account-token
        ",
    )
    .await;
    world
        .until("the token is issued", SOON, async || {
            m1.field("secrets", "karmada-cluster/fresh", "data.token")
                .await
                .is_string()
        })
        .await;
    m1.field("secrets", "karmada-cluster/fresh", "data.token")
        .await
}

/// Everything that faces the member goes over to the new token at once, and nothing is lost or done twice on the way.
#[tokio::test(start_paused = true)]
async fn a_token_that_is_replaced_is_used_from_then_on() {
    let world = World::with_members(1).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    let m1 = world.member("m1");
    let value = async || m1.field("configmaps", "default/a", "data.value").await;
    world.until_is("it is there", SOON, json!("1"), value).await;
    let uid = m1.field("configmaps", "default/a", "metadata.uid").await;

    let token = new_token(&world).await;
    let secrets = world.resource("secrets", None).await;
    let key = ObjectKey::namespaced("karmada-cluster", "m1");
    let patch = json!({"data": {"token": token}});
    let rotated = world
        .client()
        .patch(
            &secrets,
            &key,
            PatchKind::Merge,
            &patch,
            &Part::Object,
            &WriteOptions::by("rotation"),
        )
        .await;
    rotated.unwrap_or_else(|error| panic!("{error}"));
    world.advance(seconds(2)).await;
    // The old account is gone: whoever still used its token would be a stranger.
    m1.delete("serviceaccounts", "karmada-cluster/karmada-m1")
        .await;
    world
        .stays("it stays ready", seconds(120), async || {
            world.condition("clusters", "m1", "Ready").await == "True ClusterReady"
        })
        .await;
    // Works are brought, status comes back and hands are taken off with the new one.
    world
        .patch("configmaps", "default/a", json!({"data": {"value": "2"}}))
        .await;
    world
        .until_is("a change arrives", seconds(5), json!("2"), value)
        .await;
    m1.patch("configmaps", "default/a", json!({"data": {"value": "x"}}))
        .await;
    world
        .until_is("a change by hand is seen", seconds(5), json!("2"), value)
        .await;
    assert_eq!(
        m1.field("configmaps", "default/a", "metadata.uid").await,
        uid
    );
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_no_longer_good_is_said_to_be_so_and_a_new_one_mends_it() {
    let world = World::with_members(1).await;
    world
        .patch(
            "secrets",
            "karmada-cluster/m1",
            json!({"data": {"token": "bm9ib2R5"}}),
        )
        .await;
    world
        .until("it is not ready", seconds(90), async || {
            world
                .condition("clusters", "m1", "Ready")
                .await
                .starts_with("False")
        })
        .await;
    let token = new_token(&world).await;
    world
        .patch(
            "secrets",
            "karmada-cluster/m1",
            json!({"data": {"token": token}}),
        )
        .await;
    world
        .until("it is ready again", seconds(60), async || {
            world.condition("clusters", "m1", "Ready").await == "True ClusterReady"
        })
        .await;
    // A Secret without a token is told by name, and nothing is guessed.
    world
        .patch(
            "secrets",
            "karmada-cluster/m1",
            json!({"data": {"token": ""}}),
        )
        .await;
    world
        .until("what is missing is named", seconds(90), async || {
            let message = world
                .field("clusters", "m1", "status.conditions.type=Ready.message")
                .await;
            message
                .as_str()
                .is_some_and(|text| text.contains("missing a non-empty value for \"token\""))
        })
        .await;
}

//! Joining and leaving.

use std::time::Duration;

use member::join::{JoinOptions, UnjoinOptions, join, unjoin};
use member::resources;
use object::ResourceType;
use serde_json::json;

use crate::world::{ADDRESS, World};

/// Stands in for the part of a member that issues tokens.
async fn issue_tokens(world: &World) {
    for account in ["karmada-impersonator", "karmada-m1"] {
        world
            .until("the account has a secret", async || {
                world
                    .member
                    .get(&resources::secrets(), "karmada-cluster", account)
                    .await
                    .is_some()
            })
            .await;
        let data = json!({"data": {"token": "dG9rZW4=", "ca.crt": "Y2E="}});
        world
            .member
            .patch(&resources::secrets(), "karmada-cluster", account, data)
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_fresh_cluster_joins_once_and_leaves() {
    let world = World::start().await;
    let (control, member) = (world.control.client(), world.member.client());
    let mut options = JoinOptions::new("m1", ADDRESS);
    options.region = "north".to_owned();
    let (joined, ()) = tokio::join!(join(&control, &member, &options), issue_tokens(&world));
    let id = joined.unwrap().id;
    let system = world
        .member
        .get(&resources::namespaces(), "", "kube-system")
        .await
        .unwrap();
    assert_eq!(id, system.uid());
    for (resource, namespace, name) in in_member() {
        let made = world.member.get(&resource, namespace, name).await.unwrap();
        let is_token = resource == resources::secrets();
        assert!(
            is_token || made.label("karmada.io/system") == Some("true"),
            "{name}"
        );
    }
    let cluster = world.cluster().await;
    assert_eq!(cluster.text_at(&["spec", "id"]), Some(id.as_str()));
    assert_eq!(cluster.text_at(&["spec", "region"]), Some("north"));
    for secret in ["m1", "m1-impersonator"] {
        let secret = world
            .control
            .get(&resources::secrets(), "karmada-cluster", secret)
            .await
            .unwrap();
        assert_eq!(secret.owner_references().next().unwrap().uid, cluster.uid());
        assert_eq!(secret.text_at(&["data", "token"]), Some("dG9rZW4="));
    }
    world
        .until("it is ready", async || {
            world.ready().await == "True ClusterReady"
        })
        .await;
    for (name, holder) in [
        ("m1", "it has joined under that name already"),
        ("m2", "it has joined as cluster m1 already"),
    ] {
        let again = join(&control, &member, &JoinOptions::new(name, ADDRESS))
            .await
            .unwrap_err();
        assert_eq!(
            again.to_string(),
            format!("the cluster ID {id} or the cluster name {name} has been registered: {holder}")
        );
    }
    assert!(
        world
            .control
            .get(&resources::secrets(), "karmada-cluster", "m2")
            .await
            .is_none()
    );

    // Namespaces are emptied by another part; without it the cluster stays, and force is what helps.
    let mut leaving = UnjoinOptions::new("m1");
    leaving.wait = Duration::from_secs(5);
    let late = unjoin(&control, Some(&member), &leaving).await.unwrap_err();
    assert!(
        late.to_string()
            .starts_with("cluster m1 is still there after 5 seconds"),
        "{late}"
    );
    leaving.force = true;
    unjoin(&control, Some(&member), &leaving).await.unwrap();
    world
        .until("the cluster is gone", async || {
            world.ready().await == "gone"
        })
        .await;
    for (resource, namespace, name) in in_member() {
        if name != "karmada-impersonator" {
            assert!(
                world.member.get(&resource, namespace, name).await.is_none(),
                "{name}"
            );
        }
    }
    let gone = unjoin(&control, None, &leaving).await.unwrap_err();
    assert_eq!(
        gone.to_string(),
        "no cluster object m1 found in karmada control Plane"
    );
    world.end().await;
}

/// What joining makes in a member.
fn in_member() -> Vec<(ResourceType, &'static str, &'static str)> {
    vec![
        (
            resources::service_accounts(),
            "karmada-cluster",
            "karmada-impersonator",
        ),
        (
            resources::service_accounts(),
            "karmada-cluster",
            "karmada-m1",
        ),
        (
            resources::secrets(),
            "karmada-cluster",
            "karmada-impersonator",
        ),
        (resources::secrets(), "karmada-cluster", "karmada-m1"),
        (
            resources::cluster_roles(),
            "",
            "karmada-controller-manager:karmada-m1",
        ),
        (
            resources::cluster_role_bindings(),
            "",
            "karmada-controller-manager:karmada-m1",
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn what_cannot_join_is_told_before_anything_is_made() {
    let world = World::start().await;
    let (control, member) = (world.control.client(), world.member.client());
    let before = (world.control.requests(), world.member.requests());
    let long = "a".repeat(49);
    for (name, expected) in [
        (
            long.as_str(),
            format!("invalid cluster name({long}): must be no more than 48 characters"),
        ),
        ("", "invalid cluster name(): must be not empty".to_owned()),
    ] {
        let error = join(&control, &member, &JoinOptions::new(name, ADDRESS))
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(world.member.requests(), before.1);
    let mut dry = JoinOptions::new("m1", ADDRESS);
    dry.dry_run = true;
    join(&control, &member, &dry).await.unwrap();
    assert!(
        world
            .member
            .get(
                &resources::service_accounts(),
                "karmada-cluster",
                "karmada-m1"
            )
            .await
            .is_none()
    );
    let no_token = join(&control, &member, &JoinOptions::new("m1", ADDRESS))
        .await
        .unwrap_err();
    assert_eq!(
        no_token.to_string(),
        "the cluster has not issued a token for the service account karmada-cluster/karmada-m1 within 30 seconds"
    );
    dry.dry_run = false;
    let (joined, ()) = tokio::join!(join(&control, &member, &dry), issue_tokens(&world));
    joined.unwrap();
    world.end().await;
}

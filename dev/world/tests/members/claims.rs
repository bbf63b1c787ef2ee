//! What is whose in a member that more than one has to do with: control planes, and users with namespaces of their own.

use member::join::{JoinError, JoinOptions, UnjoinOptions, join, unjoin};
use world::{SimulatedMember, World, config, json};

use crate::{SOON, seconds};

const ROLE: &str = "karmada-controller-manager:karmada-m1";
const ACCOUNT: &str = "karmada-cluster/karmada-m1";
const MARK: &str = "karavel.io/control-plane";

/// The four things that joining makes for one cluster alone.
const MADE: [(&str, &str); 4] = [
    ("clusterrolebindings", ROLE),
    ("clusterroles", ROLE),
    ("secrets", ACCOUNT),
    ("serviceaccounts", ACCOUNT),
];

/// Which of them there are, by their uids.
async fn made(member: &SimulatedMember) -> Vec<String> {
    let mut all = Vec::new();
    for (kind, name) in MADE {
        let found = member.get(kind, name).await;
        all.extend(found.map(|object| object.uid().to_owned()));
    }
    all
}

/// Two control planes would have one account under one name, and whichever lets the cluster go would take it from the other.
#[tokio::test(start_paused = true)]
async fn a_second_control_plane_does_not_take_the_accounts_of_the_first() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    let second = World::with_members(0).await;
    let (before, first) = (made(m1).await, m1.get("serviceaccounts", ACCOUNT).await);
    for dry_run in [true, false] {
        let options = JoinOptions {
            dry_run,
            ..JoinOptions::new("m1", m1.address())
        };
        let joined = join(second.client(), m1.client(), &options).await;
        let error = joined.expect_err("it is the first one's");
        assert!(matches!(error, JoinError::Claimed { .. }), "{error}");
        let id = world.field("namespaces", "kube-system", "metadata.uid");
        let id = id.await;
        assert_eq!(
            error.to_string(),
            format!(
                "the cluster has joined another control plane under this name, the one with the ID {}: its mark is on ClusterRoleBinding {ROLE}, ClusterRole {ROLE}, Secret {ACCOUNT}, ServiceAccount {ACCOUNT}",
                id.as_str().unwrap_or_default()
            )
        );
    }
    assert_eq!(made(m1).await, before);
    assert_eq!(m1.get("serviceaccounts", ACCOUNT).await, first);
    assert_eq!(
        second.names("secrets", "karmada-cluster").await,
        Vec::<String>::new()
    );

    // Under another name it may, and either leaves without the other.
    let options = JoinOptions::new("again", m1.address());
    world
        .until("the first one's rules are there", SOON, async || {
            let role = m1.get("clusterroles", "karmada-impersonator").await;
            role.is_some()
        })
        .await;
    let joined = join(second.client(), m1.client(), &options).await;
    let joined = joined.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(joined.shared_as.as_deref(), Some("m1"));
    let options = UnjoinOptions::new("again");
    let left = unjoin(second.client(), Some(m1.client()), &options).await;
    let left = left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        left.left_behind,
        [
            "namespace karmada-cluster in the member stays: it holds the account karmada-m1 of another control plane"
        ]
    );
    assert_eq!(made(m1).await, before);

    // Whoever owns the member may say that the first is gone for good.
    let options = JoinOptions {
        takes_over: true,
        ..JoinOptions::new("m1", m1.address())
    };
    let joined = join(second.client(), m1.client(), &options).await;
    joined.unwrap_or_else(|error| panic!("{error}"));

    // By now it is the second one's: the first leaves it there.
    let mut options = UnjoinOptions::new("m1");
    let stays = format!(
        "ClusterRoleBinding {ROLE}, ClusterRole {ROLE}, Secret {ACCOUNT}, ServiceAccount {ACCOUNT} in the member: what is there for it was made by another control plane, with the ID {}",
        second
            .field("namespaces", "kube-system", "metadata.uid")
            .await
            .as_str()
            .unwrap_or_default()
    );
    options.dry_run = true;
    let told = unjoin(world.client(), Some(m1.client()), &options).await;
    let told = told.unwrap_or_else(|error| panic!("{error}")).foretold;
    let foretold = format!("would be left behind: {stays}");
    assert!(told.contains(&foretold), "{told:?}");
    let is_deleted = |line: &String| line.starts_with("would be deleted in the member too");
    assert!(!told.iter().any(is_deleted), "{told:?}");
    options.dry_run = false;
    let left = unjoin(world.client(), Some(m1.client()), &options).await;
    let left = left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(left.left_behind[0], stays);
    assert_eq!(made(m1).await, before);
}

/// Karmada notes nowhere who made an account.
#[tokio::test(start_paused = true)]
async fn accounts_without_a_mark_are_taken_up_and_marked() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    world.delete("clusters", "m1").await;
    world
        .until("it is gone", SOON, async || {
            world.get("clusters", "m1").await.is_none()
        })
        .await;
    let bare = json!({"metadata": {"annotations": {MARK: null}}});
    for (kind, name) in MADE {
        m1.patch(kind, name, bare.clone()).await;
    }
    let before = made(m1).await;
    world.join("m1").await;
    assert_eq!(made(m1).await, before);
    let own = world.field("namespaces", "kube-system", "metadata.uid");
    let own = own.await;
    for (kind, name) in MADE {
        let found = m1.field(kind, name, "metadata.annotations").await;
        assert_eq!(found[MARK], own, "{kind}");
    }
}

/// `join --cluster-namespace prod`: what users have there is nothing of joining's.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_was_there_before_outlives_the_cluster() {
    let world = World::build().member(config("m1")).stranger().start().await;
    let m1 = world.member("m1");
    m1.apply("{apiVersion: v1, kind: Namespace, metadata: {name: prod}}")
        .await;
    m1.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: prod}}")
        .await;
    let options = JoinOptions {
        namespace: "prod".to_owned(),
        ..JoinOptions::new("m1", m1.address())
    };
    let joined = join(world.client(), m1.client(), &options).await;
    joined.unwrap_or_else(|error| panic!("{error}"));
    world.until_ready("m1").await;
    let stays = "namespace prod in the member stays: it was not made by joining";
    // The Cluster says where its credentials are.
    let mut options = UnjoinOptions {
        dry_run: true,
        ..UnjoinOptions::new("m1")
    };
    let told = unjoin(world.client(), Some(m1.client()), &options).await;
    let told = told.unwrap_or_else(|error| panic!("{error}")).foretold;
    let foretold = format!("would be left behind: {stays}");
    assert!(told.contains(&foretold), "{told:?}");
    let is_deleted = |line: &&String| line.starts_with("would be deleted in the member too");
    let deleted = told.iter().find(is_deleted);
    assert!(
        deleted.is_some_and(|line| !line.contains("Namespace")),
        "{told:?}"
    );
    options.dry_run = false;
    let left = unjoin(world.client(), Some(m1.client()), &options).await;
    let left = left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(left.left_behind, [stays]);
    assert!(m1.get("configmaps", "prod/theirs").await.is_some());
    let accounts = m1.names("serviceaccounts", "prod").await;
    assert!(
        !accounts.iter().any(|name| name.contains("karmada")),
        "{accounts:?}"
    );
    let secrets = m1.names("secrets", "prod").await;
    assert_eq!(secrets, Vec::<String>::new());
}

/// Nothing in the control plane says any more where the account is.
#[tokio::test(start_paused = true)]
async fn the_account_of_a_cluster_that_is_gone_is_found_in_its_namespace() {
    let world = World::build().member(config("m1")).stranger().start().await;
    let m1 = world.member("m1");
    let options = JoinOptions {
        namespace: "elsewhere".to_owned(),
        ..JoinOptions::new("m1", m1.address())
    };
    let joined = join(world.client(), m1.client(), &options).await;
    joined.unwrap_or_else(|error| panic!("{error}"));
    world.until_ready("m1").await;
    let left = unjoin(world.client(), None, &UnjoinOptions::new("m1")).await;
    let left = left.unwrap_or_else(|error| panic!("{error}")).left_behind;
    assert_eq!(
        left,
        ["the accounts and roles of the control plane in namespace elsewhere of the member stay"]
    );
    let options = UnjoinOptions::new("m1");
    let left = unjoin(world.client(), Some(m1.client()), &options).await;
    let left = left.unwrap_or_else(|error| panic!("{error}")).left_behind;
    assert_eq!(left, Vec::<String>::new());
    world
        .until("its namespace is gone", SOON, async || {
            m1.get("namespaces", "elsewhere").await.is_none()
        })
        .await;
}

/// Works brought the rules of impersonation, and nobody takes those of a cluster back that went by force.
#[tokio::test(start_paused = true)]
async fn the_rules_of_impersonation_of_a_cluster_that_went_by_force_are_taken_away() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    let rules = async || {
        let mut all = Vec::new();
        for kind in ["clusterroles", "clusterrolebindings"] {
            let names = m1.names(kind, "").await;
            let ours = names.into_iter();
            all.extend(ours.filter(|name| name.starts_with("karmada-impersonator")));
        }
        all
    };
    let expected = [
        "karmada-impersonator",
        "karmada-impersonator",
        "karmada-impersonator-admin",
    ];
    world
        .until("the rules are there", SOON, async || {
            rules().await == expected
        })
        .await;
    m1.faults().cut_off(true);
    let mut options = UnjoinOptions {
        wait: seconds(120),
        force: true,
        ..UnjoinOptions::new("m1")
    };
    let left = unjoin(world.client(), None, &options).await;
    left.unwrap_or_else(|error| panic!("{error}"));
    m1.faults().heal();
    assert_eq!(rules().await, expected);

    options = UnjoinOptions::new("m1");
    options.dry_run = true;
    let told = unjoin(world.client(), Some(m1.client()), &options).await;
    let told = told.unwrap_or_else(|error| panic!("{error}")).foretold;
    let rule = "ClusterRoleBinding karmada-impersonator-admin, ClusterRole karmada-impersonator";
    assert!(told[0].contains(rule), "{told:?}");
    // What another cluster's works brought is not this one's.
    let other =
        json!({"metadata": {"annotations": {"work.karmada.io/namespace": "karmada-es-other"}}});
    m1.patch("clusterrolebindings", "karmada-impersonator-admin", other)
        .await;
    options.dry_run = false;
    let left = unjoin(world.client(), Some(m1.client()), &options).await;
    left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(rules().await, ["karmada-impersonator-admin"]);
    assert_eq!(made(m1).await, Vec::<String>::new());
}

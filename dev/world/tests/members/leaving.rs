//! Letting a cluster go, in good order and when it is gone for good.

use member::join::{JoinError, JoinOptions, UnjoinError, UnjoinOptions, join, unjoin};
use world::{World, json};

use crate::{SOON, WEB, config_map, everywhere, seconds};

#[tokio::test(start_paused = true)]
async fn c15_without_its_kubeconfig_a_member_keeps_its_accounts_and_with_it_none() {
    let world = World::with_members(2).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    for member in ["m1", "m2"] {
        world
            .until("the object is there", SOON, async || {
                world
                    .member(member)
                    .get("configmaps", "default/a")
                    .await
                    .is_some()
            })
            .await;
    }
    let left = unjoin(world.client(), None, &UnjoinOptions::new("m1")).await;
    left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(world.get("clusters", "m1").await, None);
    assert_eq!(world.get("namespaces", "karmada-es-m1").await, None);
    world
        .until("its secrets went with it", SOON, async || {
            world.names("secrets", "karmada-cluster").await
                == ["karmada-cluster/m2", "karmada-cluster/m2-impersonator"]
        })
        .await;
    let m1 = world.member("m1");
    assert!(
        m1.get("serviceaccounts", "karmada-cluster/karmada-m1")
            .await
            .is_some()
    );
    assert_eq!(
        m1.get("configmaps", "default/a").await,
        None,
        "works were taken back"
    );
    assert_eq!(m1.get("clusterroles", "karmada-impersonator").await, None);

    let begun = tokio::time::Instant::now();
    world.unjoin("m2", &UnjoinOptions::new("m2")).await;
    assert!(
        begun.elapsed() < seconds(5),
        "a healthy member: {:?}",
        begun.elapsed()
    );
    let m2 = world.member("m2");
    world
        .until("nothing of ours is left", SOON, async || {
            m2.get("namespaces", "karmada-cluster").await.is_none()
        })
        .await;
    for kind in ["clusterroles", "clusterrolebindings"] {
        let names = m2.names(kind, "").await;
        assert!(
            !names.iter().any(|name| name.contains("karmada")),
            "{names:?}"
        );
    }
    // It may come back.
    world.join("m2").await;
    world.until_ready("m2").await;
}

/// Somebody deleted the Cluster alone, or the command was stopped half way: it can be done again for the member's side.
#[tokio::test(start_paused = true)]
async fn what_a_cluster_that_is_gone_left_in_the_member_is_taken_away() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    let roles = "karmada-controller-manager:karmada-m1";
    let account = "karmada-cluster/karmada-m1";
    let is_there = async || {
        m1.get("clusterrolebindings", roles).await.is_some()
            && m1.get("clusterroles", roles).await.is_some()
            && m1.get("serviceaccounts", account).await.is_some()
    };
    world.delete("clusters", "m1").await;
    world
        .until("it is gone", SOON, async || {
            world.get("clusters", "m1").await.is_none()
        })
        .await;
    let mut options = UnjoinOptions::new("m1");
    let alone = unjoin(world.client(), None, &options).await;
    assert!(matches!(alone, Err(UnjoinError::NotFound(_))), "{alone:?}");

    // What another made, or nobody knows who, stays.
    let maker = m1
        .field("clusterroles", roles, "metadata.annotations")
        .await["karavel.io/control-plane"]
        .clone();
    let own = world.field("namespaces", "kube-system", "metadata.uid");
    assert_eq!(maker, own.await);
    let sign = |maker: serde_json::Value| json!({"metadata": {"annotations": {"karavel.io/control-plane": maker}}});
    for (other, why) in [
        (
            json!(null),
            "nobody noted which control plane made what is there for it",
        ),
        (
            json!("other"),
            "what is there for it was made by another control plane, with the ID other",
        ),
    ] {
        m1.patch("clusterroles", roles, sign(other)).await;
        for force in [false, true] {
            options.force = force;
            let refused = unjoin(world.client(), Some(m1.client()), &options).await;
            let refused = refused
                .expect_err("it is not known whose it is")
                .to_string();
            assert_eq!(
                refused,
                format!(
                    "no cluster object m1 found in karmada control Plane, and {why}, so it stays in the member: ClusterRoleBinding {roles}, ClusterRole {roles}, Secret {account}, ServiceAccount {account}"
                )
            );
            assert!(is_there().await);
        }
    }
    m1.patch("clusterroles", roles, sign(maker)).await;
    options.force = false;
    options.dry_run = true;
    let told = unjoin(world.client(), Some(m1.client()), &options).await;
    let told = told.unwrap_or_else(|error| panic!("{error}")).foretold;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(is_there().await);
    options.dry_run = false;
    let left = unjoin(world.client(), Some(m1.client()), &options).await;
    let left = left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(left.left_behind, Vec::<String>::new());
    world
        .until("nothing of ours is left", SOON, async || {
            m1.get("namespaces", "karmada-cluster").await.is_none()
        })
        .await;
    for kind in ["clusterroles", "clusterrolebindings"] {
        assert_eq!(m1.get(kind, roles).await, None, "{kind}");
    }
    let again = unjoin(world.client(), Some(m1.client()), &options).await;
    assert!(matches!(again, Err(UnjoinError::NotFound(_))), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn another_cluster_in_the_members_place_loses_nothing() {
    let world = World::with_members(2).await;
    // With a kubeconfig of several contexts the wrong one is easily given, the control plane's own among them.
    for (whose, wrong) in [
        ("the control plane", world.client()),
        ("another member", world.member("m2").client()),
    ] {
        for force in [false, true] {
            let options = UnjoinOptions {
                force,
                ..UnjoinOptions::new("m1")
            };
            let left = unjoin(world.client(), Some(wrong), &options).await;
            assert!(
                matches!(left, Err(UnjoinError::Another { .. })),
                "{whose}: {left:?}"
            );
        }
        assert!(world.get("clusters", "m1").await.is_some(), "{whose}");
        assert_eq!(world.names("secrets", "karmada-cluster").await.len(), 4);
    }
    let m2 = world.member("m2");
    let account = m2.get("serviceaccounts", "karmada-cluster/karmada-m2");
    assert!(account.await.is_some());

    let itself = JoinOptions::new("itself", "https://localhost");
    let joined = join(world.client(), world.client(), &itself).await;
    assert!(matches!(joined, Err(JoinError::Itself)), "{joined:?}");
}

#[tokio::test(start_paused = true)]
async fn c16_an_unreachable_cluster_goes_by_force_and_what_stays_is_told() {
    let world = World::with_members(2).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    world
        .until("the object is there", SOON, async || {
            world
                .member("m1")
                .get("configmaps", "default/a")
                .await
                .is_some()
        })
        .await;
    world.member("m1").faults().cut_off(true);
    // It is noted as ready for a while after it has died: that is not believed.
    let ready = world.condition("clusters", "m1", "Ready").await;
    assert!(ready.starts_with("True"), "{ready}");
    let mut options = UnjoinOptions {
        wait: seconds(5),
        dry_run: true,
        ..UnjoinOptions::new("m1")
    };
    let told = unjoin(world.client(), None, &options).await;
    let told = told.unwrap_or_else(|error| panic!("{error}")).foretold;
    assert_eq!(
        told[0],
        "it is not ready: only with --force would it be let go"
    );
    options.dry_run = false;
    let away = unjoin(world.client(), None, &options).await.unwrap_err();
    assert!(matches!(away, UnjoinError::Away { .. }), "{away}");
    let away = away.to_string();
    assert!(
        away.starts_with("cluster m1 still does not answer ("),
        "{away}"
    );
    assert!(away.contains("ConfigMap default/a"), "{away}");
    world
        .stays("the cluster", seconds(120), async || {
            let cluster = world.get("clusters", "m1").await;
            cluster.is_some_and(|cluster| !cluster.is_terminating())
        })
        .await;
    options.force = true;
    options.wait = seconds(180);
    let left = unjoin(world.client(), None, &options).await;
    let left = left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(world.get("clusters", "m1").await, None);
    let object = world.member("m1").get("configmaps", "default/a").await;
    assert!(object.is_some(), "nobody could delete it");
    let told = message(&world, "LeaveResourcesBehind").await;
    let count = told
        .split_whitespace()
        .find_map(|word| word.parse::<usize>().ok());
    let count = count.unwrap_or_else(|| panic!("somebody said so: {told}"));
    let said = &left.left_behind[0];
    let expected = format!("{count} objects stay in the member and are no longer managed: ");
    assert!(said.starts_with(&expected), "{said} but {told}");
    let all = left.left_behind.join("; ");
    assert!(all.contains("ConfigMap default/a"), "{all}");
}

/// What is to be deleted in a member that is away for a while is deleted when it is back: only a cluster that goes is not
/// waited for.
#[tokio::test(start_paused = true)]
async fn p09_works_of_a_member_that_is_away_wait_for_it() {
    let world = World::with_members(2).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    let copy = async |member: &str| world.member(member).get("configmaps", "default/a").await;
    world
        .until("it is everywhere", SOON, async || {
            copy("m1").await.is_some() && copy("m2").await.is_some()
        })
        .await;
    world.member("m1").faults().cut_off(true);
    world
        .until("m1 is seen to be away", seconds(90), async || {
            let ready = world.condition("clusters", "m1", "Ready").await;
            ready.starts_with("False")
        })
        .await;
    world.delete("configmaps", "default/a").await;
    let work = async || {
        let works = world.list("works", "karmada-es-m1").await;
        works.into_iter().find(|work| work.name().starts_with("a-"))
    };
    world
        .until("m2 has let go", SOON, async || copy("m2").await.is_none())
        .await;
    world
        .stays("the work is held", seconds(900), async || {
            let work = work().await;
            work.is_some_and(|work| work.is_terminating() && work.finalizers().next().is_some())
        })
        .await;
    assert!(copy("m1").await.is_some());
    world.member("m1").faults().heal();
    world
        .until("nothing is left", seconds(120), async || {
            copy("m1").await.is_none() && work().await.is_none()
        })
        .await;
}

/// Works for a member that nobody ever reached are wishes: nothing of them is there.
#[tokio::test(start_paused = true)]
async fn a_member_that_was_never_reached_has_nothing_that_could_stay() {
    let world = World::with_members(0).await;
    world
        .apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
        .await;
    world
        .apply("{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: lost}, spec: {syncMode: Push, apiEndpoint: 'https://lost.example'}}")
        .await;
    world
        .until("works are made for it", SOON, async || {
            let works = world.names("works", "karmada-es-lost").await;
            works.iter().any(|name| name.contains("/shop-"))
        })
        .await;
    let left = unjoin(world.client(), None, &UnjoinOptions::new("lost")).await;
    let left = left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        left.left_behind,
        [
            "the accounts and roles of the control plane in namespace karmada-cluster of the member stay"
        ]
    );
    assert_eq!(message(&world, "LeaveResourcesBehind").await, "");
}

/// A member that comes back in time is left in good order.
#[tokio::test(start_paused = true)]
async fn a_member_that_is_away_is_waited_for() {
    let world = World::with_members(2).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    let copy = async || world.member("m1").get("configmaps", "default/a").await;
    world
        .until("it is there", SOON, async || copy().await.is_some())
        .await;
    world.member("m1").faults().cut_off(true);
    world
        .until("m1 is seen to be away", seconds(90), async || {
            let ready = world.condition("clusters", "m1", "Ready").await;
            ready.starts_with("False")
        })
        .await;
    let options = UnjoinOptions {
        wait: seconds(300),
        ..UnjoinOptions::new("m1")
    };
    let back = async {
        tokio::time::sleep(seconds(30)).await;
        world.member("m1").faults().heal();
    };
    let (left, ()) = tokio::join!(unjoin(world.client(), None, &options), back);
    let left = left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(copy().await, None, "{left:?}");
    assert_eq!(world.get("clusters", "m1").await, None);
}

/// What the newest event of that reason says.
async fn message(world: &World, reason: &str) -> String {
    let events = world.list("events", "").await;
    let mut events = events.iter().rev();
    let event = events.find(|event| event.text_at(&["reason"]) == Some(reason));
    let message = event.and_then(|event| event.text_at(&["message"]));
    message.unwrap_or_default().to_owned()
}

/// A dead member goes even where nothing else may take over what it had, and what stays in it is told.
#[tokio::test(start_paused = true)]
async fn a_dead_member_goes_though_too_few_are_left() {
    let world = World::with_members(2).await;
    let spread = everywhere("apps/v1", "Deployment").replace(
        "placement: {}",
        "placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 2, maxGroups: 2}]}",
    );
    world.apply(&spread).await;
    world.apply(WEB).await;
    let targets = async || {
        let path = "spec.clusters";
        let listed = world
            .field("resourcebindings", "default/web-deployment", path)
            .await;
        let listed = listed.as_array().cloned().unwrap_or_default();
        let names = listed.iter().map(|target| target["name"].clone());
        json!(names.collect::<Vec<_>>())
    };
    world
        .until_is("it is bound", SOON, json!(["m1", "m2"]), targets)
        .await;
    let ready = async |member: &str| {
        let path = "status.readyReplicas";
        let running = world
            .member(member)
            .field("deployments", "default/web", path);
        running.await == json!(2)
    };
    world
        .until("it runs in both", SOON, async || {
            ready("m1").await && ready("m2").await
        })
        .await;
    world.member("m2").faults().cut_off(true);
    world
        .until("it is seen to be away", seconds(120), async || {
            let ready = world.condition("clusters", "m2", "Ready").await;
            !ready.starts_with("True")
        })
        .await;
    let mut options = UnjoinOptions {
        wait: seconds(5),
        ..UnjoinOptions::new("m2")
    };
    let away = unjoin(world.client(), None, &options).await.unwrap_err();
    assert!(matches!(away, UnjoinError::Away { .. }), "{away}");
    assert!(
        away.to_string().contains("Deployment default/web"),
        "{away}"
    );
    let cluster = world.get("clusters", "m2").await;
    assert!(
        cluster.is_some_and(|cluster| !cluster.is_terminating()),
        "without force nothing is changed"
    );
    options.force = true;
    options.wait = seconds(60);
    let left = unjoin(world.client(), None, &options).await;
    let left = left.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        left.left_behind[0].contains("Deployment default/web"),
        "{left:?}"
    );
    assert_eq!(world.get("clusters", "m2").await, None);
    assert_eq!(targets().await, json!(["m1"]));
    assert!(ready("m1").await, "who stays keeps what it has");
    let scheduled = world
        .field(
            "resourcebindings",
            "default/web-deployment",
            "status.conditions.type=Scheduled.message",
        )
        .await;
    let scheduled = scheduled.as_str().unwrap_or_default().to_owned();
    assert!(
        scheduled.contains("MinGroups (taken off m2: "),
        "{scheduled}"
    );
}

/// By force a cluster goes before its bindings are moved away; they are as soon as somebody may.
#[tokio::test(start_paused = true)]
async fn what_names_a_cluster_that_went_by_force_is_told_and_moved() {
    let world = World::with_members(2).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    let name = "default/a-configmap";
    let targets = async || {
        let listed = world.field("resourcebindings", name, "spec.clusters").await;
        json!(listed.as_array().map_or(0, Vec::len))
    };
    world.until_is("it is bound", SOON, json!(2), targets).await;
    let suspend =
        |is_suspended: bool| json!({"spec": {"suspension": {"scheduling": is_suspended}}});
    world.patch("resourcebindings", name, suspend(true)).await;
    world.member("m2").faults().cut_off(true);
    let options = UnjoinOptions {
        wait: seconds(120),
        force: true,
        ..UnjoinOptions::new("m2")
    };
    let left = unjoin(world.client(), None, &options).await;
    let left = left.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        left.left_behind[0].contains("ConfigMap default/a"),
        "its works were let go long before: {left:?}"
    );
    assert_eq!(world.get("clusters", "m2").await, None);
    assert_eq!(targets().await, json!(2), "nobody may decide");
    let waited = message(&world, "WaitForBindings").await;
    assert_eq!(
        waited,
        "waiting for 1 bindings that still name the cluster as a target: ResourceBinding default/a-configmap"
    );
    world.patch("resourcebindings", name, suspend(false)).await;
    world.until_is("it is moved", SOON, json!(1), targets).await;
}

#[tokio::test(start_paused = true)]
async fn c17_and_p08_a_cluster_waits_for_bindings_that_name_it() {
    let world = World::with_members(1).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    let targets = async || {
        world
            .field(
                "resourcebindings",
                "default/a-configmap",
                "spec.clusters.0.name",
            )
            .await
    };
    world
        .until_is("it is bound", SOON, json!("m1"), targets)
        .await;
    world
        .patch(
            "resourcebindings",
            "default/a-configmap",
            json!({"spec": {"suspension": {"scheduling": true}}}),
        )
        .await;
    let options = UnjoinOptions {
        wait: seconds(30),
        ..UnjoinOptions::new("m1")
    };
    let late = unjoin(world.client(), None, &options).await.unwrap_err();
    assert!(matches!(late, UnjoinError::Late { .. }), "{late}");
    let held = "it is still a target of ResourceBinding default/a-configmap";
    assert!(late.to_string().ends_with(held), "{late}");
    world
        .patch(
            "resourcebindings",
            "default/a-configmap",
            json!({"spec": {"suspension": {"scheduling": false}}}),
        )
        .await;
    let took = world
        .until("it is gone", seconds(10), async || {
            world.get("clusters", "m1").await.is_none()
        })
        .await;
    assert!(
        took < seconds(3),
        "bindings are watched, not asked: {took:?}"
    );
    assert_eq!(targets().await, json!(null));
}

/// Where the policy allows no other cluster the binding is left without any, and that holds nobody up.
#[tokio::test(start_paused = true)]
async fn c17_a_cluster_that_was_the_only_one_allowed_goes() {
    let world = World::with_members(2).await;
    let only = everywhere("v1", "ConfigMap").replace(
        "placement: {}",
        "placement: {clusterAffinity: {clusterNames: [m1]}}",
    );
    world.apply(&only).await;
    world.apply(&config_map("a", "'1'")).await;
    let targets = async || {
        let path = "spec.clusters";
        let listed = world
            .field("resourcebindings", "default/a-configmap", path)
            .await;
        json!(listed.as_array().map_or(0, Vec::len))
    };
    world.until_is("it is bound", SOON, json!(1), targets).await;
    let left = unjoin(world.client(), None, &UnjoinOptions::new("m1")).await;
    left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(world.get("clusters", "m1").await, None);
    assert_eq!(targets().await, json!(0));
    assert_eq!(
        world.member("m1").get("configmaps", "default/a").await,
        None
    );
}

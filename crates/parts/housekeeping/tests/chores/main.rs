//! Every chore over a real server.

#![expect(clippy::unwrap_used, reason = "tests")]

mod cluster;
mod crashes;

use std::time::Duration;

use client::ListOptions;
use intent::{Part, Propagation};
use object::{ObjectKey, ResourceType};
use serde_json::json;

use crate::cluster::{Cluster, config_maps, owned};

fn in_shop(name: &str) -> ObjectKey {
    ObjectKey::namespaced("shop", name)
}

fn namespaces() -> ResourceType {
    ResourceType::cluster("", "v1", "Namespace", "namespaces")
}

#[tokio::test(start_paused = true)]
async fn dependents_go_with_their_owner_in_each_way() {
    for (how, left) in [
        (None, "other"),
        (Some(Propagation::Background), "other"),
        (Some(Propagation::Foreground), "other"),
        (Some(Propagation::Orphan), "child other"),
    ] {
        let cluster = Cluster::start().await;
        let maps = config_maps();
        let owner = cluster.create(&maps, owned("owner", &[])).await;
        let other = cluster.create(&maps, owned("other", &[])).await;
        let child = cluster.create(&maps, owned("child", &[&owner])).await;
        cluster.create(&maps, owned("grandchild", &[&child])).await;
        let all = "child grandchild other owner";
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(
            cluster.names(&maps, all).await,
            all,
            "nothing goes without a reason"
        );
        cluster.delete(&maps, &in_shop("owner"), how).await;
        let left = match how {
            Some(Propagation::Orphan) => left.replace("child", "child grandchild"),
            _ => left.to_owned(),
        };
        assert_eq!(cluster.names(&maps, &left).await, left, "{how:?}");
        if how == Some(Propagation::Orphan) {
            let child = cluster.get(&maps, &in_shop("child")).await.unwrap();
            assert_eq!(child.owner_references().count(), 0);
        }
        drop(other);
    }
}

/// What was decided on before its owner went comes a moment later.
#[tokio::test(start_paused = true)]
async fn what_comes_a_moment_after_its_owner_left_everything_behind_stays() {
    for (how, waits, left) in [
        (Propagation::Orphan, 0, "late"),
        (Propagation::Orphan, 60, ""),
        (Propagation::Background, 0, ""),
    ] {
        let cluster = Cluster::start().await;
        let maps = config_maps();
        let owner = cluster.create(&maps, owned("owner", &[])).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        cluster.delete(&maps, &in_shop("owner"), Some(how)).await;
        assert_eq!(cluster.names(&maps, "").await, "", "{how:?}");
        tokio::time::sleep(Duration::from_secs(waits)).await;
        cluster.create(&maps, owned("late", &[&owner])).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(cluster.names(&maps, left).await, left, "{how:?} {waits}");
        if let Some(late) = cluster.get(&maps, &in_shop("late")).await {
            assert_eq!(late.owner_references().count(), 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn those_an_owner_does_not_wait_for_go_while_it_waits_for_others() {
    let cluster = Cluster::start().await;
    let maps = config_maps();
    let owner = cluster.create(&maps, owned("owner", &[])).await;
    let mut held = owned("held", &[&owner]);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.create(&maps, held).await;
    for (name, blocks) in [("unsaid", json!(null)), ("unawaited", json!(false))] {
        let mut child = owned(name, &[&owner]);
        child["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = blocks;
        cluster.create(&maps, child).await;
    }
    let foreground = Some(Propagation::Foreground);
    cluster.delete(&maps, &in_shop("owner"), foreground).await;
    assert_eq!(cluster.names(&maps, "held owner").await, "held owner");
}

#[tokio::test(start_paused = true)]
async fn an_object_with_another_owner_stays_and_loses_only_the_bond() {
    let cluster = Cluster::start().await;
    let maps = config_maps();
    let one = cluster.create(&maps, owned("one", &[])).await;
    let other = cluster.create(&maps, owned("other", &[])).await;
    cluster.create(&maps, owned("child", &[&one, &other])).await;
    cluster.delete(&maps, &in_shop("one"), None).await;
    for _ in 0..600 {
        let child = cluster.get(&maps, &in_shop("child")).await.unwrap();
        let owners: Vec<String> = child.owner_references().map(|owner| owner.name).collect();
        if owners == ["other"] {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the bond to the owner that is gone is still there");
}

#[tokio::test(start_paused = true)]
async fn an_owner_elsewhere_or_of_a_kind_nobody_knows_is_treated_with_care() {
    let cluster = Cluster::start().await;
    let maps = config_maps();
    let mut away = owned("away", &[]);
    away["metadata"]["namespace"] = "elsewhere".into();
    let away = cluster.create(&maps, away).await;
    // Its owner is not in its own namespace, and so is absent.
    cluster.create(&maps, owned("strayed", &[&away])).await;
    let mut unknown = owned("unknown", &[&away]);
    unknown["metadata"]["ownerReferences"][0]["apiVersion"] = "nobody.example/v1".into();
    cluster.create(&maps, unknown).await;
    let roles = ResourceType::cluster(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRole",
        "clusterroles",
    );
    let mut role = owned("cluster-wide", &[&away]);
    role["metadata"]
        .as_object_mut()
        .unwrap()
        .shift_remove("namespace");
    cluster.create(&roles, role).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(cluster.names(&maps, "away unknown").await, "away unknown");
    assert_eq!(cluster.names(&roles, "cluster-wide").await, "cluster-wide");
    let events = ResourceType::namespaced("", "v1", "Event", "events");
    let options = ListOptions::default();
    let events = cluster.client.list(&events, "", &options).await.unwrap();
    let mut told: Vec<String> = (events.items.iter())
        .filter(|event| event.at(&["reason"]) == Some(&json!("OwnerRefInvalidNamespace")))
        .map(|event| {
            let text = |path: &[&str]| event.at(path).and_then(|text| text.as_str());
            let about = text(&["involvedObject", "name"]).unwrap();
            format!("{about}: {}", text(&["message"]).unwrap())
        })
        .collect();
    told.sort();
    told.dedup();
    let uid = away.uid();
    assert_eq!(
        told,
        [
            format!(
                "cluster-wide: ownerRef [v1/ConfigMap, namespace: , name: away, uid: {uid}] does not exist in namespace \"\""
            ),
            format!(
                "strayed: ownerRef [v1/ConfigMap, namespace: shop, name: away, uid: {uid}] does not exist in namespace \"shop\""
            ),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_namespace_takes_its_content_along_and_waits_for_what_is_held() {
    let cluster = Cluster::start().await;
    let maps = config_maps();
    cluster
        .create(&namespaces(), json!({"metadata": {"name": "shop"}}))
        .await;
    let created = cluster
        .get(&namespaces(), &ObjectKey::cluster("shop"))
        .await
        .unwrap();
    assert_eq!(
        created.at(&["spec", "finalizers"]),
        Some(&json!(["kubernetes"]))
    );
    cluster.create(&maps, owned("plain", &[])).await;
    let mut held = owned("held", &[]);
    held["metadata"]["finalizers"] = json!(["x.io/hold"]);
    cluster.create(&maps, held).await;
    let deployments = ResourceType::namespaced("apps", "v1", "Deployment", "deployments");
    let deployment = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    cluster.create(&deployments, deployment).await;
    cluster
        .delete(&namespaces(), &ObjectKey::cluster("shop"), None)
        .await;
    assert_eq!(cluster.names(&maps, "held").await, "held");
    assert_eq!(cluster.names(&deployments, "").await, "");
    tokio::time::sleep(Duration::from_secs(10)).await;
    let ending = cluster
        .get(&namespaces(), &ObjectKey::cluster("shop"))
        .await
        .unwrap();
    let told = ending.at(&["status", "conditions"]).unwrap().to_string();
    assert!(
        told.contains("configmaps. has 1 resource instances"),
        "{told}"
    );
    assert!(told.contains("x.io/hold in 1 resource instances"), "{told}");
    cluster
        .patch(
            &maps,
            &in_shop("held"),
            json!({"metadata": {"finalizers": []}}),
            Part::Object,
        )
        .await;
    assert_eq!(cluster.names(&namespaces(), "").await, "");
    assert_eq!(cluster.names(&maps, "").await, "");
}

#[tokio::test(start_paused = true)]
async fn a_role_is_put_together_as_its_parts_come_and_go() {
    let cluster = Cluster::start().await;
    let roles = ResourceType::cluster(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRole",
        "clusterroles",
    );
    let selectors = json!([{"matchLabels": {"to-admin": "true"}}]);
    cluster
        .create(&roles, json!({"metadata": {"name": "admin"}, "aggregationRule": {"clusterRoleSelectors": selectors}}))
        .await;
    let rules = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    cluster
        .create(
            &roles,
            json!({"metadata": {"name": "part", "labels": {"to-admin": "true"}}, "rules": rules}),
        )
        .await;
    let admin = ObjectKey::cluster("admin");
    let has_rules = async |wanted: usize| {
        for _ in 0..600 {
            let role = cluster.get(&roles, &admin).await.unwrap();
            let found = role.at(&["rules"]).and_then(|rules| rules.as_array());
            if found.map_or(0, Vec::len) == wanted {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        false
    };
    assert!(has_rules(1).await);
    cluster
        .delete(&roles, &ObjectKey::cluster("part"), None)
        .await;
    assert!(has_rules(0).await);
}

#[tokio::test(start_paused = true)]
async fn what_has_had_its_time_goes() {
    let cluster = Cluster::start().await;
    let requests = ResourceType::cluster(
        "certificates.k8s.io",
        "v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
    );
    let request = json!({"metadata": {"name": "old"}, "spec": {
        "request": "eA==", "signerName": "example.com/any", "usages": ["client auth"]}});
    cluster.create(&requests, request).await;
    let secrets = ResourceType::namespaced("", "v1", "Secret", "secrets");
    // 2026-01-01T01:00:00Z
    let secret = json!({"metadata": {"name": "bootstrap-token-abcdef", "namespace": "kube-system"},
        "type": "bootstrap.kubernetes.io/token", "data": {"expiration": "MjAyNi0wMS0wMVQwMTowMDowMFo="}});
    cluster.create(&secrets, secret).await;
    let jobs = ResourceType::namespaced("batch", "v1", "Job", "jobs");
    let job = json!({"metadata": {"name": "done", "namespace": "shop"}, "spec": {"ttlSecondsAfterFinished": 1_800,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
    cluster.create(&jobs, job).await;
    let status = json!({"status": {"conditions": [
        {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    cluster
        .patch(&jobs, &in_shop("done"), status, Part::Status)
        .await;
    tokio::time::sleep(Duration::from_secs(1_700)).await;
    assert_eq!(cluster.names(&jobs, "done").await, "done");
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(cluster.names(&jobs, "").await, "");
    assert_eq!(
        cluster.names(&secrets, "bootstrap-token-abcdef").await,
        "bootstrap-token-abcdef"
    );
    tokio::time::sleep(Duration::from_secs(1_800)).await;
    assert_eq!(cluster.names(&secrets, "").await, "");
    tokio::time::sleep(Duration::from_secs(22 * 3_600)).await;
    assert_eq!(cluster.names(&requests, "old").await, "old");
    tokio::time::sleep(Duration::from_secs(2 * 3_600)).await;
    assert_eq!(cluster.names(&requests, "").await, "");
}

#[tokio::test(start_paused = true)]
async fn a_definition_is_held_until_its_objects_are_gone() {
    let cluster = Cluster::start().await;
    let definitions = ResourceType::cluster(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    );
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let definition = json!({"metadata": {"name": "gadgets.x.io"}, "spec": {
        "group": "x.io", "scope": "Namespaced", "names": {"kind": "Gadget", "plural": "gadgets"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}});
    cluster.create(&definitions, definition).await;
    let key = ObjectKey::cluster("gadgets.x.io");
    let mut held = false;
    for _ in 0..600 {
        let found = cluster.get(&definitions, &key).await.unwrap();
        held = found
            .finalizers()
            .any(|name| name == "customresourcecleanup.apiextensions.k8s.io");
        if held {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(held);
    cluster.delete(&definitions, &key, None).await;
    assert_eq!(cluster.names(&definitions, "").await, "");
}

/// A definition may have the name of a kind that is there without it, and say that it is the one who serves it.
#[tokio::test(start_paused = true)]
async fn a_definition_goes_without_what_the_server_has_by_itself() {
    let mut cluster = Cluster::start().await;
    let definitions = ResourceType::cluster(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    );
    let leases = ResourceType::namespaced("coordination.k8s.io", "v1", "Lease", "leases");
    let lease = json!({"metadata": {"name": "kept", "namespace": "shop"}});
    cluster.create(&leases, lease).await;
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let name = "leases.coordination.k8s.io";
    let definition = json!({
        "metadata": {"name": name, "annotations": {"api-approved.kubernetes.io": "unapproved, test"}},
        "spec": {
            "group": "coordination.k8s.io", "scope": "Namespaced",
            "names": {"kind": "Lease", "plural": "leases"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    });
    let key = ObjectKey::cluster(name);
    let conditions = json!([{
        "type": "Established", "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    for restarts in [false, true] {
        cluster.create(&definitions, definition.clone()).await;
        let said = json!({"status": {"conditions": conditions}});
        cluster.patch(&definitions, &key, said, Part::Status).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        cluster.delete(&definitions, &key, None).await;
        if restarts {
            cluster.restart_chores().await;
        }
        assert_eq!(cluster.names(&definitions, "").await, "");
        tokio::time::sleep(Duration::from_secs(60)).await;
        let found = cluster.names(&leases, "kept").await;
        assert!(found.split(' ').any(|name| name == "kept"), "{found}");
    }
}

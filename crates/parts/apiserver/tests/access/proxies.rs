//! What clusters hold for the proxies before them: shown to those who may write it, by whatever verb somebody asks.

use serde_json::{Value, json};

use crate::world::{World, known, master, subject};

const HUSH: &str = "hush-hush";
const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";

async fn start() -> World {
    let world = World::start().await;
    let spec = json!({
        "syncMode": "Pull", "proxyURL": format!("http://ann:{HUSH}@p:3128"), "proxyHeader": {"X-Key": HUSH},
    });
    let applied = json!({"kind": "Cluster", "spec": spec}).to_string();
    let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": applied});
    let metadata = json!({"name": "m", "annotations": annotations});
    world
        .create(CLUSTERS, json!({"metadata": metadata, "spec": spec}))
        .await;
    for (name, rule) in [
        (
            "reader",
            "get,list,watch,create cluster.karmada.io clusters",
        ),
        (
            "reporter",
            "get,update,patch cluster.karmada.io clusters/status",
        ),
        (
            "cleaner",
            "delete,deletecollection cluster.karmada.io clusters",
        ),
        ("patcher", "get,patch cluster.karmada.io clusters"),
    ] {
        world.role("", name, &[rule]).await;
        world.bind("", ("ClusterRole", name), subject(name)).await;
    }
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn passwords_of_proxies_are_in_no_answer_to_who_may_not_write_them() {
    let world = start().await;
    let one = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m"}});
    let (get, put, patch) = (
        format!("GET {CLUSTERS}/m"),
        format!("PUT {CLUSTERS}/m/status"),
        format!("PATCH {CLUSTERS}/m/status"),
    );
    let seen = world.ask(&known("reader"), &get, json!(null)).await.body;
    assert_eq!(seen["spec"]["proxyURL"], "http://<redacted>@p:3128");
    let table = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let apply = ("content-type", "application/apply-patch+yaml");
    let version = json!({"status": {"kubernetesVersion": "v1.34.0"}});
    let mut declared = one.clone();
    declared["status"] = version["status"].clone();
    let new = json!({"metadata": {"name": "n"}, "spec": {"syncMode": "Pull", "proxyHeader": {"X-Key": HUSH}}});
    for (who, headers, line, body, code) in [
        (
            "reader",
            vec![table],
            format!("GET {CLUSTERS}"),
            json!(null),
            200,
        ),
        (
            "reader",
            vec![],
            format!("POST {CLUSTERS}?dryRun=All"),
            new,
            201,
        ),
        ("reporter", vec![], put, seen, 200),
        ("reporter", vec![], patch.clone(), version, 200),
        (
            "reporter",
            vec![apply],
            format!("{patch}?fieldManager=r&force=true"),
            declared,
            200,
        ),
        (
            "reporter",
            vec![],
            patch.clone(),
            json!({"kind": null}),
            422,
        ),
        (
            "cleaner",
            vec![],
            format!("DELETE {CLUSTERS}/m?dryRun=All"),
            json!(null),
            200,
        ),
        (
            "cleaner",
            vec![],
            format!("DELETE {CLUSTERS}?dryRun=All"),
            json!(null),
            200,
        ),
    ] {
        let answer = world.ask_with(&known(who), &headers, &line, body).await;
        let text = answer.body.to_string();
        assert_eq!(answer.code, code, "{line}: {text}");
        assert!(!text.contains(HUSH), "{line}: {text}");
        assert_ne!(answer.body, Value::Null, "{line}");
    }
    // Nothing of that was written over, and whoever may write it reads it.
    for who in [master(), known("patcher")] {
        let kept = world.ask(&who, &get, json!(null)).await.body;
        assert_eq!(kept["spec"]["proxyHeader"]["X-Key"], HUSH);
        assert_eq!(
            kept["spec"]["proxyURL"],
            format!("http://ann:{HUSH}@p:3128")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_patch_takes_passwords_of_proxies_to_where_they_are_seen() {
    let world = start().await;
    let line = format!("PATCH {CLUSTERS}/m/status");
    let headers = [("content-type", "application/json-patch+json")];
    let copy =
        |from: &str| json!([{"op": "copy", "from": from, "path": "/status/kubernetesVersion"}]);
    let test =
        |value: &str| json!([{"op": "test", "path": "/spec/proxyHeader/X-Key", "value": value}]);
    for (patch, code) in [
        (copy("/spec/proxyHeader/X-Key"), 403),
        (copy("/spec/proxyURL"), 403),
        (test(HUSH), 403),
        (test("wrong"), 403),
        (
            json!([{"op": "add", "path": "/status", "value": {"kubernetesVersion": "v1"}}]),
            200,
        ),
    ] {
        let answer = world
            .ask_with(&known("reporter"), &headers, &line, patch.clone())
            .await;
        assert_eq!(answer.code, code, "{patch}: {}", answer.body);
        assert!(!answer.body.to_string().contains(HUSH), "{patch}");
    }
}

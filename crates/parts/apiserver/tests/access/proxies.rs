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

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hidden_comes_in_the_form_wanted_or_not_at_all() {
    let world = start().await;
    let (json, yaml) = ("application/json", "application/yaml");
    let protobuf = "application/vnd.kubernetes.protobuf";
    let as_metadata = |media: &str| format!("{media};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    let metadata = as_metadata(protobuf);
    let either = format!("{metadata},{}", as_metadata(json));
    let (one, all) = (format!("{CLUSTERS}/m"), CLUSTERS.to_owned());
    let watch = format!("{CLUSTERS}?watch=true&timeoutSeconds=1");
    for (path, accept, code, media, part) in [
        (&one, "*/*", 200, json, "\"kind\":\"Cluster\""),
        (&one, yaml, 200, yaml, "kind: Cluster"),
        (&all, yaml, 200, yaml, "kind: ClusterList"),
        (
            &one,
            "application/json;as=Table;g=meta.k8s.io;v=v1",
            200,
            json,
            "\"kind\":\"Table\"",
        ),
        (
            &one,
            "application/yaml,application/json;as=Table;g=meta.k8s.io;v=v1",
            200,
            yaml,
            "kind: Cluster",
        ),
        (&one, &metadata, 200, protobuf, "k8s\0"),
        (&one, protobuf, 406, json, "\"kind\":\"Status\""),
        (&all, protobuf, 406, json, "\"kind\":\"Status\""),
        (
            &one,
            "application/vnd.kubernetes.protobuf,application/json",
            200,
            json,
            "\"kind\":\"Cluster\"",
        ),
        (&one, "text/html", 406, json, "\"kind\":\"Status\""),
        (&watch, json, 200, json, ""),
        (&watch, &either, 200, json, ""),
        (&watch, &metadata, 406, json, ""),
    ] {
        let (found, form, text) = world.read(&known("reader"), path, accept).await;
        assert_eq!((found, &*form), (code, media), "{path} {accept}: {text}");
        assert!(text.contains(part), "{path} {accept}: {text}");
        assert!(!text.contains(HUSH), "{path} {accept}: {text}");
        // Whoever sees everything is told the same, but for events.
        let (whole, ..) = world.read(&master(), path, accept).await;
        assert!(whole == code || path == &watch, "{path} {accept}: {whole}");
    }
}

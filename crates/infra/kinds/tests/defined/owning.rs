//! Who owns which field of built-in objects, down to what the real server writes.

use serde_json::{Value, json};

use crate::api::{Api, gadgets, version};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

async fn api() -> Api {
    let definition = gadgets(
        json!([version("v1", true, json!({}), json!([]))]),
        json!({"strategy": "None"}),
    );
    Api::start(&definition, None).await
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "nginx", "image": "nginx"}]},
            },
        },
    })
}

/// The fields of an object's managers, by name and subresource.
fn owners(object: &Value) -> Vec<(String, Value)> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let name = |entry: &Value| {
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        format!("{} {}", text("manager"), text("subresource"))
            .trim_end()
            .to_owned()
    };
    entries
        .iter()
        .map(|entry| (name(entry), entry["fieldsV1"].clone()))
        .collect()
}

#[tokio::test]
async fn parts_that_are_always_there_have_no_owner() {
    let api = api().await;
    let (code, made) = api
        .send(
            "POST",
            &format!("{DEPLOYMENTS}?fieldManager=one"),
            &deployment(),
        )
        .await;
    assert_eq!(code, 201, "{made}");
    // As kube-apiserver writes it: `.` is there for maps, list elements and parts that may be missing, not for structs.
    let container = json!({
        ".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {},
        "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {},
    });
    let labels = json!({".": {}, "f:app": {}});
    let expected = json!({
        "f:metadata": {"f:labels": labels},
        "f:spec": {
            "f:progressDeadlineSeconds": {}, "f:replicas": {}, "f:revisionHistoryLimit": {}, "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}, "f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": labels},
                "f:spec": {
                    "f:containers": {"k:{\"name\":\"nginx\"}": container}, "f:dnsPolicy": {}, "f:restartPolicy": {},
                    "f:schedulerName": {}, "f:securityContext": {}, "f:terminationGracePeriodSeconds": {},
                },
            },
        },
    });
    assert_eq!(owners(&made), [("one".to_owned(), expected)]);
}

/// Whoever applied the same manifest again would else take away what it does not say.
#[tokio::test]
async fn what_the_server_generates_for_a_job_belongs_to_nobody() {
    let api = api().await;
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let container = json!({"name": "c", "image": "i"});
    let pod = json!({"restartPolicy": "Never", "containers": [container]});
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "labels": {"app": "a"}},
        "spec": {"template": {"spec": pod}}, "status": {"active": 1},
    });
    let (code, made) = api
        .send("POST", &format!("{jobs}?fieldManager=one"), &job)
        .await;
    assert_eq!(code, 201, "{made}");
    let uid = made["metadata"]["uid"].as_str().unwrap();
    let labels = &made["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels["controller-uid"], uid, "{made}");
    let owners = owners(&made);
    assert_eq!(owners.len(), 1, "{owners:?}");
    let owned = &owners[0].1;
    assert_eq!(
        owned["f:metadata"],
        json!({"f:labels": {".": {}, "f:app": {}}})
    );
    assert!(owned["f:spec"].get("f:selector").is_none(), "{owned}");
    assert!(
        owned["f:spec"]["f:template"].get("f:metadata").is_none(),
        "{owned}"
    );
    assert!(owned.get("f:status").is_none(), "{owned}");
}

#[tokio::test]
async fn whoever_sets_the_size_owns_it_through_the_scale() {
    let api = api().await;
    api.send(
        "POST",
        &format!("{DEPLOYMENTS}?fieldManager=one"),
        &deployment(),
    )
    .await;
    let scale = format!("{DEPLOYMENTS}/web/scale?fieldManager=two");
    let (code, _) = api
        .send("PATCH", &scale, &json!({"spec": {"replicas": 3}}))
        .await;
    assert_eq!(code, 200);
    let (_, object) = api
        .send("GET", &format!("{DEPLOYMENTS}/web"), &Value::Null)
        .await;
    assert_eq!(object["spec"]["replicas"], 3);
    let found = owners(&object);
    assert_eq!(
        found[1],
        (
            "two scale".to_owned(),
            json!({"f:spec": {"f:replicas": {}}})
        )
    );
    assert_eq!(found[0].1["f:spec"]["f:replicas"], Value::Null);
}

#[tokio::test]
async fn kinds_made_by_updates_are_made_and_others_are_not() {
    let api = api().await;
    let base = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let role = json!({"metadata": {"name": "r"}, "rules": []});
    assert_eq!(api.send("PUT", &format!("{base}/r"), &role).await.0, 201);
    assert_eq!(api.send("PUT", &format!("{base}/r"), &role).await.0, 200);
    let (code, _) = api
        .send("PUT", &format!("{DEPLOYMENTS}/web"), &deployment())
        .await;
    assert_eq!(code, 404);
}

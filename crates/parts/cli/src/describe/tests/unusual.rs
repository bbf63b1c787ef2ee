//! What does not go as usual: members, failures, harmful words, and kinds without a page of their own.

use insta::assert_snapshot;
use object::Object;
use serde_json::json;

use super::{read, write};
use crate::failure::Failure;

fn silent(_: &str) -> Result<Vec<Object>, Failure> {
    Err(Failure::failed("no answer", ""))
}

fn nothing(_: &str) -> Result<Vec<Object>, Failure> {
    Ok(Vec::new())
}

#[test]
fn what_is_in_a_member_says_so_below_its_namespace() {
    let objects = read("service-external");
    let page = write(&objects[0], Some("east"), nothing);
    let head: Vec<&str> = page.lines().take(4).collect();
    assert_snapshot!(head.join("\n"), @"
    Name:              web
    Namespace:         shop
    Cluster:           east
    Labels:            <none>
    ");
}

/// Upstream: the same. In a control plane there are none, and nobody needs to read so.
#[test]
fn a_deployment_without_replica_sets_does_not_speak_of_them() {
    let objects = read("deployment");
    let page = write(&objects[0], None, nothing);
    assert!(!page.contains("ReplicaSet:"), "{page}");
    assert!(!page.contains("OldReplicaSets"), "{page}");
}

#[test]
fn what_cannot_be_read_is_told_where_it_would_stand() {
    let told = |case: &str| {
        let objects = read(case);
        let page = write(&objects[0], None, silent);
        let lines = page.lines().filter(|line| line.contains("no answer"));
        lines.collect::<Vec<&str>>().join("\n")
    };
    let cases = [
        "deployment",
        "replicaset",
        "service",
        "ingress",
        "namespace",
        "node",
        "persistentvolumeclaim",
        "serviceaccount",
    ];
    let told: Vec<String> = cases.into_iter().map(told).collect();
    assert_snapshot!(told.join("\n"), @"
    Events:         <unknown: no answer>
    Pods Status:    error in fetching pods: no answer
    Events:            <unknown: no answer>
    Endpoints:                   <unknown: no answer>
    Endpoints:                   <unknown: no answer>
    Events:                      <unknown: no answer>
    Default backend:  rest:80 (<error: no answer>)
                     /        web:http (<error: no answer>)
                        gone:81 (<error: no answer>)
    Events:          <unknown: no answer>
    Resource Quotas:  <unknown: no answer>
    Resource Limits:  <unknown: no answer>
    Lease:              Failed to get lease: no answer
    Non-terminated Pods:          <unknown: no answer>
    Events:                       <unknown: no answer>
    Used By:     <unknown: no answer>
    Events:      <unknown: no answer>
    Tokens:              <unknown: no answer>
    Events:              <unknown: no answer>
    ");
}

#[test]
fn words_of_users_change_neither_the_terminal_nor_the_lines() {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "web", "labels": {"a": "b\u{1b}[2J"}, "annotations": {"c": "d\te\nf"}},
        "data": {"k\ney": "v\tw\u{7}\nx"},
    });
    let page = write(&Object::from_value(object).unwrap(), None, nothing);
    assert_snapshot!(page, @r#"
    Name:         web
    Labels:       a=b\u{1b}[2J
    Annotations:  c:
                    d\te
                    f

    Data
    ====
    k\ney:
    ----
    v	w\u{7}
    x


    BinaryData
    ====

    Events:  <none>
    "#);
}

#[test]
fn an_empty_object_of_every_kind_has_a_page() {
    for (api_version, kind) in [
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("v1", "Pod"),
        ("v1", "Service"),
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("batch/v1", "Job"),
        ("batch/v1", "CronJob"),
        ("v1", "Namespace"),
        ("v1", "Node"),
        ("networking.k8s.io/v1", "Ingress"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "PersistentVolume"),
        ("v1", "ServiceAccount"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("v1", "ResourceQuota"),
        ("v1", "LimitRange"),
        ("discovery.k8s.io/v1", "EndpointSlice"),
    ] {
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "n"}});
        let page = write(&Object::from_value(object).unwrap(), None, nothing);
        assert!(page.starts_with("Name: "), "{kind}: {page}");
        assert!(!page.contains("API Version"), "{kind}: {page}");
    }
}

#[test]
fn a_kind_without_a_page_of_its_own_is_written_out() {
    let object = json!({
        "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "n"},
        "spec": {"size": 1},
    });
    let object = Object::from_value(object).unwrap();
    let events = read("pod");
    let page = write(&object, None, |_| {
        Ok(events.iter().skip(1).cloned().collect())
    });
    assert_snapshot!(page, @"
    Name:         n
    Labels:       <none>
    Annotations:  <none>
    API Version:  example.com/v1
    Kind:         Thing
    Spec:
      Size:  1
    Events:
      Type     Reason   Age                From              Message
      ----     ------   ----               ----              -------
      Warning  Late     10m                other-controller  it is late
      Normal   Started  60s (x7 over 60m)  some-controller   it began
    ");
    let page = write(&object, None, nothing);
    assert!(page.ends_with("\nEvents:       <none>\n"), "{page}");
}

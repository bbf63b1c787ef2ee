//! What a cluster's status says, and what it goes on saying when a member does not answer in full.

use api::cluster::{ApiEnablement, ApiResource, Cluster};
use object::{Object, Value};
use serde_json::json;

use crate::health::{Answer, condition};
use crate::report::plan::{Apis, Findings, plan};
use crate::testing::{at, object};

fn enablement(group_version: &str, resources: &[(&str, &str)]) -> ApiEnablement {
    let resources = resources.iter().map(|(name, kind)| ApiResource {
        name: (*name).to_owned(),
        kind: (*kind).to_owned(),
    });
    ApiEnablement {
        group_version: group_version.to_owned(),
        resources: resources.collect(),
    }
}

fn cluster(status: Value) -> Object {
    object(
        json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
                  "metadata": {"name": "m1", "uid": "c", "resourceVersion": "7"}, "status": status}),
    )
}

/// The merge patch of the status, or null if nothing is written.
fn patch(object: &Object, findings: Option<Findings>) -> Value {
    let typed: Cluster = api::read::read(object).unwrap();
    let plan = plan(
        object,
        &typed,
        condition(Answer::Status(200)),
        findings,
        &[],
        at(0),
    );
    match plan.actions.as_slice() {
        [] => Value::Null,
        [
            intent::Action::Patch {
                patch, revision, ..
            },
        ] => {
            assert_eq!(
                revision.as_deref(),
                Some("7"),
                "conditions have several writers"
            );
            patch["status"].clone()
        }
        other => panic!("{other:?}"),
    }
}

fn apis(enablements: Vec<ApiEnablement>, silent: &[&str]) -> Option<Findings> {
    let silent = silent.iter().map(|name| (*name).to_owned()).collect();
    Some(Findings {
        apis: Apis::Found {
            enablements,
            silent,
        },
        ..Findings::default()
    })
}

/// The group versions and the condition of a patch.
fn shown(patch: &Value) -> String {
    let groups = patch["apiEnablements"].as_array().map(|list| {
        let names: Vec<&str> = list
            .iter()
            .filter_map(|entry| entry["groupVersion"].as_str())
            .collect();
        names.join(" ")
    });
    let conditions = patch["conditions"].as_array().unwrap();
    let complete = conditions
        .iter()
        .find(|entry| entry["type"] == "CompleteAPIEnablements")
        .unwrap();
    format!(
        "{} | {} {} {}",
        groups.as_deref().unwrap_or("unchanged"),
        complete["status"].as_str().unwrap(),
        complete["reason"].as_str().unwrap(),
        complete["message"].as_str().unwrap()
    )
}

#[test]
fn kinds_are_listed_in_order_without_parts_of_objects() {
    let found = apis(
        vec![
            enablement(
                "v1",
                &[("pods/log", "Pod"), ("pods", "Pod"), ("nodes", "Node")],
            ),
            enablement("apps/v1", &[("deployments", "Deployment")]),
        ],
        &[],
    );
    let patch = patch(&cluster(json!({})), found);
    assert_eq!(
        patch["apiEnablements"],
        json!([
            {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]},
            {"groupVersion": "v1", "resources": [{"name": "nodes", "kind": "Node"}, {"name": "pods", "kind": "Pod"}]},
        ])
    );
    assert_eq!(
        shown(&patch),
        "apps/v1 v1 | True Complete collected complete APIEnablements from the cluster"
    );
}

#[test]
fn a_discovery_that_fails_in_part_or_whole_forgets_nothing() {
    let known = cluster(json!({"apiEnablements": [
        {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]},
        {"groupVersion": "metrics.k8s.io/v1beta1", "resources": [{"name": "pods", "kind": "PodMetrics"}]},
        {"groupVersion": "v1", "resources": [{"name": "pods", "kind": "Pod"}]},
    ]}));
    let core = || vec![enablement("v1", &[("pods", "Pod")])];
    for (claim, object, findings, expected) in [
        (
            "a group is silent",
            &known,
            apis(core(), &["metrics.k8s.io"]),
            "metrics.k8s.io/v1beta1 v1 | False Partial might collect partial APIEnablements(2) from the cluster",
        ),
        (
            "a version of a group is silent",
            &known,
            apis(core(), &["metrics.k8s.io/v1beta1"]),
            "metrics.k8s.io/v1beta1 v1 | False Partial might collect partial APIEnablements(2) from the cluster",
        ),
        (
            "a group is gone",
            &known,
            apis(core(), &[]),
            "v1 | True Complete collected complete APIEnablements from the cluster",
        ),
        (
            "no answer",
            &known,
            Some(Findings {
                apis: Apis::Failed,
                ..Findings::default()
            }),
            "unchanged | False Partial might collect partial APIEnablements(3) from the cluster",
        ),
        (
            "an answer without anything",
            &known,
            apis(vec![], &[]),
            "unchanged | False Partial might collect partial APIEnablements(3) from the cluster",
        ),
        (
            "no answer, ever",
            &cluster(json!({})),
            Some(Findings {
                apis: Apis::Failed,
                ..Findings::default()
            }),
            "unchanged | False Empty collected empty APIEnablements from the cluster",
        ),
    ] {
        assert_eq!(shown(&patch(object, findings)), expected, "{claim}");
    }
}

#[test]
fn only_what_changed_is_written_and_other_conditions_stay() {
    let ready = json!({"type": "Ready", "status": "True", "reason": "ClusterReady",
        "message": "cluster is healthy and ready to accept workloads", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let other = json!({"type": "Other", "status": "False", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let known = cluster(
        json!({"kubernetesVersion": "v1.34.0", "conditions": [other, ready], "remedyActions": ["TrafficControl"]}),
    );
    let version = |version: &str| {
        Some(Findings {
            version: Some(version.to_owned()),
            ..Findings::default()
        })
    };
    assert_eq!(patch(&known, version("v1.34.0")), Value::Null);
    assert_eq!(
        patch(&known, None),
        Value::Null,
        "a version that could not be asked stays"
    );
    assert_eq!(
        patch(&known, version("v1.35.0")),
        json!({"kubernetesVersion": "v1.35.0"})
    );
    let down = cluster(json!({"conditions": [other]}));
    let conditions = &patch(&down, None)["conditions"];
    assert_eq!(conditions[0], other);
    assert_eq!(conditions[1]["type"], "Ready");
}

#[test]
fn a_cluster_under_two_names_says_so_as_long_as_it_is() {
    let typed = |object: &Object| -> Cluster { api::read::read(object).unwrap() };
    let conditions = |object: &Object, twins: &[&str]| {
        let twins: Vec<String> = twins.iter().map(ToString::to_string).collect();
        let ready = condition(Answer::Status(200));
        let plan = plan(object, &typed(object), ready, None, &twins, at(0));
        match plan.actions.as_slice() {
            [intent::Action::Patch { patch, .. }] => patch["status"]["conditions"].clone(),
            other => panic!("{other:?}"),
        }
    };
    let shared = conditions(&cluster(json!({})), &["east"]);
    assert_eq!(shared[0]["type"], "UniqueIdentity");
    assert_eq!(shared[0]["status"], "False");
    let message = shared[0]["message"].as_str().unwrap();
    assert!(message.starts_with("it has joined as cluster east, too, which has the same ID"));
    let again = cluster(json!({"conditions": [shared[0]]}));
    let alone = conditions(&again, &[]);
    assert_eq!(alone.as_array().unwrap().len(), 1);
    assert_eq!(alone[0]["type"], "Ready");
}

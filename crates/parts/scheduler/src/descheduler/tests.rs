use std::sync::Arc;

use api::policy::Placement;
use object::{Object, Value};
use serde_json::json;

use super::plan;
use crate::bound::Bound;

fn binding(changes: Value) -> Bound {
    let dynamic = json!({"replicaScheduling": {
        "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }});
    let base = json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {
            "namespace": "shop", "name": "web",
            "annotations": {"policy.karmada.io/applied-placement": dynamic.to_string()},
        },
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"},
            "replicas": 10, "clusters": [{"name": "m1", "replicas": 5}, {"name": "m2", "replicas": 5}],
        },
        "status": {"aggregatedStatus": [
            {"clusterName": "m1", "status": {"readyReplicas": 3}},
            {"clusterName": "m2", "status": {"readyReplicas": 5}},
        ]},
    });
    let object = Object::from_value(object::patch::merge(&base, &changes)).unwrap();
    Bound::read(&object).unwrap()
}

fn read(text: &str) -> Option<Arc<Placement>> {
    serde_json::from_str(text).ok().map(Arc::new)
}

#[test]
fn only_deployments_divided_by_room_are_looked_at() {
    let with_placement = |placement: &str| {
        let annotations = json!({"policy.karmada.io/applied-placement": placement});
        json!({"metadata": {"annotations": annotations}})
    };
    let divided = |rest: &str| {
        with_placement(&format!(
            r#"{{"replicaScheduling":{{"replicaSchedulingType":"Divided"{rest}}}}}"#
        ))
    };
    let cases = [
        ("dynamic weights", json!({}), true),
        (
            "aggregated",
            divided(r#","replicaDivisionPreference":"Aggregated""#),
            true,
        ),
        (
            "static weights",
            divided(r#","replicaDivisionPreference":"Weighted""#),
            false,
        ),
        ("copies", with_placement(r#"{"clusterAffinity":{}}"#), false),
        (
            "nothing applied",
            json!({"metadata": {"annotations": null}}),
            false,
        ),
        ("unreadable", with_placement("{"), false),
        (
            "a StatefulSet",
            json!({"spec": {"resource": {"kind": "StatefulSet"}}}),
            false,
        ),
        (
            "another group",
            json!({"spec": {"resource": {"apiVersion": "shop/v1"}}}),
            false,
        ),
    ];
    for (claim, changes, expected) in cases {
        assert_eq!(
            plan::is_concerned(&binding(changes), read),
            expected,
            "{claim}"
        );
    }
}

#[test]
fn what_found_no_node_is_taken_back_and_told() {
    let bound = binding(json!({}));
    let observed = plan::observe(&bound);
    let asked: Vec<&str> = observed
        .iter()
        .filter(|target| target.is_undesired())
        .map(|target| &*target.cluster)
        .collect();
    assert_eq!(asked, ["m1"]);
    let change = plan::plan(&observed, &[("m1".into(), 2)]).unwrap();
    assert_eq!(
        change.patch(&bound.spec),
        json!({"spec": {"clusters": [{"name": "m1", "replicas": 3}, {"name": "m2", "replicas": 5}]}})
    );
    let event = change.event(None);
    assert_eq!(event.reason, "DescheduleBindingSucceed");
    assert_eq!(
        event.message,
        "Binding has been descheduled, 2 replica(s) in cluster(m1), 2 total descheduled replica(s)"
    );
    let failed = change.event(Some("no".to_owned()));
    assert_eq!(
        (failed.reason, failed.message.as_str()),
        ("DescheduleBindingFailed", "no")
    );
}

#[test]
fn a_target_may_lose_everything_and_stays_listed() {
    let silent = binding(json!({"status": {"aggregatedStatus": []}}));
    let observed = plan::observe(&silent);
    let change = plan::plan(&observed, &[("m1".into(), 5), ("m2".into(), 0)]).unwrap();
    assert_eq!(
        change.patch(&silent.spec),
        json!({"spec": {"clusters": [{"name": "m1"}, {"name": "m2", "replicas": 5}]}})
    );
    assert!(plan::plan(&observed, &[("m1".into(), 6), ("m2".into(), 0)]).is_none());
}

//! What a work reports about a member's objects.

use api::work::v1alpha1::Work;
use interpret::Interpreter;
use object::{Object, Value};
use serde_json::json;

use crate::reflect::plan::plan;
use crate::reflect::reading::Reading;
use crate::testing::{check, object};

fn deployment(ready: u32) -> Object {
    object(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "generation": 1},
        "spec": {"replicas": 2},
        "status": {"replicas": 2, "readyReplicas": ready, "updatedReplicas": 2, "availableReplicas": ready, "observedGeneration": 1},
    }))
}

/// What the rules that come with the product say of an object.
fn read(object: &Object) -> Option<Reading<'_>> {
    let interpreter = Interpreter::default();
    Some(Reading {
        object,
        status: interpreter.reflect(object),
        health: interpreter.health(object),
    })
}

fn work(reported: Value) -> (Object, Work) {
    let object = object(json!({
        "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
        "metadata": {"name": "web-1", "namespace": "karmada-es-m1", "uid": "w"},
        "status": {"manifestStatuses": reported},
    }));
    let work = api::read::read(&object).unwrap();
    (object, work)
}

#[test]
fn status_and_health_are_reported_once() {
    let (object, fresh) = work(json!([]));
    let first = plan(&object, &fresh, &[read(&deployment(1))], &[]);
    let intent::Action::Patch {
        patch,
        uid,
        revision,
        ..
    } = &first.actions[0]
    else {
        panic!("{first:?}");
    };
    assert_eq!((uid.as_deref(), revision), (Some("w"), &None));
    let entry = &patch["status"]["manifestStatuses"][0];
    assert_eq!(
        entry["identifier"],
        json!({"ordinal": 0, "group": "apps", "version": "v1", "kind": "Deployment", "resource": "", "namespace": "shop", "name": "web"})
    );
    assert_eq!(
        (&entry["status"]["readyReplicas"], &entry["health"]),
        (&json!(1), &json!("Unhealthy"))
    );
    let (object, known) = work(patch["status"]["manifestStatuses"].clone());
    check(
        "nothing new",
        &plan(&object, &known, &[read(&deployment(1))], &[]),
        &[],
    );
    check(
        "gone for a moment",
        &plan(&object, &known, &[None], &[false]),
        &[],
    );
    check(
        "gone and not made again",
        &plan(&object, &known, &[None], &[true]),
        &[r#"patch Work karmada-es-m1/web-1 @w/status {"status":{"manifestStatuses":[]}}"#],
    );
    let next = plan(&object, &known, &[read(&deployment(2))], &[]);
    let intent::Action::Patch { patch, .. } = &next.actions[0] else {
        panic!("{next:?}");
    };
    assert_eq!(patch["status"]["manifestStatuses"][0]["health"], "Healthy");
}

#[test]
fn a_kind_without_rules_is_reported_as_it_is() {
    let (object_, fresh) = work(json!([]));
    let thing = object(
        json!({"apiVersion": "x/v1", "kind": "Thing", "metadata": {"name": "t"}, "status": {"phase": "Good"}}),
    );
    let plan = plan(&object_, &fresh, &[read(&thing)], &[]);
    let intent::Action::Patch { patch, .. } = &plan.actions[0] else {
        panic!("{plan:?}");
    };
    let entry = &patch["status"]["manifestStatuses"][0];
    assert_eq!(
        (&entry["status"], &entry["health"]),
        (&json!({"phase": "Good"}), &json!("Healthy"))
    );
}

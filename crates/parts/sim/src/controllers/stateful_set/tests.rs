//! What StatefulSets decide, as tables: which pod is made, taken or replaced next.

use std::sync::Arc;

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use super::plan::{Inputs, plan};
use super::retention::settle;
use crate::controllers::revision;
use crate::engine::action::{Action, Plan};
use crate::engine::kind::Kind;

fn now() -> Time {
    Time::from_unix_seconds(1_800_000_000)
}

fn set(replicas: i64, image: &str, further: Value, current: &str) -> Object {
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "d", "uid": "s", "generation": 1},
        "spec": {
            "replicas": replicas, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"image": image}},
        },
        "status": {"currentRevision": current},
    });
    for (name, value) in further.as_object().into_iter().flatten() {
        set["spec"][name] = value.clone();
    }
    Object::from_value(set).unwrap()
}

/// Pods in short: the ordinal, `+` if ready, `-` if not, `x` if going; `'` if of the old revision.
fn pods(text: &str, old: &str, new: &str) -> Vec<Arc<Object>> {
    let pod = |word: &str| {
        let ordinal: String = word.chars().take_while(char::is_ascii_digit).collect();
        let revision = if word.contains('\'') { old } else { new };
        let ready = if word.contains('+') { "True" } else { "False" };
        let mut pod = json!({
            "metadata": {
                "name": format!("db-{ordinal}"), "namespace": "d", "uid": ordinal,
                "labels": {"app": "db", "controller-revision-hash": revision},
            },
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": ready, "lastTransitionTime": now().to_string()},
            ]},
        });
        if word.contains('x') {
            pod["metadata"]["deletionTimestamp"] = json!(now().to_string());
        }
        Arc::new(Object::from_value(pod).unwrap())
    };
    text.split_whitespace().map(pod).collect()
}

/// Pods made and deleted, in short; `'` marks one of the old revision.
fn check(replicas: i64, further: Value, present: &str) -> String {
    let old = set(replicas, "1", json!({}), "");
    let (before, after) = (
        revision::of(&old).name,
        revision::of(&set(replicas, "2", json!({}), "")).name,
    );
    let set = set(replicas, "2", further, &before);
    let data = json!({"spec": {"template": old.at(&["spec", "template"])}});
    let kept = json!({"metadata": {"name": before, "namespace": "d"}, "revision": 1, "data": data});
    let kept = Arc::new(Object::from_value(kept).unwrap());
    let present = pods(present, &before, &after);
    let present: Vec<&Arc<Object>> = present.iter().collect();
    let plan = plan(&Inputs {
        set: &set,
        pods: &present,
        find_claim: &|_| None,
        revisions: &[&kept],
        now: now(),
    });
    let mut shown = Vec::new();
    for action in &plan.actions {
        match action {
            Action::Create {
                kind: Kind::ControllerRevision,
                ..
            } => {}
            Action::Create { object, .. } => {
                let name = object["metadata"]["name"].as_str().unwrap();
                let revision = &object["metadata"]["labels"]["controller-revision-hash"];
                let mark = if *revision == json!(before) { "'" } else { "" };
                shown.push(format!("+{name}{mark}"));
            }
            Action::Delete { of, .. } => {
                shown.push(format!("-{}", of.path.rsplit('/').next().unwrap()))
            }
            _ => {}
        }
    }
    shown.join(" ")
}

#[test]
fn pods_come_and_go_in_order_unless_all_may_at_once() {
    let parallel = json!({"podManagementPolicy": "Parallel"});
    let plain = json!({});
    for (replicas, further, present, expected) in [
        (3, &plain, "", "+db-0"),
        (3, &plain, "0-", ""),
        (3, &plain, "0+", "+db-1"),
        (3, &plain, "0+ 1+ 2-", ""),
        (3, &plain, "0+ 2+", "+db-1"),
        (3, &plain, "0x+", ""),
        (3, &parallel, "", "+db-0 +db-1 +db-2"),
        (3, &parallel, "1-", "+db-0 +db-2"),
        // Down from the top, one after the other.
        (1, &plain, "0+ 1+ 2+", "-db-2"),
        (1, &plain, "0+ 1+ 2x+", ""),
        (1, &plain, "0- 1+ 2+", ""),
        (1, &parallel, "0+ 1+ 2+", "-db-2 -db-1"),
        (0, &plain, "0+", "-db-0"),
        // From another first number on.
        (2, &json!({"ordinals": {"start": 5}}), "5+", "+db-6"),
        (2, &json!({"ordinals": {"start": 1}}), "0+ 1+ 2+", "-db-0"),
    ] {
        assert_eq!(
            check(replicas, further.clone(), present),
            expected,
            "{replicas} {further} {present:?}"
        );
    }
}

#[test]
fn updates_go_from_the_top_to_the_partition() {
    let to = |partition: i64| json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}});
    let by_hand = json!({"updateStrategy": {"type": "OnDelete"}});
    for (further, present, expected) in [
        (to(0), "0'+ 1'+ 2'+", "-db-2"),
        (to(0), "0'+ 1'+ 2'x+", ""),
        (to(0), "0'+ 1'+", "+db-2"),
        (to(0), "0'+ 1'+ 2-", ""),
        (to(0), "0'+ 1'+ 2+", "-db-1"),
        (to(0), "0+ 1+ 2+", ""),
        (to(2), "0'+ 1'+ 2+", ""),
        // One below the partition comes back as it was.
        (to(2), "1'+ 2+", "+db-0'"),
        (to(2), "0'+ 1'+", "+db-2"),
        (by_hand, "0'+ 1'+ 2'+", ""),
    ] {
        assert_eq!(
            check(3, further.clone(), present),
            expected,
            "{further} {present:?}"
        );
    }
}

#[test]
fn claims_are_made_before_their_pod_and_stay() {
    let claims = json!({"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]});
    assert_eq!(check(2, claims.clone(), "0+"), "+data-db-1 +db-1");
    assert_eq!(check(1, claims, "0+ 1+"), "-db-1");
}

#[test]
fn claims_are_the_sets_unless_somebody_else_controls_them() {
    let further = json!({
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}],
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
    });
    let set = set(1, "1", further, "");
    let pods = pods("0+", "", "");
    let by_ordinal = pods.iter().map(|pod| (0, &**pod)).collect();
    let owner = |uid: &str, controls: bool| {
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": uid,
            "controller": controls, "blockOwnerDeletion": true,
        })
    };
    let (ours, idle) = (owner("s", true), owner("s", false));
    let (other, guest) = (owner("o", true), owner("o", false));
    for (owners, expected) in [
        (json!([]), Some(json!([ours]))),
        (json!([ours]), None),
        (json!([idle]), Some(json!([ours]))),
        (json!([guest]), Some(json!([guest, ours]))),
        (json!([other]), None),
        (json!([other, idle]), Some(json!([other]))),
    ] {
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data-db-0", "namespace": "d", "ownerReferences": owners},
        });
        let claim = Object::from_value(claim).unwrap();
        let mut plan = Plan::default();
        let find = |name: &str| (name == claim.name()).then_some(&claim);
        settle(&set, &(0..1), &by_ordinal, &find, &mut plan);
        let written = plan.actions.iter().find_map(|action| match action {
            Action::Merge { patch, .. } => patch.pointer("/metadata/ownerReferences").cloned(),
            _ => None,
        });
        assert_eq!(written, expected, "{owners}");
    }
}

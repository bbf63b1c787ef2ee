//! Which namespaces go where.

use std::sync::Arc;

use object::{Object, Value};
use overrides::{Overrides, Policy};
use serde_json::json;

use crate::namespaces::plan::{Skipped, Target, has_lost, plan, standing};
use crate::sending::Standing;
use crate::testing::{lines, object};

fn namespace(name: &str, labels: Value) -> Object {
    object(
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "uid": "n", "resourceVersion": "3",
                  "creationTimestamp": "2026-01-01T00:00:00Z", "labels": labels},
                  "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}),
    )
}

fn target(cluster: &str, work: Option<Object>) -> Target {
    let cluster = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": cluster}});
    Target {
        cluster: Arc::new(object(cluster)),
        work: work.map(Arc::new),
    }
}

fn sent(namespace: &Object, targets: &[Target], overrides: &Overrides) -> Vec<String> {
    sent_by(namespace, targets, overrides, false)
}

/// The same, where the server itself may have said that the namespace stays.
fn sent_by(
    namespace: &Object,
    targets: &[Target],
    overrides: &Overrides,
    is_sure: bool,
) -> Vec<String> {
    let standing = standing(namespace, is_sure);
    let plan = plan(namespace, targets, overrides, &Skipped::default(), standing);
    lines(&plan)
}

#[test]
fn a_namespace_goes_to_every_cluster_once() {
    let shop = namespace("shop", json!({"team": "a"}));
    let made = sent(
        &shop,
        &[target("m1", None), target("m2", None)],
        &Overrides::default(),
    );
    assert_eq!(made.len(), 2);
    assert!(
        made[0].starts_with("create Work karmada-es-m1/shop-"),
        "{}",
        made[0]
    );
    assert!(
        made[1].starts_with("create Work karmada-es-m2/shop-"),
        "{}",
        made[1]
    );
    for expected in [
        r#""finalizers":["karmada.io/execution-controller"]"#,
        r#""ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"shop","uid":"n","controller":true,"blockOwnerDeletion":true}]"#,
        r#""karmada.io/managed":"true""#,
        r#""team":"a""#,
        r#""work.karmada.io/namespace":"karmada-es-m1""#,
        r#""resourcetemplate.karmada.io/uid":"n""#,
    ] {
        assert!(made[0].contains(expected), "{expected} in {}", made[0]);
    }
    for absent in ["creationTimestamp", "status", "resourceVersion"] {
        assert!(!made[0].contains(absent), "{absent} in {}", made[0]);
    }
    let plan = plan(
        &shop,
        &[target("m1", None)],
        &Overrides::default(),
        &Skipped::default(),
        Standing::Seen,
    );
    let intent::Action::Create { object: work, .. } = &plan.actions[0] else {
        panic!("{plan:?}");
    };
    assert!(
        sent(
            &shop,
            &[target("m1", Some(work.clone()))],
            &Overrides::default()
        )
        .is_empty(),
        "nothing new"
    );
    let relabelled = namespace("shop", json!({"team": "b"}));
    let patched = sent(
        &relabelled,
        &[target("m1", Some(work.clone()))],
        &Overrides::default(),
    );
    assert!(
        patched[0].starts_with("patch Work karmada-es-m1/shop-")
            && patched[0].contains(r#""team":"b""#),
        "{patched:?}"
    );
    let mut going = work.clone();
    going
        .set(&["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z")
        .unwrap();
    assert!(
        sent(
            &relabelled,
            &[target("m1", Some(going))],
            &Overrides::default()
        )
        .is_empty(),
        "on its way out"
    );
}

#[test]
fn what_a_binding_writes_is_left_to_it() {
    let shop = namespace("shop", json!({"team": "a"}));
    let mut theirs = object(
        json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {"name": "shop-5dbb", "namespace": "karmada-es-m1"}}),
    );
    let of = |work: &Object| {
        let targets = [target("m1", Some(work.clone()))];
        sent(&shop, &targets, &Overrides::default())
    };
    assert_eq!(of(&theirs).len(), 1, "nobody's yet");
    let annotation = [
        "metadata",
        "annotations",
        "clusterresourcebinding.karmada.io/name",
    ];
    theirs.set(&annotation, "shop-namespace").unwrap();
    assert!(of(&theirs).is_empty());
}

#[test]
fn the_systems_namespaces_and_those_that_opted_out_stay() {
    let skip = |value: &str| json!({"namespace.karmada.io/skip-auto-propagation": value});
    for (namespace, is_sent) in [
        (namespace("shop", json!({})), true),
        (namespace("my-kube-x", json!({})), true),
        (namespace("shop", skip("false")), true),
        (namespace("shop", skip("true")), false),
        (namespace("shop", skip("True")), false),
        (namespace("default", json!({})), false),
        (namespace("kube-system", json!({})), false),
        (namespace("karmada-system", json!({})), false),
        (namespace("karmada-cluster", json!({})), false),
        (namespace("karmada-es-m1", json!({})), false),
    ] {
        let found = !sent(&namespace, &[target("m1", None)], &Overrides::default()).is_empty();
        assert_eq!(found, is_sent, "{}", namespace.name());
    }
    assert!(Skipped::new(["["]).is_err());
}

#[test]
fn a_rule_for_one_cluster_changes_the_namespace_there() {
    let rule: api::policy::ClusterOverridePolicy = serde_json::from_value(json!({
        "metadata": {"name": "r"},
        "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "Namespace", "name": "shop"}],
                 "overrideRules": [{"targetCluster": {"clusterNames": ["m1"]}, "overriders": {"plaintext": [
                    {"path": "/metadata/labels/only", "operator": "add", "value": "here"}]}}]},
    })).unwrap();
    let mut overrides = Overrides::default();
    overrides.insert(Policy::from(&rule));
    let made = sent(
        &namespace("shop", json!({"a": "b"})),
        &[target("m1", None), target("m2", None)],
        &overrides,
    );
    assert!(
        made[0].contains(r#""only":"here""#) && made[0].contains("applied-cluster-overrides"),
        "{}",
        made[0]
    );
    assert!(!made[1].contains("only"), "{}", made[1]);
}

/// A namespace on its way out, held by a finalizer.
fn ending(finalizer: &str, labels: Value) -> Object {
    let mut namespace = namespace("shop", labels);
    for (field, value) in [
        ("deletionTimestamp", json!("2026-01-01T00:00:00Z")),
        ("finalizers", json!([finalizer])),
    ] {
        namespace.set(&["metadata", field], value).unwrap();
    }
    namespace
}

#[test]
fn what_is_missing_of_a_namespace_on_its_way_out_is_made_to_take_it_away() {
    let sent = |namespace: &Object, work: Option<Object>| {
        sent(namespace, &[target("m1", work)], &Overrides::default())
    };
    let [made] = &sent(&ending("example.com/slow", json!({})), None)[..] else {
        panic!("one work")
    };
    assert!(
        made.starts_with("create Work karmada-es-m1/shop-"),
        "{made}"
    );
    for expected in [
        r#""suspendDispatching":true"#,
        r#""kind":"Namespace","name":"shop","uid":"n""#,
    ] {
        assert!(made.contains(expected), "{expected} in {made}");
    }
    let skip = json!({"namespace.karmada.io/skip-auto-propagation": "true"});
    let work = json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {"name": "shop-5dbb", "namespace": "karmada-es-m1"}});
    for (claim, namespace, work) in [
        ("it is there", ending("x", json!({})), Some(object(work))),
        ("opted out", ending("x", skip), None),
        ("leaves all behind", ending("orphan", json!({})), None),
        (
            "waits for all",
            ending("foregroundDeletion", json!({})),
            None,
        ),
    ] {
        assert!(sent(&namespace, work).is_empty(), "{claim}");
    }
}

#[test]
fn a_work_that_lost_its_owner_gets_it_back_from_one_that_is_there() {
    let shop = namespace("shop", json!({"team": "a"}));
    let standing = Standing::Seen;
    let overrides = Overrides::default();
    let first = plan(
        &shop,
        &[target("m1", None)],
        &overrides,
        &Skipped::default(),
        standing,
    );
    let intent::Action::Create { object: work, .. } = &first.actions[0] else {
        panic!("{first:?}");
    };
    let again = |work: &Object, is_sure: bool| {
        let targets = [target("m1", Some(work.clone()))];
        let is_lost = has_lost(&targets);
        (is_lost, sent_by(&shop, &targets, &overrides, is_sure))
    };
    assert_eq!(again(work, true), (false, Vec::new()));
    let mut lost = work.clone();
    lost.remove(&["metadata", "ownerReferences"]);
    assert_eq!(
        again(&lost, false),
        (true, Vec::new()),
        "as far as is known"
    );
    let (_, patched) = again(&lost, true);
    assert!(
        patched[0].contains(
            r#""ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"shop","uid":"n""#
        ),
        "{patched:?}"
    );
    // Somebody else's stays theirs.
    let mut theirs = work.clone();
    let owners =
        json!([{"apiVersion": "v1", "kind": "Namespace", "name": "shop", "uid": "before"}]);
    theirs
        .set(&["metadata", "ownerReferences"], owners)
        .unwrap();
    assert_eq!(again(&theirs, true), (false, Vec::new()));
}

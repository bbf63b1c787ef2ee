//! What a cluster gets, keeps and loses.

use api::cluster::Cluster;
use object::{Object, Value};
use serde_json::json;

use crate::lifecycle::plan::{Inputs, plan};
use crate::testing::{at, check, object};

fn cluster(ready: &str, taints: Value, terminating: bool, finalizers: Value) -> Object {
    let mut cluster = object(json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": "m1", "uid": "c", "resourceVersion": "7", "finalizers": finalizers},
        "spec": {"syncMode": "Push", "taints": taints},
    }));
    if !ready.is_empty() {
        let ready = json!({"conditions": [{"type": "Ready", "status": ready}]});
        cluster.set(&["status"], ready).unwrap();
    }
    if terminating {
        cluster
            .set(&["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z")
            .unwrap();
    }
    cluster
}

fn namespace(terminating: bool) -> Object {
    let mut namespace = object(
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-es-m1", "uid": "n"}}),
    );
    if terminating {
        namespace
            .set(&["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z")
            .unwrap();
    }
    namespace
}

fn work(name: &str, finalizers: Value) -> Object {
    object(json!({
        "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
        "metadata": {"name": name, "namespace": "karmada-es-m1", "uid": name, "resourceVersion": "3", "finalizers": finalizers},
        "spec": {"workload": {"manifests": [{}, {}]}},
    }))
}

fn decide(
    claim: &str,
    cluster: &Object,
    namespace: Option<&Object>,
    works: &[&Object],
    targeted_by: Option<usize>,
    expected: &[&str],
) {
    let names = |count: usize| -> Vec<String> {
        let names = (1..=count).map(|at| format!("ResourceBinding shop/web-{at}"));
        names.collect()
    };
    let bindings = targeted_by.map(names);
    let typed: Cluster = api::read::read(cluster).unwrap();
    let inputs = Inputs {
        object: cluster,
        cluster: &typed,
        namespace,
        works,
        targeted_by: bindings.as_deref(),
        now: at(0),
    };
    check(claim, &plan(&inputs), expected);
}

const OURS: &str = "karmada.io/cluster-controller";

#[test]
fn a_new_cluster_gets_a_namespace_a_mark_and_a_finalizer() {
    decide(
        "before any status",
        &cluster("", json!([]), false, json!(["other"])),
        None,
        &[],
        None,
        &[
            r#"create Namespace karmada-es-m1 {"metadata":{"labels":{"karmada.io/system":"true"}}}"#,
            "report Cluster m1 Normal CreateExecutionSpaceSucceed: created the execution namespace karmada-es-m1",
            r#"patch Cluster m1 @c@7 {"spec":{"taints":[{"key":"cluster.karmada.io/not-ready","effect":"NoSchedule","timeAdded":"<t0>"}]},"metadata":{"finalizers":["other","karmada.io/cluster-controller"]}}"#,
            "report Cluster m1 Normal TaintClusterSucceed: the cluster now has the taints cluster.karmada.io/not-ready:NoSchedule",
        ],
    );
}

#[test]
fn taints_follow_the_condition_and_leave_the_users_alone() {
    let not_ready = json!({"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule"});
    let users =
        json!({"key": "cluster.karmada.io/not-ready", "value": "mine", "effect": "NoExecute"});
    let unreachable =
        json!({"key": "cluster.karmada.io/unreachable", "value": "x", "effect": "NoSchedule"});
    for (claim, ready, taints, keys) in [
        (
            "ready",
            "True",
            json!([not_ready, users, unreachable]),
            Some("not-ready=mine:NoExecute"),
        ),
        ("ready and clean", "True", json!([users]), None),
        (
            "not ready",
            "False",
            json!([unreachable]),
            Some("not-ready:NoSchedule"),
        ),
        ("still not ready", "False", json!([not_ready]), None),
        (
            "unknown",
            "Unknown",
            json!([users, not_ready]),
            Some("not-ready=mine:NoExecute, unreachable:NoSchedule"),
        ),
        (
            "unknown with a value of the user's",
            "Unknown",
            json!([unreachable]),
            None,
        ),
        (
            "never seen",
            "",
            json!([unreachable]),
            Some("unreachable=x:NoSchedule, not-ready:NoSchedule"),
        ),
    ] {
        let cluster = cluster(ready, taints, false, json!([OURS]));
        let typed: Cluster = api::read::read(&cluster).unwrap();
        let taints = crate::lifecycle::taints::taints_by_condition(&typed, at(0));
        let found = taints.map(|taints| {
            crate::lifecycle::taints::describe(&taints)
                .replace("cluster.karmada.io/", "")
                .replace("the cluster now has the taints ", "")
        });
        assert_eq!(found.as_deref(), keys, "{claim}");
    }
}

#[test]
fn nothing_begins_in_a_namespace_that_is_ending() {
    let live = cluster("True", json!([]), false, json!([OURS]));
    decide(
        "joined again",
        &live,
        Some(&namespace(true)),
        &[],
        None,
        &[
            "problem karmada-es-m1: the execution namespace is still being deleted",
            "wake after 10s",
        ],
    );
    decide("settled", &live, Some(&namespace(false)), &[], None, &[]);
}

#[test]
fn a_cluster_goes_after_its_works_and_its_bindings() {
    let going = cluster("True", json!([]), true, json!([OURS, "other"]));
    let held = work("w", json!(["karmada.io/execution-controller"]));
    decide(
        "a ready member deletes itself what works made",
        &going,
        Some(&namespace(false)),
        &[&held],
        Some(1),
        &[
            "delete Namespace karmada-es-m1 @n  because cluster m1 is being removed",
            "report Cluster m1 Normal RemoveExecutionSpaceSucceed: asked for the deletion of the execution namespace karmada-es-m1",
            "wake after 10s",
        ],
    );
    decide(
        "the namespace is on its way",
        &going,
        Some(&namespace(true)),
        &[&held],
        Some(1),
        &["wake after 10s"],
    );
    decide(
        "bindings hold it",
        &going,
        None,
        &[],
        Some(2),
        &[
            "report Cluster m1 Warning WaitForBindings: waiting for 2 bindings that still name the cluster as a target: ResourceBinding shop/web-1, ResourceBinding shop/web-2",
            "problem m1: waiting for 2 bindings that still name the cluster as a target",
            "wake after 10s",
        ],
    );
    let mut just_now = going.clone();
    just_now
        .set(&["metadata", "deletionTimestamp"], at(-9).to_string())
        .unwrap();
    decide(
        "the scheduler may still be at it",
        &just_now,
        None,
        &[],
        Some(2),
        &[
            "problem m1: waiting for 2 bindings that still name the cluster as a target",
            "wake after 10s",
        ],
    );
    decide(
        "bindings are not all known",
        &going,
        None,
        &[],
        None,
        &[
            "problem m1: waiting for a complete view of the bindings",
            "wake after 10s",
        ],
    );
    decide(
        "all gone",
        &going,
        None,
        &[],
        Some(0),
        &[r#"patch Cluster m1 @c@7 {"metadata":{"finalizers":["other"]}}"#],
    );
    let let_go = cluster("True", json!([]), true, json!(["other"]));
    decide(
        "already let go",
        &let_go,
        Some(&namespace(false)),
        &[&held],
        Some(1),
        &[],
    );
}

#[test]
fn the_works_of_bindings_are_left_to_whoever_makes_them_for_a_while() {
    let going = |since: i64| {
        let mut going = cluster("True", json!([]), true, json!([OURS]));
        let time = at(since).to_string();
        going.set(&["metadata", "deletionTimestamp"], time).unwrap();
        going
    };
    let bound = |annotation: &str, is_ending: bool| {
        let mut work = work("w", json!(["karmada.io/execution-controller"]));
        let annotations = ["metadata", "annotations", annotation];
        work.set(&annotations, "web-deployment").unwrap();
        if is_ending {
            let time = at(0).to_string();
            work.set(&["metadata", "deletionTimestamp"], time).unwrap();
        }
        work
    };
    let waits: &[&str] = &[
        "problem m1: waiting for bindings to leave the cluster and take their works back",
        "wake after 1s",
    ];
    let goes: &[&str] = &[
        "delete Namespace karmada-es-m1 @n  because cluster m1 is being removed",
        "report Cluster m1 Normal RemoveExecutionSpaceSucceed: asked for the deletion of the execution namespace karmada-es-m1",
        "wake after 10s",
    ];
    let own = work("own", json!(["karmada.io/execution-controller"]));
    let namespaced = bound("resourcebinding.karmada.io/name", false);
    let wide = bound("clusterresourcebinding.karmada.io/name", false);
    let ending = bound("resourcebinding.karmada.io/name", true);
    for (claim, since, work, targeted_by, expected) in [
        ("bindings name it", -9, &own, Some(1), waits),
        ("bindings are not all known", -9, &own, None, waits),
        (
            "a work of a binding is there",
            -9,
            &namespaced,
            Some(0),
            waits,
        ),
        ("a work without namespace is", -9, &wide, Some(0), waits),
        ("the work is on its way", -9, &ending, Some(0), goes),
        ("the work is nobody's", -9, &own, Some(0), goes),
        ("it takes too long", -10, &namespaced, Some(1), goes),
        ("nobody knows for too long", -10, &namespaced, None, goes),
    ] {
        let space = namespace(false);
        let works = [work];
        decide(
            claim,
            &going(since),
            Some(&space),
            &works,
            targeted_by,
            expected,
        );
    }
}

#[test]
fn what_nobody_heard_of_may_stay() {
    let mut going = cluster("Unknown", json!([]), true, json!([OURS]));
    let version = ["status", "kubernetesVersion"];
    going.set(&version, "v1.34.0").unwrap();
    let unheard_of = work("w", json!(["karmada.io/execution-controller"]));
    decide(
        "it had been sent",
        &going,
        Some(&namespace(true)),
        &[&unheard_of],
        Some(0),
        &[
            r#"patch Work karmada-es-m1/w @w@3 {"metadata":{"finalizers":[]}}"#,
            "report Cluster m1 Warning LeaveResourcesBehind: the cluster is not ready: 0 objects stay in it and are no longer managed; 2 more may be there, since nobody heard what became of them",
            "wake after 10s",
        ],
    );
}

#[test]
fn a_member_that_is_gone_does_not_hold_its_cluster() {
    let mut held = work("w", json!(["a", "karmada.io/execution-controller"]));
    let applied = json!([{"type": "Applied", "status": "True"}]);
    held.set(&["status", "conditions"], applied).unwrap();
    let free = work("v", json!([]));
    let unsent = work("u", json!(["karmada.io/execution-controller"]));
    for ready in ["False", "Unknown", ""] {
        decide(
            ready,
            &cluster(ready, json!([]), true, json!([OURS])),
            Some(&namespace(true)),
            &[&held, &free, &unsent],
            Some(0),
            &[
                r#"patch Work karmada-es-m1/w @w@3 {"metadata":{"finalizers":["a"]}}"#,
                r#"patch Work karmada-es-m1/u @u@3 {"metadata":{"finalizers":[]}}"#,
                "report Cluster m1 Warning LeaveResourcesBehind: the cluster is not ready: 2 objects stay in it and are no longer managed",
                "wake after 10s",
            ],
        );
    }
}

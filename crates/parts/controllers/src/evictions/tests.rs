//! Cases: bindings in trouble in, what is written out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use api::{
    kubernetes::scheduling::{Taint, Toleration},
    policy::PurgeMode,
};
use client::Change;
use intent::Plan;
use object::{ObjectKey, time::Time};

use super::{
    awaited::Awaited,
    keys_of_binding, keys_of_cluster, keys_of_gone, keys_with_failover, keys_with_tasks,
    plan::{Rules, Subject, hand_over, leave_failing, leave_tainted, stay_after_all},
};
use crate::{
    binding_view::Binding,
    told::{done, one, told},
};

const RULES: Rules = Rules {
    grace_seconds: 600,
    is_graceful: true,
    preserves_state: false,
    default_purge: PurgeMode::Gracefully,
};

fn binding(spec: &str, status: &str) -> String {
    format!(
        "{{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {{name: b, namespace: test, uid: b, generation: 2, resourceVersion: '9'}}, spec: {{resource: {{apiVersion: apps/v1, kind: Deployment, name: web, namespace: test}}, {spec}}}, status: {{{status}}}}}"
    )
}

fn at(seconds: i64) -> Time {
    "2026-01-02T03:00:00Z"
        .parse::<Time>()
        .unwrap()
        .plus_seconds(seconds)
}

fn with<T>(document: &str, now: i64, decide: impl FnOnce(Subject<'_>) -> T) -> T {
    let object = one(document);
    let read = Binding::read(&object).unwrap();
    decide(Subject {
        binding: &object,
        spec: &read.spec,
        status: &read.status,
        template: None,
        now: at(now),
    })
}

const TASK: &str = "clusters: [{name: m2}], gracefulEvictionTasks: [{fromCluster: m1, reason: R, producer: P, creationTimestamp: '2026-01-02T03:00:00Z'}]";

#[test]
fn an_old_copy_goes_when_its_replacement_is_healthy() {
    let healthy =
        "schedulerObservedGeneration: 2, aggregatedStatus: [{clusterName: m2, health: Healthy}]";
    let plan = with(&binding(TASK, healthy), 1, |subject| {
        hand_over(subject, &BTreeSet::new(), RULES)
    });
    insta::assert_snapshot!(told(&plan), @r#"
    patch ResourceBinding test/b@9 {"spec":{"gracefulEvictionTasks":[]}}
    report ResourceBinding test/b Normal EvictWorkloadFromClusterSucceed: left cluster m1: its replacement is healthy
    "#);
    let waiting = with(&binding(TASK, ""), 1, |subject| {
        hand_over(subject, &BTreeSet::new(), RULES)
    });
    assert_eq!(
        (told(&waiting).as_str(), waiting.wake),
        ("nothing", intent::Wake::At(at(601)))
    );
    let none = with(&binding("clusters: []", ""), 1, |subject| {
        hand_over(subject, &BTreeSet::new(), RULES)
    });
    assert_eq!(none, Plan::default());
}

#[test]
fn nothing_waits_for_a_cluster_that_is_gone() {
    let gone = BTreeSet::from(["m1".to_owned()]);
    let plan = with(&binding(TASK, ""), 1, |subject| {
        hand_over(subject, &gone, RULES)
    });
    insta::assert_snapshot!(told(&plan), @r#"
    patch ResourceBinding test/b@9 {"spec":{"gracefulEvictionTasks":[]}}
    report ResourceBinding test/b Normal EvictWorkloadFromClusterSucceed: left cluster m1: the cluster is gone
    "#);
    let cluster = "{metadata: {name: m1}}";
    let bindings = |_: &str| vec![ObjectKey::namespaced("test", "b")];
    for (after, wakes) in [(None, true), (Some(cluster), false)] {
        let keys = keys_of_gone(&change(Some(cluster), after), bindings);
        assert_eq!(!keys.is_empty(), wakes);
    }
}

fn tainted(tolerations: &str, now: i64) -> Plan {
    let taints: Vec<Taint> = serde_saphyr::from_str(
        "[{key: down, effect: NoExecute, timeAdded: '2026-01-02T03:00:00Z'}]",
    )
    .unwrap();
    let tolerations: Vec<Toleration> = serde_saphyr::from_str(tolerations).unwrap();
    let taints = BTreeMap::from([("m1".to_owned(), taints), ("m2".to_owned(), Vec::new())]);
    with(
        &binding("clusters: [{name: m1, replicas: 2}, {name: m2}]", ""),
        now,
        |subject| leave_tainted(subject, &taints, &tolerations, RULES),
    )
}

#[test]
fn acceptance_24_a_binding_leaves_a_tainted_cluster_when_its_toleration_is_over() {
    insta::assert_snapshot!(told(&tainted("[]", 0)), @r#"patch ResourceBinding test/b@9 {"spec":{"clusters":[{"name":"m2"}],"gracefulEvictionTasks":[{"fromCluster":"m1","purgeMode":"Gracefully","replicas":2,"reason":"TaintUntolerated","producer":"TaintManager"}]}}"#);
    let minute = "[{key: down, operator: Exists, tolerationSeconds: 60}]";
    let waiting = tainted(minute, 59);
    assert_eq!(
        (done(&waiting).as_str(), waiting.wake),
        ("nothing", intent::Wake::At(at(60)))
    );
    assert!(done(&tainted(minute, 60)).contains("TaintUntolerated"));
    assert_eq!(tainted("[{operator: Exists}]", 9999), Plan::default());
}

#[test]
fn a_binding_whose_taint_is_lifted_stays_if_nobody_has_taken_over() {
    let task = "gracefulEvictionTasks: [{fromCluster: m1, replicas: 2, reason: TaintUntolerated, producer: TaintManager}]";
    let taints =
        |text: &str| BTreeMap::from([("m1".to_owned(), serde_saphyr::from_str(text).unwrap())]);
    let lifted = |spec: &str, on_m1: &str| {
        with(&binding(spec, ""), 0, |subject| {
            stay_after_all(subject, &taints(on_m1), &[])
        })
    };
    insta::assert_snapshot!(told(&lifted(task, "[]")), @r#"
    patch ResourceBinding test/b@9 {"spec":{"clusters":[{"name":"m1","replicas":2}],"gracefulEvictionTasks":[]}}
    report ResourceBinding test/b Normal EvictWorkloadFromClusterWithdrawn: stays on cluster m1: its taints are gone
    "#);
    let driving = "[{key: down, effect: NoExecute, timeAdded: '2026-01-02T03:00:00Z'}]";
    assert_eq!(lifted(task, driving), Plan::default());
    let replaced = format!(
        "{task}, replicas: 2, placement: {{replicaScheduling: {{}}}}, clusters: [{{name: m2, replicas: 2}}]"
    );
    assert_eq!(lifted(&replaced, "[]"), Plan::default());
}

#[test]
fn a_job_that_has_run_to_its_end_leaves_no_cluster() {
    let taints: Vec<Taint> = serde_saphyr::from_str("[{key: down, effect: NoExecute}]").unwrap();
    let taints = BTreeMap::from([("m1".to_owned(), taints.clone()), ("m2".to_owned(), taints)]);
    let ended = "aggregatedStatus: [{clusterName: m1, status: {conditions: [{type: Complete, status: 'True'}]}}]";
    let job = binding("clusters: [{name: m1}, {name: m2}]", ended)
        .replace("apps/v1, kind: Deployment", "batch/v1, kind: Job");
    let plan = with(&job, 0, |subject| {
        leave_tainted(subject, &taints, &[], RULES)
    });
    let text = done(&plan);
    assert!(
        text.contains(r#""clusters":[{"name":"m1"}]"#) && text.contains(r#""fromCluster":"m2""#),
        "{text}"
    );
}

#[test]
fn a_binding_is_awaited_once_for_each_cluster_until_it_was_looked_at() {
    let awaited = Awaited::default();
    let dirty = "{metadata: {name: m1}, spec: {taints: [{key: a, effect: NoExecute}]}}";
    let keys = [
        ObjectKey::namespaced("test", "a"),
        ObjectKey::namespaced("test", "b"),
    ];
    for _ in 0..2 {
        awaited.note(&change(None, Some(dirty)), &keys);
    }
    let clean = "{metadata: {name: m2}, spec: {taints: [{key: a, effect: NoSchedule}]}}";
    awaited.note(&change(None, Some(clean)), &keys);
    assert_eq!(awaited.counts(), BTreeMap::from([("m1".to_owned(), 2)]));
    awaited.over(&keys[0]);
    assert_eq!(awaited.counts(), BTreeMap::from([("m1".to_owned(), 1)]));
}

#[test]
fn acceptance_27_an_application_that_fails_is_moved_after_its_toleration() {
    let spec = "propagateDeps: true, clusters: [{name: m1}], failover: {application: {decisionConditions: {tolerationSeconds: 30}, purgeMode: Gracefully, gracePeriodSeconds: 600}}";
    let sick = "aggregatedStatus: [{clusterName: m1, health: Unhealthy}]";
    let document = binding(spec, sick);
    let (plan, failing) = with(&document, 0, |subject| {
        leave_failing(subject, &BTreeMap::new(), RULES)
    });
    assert_eq!(
        (told(&plan).as_str(), plan.wake),
        ("nothing", intent::Wake::At(at(30)))
    );
    let (plan, left) = with(&document, 30, |subject| {
        leave_failing(subject, &failing, RULES)
    });
    let text = told(&plan);
    assert!(
        text.contains(r#""reason":"ApplicationFailure""#)
            && text.contains("resource-binding-application-failover-controller"),
        "{text}"
    );
    assert!(left.is_empty());
    let off = Rules {
        is_graceful: false,
        ..RULES
    };
    let (plan, _) = with(&document, 30, |subject| {
        leave_failing(subject, &failing, off)
    });
    assert!(
        told(&plan).contains("Warning EvictWorkloadFromClusterFailed: cannot leave cluster m1")
    );
    let alone = binding(&spec.replace("true", "false"), sick);
    let (plan, _) = with(&alone, 30, |subject| {
        leave_failing(subject, &failing, RULES)
    });
    assert_eq!(plan, Plan::default());
}

fn change(before: Option<&str>, after: Option<&str>) -> Change {
    let state = |text: Option<&str>| text.map(|text| Arc::new(one(text)));
    Change {
        before: state(before),
        after: state(after),
    }
}

#[test]
fn those_wake_whom_a_change_concerns() {
    let with_task = binding(TASK, "");
    let plain = binding("clusters: [{name: m1}]", "");
    let reported = binding("clusters: [{name: m1}]", "x: 1");
    let failing = binding("failover: {application: {}}", "");
    for (before, after, tasks, failover, more) in [
        (None, Some(&with_task), true, false, true),
        (None, Some(&plain), false, false, true),
        (Some(&plain), Some(&reported), false, false, false),
        (None, Some(&failing), false, true, true),
        (Some(&failing), None, false, true, false),
    ] {
        let change = change(before.map(String::as_str), after.map(String::as_str));
        assert_eq!(keys_with_tasks(&change).is_some(), tasks);
        assert_eq!(keys_with_failover(&change).is_some(), failover);
        assert_eq!(keys_of_binding(&change).is_some(), more);
    }
    let on_cluster = |_: &str| vec![one(&plain).key()];
    let clean = "{metadata: {name: m1}}";
    let dirty = "{metadata: {name: m1}, spec: {taints: [{key: a, effect: NoExecute}]}}";
    for (before, after, wakes) in [
        (clean, dirty, true),
        (dirty, clean, true),
        (dirty, dirty, false),
    ] {
        let keys = keys_of_cluster(&change(Some(before), Some(after)), on_cluster);
        assert_eq!(!keys.is_empty(), wakes);
    }
}

//! Which clusters get a work, and with what.

use std::collections::BTreeSet;

use object::ObjectKey;

use super::{binding, one};
use crate::{
    completions::{division, with_completions},
    dependencies::{is_referrer, snapshot},
    failover::inherited_labels,
    targets::{expected, held_back, orphans, targets},
};

#[test]
fn targets_are_the_chosen_clusters_then_those_only_required() {
    let binding = binding(
        "clusters: [{name: m2, replicas: 1}, {name: m1, replicas: 2}], requiredBy: [{name: a, clusters: [{name: m3, replicas: 7}, {name: m1, replicas: 9}]}, {name: b, clusters: [{name: m3, replicas: 8}]}]",
    );
    let found: Vec<String> = targets(&binding.spec)
        .iter()
        .map(|target| format!("{}={}", target.name, target.replicas))
        .collect();
    assert_eq!(found.join(" "), "m2=1 m1=2 m3=7");
    assert!(targets(&super::binding("").spec).is_empty());
}

#[test]
fn what_a_copy_needs_is_where_the_copy_is_until_another_has_taken_over() {
    let task = |mode: &str| {
        format!("{{fromCluster: m1, reason: R, producer: P, replicas: 3, purgeMode: {mode}}}")
    };
    let key = ObjectKey::namespaced("test", "web-deployment");
    for (claim, clusters, mode, expected) in [
        (
            "moves",
            "{name: m2, replicas: 2}",
            "Gracefully",
            "m2=2 m1=3",
        ),
        ("comes back", "{name: m1, replicas: 2}", "Never", "m1=2"),
        ("finds no place", "", "Gracefully", "m1=3"),
        (
            "is gone first",
            "{name: m2, replicas: 2}",
            "Directly",
            "m2=2",
        ),
        ("is gone", "", "Directly", ""),
    ] {
        let tasks = task(mode);
        let binding = binding(&format!(
            "propagateDeps: true, clusters: [{clusters}], gracefulEvictionTasks: [{tasks}]"
        ));
        let found = snapshot(&key, &binding.spec).clusters;
        let found: Vec<String> = found
            .iter()
            .map(|target| format!("{}={}", target.name, target.replicas))
            .collect();
        assert_eq!(found.join(" "), expected, "{claim}");
        assert_eq!(is_referrer(&binding.spec), !expected.is_empty(), "{claim}");
    }
}

#[test]
fn a_work_is_an_orphan_unless_its_cluster_is_a_target_or_being_left_gracefully() {
    let works: Vec<ObjectKey> = [
        "karmada-es-m1/w",
        "karmada-es-m2/w",
        "karmada-es-m3/w",
        "stray/w",
    ]
    .iter()
    .map(|key| key.parse().unwrap())
    .collect();
    let case = |spec: &str| -> String {
        let binding = binding(spec);
        let gone = orphans(&binding.spec, &works);
        let gone: Vec<&str> = gone.iter().map(|work| work.namespace.as_str()).collect();
        gone.join(" ")
    };
    assert_eq!(
        case("clusters: [{name: m1}]"),
        "karmada-es-m2 karmada-es-m3 stray"
    );
    assert_eq!(
        case("clusters: [{name: m1}], requiredBy: [{name: a, clusters: [{name: m2}]}]"),
        "karmada-es-m3 stray"
    );
    for (mode, kept) in [
        ("purgeMode: Gracefully, ", true),
        ("purgeMode: Graciously, ", true),
        ("purgeMode: Never, ", true),
        ("", true),
        ("purgeMode: Directly, ", false),
        ("purgeMode: Immediately, ", false),
    ] {
        let found = case(&format!(
            "clusters: [{{name: m1}}], gracefulEvictionTasks: [{{fromCluster: m2, {mode}reason: X, producer: p}}]"
        ));
        assert_eq!(!found.contains("m2"), kept, "{mode}");
    }
    assert_eq!(expected(&binding("").spec), BTreeSet::new());
}

#[test]
fn a_new_cluster_waits_until_a_cluster_left_directly_has_no_work() {
    let binding = binding(
        "clusters: [{name: m1}, {name: m2}], gracefulEvictionTasks: [{fromCluster: m3, purgeMode: Immediately, reason: X, producer: p}]",
    );
    for (works, waiting) in [
        (vec!["m1", "m3"], vec!["m2"]),
        (vec!["m3"], vec!["m1", "m2"]),
        (vec!["m1"], vec![]),
    ] {
        let works: BTreeSet<&str> = works.into_iter().collect();
        assert_eq!(held_back(&binding.spec, &works), waiting, "{works:?}");
    }
}

#[test]
fn completions_are_shared_where_a_job_is_divided() {
    let job = one(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: 4, completions: 9}}",
    );
    let divided = "replicas: 4, placement: {replicaScheduling: {replicaSchedulingType: Divided}}, clusters: [{name: m1, replicas: 2}, {name: m2, replicas: 2}]";
    let case = binding(divided);
    let found = division(&job, &case.spec).unwrap();
    assert_eq!(
        (found.completions, found.weights),
        (9, vec![("m1", 2), ("m2", 2)])
    );
    for (from, to) in [
        ("Divided", "Duplicated"),
        (
            "placement: {replicaScheduling: {replicaSchedulingType: Divided}}, ",
            "",
        ),
        ("replicaScheduling: {replicaSchedulingType: Divided}", ""),
        ("replicas: 4", "replicas: 0"),
        ("replicas: 2", "replicas: 0"),
    ] {
        let other = binding(&divided.replace(from, to));
        assert_eq!(division(&job, &other.spec), None, "{from} -> {to}");
    }
    let endless = one("{kind: Job, spec: {parallelism: 4}}");
    assert_eq!(division(&endless, &case.spec), None);
    assert_eq!(
        division(
            &one("{kind: Deployment, spec: {completions: 9}}"),
            &case.spec
        ),
        None
    );
    let mine = with_completions(job, 5).unwrap();
    assert_eq!(mine.integer_at(&["spec", "completions"]), Some(5));
    assert!(with_completions(one("{kind: Job, spec: text}"), 5).is_err());
}

#[test]
fn the_state_of_a_failed_copy_goes_to_the_only_one_that_replaces_it() {
    let moved = "clusters: [{name: m2}], gracefulEvictionTasks: [{fromCluster: m1, purgeMode: Directly, reason: X, producer: p, preservedLabelState: {id: '7'}, clustersBeforeFailover: [m1]}]";
    let case = |spec: &str| inherited_labels(&binding(spec).spec, "m2").map(|labels| labels.len());
    assert_eq!(case(moved), Some(1));
    for (from, to) in [
        ("Directly", "Gracefully"),
        ("[{name: m2}]", "[{name: m2}, {name: m3}]"),
        (
            "clustersBeforeFailover: [m1]",
            "clustersBeforeFailover: [m1, m2]",
        ),
        ("preservedLabelState: {id: '7'}, ", ""),
    ] {
        assert_eq!(case(&moved.replace(from, to)), None, "{from} -> {to}");
    }
}

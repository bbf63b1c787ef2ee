//! Which clusters get a work, and with what.

use std::collections::{BTreeMap, BTreeSet};

use object::ObjectKey;

use super::{binding, one};
use crate::{
    completions::{division, running, with_completions},
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

const JOB: &str = "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: 4, completions: 9}}";
const DIVIDED: &str = "replicas: 4, placement: {replicaScheduling: {replicaSchedulingType: Divided}}, clusters: [{name: m1, replicas: 2}, {name: m2, replicas: 2}]";

#[test]
fn completions_are_shared_where_a_job_is_divided() {
    let job = one(JOB);
    let case = binding(DIVIDED);
    let none = BTreeMap::new();
    let found = division(&job, &case.spec, &none).unwrap();
    assert_eq!(
        (found.completions, found.weights),
        (9, vec![("m1", 2), ("m2", 2)])
    );
    // While it rests nobody has replicas, and still nobody may get all of it: members would run a multiple later.
    let resting = binding(&DIVIDED.replace("replicas: 2", "replicas: 0"));
    let found = division(&job, &resting.spec, &none).unwrap();
    assert_eq!(
        (found.completions, found.weights),
        (9, vec![("m1", 1), ("m2", 1)])
    );
    for (from, to) in [
        ("Divided", "Duplicated"),
        (
            "placement: {replicaScheduling: {replicaSchedulingType: Divided}}, ",
            "",
        ),
        ("replicaScheduling: {replicaSchedulingType: Divided}", ""),
        ("{name: m1, replicas: 2}, {name: m2, replicas: 2}", ""),
    ] {
        let other = binding(&DIVIDED.replace(from, to));
        assert_eq!(division(&job, &other.spec, &none), None, "{from} -> {to}");
    }
    for other in [
        "{kind: Job, spec: {parallelism: 4}}",
        "{kind: Deployment, spec: {completions: 9}}",
    ] {
        assert_eq!(division(&one(other), &case.spec, &none), None, "{other}");
    }
    let mine = with_completions(job, 5).unwrap();
    assert_eq!(mine.integer_at(&["spec", "completions"]), Some(5));
    assert!(with_completions(one("{kind: Job, spec: text}"), 5).is_err());
}

#[test]
fn completions_that_run_stay_where_they_are() {
    /// What it is about, the Job, its binding, what runs, and what comes of it.
    type Case<'a> = (&'a str, String, String, &'a [(&'a str, i64)], &'a str);
    let indexed = |completions: i64| {
        JOB.replace("spec: {", "spec: {completionMode: Indexed, ")
            .replace("completions: 9", &format!("completions: {completions}"))
    };
    let resting = DIVIDED.replace("replicas: 2", "replicas: 0");
    let cases: [Case<'_>; 14] = [
        (
            "nothing new",
            JOB.into(),
            DIVIDED.into(),
            &[("m1", 5), ("m2", 4)],
            "m1=5 m2=4; 0 for nobody",
        ),
        (
            "a new one gets the rest",
            JOB.into(),
            DIVIDED.into(),
            &[("m1", 5)],
            "m1=5; 4 for m2",
        ),
        (
            "nothing is left",
            JOB.into(),
            DIVIDED.into(),
            &[("m1", 12)],
            "m1=12; 0 for m2",
        ),
        (
            "one went",
            JOB.into(),
            DIVIDED.replace(", {name: m2, replicas: 2}", ""),
            &[("m1", 5), ("m2", 4)],
            "m1=5; 4 for nobody, missing",
        ),
        (
            "it rests",
            JOB.into(),
            resting.clone(),
            &[("m1", 5), ("m2", 9)],
            "m1=5 m2=9; 0 for nobody",
        ),
        (
            "it rests, and a new one gets the rest, not all of it",
            JOB.into(),
            resting.clone(),
            &[("m1", 5)],
            "m1=5; 4 for m2",
        ),
        (
            "it rests, and one went",
            JOB.into(),
            resting.replace(", {name: m2, replicas: 0}", ""),
            &[("m1", 5)],
            "m1=5; 4 for nobody, missing",
        ),
        (
            "no longer divided",
            JOB.into(),
            DIVIDED.replace("Divided", "Duplicated"),
            &[("m1", 5), ("m2", 9)],
            "m1=5; 0 for nobody",
        ),
        (
            "by index",
            indexed(9),
            DIVIDED.into(),
            &[("m1", 5)],
            "m1=5; 4 for m2",
        ),
        (
            "by index, as many as run",
            indexed(4),
            DIVIDED.into(),
            &[("m1", 1)],
            "; 4 for m1 m2",
        ),
        (
            "by index, and there is no room for as many as are to run",
            indexed(6).replace("parallelism: 4", "parallelism: 6"),
            DIVIDED.into(),
            &[("m1", 2), ("m2", 2)],
            "m1=2 m2=2; 2 for nobody",
        ),
        (
            "by index, and more run than are to",
            indexed(3).replace("parallelism: 4", "parallelism: 3"),
            DIVIDED.into(),
            &[("m1", 2), ("m2", 2)],
            "m1=2 m2=2; 0 for nobody",
        ),
        (
            "by index in copies, of which one does not run as many yet",
            indexed(4),
            DIVIDED
                .replace("Divided", "Duplicated")
                .replace("{name: m1, replicas: 2}", "{name: m1, replicas: 4}"),
            &[("m1", 2), ("m2", 2)],
            "m2=2; 0 for nobody",
        ),
        (
            "more than can be counted",
            JOB.into(),
            DIVIDED.into(),
            &[("m1", i64::MAX), ("m2", i64::MAX)],
            "m1=9223372036854775807 m2=9223372036854775807; 0 for nobody",
        ),
    ];
    for (what, job, spec, running, expected) in cases {
        let case = binding(&spec);
        let running: BTreeMap<&str, i64> = running.iter().copied().collect();
        let found = division(&one(&job), &case.spec, &running).unwrap();
        let kept: Vec<String> = found
            .kept
            .iter()
            .map(|(cluster, count)| format!("{cluster}={count}"))
            .collect();
        let whom: Vec<&str> = found.weights.iter().map(|(cluster, _)| *cluster).collect();
        let whom = if whom.is_empty() {
            "nobody".to_owned()
        } else {
            whom.join(" ")
        };
        let missing = if found.missing() > 0 { ", missing" } else { "" };
        let told = format!(
            "{}; {} for {whom}{missing}",
            kept.join(" "),
            found.completions
        );
        assert_eq!(told, expected, "{what}");
    }
}

#[test]
fn works_say_which_completions_run() {
    let noted = |share: &str| format!(", annotations: {{karavel.io/completions: '{share}'}}");
    let work = |space: &str, more: &str, spec: &str| {
        one(&format!(
            "{{kind: Work, metadata: {{name: w, namespace: {space}{more}}}, spec: {{workload: {{manifests: [{{kind: Job, spec: {spec}}}]}}}}}}"
        ))
    };
    let works = [
        work("karmada-es-m1", "", "{completions: 5}"),
        work("karmada-es-m2", "", "{parallelism: 5}"),
        work(
            "karmada-es-m3",
            ", deletionTimestamp: '2026-01-01T00:00:00Z'",
            "{completions: 5}",
        ),
        work("elsewhere", "", "{completions: 5}"),
        one("{kind: Work, metadata: {name: w, namespace: karmada-es-m4}}"),
        // Overrides left them others than they were given, or none.
        work("karmada-es-m5", &noted("5"), "{completions: 1}"),
        work("karmada-es-m6", &noted("5"), "{parallelism: 1}"),
        work("karmada-es-m7", &noted("many"), "{completions: 1}"),
    ];
    assert_eq!(
        running(&works),
        BTreeMap::from([("m1", 5), ("m5", 5), ("m6", 5), ("m7", 1)])
    );
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

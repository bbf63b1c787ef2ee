//! Cases: bindings, taints and times in, who leaves and who may go out.

use std::collections::{BTreeMap, BTreeSet};

use api::{
    apps::WorkloadRebalancer,
    kubernetes::scheduling::{Taint, Toleration},
    policy::PurgeMode,
    work::v1alpha2::{ResourceBindingSpec, ResourceBindingStatus},
};
use object::{ObjectKey, time::Time};

use crate::{
    application,
    eviction::{Eviction, evict, withdraw},
    finished::is_over,
    handover::{End, look},
    rebalance::rebalance,
    state::preserve,
    taints::{Stay, stay},
};

/// So many seconds after the start.
fn at(seconds: i64) -> Time {
    "2026-01-02T03:00:00Z"
        .parse::<Time>()
        .unwrap()
        .plus_seconds(seconds)
}

fn spec(text: &str) -> ResourceBindingSpec {
    serde_saphyr::from_str(text).unwrap()
}

fn status(text: &str) -> ResourceBindingStatus {
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn a_taint_drives_away_what_does_not_tolerate_it() {
    let added = r#"timeAdded: "2026-01-02T03:00:00Z""#;
    let gone = format!("[{{key: gone, effect: NoExecute, {added}}}]");
    let two = format!(
        "[{{key: gone, effect: NoExecute, {added}}}, {{key: slow, effect: NoExecute, timeAdded: \"2026-01-02T03:00:10Z\"}}]"
    );
    let for_a_minute = "[{key: gone, operator: Exists, tolerationSeconds: 60}]";
    for (taints, tolerations, now, expected) in [
        ("[{key: a, effect: NoSchedule}]", "[]", 0, Stay::ForGood),
        (gone.as_str(), "[]", 0, Stay::Over),
        (&gone, "[{operator: Exists}]", 9999, Stay::ForGood),
        (&gone, "[{key: gone, value: x}]", 0, Stay::Over),
        (&gone, for_a_minute, 59, Stay::Until(at(60))),
        (&gone, for_a_minute, 60, Stay::Over),
        // What tolerates both for a time is up with the first.
        (
            &two,
            "[{operator: Exists, tolerationSeconds: 60}]",
            0,
            Stay::Until(at(60)),
        ),
        (&two, for_a_minute, 0, Stay::Over),
        // A taint that does not say since when is borne for good.
        (
            "[{key: gone, effect: NoExecute}]",
            for_a_minute,
            9999,
            Stay::ForGood,
        ),
        // The first toleration that fits counts.
        (
            &gone,
            "[{key: gone, operator: Exists}, {key: gone, operator: Exists, tolerationSeconds: 1}]",
            99,
            Stay::ForGood,
        ),
    ] {
        let parsed: Vec<Taint> = serde_saphyr::from_str(taints).unwrap();
        let tolerations: Vec<Toleration> = serde_saphyr::from_str(tolerations).unwrap();
        assert_eq!(
            stay(&parsed, &tolerations, at(now)),
            expected,
            "{taints} {now}"
        );
    }
}

#[test]
fn leaving_a_cluster_is_noted_once() {
    let before = spec("{clusters: [{name: m1, replicas: 3}, {name: m2}]}");
    let eviction = Eviction {
        cluster: "m1",
        reason: "TaintUntolerated",
        producer: "TaintManager",
        purge_mode: Some(PurgeMode::Gracefully),
        notes_clusters: true,
        ..Eviction::default()
    };
    let evicted = evict(&before, &eviction).unwrap();
    assert_eq!(evicted.clusters.len(), 1);
    assert_eq!(evicted.tasks[0].replicas, Some(3));
    assert_eq!(evicted.tasks[0].clusters_before_failover, ["m1", "m2"]);
    let mut after = before.clone();
    after.clusters = evicted.clusters;
    after.graceful_eviction_tasks = evicted.tasks;
    assert_eq!(evict(&after, &eviction), None);
    // Scheduled there again while the task is still there: it leaves again, with the same task.
    after.clusters = before.clusters;
    assert_eq!(evict(&after, &eviction).unwrap().tasks.len(), 1);
}

#[test]
fn an_old_copy_goes_when_its_replacement_is_healthy_or_its_time_is_up() {
    let task = |more: &str| {
        format!(
            "{{clusters: [{{name: m2}}], gracefulEvictionTasks: [{{fromCluster: m1, reason: R, producer: P, creationTimestamp: '2026-01-02T03:00:00Z'{more}}}]}}"
        )
    };
    let healthy =
        "{schedulerObservedGeneration: 2, aggregatedStatus: [{clusterName: m2, health: Healthy}]}";
    let unknown =
        "{schedulerObservedGeneration: 2, aggregatedStatus: [{clusterName: m2, health: Unknown}]}";
    for (tasks, status_text, now, end, next) in [
        (task(""), healthy, 1, Some(End::Replaced), None),
        (task(""), unknown, 1, None, Some(601)),
        (
            task(""),
            "{schedulerObservedGeneration: 1, aggregatedStatus: [{clusterName: m2, health: Healthy}]}",
            1,
            None,
            Some(601),
        ),
        (task(""), "{}", 600, None, Some(601)),
        (task(""), "{}", 601, Some(End::TimedOut), None),
        (
            task(", gracePeriodSeconds: 5"),
            "{}",
            6,
            Some(End::TimedOut),
            None,
        ),
        (task(", suppressDeletion: true"), healthy, 9999, None, None),
        (
            task(", suppressDeletion: false"),
            unknown,
            0,
            Some(End::Released),
            None,
        ),
    ] {
        let found = look(
            &spec(&tasks),
            &status(status_text),
            2,
            &BTreeSet::new(),
            600,
            at(now),
        );
        let ended = found.ended.first().map(|(_, end)| *end);
        assert_eq!(
            (ended, found.next),
            (end, next.map(at)),
            "{tasks} {status_text} {now}"
        );
        assert_eq!(found.is_changed, end.is_some());
    }
}

#[test]
fn a_tasks_time_begins_when_it_is_first_seen() {
    let fresh = spec("{gracefulEvictionTasks: [{fromCluster: m1, reason: R, producer: P}]}");
    let found = look(&fresh, &status("{}"), 1, &BTreeSet::new(), 600, at(7));
    assert_eq!(found.kept[0].creation_timestamp, Some(at(7)));
    assert!(found.is_changed && found.next == Some(at(608)));
}

#[test]
fn a_task_ends_with_its_cluster() {
    let gone = BTreeSet::from(["m1".to_owned()]);
    for (fields, is_over) in [
        ("fromCluster: m1", true),
        ("fromCluster: m1, suppressDeletion: true", true),
        (
            "fromCluster: m1, creationTimestamp: '2026-01-02T03:00:00Z'",
            true,
        ),
        ("fromCluster: m2", false),
    ] {
        let spec = spec(&format!(
            "{{gracefulEvictionTasks: [{{{fields}, reason: R, producer: P}}]}}"
        ));
        let found = look(&spec, &status("{}"), 1, &gone, 600, at(7));
        let ended = found.ended.first().map(|(_, end)| *end);
        assert_eq!(ended, is_over.then_some(End::ClusterGone), "{fields}");
        assert_eq!(found.kept.is_empty(), is_over, "{fields}");
    }
}

const FAILING: &str = "{propagateDeps: true, clusters: [{name: m1}, {name: m2}], failover: {application: {decisionConditions: {tolerationSeconds: 30}}}}";

#[test]
fn an_application_is_moved_when_it_has_failed_for_too_long() {
    let failing = spec(FAILING);
    let behavior = application::behavior(&failing).unwrap();
    let sick = status(
        "{aggregatedStatus: [{clusterName: m1, health: Unhealthy}, {clusterName: m2, health: Healthy}, {clusterName: m3, health: Unhealthy}]}",
    );
    let first = application::look(&failing, &sick, behavior, &BTreeMap::new(), at(0));
    assert_eq!((first.evict.len(), first.next), (0, Some(at(30))));
    assert_eq!(first.failing.len(), 1);
    let later = application::look(&failing, &sick, behavior, &first.failing, at(30));
    assert_eq!(later.evict, ["m1"]);
    let well = status("{aggregatedStatus: [{clusterName: m1, health: Unknown}]}");
    let forgotten = application::look(&failing, &well, behavior, &first.failing, at(30));
    assert_eq!(forgotten, application::Watch::default());
    let mut at_once = behavior.clone();
    at_once.decision_conditions.toleration_seconds = Some(0);
    let watch = application::look(&failing, &sick, &at_once, &BTreeMap::new(), at(0));
    assert_eq!(watch.evict, ["m1"]);
    assert!(application::behavior(&spec(&FAILING.replace("true", "false"))).is_none());
}

#[test]
fn purge_modes_say_what_becomes_of_the_old_copy() {
    let failing = spec(FAILING);
    let mut behavior = application::behavior(&failing).unwrap().clone();
    behavior.grace_period_seconds = Some(600);
    for (mode, allowed, expected) in [
        (None, true, Some((Some(600), None))),
        (Some(PurgeMode::Gracefully), false, None),
        (Some(PurgeMode::Never), false, Some((None, Some(true)))),
        (Some(PurgeMode::Directly), false, Some((None, None))),
    ] {
        behavior.purge_mode = mode;
        let found = application::purge(&behavior, allowed);
        let found = found.map(|purge| (purge.grace_period_seconds, purge.suppress_deletion));
        assert_eq!(found, expected, "{mode:?}");
    }
}

#[test]
fn state_is_read_from_what_the_failing_cluster_reports() {
    let rules =
        serde_saphyr::from_str("{rules: [{aliasLabelName: job-id, jsonPath: '{.jobStatus.id}'}]}")
            .unwrap();
    let reported = status(
        "{aggregatedStatus: [{clusterName: m1, status: {jobStatus: {id: abc}}}, {clusterName: m2}]}",
    );
    let labels = preserve(Some(&rules), &reported, "m1").unwrap();
    assert_eq!(labels["job-id"], "abc");
    assert_eq!(
        preserve(Some(&rules), &reported, "m2")
            .unwrap_err()
            .to_string(),
        "the application status has not yet been collected from cluster m2"
    );
    assert!(preserve(None, &reported, "m2").unwrap().is_empty());
}

#[test]
fn acceptance_37_a_rebalancer_triggers_what_exists_and_tells_what_does_not() {
    let rebalancer: WorkloadRebalancer = serde_saphyr::from_str(
        "{metadata: {name: r, generation: 1, creationTimestamp: '2026-01-02T03:00:00Z'}, spec: {ttlSecondsAfterFinished: 0, workloads: [{apiVersion: apps/v1, kind: Deployment, namespace: test, name: web}, {apiVersion: apps/v1, kind: Deployment, namespace: test, name: api}]}}",
    )
    .unwrap();
    let web = ObjectKey::namespaced("test", "web-deployment");
    let mut triggered = BTreeMap::from([(web.clone(), None)]);
    let first = rebalance(&rebalancer, &triggered, at(5));
    assert_eq!(first.trigger, [(web.clone(), at(0))]);
    let told: Vec<(&str, &str)> = first
        .status
        .observed_workloads
        .iter()
        .map(|seen| (seen.workload.name.as_str(), seen.result.as_str()))
        .collect();
    assert_eq!(told, [("api", "Failed"), ("web", "Successful")]);
    assert_eq!(first.delete_at, Some(at(5)));
    // The same again changes nothing.
    let mut next = rebalancer;
    next.status = first.status.clone();
    triggered.insert(web, Some(at(0)));
    let second = rebalance(&next, &triggered, at(9));
    assert_eq!((second.trigger.len(), second.status), (0, first.status));
}

/// What a binding goes to and leaves after the task for m1 was taken back; nothing if it stands.
fn back(text: &str) -> String {
    let Some(evicted) = withdraw(&spec(text), "m1", "T") else {
        return String::new();
    };
    let targets = evicted.clusters.iter();
    let targets: Vec<String> = targets
        .map(|target| format!("{}={}", target.name, target.replicas))
        .collect();
    let left = evicted.tasks.iter().map(|task| task.from_cluster.as_str());
    format!(
        "{} leaving {:?}",
        targets.join(" "),
        left.collect::<Vec<_>>()
    )
}

#[test]
fn a_task_is_taken_back_where_nobody_has_taken_over() {
    let task = "gracefulEvictionTasks: [{fromCluster: m1, producer: T, replicas: 2}]";
    let divided = "placement: {replicaScheduling: {replicaSchedulingType: Divided}}, replicas: 4";
    for (text, expected) in [
        // It found no other place.
        (format!("{{{task}}}"), "m1=2 leaving []"),
        // Others have some of it, or all.
        (
            format!("{{{task}, {divided}, clusters: [{{name: m2, replicas: 2}}]}}"),
            "m2=2 m1=2 leaving []",
        ),
        (
            format!("{{{task}, {divided}, clusters: [{{name: m2, replicas: 3}}]}}"),
            "m2=3 m1=1 leaving []",
        ),
        (
            format!("{{{task}, {divided}, clusters: [{{name: m2, replicas: 4}}]}}"),
            "",
        ),
        // Every cluster gets the same.
        (
            format!("{{{task}, placement: {{}}, clusters: [{{name: m2}}]}}"),
            "m2=0 m1=2 leaving []",
        ),
        (
            format!(
                "{{{task}, placement: {{spreadConstraints: [{{maxGroups: 1}}]}}, clusters: [{{name: m2}}]}}"
            ),
            "",
        ),
        (
            format!(
                "{{{task}, placement: {{clusterAffinities: [{{affinityName: a}}]}}, clusters: [{{name: m2}}]}}"
            ),
            "",
        ),
        // The old copy goes, or stays, whatever becomes of the taint; or it is somebody else's task.
        (format!("{{{task}}}").replace("producer: T", "producer: T, purgeMode: Directly"), ""),
        (format!("{{{task}}}").replace("producer: T", "producer: T, suppressDeletion: true"), ""),
        (format!("{{{task}}}").replace("producer: T", "producer: A"), ""),
        (format!("{{{task}, clusters: [{{name: m1}}]}}"), ""),
        // Another task stands.
        (
            "{gracefulEvictionTasks: [{fromCluster: m1, producer: T}, {fromCluster: m2, producer: T}]}".to_owned(),
            "m1=0 leaving [\"m2\"]",
        ),
    ] {
        assert_eq!(back(&text), expected, "{text}");
    }
}

#[test]
fn what_has_run_to_its_end_is_known_by_the_template_or_by_the_cluster() {
    let done = "conditions: [{type: Complete, status: 'True'}]";
    let running =
        "conditions: [{type: Complete, status: 'False'}, {type: Suspended, status: 'True'}]";
    for (resource, report, expected) in [
        ("apiVersion: batch/v1, kind: Job", done, true),
        ("apiVersion: batch/v1, kind: Job", running, false),
        (
            "apiVersion: batch/v1, kind: Job",
            "conditions: [{type: Failed, status: 'True'}]",
            true,
        ),
        (
            "apiVersion: batch.volcano.sh/v1alpha1, kind: Job",
            done,
            false,
        ),
        ("apiVersion: v1, kind: Pod", "phase: Succeeded", true),
        ("apiVersion: v1, kind: Pod", "phase: Running", false),
        ("apiVersion: apps/v1, kind: Deployment", done, false),
    ] {
        let spec = spec(&format!("{{resource: {{{resource}, name: x}}}}"));
        let of_m1 = status(&format!(
            "{{aggregatedStatus: [{{clusterName: m1, status: {{{report}}}}}]}}"
        ));
        assert_eq!(is_over(&spec, &of_m1, None, "m1"), expected, "{resource}");
        assert!(!is_over(&spec, &of_m1, None, "m2"));
        let template = serde_saphyr::from_str(&format!("{{status: {{{report}}}}}")).unwrap();
        let silent = status("{}");
        assert_eq!(is_over(&spec, &silent, Some(&template), "m2"), expected);
    }
}

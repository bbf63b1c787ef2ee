//! Cases: works in, the binding's status out.

use std::collections::BTreeSet;

use api::work::v1alpha2::{ObjectReference, ResourceBindingStatus};
use object::{Object, Value, patch, time::Time};
use serde_json::json;

use crate::{Folded, Inputs, fold, template_patch};

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test}}";

fn works(documents: &str) -> Vec<Object> {
    serde_saphyr::from_multiple(documents).unwrap()
}

/// A work for the cluster with the Applied condition and the reports given.
fn work(cluster: &str, applied: &str, reports: &str) -> String {
    format!(
        "---\nmetadata: {{name: web-x, namespace: karmada-es-{cluster}}}\n\
         spec: {{workload: {{manifests: [{WEB}]}}}}\n\
         status: {{conditions: [{{type: Dispatching, status: 'True'}}, {{type: Applied, {applied}}}], \
         manifestStatuses: [{reports}]}}\n"
    )
}

fn ready(replicas: i32) -> String {
    format!("{{identifier: {{ordinal: 0}}, status: {{replicas: {replicas}}}, health: Healthy}}")
}

fn folded(documents: &str, expected: &[&str], silent: &[&str]) -> Folded {
    let works = works(documents);
    let works: Vec<&Object> = works.iter().collect();
    fold(&Inputs {
        template: &ObjectReference {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: "test".to_owned(),
            name: "web".to_owned(),
            ..ObjectReference::default()
        },
        expected: &expected.iter().copied().collect::<BTreeSet<_>>(),
        works: &works,
        silent: &silent.iter().copied().collect::<BTreeSet<_>>(),
        setbacks: &[],
    })
}

/// The items and the condition, one line each.
fn story(documents: &str, expected: &[&str], silent: &[&str]) -> String {
    let folded = folded(documents, expected, silent);
    let mut lines: Vec<String> = folded
        .items
        .iter()
        .map(|item| serde_json::to_string(item).unwrap())
        .collect();
    let condition = &folded.condition;
    lines.push(format!(
        "{}={}/{}: {}",
        condition.r#type, condition.status, condition.reason, condition.message
    ));
    lines.join("\n")
}

#[test]
fn old_copies_are_not_what_was_asked_for() {
    let works = works(&work("m1", "status: 'True'", &ready(2)));
    let works: Vec<&Object> = works.iter().collect();
    for (expected, message) in [
        (vec!["m1"], "not what was asked for; m1: no such path"),
        (
            vec!["m1", "m2"],
            "applied to 1 of 2 clusters; not to m2; m1: no such path",
        ),
    ] {
        let folded = fold(&Inputs {
            template: &ObjectReference::default(),
            expected: &expected.into_iter().collect(),
            works: &works,
            silent: &BTreeSet::new(),
            setbacks: &["m1: no such path"],
        });
        assert!(!folded.condition.is_true());
        assert_eq!(folded.condition.message, message);
    }
}

#[test]
fn items_are_sorted_by_cluster_and_carry_what_members_report() {
    let works = work("m2", "status: 'True'", &ready(3)) + &work("m1", "status: 'True'", &ready(2));
    insta::assert_snapshot!(story(&works, &["m1", "m2"], &[]), @r#"
    {"clusterName":"m1","status":{"replicas":2},"applied":true,"health":"Healthy"}
    {"clusterName":"m2","status":{"replicas":3},"applied":true,"health":"Healthy"}
    FullyApplied=True/FullyAppliedSuccess: applied to 2 clusters
    "#);
}

#[test]
fn a_member_that_refuses_is_told_of_in_its_own_words() {
    let works = work("m1", "status: 'True'", &ready(2))
        + &work("m2", "status: 'False', message: already exists", &ready(9));
    insta::assert_snapshot!(story(&works, &["m1", "m2"], &[]), @r#"
    {"clusterName":"m1","status":{"replicas":2},"applied":true,"health":"Healthy"}
    {"clusterName":"m2","appliedMessage":"already exists","health":"Unknown"}
    FullyApplied=False/FullyAppliedFailed: applied to 1 of 2 clusters; not to m2
    "#);
}

#[test]
fn a_work_nobody_has_touched_is_not_applied_and_one_without_report_is_of_unknown_health() {
    let untouched = "---\nmetadata: {name: web-x, namespace: karmada-es-m1}\n".to_owned();
    insta::assert_snapshot!(story(&(untouched + &work("m2", "status: 'True'", "")), &["m1", "m2"], &[]), @r#"
    {"clusterName":"m1","appliedMessage":"not applied yet","health":"Unknown"}
    {"clusterName":"m2","applied":true,"health":"Unknown"}
    FullyApplied=False/FullyAppliedFailed: applied to 1 of 2 clusters; not to m1
    "#);
}

#[test]
fn a_silent_member_keeps_its_numbers_and_loses_its_health() {
    let works = work("m1", "status: 'True'", &ready(2)) + &work("m2", "status: 'True'", &ready(3));
    insta::assert_snapshot!(story(&works, &["m1", "m2"], &["m2"]), @r#"
    {"clusterName":"m1","status":{"replicas":2},"applied":true,"health":"Healthy"}
    {"clusterName":"m2","status":{"replicas":3},"applied":true,"appliedMessage":"the cluster does not answer; this is what it last reported","health":"Unknown"}
    FullyApplied=True/FullyAppliedSuccess: applied to 2 clusters
    "#);
}

#[test]
fn expected_clusters_and_items_must_be_the_same_ones() {
    let m1 = work("m1", "status: 'True'", "");
    for (works, expected, message) in [
        ("", &[][..], "no cluster is chosen"),
        (&m1, &["m2"], "applied to 0 of 1 clusters; not to m2"),
        (
            &(m1.clone() + &work("m3", "status: 'True'", "")),
            &["m1"],
            "still on m3",
        ),
        (
            "",
            &["a", "b", "c", "d", "e", "f", "g"],
            "applied to 0 of 7 clusters; not to a, b, c, d, e and 2 more",
        ),
        (&m1, &["m1"], "applied to 1 cluster"),
    ] {
        assert_eq!(folded(works, expected, &[]).condition.message, message);
    }
}

#[test]
fn works_on_their_way_out_and_works_of_no_cluster_have_no_item() {
    let documents = "---\nmetadata: {name: a, namespace: karmada-es-m1, deletionTimestamp: '2026-01-02T03:04:05Z'}\n\
                     ---\nmetadata: {name: a, namespace: default}\n";
    assert!(folded(documents, &["m1"], &[]).items.is_empty());
}

#[test]
fn a_renamed_manifest_is_still_the_templates_and_of_several_the_one_of_the_name() {
    let other = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: test}}";
    for (manifests, ordinal) in [
        (other.to_owned(), 0),
        (format!("{other}, {WEB}"), 1),
        (format!("{WEB}, {other}"), 0),
    ] {
        let document = format!(
            "---\nmetadata: {{name: w, namespace: karmada-es-m1}}\nspec: {{workload: {{manifests: [{manifests}]}}}}\n\
             status: {{conditions: [{{type: Applied, status: 'True'}}], manifestStatuses: \
             [{{identifier: {{ordinal: 7}}, status: {{n: 7}}}}, {{identifier: {{ordinal: {ordinal}}}, status: {{n: 1}}, health: Unhealthy}}]}}\n"
        );
        let item = &folded(&document, &["m1"], &[]).items[0];
        assert_eq!(item.status, Some(json!({"n": 1})), "{manifests}");
    }
}

#[test]
fn what_is_written_once_is_not_written_again_and_other_conditions_stay() {
    let now: Time = "2026-01-02T03:04:05Z".parse().unwrap();
    let current: ResourceBindingStatus = serde_json::from_value(json!({
        "schedulerObservedGeneration": 2,
        "conditions": [{"type": "Scheduled", "status": "True", "reason": "Success", "message": "", "lastTransitionTime": null}],
    }))
    .unwrap();
    let works = work("m1", "status: 'True'", &ready(2));
    let folded = folded(&works, &["m1"], &[]);
    let patch = folded.patch(&current, now).unwrap();
    let conditions = patch["status"]["conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 2);
    assert_eq!(conditions[1]["lastTransitionTime"], "2026-01-02T03:04:05Z");
    let before = serde_json::to_value(&current).unwrap();
    let after: ResourceBindingStatus =
        serde_json::from_value(patch::merge(&before, &patch["status"])).unwrap();
    assert_eq!(after.scheduler_observed_generation, 2);
    assert_eq!(folded.patch(&after, now.plus_seconds(9)), None);
}

#[test]
fn the_templates_status_is_patched_by_what_differs() {
    let template: Object =
        serde_saphyr::from_str("{kind: K, status: {replicas: 2, old: 1, keep: {a: 1}}}").unwrap();
    for (next, expected) in [
        (json!({"replicas": 2, "old": 1, "keep": {"a": 1}}), None),
        (
            json!({"replicas": 2, "old": 1, "keep": {"a": 1}, "none": null}),
            None,
        ),
        (
            json!({"replicas": 3, "keep": {"a": 1}}),
            Some(json!({"status": {"replicas": 3, "old": null}})),
        ),
    ] {
        assert_eq!(template_patch(&template, &next), expected, "{next}");
    }
    let bare: Object = serde_saphyr::from_str("{kind: K}").unwrap();
    let next: Value = json!({"phase": "Bound"});
    assert_eq!(
        template_patch(&bare, &next),
        Some(json!({"status": {"phase": "Bound"}}))
    );
}

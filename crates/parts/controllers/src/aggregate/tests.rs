//! Cases: what works say in, what is written out.

use std::{collections::BTreeSet, sync::Arc};

use client::Change;
use object::{Object, ObjectKey, ResourceType, time::Time};
use serde_json::{Value, json};
use status::fold;

use super::{
    keys,
    plan::{Inputs, TemplateInputs, plan, template_items},
};
use crate::{
    binding_view::Binding,
    told::{documents, one, told},
};

const BINDING: &str = "{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: web-deployment, namespace: test, uid: b, resourceVersion: '9'}, spec: {resource: {apiVersion: apps/v1, kind: Deployment, namespace: test, name: web}, clusters: [{name: m1}, {name: m2}]}}";
const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test, uid: u1}, status: {replicas: 1}}";

fn work(cluster: &str, status: &str) -> String {
    format!(
        "---\n{{metadata: {{name: w, namespace: karmada-es-{cluster}}}, spec: {{workload: {{manifests: [{{kind: Deployment}}]}}}}, status: {{{status}}}}}\n"
    )
}

const APPLIED: &str = "conditions: [{type: Applied, status: 'True'}], manifestStatuses: [{identifier: {ordinal: 0}, status: {replicas: 1}, health: Healthy}]";

fn story(binding: &str, works: &str, next: Result<Option<&Value>, &str>) -> String {
    story_of(binding, works, next, true)
}

/// The same of a template whose status can be written or cannot.
fn story_of(
    binding: &str,
    works: &str,
    next: Result<Option<&Value>, &str>,
    has_status: bool,
) -> String {
    let object = one(binding);
    let binding = Binding::read(&object).unwrap();
    let expected = binding::targets::expected(&binding.spec);
    let works = documents(works);
    let works: Vec<&Object> = works.iter().collect();
    let folded = fold(&status::Inputs {
        template: &binding.spec.resource,
        expected: &expected,
        works: &works,
        silent: &BTreeSet::new(),
        setbacks: &[],
    });
    let template = one(WEB);
    let now: Time = "2026-01-02T03:04:05Z".parse().unwrap();
    told(&plan(&Inputs {
        binding: &object,
        current: &binding.status,
        folded: &folded,
        template: Some(TemplateInputs {
            resource: &ResourceType::namespaced("apps", "v1", "Deployment", "deployments"),
            object: &template,
            has_status,
            next,
        }),
        now,
    }))
}

#[test]
fn nothing_is_written_before_a_member_has_spoken() {
    let untouched = work("m1", "") + &work("m2", "");
    assert_eq!(story(BINDING, &untouched, Ok(None)), "nothing");
    assert_eq!(story(BINDING, "", Ok(None)), "nothing");
}

#[test]
fn reports_become_the_bindings_status_and_the_templates() {
    let works = work("m1", APPLIED) + &work("m2", APPLIED);
    let next = json!({"replicas": 2});
    insta::assert_snapshot!(story(BINDING, &works, Ok(Some(&next))), @r#"
    patch ResourceBinding test/web-deployment/status@9 {"status":{"conditions":[{"type":"FullyApplied","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"FullyAppliedSuccess","message":"applied to 2 clusters"}],"aggregatedStatus":[{"clusterName":"m1","status":{"replicas":1},"applied":true,"health":"Healthy"},{"clusterName":"m2","status":{"replicas":1},"applied":true,"health":"Healthy"}]}}
    patch Deployment test/web/status {"status":{"replicas":2}}
    "#);
}

#[test]
fn a_status_that_cannot_be_written_is_told_and_is_no_success() {
    let again = BINDING.replace(
        "spec:",
        "status: {aggregatedStatus: [], conditions: [{type: FullyApplied, status: 'False', reason: R, message: m, lastTransitionTime: '2026-01-02T03:04:05Z'}]}, spec:",
    );
    let works = work("m1", APPLIED) + &work("m2", APPLIED);
    let next = json!({"replicas": 2});
    let lines = |next: &Value, has_status: bool| -> Vec<String> {
        let story = story_of(&again, &works, Ok(Some(next)), has_status);
        let lines = story
            .lines()
            .filter(|line| !line.contains("ResourceBinding"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(
        lines(&next, true),
        [
            "report Deployment test/web Normal AggregateStatusSucceed: applied to 2 clusters",
            r#"patch Deployment test/web/status {"status":{"replicas":2}}"#
        ]
    );
    assert_eq!(
        lines(&next, false),
        [
            "report Deployment test/web Warning AggregateStatusFailed: the status of the template cannot be written: apps/v1 Deployment has no subresource status; what clusters report is in the status of the binding"
        ]
    );
    // Where there is nothing to write nothing is amiss.
    assert_eq!(
        lines(&json!({"replicas": 1}), false),
        ["report Deployment test/web Normal AggregateStatusSucceed: applied to 2 clusters"]
    );
}

#[test]
fn an_event_tells_of_success_when_all_clusters_have_it_again_and_only_then() {
    let condition = |status: &str| {
        format!(
            "status: {{aggregatedStatus: [], conditions: [{{type: FullyApplied, status: '{status}', reason: R, message: m, lastTransitionTime: '2026-01-02T03:04:05Z'}}]}}, spec:"
        )
    };
    let both = work("m1", APPLIED) + &work("m2", APPLIED);
    for (before, works, told) in [
        ("False", both.clone(), true),
        ("True", both, false),
        ("True", work("m1", APPLIED), false),
        ("False", work("m1", APPLIED), false),
    ] {
        let binding = BINDING.replace("spec:", &condition(before));
        let text = story(&binding, &works, Ok(None));
        assert_eq!(text.contains("AggregateStatusSucceed"), told, "{text}");
    }
}

#[test]
fn a_rule_that_fails_is_told_on_template_and_binding_and_the_binding_is_written_all_the_same() {
    let text = story(BINDING, &work("m1", APPLIED), Err("the rule failed"));
    assert!(text.starts_with("patch ResourceBinding"), "{text}");
    for about in ["Deployment test/web", "ResourceBinding test/web-deployment"] {
        let line = format!("report {about} Warning AggregateStatusFailed: the rule failed");
        assert!(text.contains(&line), "{text}");
    }
}

#[test]
fn a_binding_on_its_way_out_is_left_alone() {
    let going = BINDING.replace(
        "uid: b,",
        "uid: b, deletionTimestamp: '2026-01-02T03:04:05Z',",
    );
    assert_eq!(story(&going, &work("m1", APPLIED), Ok(None)), "nothing");
}

#[test]
fn a_cluster_without_work_keeps_the_template_from_being_observed() {
    let folded = fold(&status::Inputs {
        template: &Binding::read(&one(BINDING)).unwrap().spec.resource,
        expected: &BTreeSet::new(),
        works: &[&one(&work("m2", APPLIED).replace("---\n", ""))],
        silent: &BTreeSet::new(),
        setbacks: &[],
    });
    let items = template_items(&folded, &BTreeSet::from(["m1", "m2"]));
    let found: Vec<(&str, bool)> = items
        .iter()
        .map(|item| (item.cluster_name.as_str(), item.status.is_some()))
        .collect();
    assert_eq!(found, [("m1", false), ("m2", true)]);
}

fn change(before: Option<&str>, after: Option<&str>) -> Change {
    let state = |text: Option<&str>| text.map(|text| Arc::new(one(text)));
    Change {
        before: state(before),
        after: state(after),
    }
}

#[test]
fn works_wake_their_binding_when_members_report_and_when_they_come_and_go() {
    let work = "{metadata: {name: w, namespace: karmada-es-m1, annotations: {resourcebinding.karmada.io/namespace: test, resourcebinding.karmada.io/name: b}}}";
    let reported = work.replace("{metadata", "{status: {x: 1}, metadata");
    let rewritten = work.replace("{metadata", "{spec: {x: 1}, metadata");
    let going = work.replace(
        "name: w,",
        "name: w, deletionTimestamp: '2026-01-02T03:04:05Z',",
    );
    for (before, after, wakes) in [
        (None, Some(work), true),
        (Some(work), None, true),
        (Some(work), Some(reported.as_str()), true),
        (Some(work), Some(going.as_str()), true),
        (Some(work), Some(rewritten.as_str()), false),
    ] {
        let keys = keys::of_work(&change(before, after));
        let expected = if wakes {
            vec![ObjectKey::namespaced("test", "b")]
        } else {
            vec![]
        };
        assert_eq!(keys, expected);
    }
}

#[test]
fn a_binding_waits_for_the_first_word_of_the_members_it_is_given_to() {
    let unplaced = BINDING.replace("clusters: [{name: m1}, {name: m2}]", "clusters: []");
    let moved = BINDING.replace("{name: m2}", "{name: m3}");
    let first = std::time::Duration::from_millis(7);
    for (before, after, waits) in [
        (Some(unplaced.as_str()), BINDING, true),
        (Some(BINDING), moved.as_str(), false),
        (Some(BINDING), unplaced.as_str(), false),
        // After a restart they may have said all there is.
        (None, BINDING, false),
    ] {
        let wait = keys::wait_of_binding(&change(before, Some(after)), first);
        assert_eq!(wait == first, waits);
    }
    assert!(keys::of_binding(&change(None, Some(&unplaced))).is_none());
    let work = "{metadata: {name: w}}";
    assert!(keys::is_silent_news(&change(None, Some(work))));
    assert!(!keys::is_silent_news(&change(Some(work), Some(work))));
}

#[test]
fn bindings_wake_when_clusters_change_or_the_scheduler_first_looked() {
    let moved = BINDING.replace("{name: m2}", "{name: m3}");
    let scheduled = BINDING.replace(
        "spec:",
        "status: {lastScheduledTime: '2026-01-02T03:04:05Z'}, spec:",
    );
    let folded = BINDING.replace("spec:", "status: {aggregatedStatus: []}, spec:");
    for (before, after, wakes) in [
        (None, Some(BINDING), true),
        (Some(BINDING), Some(moved.as_str()), true),
        (Some(BINDING), Some(scheduled.as_str()), true),
        (Some(BINDING), Some(folded.as_str()), false),
        (Some(BINDING), None, false),
    ] {
        assert_eq!(keys::of_binding(&change(before, after)).is_some(), wakes);
    }
}

#[test]
fn a_cluster_wakes_its_bindings_when_it_falls_silent_or_answers_again() {
    let cluster = |status: &str, reason: &str| {
        format!(
            "{{metadata: {{name: m1}}, status: {{conditions: [{{type: Ready, status: '{status}', reason: {reason}}}]}}}}"
        )
    };
    let ready = cluster("True", "ClusterReady");
    let sick = cluster("False", "ClusterNotReady");
    let away = cluster("False", "ClusterNotReachable");
    let unknown = cluster("Unknown", "ClusterStatusUnknown");
    let on_cluster = |_: &str| vec![one(BINDING).key()];
    for (before, after, wakes) in [
        (Some(&ready), Some(&sick), false),
        (Some(&ready), Some(&away), true),
        (Some(&ready), Some(&unknown), true),
        (Some(&away), Some(&ready), true),
        (Some(&away), Some(&unknown), false),
        (None, Some(&ready), false),
    ] {
        let change = change(before.map(String::as_str), after.map(String::as_str));
        assert_eq!(!keys::of_cluster(&change, on_cluster).is_empty(), wakes);
    }
}

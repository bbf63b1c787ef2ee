//! Whom a change wakes.

use super::{one, policy, scene};
use crate::{Reach, Template, keys_for};

/// The names of the templates a change from one policy to another is about; empty text is no policy.
fn woken(before: &str, after: &str) -> String {
    let read = |text: &str| (!text.is_empty()).then(|| policy(one(text)));
    let reach = Reach::of_policy(read(before).as_ref(), read(after).as_ref());
    names(&reach)
}

fn names(reach: &Reach) -> String {
    let templates = [
        "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: test, name: one}}",
        "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: test, name: two, labels: {app: web}}}",
        "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: other, name: three, labels: {app: web}}}",
        "{apiVersion: v1, kind: Secret, metadata: {namespace: test, name: four, labels: {propagationpolicy.karmada.io/permanent-id: a-id}, annotations: {propagationpolicy.karmada.io/namespace: test, propagationpolicy.karmada.io/name: a}}}",
    ]
    .map(one);
    let keys = keys_for(reach, templates.iter().map(Template::new));
    let names: Vec<String> = keys.into_iter().map(|key| key.key.name).collect();
    names.join(" ")
}

const BY_NAME: &str = "{kind: PropagationPolicy, metadata: {namespace: test, name: a}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: one}]}}";
const BY_LABEL: &str = "{kind: PropagationPolicy, metadata: {namespace: test, name: a}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {app: web}}}]}}";

#[test]
fn a_change_wakes_what_the_policy_selects_selected_and_holds() {
    assert_eq!(woken("", BY_NAME), "one four");
    assert_eq!(woken(BY_NAME, ""), "one four");
    assert_eq!(woken(BY_NAME, BY_LABEL), "one two four");
}

#[test]
fn a_cluster_wide_policy_reaches_every_namespace() {
    let wide = BY_LABEL
        .replace("PropagationPolicy", "ClusterPropagationPolicy")
        .replace("namespace: test, ", "");
    assert_eq!(woken("", &wide), "two three");
}

#[test]
fn a_write_that_says_nothing_new_wakes_nobody() {
    let touched = BY_NAME.replace(
        "name: a}",
        "name: a, resourceVersion: '9', annotations: {x: z}}",
    );
    assert_eq!(woken(BY_NAME, &touched), "");
    let dying = BY_NAME.replace(
        "name: a}",
        "name: a, deletionTimestamp: '2026-01-01T00:00:00Z'}",
    );
    assert_eq!(woken(BY_NAME, &dying), "one four");
}

#[test]
fn an_override_policy_wakes_those_whose_policies_wait_for_it() {
    let gated = BY_NAME.replace("spec: {", "spec: {dependentOverrides: [op1], ");
    let mut case = scene(&gated);
    assert_eq!(
        names(&Reach::of_override(&case.policies, "test", "op1")),
        "one four"
    );
    assert_eq!(
        names(&Reach::of_override(&case.policies, "test", "op2")),
        ""
    );
    assert_eq!(names(&Reach::of_override(&case.policies, "", "op1")), "");
    case.policies.insert(policy(one(BY_NAME)));
    assert!(Reach::of_override(&case.policies, "test", "op1").is_empty());
}

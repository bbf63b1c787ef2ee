//! What is noted on the work.

use insta::assert_snapshot;

use super::{one, policies, rendered};

const DOCUMENTS: &str = r#"
{kind: OverridePolicy, metadata: {name: b, namespace: test}, spec: {resourceSelectors: [{apiVersion: v1, kind: X, name: x}], overrideRules: [{overriders: {labelsOverrider: [{operator: add, value: {k: v}}]}}, {overriders: {plaintext: [{path: /spec, operator: add, value: {z: "<a>", a: 1}}, {path: /spec/a, operator: remove}]}}]}}
---
{kind: OverridePolicy, metadata: {name: c, namespace: test}, spec: {overriders: {annotationsOverrider: [{operator: add, value: {k: v}}]}}}
---
{kind: ClusterOverridePolicy, metadata: {name: wide}, spec: {overrideRules: [{targetCluster: {clusterNames: [m1]}, overriders: {imageOverrider: [{component: Tag, operator: remove}]}}]}}
"#;

#[test]
fn applied_policies_are_noted_by_kind_and_name_one_entry_for_each_rule() {
    let object = one("{apiVersion: v1, kind: X, metadata: {name: x, namespace: test}}");
    let rendered = rendered(&policies(DOCUMENTS), &object).unwrap();
    let notes: Vec<String> = rendered
        .annotations()
        .iter()
        .map(|(key, value)| format!("{key}\n{value}"))
        .collect();
    assert_snapshot!(notes.join("\n"), @r#"
    policy.karmada.io/applied-cluster-overrides
    [{"policyName":"wide","overriders":{"imageOverrider":[{"component":"Tag","operator":"remove"}]}}]
    policy.karmada.io/applied-overrides
    [{"policyName":"b","overriders":{"labelsOverrider":[{"operator":"add","value":{"k":"v"}}]}},{"policyName":"b","overriders":{"plaintext":[{"path":"/spec","operator":"add","value":{"z":"\u003ca\u003e","a":1}},{"path":"/spec/a","operator":"remove"}]}},{"policyName":"c","overriders":{"annotationsOverrider":[{"operator":"add","value":{"k":"v"}}]}}]
    "#);
    let order: Vec<&str> = rendered
        .applied
        .iter()
        .map(|applied| applied.policy.name.as_str())
        .collect();
    assert_eq!(order, ["wide", "c", "b", "b"]);
}

#[test]
fn where_nothing_was_applied_nothing_is_noted() {
    let object = one("{apiVersion: v1, kind: X, metadata: {name: x, namespace: test}}");
    let none = rendered(
        &policies("{kind: ClusterOverridePolicy, metadata: {name: a}}"),
        &object,
    )
    .unwrap();
    assert!(none.annotations().is_empty());
}

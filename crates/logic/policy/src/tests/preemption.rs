//! Who takes a template over from whom.

use insta::assert_snapshot;

use super::{Scene, claimed, one, policy, scene};

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test}}";

/// Web, held by the first policy. Policies are written as `<kind> <name> <priority> <preemption>`.
fn held(policies: &[&str]) -> Scene {
    let mut case = scene(WEB);
    for (position, line) in policies.iter().enumerate() {
        let policy = written(line);
        if position == 0 {
            case.template = claimed(&case.template, &policy);
        }
        case.policies.insert(policy);
    }
    case.with_preemption()
}

fn written(line: &str) -> crate::Policy {
    let words: Vec<&str> = line.split(' ').collect();
    let [kind, name, priority, preemption] = words.as_slice() else {
        panic!("{line} is not four words");
    };
    let (kind, namespace) = match *kind {
        "PP" => ("PropagationPolicy", "namespace: test, "),
        _ => ("ClusterPropagationPolicy", ""),
    };
    policy(one(&format!(
        "
apiVersion: policy.karmada.io/v1alpha1
kind: {kind}
metadata: {{{namespace}name: {name}}}
spec:
  priority: {priority}
  preemption: {preemption}
  resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, name: web}}]
"
    )))
}

#[test]
fn a_policy_takes_over_only_if_it_asks_to_and_is_of_higher_priority() {
    assert_snapshot!(held(&["PP b 0 Never", "PP c 10 Never"]).story(), @r"
    applied: PropagationPolicy test/b
    not PropagationPolicy test/c: the template is held already: its preemption is not Always
    ");
    assert_snapshot!(held(&["PP b 0 Never", "PP c 10 Always"]).story(), @r"
    applied: PropagationPolicy test/c
    released by PropagationPolicy test/b: Preempted, BindingFirst
    not PropagationPolicy test/b: its priority 0 is below 10
    ");
    assert_snapshot!(held(&["PP b 10 Never", "PP c 10 Always"]).story(), @r"
    applied: PropagationPolicy test/b
    not PropagationPolicy test/c: the template is held already: its priority 10 is not above 10
    ");
}

#[test]
fn nothing_is_taken_over_while_the_gate_is_off() {
    let mut case = held(&["PP b 0 Never", "PP c 10 Always"]);
    case.preemption = crate::Preemption::Off;
    assert_snapshot!(case.story(), @r"
    applied: PropagationPolicy test/b
    not PropagationPolicy test/c: the template is held already: the feature gate PropagationPolicyPreemption is off
    ");
}

#[test]
fn a_cluster_wide_policy_takes_nothing_from_a_namespaced_one() {
    assert_snapshot!(held(&["PP b 0 Never", "CPP c 1000 Always"]).story(), @r"
    applied: PropagationPolicy test/b
    not ClusterPropagationPolicy c: the template is held already: a ClusterPropagationPolicy takes nothing from a PropagationPolicy
    ");
}

#[test]
fn a_namespaced_policy_takes_from_a_cluster_wide_one_whatever_the_priorities() {
    let case = held(&["CPP b 1000 Always", "PP c -1 Always"]);
    assert_snapshot!(case.story(), @r"
    applied: PropagationPolicy test/c
    released by ClusterPropagationPolicy b: Preempted, BindingFirst
    not ClusterPropagationPolicy b: a PropagationPolicy goes before a ClusterPropagationPolicy
    ");
    assert_snapshot!(case.edits(), @r#"template {"labels":{"clusterpropagationpolicy.karmada.io/permanent-id":null,"propagationpolicy.karmada.io/permanent-id":"c-id"},"annotations":{"clusterpropagationpolicy.karmada.io/name":null,"propagationpolicy.karmada.io/name":"c","propagationpolicy.karmada.io/namespace":"test"}}"#);
    assert_snapshot!(held(&["CPP b 1000 Never", "PP c 5 Never"]).story(), @r"
    applied: ClusterPropagationPolicy b
    not PropagationPolicy test/c: the template is held already: its preemption is not Always
    ");
}

#[test]
fn cluster_wide_policies_compare_priorities() {
    assert_snapshot!(held(&["CPP b 1 Never", "CPP c 2 Always"]).story(), @r"
    applied: ClusterPropagationPolicy c
    released by ClusterPropagationPolicy b: Preempted, BindingFirst
    not ClusterPropagationPolicy b: its priority 1 is below 2
    ");
}

#[test]
fn lowering_the_holders_priority_lets_the_next_one_take_over() {
    let mut case = held(&["PP hi 5 Never", "PP mid 4 Always", "PP lo 1 Always"]);
    assert_snapshot!(case.story(), @r"
    applied: PropagationPolicy test/hi
    not PropagationPolicy test/mid: the template is held already: its priority 4 is not above 5
    not PropagationPolicy test/lo: the template is held already: its priority 1 is not above 5
    ");
    case.policies.insert(written("PP hi 3 Never"));
    assert_snapshot!(case.story(), @r"
    applied: PropagationPolicy test/mid
    released by PropagationPolicy test/hi: Preempted, BindingFirst
    not PropagationPolicy test/hi: its priority 3 is below 4
    not PropagationPolicy test/lo: the template is held already: its priority 1 is not above 3
    ");
}

#[test]
fn a_terminating_template_is_not_taken_over() {
    let mut case = held(&["PP b 0 Never", "PP c 10 Always"]);
    case.template
        .set(&["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z")
        .unwrap();
    assert_snapshot!(case.story(), @r"
    applied: PropagationPolicy test/b
    not PropagationPolicy test/c: the template is held already: the template is being deleted
    ");
}

#[test]
fn a_policy_whose_overrides_are_missing_takes_nothing_over_yet() {
    let mut case = held(&["PP b 0 Never"]);
    let mut challenger = written("PP c 10 Always");
    challenger.spec.dependent_overrides = vec!["op1".to_owned()];
    case.policies.insert(challenger);
    assert_snapshot!(case.story(), @r"
    applied: PropagationPolicy test/b
    not PropagationPolicy test/c: the template is held already: override policies that it waits for do not exist yet
    ");
    case.overrides.insert("test/op1".parse().unwrap());
    assert!(
        case.story()
            .starts_with("applied: PropagationPolicy test/c")
    );
}

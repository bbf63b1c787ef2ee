//! Who claims a template that is free, and what keeps or ends a claim.

use insta::assert_snapshot;

use super::scene;

/// A Deployment test/web, and policies written as `<kind> <name> <priority> <selector>`.
fn contest(template: &str, policies: &[&str]) -> String {
    let mut documents = template.to_owned();
    for line in policies {
        documents.push_str(&policy(line));
    }
    scene(&documents).story()
}

const WEB: &str = "
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test, labels: {app: web}}}
";

pub(super) fn policy(line: &str) -> String {
    let mut words = line.splitn(4, ' ');
    let (kind, name, priority, selector) = (
        words.next().unwrap(),
        words.next().unwrap(),
        words.next().unwrap(),
        words.next().unwrap(),
    );
    let (kind, namespace) = match kind {
        "PP" => ("PropagationPolicy", "namespace: test, "),
        "CPP" => ("ClusterPropagationPolicy", ""),
        other => panic!("{other} is no kind of policy"),
    };
    let selector = match selector {
        "all" => "",
        "web" => "name: web",
        "app" => "labelSelector: {matchLabels: {app: web}}",
        other => other,
    };
    format!(
        "
---
apiVersion: policy.karmada.io/v1alpha1
kind: {kind}
metadata: {{{namespace}name: {name}}}
spec: {{priority: {priority}, resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, {selector}}}]}}
"
    )
}

#[test]
fn explicit_priority_goes_before_specificity() {
    assert_snapshot!(contest(WEB, &["PP a 1 all", "PP b 0 web"]), @r"
    applied: PropagationPolicy test/a
    not PropagationPolicy test/b: its priority 0 is below 1
    ");
}

#[test]
fn of_equal_priority_the_more_specific_wins_then_the_smaller_name() {
    assert_snapshot!(contest(WEB, &["PP a 0 all", "PP b 0 web"]), @r"
    applied: PropagationPolicy test/b
    not PropagationPolicy test/a: it selects all of the kind, the chosen one by name
    ");
    assert_snapshot!(contest(WEB, &["PP all 0 all", "PP b 0 web", "PP app 0 app", "PP a 0 web"]), @r"
    applied: PropagationPolicy test/a
    not PropagationPolicy test/b: its name sorts behind
    not PropagationPolicy test/app: it selects by labels, the chosen one by name
    not PropagationPolicy test/all: it selects all of the kind, the chosen one by name
    ");
}

#[test]
fn a_namespaced_policy_beats_a_cluster_wide_one_of_any_priority() {
    assert_snapshot!(contest(WEB, &["CPP wide 100 web", "PP own 0 all"]), @r"
    applied: PropagationPolicy test/own
    not ClusterPropagationPolicy wide: a PropagationPolicy goes before a ClusterPropagationPolicy
    ");
}

#[test]
fn without_a_namespaced_policy_the_best_cluster_wide_one_wins() {
    assert_snapshot!(contest(WEB, &["CPP low -5 web", "CPP high 7 all"]), @r"
    applied: ClusterPropagationPolicy high
    not ClusterPropagationPolicy low: its priority -5 is below 7
    ");
}

#[test]
fn policies_of_other_namespaces_kinds_versions_and_names_are_not_considered() {
    let other =
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: other}}\n";
    assert_snapshot!(contest(other, &["PP a 0 web"]), @"unclaimed");
    assert_snapshot!(contest(WEB, &["PP a 0 name: db", "CPP b 0 namespace: other"]), @"unclaimed");
    let later = "{apiVersion: apps/v2, kind: Deployment, metadata: {name: web, namespace: test}}\n";
    assert_snapshot!(contest(later, &["PP a 0 web"]), @"unclaimed");
    let foreign =
        "{apiVersion: example.io/v1, kind: Deployment, metadata: {name: web, namespace: test}}\n";
    assert_snapshot!(contest(foreign, &["PP a 0 web"]), @"unclaimed");
}

#[test]
fn a_template_without_namespace_belongs_to_cluster_wide_policies_alone() {
    let documents = "
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:node'}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {namespace: test, name: own}
spec: {resourceSelectors: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: wide}
spec: {resourceSelectors: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole}]}
";
    assert_snapshot!(scene(documents).story(), @"applied: ClusterPropagationPolicy wide");
}

#[test]
fn a_name_makes_the_label_selector_beside_it_idle_and_an_empty_one_selects_by_labels() {
    let named = "PP named 0 name: web, labelSelector: {matchLabels: {app: other}}";
    let any = "PP any 0 labelSelector: {}";
    let other = "PP other 0 labelSelector: {matchLabels: {app: other}}";
    assert_snapshot!(contest(WEB, &[named, any, other]), @r"
    applied: PropagationPolicy test/named
    not PropagationPolicy test/any: it selects by labels, the chosen one by name
    ");
}

#[test]
fn an_invalid_label_selector_selects_nothing() {
    let bad =
        "PP bad 0 labelSelector: {matchExpressions: [{key: app, operator: Like, values: [web]}]}";
    assert_snapshot!(contest(WEB, &[bad]), @"unclaimed");
}

#[test]
fn a_terminating_policy_claims_nothing() {
    let dying = "
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {namespace: test, name: a, deletionTimestamp: '2026-01-01T00:00:00Z'}
spec: {priority: 9, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]}
";
    let documents = format!("{WEB}{dying}{}", policy("PP b 0 all"));
    assert_snapshot!(scene(&documents).story(), @r"
    applied: PropagationPolicy test/b
    not PropagationPolicy test/a: it is being deleted
    ");
    assert_snapshot!(scene(&format!("{WEB}{dying}")).story(), @r"
    unclaimed
    not PropagationPolicy test/a: it is being deleted
    ");
}

#[test]
fn a_claim_is_sticky_while_its_policy_selects_the_template() {
    let documents = format!("{WEB}{}{}", policy("PP b 0 all"), policy("PP c 10 web"));
    let mut case = scene(&documents);
    let holder = case
        .policies
        .policies()
        .find(|policy| policy.id.name == "b")
        .unwrap();
    case.template = super::claimed(&case.template, holder);
    assert_snapshot!(case.story(), @r"
    applied: PropagationPolicy test/b
    not PropagationPolicy test/c: the template is held already: the feature gate PropagationPolicyPreemption is off
    ");
}

/// The case of a claim of the policy `a` (id `a-id`), with or without that policy.
fn claimed_by_a(policies: &str) -> super::Scene {
    let template = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: test
  labels: {app: web, propagationpolicy.karmada.io/permanent-id: a-id}
  annotations: {propagationpolicy.karmada.io/namespace: test, propagationpolicy.karmada.io/name: a}
---
apiVersion: work.karmada.io/v1alpha2
kind: ResourceBinding
metadata:
  name: web-deployment
  namespace: test
  labels: {propagationpolicy.karmada.io/permanent-id: a-id}
  annotations:
    propagationpolicy.karmada.io/namespace: test
    propagationpolicy.karmada.io/name: a
    resourcetemplate.karmada.io/activation-fingerprint: '0123456789abcdef'
";
    scene(&format!("{template}{policies}"))
}

#[test]
fn a_deleted_policy_lets_go_of_binding_and_template_and_nothing_else_changes() {
    let case = claimed_by_a("");
    assert_snapshot!(case.story(), @r"
    unclaimed
    released by PropagationPolicy test/a: PolicyGone, BindingFirst
    ");
    assert_snapshot!(case.edits(), @r#"
    template {"labels":{"propagationpolicy.karmada.io/permanent-id":null},"annotations":{"propagationpolicy.karmada.io/name":null,"propagationpolicy.karmada.io/namespace":null}}
    binding {"labels":{"propagationpolicy.karmada.io/permanent-id":null},"annotations":{"propagationpolicy.karmada.io/name":null,"propagationpolicy.karmada.io/namespace":null}}
    "#);
    assert_snapshot!(case.settled().edits(), @r"
    template as it is
    binding as it is
    ");
}

#[test]
fn a_terminating_policy_lets_go_and_another_one_takes_over_at_once() {
    let dying = "
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {namespace: test, name: a, deletionTimestamp: '2026-01-01T00:00:00Z'}
spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]}
";
    assert_snapshot!(claimed_by_a(dying).story(), @r"
    unclaimed
    released by PropagationPolicy test/a: PolicyTerminating, BindingFirst
    not PropagationPolicy test/a: it is being deleted
    ");
    let case = claimed_by_a(&format!("{dying}{}", policy("CPP b 0 all")));
    assert_snapshot!(case.story(), @r"
    applied: ClusterPropagationPolicy b
    released by PropagationPolicy test/a: PolicyTerminating, BindingFirst
    not PropagationPolicy test/a: it is being deleted
    ");
    let settled = case.settled();
    assert_snapshot!(settled.story(), @r"
    applied: ClusterPropagationPolicy b
    not PropagationPolicy test/a: it is being deleted
    ");
    assert_snapshot!(settled.edits(), @r"
    template as it is
    binding as it is
    ");
}

#[test]
fn a_policy_that_selects_the_template_no_longer_lets_go_of_the_template_first() {
    assert_snapshot!(claimed_by_a(&policy("PP a 0 name: db")).story(), @r"
    unclaimed
    released by PropagationPolicy test/a: NoLongerSelected, TemplateFirst
    ");
}

#[test]
fn a_policy_created_anew_under_the_old_name_has_to_win_the_template_again() {
    let anew = policy("PP a 0 all").replace(
        "name: a}",
        "name: a, labels: {propagationpolicy.karmada.io/permanent-id: new-id}}",
    );
    assert_snapshot!(claimed_by_a(&anew).story(), @r"
    applied: PropagationPolicy test/a
    released by PropagationPolicy test/a: PolicyGone, BindingFirst
    ");
    assert_snapshot!(claimed_by_a(&anew).settled().story(), @"applied: PropagationPolicy test/a");
}

#[test]
fn a_claim_that_is_left_on_the_binding_alone_is_taken_off() {
    let mut case = claimed_by_a("");
    case.template = super::one(
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test}}",
    );
    assert_snapshot!(case.edits(), @r#"
    template as it is
    binding {"labels":{"propagationpolicy.karmada.io/permanent-id":null},"annotations":{"propagationpolicy.karmada.io/name":null,"propagationpolicy.karmada.io/namespace":null}}
    "#);
}

#[test]
fn a_policy_waits_for_the_overrides_it_depends_on() {
    let gated = "
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {namespace: test, name: a}
spec: {dependentOverrides: [op1, op2], resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterOverridePolicy
metadata: {name: op1}
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {namespace: other, name: op1}
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {namespace: test, name: op2}
";
    let mut case = scene(&format!("{WEB}{gated}"));
    assert_snapshot!(case.story(), @"PropagationPolicy test/a awaits op1");
    assert_snapshot!(case.edits(), @"template as it is");
    case.overrides.insert("test/op1".parse().unwrap());
    assert_snapshot!(case.story(), @"applied: PropagationPolicy test/a");
    // A claim that is there already stays while its policy waits.
    case.overrides.clear();
    assert_snapshot!(claimed_by_a(gated.split("---\napiVersion: policy.karmada.io/v1alpha1\nkind: Cluster").next().unwrap()).edits(), @r"
    template as it is
    binding as it is
    ");
}

#[test]
fn any_served_version_of_the_kind_may_be_named() {
    let case = scene(&format!(
        "{{apiVersion: apps/v2, kind: Deployment, metadata: {{name: web, namespace: test}}}}\n{}",
        policy("PP a 0 web")
    ));
    let others = ["v1".to_owned()];
    let template = crate::Template {
        object: &case.template,
        other_versions: &others,
    };
    assert_eq!(case.policies.matches(&template).len(), 1);
    assert_eq!(
        case.policies
            .matches(&crate::Template::new(&case.template))
            .len(),
        0
    );
}

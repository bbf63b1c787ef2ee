//! What authors of policies are told, and when.

use super::*;
use crate::told::{one, told};

fn decide(
    policy: &Object,
    unlisted: &[Unlisted],
    waited: Duration,
    serving: impl Fn(&GroupVersionKind) -> Serving,
) -> Plan {
    plan(&Inputs {
        policy,
        exemptions: &Exemptions::default(),
        serving: &serving,
        unlisted,
        waited,
    })
}

fn unlisted() -> Unlisted {
    Unlisted {
        kind: GroupVersionKind::new("acme.io", "v1", "Gadget"),
        is_liked_best: true,
        cause: "the webhook is away".into(),
    }
}

#[test]
fn what_may_be_over_in_a_moment_is_told_if_it_is_not() {
    let gadgets = "{kind: PropagationPolicy, metadata: {name: p}, spec: {resourceSelectors: [{apiVersion: acme.io/v1, kind: Gadget}]}}";
    let unserved = "report PropagationPolicy p Warning SelectorMatchesNothing: spec.resourceSelectors[0]: no kind Gadget is served in acme.io";
    let failing = "report PropagationPolicy p Warning ListTemplatesFailed: spec.resourceSelectors[0]: Gadget of acme.io cannot be listed in \"v1\", and what is propagated of it stays as it is: the webhook is away";
    let exempt = "report PropagationPolicy p Warning SelectorMatchesNothing: spec.resourceSelectors[0]: Gadget of acme.io is never propagated";
    let soon = |seconds| Wake::After(Duration::from_secs(seconds));
    for (serving, waited, expected, wake) in [
        (Serving::Unserved, 0, "nothing", soon(5)),
        (Serving::Unserved, 3, "nothing", soon(2)),
        (Serving::Unserved, 5, unserved, Wake::After(AGAIN)),
        (Serving::Unlisted(unlisted()), 0, "nothing", soon(5)),
        (
            Serving::Unlisted(unlisted()),
            6,
            failing,
            Wake::After(AGAIN),
        ),
        (Serving::Namespaced, 9, "nothing", Wake::OnChange),
        (Serving::Unknown, 9, "nothing", Wake::OnChange),
        // This lasts.
        (Serving::Exempt, 0, exempt, Wake::After(AGAIN)),
    ] {
        let waited = Duration::from_secs(waited);
        let plan = decide(&one(gadgets), &[], waited, |_| serving.clone());
        assert_eq!(told(&plan), expected);
        assert_eq!(plan.wake, wake, "{serving:?} after {waited:?}");
    }
}

#[test]
fn a_policy_that_cannot_go_says_what_it_waits_for() {
    let going = one(
        "{kind: PropagationPolicy, metadata: {name: p, deletionTimestamp: '2026-01-02T03:04:05Z'}, spec: {resourceSelectors: [{apiVersion: acme.io/v1, kind: Widget}]}}",
    );
    let told =
        |unlisted: &[Unlisted]| told(&decide(&going, unlisted, MOMENT, |_| Serving::Unserved));
    assert_eq!(told(&[]), "nothing");
    assert_eq!(
        told(&[unlisted()]),
        "report PropagationPolicy p Warning ListTemplatesFailed: Gadget of acme.io cannot be listed in \"v1\", and it is not known whether this policy still holds any of them: the webhook is away"
    );
    let other = Unlisted {
        is_liked_best: false,
        ..unlisted()
    };
    assert_eq!(
        told(&[other]),
        "report PropagationPolicy p Warning ListTemplatesFailed: Gadget of acme.io cannot be listed in \"v1\", and no other policy can have of them what this one holds: the webhook is away"
    );
}

#[test]
fn what_every_server_makes_for_itself_is_told_where_it_is_selected_by_name() {
    for (kind, name, namespace, is_told) in [
        ("ConfigMap", "kube-root-ca.crt", "", true),
        ("ConfigMap", "kube-root-ca.crt", "dep", true),
        ("ConfigMap", "other", "", false),
        ("ConfigMap", "", "", false),
        ("Service", "kubernetes", "default", true),
        ("Service", "kubernetes", "dep", false),
    ] {
        let policy = one(&format!(
            "{{kind: ClusterPropagationPolicy, metadata: {{name: p}}, spec: {{resourceSelectors: [{{apiVersion: v1, kind: {kind}, namespace: '{namespace}', name: '{name}'}}]}}}}"
        ));
        let told = told(&decide(&policy, &[], Duration::ZERO, |_| {
            Serving::Namespaced
        }));
        let expected = match is_told {
            true => format!(
                "report ClusterPropagationPolicy p Warning SelectorMatchesNothing: spec.resourceSelectors[0]: {kind} {name} is never propagated: the API server makes this object for itself"
            ),
            false => "nothing".to_owned(),
        };
        assert_eq!(told, expected, "{namespace}");
    }
}

#[test]
fn a_selector_of_nothing_is_told_with_its_place() {
    let policy = |metadata: &str| {
        one(&format!(
            "{{kind: PropagationPolicy, metadata: {metadata}, spec: {{resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment}}, {{apiVersion: acme.io/v1, kind: Gadget}}, {{apiVersion: v1, kind: Event}}, {{kind: Odd, apiVersion: a/b/c}}, {{apiVersion: acme.io/v7, kind: Widget}}, {{apiVersion: acme.io/v1, kind: Node}}]}}}}"
        ))
    };
    let plan = |metadata: &str| {
        let plan = decide(&policy(metadata), &[], MOMENT, |kind| {
            match kind.kind.as_str() {
                "Gadget" => Serving::Unserved,
                "Event" => Serving::Exempt,
                "Widget" => Serving::InOtherVersions(vec!["v1".to_owned(), "v1beta1".to_owned()]),
                "Node" => Serving::ClusterWide,
                _ => Serving::Namespaced,
            }
        });
        told(&plan).replace("Warning SelectorMatchesNothing: spec.resourceSelectors", "")
    };
    let of_all = [
        "[1]: no kind Gadget is served in acme.io",
        "[2]: Event of the core group is never propagated",
        "[3]: apiVersion \"a/b/c\" is neither a version nor a group and a version",
        "[4]: Widget of acme.io is not served in \"v7\", but in v1, v1beta1",
    ];
    let lines = |policy: &str, problems: &[&str]| {
        let line = |problem: &&str| format!("report PropagationPolicy {policy} {problem}");
        problems.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(plan("{name: p}"), lines("p", &of_all));
    let mut in_namespace = of_all.to_vec();
    in_namespace.push(
        "[5]: Node of acme.io has no namespace, and this policy selects only what is in test",
    );
    assert_eq!(
        plan("{name: p, namespace: test}"),
        lines("test/p", &in_namespace)
    );
}

#[test]
fn a_namespace_where_nothing_is_selected_is_told() {
    let exemptions = Exemptions::parse("", ["kube-.*"]).unwrap();
    let check = |policy: &str, kind: &str, namespace: &str, expected: &str| {
        let policy = one(&format!(
            "{{kind: Policy, metadata: {{name: p, namespace: '{policy}'}}, spec: {{resourceSelectors: [{{apiVersion: v1, kind: {kind}, namespace: '{namespace}', name: foo}}]}}}}"
        ));
        let plan = plan(&Inputs {
            policy: &policy,
            exemptions: &exemptions,
            serving: &|kind| match kind.kind.as_str() {
                "Node" => Serving::ClusterWide,
                _ => Serving::Namespaced,
            },
            unlisted: &[],
            waited: Duration::ZERO,
        });
        let told = told(&plan);
        let found = told
            .split_once("[0]: ")
            .map_or(told.as_str(), |found| found.1);
        assert_eq!(found, expected, "{kind} in {namespace:?}");
    };
    for (policy, kind, namespace, expected) in [
        ("", "Node", "", "nothing"),
        (
            "",
            "Node",
            "dep",
            "Node of the core group has no namespace, and this selector selects only what is in dep",
        ),
        // Whatever it is that a namespaced policy is defaulted with.
        (
            "dep",
            "Node",
            "dep",
            "Node of the core group has no namespace, and this policy selects only what is in dep",
        ),
        ("", "Secret", "", "nothing"),
        ("", "Secret", "dep", "nothing"),
        (
            "",
            "Secret",
            "karmada-system",
            "nothing in karmada-system is ever propagated: the namespace belongs to the control plane",
        ),
        (
            "",
            "Secret",
            "kube-system",
            "nothing in kube-system is ever propagated: the namespace is left out by \"kube-.*\"",
        ),
        (
            "karmada-system",
            "Secret",
            "",
            "nothing in karmada-system is ever propagated: the namespace belongs to the control plane",
        ),
    ] {
        check(policy, kind, namespace, expected);
    }
}

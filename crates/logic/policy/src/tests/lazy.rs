//! Lazy activation: when a binding moves.

use api::policy::ActivationPreference;
use insta::assert_snapshot;
use object::Object;

use super::{Scene, claimed, one, scene, written};
use crate::{
    Outcome,
    activation::{Fingerprint, Origin, origin},
};

/// Web at the revision given, and a lazy policy at revision 10.
fn web(revision: u64) -> Scene {
    scene(&format!(
        "
{{apiVersion: v1, kind: ConfigMap, metadata: {{name: web, namespace: test, resourceVersion: '{revision}'}}, data: {{a: b}}}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {{name: lazy, namespace: test, resourceVersion: '10'}}
spec: {{activationPreference: Lazy, resourceSelectors: [{{apiVersion: v1, kind: ConfigMap}}]}}
"
    ))
}

/// The scene once the decision is carried out, the binding made if it is to be.
fn carried_out(mut case: Scene) -> Scene {
    if case.binding.is_some() {
        return case.settled();
    }
    let made = case.decide(|decision| {
        let empty = one(
            "{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: web-configmap, namespace: test}}",
        );
        matches!(decision.outcome, Outcome::Applied(_))
            .then(|| written(&empty, &decision.binding_edit(&case.template, &empty)))
    });
    case = case.settled();
    case.binding = made;
    case
}

fn annotated(mut case: Scene, key: &str) -> Scene {
    case.template
        .set(&["metadata", "annotations", key], "y")
        .unwrap();
    case
}

fn without_laziness(case: &mut Scene) {
    let mut policy = case.policies.policies().next().unwrap().clone();
    policy.spec.activation_preference = None;
    case.policies.insert(policy);
}

#[test]
fn a_lazy_policy_that_comes_after_the_template_holds_it_until_the_author_edits() {
    let case = web(5);
    assert_snapshot!(case.story(), @"held by PropagationPolicy test/lazy");
    assert_snapshot!(case.edits(), @r#"template {"labels":{"propagationpolicy.karmada.io/permanent-id":"lazy-id"},"annotations":{"propagationpolicy.karmada.io/name":"lazy","propagationpolicy.karmada.io/namespace":"test","resourcetemplate.karmada.io/activation-fingerprint":"1a63f8bfdfd935e7"}}"#);
    let mut case = carried_out(case);
    // The claim itself is a later revision than the policy, and changes nothing.
    case.template
        .set(&["metadata", "resourceVersion"], "11")
        .unwrap();
    assert_snapshot!(case.story(), @"held by PropagationPolicy test/lazy");
    assert_snapshot!(case.edits(), @"template as it is");
    let case = annotated(case, "x");
    assert_snapshot!(case.story(), @"applied: PropagationPolicy test/lazy");
    let case = carried_out(case);
    assert!(Fingerprint::noted_on(&case.template).is_none());
    assert_snapshot!(case.edits(), @r"
    template as it is
    binding as it is
    ");
}

#[test]
fn a_lazy_policy_that_was_there_before_the_template_acts_at_once_even_after_a_crash() {
    assert_snapshot!(web(15).story(), @"applied: PropagationPolicy test/lazy");
    let mut case = web(15);
    let policy = case.policies.policies().next().unwrap().clone();
    case.template = claimed(&case.template, &policy); // Claimed, then died before the binding was made.
    assert_snapshot!(case.story(), @"applied: PropagationPolicy test/lazy");
}

#[test]
fn an_edited_lazy_policy_waits_for_the_author_and_stops_waiting_when_it_is_lazy_no_more() {
    let mut case = carried_out(carried_out(web(15)));
    case.policies.insert({
        let mut policy = case.policies.policies().next().unwrap().clone();
        policy.resource_version = "99".to_owned();
        policy.spec.placement.cluster_affinity = Some(Default::default());
        policy
    });
    assert_snapshot!(case.story(), @"held by PropagationPolicy test/lazy");
    assert_snapshot!(case.edits(), @r"
    template as it is
    binding as it is
    ");
    case.template.set(&["status"], "reported").unwrap();
    assert_snapshot!(case.story(), @"held by PropagationPolicy test/lazy");
    without_laziness(&mut case);
    assert_snapshot!(case.story(), @"applied: PropagationPolicy test/lazy");
}

#[test]
fn a_held_template_goes_at_once_when_its_policy_is_lazy_no_more() {
    let mut case = carried_out(web(5));
    without_laziness(&mut case);
    assert_snapshot!(case.story(), @"applied: PropagationPolicy test/lazy");
}

#[test]
fn labels_and_annotations_of_this_product_are_not_the_authors_but_one_is() {
    let case = carried_out(web(5));
    let case = annotated(case, "work.karmada.io/conflict-resolution");
    assert_snapshot!(case.story(), @"held by PropagationPolicy test/lazy");
    let mut case = case;
    case.template
        .set(
            &[
                "metadata",
                "labels",
                "namespace.karmada.io/skip-auto-propagation",
            ],
            "true",
        )
        .unwrap();
    assert_snapshot!(case.story(), @"applied: PropagationPolicy test/lazy");
}

#[test]
fn a_lazy_policy_that_takes_over_leaves_the_binding_without_a_claim() {
    let mut case = carried_out(web(15));
    let mut former = case.policies.policies().next().unwrap().clone();
    former.id.name = "former".to_owned();
    former.permanent_id = "former-id".to_owned();
    case.template = claimed(&case.template, &former);
    case.binding = case.binding.map(|binding| claimed(&binding, &former));
    assert_snapshot!(case.story(), @r"
    held by PropagationPolicy test/lazy
    released by PropagationPolicy test/former: PolicyGone, BindingFirst
    ");
    assert_snapshot!(case.edits(), @r#"
    template {"labels":{"propagationpolicy.karmada.io/permanent-id":"lazy-id"},"annotations":{"propagationpolicy.karmada.io/name":"lazy"}}
    binding {"labels":{"propagationpolicy.karmada.io/permanent-id":null},"annotations":{"propagationpolicy.karmada.io/name":null,"propagationpolicy.karmada.io/namespace":null}}
    "#);
}

#[test]
fn a_binding_without_a_note_stays_until_the_author_edits() {
    let mut case = carried_out(web(15));
    case.binding = Some(one(
        "{kind: ResourceBinding, metadata: {name: web-configmap}}",
    ));
    assert_snapshot!(case.story(), @"held by PropagationPolicy test/lazy");
    let case = annotated(carried_out(case), "x");
    assert_snapshot!(case.story(), @"applied: PropagationPolicy test/lazy");
}

#[test]
fn without_revisions_the_times_of_creation_answer() {
    for (template, policy, expected) in [
        ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "held"),
        ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", "applied"),
    ] {
        let mut case = web(5);
        case.template
            .set(&["metadata", "resourceVersion"], "opaque")
            .unwrap();
        case.template
            .set(&["metadata", "creationTimestamp"], template)
            .unwrap();
        let mut changed = case.policies.policies().next().unwrap().clone();
        changed.created = policy.parse().ok();
        assert_eq!(
            changed.spec.activation_preference,
            Some(ActivationPreference::Lazy)
        );
        case.policies.insert(changed);
        assert!(case.story().starts_with(expected), "{template} {policy}");
    }
}

#[test]
fn the_origin_of_a_change_is_told_by_what_differs() {
    let before = one(
        "{kind: X, metadata: {name: a, labels: {app: web}, annotations: {k.karmada.io/x: old}}, spec: {b: 1, a: [1, 2]}}",
    );
    for (change, expected) in [
        (
            "{kind: X, metadata: {name: a, labels: {app: web}, annotations: {k.karmada.io/x: old}}, spec: {a: [1, 2], b: 1}}",
            Origin::Nobody,
        ),
        (
            "{kind: X, metadata: {name: a, resourceVersion: '9', generation: 4, managedFields: [], labels: {app: web}, annotations: {k.karmada.io/x: old}}, spec: {b: 1, a: [1, 2]}, status: {x: 1}}",
            Origin::Nobody,
        ),
        (
            "{kind: X, metadata: {name: a, labels: {app: web}}, spec: {b: 1, a: [1, 2]}}",
            Origin::Control,
        ),
        (
            "{kind: X, metadata: {name: a, labels: {app: web, propagationpolicy.karmada.io/permanent-id: x}, annotations: {k.karmada.io/x: new}}, spec: {b: 1, a: [1, 2]}}",
            Origin::Control,
        ),
        (
            "{kind: X, metadata: {name: a, labels: {app: api}, annotations: {k.karmada.io/x: old}}, spec: {b: 1, a: [1, 2]}}",
            Origin::Author,
        ),
        (
            "{kind: X, metadata: {name: a, labels: {app: web, namespace.karmada.io/skip-auto-propagation: 'true'}, annotations: {k.karmada.io/x: old}}, spec: {b: 1, a: [1, 2]}}",
            Origin::Author,
        ),
        (
            "{kind: X, metadata: {name: a, labels: {app: web}, annotations: {k.karmada.io/x: old}}, spec: {b: 1, a: [2, 1]}}",
            Origin::Author,
        ),
        (
            "{kind: X, metadata: {name: a, labels: {app: web}, annotations: {k.karmada.io/x: old}}, spec: {b: '1', a: [1, 2]}}",
            Origin::Author,
        ),
    ] {
        let after: Object = one(change);
        assert_eq!(origin(&before, &after), expected, "{change}");
    }
}

#[test]
fn fingerprints_print_and_parse() {
    let print = Fingerprint::of(&one("{kind: X}"));
    assert_eq!(print.to_string().parse(), Ok(print));
    for bad in [
        "",
        "0",
        "+123456789abcdef",
        "0123456789abcdefg",
        "zzzzzzzzzzzzzzzz",
    ] {
        assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
    }
}

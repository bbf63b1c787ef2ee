//! Cases: when a policy that is being deleted may go.

use std::sync::Arc;

use api::{policy::PropagationPolicy, read::read};
use client::Change;
use intent::Wake;
use object::Object;
use policy::Policy;

use super::{
    keys_of_holder, keys_of_policy, kind_of,
    plan::{Inputs, Tie, plan},
};
use crate::told::{one, told};

const GOING: &str = "{kind: PropagationPolicy, metadata: {name: pp, namespace: test, uid: p, resourceVersion: '3', deletionTimestamp: '2026-01-02T03:04:05Z', finalizers: [karmada.io/propagation-policy-controller, x], labels: {propagationpolicy.karmada.io/permanent-id: p1}}}";
const CLAIMED: &str = "{kind: ResourceBinding, metadata: {name: web-deployment, namespace: test, uid: b, resourceVersion: '5', labels: {propagationpolicy.karmada.io/permanent-id: p1}, annotations: {propagationpolicy.karmada.io/name: pp, propagationpolicy.karmada.io/namespace: test}}}";

fn story(object: &str, templates: Option<usize>, bindings: Option<&[(&Object, Tie)]>) -> String {
    let object = one(object);
    let policy = Policy::from(&read::<PropagationPolicy>(&object).unwrap());
    let (resource, finalizer) = kind_of(&policy.id);
    let plan = plan(&Inputs {
        resource: &resource,
        object: &object,
        finalizer,
        policy: &policy,
        templates,
        bindings,
    });
    match plan.wake {
        Wake::OnChange => told(&plan),
        _ => format!("{}, and again soon", told(&plan)),
    }
}

#[test]
fn a_policy_goes_when_nothing_carries_its_claim() {
    let binding = one(CLAIMED);
    let free = r#"patch PropagationPolicy test/pp@3 {"metadata":{"finalizers":["x"]}}"#;
    let alive = GOING.replace("deletionTimestamp: '2026-01-02T03:04:05Z', ", "");
    for (object, templates, bindings, expected) in [
        (GOING, Some(0), Some(&[][..]), free),
        (GOING, Some(1), Some(&[]), "nothing"),
        // That all of it is in view again is told to nobody.
        (GOING, None, Some(&[]), "nothing, and again soon"),
        (GOING, Some(0), None, "nothing, and again soon"),
        (
            GOING,
            Some(0),
            Some(&[(&binding, Tie::Template)]),
            "nothing",
        ),
        (alive.as_str(), Some(0), Some(&[]), "nothing"),
    ] {
        assert_eq!(story(object, templates, bindings), expected);
    }
}

#[test]
fn a_binding_without_template_is_released_here() {
    let binding = one(CLAIMED);
    insta::assert_snapshot!(story(GOING, Some(0), Some(&[(&binding, Tie::Loose)])), @r#"patch ResourceBinding test/web-deployment@5 {"metadata":{"labels":{"propagationpolicy.karmada.io/permanent-id":null},"annotations":{"propagationpolicy.karmada.io/name":null,"propagationpolicy.karmada.io/namespace":null}}}"#);
}

fn change(before: Option<&str>, after: Option<&str>) -> Change {
    let state = |text: Option<&str>| text.map(|text| Arc::new(one(text)));
    Change {
        before: state(before),
        after: state(after),
    }
}

#[test]
fn a_claim_that_ends_wakes_its_policy_if_that_is_going() {
    let released = CLAIMED.replace("permanent-id: p1", "permanent-id: p2");
    for (before, after, is_going, wakes) in [
        (Some(CLAIMED), Some(released.as_str()), true, true),
        (Some(CLAIMED), None, true, true),
        (Some(CLAIMED), None, false, false),
        (Some(CLAIMED), Some(CLAIMED), true, false),
        (None, Some(CLAIMED), true, false),
    ] {
        let key = keys_of_holder(&change(before, after), |_| is_going);
        assert_eq!(key.is_some(), wakes);
    }
    assert!(keys_of_policy(&change(None, Some(GOING))).is_some());
    assert!(keys_of_policy(&change(Some(GOING), None)).is_none());
}

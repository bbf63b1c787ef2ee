//! Cases: policies, a template and its binding in, what is written out.

mod orphans;

use std::{collections::BTreeSet, sync::Arc};

use api::{
    policy::{ClusterPropagationPolicy, PropagationPolicy},
    read::read,
};
use binding::{Lookups, Needs};
use client::Change;
use intent::{Action, Plan, Wake};
use object::{GroupKind, Object, ObjectKey, ResourceType, patch};
use policy::{Exemptions, Index, Policy, Preemption, Template, decide, exemption};

use super::{
    keys,
    plan::{Inputs, plan, plan_gone},
};
use crate::{
    rulebook::Amendment,
    setback::Setback,
    templates::Absence,
    told::{documents, done, one, told},
    views::UNTIL_IN_VIEW,
};

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test, uid: u1, resourceVersion: '7'}, spec: {replicas: 2}}";
const PP: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: pp, namespace: test, labels: {propagationpolicy.karmada.io/permanent-id: p1}}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}], placement: {clusterAffinity: {clusterNames: [m1]}}}}";

/// What is there before the decision.
#[derive(Clone)]
struct Scene {
    policies: Index,
    overrides: BTreeSet<ObjectKey>,
    template: Object,
    binding: Option<Object>,
    lookups: Result<Lookups, Setback>,
    preemption: Preemption,
}

fn scene(text: &str) -> Scene {
    let mut scene = Scene {
        policies: Index::default(),
        overrides: BTreeSet::new(),
        template: Object::default(),
        binding: None,
        lookups: Ok(Lookups {
            needs: Needs::Replicas {
                count: 2,
                each: None,
            },
            ..Lookups::default()
        }),
        preemption: Preemption::Off,
    };
    for document in documents(text) {
        match document.kind() {
            "PropagationPolicy" | "ClusterPropagationPolicy" => {
                scene.policies.insert(policy(&document));
            }
            "OverridePolicy" => drop(scene.overrides.insert(document.key())),
            "ResourceBinding" | "ClusterResourceBinding" => scene.binding = Some(document),
            _ => scene.template = document,
        }
    }
    scene
}

fn policy(document: &Object) -> Policy {
    if document.kind() == "PropagationPolicy" {
        Policy::from(&read::<PropagationPolicy>(document).unwrap())
    } else {
        Policy::from(&read::<ClusterPropagationPolicy>(document).unwrap())
    }
}

impl Scene {
    fn plan(&self) -> Plan {
        let exemptions = Exemptions::parse("", [exemption::DEFAULT_SKIPPED_NAMESPACES]).unwrap();
        let decision = decide(&policy::Inputs {
            template: Template::new(&self.template),
            binding: self.binding.as_ref(),
            policies: &self.policies,
            overrides: &self.overrides,
            exemptions: &exemptions,
            preemption: self.preemption,
        });
        plan(&Inputs {
            resource: &ResourceType::namespaced("apps", "v1", "Deployment", "deployments"),
            template: &self.template,
            binding: self.binding.as_ref(),
            decision: &decision,
            lookups: self.lookups.as_ref(),
            now: "2026-01-02T03:04:05Z".parse().unwrap(),
        })
    }

    /// The scene after a plan has been carried out; the server counts revisions.
    fn after(mut self, plan: &Plan) -> Self {
        for action in &plan.actions {
            match action {
                Action::Create { object, .. } => {
                    let mut object = object.clone();
                    object.set(&["metadata", "uid"], "b1").unwrap();
                    object.set(&["metadata", "resourceVersion"], "20").unwrap();
                    self.binding = Some(object);
                }
                Action::Patch { key, patch, .. } => {
                    let target = if *key == self.template.key() {
                        &mut self.template
                    } else {
                        self.binding.as_mut().unwrap()
                    };
                    let merged = patch::merge(&target.clone().into_value(), patch);
                    *target = Object::from_value(merged).unwrap();
                    target.set(&["metadata", "resourceVersion"], "21").unwrap();
                }
                _ => {}
            }
        }
        self
    }
}

#[test]
fn a_template_costs_one_write_for_its_claim_and_one_for_its_binding() {
    let plan = scene(&format!("{WEB}\n---\n{PP}")).plan();
    insta::assert_snapshot!(told(&plan), @r#"
    patch Deployment test/web@7 {"metadata":{"labels":{"propagationpolicy.karmada.io/permanent-id":"p1"},"annotations":{"propagationpolicy.karmada.io/name":"pp","propagationpolicy.karmada.io/namespace":"test"}}}
    create ResourceBinding test/web-deployment {"metadata":{"name":"web-deployment","namespace":"test","labels":{"propagationpolicy.karmada.io/permanent-id":"p1"},"annotations":{"propagationpolicy.karmada.io/name":"pp","propagationpolicy.karmada.io/namespace":"test","resourcetemplate.karmada.io/activation-fingerprint":"36e4adb833d1cf79"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"u1","controller":true,"blockOwnerDeletion":true}],"finalizers":["karmada.io/binding-controller"]},"spec":{"resource":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"test","name":"web","uid":"u1","resourceVersion":"7"},"replicas":2,"placement":{"clusterAffinity":{"clusterNames":["m1"]}}}}
    report Deployment test/web Normal ApplyPolicySucceed: PropagationPolicy test/pp is applied
    "#);
}

#[test]
fn what_was_written_is_not_written_again_even_after_a_status_was() {
    let mut scene = scene(&format!("{WEB}\n---\n{PP}"));
    let plan = scene.plan();
    scene = scene.after(&plan);
    assert_eq!(told(&scene.plan()), "nothing");
    scene.template.set(&["status", "replicas"], 2).unwrap();
    scene
        .template
        .set(&["metadata", "resourceVersion"], "99")
        .unwrap();
    assert_eq!(told(&scene.plan()), "nothing");
}

#[test]
fn an_edit_of_the_author_is_a_new_revision_in_the_binding() {
    let mut scene = scene(&format!("{WEB}\n---\n{PP}"));
    let plan = scene.plan();
    scene = scene.after(&plan);
    scene.template.set(&["spec", "paused"], true).unwrap();
    scene
        .template
        .set(&["metadata", "resourceVersion"], "30")
        .unwrap();
    let text = done(&scene.plan());
    assert!(
        text.contains(r#""spec":{"resource":{"resourceVersion":"30"}}"#),
        "{text}"
    );
    assert!(
        !text.contains('@'),
        "the scheduler's writes are no conflict: {text}"
    );
}

#[test]
fn what_the_scheduler_and_others_wrote_stays() {
    let mut scene = scene(&format!("{WEB}\n---\n{PP}"));
    let plan = scene.plan();
    scene = scene.after(&plan);
    let binding = scene.binding.as_mut().unwrap();
    for (field, value) in [
        (
            "clusters",
            serde_json::json!([{"name": "m1", "replicas": 2}]),
        ),
        (
            "requiredBy",
            serde_json::json!([{"name": "x", "namespace": "test"}]),
        ),
        ("unknown", serde_json::json!({"field": 1})),
    ] {
        binding.set(&["spec", field], value).unwrap();
    }
    scene.lookups = Ok(Lookups {
        needs: Needs::Replicas {
            count: 5,
            each: None,
        },
        ..Lookups::default()
    });
    insta::assert_snapshot!(done(&scene.plan()), @r#"patch ResourceBinding test/web-deployment {"spec":{"replicas":5}}"#);
}

#[test]
fn lists_shared_with_others_are_written_only_as_they_were_seen() {
    let mut scene = scene(&format!("{WEB}\n---\n{PP}"));
    let plan = scene.plan();
    scene = scene.after(&plan);
    let binding = scene.binding.as_mut().unwrap();
    binding
        .set(
            &["metadata", "finalizers"],
            vec!["example.com/mine".to_owned()],
        )
        .unwrap();
    insta::assert_snapshot!(done(&scene.plan()), @r#"patch ResourceBinding test/web-deployment@20 {"metadata":{"finalizers":["example.com/mine","karmada.io/binding-controller"]}}"#);
}

#[test]
fn deleting_the_policy_takes_the_claim_off_the_binding_then_off_the_template_and_nothing_else() {
    let mut scene = scene(&format!("{WEB}\n---\n{PP}"));
    let plan = scene.plan();
    scene = scene.after(&plan);
    scene.policies = Index::default();
    insta::assert_snapshot!(told(&scene.plan()), @r#"
    patch ResourceBinding test/web-deployment@20 {"metadata":{"labels":{"propagationpolicy.karmada.io/permanent-id":null},"annotations":{"propagationpolicy.karmada.io/name":null,"propagationpolicy.karmada.io/namespace":null}}}
    patch Deployment test/web@21 {"metadata":{"labels":{"propagationpolicy.karmada.io/permanent-id":null},"annotations":{"propagationpolicy.karmada.io/name":null,"propagationpolicy.karmada.io/namespace":null}}}
    "#);
    let plan = scene.plan();
    assert_eq!(told(&scene.after(&plan).plan()), "nothing");
}

#[test]
fn changed_selectors_take_the_claim_off_the_template_first() {
    let mut scene = scene(&format!("{WEB}\n---\n{PP}"));
    let plan = scene.plan();
    scene = scene.after(&plan);
    scene
        .policies
        .insert(policy(&one(&PP.replace("name: web", "name: other"))));
    let lines = told(&scene.plan());
    assert!(lines.starts_with("patch Deployment"), "{lines}");
    assert_eq!(lines.lines().count(), 2, "{lines}");
}

#[test]
fn a_lazy_policy_claims_and_makes_no_binding_until_the_author_acts() {
    let lazy = PP
        .replace("spec: {", "spec: {activationPreference: Lazy, ")
        .replace(
            "namespace: test, labels",
            "namespace: test, resourceVersion: '9', labels",
        );
    let mut scene = scene(&format!("{WEB}\n---\n{lazy}"));
    let plan = scene.plan();
    let text = told(&plan);
    assert!(
        text.contains("activation-fingerprint") && !text.contains("create"),
        "{text}"
    );
    scene = scene.after(&plan);
    assert_eq!(told(&scene.plan()), "nothing");
    scene
        .template
        .set(&["metadata", "annotations", "x"], "y")
        .unwrap();
    let text = done(&scene.plan());
    assert!(text.contains("create ResourceBinding"), "{text}");
}

#[test]
fn a_policy_that_waits_for_overrides_says_so_and_binds_nothing() {
    let waiting = PP.replace("spec: {", "spec: {dependentOverrides: [op1], ");
    let mut scene = scene(&format!("{WEB}\n---\n{waiting}"));
    insta::assert_snapshot!(told(&scene.plan()), @"report Deployment test/web Warning ApplyPolicyFailed: PropagationPolicy test/pp waits for override policies that do not exist: op1");
    scene.overrides.insert(ObjectKey::namespaced("test", "op1"));
    assert!(done(&scene.plan()).contains("create ResourceBinding"));
}

#[test]
fn a_template_that_cannot_be_read_is_claimed_and_told_and_not_bound() {
    let mut scene = scene(&format!("{WEB}\n---\n{PP}"));
    scene.lookups = Err(Setback {
        reason: "GetReplicasFailed",
        message: "spec.replicas: expected an integer, found text".to_owned(),
    });
    let plan = scene.plan();
    assert!(done(&plan).starts_with("patch Deployment"));
    assert!(told(&plan).ends_with(
        "report Deployment test/web Warning GetReplicasFailed: spec.replicas: expected an integer, found text"
    ));
    assert_eq!(plan.problems.len(), 1);
}

#[test]
fn a_binding_says_that_it_does_not_follow_its_template_until_it_does() {
    let mut scene = scene(&format!("{WEB}\n---\n{PP}"));
    let lookups = scene.lookups.clone();
    let plan = scene.plan();
    scene = scene.after(&plan);
    scene.lookups = Err(Setback {
        reason: "GetReplicasFailed",
        message: "no".to_owned(),
    });
    let plan = scene.plan();
    insta::assert_snapshot!(done(&plan), @r#"patch ResourceBinding test/web-deployment/status@20 {"status":{"conditions":[{"type":"PolicyApplied","status":"False","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"GetReplicasFailed","message":"no"}]}}"#);
    scene = scene.after(&plan);
    assert_eq!(done(&scene.plan()), "nothing");
    scene.lookups = lookups;
    let plan = scene.plan();
    insta::assert_snapshot!(done(&plan), @r#"patch ResourceBinding test/web-deployment/status@21 {"status":{"conditions":[{"type":"PolicyApplied","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"Success","message":""}]}}"#);
    scene = scene.after(&plan);
    assert_eq!(told(&scene.plan()), "nothing");
}

#[test]
fn a_binding_of_an_earlier_template_makes_way_and_one_of_another_kind_does_not() {
    for (owner, expected) in [
        (
            "{apiVersion: apps/v1, kind: Deployment, name: web, uid: old, controller: true}",
            "delete ResourceBinding test/web-deployment: its template was deleted, and another of the same name has taken its place",
        ),
        (
            "{apiVersion: example.com/v1, kind: Deployment, name: web, uid: old, controller: true}",
            "report Deployment test/web Warning ApplyPolicyFailed: binding test/web-deployment has an owner reference with the UID",
        ),
    ] {
        let binding = format!(
            "{{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {{name: web-deployment, namespace: test, uid: b0, ownerReferences: [{owner}]}}}}"
        );
        let text = told(&scene(&format!("{WEB}\n---\n{PP}\n---\n{binding}")).plan());
        assert!(
            text.contains(expected) && !text.contains("create"),
            "{text}"
        );
    }
}

#[test]
fn a_binding_goes_with_the_template_that_owns_it() {
    let owned = "{kind: ResourceBinding, metadata: {name: web-deployment, namespace: test, uid: b, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u1, controller: true}]}}";
    for (document, expected) in [
        (
            owned.to_owned(),
            "delete ResourceBinding test/web-deployment: its template Deployment web is gone",
        ),
        (
            owned.replace("controller: true", "controller: false"),
            "nothing",
        ),
        (
            owned.replace(
                "uid: b,",
                "uid: b, deletionTimestamp: '2026-01-02T03:04:05Z',",
            ),
            "nothing",
        ),
    ] {
        let plan = plan_gone(&one(&document), Absence::Gone);
        assert_eq!(
            (told(&plan).as_str(), plan.wake),
            (expected, Wake::OnChange)
        );
    }
    for (absence, wake) in [
        (Absence::Unseen, UNTIL_IN_VIEW),
        (Absence::Unserved, Wake::OnChange),
    ] {
        let plan = plan_gone(&one(owned), absence);
        assert_eq!((told(&plan).as_str(), plan.wake), ("nothing", wake));
    }
}

#[test]
fn a_cluster_wide_template_has_a_cluster_wide_binding() {
    let role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:tt', uid: u1, resourceVersion: '7'}}";
    let cpp = "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: cpp, labels: {clusterpropagationpolicy.karmada.io/permanent-id: c1}}, spec: {resourceSelectors: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole}]}}";
    let mut scene = scene(&format!("{role}\n---\n{cpp}"));
    scene.lookups = Ok(Lookups::default());
    let text = done(&scene.plan());
    assert!(
        text.contains("create ClusterResourceBinding system.tt-clusterrole"),
        "{text}"
    );
    assert!(
        text.contains("karmada.io/cluster-resource-binding-controller"),
        "{text}"
    );
}

#[test]
fn preemption_overwrites_the_claim_and_is_told() {
    let by_b = PP
        .replace("name: pp, ", "name: b, ")
        .replace(": p1", ": b1");
    let mut scene = scene(&format!("{WEB}\n---\n{by_b}"));
    let plan = scene.plan();
    scene = scene.after(&plan);
    let stronger = PP
        .replace("name: pp, ", "name: c, ")
        .replace(": p1", ": c1")
        .replace("spec: {", "spec: {priority: 10, preemption: Always, ");
    scene.policies.insert(policy(&one(&stronger)));
    assert_eq!(told(&scene.plan()), "nothing");
    scene.preemption = Preemption::On;
    let text = told(&scene.plan());
    assert!(text.contains("Normal PreemptPolicySucceed: PropagationPolicy test/c takes over from PropagationPolicy test/b"), "{text}");
}

fn change(before: Option<&str>, after: Option<&str>) -> Change {
    let state = |text: Option<&str>| text.map(|text| Arc::new(one(text)));
    Change {
        before: state(before),
        after: state(after),
    }
}

#[test]
fn templates_wake_themselves_unless_only_their_status_changed() {
    let kind = GroupKind::new("apps", "Deployment");
    let edited = WEB.replace("replicas: 2", "replicas: 3");
    let reported = WEB.replace("spec:", "status: {replicas: 2}, spec:");
    for (before, after, wakes) in [
        (None, Some(WEB), true),
        (Some(WEB), None, true),
        (Some(WEB), Some(edited.as_str()), true),
        (Some(WEB), Some(reported.as_str()), false),
    ] {
        let key = keys::of_template(&kind, &change(before, after));
        assert_eq!(key.is_some(), wakes);
    }
}

#[test]
fn bindings_wake_their_template_and_when_they_go_its_namesakes_of_other_groups() {
    let binding = "{metadata: {name: web-deployment, namespace: test}, spec: {resource: {apiVersion: apps/v1, kind: Deployment, namespace: test, name: web}}}";
    let scheduled = binding.replace("spec: {", "status: {x: 1}, spec: {");
    let spelled = |_: &str| {
        vec![
            GroupKind::new("apps", "Deployment"),
            GroupKind::new("x.io", "Deployment"),
        ]
    };
    for (before, after, expected) in [
        (None, Some(binding), vec!["Deployment.apps"]),
        (Some(binding), Some(scheduled.as_str()), vec![]),
        (
            Some(binding),
            None,
            vec!["Deployment.apps", "Deployment.x.io"],
        ),
    ] {
        let keys = keys::of_binding(&change(before, after), spelled);
        let kinds: Vec<String> = keys.iter().map(|key| key.kind.to_string()).collect();
        assert_eq!(kinds, expected);
    }
}

#[test]
fn an_override_policy_matters_to_claims_only_by_being_there() {
    let waiting = policy(&one(
        &PP.replace("spec: {", "spec: {dependentOverrides: [op], ")
    ));
    let index: Arc<Index> = Arc::new([waiting].into_iter().collect());
    let op = Arc::new(overrides::Policy::from(
        &read::<api::policy::OverridePolicy>(&one("{metadata: {name: op, namespace: test}}"))
            .unwrap(),
    ));
    for (before, after, reaches) in [
        (None, Some(Arc::clone(&op)), true),
        (Some(Arc::clone(&op)), None, true),
        (Some(Arc::clone(&op)), Some(op), false),
    ] {
        let reach = keys::of_amendment(&Amendment::Overrides(before, after), || Arc::clone(&index));
        assert_eq!(!reach.is_empty(), reaches);
    }
}

#[test]
fn a_priority_class_matters_to_policies_that_name_it() {
    let urgent = PP.replace(
        "spec: {",
        "spec: {schedulePriority: {priorityClassSource: KubePriorityClass, priorityClassName: high}, ",
    );
    let index: Index = [policy(&one(&urgent))].into_iter().collect();
    assert!(!keys::of_priority_class(&index, "high").is_empty());
    assert!(keys::of_priority_class(&index, "low").is_empty());
}

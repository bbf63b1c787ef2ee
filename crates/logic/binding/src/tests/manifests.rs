//! What a work and its manifest look like.

use std::collections::BTreeMap;

use api::{read::read, twins::BindingView, work::v1alpha2::ClusterResourceBinding};
use insta::assert_snapshot;
use object::Object;
use proptest::{collection::vec, prelude::*, sample::select};

use super::{binding, one};
use crate::{
    Draft, WorkError, draft,
    manifest::finish,
    work::{conflict_resolution, is_held_back, is_suspended, key},
};

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: nginx, namespace: default, uid: u1, generation: 3, labels: {app: web}}, spec: {replicas: 2}}";

fn made(
    binding: BindingView<'_>,
    template: &Object,
    existing: Option<&Object>,
) -> Result<Object, WorkError> {
    draft(Draft {
        binding,
        template,
        cluster: "m1",
        rendered: template.clone(),
        share: None,
        applied_overrides: BTreeMap::new(),
        inherited_labels: None,
        awaits_decision: false,
        existing,
    })
}

fn print(object: &Object) -> String {
    serde_saphyr::to_string(object).unwrap()
}

#[test]
fn a_work_says_whose_it_is_and_carries_one_finished_manifest() {
    let binding = binding(
        "conflictResolution: Overwrite, preserveResourcesOnDeletion: true, suspension: {dispatchingOnClusters: {clusterNames: [m1]}}",
    );
    let work = made((&binding).into(), &one(WEB), None).unwrap();
    assert_snapshot!(print(&work), @r#"
    apiVersion: work.karmada.io/v1alpha1
    kind: Work
    metadata:
      name: nginx-687f7fb96f
      namespace: karmada-es-m1
      finalizers:
      - karmada.io/execution-controller
      labels:
        resourcebinding.karmada.io/permanent-id: rb-id
      annotations:
        resourcebinding.karmada.io/namespace: test
        resourcebinding.karmada.io/name: web-deployment
        work.karmada.io/conflict-resolution: overwrite
    spec:
      workload:
        manifests:
        - apiVersion: apps/v1
          kind: Deployment
          metadata:
            name: nginx
            namespace: default
            labels:
              app: web
              resourcebinding.karmada.io/permanent-id: rb-id
              karmada.io/managed: "true"
            annotations:
              resourcebinding.karmada.io/namespace: test
              resourcebinding.karmada.io/name: web-deployment
              work.karmada.io/conflict-resolution: overwrite
              resourcetemplate.karmada.io/uid: u1
              resourcetemplate.karmada.io/generation: "3"
              work.karmada.io/namespace: karmada-es-m1
              work.karmada.io/name: nginx-687f7fb96f
              resourcetemplate.karmada.io/managed-annotations: >-
                resourcebinding.karmada.io/name,resourcebinding.karmada.io/namespace,resourcetemplate.karmada.io/generation,resourcetemplate.karmada.io/managed-annotations,resourcetemplate.karmada.io/managed-labels,resourcetemplate.karmada.io/uid,work.karmada.io/conflict-resolution,work.karmada.io/name,work.karmada.io/namespace
              resourcetemplate.karmada.io/managed-labels: app,karmada.io/managed,resourcebinding.karmada.io/permanent-id
          spec:
            replicas: 2
      suspendDispatching: true
      preserveResourcesOnDeletion: true
    "#);
}

#[test]
fn what_others_wrote_into_a_work_stays_and_stale_notes_go() {
    let existing = one("
apiVersion: work.karmada.io/v1alpha1
kind: Work
metadata:
  name: nginx-687f7fb96f
  namespace: karmada-es-m1
  resourceVersion: '5'
  finalizers: [zz, karmada.io/execution-controller]
  labels: {work.karmada.io/permanent-id: w-id, mine: 'true'}
  annotations: {policy.karmada.io/applied-overrides: old, policy.karmada.io/applied-cluster-overrides: old, mine: 'true'}
spec: {novel: 1, suspendDispatching: true}
status: {a: 1}
");
    let binding = binding("");
    let template = one(WEB);
    let work = draft(Draft {
        binding: (&binding).into(),
        template: &template,
        cluster: "m1",
        rendered: template.clone(),
        share: None,
        applied_overrides: BTreeMap::from([(
            "policy.karmada.io/applied-overrides",
            "new".to_owned(),
        )]),
        inherited_labels: Some(&BTreeMap::from([("state".to_owned(), "7".to_owned())])),
        awaits_decision: false,
        existing: Some(&existing),
    })
    .unwrap();
    assert_eq!(
        work.annotation("policy.karmada.io/applied-overrides"),
        Some("new")
    );
    assert_eq!(
        work.annotation("policy.karmada.io/applied-cluster-overrides"),
        None
    );
    assert_eq!(
        (
            work.annotation("mine"),
            work.label("mine"),
            work.resource_version()
        ),
        (Some("true"), Some("true"), "5")
    );
    assert_eq!(
        work.finalizers().collect::<Vec<_>>(),
        ["karmada.io/execution-controller", "zz"]
    );
    assert_eq!(
        (
            work.integer_at(&["spec", "novel"]),
            work.at(&["spec", "suspendDispatching"])
        ),
        (Some(1), Some(&false.into()))
    );
    let manifest =
        Object::from_value(work.at(&["spec", "workload", "manifests"]).unwrap()[0].clone())
            .unwrap();
    assert_eq!(
        (
            manifest.label("work.karmada.io/permanent-id"),
            manifest.label("state")
        ),
        (Some("w-id"), Some("7"))
    );
    assert_snapshot!(manifest.annotation("resourcetemplate.karmada.io/managed-labels").unwrap(), @"app,karmada.io/managed,resourcebinding.karmada.io/permanent-id,state,work.karmada.io/permanent-id");
    // Writing it again changes nothing.
    let again = draft(Draft {
        binding: (&binding).into(),
        template: &template,
        cluster: "m1",
        rendered: template.clone(),
        share: None,
        applied_overrides: BTreeMap::from([(
            "policy.karmada.io/applied-overrides",
            "new".to_owned(),
        )]),
        inherited_labels: Some(&BTreeMap::from([("state".to_owned(), "7".to_owned())])),
        awaits_decision: false,
        existing: Some(&work),
    })
    .unwrap();
    assert_eq!(again, work);
}

#[test]
fn a_work_notes_the_completions_that_overrides_hide() {
    let job = |completions: &str| {
        one(&format!(
            "{{apiVersion: batch/v1, kind: Job, metadata: {{name: pi, namespace: default, uid: u1}}, spec: {{{completions}}}}}"
        ))
    };
    let binding = binding("");
    // What the template says, the cluster's share, what it is sent, and what is noted of it.
    for (says, share, sent, noted) in [
        ("completions: 9", Some(5), "completions: 5", None),
        ("completions: 9", Some(5), "completions: 1", Some("5")),
        ("completions: 9", Some(5), "", Some("5")),
        ("completions: 9", None, "completions: 9", None),
        ("completions: 9", None, "completions: 1", Some("9")),
        ("", None, "completions: 1", None),
    ] {
        let template = job(says);
        let sending = |sent: &str, existing: Option<&Object>| {
            draft(Draft {
                binding: (&binding).into(),
                template: &template,
                cluster: "m1",
                rendered: job(sent),
                share,
                applied_overrides: BTreeMap::new(),
                inherited_labels: None,
                awaits_decision: false,
                existing,
            })
            .unwrap()
        };
        let first = sending("completions: 2", None);
        for existing in [None, Some(&first)] {
            let work = sending(sent, existing);
            let found = work.annotation("karavel.io/completions");
            assert_eq!(found, noted, "{says} {share:?} {sent}");
        }
    }
    let other = made((&binding).into(), &one(WEB), None).unwrap();
    assert_eq!(other.annotation("karavel.io/completions"), None);
}

#[test]
fn a_cluster_wide_binding_is_named_by_its_own_keys() {
    let binding: ClusterResourceBinding = read(&one("{kind: ClusterResourceBinding, metadata: {name: b, labels: {clusterresourcebinding.karmada.io/permanent-id: crb-id}}}")).unwrap();
    let role = one(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:node', uid: u}}",
    );
    let work = made((&binding).into(), &role, None).unwrap();
    assert_eq!(work.name(), "system.node-799967cd8f");
    assert_eq!(
        work.label("clusterresourcebinding.karmada.io/permanent-id"),
        Some("crb-id")
    );
    assert_eq!(
        work.annotation("clusterresourcebinding.karmada.io/name"),
        Some("b")
    );
    assert_eq!(work.annotation("resourcebinding.karmada.io/name"), None);
    assert_eq!(
        key(
            &one("{apiVersion: v1, kind: Namespace, metadata: {name: foo}}"),
            "m1"
        )
        .name,
        "foo-5dbdc7b59c"
    );
}

#[test]
fn a_work_that_is_going_away_has_to_be_gone_first() {
    let dying = one(
        "{metadata: {name: nginx-687f7fb96f, namespace: karmada-es-m1, deletionTimestamp: '2026-01-01T00:00:00Z'}}",
    );
    let binding = binding("");
    let error = made((&binding).into(), &one(WEB), Some(&dying)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "work karmada-es-m1/nginx-687f7fb96f is being deleted"
    );
}

#[test]
fn metadata_that_is_none_is_an_error() {
    let binding = binding("");
    let odd = one("{kind: X, metadata: {name: x, labels: text}}");
    let error = made((&binding).into(), &odd, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write the metadata of the manifest"
    );
}

#[test]
fn the_author_decides_about_conflicts_before_the_policy_does() {
    for (annotation, policy, expected) in [
        ("", "", "abort"),
        ("", "Overwrite", "overwrite"),
        ("", "Abort", "abort"),
        ("overwrite", "Abort", "overwrite"),
        ("abort", "Overwrite", "abort"),
        ("Overwrite", "Abort", "abort"),
        ("maybe", "Overwrite", "overwrite"),
    ] {
        let template = one(&format!(
            "{{metadata: {{annotations: {{work.karmada.io/conflict-resolution: '{annotation}'}}}}}}"
        ));
        let policy_text = if policy.is_empty() {
            String::new()
        } else {
            format!("conflictResolution: {policy}")
        };
        let binding = binding(&policy_text);
        assert_eq!(
            conflict_resolution(&template, &binding.spec),
            expected,
            "{annotation} {policy}"
        );
    }
}

#[test]
fn dispatching_is_held_back_for_all_or_for_the_clusters_named() {
    for (suspension, m1, m2) in [
        ("", false, false),
        ("suspension: {dispatching: true}", true, true),
        ("suspension: {dispatching: false}", false, false),
        (
            "suspension: {dispatchingOnClusters: {clusterNames: [m1]}}",
            true,
            false,
        ),
        ("suspension: {scheduling: true}", false, false),
    ] {
        let binding = binding(suspension);
        assert_eq!(
            (
                is_suspended(&binding.spec, "m1"),
                is_suspended(&binding.spec, "m2")
            ),
            (m1, m2),
            "{suspension}"
        );
    }
}

#[test]
fn what_is_held_back_stays_so_until_it_is_decided_where_it_goes() {
    let work = |suspends: bool| one(&format!("{{spec: {{suspendDispatching: {suspends}}}}}"));
    let (waiting, sent) = (work(true), work(false));
    let (free, suspended) = (binding(""), binding("suspension: {dispatching: true}"));
    for (binding, work, awaits_decision, expected) in [
        (&free, Some(&waiting), true, true),
        (&free, Some(&waiting), false, false),
        // Nothing is held back that was not.
        (&free, Some(&sent), true, false),
        (&free, None, true, false),
        (&suspended, Some(&sent), false, true),
        (&suspended, None, false, true),
    ] {
        let found = is_held_back(&binding.spec, "m1", work, awaits_decision);
        assert_eq!(found, expected, "{work:?} {awaits_decision}");
    }
}

proptest! {
    #[test]
    fn finishing_twice_is_finishing_once(
        kind in select(vec!["Deployment", "Job", "Secret", "Service", "X"]),
        labels in vec("[a-z]{1,3}", 0..4),
        annotations in vec("[a-z]{1,3}", 0..4),
        id in proptest::option::of("[a-z]{4}"),
    ) {
        let mut object = one(&format!("{{kind: {kind}, metadata: {{name: x, uid: u}}, status: {{}}}}"));
        for label in labels {
            object.set(&["metadata", "labels", &label], "v").unwrap();
        }
        for annotation in annotations {
            object.set(&["metadata", "annotations", &annotation], "v").unwrap();
        }
        let once = finish(object, id.as_deref()).unwrap();
        let twice = finish(once.clone(), id.as_deref()).unwrap();
        prop_assert_eq!(serde_json::to_string(&once).unwrap(), serde_json::to_string(&twice).unwrap());
    }
}

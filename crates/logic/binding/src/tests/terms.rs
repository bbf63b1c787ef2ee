//! What a binding says.

use api::{
    policy::{PropagationPolicy, PropagationSpec},
    read::read,
    work::v1alpha2::ResourceBindingSpec,
};
use insta::assert_snapshot;
use object::Object;

use super::one;
use crate::terms::{self, Lookups, Needs};

const WEB: &str = "
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test, uid: u1, resourceVersion: '7', labels: {team: blue, squad: ''}}}
";

fn policy(spec: &str) -> PropagationSpec {
    let document = one(&format!("{{kind: PropagationPolicy, spec: {{{spec}}}}}"));
    read::<PropagationPolicy>(&document).unwrap().spec
}

fn print(spec: &ResourceBindingSpec) -> String {
    serde_saphyr::to_string(&spec).unwrap()
}

fn stored(text: &str) -> ResourceBindingSpec {
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn a_binding_carries_the_template_its_needs_and_the_policys_terms() {
    let said = policy(
        "propagateDeps: true, schedulerName: s, conflictResolution: Overwrite, preserveResourcesOnDeletion: true, \
         suspension: {dispatchingOnClusters: {clusterNames: [m1]}}, placement: {clusterAffinity: {clusterNames: [m1]}}",
    );
    let lookups = Lookups {
        needs: Needs::Replicas {
            count: 3,
            each: None,
        },
        ..Lookups::default()
    };
    assert_snapshot!(print(&terms::spec(&one(WEB), &said, &lookups, None)), @r#"
    resource:
      apiVersion: apps/v1
      kind: Deployment
      namespace: test
      name: web
      uid: u1
      resourceVersion: "7"
    propagateDeps: true
    replicas: 3
    placement:
      clusterAffinity:
        clusterNames:
        - m1
    schedulerName: s
    conflictResolution: Overwrite
    suspension:
      dispatchingOnClusters:
        clusterNames:
        - m1
    preserveResourcesOnDeletion: true
    "#);
}

#[test]
fn what_others_write_into_a_binding_survives() {
    let existing = stored(
        "
resource: {apiVersion: old/v1, kind: Old, name: old}
replicas: 9
clusters: [{name: m1, replicas: 2}]
gracefulEvictionTasks: [{fromCluster: m2, reason: Taint, producer: p}]
requiredBy: [{namespace: test, name: x}]
rescheduleTriggeredAt: '2026-01-01T00:00:00Z'
suspension: {dispatching: true, scheduling: true}
preserveResourcesOnDeletion: true
",
    );
    let refreshed = terms::spec(&one(WEB), &policy(""), &Lookups::default(), Some(&existing));
    assert_snapshot!(print(&refreshed), @r#"
    resource:
      apiVersion: apps/v1
      kind: Deployment
      namespace: test
      name: web
      uid: u1
      resourceVersion: "7"
    clusters:
    - name: m1
      replicas: 2
    placement: {}
    gracefulEvictionTasks:
    - fromCluster: m2
      reason: Taint
      producer: p
    requiredBy:
    - namespace: test
      name: x
    rescheduleTriggeredAt: "2026-01-01T00:00:00Z"
    suspension:
      scheduling: true
    "#);
}

#[test]
fn a_suspension_is_dropped_when_nothing_of_it_remains() {
    let existing = stored("suspension: {dispatching: true}");
    let refreshed = terms::spec(&one(WEB), &policy(""), &Lookups::default(), Some(&existing));
    assert_eq!(refreshed.suspension, None);
}

#[test]
fn components_leave_no_room_for_replicas() {
    let lookups = Lookups {
        needs: Needs::Components(vec![
            serde_saphyr::from_str("{name: worker, replicas: 2}").unwrap(),
        ]),
        ..Lookups::default()
    };
    let spec = terms::spec(
        &one(WEB),
        &policy(""),
        &lookups,
        Some(&stored("replicas: 4")),
    );
    assert_eq!((spec.replicas, spec.components.len()), (0, 1));
}

#[test]
fn groups_and_priority_come_from_the_templates_labels_and_lookups_for_namespaced_templates_alone() {
    let said = policy(
        "placement: {workloadAffinity: {affinity: {groupByLabelKey: team}, antiAffinity: {groupByLabelKey: squad}}}",
    );
    let lookups = Lookups {
        priority: Some(100),
        workload_groups: true,
        ..Lookups::default()
    };
    let of = |template: &Object, lookups: &Lookups| {
        let spec = terms::spec(template, &said, lookups, None);
        let groups = spec
            .workload_affinity_groups
            .map(|groups| (groups.affinity_group, groups.anti_affinity_group));
        (
            spec.schedule_priority.map(|priority| priority.priority),
            groups,
        )
    };
    let web = one(WEB);
    assert_eq!(
        of(&web, &lookups),
        (Some(100), Some(("team=blue".to_owned(), String::new())))
    );
    assert_eq!(of(&web, &Lookups::default()), (None, None));
    let wide = one("{apiVersion: v1, kind: Namespace, metadata: {name: n, labels: {team: blue}}}");
    assert_eq!(of(&wide, &lookups), (None, None));
    let plain = one("{apiVersion: v1, kind: ConfigMap, metadata: {name: n, namespace: test}}");
    assert_eq!(of(&plain, &lookups), (Some(100), None));
}

#[test]
fn a_binding_is_named_owned_and_finalized_by_its_template() {
    let role = one(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:tt:tom', uid: u2}}",
    );
    assert_eq!(terms::key(&role).to_string(), "system.tt.tom-clusterrole");
    assert_eq!(
        terms::finalizer(&role),
        "karmada.io/cluster-resource-binding-controller"
    );
    let web = one(WEB);
    assert_eq!(terms::key(&web).to_string(), "test/web-deployment");
    assert_eq!(terms::finalizer(&web), "karmada.io/binding-controller");
    let owner = terms::owner(&web);
    assert_eq!(
        (
            owner.uid.as_str(),
            owner.controller,
            owner.block_owner_deletion
        ),
        ("u1", Some(true), Some(true))
    );
}

#[test]
fn a_binding_of_another_template_is_refused() {
    let web = one(WEB);
    for (owners, fits) in [
        ("[]", true),
        (
            "[{apiVersion: apps/v1, kind: Deployment, name: web, uid: u1, controller: true}]",
            true,
        ),
        (
            "[{apiVersion: apps/v1, kind: Deployment, name: web, uid: u0, controller: true}]",
            false,
        ),
        (
            "[{apiVersion: apps/v1, kind: Deployment, name: web, uid: u0}]",
            true,
        ),
    ] {
        let existing = one(&format!(
            "{{metadata: {{name: web-deployment, namespace: test, ownerReferences: {owners}}}}}"
        ));
        assert_eq!(
            terms::check_owner(&existing, &web).is_ok(),
            fits,
            "{owners}"
        );
    }
}

#[test]
fn what_a_template_left_behind_is_for_the_next_of_its_name_alone() {
    let web = one(WEB);
    let left = |resource: &str| {
        one(&format!(
            "{{metadata: {{name: web-deployment, namespace: test}}, spec: {{resource: {{apiVersion: apps/v1, {resource}}}}}}}"
        ))
    };
    let ending = "uid: u1, deletionTimestamp: '2026-01-02T03:04:05Z'";
    let going = one(&WEB.replace("uid: u1", ending));
    for (resource, fits, is_taken) in [
        ("kind: Deployment, name: web, uid: u0", true, true),
        ("kind: Deployment, name: web, uid: u1", true, true),
        ("kind: Deployment, name: 'Web', uid: u0", false, false),
        ("kind: DeployMent, name: web, uid: u0", false, false),
    ] {
        let binding = left(resource);
        assert_eq!(
            terms::check_owner(&binding, &web).is_ok(),
            fits,
            "{resource}"
        );
        assert_eq!(terms::takes_over(&web, &binding), is_taken, "{resource}");
        assert!(!terms::takes_over(&going, &binding), "{resource}");
        let is_own = resource.ends_with("uid: u1");
        assert_eq!(terms::returns(&web, &binding), is_own, "{resource}");
    }
    let other = left("kind: Deployment, name: web, uid: u0");
    let grouped = one(&WEB.replace("apps/v1", "example.com/v1"));
    assert!(!terms::takes_over(&grouped, &other));
}

#[test]
fn names_that_nothing_can_have_are_told_beforehand() {
    let named = |kind: &str, name: &str| {
        let template = one(&format!(
            "{{apiVersion: v1, kind: {kind}, metadata: {{name: '{name}', namespace: test}}}}"
        ));
        terms::check_names(&template).map_err(|unusable| unusable.what)
    };
    for (kind, name, expected) in [
        ("Role", "system:reader", Ok(())),
        ("Role", "Reader", Ok(())),
        ("Role", "a_b", Err("binding")),
        ("ConfigMap", &"x".repeat(242), Ok(())),
        ("ConfigMap", &"x".repeat(244), Err("binding")),
        ("ConfigMap", &"x".repeat(253), Err("binding")),
        ("Pod", &"x".repeat(249), Err("work")),
    ] {
        assert_eq!(named(kind, name), expected, "{kind} {name}");
    }
}

//! What is never a template.

use object::Object;

use super::one;
use crate::{Exemptions, exemption::DEFAULT_SKIPPED_NAMESPACES};

fn thing(api_version: &str, kind: &str, namespace: &str, name: &str) -> Object {
    one(&format!(
        "{{apiVersion: {api_version}, kind: {kind}, metadata: {{namespace: '{namespace}', name: {name}}}}}"
    ))
}

/// What is said of each object, given as `apiVersion Kind namespace name`; `-` is no namespace.
fn check(apis: &str, namespaces: &[&str], cases: &[(&str, &str)]) {
    let exemptions = Exemptions::parse(apis, namespaces.iter().copied()).unwrap();
    for (text, expected) in cases {
        let words: Vec<&str> = text.split(' ').collect();
        let [api_version, kind, namespace, name] = words.as_slice() else {
            panic!("{text} is not four words");
        };
        let namespace = namespace.trim_matches('-');
        let found = exemptions.check(&thing(api_version, kind, namespace, name));
        let found = found.map_or_else(|| "a template".to_owned(), |reason| reason.to_string());
        assert_eq!(found, *expected, "{text}");
    }
}

#[test]
fn what_belongs_to_the_control_plane_is_never_a_template() {
    check(
        "",
        &[DEFAULT_SKIPPED_NAMESPACES],
        &[
            ("v1 ConfigMap test a", "a template"),
            (
                "v1 ConfigMap kube-foo a",
                "the namespace is left out by \"kube-.*\"",
            ),
            (
                "v1 ConfigMap kube-system extension-apiserver-authentication",
                "the namespace is left out by \"kube-.*\"",
            ),
            (
                "v1 ConfigMap karmada-system a",
                "the namespace belongs to the control plane",
            ),
            (
                "v1 ConfigMap karmada-cluster a",
                "the namespace belongs to the control plane",
            ),
            (
                "v1 ConfigMap karmada-es-m1 a",
                "the namespace belongs to the control plane",
            ),
            ("v1 Event test a", "Event is not propagated"),
            (
                "events.k8s.io/v1 Event test a",
                "Event.events.k8s.io is not propagated",
            ),
            (
                "coordination.k8s.io/v1 Lease test a",
                "Lease.coordination.k8s.io is not propagated",
            ),
            (
                "work.karmada.io/v1alpha1 Work test a",
                "Work.work.karmada.io is not propagated",
            ),
            (
                "policy.karmada.io/v1alpha1 OverridePolicy test a",
                "OverridePolicy.policy.karmada.io is not propagated",
            ),
            ("v1 Namespace - kube-foo", "a template"),
        ],
    );
}

#[test]
fn what_the_server_makes_for_itself_is_left_out_whatever_is_configured() {
    check(
        "",
        &[],
        &[
            (
                "v1 ConfigMap kube-system extension-apiserver-authentication",
                "the API server makes this object for itself",
            ),
            ("v1 ConfigMap kube-system other", "a template"),
            (
                "v1 ConfigMap test kube-root-ca.crt",
                "the API server makes this object for itself",
            ),
            (
                "v1 Service default kubernetes",
                "the API server makes this object for itself",
            ),
            (
                "v1 Endpoints default kubernetes",
                "the API server makes this object for itself",
            ),
            (
                "discovery.k8s.io/v1 EndpointSlice default kubernetes",
                "the API server makes this object for itself",
            ),
            (
                "networking.k8s.io/v1 ServiceCIDR - kubernetes",
                "the API server makes this object for itself",
            ),
            ("v1 Service test kubernetes", "a template"),
            ("v1 Secret test kube-root-ca.crt", "a template"),
        ],
    );
}

#[test]
fn the_operator_leaves_out_groups_versions_and_kinds() {
    check(
        "apps;batch/v1;networking.k8s.io/v1/Ingress,NetworkPolicy;v1/Secret",
        &[],
        &[
            (
                "apps/v1 Deployment test a",
                "Deployment.apps is not propagated",
            ),
            ("batch/v1 Job test a", "Job.batch is not propagated"),
            ("batch/v2 Job test a", "a template"),
            (
                "networking.k8s.io/v1 Ingress test a",
                "Ingress.networking.k8s.io is not propagated",
            ),
            ("networking.k8s.io/v1 IngressClass - a", "a template"),
            ("v1 Secret test a", "Secret is not propagated"),
            ("v1 secret test a", "a template"),
            ("v1 ConfigMap test a", "a template"),
        ],
    );
}

#[test]
fn expressions_for_namespaces_match_whole_names_and_never_objects_without_one() {
    check(
        "",
        &["dev|stage", ".*-tmp", "  "],
        &[
            (
                "v1 ConfigMap dev a",
                "the namespace is left out by \"dev|stage\"",
            ),
            ("v1 ConfigMap devious a", "a template"),
            ("v1 ConfigMap backstage a", "a template"),
            (
                "v1 ConfigMap x-tmp a",
                "the namespace is left out by \".*-tmp\"",
            ),
        ],
    );
    check(
        "",
        &[".*"],
        &[
            ("v1 Namespace - a", "a template"),
            ("rbac.authorization.k8s.io/v1 ClusterRole - a", "a template"),
        ],
    );
}

#[test]
fn a_template_that_something_else_claimed_is_left_alone() {
    let mut service = thing("v1", "Service", "test", "web");
    let exemptions = Exemptions::default();
    for (value, expected) in [("MultiClusterService", true), ("", false)] {
        service
            .set(
                &[
                    "metadata",
                    "labels",
                    "resourcetemplate.karmada.io/claimed-by",
                ],
                value,
            )
            .unwrap();
        assert_eq!(exemptions.check(&service).is_some(), expected, "{value:?}");
    }
}

#[test]
fn protection_from_deletion_does_not_keep_a_template_from_being_claimed() {
    let mut map = thing("v1", "ConfigMap", "test", "web");
    map.set(
        &[
            "metadata",
            "labels",
            "resourcetemplate.karmada.io/deletion-protected",
        ],
        "Always",
    )
    .unwrap();
    assert_eq!(Exemptions::default().check(&map), None);
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    for (apis, namespaces, expected) in [
        (
            "a/b/c/d",
            vec![],
            "cannot read skipped API \"a/b/c/d\": write <group>, <group>/<version> or <group>/<version>/<Kind>[,<Kind>]",
        ),
        ("", vec!["a("], "cannot read skipped namespace \"a(\""),
    ] {
        let error = Exemptions::parse(apis, namespaces).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn what_is_written_reads_back_the_same() {
    let apis = "apps;batch/v1;v1/Pod,Secret;networking.k8s.io/v1/Ingress";
    let exemptions = Exemptions::parse(apis, ["kube-.*", "a|b"]).unwrap();
    let (apis, namespaces) = exemptions.written();
    let again = Exemptions::parse(&apis.join(";"), namespaces.iter().map(String::as_str));
    assert_eq!(again.unwrap(), exemptions);
}

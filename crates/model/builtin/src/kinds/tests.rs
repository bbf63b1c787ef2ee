use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::*;

#[test]
fn names_are_unique_within_a_group_and_version() {
    let mut plurals = BTreeSet::new();
    let mut short = BTreeMap::new();
    for kind in kinds() {
        assert!(
            plurals.insert((kind.group, kind.version, kind.plural)),
            "{}",
            kind.plural
        );
        assert_eq!(kind.plural, kind.plural.to_lowercase());
        for name in &kind.short_names {
            let owner = short.entry(*name).or_insert(kind.kind);
            assert_eq!(*owner, kind.kind, "{name} stands for two kinds");
        }
    }
    assert_eq!(kinds().len(), 66);
}

#[test]
fn what_can_be_listed_has_columns_and_what_cannot_has_none() {
    for kind in kinds() {
        assert_eq!(
            !kind.columns.is_empty(),
            kind.verbs.contains(&"list"),
            "{}",
            kind.kind
        );
        let named = kind.columns.iter().any(|column| column.header == "Name");
        assert!(
            kind.columns.is_empty() || named,
            "{} shows no name",
            kind.kind
        );
        assert!(kind.verbs.is_sorted(), "{}", kind.kind);
        assert!(
            kind.subresources
                .is_sorted_by_key(|subresource| subresource.name),
            "{}",
            kind.kind
        );
    }
}

#[test]
fn kinds_are_found_by_name() {
    let deployment = find("apps", "v1", "Deployment").unwrap();
    assert_eq!(
        (deployment.plural, deployment.singular().as_str()),
        ("deployments", "deployment")
    );
    assert_eq!(
        (
            deployment.short_names.as_slice(),
            deployment.categories.as_slice()
        ),
        (&["deploy"][..], &["all"][..])
    );
    assert_eq!(deployment.api_version(), "apps/v1");
    assert_eq!(deployment.type_name(), "io.k8s.api.apps.v1.Deployment");
    let scale = deployment
        .subresources
        .iter()
        .find(|subresource| subresource.name == "scale")
        .unwrap();
    assert_eq!(
        scale.kind,
        Some(KindRef {
            group: "autoscaling",
            version: "v1",
            kind: "Scale"
        })
    );
    assert!(find("apps", "v1beta1", "Deployment").is_none());
    assert!(!find("", "v1", "Node").unwrap().namespaced);
    assert!(
        find("authorization.k8s.io", "v1", "SubjectAccessReview")
            .unwrap()
            .is_create_only()
    );
    assert_eq!(
        find("batch", "v1", "Job").unwrap().dependents,
        Dependents::Orphan
    );
}

#[test]
fn field_selectors_read_the_object() {
    #[track_caller]
    fn check(kind: (&str, &str), label: &str, object: serde_json::Value, expected: Option<&str>) {
        let kind = find(kind.0, "v1", kind.1).unwrap();
        assert_eq!(
            kind.selectable(label, &object).as_deref(),
            expected,
            "{label}"
        );
    }
    let pod =
        || json!({"metadata": {"name": "a", "namespace": "n"}, "spec": {"hostNetwork": true}});
    check(("", "Pod"), "metadata.name", pod(), Some("a"));
    check(("", "Pod"), "metadata.namespace", pod(), Some("n"));
    check(("", "Pod"), "spec.hostNetwork", pod(), Some("true"));
    check(("", "Pod"), "status.phase", pod(), Some(""));
    check(("", "Pod"), "spec.dnsPolicy", pod(), None);
    check(("", "Node"), "metadata.namespace", json!({}), None);
    check(("", "Node"), "spec.unschedulable", json!({}), Some("false"));
    check(
        ("batch", "Job"),
        "status.successful",
        json!({"status": {"succeeded": 2}}),
        Some("2"),
    );
    check(("batch", "Job"), "status.successful", json!({}), Some("0"));
    for (event, source) in [
        (
            json!({"source": {"component": "a"}, "reportingComponent": "b"}),
            "a",
        ),
        (json!({"source": {}, "reportingComponent": "b"}), "b"),
        (json!({}), ""),
    ] {
        check(("", "Event"), "source", event, Some(source));
    }
    check(
        ("", "Event"),
        "source",
        json!({"source": {"component": "kubelet"}}),
        Some("kubelet"),
    );
}

#[test]
fn malformed_lines_are_refused_with_their_number() {
    for (text, problem) in [
        ("  cluster", "line 1: a kind must come first"),
        ("Pod", "line 1: expected `Kind plural short…`"),
        ("Pod pods\n  lazy", "line 2: unknown mark lazy"),
        (
            "Pod pods\n  names funny",
            "line 2: unknown rule funny for names",
        ),
        (
            "Pod pods\n  | Phase | text | .status.phase",
            "line 2: unknown column type text",
        ),
        (
            "Pod pods\n  | Phase | string | twist .status.phase",
            "line 2: unknown way twist of reading a cell",
        ),
        (
            "Pod pods\n  | Phase",
            "line 2: expected `header | type | source | description`, found Phase",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), problem);
    }
}

//! Whom objects let do what, which no override changes.

use super::{after, chain, one, policies, rendered};

const ROLE: &str = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: test, name: r}, rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]}";
const CLUSTER_ROLE: &str = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}";
const GATHERED: &str = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: g, labels: {rbac.authorization.k8s.io/aggregate-to-edit: 'true'}}, rules: []}";
const BINDING: &str = "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {namespace: test, name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: eve}]}";

#[test]
fn no_overrider_changes_the_rights_that_an_object_gives() {
    for (object, overriders, entry) in [
        (
            ROLE,
            "plaintext: [{path: /rules, operator: replace, value: [{verbs: ['*'], apiGroups: ['*'], resources: ['*']}]}]",
            "plaintext at /rules",
        ),
        (
            ROLE,
            "plaintext: [{path: /rules/0/verbs/0, operator: replace, value: '*'}]",
            "plaintext at /rules",
        ),
        (
            ROLE,
            "plaintext: [{path: /rules/-, operator: add, value: {verbs: ['*'], nonResourceURLs: ['*']}}]",
            "plaintext at /rules",
        ),
        (
            ROLE,
            "plaintext: [{path: /rules, operator: remove}]",
            "plaintext at /rules",
        ),
        // The whole object, with all that it is.
        (
            ROLE,
            "plaintext: [{path: '', operator: replace, value: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: test, name: r}, rules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*']}]}}]",
            "plaintext at /rules",
        ),
        // In another version, which is the same object.
        (
            ROLE,
            "plaintext: [{path: /apiVersion, operator: replace, value: rbac.authorization.k8s.io/v1beta1}, {path: /rules/0/verbs/0, operator: replace, value: '*'}]",
            "plaintext at /rules",
        ),
        (
            ROLE,
            "imageOverrider: [{predicate: {path: /rules/0/resources/0}, component: Repository, operator: replace, value: secrets}]",
            "imageOverrider at /rules",
        ),
        (
            ROLE,
            "fieldOverrider: [{fieldPath: /rules/0/verbs/0, yaml: [{subPath: '', operator: replace, value: list}]}]",
            "fieldOverrider at /rules",
        ),
        (
            CLUSTER_ROLE,
            "plaintext: [{path: /aggregationRule/clusterRoleSelectors/0, operator: replace, value: {}}]",
            "plaintext at /aggregationRule",
        ),
        (
            CLUSTER_ROLE,
            "plaintext: [{path: /rules, operator: add, value: [{verbs: ['*'], apiGroups: ['*'], resources: ['*']}]}]",
            "plaintext at /rules",
        ),
        (
            CLUSTER_ROLE,
            "labelsOverrider: [{operator: add, value: {rbac.authorization.k8s.io/aggregate-to-view: 'true'}}]",
            "labelsOverrider at /metadata/labels/rbac.authorization.k8s.io~1aggregate-to-view",
        ),
        (
            CLUSTER_ROLE,
            "plaintext: [{path: /metadata/labels, operator: add, value: {rbac.example.com/aggregate-to-audit: 'true'}}]",
            "plaintext at /metadata/labels/rbac.example.com~1aggregate-to-audit",
        ),
        (
            GATHERED,
            "labelsOverrider: [{operator: remove, value: {rbac.authorization.k8s.io/aggregate-to-edit: ''}}]",
            "labelsOverrider at /metadata/labels/rbac.authorization.k8s.io~1aggregate-to-edit",
        ),
        (
            GATHERED,
            "plaintext: [{path: /metadata/labels/rbac.authorization.k8s.io~1aggregate-to-edit, operator: replace, value: 'false'}]",
            "plaintext at /metadata/labels/rbac.authorization.k8s.io~1aggregate-to-edit",
        ),
        (
            BINDING,
            "plaintext: [{path: /roleRef/name, operator: replace, value: cluster-admin}]",
            "plaintext at /roleRef",
        ),
        (
            BINDING,
            "plaintext: [{path: /subjects/0/name, operator: replace, value: mallory}]",
            "plaintext at /subjects",
        ),
        (
            BINDING,
            "plaintext: [{path: /subjects/-, operator: add, value: {kind: Group, apiGroup: rbac.authorization.k8s.io, name: 'system:authenticated'}}]",
            "plaintext at /subjects",
        ),
    ] {
        let policy = |kind: &str| {
            policies(&format!(
                "{{kind: {kind}, metadata: {{name: op}}, spec: {{overrideRules: [{{overriders: {{{overriders}}}}}]}}}}"
            ))
        };
        let expected = format!(
            "cannot apply ClusterOverridePolicy op: spec.overrideRules[0].overriders.{entry}: the rights that the object gives would change, and no override gives rights"
        );
        let refused = rendered(&policy("ClusterOverridePolicy"), &one(object)).unwrap_err();
        assert_eq!(chain(&refused), expected, "{overriders}");
        if ![CLUSTER_ROLE, GATHERED].contains(&object) {
            let expected = expected.replace("ClusterOverridePolicy op", "OverridePolicy test/op");
            assert_eq!(after(overriders, object), expected, "{overriders}");
        }
    }
}

#[test]
fn what_gives_no_rights_may_change_in_roles_and_the_same_words_in_other_kinds() {
    for (object, overriders, expected) in [
        (
            ROLE,
            "labelsOverrider: [{operator: add, value: {a: b}}], plaintext: [{path: /rules/0, operator: replace, value: {verbs: [get], apiGroups: [''], resources: [pods]}}]",
            r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"namespace":"test","name":"r","labels":{"a":"b"}},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}"#,
        ),
        (
            "{apiVersion: monitoring.io/v1, kind: Role, metadata: {namespace: test, name: r}, rules: [a]}",
            "plaintext: [{path: /rules/0, operator: replace, value: b}]",
            r#"{"apiVersion":"monitoring.io/v1","kind":"Role","metadata":{"namespace":"test","name":"r"},"rules":["b"]}"#,
        ),
    ] {
        assert_eq!(after(overriders, object), expected, "{overriders}");
    }
}

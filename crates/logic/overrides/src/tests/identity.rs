//! What an override cannot make of an object.

use super::after;

const ROLE: &str =
    "{apiVersion: example.io/v1, kind: X, metadata: {namespace: test, name: '7', labels: {a: b}}}";

#[test]
fn no_overrider_makes_another_object_of_the_template() {
    for (overriders, entry, changed) in [
        (
            "plaintext: [{path: /kind, operator: replace, value: Z}]",
            "plaintext at /kind",
            r#"kind would change from "X" to "Z""#,
        ),
        (
            "plaintext: [{path: /apiVersion, operator: replace, value: other.io/v1}]",
            "plaintext at /apiVersion",
            r#"API group would change from "example.io" to "other.io""#,
        ),
        (
            "plaintext: [{path: /apiVersion, operator: replace, value: v1}]",
            "plaintext at /apiVersion",
            r#"API group would change from "example.io" to """#,
        ),
        (
            "plaintext: [{path: /apiVersion, operator: replace, value: example.io/v1/x}]",
            "plaintext at /apiVersion",
            r#"API group would change from "example.io" to "example.io/v1/x""#,
        ),
        (
            "plaintext: [{path: /metadata/name, operator: replace, value: z}]",
            "plaintext at /metadata/name",
            r#"name would change from "7" to "z""#,
        ),
        (
            "plaintext: [{path: /metadata/namespace, operator: replace, value: kube-system}]",
            "plaintext at /metadata/namespace",
            r#"namespace would change from "test" to "kube-system""#,
        ),
        (
            "plaintext: [{path: /metadata/namespace, operator: remove}]",
            "plaintext at /metadata/namespace",
            r#"namespace would change from "test" to """#,
        ),
        (
            "plaintext: [{path: /metadata, operator: replace, value: {name: '7'}}]",
            "plaintext at /metadata/namespace",
            r#"namespace would change from "test" to """#,
        ),
        (
            "plaintext: [{path: '', operator: replace, value: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: root}}}]",
            "plaintext at /apiVersion",
            r#"API group would change from "example.io" to "rbac.authorization.k8s.io""#,
        ),
        (
            "imageOverrider: [{predicate: {path: /metadata/name}, component: Tag, operator: add, value: v1}]",
            "imageOverrider at /metadata/name",
            r#"name would change from "7" to "7:v1""#,
        ),
        (
            "fieldOverrider: [{fieldPath: /metadata/name, json: [{subPath: '', operator: replace, value: 8}]}]",
            "fieldOverrider at /metadata/name",
            r#"name would change from "7" to "8""#,
        ),
        // What a later entry would mend is wrong all the same once another overrider has come between.
        (
            "fieldOverrider: [{fieldPath: /metadata/name, json: [{subPath: '', operator: replace, value: 8}]}], plaintext: [{path: /metadata/name, operator: replace, value: '7'}]",
            "fieldOverrider at /metadata/name",
            r#"name would change from "7" to "8""#,
        ),
    ] {
        assert_eq!(
            after(overriders, ROLE),
            format!(
                "cannot apply OverridePolicy test/op: spec.overrideRules[0].overriders.{entry}: the {changed}, and the object would be another one"
            ),
            "{overriders}"
        );
    }
}

#[test]
fn the_version_and_the_rest_of_the_metadata_may_change() {
    for (overriders, expected) in [
        (
            "plaintext: [{path: /apiVersion, operator: replace, value: example.io/v2}]",
            r#"{"apiVersion":"example.io/v2","kind":"X","metadata":{"namespace":"test","name":"7","labels":{"a":"b"}}}"#,
        ),
        (
            "plaintext: [{path: /metadata, operator: replace, value: {name: '7', namespace: test}}]",
            r#"{"apiVersion":"example.io/v1","kind":"X","metadata":{"name":"7","namespace":"test"}}"#,
        ),
        (
            "plaintext: [{path: /metadata/name, operator: remove}, {path: /metadata/name, operator: add, value: '7'}]",
            r#"{"apiVersion":"example.io/v1","kind":"X","metadata":{"namespace":"test","labels":{"a":"b"},"name":"7"}}"#,
        ),
    ] {
        assert_eq!(after(overriders, ROLE), expected, "{overriders}");
    }
}

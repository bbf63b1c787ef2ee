//! Changes at JSON pointers.

use super::after;

const OBJECT: &str =
    "{novel: {z: 1, a: 2}, kind: X, metadata: {namespace: test, name: x}, spec: {list: [a, b]}}";

fn spec(changes: &str) -> String {
    let text = after(&format!("plaintext: [{changes}]"), OBJECT);
    text.replace(r#""metadata":{"namespace":"test","name":"x"},"#, "…")
}

#[test]
fn fields_are_added_replaced_and_removed_and_the_rest_stays_as_it_was() {
    for (changes, expected) in [
        (
            "{path: /spec/new, operator: add, value: {b: 1, a: [2]}}",
            r#"{"novel":{"z":1,"a":2},"kind":"X",…"spec":{"list":["a","b"],"new":{"b":1,"a":[2]}}}"#,
        ),
        (
            "{path: /spec/list, operator: add, value: 1}",
            r#"{"novel":{"z":1,"a":2},"kind":"X",…"spec":{"list":1}}"#,
        ),
        (
            "{path: /spec/list/1, operator: add, value: x}",
            r#"{"novel":{"z":1,"a":2},"kind":"X",…"spec":{"list":["a","x","b"]}}"#,
        ),
        (
            "{path: /spec/list/-, operator: add, value: x}",
            r#"{"novel":{"z":1,"a":2},"kind":"X",…"spec":{"list":["a","b","x"]}}"#,
        ),
        (
            "{path: /spec/list/-1, operator: remove}",
            r#"{"novel":{"z":1,"a":2},"kind":"X",…"spec":{"list":["a"]}}"#,
        ),
        (
            "{path: /spec/list/0, operator: replace, value: null}",
            r#"{"novel":{"z":1,"a":2},"kind":"X",…"spec":{"list":[null,"b"]}}"#,
        ),
        (
            "{path: /spec/n, operator: add}",
            r#"{"novel":{"z":1,"a":2},"kind":"X",…"spec":{"list":["a","b"],"n":null}}"#,
        ),
        (
            "{path: /novel/z, operator: remove}, {path: /spec, operator: remove}",
            r#"{"novel":{"a":2},"kind":"X",…}"#,
        ),
    ] {
        let expected = expected.replace(",…}", "}");
        let found = spec(changes).replace(r#","metadata":{"namespace":"test","name":"x"}}"#, "}");
        assert_eq!(found, expected, "{changes}");
    }
}

#[test]
fn what_does_not_fit_names_the_entry_and_the_place() {
    for (changes, expected) in [
        (
            "{path: /spec/a, operator: add, value: 1}, {path: /spec/none, operator: remove}",
            "[1] at /spec/none: operation 1 (remove /spec/none): nothing exists at /spec/none",
        ),
        (
            "{path: /spec/none, operator: replace, value: 1}",
            "[0] at /spec/none: operation 0 (replace /spec/none): nothing exists at /spec/none",
        ),
        (
            "{path: /none/below, operator: add, value: 1}",
            "[0] at /none/below: operation 0 (add /none/below): nothing exists at /none",
        ),
        (
            "{path: /spec/list/7, operator: add, value: 1}",
            "[0] at /spec/list/7: operation 0 (add /spec/list/7): '7' is not a position in the list /spec/list of 2 elements",
        ),
        (
            "{path: spec, operator: remove}",
            "[0] at spec: path \"spec\" does not start with '/'",
        ),
        (
            "{path: /kind, operator: remove}",
            ": the result has no kind",
        ),
        (
            "{path: /kind, operator: replace, value: 3}",
            ": the result has no kind",
        ),
        (
            "{path: '', operator: add, value: [1]}",
            ": the result has no kind",
        ),
        (
            "{path: '', operator: add, value: text}",
            ": the result has no kind",
        ),
    ] {
        assert_eq!(
            spec(changes),
            format!(
                "cannot apply OverridePolicy test/op: spec.overrideRules[0].overriders.plaintext{expected}"
            ),
            "{changes}"
        );
    }
}

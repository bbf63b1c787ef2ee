//! Labels and annotations.

use super::value_after;

fn metadata(change: &str, field: &str, present: &str) -> String {
    let overrider = if field == "labels" {
        "labelsOverrider"
    } else {
        "annotationsOverrider"
    };
    let present = if present.is_empty() {
        String::new()
    } else {
        format!(", {field}: {present}")
    };
    let object = format!(
        "{{kind: X, metadata: {{name: x, namespace: test{present}}}, spec: {{template: {{metadata: {{labels: {{a: b}}}}}}}}}}"
    );
    let found = value_after(
        &format!("{overrider}: [{{{change}}}]"),
        &object,
        &format!("/metadata/{field}"),
    );
    let below = value_after(
        &format!("{overrider}: [{{{change}}}]"),
        &object,
        "/spec/template/metadata/labels",
    );
    assert!(below == r#"{"a":"b"}"# || below == found, "{below}");
    found
}

#[test]
fn adding_sets_replacing_and_removing_touch_only_what_is_there() {
    for field in ["labels", "annotations"] {
        for (change, present, expected) in [
            (
                "operator: add, value: {a: new, c: more}",
                "{b: x, a: old}",
                r#"{"b":"x","a":"new","c":"more"}"#,
            ),
            ("operator: add, value: {a: new}", "", r#"{"a":"new"}"#),
            ("operator: add, value: {a: new}", "null", r#"{"a":"new"}"#),
            ("operator: add, value: {}", "", "nothing"),
            (
                "operator: replace, value: {a: new, c: more}",
                "{b: x, a: old}",
                r#"{"b":"x","a":"new"}"#,
            ),
            ("operator: replace, value: {a: new}", "", "nothing"),
            (
                "operator: remove, value: {a: ignored, c: x}",
                "{a: old, b: x, d: w}",
                r#"{"b":"x","d":"w"}"#,
            ),
            ("operator: remove, value: {a: ''}", "", "nothing"),
        ] {
            assert_eq!(
                metadata(change, field, present),
                expected,
                "{change} {present}"
            );
        }
    }
}

#[test]
fn a_map_that_is_none_is_an_error() {
    assert_eq!(
        metadata("operator: add, value: {a: b}", "labels", "[x]"),
        "cannot apply OverridePolicy test/op: spec.overrideRules[0].overriders.labelsOverrider[0] at /metadata/labels: expected an object, found a list"
    );
}

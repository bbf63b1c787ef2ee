//! Documents inside text fields.

use insta::assert_snapshot;
use serde_json::json;

use super::value_after;

/// The text of a ConfigMap's key after one change.
fn config(change: &str, text: &str) -> String {
    let object = json!({"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "test"}, "data": {"config": text}});
    let found = value_after(
        &format!("fieldOverrider: [{{fieldPath: /data/config, {change}}}]"),
        &object.to_string(),
        "/data/config",
    );
    serde_json::from_str::<String>(&found).unwrap_or(found)
}

const YAML: &str = "# what we run
server:
  port: 8080
  hosts: [a, b]
  motd: |
    hello
    there
log: {level: info}
";

#[test]
fn one_leaf_of_a_yaml_document_changes() {
    assert_snapshot!(config("yaml: [{subPath: /server/port, operator: replace, value: 9090}]", YAML), @r"
    log:
      level: info
    server:
      hosts:
      - a
      - b
      motd: |
        hello
        there
      port: 9090
    ");
    assert_snapshot!(config("yaml: [{subPath: /server/hosts/-, operator: add, value: c}, {subPath: /log, operator: remove}, {subPath: /server/motd, operator: remove}]", YAML), @r"
    server:
      hosts:
      - a
      - b
      - c
      port: 8080
    ");
}

#[test]
fn texts_that_look_like_something_else_stay_texts() {
    let text = "a: \"8080\"\nb: 'true'\nc: 1e3\nd: null\ne: \"null\"\nf: 0x10\ng: '0x10'\nh: ''\ni: \"2026-01-01\"\nj: 1.0\nk: 12345678901234567890\n";
    assert_snapshot!(config("yaml: [{subPath: /z, operator: add, value: x}]", text), @r#"
    a: "8080"
    b: "true"
    c: 1000.0
    d: null
    e: "null"
    f: 16
    g: "0x10"
    h: ""
    i: "2026-01-01"
    j: 1.0
    k: 12345678901234567890
    z: x
    "#);
}

#[test]
fn the_old_words_for_yes_and_no_come_out_as_booleans() {
    assert_snapshot!(config("yaml: [{subPath: /z, operator: add, value: 1}]", "a: on\nb: no\nc: 'yes'\n"), @r#"
    a: true
    b: false
    c: "yes"
    z: 1
    "#);
}

#[test]
fn a_long_line_is_not_broken() {
    let long = "word ".repeat(60);
    let changed = config(
        "yaml: [{subPath: /b, operator: add, value: 1}]",
        &format!("a: {long}\n"),
    );
    assert_eq!(changed, format!("a: {}\nb: 1\n", long.trim_end()));
}

#[test]
fn a_json_document_keeps_its_order_and_escapes_as_go_does() {
    let text = r#"{ "z": 1, "a": {"b": "<&>"}, "list": [1, 2.50] }"#;
    assert_snapshot!(config("json: [{subPath: /a/c, operator: add, value: {y: 1, x: 2}}, {subPath: /list/0, operator: remove}]", text), @r#"{"z":1,"a":{"b":"\u003c\u0026\u003e","c":{"y":1,"x":2}},"list":[2.5]}"#);
    assert_snapshot!(config("json: [{subPath: '', operator: replace, value: \"\u{2028}\\n\\\"\"}]", "[]"), @r#""\u2028\n\"""#);
}

#[test]
fn yaml_goes_before_json_and_a_missing_value_is_null() {
    assert_snapshot!(config("yaml: [{subPath: /a, operator: add}], json: [{subPath: /b, operator: add, value: 1}]", "{}"), @"a: null");
}

#[test]
fn what_does_not_fit_is_an_error() {
    for (change, text, expected) in [
        (
            "yaml: [{subPath: /x/y, operator: add, value: 1}]",
            "a: 1",
            "operation 0 (add /x/y): nothing exists at /x",
        ),
        (
            "yaml: [{subPath: /a, operator: replace, value: 1}]",
            "b: 1",
            "operation 0 (replace /a): nothing exists at /a",
        ),
        (
            "json: [{subPath: /a, operator: remove}]",
            "{}",
            "operation 0 (remove /a): nothing exists at /a",
        ),
        (
            "json: [{subPath: a, operator: remove}]",
            "{}",
            "path \"a\" does not start with '/'",
        ),
        (
            "json: [{subPath: /a, operator: remove}]",
            "{a",
            "the text is not JSON: <root>: key must be a string at line 1 column 2",
        ),
        ("", "{}", "neither json nor yaml says what to change"),
    ] {
        assert_eq!(
            config(change, text),
            format!(
                "cannot apply OverridePolicy test/op: spec.overrideRules[0].overriders.fieldOverrider[0] at /data/config: {expected}"
            ),
            "{change}"
        );
    }
    for text in ["a: [1", "a: 1\n---\nb: 2\n", "&a [*a]", "a: *nowhere"] {
        let found = config("yaml: [{subPath: /c, operator: add, value: 1}]", text);
        assert!(
            found.contains("at /data/config: the text is not a YAML document: "),
            "{found}"
        );
    }
}

#[test]
fn the_path_must_address_a_text() {
    let object = "{kind: ConfigMap, metadata: {name: c, namespace: test}, data: {config: {a: 1}}}";
    for (path, expected) in [
        (
            "/data/config",
            "at /data/config: expected text, found an object",
        ),
        ("/data/other", "at /data/other: nothing is there"),
        ("data", "at data: path \"data\" does not start with '/'"),
    ] {
        let change = format!(
            "fieldOverrider: [{{fieldPath: {path}, json: [{{subPath: /a, operator: remove}}]}}]"
        );
        assert_eq!(
            value_after(&change, object, "/data"),
            format!(
                "cannot apply OverridePolicy test/op: spec.overrideRules[0].overriders.fieldOverrider[0] {expected}"
            )
        );
    }
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let before = format!("*a{}", level - 1);
        bomb.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            vec![before; 9].join(", ")
        ));
    }
    let found = config("yaml: [{subPath: /c, operator: add, value: 1}]", &bomb);
    assert!(
        found.contains("the text is not a YAML document"),
        "{}",
        &found[..found.len().min(200)]
    );
}

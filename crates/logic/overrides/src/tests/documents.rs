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
    c: 1e3
    d: null
    e: "null"
    f: 0x10
    g: "0x10"
    h: ""
    i: "2026-01-01"
    j: 1.0
    k: 12345678901234567890
    z: x
    "#);
}

#[test]
fn the_old_words_for_yes_and_no_stay_what_they_are() {
    assert_snapshot!(config("yaml: [{subPath: /z, operator: add, value: 'on'}]", "a: on\nb: no\nc: 'yes'\non: push\n"), @r#"
    a: on
    b: no
    c: "yes"
    on: push
    z: "on"
    "#);
}

#[test]
fn numbers_that_nobody_changes_keep_their_digits_in_yaml() {
    let text = "replicas: 1\ndefaultMode: 0644\numask: 0022\nzip: 01234\nalmost: 0899\nbig: 123456789012345678901234567890\nratio: 1.50\nnew: 0o17\nlong: 1_000\ntime: 12:30:45\nday: 2026-01-01\nnone:\nnever: ~\nend: .inf\nneg: -0.0\n'0644': text\n8080: web\n";
    assert_snapshot!(config("yaml: [{subPath: /replicas, operator: replace, value: 3}, {subPath: /mode, operator: add, value: '0644'}]", text), @r#"
    "0644": text
    8080: web
    almost: 0899
    big: 123456789012345678901234567890
    day: 2026-01-01
    defaultMode: 0644
    end: .inf
    long: 1_000
    mode: "0644"
    neg: -0.0
    never: ~
    new: 0o17
    none: null
    ratio: 1.50
    replicas: 3
    time: 12:30:45
    umask: 0022
    zip: 01234
    "#);
}

#[test]
fn what_nobody_changes_keeps_its_digits_and_escapes_in_json() {
    let text = r#"{"replicas":1,"ratio":1.0,"threshold":1.50,"e":1e5,"big":123456789012345678901234567890,"neg":-0.0,"huge":1e999,"text":"\/\u00e9\ud800 \"a b\"","twice":{"a":1,"a":2}}"#;
    assert_eq!(
        config(
            "json: [{subPath: /replicas, operator: replace, value: 3}]",
            text
        ),
        text.replace("\"replicas\":1", "\"replicas\":3")
    );
    let text = r#"[{"x": 1.0, "y": [1.0, {"z": 2.0}]}, 3.0]"#;
    assert_snapshot!(config("json: [{subPath: /0/y/-1/z, operator: replace, value: 2.5}, {subPath: /0, operator: add, value: {a: [1.0]}}, {subPath: /1/x, operator: remove}]", text), @r#"[{"a":[1.0]},{"y":[1.0,{"z":2.5}]},3.0]"#);
}

#[test]
fn tags_aliases_and_merges_keep_their_meaning() {
    let text = "%YAML 1.1\n---\nbase: &base {mode: 0644, on: yes}\nsub:\n  <<: *base\n  mode: 0755\nlist: &l\n- !!str 0644\n- !Ref \"x y\"\n- !Sub a-${b}\n- !!binary aGk=\n- - nested\n  - |+\n    kept\n\n- ! 12\n- !Ref\n-\nagain: *l\nfolded: >-\n  one\n  two\nplain: one\n  two\n";
    assert_snapshot!(config("yaml: [{subPath: /sub/mode, operator: replace, value: 1}, {subPath: /base, operator: remove}]", text), @r#"
    %YAML 1.1
    ---
    again:
    - "0644"
    - !Ref "x y"
    - !Sub a-${b}
    - !!binary aGk=
    - - nested
      - |+
        kept

    - "12"
    - !Ref
    - null
    folded: one two
    list:
    - "0644"
    - !Ref "x y"
    - !Sub a-${b}
    - !!binary aGk=
    - - nested
      - |+
        kept

    - "12"
    - !Ref
    - null
    plain: one two
    sub:
      mode: 1
      on: yes
    "#);
}

#[test]
fn what_cannot_be_kept_is_refused_with_its_place() {
    for (text, expected) in [
        (
            "a: {b: !Set {c: 1}}",
            r#""/a/b" in the text would not stay what it is: its tag !Set would be lost"#,
        ),
        (
            "a: {b: 1, b: 2}",
            r#""/a/b" in the text would not stay what it is: it is given twice"#,
        ),
        (
            "a: {1: x, '1': y}",
            r#""/a" in the text would not stay what it is: the key 1 is once a text and once none"#,
        ),
        (
            "a: {[x]: 1}",
            r#""/a" in the text would not stay what it is: a key is a list or a mapping"#,
        ),
        (
            "a: {!!int 1: x}",
            r#""/a" in the text would not stay what it is: the key !!int 1 has a tag"#,
        ),
        (
            "%TAG !e! tag:example.com,2026:\n---\na: !e!x 1",
            r#""/a" in the text would not stay what it is: its tag !e!x would mean something else"#,
        ),
        (
            "a: {<<: 1}",
            r#"the text is not a YAML document: what is merged is no mapping at "/a/<<""#,
        ),
    ] {
        let found = config("yaml: [{subPath: /z, operator: add, value: 1}]", text);
        assert!(
            found.ends_with(&format!("at /data/config: {expected}")),
            "{found}"
        );
    }
    let found = config(
        "json: [{subPath: /a/z, operator: add, value: 1}]",
        r#"{"a": {"b": 1, "b": 2}}"#,
    );
    assert!(
        found.ends_with(
            r#"at /data/config: "/a/b" in the text would not stay what it is: it is given twice"#
        ),
        "{found}"
    );
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
    assert_snapshot!(config("json: [{subPath: /a/c, operator: add, value: {y: 1, x: 2}}, {subPath: /list/0, operator: remove}]", text), @r#"{"z":1,"a":{"b":"\u003c\u0026\u003e","c":{"y":1,"x":2}},"list":[2.50]}"#);
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

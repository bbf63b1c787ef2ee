//! Commands and arguments.

use super::value_after;

fn containers(overriders: &str, containers: &str) -> String {
    let object = format!(
        "{{kind: Pod, metadata: {{name: p, namespace: test}}, spec: {{containers: {containers}}}}}"
    );
    value_after(overriders, &object, "/spec/containers")
}

#[test]
fn words_are_appended_and_every_equal_one_is_taken_out() {
    for (change, list, expected) in [
        ("add, value: [x, z]", "[a]", r#"["a","x","z"]"#),
        ("add, value: [x]", "", r#"["x"]"#),
        ("add, value: [x]", "null", r#"["x"]"#),
        ("remove, value: [a, c]", "[a, b, a, c, 1]", r#"["b",1]"#),
        ("remove, value: [a]", "", "[]"),
        ("add", "[a]", r#"["a"]"#),
        ("replace, value: [x]", "[a]", r#"["a"]"#),
    ] {
        for (field, overrider) in [("command", "commandOverrider"), ("args", "argsOverrider")] {
            let present = if list.is_empty() {
                String::new()
            } else {
                format!(", {field}: {list}")
            };
            let found = containers(
                &format!("{overrider}: [{{containerName: c, operator: {change}}}]"),
                &format!("[{{name: c{present}}}]"),
            );
            assert_eq!(
                found,
                format!(r#"[{{"name":"c","{field}":{expected}}}]"#),
                "{change} {list}"
            );
        }
    }
}

#[test]
fn only_containers_of_the_name_are_changed() {
    let add = "commandOverrider: [{containerName: c, operator: add, value: [x]}]";
    assert_eq!(
        containers(add, "[{name: a}, {name: c}, {name: c, command: [b]}, {}]"),
        r#"[{"name":"a"},{"name":"c","command":["x"]},{"name":"c","command":["b","x"]},{}]"#
    );
    assert_eq!(containers(add, "[{name: a}]"), r#"[{"name":"a"}]"#);
}

#[test]
fn a_list_that_is_none_is_an_error() {
    let add = "argsOverrider: [{containerName: c, operator: add, value: [x]}]";
    assert_eq!(
        containers(add, "[{name: c, args: text}]"),
        "cannot apply OverridePolicy test/op: spec.overrideRules[0].overriders.argsOverrider[0] at /spec/containers/0/args: expected a list, found text"
    );
}

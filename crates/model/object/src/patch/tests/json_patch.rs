//! JSON Patch.

use serde_json::json;

use crate::{
    Value,
    parse::DEPTH_LIMIT,
    patch::{DecodeError, JsonPatch, MAX_OPERATIONS, Replace},
};

fn patch(document: Value) -> JsonPatch {
    JsonPatch::decode(&document).unwrap_or_else(|error| panic!("{document}: {error}"))
}

#[track_caller]
fn check_applies(document: Value, operations: Value, result: Value) {
    let patched = patch(operations.clone()).apply(&document, Replace::Existing);
    let patched = patched.unwrap_or_else(|error| panic!("{document} {operations}: {error}"));
    // Compared as text, so that the order of fields counts.
    assert_eq!(
        patched.to_string(),
        result.to_string(),
        "{document} {operations}"
    );
}

#[track_caller]
fn check_fails(document: Value, operations: Value, complaint: &str) {
    match patch(operations.clone()).apply(&document, Replace::Existing) {
        Ok(patched) => panic!("{document} {operations} gave {patched}"),
        Err(error) => {
            assert!(
                error.to_string().contains(complaint),
                "{operations}: {error} does not say {complaint:?}"
            );
        }
    }
}

#[test]
fn operations_do_what_the_standard_says() {
    for (document, operation, result) in [
        // The situations of RFC 6902, appendix A.
        (
            json!({"a": 1}),
            json!({"op": "add", "path": "/b", "value": 2}),
            json!({"a": 1, "b": 2}),
        ),
        (
            json!({"l": [1, 3]}),
            json!({"op": "add", "path": "/l/1", "value": 2}),
            json!({"l": [1, 2, 3]}),
        ),
        (
            json!({"b": 1, "a": 2}),
            json!({"op": "remove", "path": "/b"}),
            json!({"a": 2}),
        ),
        (
            json!({"l": [1, 2, 3]}),
            json!({"op": "remove", "path": "/l/1"}),
            json!({"l": [1, 3]}),
        ),
        (
            json!({"b": 1, "a": 2}),
            json!({"op": "replace", "path": "/b", "value": 3}),
            json!({"b": 3, "a": 2}),
        ),
        (
            json!({"from": {"keep": 1, "go": 2}, "to": {}}),
            json!({"op": "move", "from": "/from/go", "path": "/to/came"}),
            json!({"from": {"keep": 1}, "to": {"came": 2}}),
        ),
        (
            json!({"l": [1, 2, 3, 4]}),
            json!({"op": "move", "from": "/l/1", "path": "/l/3"}),
            json!({"l": [1, 3, 4, 2]}),
        ),
        (
            json!({"b": "x", "l": [1, "y"]}),
            json!({"op": "test", "path": "/l/1", "value": "y"}),
            json!({"b": "x", "l": [1, "y"]}),
        ),
        (
            json!({"a": 1}),
            json!({"op": "add", "path": "/c", "value": {"d": {}}}),
            json!({"a": 1, "c": {"d": {}}}),
        ),
        (
            json!({"a": 1}),
            json!({"op": "add", "path": "/b", "value": 2, "unknown": 3}),
            json!({"a": 1, "b": 2}),
        ),
        (
            json!({"/": 9, "~1": 10}),
            json!({"op": "test", "path": "/~01", "value": 10}),
            json!({"/": 9, "~1": 10}),
        ),
        (
            json!({"l": [1]}),
            json!({"op": "add", "path": "/l/-", "value": [2, 3]}),
            json!({"l": [1, [2, 3]]}),
        ),
        // More of add.
        (
            json!({"a": 1, "b": 2}),
            json!({"op": "add", "path": "/a", "value": 3}),
            json!({"a": 3, "b": 2}),
        ),
        (
            json!({"a": 1}),
            json!({"op": "add", "path": "/b", "value": null}),
            json!({"a": 1, "b": null}),
        ),
        (
            json!({"l": []}),
            json!({"op": "add", "path": "/l/0", "value": 1}),
            json!({"l": [1]}),
        ),
        (
            json!({"l": [1]}),
            json!({"op": "add", "path": "/l/1", "value": 2}),
            json!({"l": [1, 2]}),
        ),
        (
            json!({"l": [1, 2]}),
            json!({"op": "add", "path": "/l/-1", "value": 3}),
            json!({"l": [1, 2, 3]}),
        ),
        (
            json!({"l": [1, 2]}),
            json!({"op": "add", "path": "/l/-3", "value": 0}),
            json!({"l": [0, 1, 2]}),
        ),
        (
            json!({"l": [[1]]}),
            json!({"op": "add", "path": "/l/-1/0", "value": 0}),
            json!({"l": [[0, 1]]}),
        ),
        (
            json!({"a": 1}),
            json!({"op": "add", "path": "", "value": [1]}),
            json!([1]),
        ),
        (
            json!([1]),
            json!({"op": "add", "path": "/-", "value": 2}),
            json!([1, 2]),
        ),
        (
            json!({}),
            json!({"op": "add", "path": "/", "value": 1}),
            json!({"": 1}),
        ),
        (
            json!({}),
            json!({"op": "add", "path": "/-", "value": 1}),
            json!({"-": 1}),
        ),
        (
            json!({}),
            json!({"op": "add", "path": "/0", "value": 1}),
            json!({"0": 1}),
        ),
        (
            json!({}),
            json!({"op": "add", "path": "/a~1b", "value": 1}),
            json!({"a/b": 1}),
        ),
        (
            json!({}),
            json!({"op": "add", "path": "/a~0b", "value": 1}),
            json!({"a~b": 1}),
        ),
        (
            json!({}),
            json!({"op": "add", "path": "/a~2b~", "value": 1}),
            json!({"a~2b~": 1}),
        ),
        (
            json!({}),
            json!({"op": "add", "path": "/~01", "value": 1}),
            json!({"~1": 1}),
        ),
        // More of remove and replace.
        (
            json!({"l": [1, 2, 3]}),
            json!({"op": "remove", "path": "/l/-1"}),
            json!({"l": [1, 2]}),
        ),
        (
            json!({"a": 1, "b": 2, "c": 3, "d": 4}),
            json!({"op": "remove", "path": "/b"}),
            json!({"a": 1, "c": 3, "d": 4}),
        ),
        (
            json!({"a": null}),
            json!({"op": "remove", "path": "/a"}),
            json!({}),
        ),
        (
            json!({"l": [1, 2]}),
            json!({"op": "replace", "path": "/l/-2", "value": 0}),
            json!({"l": [0, 2]}),
        ),
        (
            json!({"l": [1, 2]}),
            json!({"op": "replace", "path": "/l/01", "value": 0}),
            json!({"l": [1, 0]}),
        ),
        (
            json!({"l": [1, 2]}),
            json!({"op": "replace", "path": "/l/+1", "value": 0}),
            json!({"l": [1, 0]}),
        ),
        (
            json!({"a": null}),
            json!({"op": "replace", "path": "/a", "value": 1}),
            json!({"a": 1}),
        ),
        (
            json!({"a": 1}),
            json!({"op": "replace", "path": "", "value": {"b": 2}}),
            json!({"b": 2}),
        ),
        // More of move and copy.
        (
            json!({"a": 1, "b": 2}),
            json!({"op": "move", "from": "/a", "path": "/a"}),
            json!({"a": 1, "b": 2}),
        ),
        (
            json!({"a": 1, "b": 2}),
            json!({"op": "move", "from": "/a", "path": "/b"}),
            json!({"b": 1}),
        ),
        (
            json!({"a": {"b": 1}}),
            json!({"op": "move", "from": "/a/b", "path": "/a"}),
            json!({"a": 1}),
        ),
        (
            json!({"a": [1]}),
            json!({"op": "copy", "from": "/a", "path": "/b"}),
            json!({"a": [1], "b": [1]}),
        ),
        (
            json!({"a": [1]}),
            json!({"op": "copy", "from": "/a", "path": "/a/-"}),
            json!({"a": [1, [1]]}),
        ),
        (
            json!({"a": 1}),
            json!({"op": "copy", "from": "", "path": "/b"}),
            json!({"a": 1, "b": {"a": 1}}),
        ),
        (
            json!({"a": null}),
            json!({"op": "copy", "from": "/a", "path": "/b"}),
            json!({"a": null, "b": null}),
        ),
        // More of test.
        (
            json!({"a": 1}),
            json!({"op": "test", "path": "", "value": {"a": 1}}),
            json!({"a": 1}),
        ),
        (
            json!({"a": {"x": 1, "y": 2}}),
            json!({"op": "test", "path": "/a", "value": {"y": 2, "x": 1}}),
            json!({"a": {"x": 1, "y": 2}}),
        ),
        (
            json!({"a": null}),
            json!({"op": "test", "path": "/a", "value": null}),
            json!({"a": null}),
        ),
        (
            json!({"a": null}),
            json!({"op": "test", "path": "/a"}),
            json!({"a": null}),
        ),
        (
            json!({}),
            json!({"op": "test", "path": "/a", "value": null}),
            json!({}),
        ),
        (json!({}), json!({"op": "test", "path": "/a"}), json!({})),
    ] {
        check_applies(document, json!([operation]), result);
    }
}

#[test]
fn operations_that_do_not_fit_name_themselves_and_the_place() {
    for (document, operation, complaint) in [
        (
            json!({}),
            json!({"op": "add", "path": "/a/b", "value": 1}),
            "operation 0 (add /a/b): nothing exists at /a",
        ),
        (
            json!({"a": 1}),
            json!({"op": "add", "path": "/a/b", "value": 1}),
            "/a is neither an object nor a list",
        ),
        (
            json!({"a": null}),
            json!({"op": "add", "path": "/a/b", "value": 1}),
            "/a is neither",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "add", "path": "/l/2", "value": 1}),
            "'2' is not a position in the list /l of 1",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "add", "path": "/l/-3", "value": 1}),
            "'-3' is not a position",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "add", "path": "/l/x", "value": 1}),
            "'x' is not a position",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "add", "path": "/l/", "value": 1}),
            "'' is not a position",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "add", "path": "/l/1e0", "value": 1}),
            "'1e0' is not a position",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "add", "path": "/l/99999999999999999999", "value": 1}),
            "is not a position",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "add", "path": "/l/-9223372036854775808", "value": 1}),
            "is not a position",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "add", "path": "/l/-/a", "value": 1}),
            "'-' is not a position",
        ),
        (
            json!({}),
            json!({"op": "remove", "path": "/a"}),
            "nothing exists at /a",
        ),
        (
            json!({}),
            json!({"op": "remove", "path": "/a~1b"}),
            "nothing exists at /a~1b",
        ),
        (
            json!({}),
            json!({"op": "remove", "path": ""}),
            "whole document",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "remove", "path": "/l/1"}),
            "'1' is not a position",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "remove", "path": "/l/-"}),
            "'-' is not a position",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "remove", "path": "/l/-2"}),
            "'-2' is not a position",
        ),
        (
            json!({}),
            json!({"op": "replace", "path": "/a", "value": 1}),
            "nothing exists at /a",
        ),
        (
            json!({}),
            json!({"op": "replace", "path": "/a/b", "value": 1}),
            "nothing exists at /a",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "replace", "path": "/l/1", "value": 1}),
            "'1' is not a position",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "replace", "path": "/l/-", "value": 1}),
            "'-' is not a position",
        ),
        (
            json!({}),
            json!({"op": "move", "from": "/a", "path": "/b"}),
            "nothing exists at /a",
        ),
        (
            json!({}),
            json!({"op": "move", "from": "/a", "path": "/a"}),
            "nothing exists at /a",
        ),
        (
            json!({"a": {}}),
            json!({"op": "move", "from": "/a", "path": "/a/b"}),
            "/a cannot be moved into itself",
        ),
        (
            json!({"a": {}}),
            json!({"op": "move", "from": "", "path": "/a"}),
            "cannot be moved into itself",
        ),
        (
            json!({"a": 1}),
            json!({"op": "move", "from": "/a", "path": "/b/c"}),
            "nothing exists at /b",
        ),
        (
            json!({}),
            json!({"op": "copy", "from": "/a", "path": "/b"}),
            "nothing exists at /a",
        ),
        (
            json!({"a": 1}),
            json!({"op": "copy", "from": "/a", "path": "/b/c"}),
            "operation 0 (copy /b/c): nothing exists at /b",
        ),
        (
            json!({"a": 1}),
            json!({"op": "test", "path": "/a", "value": 2}),
            "test failed",
        ),
        (
            json!({"a": 1}),
            json!({"op": "test", "path": "/a", "value": "1"}),
            "test failed",
        ),
        (
            json!({"a": 1}),
            json!({"op": "test", "path": "/a", "value": 1.0}),
            "test failed",
        ),
        (
            json!({"a": 1}),
            json!({"op": "test", "path": "/a"}),
            "test failed",
        ),
        (
            json!({}),
            json!({"op": "test", "path": "/a", "value": 1}),
            "test failed",
        ),
        (
            json!({}),
            json!({"op": "test", "path": "/a/b"}),
            "nothing exists at /a",
        ),
        (
            json!({"l": []}),
            json!({"op": "test", "path": "/l/0"}),
            "'0' is not a position",
        ),
        (
            json!({"a": [1, 2]}),
            json!({"op": "test", "path": "/a", "value": [2, 1]}),
            "test failed",
        ),
    ] {
        check_fails(document, json!([operation]), complaint);
    }
}

#[test]
fn an_error_counts_operations_and_leaves_the_document_alone() {
    let document = json!({"a": 1});
    let operations = json!([
        {"op": "add", "path": "/b", "value": 2},
        {"op": "remove", "path": "/a"},
        {"op": "test", "path": "/b", "value": 3},
    ]);
    let error = patch(operations)
        .apply(&document, Replace::Existing)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "operation 2 (test /b): test failed: the value is a different one"
    );
    assert_eq!(document, json!({"a": 1}));
}

#[test]
fn the_api_servers_replace_adds_missing_fields_but_not_elements() {
    let apply = |document: Value, path: &str| {
        patch(json!([{"op": "replace", "path": path, "value": 9}]))
            .apply(&document, Replace::ExistingOrMissing)
    };
    assert_eq!(apply(json!({}), "/a"), Ok(json!({"a": 9})));
    assert_eq!(
        apply(json!({"a": 1, "b": 2}), "/a").unwrap().to_string(),
        r#"{"a":9,"b":2}"#
    );
    assert!(apply(json!({}), "/a/b").is_err());
    assert!(apply(json!({"l": []}), "/l/0").is_err());
    assert!(apply(json!({"l": []}), "/l/-").is_err());
}

#[test]
fn patches_print_as_they_are_read() {
    let document = json!([
        {"op": "add", "path": "/a~1b", "value": null},
        {"op": "remove", "path": "/a"},
        {"op": "replace", "path": "", "value": {}},
        {"op": "move", "from": "/a", "path": "/b"},
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "test", "path": "/a", "value": 1},
    ]);
    assert_eq!(
        serde_json::to_string(&patch(document.clone())).unwrap(),
        document.to_string()
    );
}

#[test]
fn documents_that_are_no_patches_are_refused() {
    for (document, complaint) in [
        (json!({}), "must be a list"),
        (json!(null), "must be a list"),
        (json!([1]), "operation 0: must be an object"),
        (
            json!([{"op": "remove", "path": "/a"}, {}]),
            "operation 1: unknown op \"\"",
        ),
        (
            json!([{"op": "Add", "path": "/a", "value": 1}]),
            r#"operation 0: unknown op "Add""#,
        ),
        (json!([{"op": 1}]), "unknown op \"1\""),
        (
            json!([{"op": "add", "path": "/a"}]),
            "operation 0 (add at \"/a\"): missing field 'value'",
        ),
        (
            json!([{"op": "replace", "path": "/a"}]),
            "missing field 'value'",
        ),
        (json!([{"op": "add", "value": 1}]), "missing field 'path'"),
        (
            json!([{"op": "move", "path": "/a"}]),
            "operation 0 (move at \"/a\"): missing field 'from'",
        ),
        (
            json!([{"op": "copy", "from": "/a"}]),
            "missing field 'path'",
        ),
        (
            json!([{"op": "remove", "path": 1}]),
            "field 'path' must be a string",
        ),
        (
            json!([{"op": "remove", "path": null}]),
            "field 'path' must be a string",
        ),
        (
            json!([{"op": "remove", "path": "a"}]),
            r#"field 'path' is not a JSON pointer: path "a" does not start with '/'"#,
        ),
        (
            json!([{"op": "move", "from": "a/b", "path": "/a"}]),
            "field 'from' is not a JSON pointer",
        ),
    ] {
        let error = JsonPatch::decode(&document).unwrap_err().to_string();
        assert!(
            error.contains(complaint),
            "{document}: {error} does not say {complaint:?}"
        );
    }
    let many = Value::Array(vec![
        json!({"op": "test", "path": "", "value": {}});
        MAX_OPERATIONS + 1
    ]);
    assert_eq!(
        JsonPatch::decode(&many),
        Err(DecodeError::TooMany {
            count: MAX_OPERATIONS + 1
        })
    );
}

#[test]
fn copies_are_limited_in_sum() {
    let megabyte = "x".repeat(1024 * 1024 - 2);
    let copy = |name: &str| json!({"op": "copy", "from": "/a", "path": format!("/{name}")});
    let document = json!({"a": megabyte});
    assert!(
        patch(json!([copy("b"), copy("c"), copy("d")]))
            .apply(&document, Replace::Existing)
            .is_ok()
    );
    check_fails(
        document,
        json!([copy("b"), copy("c"), copy("d"), copy("e")]),
        "operation 3 (copy /e): the patch copies",
    );
}

#[test]
fn no_patch_makes_a_document_too_deep_to_read() {
    let nest = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    check_applies(
        json!({}),
        json!([{"op": "add", "path": "/a", "value": nest(DEPTH_LIMIT - 1)}]),
        json!({"a": nest(DEPTH_LIMIT - 1)}),
    );
    check_fails(
        json!({}),
        json!([{"op": "add", "path": "/a", "value": nest(DEPTH_LIMIT)}]),
        "nested deeper",
    );
    check_fails(
        json!({"a": 1}),
        json!([{"op": "replace", "path": "/a", "value": nest(DEPTH_LIMIT)}]),
        "nested deeper",
    );
    check_fails(
        json!({}),
        json!([{"op": "add", "path": "", "value": nest(DEPTH_LIMIT + 1)}]),
        "nested deeper",
    );
    let doubling = Value::Array(vec![
        json!({"op": "copy", "from": "", "path": "/a"});
        DEPTH_LIMIT
    ]);
    check_fails(json!({}), doubling, "nested deeper");
}

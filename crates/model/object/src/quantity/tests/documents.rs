//! Quantities inside JSON, and their schema.

use serde_json::{Value, json};

use super::{Quantity, quantity};

#[test]
fn documents_give_texts_or_numbers_and_get_canonical_texts() {
    let check = |document: Value, text: &str| {
        let parsed: Quantity = serde_json::from_value(document.clone())
            .unwrap_or_else(|problem| panic!("{document}: {problem}"));
        assert_eq!(
            serde_json::to_value(parsed).unwrap(),
            json!(text),
            "{document}"
        );
        let from_bytes: Quantity = serde_json::from_slice(document.to_string().as_bytes()).unwrap();
        assert_eq!(
            serde_json::to_string(&from_bytes).unwrap(),
            format!("\"{text}\""),
            "{document}"
        );
    };
    check(json!("100m"), "100m");
    check(json!("1024Mi"), "1Gi");
    check(json!("1e3"), "1e3");
    check(json!(" 1"), "1");
    check(json!("1 \t\n"), "1");
    check(json!(0), "0");
    check(json!(1), "1");
    check(json!(-1), "-1");
    check(json!(1000), "1k");
    check(json!(u64::MAX), "18446744073709551615");
    check(json!(i64::MIN), "-9223372036854775808");
    check(json!(0.5), "500m");
    check(json!(0.1), "100m");
    check(json!(-1.25), "-1250m");
    check(json!(1e3), "1k");
    check(json!(1.5e-12), "1n");
    check(json!(1e300), "100000000000E");
    check(json!(5e-324), "1n");
    check(json!(-0.0), "0");
    check(Value::Null, "0");
}

#[test]
fn documents_with_anything_else_are_refused() {
    let check = |document: Value, complaint: &str| {
        let problem = serde_json::from_value::<Quantity>(document)
            .unwrap_err()
            .to_string();
        assert!(problem.contains(complaint), "{problem}");
    };
    let expected = "expected a quantity such as \"500m\" or \"4Gi\", or a number";
    check(json!(true), expected);
    check(json!([]), expected);
    check(json!({"amount": 1}), expected);
    check(json!(""), "a quantity must not be empty");
    check(json!("  "), "a quantity must not be empty");
    check(json!("4GiB"), "unknown suffix \"GiB\"");
    check(json!("1 Gi"), "unknown suffix \" Gi\"");
}

#[test]
fn a_quoted_and_a_bare_number_are_one_representation() {
    for number in [0, 1, 5, 1000, -8] {
        let bare: Quantity = serde_json::from_value(json!(number)).unwrap();
        assert!(
            bare.same_representation(quantity(&number.to_string())),
            "{number}"
        );
    }
}

#[test]
fn the_schema_is_that_of_a_crd() {
    let mut schema = schemars::schema_for!(Quantity).to_value();
    let fields = schema.as_object_mut().unwrap();
    fields.retain(|name, _| !name.starts_with('$') && name != "title");
    assert_eq!(
        schema,
        json!({
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
            "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
            "x-kubernetes-int-or-string": true,
        })
    );
}
